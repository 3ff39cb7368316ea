//! Tests what `anechoic measure` reports about noise that the test itself makes.

use crate::tool::{self, anechoic, arg, ensure, may_trace, one_of};
use anechoic_recording::{EventKind, KernelEvent, Name, Recording};
use anechoic_system::cpus;
use anechoic_system::perf::TimerInterrupts;
use serde_json::Value;

/// The kernel's function behind a sampling cpu-clock event.
const PERF_TIMER: &str = "perf_swevent_hrtimer";

/// Measures a method on one CPU while a sampling event interrupts it, and returns the result.
fn under_interrupts(cpu: u32, rate: Option<u64>, args: &[&str]) -> Value {
    in_directory(cpu, rate, args, |measured, _| measured.clone())
}

/// The same; `look` gets the result and the recording.
fn in_directory<T>(
    cpu: u32,
    rate: Option<u64>,
    args: &[&str],
    look: impl FnOnce(&Value, &Recording) -> T,
) -> T {
    let dir = tempfile::tempdir().expect("a directory");
    let _timer =
        rate.map(|rate| TimerInterrupts::start(cpu, 1_000_000_000 / rate).expect("perf events"));
    let cpu = cpu.to_string();
    let recording = dir.path().join("recording");
    let frame = ["--cpus", &cpu, "-q", "--json", "-o", arg(&recording)];
    let done = anechoic(&[&["measure"], args, &frame].concat());
    // 3: another guest slowed the core by more than a calibration bears.
    assert!(matches!(done.code, Some(0 | 1 | 3)), "{args:?}: {:?} {}", done.code, done.err);
    let measured = serde_json::from_str(&done.out);
    let measured = measured.unwrap_or_else(|error| panic!("{error}: {}", done.out));
    look(&measured, &Recording::open(&recording).expect("a recording"))
}

/// A measure of spread of the judged samples at one pace, in ns: raw, remaining, undisturbed.
fn spread(subtraction: &Value, measure: &str) -> (f64, f64, Option<f64>) {
    let values = &subtraction["verdict"]["paced"][measure];
    let ns = |name: &str| values[name].as_f64();
    let both = ns("raw_ns").zip(ns("left_ns"));
    let (raw, left) = both.unwrap_or_else(|| panic!("{measure}: {subtraction}"));
    (raw, left, ns("undisturbed_ns"))
}

/// Do-nothing loops under 1,000 added interrupts per second: with the gaps charged, nearly all of the spread
/// that they cause is explained, and by the right source.
///
/// Every sample is interrupted, so the loop's own variation is known from a run without the added interrupts,
/// from samples in which nothing happened.
#[test]
fn added_interrupts_explain_the_spread_of_do_nothing_loops() {
    let _alone = tool::alone();
    if !may_trace() {
        return;
    }
    let cpu = *cpus::allowed().last().expect("a CPU");
    // Under SCHED_FIFO no other threads run, so only interrupts remain.
    let args = ["loops", "--variants", "sum-reg", "--samples", "5000", "--policy", "fifo"];
    // On a shared host the core's own speed changes by percents from one millisecond to the next, and between
    // the two runs. The quartiles must be right, and the tails if the host did not disturb them (a quiet host
    // gives 0.98 for both, a busy one 0.5 for the tails).
    one_of(3, || {
        let quiet = under_interrupts(cpu, None, &args);
        let disturbed = under_interrupts(cpu, Some(1_000), &args);
        let [quiet, disturbed] =
            [&quiet, &disturbed].map(|summary| &summary["series"][0]["subtraction"]);
        let sources = disturbed["sources"].as_array().expect("a list");
        let added = sources.iter().find(|source| source["name"] == PERF_TIMER);
        let touched = added.and_then(|source| source["samples"].as_u64()).expect("a source");
        let judged = disturbed["judged"].as_u64().expect("a count");
        // A host that takes the CPU in one of twenty samples changes what remains of them.
        let large = |subtraction: &Value| subtraction["left_out_large"].as_u64().expect("a count");
        let host = large(quiet).max(large(disturbed)) < 250;
        // Samples that are not judged have large unexplained detours. A core that became faster after the
        // calibration leaves some samples between two interrupts.
        ensure(touched > 4_000 && judged > 2_500, host, || {
            format!("{touched} touched, {judged} judged")
        })?;
        let share = |measure| {
            let (raw, left, _) = spread(disturbed, measure);
            // Absent where something happened in nearly every sample.
            let own = spread(quiet, measure).2.unwrap_or(f64::INFINITY);
            let share = (raw - left) / (raw - own);
            let said = format!("{measure}: {raw:.0} ns, left {left:.0}, by itself {own:.0}");
            println!("{said}: {share:.3}");
            (share, own < raw / 2.0, said)
        };
        let (quartiles, calm, said) = share("iqr");
        ensure(calm && (0.9..1.2).contains(&quartiles), host, || said)?;
        let (tails, calm, said) = share("p99_p1");
        ensure(!calm || (0.4..1.2).contains(&tails), host, || said)
    });
}

