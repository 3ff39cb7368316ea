//! Signals at any time: once, twice and thrice; and SIGKILL after a part of the run was saved.

use super::{Place, possible, settings};
use crate::change::Numbers;
use crate::tool::{self, Done};
use std::process::Command;
use std::thread;
use std::time::Duration;

/// Commands that measure, with `-o` last where they write a recording.
const MEASURING: [&str; 20] = [
    "run -q -d 3s -o r",
    "run -q -d 3s --no-trace -o r",
    "run -q -d 300ms --repeat 9 -o r",
    "run -q -d 3s --tracer-cost --cpus 1 -o r",
    "measure fwq -q --cpus 1 -o r",
    "measure ftq -q --cpus 1 -o r",
    "measure tick -q --cpus 1 -o r",
    "measure loops -q --cpus 1 --samples 500 -o r",
    "measure bsp -q -o r",
    "measure interference -q --cpus 1 -o r",
    "measure serial -q --cpus 1 --blocks 2 --sort-time 50ms -o r",
    "measure memory -q --quick --cpus 1 --experiments 'bandwidth-read-*' -o r",
    "measure paging -q --quick --cpus 1 --pages huge-2m -o r",
    "suite loops -q --cpus 1 --samples 300 -o r",
    "ab true true -q --cpus 1 -d 300ms --pairs 3 -o r",
    "ab --duet true true -q -d 300ms --pairs 3 -o r",
    "inject --kind kernel --rate 100hz --verify -q --for 2s --cpus 1 -o r",
    "inject --kind thread --rate 100hz -q --for 3s --cpus 1",
    "inject --kind interrupt --rate 1khz -q --for 3s --cpus 1 -- sleep 2",
    "check --self-test --cpus 1",
];

/// Commands that read the recording `known`.
const READING: [&str; 14] = [
    "summary known",
    "attribute known",
    "sources known",
    "longest known",
    "merge known",
    "compare known other",
    "gate known --max-noise 1%",
    "history .",
    "list .",
    "export csv known -o known.csv --force",
    "export perfetto known -o known.trace --force",
    "predict phases known",
    "report known -o page.html --force",
    "check",
];

/// The signals that end a process which does not catch them, except those that report damage to it, SIGPIPE, which is
/// ignored, and SIGXFSZ, with which a write fails. 29 is SIGIO, and 34 the first real-time signal.
const CATCHABLE: [&str; 14] = [
    "HUP", "INT", "QUIT", "USR1", "USR2", "ALRM", "TERM", "STKFLT", "XCPU", "VTALRM", "PROF",
    "PWR", "29", "34",
];

/// Starts a command in `place`, waits until `begun`, sends it the signal and returns how it ended.
fn interrupted(place: &Place, args: &[&str], signal: &str, begun: impl Fn() -> bool) -> Done {
    let mut command = Command::new(tool::ANECHOIC);
    let mut child = tool::spawn(command.args(args).current_dir(place.dir.path()));
    while !begun() && child.try_wait().is_ok_and(|ended| ended.is_none()) {
        thread::sleep(Duration::from_millis(1));
    }
    tool::signal(&child, signal);
    tool::wait(child)
}

#[test]
fn every_signal_that_can_be_caught_ends_a_measurement_and_keeps_it() {
    let Some(cpu) = tool::noisy() else { return };
    let _alone = tool::alone();
    let place = Place::new();
    for signal in CATCHABLE {
        let args = ["run", "-q", "-d", "60s", "--cpus", &cpu, "-o", signal];
        let dir = place.at(signal);
        let begun = || {
            let begun = dir.join("run.json").exists();
            thread::sleep(Duration::from_millis(if begun { 500 } else { 0 }));
            begun
        };
        let done = interrupted(&place, &args, signal, begun);
        assert_eq!(done.code, Some(1), "{signal}: {}", done.err);
        assert!(tool::summary(&dir)["cpus"][0]["wall_ns"].as_u64() > Some(0), "{signal}");
    }
    place.leave();
}

