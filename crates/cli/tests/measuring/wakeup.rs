//! Tests that `anechoic measure wakeup` measures wake-ups: as cyclictest does, without losing an expiry, and beside a thread
//! of higher priority that keeps the CPU.

use crate::tool::{self, Done, anechoic, arg};
use anechoic_analyze::Wakeup;
use anechoic_analyze::wakeup::wakeup;
use anechoic_kernels::counter;
use anechoic_lab::note;
use anechoic_recording::{
    Activity, ActivityKind, EventKind, KernelEvent, Name, NameKind, Recording, Sample,
};
use anechoic_system::cpus;
use std::collections::HashMap;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

/// The function of the timer with which the kernel's spins are injected.
const SPIN: &str = "perf_swevent_hrtimer";

const SHORT: [&str; 6] = ["measure", "wakeup", "--blocks", "1", "--duration", "500ms"];

fn measured(dir: &Path, options: &[&str]) -> (Done, Wakeup) {
    let done = anechoic(&[&SHORT[..], options, &["-o", arg(dir)]].concat());
    assert!(matches!(done.code, Some(0 | 1)), "{:?}: {}", done.code, done.err);
    let found = wakeup(&Recording::open(dir).expect("a recording")).expect("a result");
    (done, found)
}

fn last_cpu() -> String {
    cpus::allowed().last().expect("a CPU").to_string()
}

/// Returns cyclictest's median in µs on this CPU, if it is installed. `--laptop` leaves the idle states as they are.
fn median_of_cyclictest(cpu: &str) -> Option<f64> {
    let place = format!("-a{cpu}");
    let run = ["-q", "-t1", &place, "-p80", "-m", "-i1000", "-l500", "-h", "5000", "--laptop"];
    let output = Command::new("cyclictest").args(run).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let line = |line: &str| {
        let (us, count) = line.split_once(' ')?;
        Some((us.trim().parse::<f64>().ok()?, count.trim().parse::<f64>().ok()?))
    };
    let counts: Vec<(f64, f64)> = text.lines().filter_map(line).collect();
    let half = counts.iter().map(|(_, count)| count).sum::<f64>() / 2.0;
    let mut below = 0.0;
    counts.iter().find_map(|(us, count)| {
        let within = (half - below) / count.max(1.0);
        below += count;
        (below >= half && half > 0.0).then_some(us + within)
    })
}

