//! Tests `anechoic inject`: what is delivered, also around a command, and what is refused.

use crate::tool::{self, ANECHOIC, anechoic, arg, command, noisy, signal, start, wait};
use anechoic_lab::note;
use anechoic_recording::{Detour, Recording};
use anechoic_system::cpus;
use serde_json::Value;
use std::process::Command;
use std::time::{Duration, Instant};

fn last_cpu() -> String {
    cpus::allowed().last().expect("a CPU").to_string()
}

fn injected(json: &str) -> Value {
    serde_json::from_str(json).unwrap_or_else(|error| panic!("{error}: {json}"))
}

#[test]
fn what_cannot_be_is_refused_in_one_line() {
    let all = cpus::list(&cpus::system("online"));
    let inject = |rest: &[&'static str]| {
        ["inject", "--cpus", "0", "--kind"].iter().chain(rest).copied().collect::<Vec<_>>()
    };
    let everywhere = ["inject", "--kind", "thread", "--rate", "100hz", "--cpus", &all];
    let cases: &[(&str, Vec<&str>, i32, &str)] = &[
        ("no rate", inject(&["thread"]), 64, "--period"),
        ("two rates", inject(&["thread", "--rate", "1khz", "--period", "1ms"]), 64, "--rate"),
        ("rate 0", inject(&["thread", "--rate", "0hz"]), 64, "over 0"),
        ("rate without unit", inject(&["thread", "--rate", "100"]), 64, "for example 250hz"),
        ("too fast", inject(&["interrupt", "--rate", "150khz"]), 64, "100000 Hz"),
        ("too much", inject(&["thread", "--rate", "10khz", "-d", "90us"]), 64, "--force"),
        (
            "threads without end",
            inject(&["thread", "--period", "10us", "-d", "1us"]),
            64,
            "--force",
        ),
        ("interrupts without end", inject(&["interrupt", "--rate", "50khz"]), 64, "--force"),
        ("too long", inject(&["thread", "--period", "1ms", "-d", "2ms"]), 64, "does not fit"),
        ("an empty interrupt", inject(&["interrupt", "--rate", "1khz", "-d", "9us"]), 64, "kernel"),
        ("every CPU", everywhere.to_vec(), 64, "--force"),
        (
            "no such CPU",
            vec!["inject", "--kind", "thread", "--rate", "1khz", "--cpus", "60000"],
            64,
            "does not exist",
        ),
        (
            "nothing to replay",
            inject(&["thread", "--replay", "/no/such/place"]),
            66,
            "/no/such/place",
        ),
        (
            "a seed for nothing",
            inject(&["thread", "--rate", "1khz", "--seed", "3"]),
            64,
            "--poisson",
        ),
        (
            "a phase of interrupts",
            inject(&["interrupt", "--rate", "1khz", "--phase", "random"]),
            64,
            "thread",
        ),
        ("a preset of a kind", inject(&["thread", "--preset", "10hz"]), 64, "--preset"),
        (
            "two phases",
            inject(&["thread", "--rate", "1khz", "--poisson", "--phase", "random"]),
            64,
            "--phase",
        ),
        ("no kind", vec!["inject", "--rate", "1khz"], 64, "--kind"),
        ("no such kind", inject(&["daemon", "--rate", "1khz"]), 64, "thread"),
    ];
    for (name, args, code, says) in cases {
        let done = anechoic(args);
        assert_eq!(done.code, Some(*code), "case: {name}: {}", done.err);
        assert!(done.err.contains(says), "case: {name}: {}", done.err);
        assert!(!done.err.contains("panicked"), "case: {name}: {}", done.err);
    }
}

/// A quiet recording of half a second without any detour that long.
#[test]
fn a_recording_without_detours_cannot_be_replayed() {
    let dir = tempfile::tempdir().expect("a directory");
    let short = ["run", "-q", "--no-trace", "-d", "300ms", "--cpus", "0", "-o", arg(dir.path())];
    assert_eq!(anechoic(&short).code, Some(0));
    let replay = ["inject", "--kind", "thread", "--cpus", "0", "--replay", arg(dir.path())];
    let done = anechoic(&[&replay[..], &["--longer-than", "1h"]].concat());
    assert_eq!(done.code, Some(65), "{}", done.err);
    assert!(done.is_one_clear_line() && done.err.contains("anechoic run"), "{}", done.err);
}

