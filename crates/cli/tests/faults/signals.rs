//! Signals at any time: once, twice and thrice; and SIGKILL after a part of the run was saved.

use super::{Place, possible};
use crate::change::Numbers;
use crate::tool;
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
                let name = ["INT", "TERM", "HUP"][numbers.below(3)];
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
                "rm -rf r; timeout -k 5 60 {tool} {command} >out 2>err & {signals} wait $!; code=$?; cat err >&2; echo $code"
            );
            let done = place.run(&format!("{{ {script}; }} 2>&1"));
            let code: i32 =
                done.out.lines().last().and_then(|code| code.parse().ok()).expect("a code");
            // timeout passes signals on and reports an end by one of them as 128 + its number.
            let by_signal = [129, 130, 143].contains(&code);
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
            let name = ["INT", "TERM", "HUP", "QUIT", "WINCH", "TSTP"][numbers.below(6)];
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
        // SIGQUIT, and a signal before the first is caught, end it as they end any program.
        let by_signal = [129, 130, 131, 143].map(Some).contains(&code);
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