fn middle(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

#[test]
fn the_median_is_that_of_cyclictest() {
    if !tool::may_be_real_time() {
        return note::skipped("it needs real-time priority");
    }
    let _alone = tool::alone();
    let cpu = last_cpu();
    if median_of_cyclictest(&cpu).is_none() {
        return note::skipped("cyclictest is not installed");
    }
    let options = ["--cpus", &cpu, "--no-trace", "--policy", "fifo", "--priority", "80"];
    let own = || {
        let dir = tempfile::tempdir().expect("a directory");
        measured(dir.path(), &options).1.rows[0].p50_ns.expect("measured") / 1e3
    };
    let (mut theirs, mut ours) = (vec![], vec![]);
    for pair in 0..7 {
        let first = (pair % 2 == 0).then(own);
        theirs.extend(median_of_cyclictest(&cpu));
        ours.push(first.unwrap_or_else(own));
    }
    let [theirs_us, ours_us] = [middle(theirs.clone()), middle(ours.clone())];
    println!("cyclictest {theirs:.1?}, anechoic {ours:.1?}");
    let apart_us = (ours_us - theirs_us).abs();
    // What cyclictest's own medians differ by, the two may differ by.
    theirs.sort_by(f64::total_cmp);
    let spread_us = theirs[theirs.len() - 2] - theirs[1];
    if apart_us > (0.05 * theirs_us).max(1.0) && apart_us <= spread_us {
        return note::not_judged(format!("cyclictest's own medians spread over {spread_us:.1} µs"));
    }
    if apart_us > (0.05 * theirs_us).max(1.0) && apart_us <= 5.0 {
        // One of them may have found its CPU in another idle state for most of the time.
        return note::not_judged(format!("{theirs_us:.1} and {ours_us:.1} µs on an idle CPU"));
    }
    assert!(apart_us <= (0.05 * theirs_us).max(1.0), "{theirs_us:.1} and {ours_us:.1} µs");
}

#[test]
fn a_thread_of_higher_priority_makes_wake_ups_late_and_no_expiry_is_lost() {
    if !tool::may_be_real_time() || cpus::allowed().len() < 2 {
        return note::skipped("it needs real-time priority and two CPUs");
    }
    let _alone = tool::alone();
    let cpu = last_cpu();
    let dir = tempfile::tempdir().expect("a directory");
    let spin =
        ["0.1", "taskset", "-c", &cpu, "chrt", "-f", "90", "sh", "-c", "while :; do :; done"];
    let hog = std::thread::spawn({
        let spin = spin.map(str::to_owned);
        move || {
            std::thread::sleep(Duration::from_millis(1_000)); // calibration comes first
            for _ in 0..20 {
                let spun = Command::new("timeout").args(&spin).stderr(Stdio::null()).status();
                spun.expect("timeout runs");
                std::thread::sleep(Duration::from_millis(100));
            }
        }
    });
    let options = ["--cpus", &cpu, "--duration", "4s", "--policy", "fifo", "--priority", "80"];
    let done = anechoic(&[&SHORT[..4], &options, &["-o", arg(dir.path())]].concat());
    hog.join().expect("it ends");
    assert!(matches!(done.code, Some(0 | 1)), "{:?}: {}", done.code, done.err);
    let recording = Recording::open(dir.path()).expect("a recording");
    let found = wakeup(&recording).expect("a result");
    let (row, run) = (&found.rows[0], recording.run());
    assert_eq!(row.samples + row.overruns, 4_000, "every expiry belongs to a wake-up: {row:?}");
    let longest_ns = row.max_ns.expect("measured");
    assert!(longest_ns > 8e7, "one spin lasts 100 ms: {longest_ns} ns");
    assert!(row.overruns > 79, "{row:?}");
    if let Some(causes) = found.causes.as_ref().filter(|_| tool::may_trace()) {
        let hog =
            causes.sources.iter().find(|source| source.source == "thread" && source.name == "sh");
        let share = hog.and_then(|hog| hog.share_late).expect("the spinning shell is a source");
        assert!(share > 0.9, "{:#?}", causes.sources);
        assert!(causes.explained + causes.not_attributable == row.samples, "{causes:#?}");
    }
    // Between two samples the thread sleeps, so that it never starves another one.
    let mut samples: Vec<Sample> = vec![];
    recording.rows::<Sample>().for_each(|rows| samples.extend(rows.expect("readable")));
    let slept = samples.windows(2).filter(|pair| pair[0].series == pair[1].series);
    for pair in slept {
        assert!(pair[1].start_ticks > pair[0].end_ticks, "{pair:?} in {}", run.method);
    }
}

/// Spins of the kernel as its events show them, beside what the wake-ups that they overlap charge to them.
#[test]
fn spins_of_the_kernel_are_named_in_the_wake_ups_that_they_hit() {
    if !tool::may_be_real_time() || !tool::may_trace() {
        return note::skipped("it needs real-time priority and kernel events");
    }
    let _alone = tool::alone();
    let (cpu, dir) = (last_cpu(), tempfile::tempdir().expect("a directory"));
    for length in ["50us", "200us"] {
        let dir = dir.path().join(length);
        let noise =
            ["inject", "--kind", "kernel", "--rate", "397hz", "-l", length, "--cpus", &cpu, "--"];
        let program = env!("CARGO_BIN_EXE_anechoic");
        let measure =
            [program, "measure", "wakeup", "--cpus", &cpu, "--duration", "2s", "-o", arg(&dir)];
        let done = anechoic(&[&noise[..], &measure].concat());
        if !matches!(done.code, Some(0 | 1)) {
            return note::skipped(format!("no noise can be injected: {}", done.err));
        }
        let recording = Recording::open(&dir).expect("a recording");
        let hits = spins_and_charges(&recording, cpu.parse().expect("a number"));
        let clock = &recording.run().clock;
        let (hit, right): (Vec<_>, Vec<_>) = hits
            .iter()
            .map(|&(spun, charged)| (spun > 0, clock.ns(spun.abs_diff(charged)) <= 2_000))
            .unzip();
        let number = hit.iter().filter(|hit| **hit).count();
        let wrong = right.iter().filter(|right| !**right).count();
        println!(
            "{length}: {number} of {} wake-ups were hit, {wrong} are off by over 2 µs",
            hits.len()
        );
        assert!(number >= 20, "{length}: {number} were hit");
        assert!(wrong * 100 <= number, "{length}: {wrong} of {number}");
    }
}

/// Returns for each explained wake-up of `cpu` for how long a spin overlapped it, and how much is charged to it, in ticks.
fn spins_and_charges(recording: &Recording, cpu: u32) -> Vec<(u64, u64)> {
    let names = recording.rows::<Name>().flat_map(|rows| rows.expect("readable"));
    let spinning: Vec<u64> = names
        .filter(|name| name.kind == NameKind::Symbol && name.name == SPIN)
        .map(|name| name.key)
        .collect();
    let (mut spins, mut open) = (vec![], None);
    for event in recording.rows_of_cpu::<KernelEvent>(cpu).each() {
        let event = event.expect("readable");
        match event.kind {
            EventKind::HrtimerEntry if spinning.contains(&event.args[1]) => {
                open = Some((event.args[0], event.ticks));
            }
            EventKind::HrtimerExit => {
                let begun = open.take_if(|(timer, _)| *timer == event.args[0]);
                spins.extend(begun.map(|(_, begun)| (begun, event.ticks)));
            }
            _ => {}
        }
    }
    let mut charged: HashMap<u64, (u64, bool)> = HashMap::new();
    for row in recording.rows_of_cpu::<Activity>(cpu).each() {
        let row = row.expect("readable");
        let (ticks, known) = charged.entry(row.detour).or_insert((0, true));
        *known &= row.kind != ActivityKind::NotAttributable;
        if row.function.as_deref() == Some(SPIN) {
            *ticks += row.self_ticks;
        }
    }
    let samples = (0..).zip(recording.rows_of_cpu::<Sample>(cpu).each());
    let both = samples.filter_map(|(number, sample)| {
        let sample = sample.expect("readable");
        let &(ticks, _) = charged.get(&number).filter(|(_, known)| *known)?;
        let parts = spins.iter().map(|&(begun, ended): &(u64, u64)| {
            ended.min(sample.end_ticks).saturating_sub(begun.max(sample.start_ticks))
        });
        Some((parts.sum(), ticks))
    });
    both.collect()
}

#[test]
fn what_cannot_be_measured_is_refused_with_what_can() {
    let _alone = tool::alone();
    let done =
        anechoic(&[&SHORT[..], &["--interval", "1us", "--policy", "other", "--no-save"]].concat());
    assert!(done.is_one_clear_line() && done.err.contains("use --interval"), "{}", done.err);
    let done = anechoic(&[&SHORT[..], &["--policy", "other", "--no-trace", "--no-save"]].concat());
    assert!(matches!(done.code, Some(0 | 1)), "{:?}: {}", done.code, done.err);
    let words = done.out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("(timer slack), which is part of the latency"), "{}", done.out);
    assert!(words.contains("wake-ups half took up to"), "{}", done.out);
}

