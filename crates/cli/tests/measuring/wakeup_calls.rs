//! Wake-ups by another thread, beside programs that time them themselves: `wakes.c` and ptsematest; and beside the kernel's
//! events.

use crate::tool::{self, anechoic, arg};
use anechoic_analyze::wakeup::wakeup;
use anechoic_lab::note;
use anechoic_recording::wakeup::WakingCall;
use anechoic_recording::{EventKind, KernelEvent, Recording, Sample};
use anechoic_system::cpus;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Number of pairs of which the medians are compared.
const PAIRS: usize = 5;

/// Builds `wakes.c`; none without a compiler.
fn wakes(dir: &Path) -> Option<PathBuf> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/measuring/wakes.c");
    let out = dir.join("wakes");
    let options = ["-O2", "-Wall", "-Werror", "-pthread", "-o"];
    let done = Command::new("cc").args(options).arg(&out).arg(source).output().ok()?;
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    Some(out)
}

fn measured(options: &[&str]) -> tempfile::TempDir {
    let dir = tempfile::tempdir().expect("a directory");
    let short = ["measure", "wakeup", "--blocks", "1", "--duration", "400ms", "--policy", "fifo"];
    let done = anechoic(&[&short[..], options, &["-o", arg(dir.path())]].concat());
    assert!(matches!(done.code, Some(0 | 1)), "{:?}: {}", done.code, done.err);
    dir
}