#[test]
fn threads_come_as_often_as_asked_and_end_with_the_time() {
    let _alone = tool::alone();
    if noisy().is_none() {
        return;
    }
    for timing in [&[][..], &["--phase", "coordinated"], &["--phase", "random"], &["--poisson"]] {
        let asked = ["inject", "--kind", "thread", "--rate", "200hz", "-d", "100us", "--for", "2s"];
        let done = anechoic(&[&asked[..], timing, &["--json", "--cpus", &last_cpu()]].concat());
        assert_eq!(done.code, Some(0), "{}", done.err);
        let injected = injected(&done.out);
        let spell = &injected["spells"][0];
        let [delivered, overruns] =
            ["delivered", "overruns"].map(|what| spell[what].as_u64().expect("counted"));
        // 400 are requested; at random times their number has a standard deviation of 20.
        let random = timing.contains(&"--poisson");
        let (least, most) = if random { (300, 500) } else { (360, 401) };
        assert!((least..=most).contains(&(delivered + overruns)), "{timing:?}: {spell}");
        assert!(overruns * 5 < delivered, "{timing:?}: {spell}");
    }
}

#[test]
fn a_command_runs_meanwhile_and_its_exit_code_is_passed_on() {
    let _alone = tool::alone();
    if noisy().is_none() {
        return;
    }
    let inject = ["inject", "--kind", "thread", "--rate", "100hz", "--"];
    for (name, command, code) in [
        ("fine", &["true"][..], 0),
        ("its own code", &["sh", "-c", "exit 7"], 7),
        ("killed", &["sh", "-c", "kill -9 $$"], 137),
        ("no such program", &["/no/such/program"], 64),
    ] {
        let done = anechoic(&[&inject[..], command].concat());
        assert_eq!(done.code, Some(code), "case: {name}: {}", done.err);
    }
    let talking = anechoic(&[&inject[..], &["echo", "hello"]].concat());
    assert_eq!(talking.out, "hello\n", "standard output is the command's");
    let cpus = anechoic(&[&inject[..], &["nproc"]].concat());
    assert_eq!(cpus.out.trim(), cpus::allowed().len().to_string(), "it keeps its CPUs");
}

#[test]
fn a_signal_ends_it_and_the_command_with_an_account() {
    let _alone = tool::alone();
    if noisy().is_none() {
        return;
    }
    for (command, code) in [(&[][..], 1), (&["--", "sleep", "60"][..], 143)] {
        let inject = ["inject", "--kind", "thread", "--rate", "100hz", "--for", "60s"];
        let child = start(&[&inject[..], command].concat());
        std::thread::sleep(Duration::from_millis(500));
        signal(&child, "TERM");
        let done = wait(child);
        assert_eq!(done.code, Some(code), "{command:?}: {}", done.err);
        assert!(done.err.contains("delivered"), "{command:?}: {}", done.err);
    }
}

/// The injection ends on time, even in the middle of a spin; signals then still reach the command.
#[test]
fn the_end_holds_in_a_spin_and_signals_reach_the_command_afterwards() {
    let _alone = tool::alone();
    if noisy().is_none() {
        return;
    }
    let inject = ["inject", "--kind", "thread", "--period", "2s", "-d", "900ms", "--for", "2200ms"];
    let begun = std::time::Instant::now();
    let child = start(&[&inject[..], &["--", "sleep", "60"]].concat());
    std::thread::sleep(Duration::from_secs(4)); // the spin began after 2 s and was cut short
    signal(&child, "TERM");
    let done = wait(child);
    assert_eq!(done.code, Some(143), "{}", done.err);
    assert!(
        done.err.contains("1 were cut short") && done.err.contains("still running"),
        "{}",
        done.err
    );
    assert!(begun.elapsed() < Duration::from_secs(30), "it did not wait for the command");
}