/// A thread that keeps its CPU for 300 µs every 5.37 ms, and the counter when it began and ended each time.
fn hog(cpu: u32, policy: i32, priority: i32) -> Vec<(u64, u64)> {
    cpus::pin(&[cpu]).expect("pinned");
    cpus::set_policy(policy, priority).expect("real-time priority");
    let clock = anechoic_system::clock::calibrate(&[], true).expect("a clock");
    let length = clock.ticks(300_000);
    let begun = std::time::Instant::now();
    let mut ran = vec![];
    while begun.elapsed() < Duration::from_secs(5) {
        std::thread::sleep(Duration::from_micros(5_370));
        let start = counter::ordered();
        let end = loop {
            let now = counter::ordered();
            if now - start > length {
                break now;
            }
        };
        ran.push((start, end));
    }
    ran
}

/// The hog's own log is the truth here: it is named in the wake-ups that it delayed, and in no other.
#[test]
fn a_thread_of_higher_priority_is_named_in_the_wake_ups_that_it_delayed() {
    if !tool::may_be_real_time() || !tool::may_trace() || cpus::allowed().len() < 2 {
        return note::skipped("it needs real-time priority, kernel events and two CPUs");
    }
    let _alone = tool::alone();
    let (cpu, dir) = (last_cpu(), tempfile::tempdir().expect("a directory"));
    let number: u32 = cpu.parse().expect("a number");
    let thread = std::thread::Builder::new().name("busy-hog".to_owned());
    let log = thread.spawn(move || hog(number, libc::SCHED_FIFO, 90)).expect("a thread");
    let options = ["--cpus", &cpu, "--duration", "3s", "--policy", "fifo", "--priority", "80"];
    let done = anechoic(&[&SHORT[..4], &options, &["-o", arg(dir.path())]].concat());
    assert!(matches!(done.code, Some(0 | 1)), "{:?}: {}", done.code, done.err);
    let log = log.join().expect("it ends");
    let recording = Recording::open(dir.path()).expect("a recording");
    let found = wakeup(&recording).expect("a result");
    let clock = &recording.run().clock;
    let mut charged: HashMap<u64, (u64, bool)> = HashMap::new();
    for row in recording.rows_of_cpu::<Activity>(number).each() {
        let row = row.expect("readable");
        let (ticks, known) = charged.entry(row.detour).or_insert((0, true));
        *known &= row.kind != ActivityKind::NotAttributable;
        // Also its part of a late timer.
        *ticks += if row.name.ends_with("busy-hog") { row.self_ticks } else { 0 };
    }
    let (mut hit, mut named, mut wrong, mut unknown) = (0, 0, 0, 0);
    for (sample, at) in recording.rows_of_cpu::<Sample>(number).each().zip(0..) {
        let sample = sample.expect("readable");
        let Some(&(ticks, known)) = charged.get(&at) else { continue };
        let overlap = log.iter().map(|&(start, end)| {
            end.min(sample.end_ticks).saturating_sub(start.max(sample.start_ticks))
        });
        let (overlap_ns, charged_ns) = (clock.ns(overlap.sum()), clock.ns(ticks));
        let events = found.causes.is_some() && known;
        unknown += u32::from(!known && overlap_ns > 50_000);
        // What it takes to switch to the hog and away from it is not in its own log; interrupts on top of it are.
        hit += u32::from(events && overlap_ns > 50_000);
        named +=
            u32::from(events && overlap_ns > 50_000 && (charged_ns + 30_000) * 5 > overlap_ns * 4);
        wrong += u32::from(events && overlap_ns == 0 && charged_ns > 30_000);
    }
    println!(
        "{hit} hit, {named} named, {wrong} wrong, {unknown} of unknown cause (with those without events)"
    );
    assert!(hit >= 50, "{hit} wake-ups were hit");
    // All, where nothing else runs; on a busy host something else has the CPU in a few.
    assert!(named * 100 >= hit * 97, "{named} of {hit}");
    // Before its first reading and after its last one, the host may hold it up too.
    assert!(wrong <= 2, "{wrong} wake-ups that it did not hit are charged to it");
    let causes = found.causes.expect("events");
    assert!(causes.not_attributable * 100 <= causes.explained, "{causes:#?}");
}