fn middle(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Compares medians in µs; says whether they were close enough, or those of one of the two are too far from each other.
fn agree(what: &str, mut theirs: Vec<f64>, mut ours: Vec<f64>, coarse_us: f64) {
    println!("{what}: theirs {theirs:.1?}, ours {ours:.1?} µs");
    let [theirs_us, ours_us] = [middle(&mut theirs), middle(&mut ours)];
    let apart_us = (ours_us - theirs_us).abs();
    let most_us = (0.05 * theirs_us).max(1.0) + coarse_us;
    let spread_us =
        [&theirs, &ours].map(|all| all[all.len() - 1] - all[0]).into_iter().fold(0.0, f64::max);
    if apart_us > most_us && apart_us <= spread_us {
        return note::not_judged(format!(
            "{what}: the medians of one spread over {spread_us:.1} µs"
        ));
    }
    assert!(apart_us <= most_us, "{what}: {theirs_us:.1} and {ours_us:.1} µs");
}

#[test]
fn medians_of_each_call_are_those_of_a_program_that_times_itself() {
    let allowed = cpus::allowed();
    if !tool::may_be_real_time() || allowed.len() < 2 {
        return note::skipped("it needs real-time priority and two CPUs");
    }
    let _alone = tool::alone();
    let place = tempfile::tempdir().expect("a directory");
    let Some(program) = wakes(place.path()) else {
        return note::skipped("there is no C compiler");
    };
    let [cpu, other] = [allowed[allowed.len() - 1], allowed[0]].map(|cpu| cpu.to_string());
    for (call, waker) in WakingCall::ALL.into_iter().flat_map(|call| [(call, &cpu), (call, &other)])
    {
        let ours = || {
            let wake = ["--cpus", &cpu, "--wake", call.name(), "--waker-cpus", waker, "--no-trace"];
            let dir = measured(&wake);
            let found = wakeup(&Recording::open(dir.path()).expect("a recording"));
            let row = found.expect("a result").rows.remove(0);
            assert_eq!((row.call, row.waker_cpu), (Some(call), waker.parse().ok()));
            assert_eq!(row.samples + row.overruns, 400, "{row:?}");
            row.p50_ns.expect("measured") / 1e3
        };
        let theirs = || {
            let words = [call.name(), &cpu, waker, "1000", "400", "80"];
            let output = Command::new(&program).args(words).output().expect("it runs");
            let text = String::from_utf8_lossy(&output.stdout);
            text.trim().parse::<f64>().expect("a median") / 1e3
        };
        let pair = |number: usize| match number % 2 {
            0 => (theirs(), ours()),
            _ => {
                let ours = ours();
                (theirs(), ours)
            }
        };
        let (theirs, ours) = (0..PAIRS).map(pair).unzip();
        agree(&format!("{} from CPU {waker} to CPU {cpu}", call.name()), theirs, ours, 0.0);
    }
}

/// ptsematest prints the mean in whole microseconds. Its two threads have the same priority.
#[test]
fn the_mean_of_futexes_is_that_of_ptsematest() {
    if !tool::may_be_real_time() {
        return note::skipped("it needs real-time priority");
    }
    let _alone = tool::alone();
    let cpu = cpus::allowed().last().expect("a CPU").to_string();
    let theirs = || {
        let run = ["-q", &format!("-a{cpu}"), "-t1", "-p80", "-i1000", "-l400"];
        let output = Command::new("ptsematest").args(run).output().ok()?;
        let text = String::from_utf8(output.stdout).ok()?;
        let (_, mean) = text.rsplit_once("Avg")?;
        mean.split(',').next()?.trim().parse::<f64>().ok().map(|us| us + 0.5)
    };
    if theirs().is_none() {
        return note::skipped("ptsematest is not installed");
    }
    let ours = || {
        let dir = measured(&["--cpus", &cpu, "--wake", "futex", "--no-trace"]);
        let recording = Recording::open(dir.path()).expect("a recording");
        let mut samples: Vec<Sample> = vec![];
        recording.rows::<Sample>().for_each(|rows| samples.extend(rows.expect("readable")));
        let all: u64 = samples.iter().map(|one| one.end_ticks - one.start_ticks).sum();
        recording.run().clock.seconds(all) * 1e6 / samples.len() as f64
    };
    let pairs = (0..PAIRS).filter_map(|_| Some((theirs()?, ours())));
    let (theirs, ours) = pairs.unzip();
    agree("ptsematest", theirs, ours, 0.5);
}

/// The kernel's own event shows when and on which CPU the thread was woken.
#[test]
fn a_call_ends_with_the_waking_that_the_kernel_reports_from_the_cpu_of_the_waking_thread() {
    let allowed = cpus::allowed();
    if !tool::may_be_real_time() || !tool::may_trace() || allowed.len() < 2 {
        return note::skipped("it needs real-time priority, kernel events and two CPUs");
    }
    let _alone = tool::alone();
    let [cpu, other] = [allowed[allowed.len() - 1], allowed[0]];
    for waker in [cpu, other] {
        let [on, from] = [cpu, waker].map(|cpu| cpu.to_string());
        let wakes = "timer,futex,pipe,eventfd";
        let dir = measured(&["--cpus", &on, "--wake", wakes, "--waker-cpus", &from]);
        let recording = Recording::open(dir.path()).expect("a recording");
        let found = wakeup(&recording).expect("a result");
        let causes = found.causes.expect("events");
        let all: u64 = found.rows.iter().map(|row| row.samples).sum();
        assert_eq!(causes.explained + causes.not_attributable, all);
        println!("from CPU {from}: {} of {all} explained: {:?}", causes.explained, causes.by_call);
        assert!(causes.explained * 100 >= all * 99, "{} of {all}", causes.explained);
        for one in &causes.by_call {
            let [timer, call] = [one.mean.timer_ns + one.mean.interrupt_ns, one.mean.call_ns];
            assert_eq!((timer == 0.0, call > 0.0), (one.call.is_some(), one.call.is_some()));
        }
        check_calls(&recording, cpu, waker);
    }
}

/// Checks the samples of each series that another thread wakes.
fn check_calls(recording: &Recording, cpu: u32, waker: u32) {
    let victim = recording.run().cpus[0].tid as u64;
    let mut wakings: Vec<(u64, u32)> = vec![];
    for on in [cpu, waker] {
        let events =
            recording.rows_of_cpu::<KernelEvent>(on).each().map(|event| event.expect("one"));
        let of_victim = events.filter(|event| {
            event.kind == EventKind::Waking && event.args[..2] == [victim, u64::from(cpu)]
        });
        wakings.extend(of_victim.map(|event| (event.ticks, event.cpu)));
    }
    wakings.sort_unstable();
    wakings.dedup();
    let series = recording.series().expect("readable");
    let called: Vec<u32> = series
        .iter()
        .filter(|(one, _)| {
            let woken = one.parameters.sleep.is_some_and(|sleep| sleep.waker.is_some());
            woken && !one.parameters.events_off
        })
        .map(|(one, _)| one.series)
        .collect();
    let (mut right, mut all) = (0, 0);
    for sample in recording.rows_of_cpu::<Sample>(cpu).each() {
        let sample = sample.expect("readable");
        if !called.contains(&sample.series) {
            continue;
        }
        let first = wakings.partition_point(|(ticks, _)| *ticks < sample.start_ticks);
        let inside = wakings[first..].iter().take_while(|(ticks, _)| *ticks <= sample.end_ticks);
        let inside: Vec<u32> = inside.map(|(_, on)| *on).collect();
        all += 1;
        right += usize::from(inside == [waker]);
    }
    println!("{right} of {all} wake-ups have one waking, on CPU {waker}");
    assert!(all > 900 && right * 100 >= all * 99, "{right} of {all}");
}