/// The noise of a recording is replayed: about as often, and again from the start.
#[test]
fn a_recording_is_replayed() {
    let _alone = tool::alone();
    if noisy().is_none() {
        return;
    }
    let dir = tempfile::tempdir().expect("a directory");
    let cpu = last_cpu();
    let run = ["run", "-q", "-d", "1s", "--cpus", &cpu, "-o", arg(dir.path())];
    assert!(anechoic(&run).code.is_some_and(|code| code < 2));
    let replay = ["inject", "--kind", "thread", "--cpus", &cpu, "--for", "2500ms", "--json"];
    let done = anechoic(&[&replay[..], &["--replay", arg(dir.path())]].concat());
    if done.code == Some(64) && done.err.contains("the limit is") {
        return note::not_judged("the host took more of the CPU than may be replayed");
    }
    assert_eq!(done.code, Some(0), "{}", done.err);
    let injected = injected(&done.out);
    let asked = 2.5e9 / injected["period_ns"].as_f64().expect("a mean");
    let spell = &injected["spells"][0];
    let came: u64 =
        ["delivered", "overruns"].iter().map(|what| spell[what].as_u64().expect("counted")).sum();
    // Not evenly: two and a half rounds of one second each.
    assert!(came as f64 > 0.6 * asked && (came as f64) < 1.4 * asked, "{came} of {asked}");
    assert_eq!(injected["timing"]["replay"]["recording"], arg(dir.path()));
}

/// Two hosts, by network and name, of which each has a CPU of this machine: their noise starts together, and each states
/// how late its starts were. They share a counter, so that the starts can be compared.
#[test]
fn coordinated_noise_starts_together_on_two_hosts() {
    let _alone = tool::alone();
    let allowed = cpus::allowed();
    let [first, second, ..] = allowed[..] else { return note::skipped("needs two CPUs") };
    if noisy().is_none() || command("unshare", &["--uts", "--net", "true"]).code != Some(0) {
        return note::skipped("may not make two hosts (unshare --uts --net)");
    }
    let dir = tempfile::tempdir().expect("a directory");
    let asked = "--kind thread --rate 100hz --length 300us --phase coordinated --verify --for 2s";
    let on = |cpu: u32| {
        let script = format!("hostname node{cpu} && exec \"$@\"");
        let output = dir.path().join(cpu.to_string());
        let mut command = Command::new("unshare");
        command.args(["--uts", "--net", "sh", "-c", &script, "sh", ANECHOIC, "inject"]);
        command.args(asked.split(' ')).args(["--cpus", &cpu.to_string(), "-q", "-o", arg(&output)]);
        (tool::spawn(&mut command), output)
    };
    let starts = [first, second].map(on).map(|(host, output)| {
        let done = wait(host);
        assert!(matches!(done.code, Some(0..=3)), "{}", done.err);
        let recording = Recording::open(&output.join("noise")).expect("a recording");
        let clock = recording.run().clock.clone();
        let stated = recording.run().injections[0].starts.expect("threads state their starts");
        assert!(stated.count > 100 && stated.p50_late_ns <= stated.p99_late_ns, "{stated:?}");
        let wall = stated.wall_clock.expect("they are coordinated");
        assert!(wall.moved_ns.abs() < 10_000_000, "{wall:?}");
        assert_eq!(stated.bound_ns().is_some(), wall.within_ns.is_some());
        let rows = recording.rows::<Detour>().flat_map(|rows| rows.expect("whole"));
        let rows: Vec<(u64, u64)> = rows
            .map(|detour| (detour.start_ticks, clock.ns(detour.end_ticks - detour.start_ticks)))
            .collect();
        // Those that are longer are of other noise, or covered by it.
        let lengths = 290_000..1_000_000;
        let long = rows.iter().filter(|(_, length)| lengths.contains(length));
        let starts: Vec<u64> = long.map(|(start, _)| *start).collect();
        let longer = rows.iter().filter(|(_, length)| *length >= lengths.end).count();
        (starts, stated.p50_late_ns, longer, clock)
    });
    let [(one, late, longer, clock), (other, other_late, other_longer, _)] = &starts;
    // Differences in ticks: the frequencies that the two measured differ by 1e-7, which is milliseconds of ten hours.
    let nearest = |at: &u64| other.iter().map(|start| start.abs_diff(*at)).min().expect("noise");
    let mut apart: Vec<u64> = one.iter().map(|at| clock.ns(nearest(at))).collect();
    apart.retain(|apart| *apart < 5_000_000);
    apart.sort_unstable();
    if apart.len() <= 50 && longer.max(other_longer) > &100 {
        return note::not_judged("other noise covers most starts");
    }
    assert!(apart.len() > 50, "they injected at the same time: {} starts", apart.len());
    // At any times the median would be a quarter of the period, 2.5 ms.
    let median = apart[apart.len() / 2];
    let most = 1_000_000 + late + other_late;
    match median < most {
        false if most > 1_500_000 => note::not_judged("threads start late on this host"),
        together => assert!(together, "{median} ns apart at the median, of at most {most}"),
    }
}