/// The name of the thread that has the CPU is the truth: the start states whom it waits for, also where nothing is a terminal.
#[test]
fn a_start_that_waits_names_the_thread_that_has_the_cpu() {
    if !tool::may_be_real_time() || cpus::allowed().len() < 2 {
        return note::skipped("it needs real-time priority and two CPUs");
    }
    let _alone = tool::alone();
    let cpu = last_cpu();
    let number: u32 = cpu.parse().expect("a number");
    let spin = move || {
        cpus::pin(&[number]).expect("pinned");
        cpus::set_policy(libc::SCHED_FIFO, 90).expect("real-time priority");
        let begun = std::time::Instant::now();
        while begun.elapsed() < Duration::from_secs(3) {}
    };
    let hog = std::thread::Builder::new().name("keeps-it".to_owned()).spawn(spin);
    std::thread::sleep(Duration::from_millis(100));
    let options = ["--cpus", &cpu, "--policy", "fifo", "--no-trace", "--no-save"];
    let done = anechoic(&[&SHORT[..], &options].concat());
    hog.expect("a thread").join().expect("it ends");
    assert!(matches!(done.code, Some(0 | 1)), "{:?}: {}", done.code, done.err);
    let named = done.err.contains("waiting: thread keeps-it (")
        && done.err.contains(&format!("real-time priority 90) has CPU {cpu}; end it"));
    assert!(named, "{}", done.err);
    let done = anechoic(&[&SHORT[..], &options].concat());
    assert!(!done.err.contains("keeps-it"), "{}", done.err);
}