#[test]
fn every_signal_that_can_be_caught_puts_back_what_was_changed() {
    let Some(cpu) = tool::noisy() else { return };
    let _alone = tool::alone();
    let place = Place::new();
    for signal in CATCHABLE {
        let (changed, back) = (format!("changed-{signal}"), format!("back-{signal}"));
        let (set, after) = (format!("touch {changed}"), format!("touch {back}"));
        let trials = ["ab", "-q", &set, "true", "--after", &after, "--settle", "60s"];
        let args = [&trials[..], &["--cpus", &cpu, "-o", signal]].concat();
        let done = interrupted(&place, &args, signal, || place.at(&changed).exists());
        assert_eq!(done.code, Some(3), "{signal}: {}", done.err);
        assert!(place.at(&back).exists(), "{signal}: {}", done.err);

        let before = settings();
        let output = format!("pages-{signal}");
        let pages = ["measure", "paging", "-q", "--quick", "--blocks", "9", "--pages", "huge-2m"];
        let args = [&pages[..], &["--cpus", &cpu, "-o", &output]].concat();
        let done = interrupted(&place, &args, signal, || settings() != before);
        assert!(matches!(done.code, Some(0 | 1 | 3)), "{signal}: {}", done.err);
        assert_eq!(settings(), before, "{signal}: {}", done.err);
    }
    place.leave();
}

/// All CPUs are measured, so that the thread that saves must take one from a loop.
#[test]
fn what_was_measured_until_a_timeout_is_saved_before_it_kills() {
    if !possible() {
        return;
    }
    let _alone = tool::alone();
    let place = Place::new();
    for round in 0..3 {
        let done = place.run(&format!(
            "timeout -k 1 5 {} run -q -d 60s -o r{round} >&-; echo \"ended $?\" >&2",
            tool::ANECHOIC
        ));
        // On a busy host the last names are not saved within the second, but what was measured is.
        assert!(["ended 124\n", "ended 137\n"].iter().any(|end| done.err.ends_with(end)));
        let summary = tool::summary(&place.at(&format!("r{round}")));
        for cpu in summary["cpus"].as_array().expect("a row for each CPU") {
            assert!(cpu["wall_ns"].as_u64() > Some(3_500_000_000), "{summary}");
        }
    }
    place.leave();
}

/// What a killed process left is put back by the next start of any command.
#[test]
fn huge_pages_of_a_killed_process_are_given_back_by_any_command() {
    let Some(cpu) = tool::noisy() else { return };
    let _alone = tool::alone();
    let place = Place::new();
    place.run(&format!("anechoic run -q -d 300ms --cpus {cpu} -o known >&-"));
    for next in ["summary known", "check", "inject --kind thread --rate 1hz --for 50ms -q"] {
        let before = settings();
        let pages = ["measure", "paging", "-q", "--quick", "--blocks", "9", "--pages", "huge-2m"];
        let output = format!("pages-{}", next.len());
        let args = [&pages[..], &["--cpus", &cpu, "-o", &output]].concat();
        interrupted(&place, &args, "KILL", || settings() != before);
        place.run(&format!("anechoic {next} >&-"));
        assert_eq!(settings(), before, "{next}");
    }
    place.leave();
}

#[test]
fn signals_at_any_time() {
    if !possible() {
        return;
    }
    let _alone = tool::alone();
    let place = Place::new();
    place.run("anechoic run -q -d 300ms -o known >&-; anechoic run -q -d 300ms -o other >&-");
    let mut numbers = Numbers(1);
    for command in MEASURING.iter().chain(&READING) {
        for count in 1..=3 {
            let (mut signals, mut early) = (String::new(), false);
            for number in 0..count {
                let name = ["INT", "TERM", "HUP", "QUIT"][numbers.below(4)];
                let reads = READING.contains(command);
                let pause_ms = numbers.below(if reads { 200 } else { 800 });
                early |= number == 0 && pause_ms < 500; // perhaps before the command catches signals
                signals.push_str(&format!(
                    "sleep {}.{:03}; kill -{name} $!; ",
                    pause_ms / 1_000,
                    pause_ms % 1_000
                ));
            }
            let tool = tool::ANECHOIC;
            let script = format!(
                "set -m; rm -rf r; timeout -k 5 60 {tool} {command} >out 2>err & {signals} wait $!; code=$?; cat err >&2; echo $code"
            );
            let done = place.run(&format!("{{ {script}; }} 2>&1"));
            let code: i32 =
                done.out.lines().last().and_then(|code| code.parse().ok()).expect("a code");
            // timeout passes signals on and reports an end by one of them as 128 + its number.
            let by_signal = [129, 130, 131, 143].contains(&code);
            // A measuring command saves; only a third signal can come over two seconds after the first.
            // The code of a command that runs during an injection is passed on.
            let passed_on = command.contains(" -- ");
            let may_drop = !MEASURING.contains(command) || early || count == 3 || passed_on;
            let known = super::KNOWN.contains(&code) || by_signal && may_drop;
            assert!(known, "{command}, {count} signals ({signals}): {code} {}", done.out);
            assert!(!done.out.contains("panicked"), "{command}: {}", done.out);
            if place.at("r/run.json").exists() {
                place.run("anechoic summary r >&-");
            }
        }
    }
    place.leave();
}