/// Timer interrupts that a CPU has received since its start.
fn timer_interrupts(cpu: &str) -> u64 {
    let text = std::fs::read_to_string("/proc/interrupts").expect("it is always there");
    let at = text
        .lines()
        .next()
        .map(|heads| heads.split_whitespace().position(|head| head == format!("CPU{cpu}")));
    let line = text.lines().find_map(|line| line.trim_start().strip_prefix("LOC:"));
    let at = at.flatten().expect("the CPU is online");
    line.and_then(|line| line.split_whitespace().nth(at)?.parse().ok()).expect("a count")
}

/// A process that is stopped cannot switch its interrupts off: the kernel must. On an idle CPU some kernels do not count
/// them down, so something runs there.
#[test]
fn interrupts_end_soon_after_the_process_that_injects_them_is_stopped() {
    let _alone = tool::alone();
    let Some(cpu) = noisy().filter(|_| cfg!(target_arch = "x86_64")) else { return };
    let rate_hz = 20_000;
    let per_s = |cpu: &str, time: Duration| {
        let (before, since) = (timer_interrupts(cpu), Instant::now());
        std::thread::sleep(time);
        (timer_interrupts(cpu) - before) as f64 / since.elapsed().as_secs_f64()
    };
    for kind in ["interrupt", "kernel"] {
        let rate = format!("{rate_hz}hz");
        let args =
            ["inject", "-q", "--kind", kind, "--rate", &rate, "--for", "60s", "--cpus", &cpu];
        let length: &[&str] = if kind == "kernel" { &["--length", "1us"] } else { &[] };
        let spin = ["20", "taskset", "-c", &cpu, "sh", "-c", "while :; do :; done"];
        let mut busy = Command::new("timeout").args(spin).spawn().expect("timeout");
        let child = start(&[&args[..], length].concat());
        std::thread::sleep(Duration::from_secs(1));
        let at_first = per_s(&cpu, Duration::from_millis(500));
        signal(&child, "STOP");
        std::thread::sleep(Duration::from_secs(2));
        let stopped = per_s(&cpu, Duration::from_secs(1));
        signal(&child, "CONT");
        std::thread::sleep(Duration::from_millis(500));
        let again = per_s(&cpu, Duration::from_millis(500));
        signal(&child, "TERM");
        let done = wait(child);
        signal(&busy, "TERM"); // which timeout passes on
        let _ = busy.wait();
        assert_eq!(done.code, Some(1), "{}", done.err);
        let rates = [at_first, stopped, again];
        if at_first < f64::from(rate_hz) / 4.0 {
            note::not_judged("the host delivers few of the interrupts");
            continue;
        }
        assert!(again > at_first / 2.0, "{kind}: {rates:?}");
        // The ticks of the kernel remain, at most 1,000 per second, and timers of other programs.
        assert!(stopped < at_first / 2.0, "{kind}: {rates:?}");
    }
}