/// Returns the rate of the grid of the added interrupts, from the kernel's own events: late periods are
/// skipped, the others stay on the grid.
fn delivered_hz(recording: &Recording, cpu: u32) -> f64 {
    let names = recording.rows::<Name>().flat_map(|rows| rows.expect("readable"));
    let address = names.into_iter().find(|name| name.name == PERF_TIMER).expect("resolved").key;
    let events = recording.rows_of_cpu::<KernelEvent>(cpu).flat_map(|rows| rows.expect("readable"));
    let at: Vec<u64> = events
        .filter(|event| event.kind == EventKind::HrtimerEntry && event.args[1] == address)
        .map(|event| event.ticks)
        .collect();
    let (first, last) = (at[0], at[at.len() - 1]);
    let mut between: Vec<u64> = at.windows(2).map(|pair| pair[1] - pair[0]).collect();
    between.sort_unstable();
    let usual = between[between.len() / 2] as f64;
    let periods = ((last - first) as f64 / usual).round();
    periods / recording.run().clock.seconds(last - first)
}

/// Timer ticks and added interrupts are found in each method's samples, within a thousandth, and named. The
/// grain of 100 µs is a third of the shortest period to find.
#[test]
fn ticks_and_added_interrupts_are_found_as_periods() {
    let _alone = tool::alone();
    if !may_trace() {
        return;
    }
    let cpu = *cpus::allowed().last().expect("a CPU");
    // Windows are evenly spaced, repetitions are not; `tick` reads its samples as `fwq` does.
    let fwq: &[&str] = &["fwq", "--grain", "100us", "--repetitions", "50000"];
    let ftq: &[&str] = &["ftq", "--window", "100us", "-d", "5s"];
    let tick: &[&str] = &["tick", "--kernel", "intadd", "--repetitions", "50000"];
    let cases = [(137, fwq), (1_000, fwq), (3_333, fwq), (137, ftq), (3_333, ftq), (1_000, tick)];
    for (rate, method) in cases {
        // A busy moment of the host hides a line (the benchmark has a table of power).
        one_of(4, || {
            let lines = nearest_lines(cpu, rate, method);
            let named = lines.last().is_some_and(|(_, name)| name == PERF_TIMER);
            let whole = named && lines.iter().all(|(off, _)| *off < 0.001);
            ensure(whole, true, || format!("{method:?} {rate} Hz: {lines:?}"))
        });
    }
}

/// For timer ticks and for added interrupts: the relative distance of the nearest line, and the name of what
/// causes it.
fn nearest_lines(cpu: u32, rate: u64, method: &[&str]) -> Vec<(f64, Value)> {
    in_directory(cpu, Some(rate), method, |measured, recording| {
        // If every tick comes with, or always just beside, one of the added interrupts, it may not be a
        // separate event.
        let in_step = |&tick_hz: &u32| rate.is_multiple_of(u64::from(tick_hz));
        let tick_hz = recording.run().machine.tick_hz.filter(|tick_hz| !in_step(tick_hz));
        let added_hz = delivered_hz(recording, cpu);
        let sought = [tick_hz.map(f64::from), Some(added_hz)].into_iter().flatten();
        let lines = measured["series"][0]["spectrum"]["lines"].as_array().expect("lines");
        let nearest = |hz: f64| {
            let off = |line: &Value| (line["hz"].as_f64().expect("a rate") / hz - 1.0).abs();
            let line = lines.iter().min_by(|a, b| off(a).total_cmp(&off(b)));
            line.map_or((1.0, Value::Null), |line| (off(line), line["carriers"][0]["name"].clone()))
        };
        sought.map(nearest).collect()
    })
}