/// On a terminal of its own, with and without a recording, and while the recording is being saved.
#[test]
fn signals_to_the_live_view() {
    if !possible() {
        return;
    }
    let _alone = tool::alone();
    let place = Place::new();
    let mut numbers = Numbers(4);
    for round in 0..6 {
        let output = ["", "-o r"][round % 2];
        let mut signals = String::new();
        for _ in 0..=numbers.below(3) {
            let name = ["INT", "TERM", "HUP", "QUIT", "WINCH", "TSTP", "USR1"][numbers.below(7)];
            let pause_ms = numbers.below(1_500);
            // What was stopped goes on, or it would never end.
            signals.push_str(&format!(
                "sleep {}.{:03}; kill -{name} $(cat pid); kill -CONT $(cat pid); ",
                pause_ms / 1_000,
                pause_ms % 1_000
            ));
        }
        let done = place.run(&format!(
            "rm -rf r pid; echo 'echo $$ >pid; exec {} top --cpus 1 {output}' >top.sh; \
             timeout -k 5 60 script -qec 'stty cols 100 rows 30; sh top.sh' typed >/dev/null </dev/null & \
             for _ in $(seq 400); do [ -s pid ] && break; sleep 0.05; done; {{ {signals} sleep 0.3; kill -TERM $(cat pid); }} 2>&-; \
             wait $!; code=$?; cat typed; echo; echo $code; true",
            tool::ANECHOIC
        ));
        let code: Option<i32> = done.out.lines().last().and_then(|code| code.parse().ok());
        // A signal before the first is caught ends it as it ends any program.
        let by_signal = [129, 130, 131, 138, 143].map(Some).contains(&code);
        let known = by_signal || code.is_some_and(|code| super::KNOWN.contains(&code));
        assert!(known, "round {round} ({signals}): {code:?} {}", done.out);
        assert!(!done.out.contains("panicked"), "{}", done.out);
        if place.at("r/run.json").exists() {
            place.run("anechoic summary r >&-");
        }
    }
    place.leave();
}

/// What was saved before SIGKILL is there, and no other time counts.
#[test]
fn sigkill_after_each_drain() {
    let Some(cpu) = tool::noisy() else { return };
    let _alone = tool::alone();
    let place = Place::new();
    for (seconds, saved_s) in [(3, 0), (13, 10), (23, 20)] {
        place.run(&format!(
            "rm -rf r; {} run -q -d 60s -t 20us --cpus {cpu} -o r >&- & sleep {seconds}; kill -KILL $!; wait $! 2>&-; \
             anechoic summary --json r > summary.json",
            tool::ANECHOIC
        ));
        let text = std::fs::read_to_string(place.at("summary.json")).expect("a result");
        let summary: serde_json::Value = serde_json::from_str(&text).unwrap_or_default();
        let wall = summary["cpus"][0]["wall_ns"].as_u64().map(Duration::from_nanos);
        match (wall, saved_s) {
            (None, 0) => {}
            (Some(wall), 1..) => {
                assert!(wall >= Duration::from_secs(saved_s - 1), "{wall:?} after {seconds} s");
                assert!(summary["total"]["detours"].as_u64() > Some(0), "{text}");
            }
            _ => panic!("after {seconds} s: {text}"),
        }
    }
    place.leave();
}
