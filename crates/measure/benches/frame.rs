//! The overhead of a sample: the empty kernel, compared with the two counter reads that every sample needs.
//! Without kernel events; in alternating pairs.

use anechoic_kernels::counter;
use anechoic_measure::experiment::Host;
use anechoic_measure::methods;
use anechoic_measure::run::{Plan, run};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

const PAIRS: usize = 5;
const SAMPLES: u64 = 500_000;
const WINDOW: Duration = Duration::from_micros(10);

/// Mean nanoseconds of one sample (fixed work) or one unit (fixed time) of the empty kernel.
fn frame_ns(method: &str, cpu: u32) -> f64 {
    let method = methods::find(method).expect("a method");
    let fixed_time = method.id == "ftq";
    let window = format!("{}ns", WINDOW.as_nanos());
    let (samples, all) = (SAMPLES.to_string(), format!("{}us", SAMPLES / 10 * 10));
    let given: &[(&str, &str)] = match fixed_time {
        true => &[("work", "empty"), ("window", &window), ("duration", &all)],
        false => &[("work", "empty"), ("grain", &window), ("repetitions", &samples)],
    };
    let host = Host { cpus: vec![cpu], machine: anechoic_system::machine::describe() };
    let experiment = method.with(given, &host).expect("an experiment");
    let plan = Plan { trace: false, allow_variant_tsc: true, ..Plan::new(experiment, "") };
    let dir = tempfile::tempdir().expect("a directory");
    let run = run(&plan, dir.path(), &AtomicBool::new(false), &mut |_| {}).expect("a run");
    let outcome = &run.outcomes[0];
    assert_eq!((outcome.lost, outcome.wrong), (0, 0));
    let ns = run.clock.ns(outcome.last_ticks - outcome.first_ticks) as f64;
    if !fixed_time {
        return ns / outcome.samples as f64;
    }
    let recording = anechoic_recording::Recording::open(dir.path()).expect("a recording");
    let samples = recording.rows::<anechoic_recording::Sample>();
    let units: u64 = samples.flat_map(|rows| rows.expect("rows")).map(|sample| sample.count).sum();
    ns / units as f64
}

/// Median over batches of the mean ticks of one reading at a boundary of work.
fn boundary_ticks() -> f64 {
    let batch = || {
        let begin = counter::boundary().0;
        let mut end = begin;
        for _ in 0..1_000 {
            end = counter::boundary().0;
        }
        (end - begin) as f64 / 1_000.0
    };
    let mut batches: Vec<f64> = (0..201).map(|_| batch()).collect();
    batches.sort_by(f64::total_cmp);
    batches[100]
}

fn main() {
    let cpu = *anechoic_system::cpus::allowed().last().expect("a CPU");
    let clock = anechoic_system::clock::calibrate(&[cpu], true).expect("a counter");
    for (method, what) in [("fwq", "a sample of fixed work"), ("ftq", "a unit of fixed time")] {
        let mut pairs: Vec<(f64, f64)> = (0..PAIRS)
            .map(|_| {
                let bare = boundary_ticks() * 1e12 / clock.frequency_millihertz as f64;
                (frame_ns(method, cpu), bare)
            })
            .collect();
        pairs.sort_by(|a, b| a.0.total_cmp(&b.0));
        let (frame, bare) = pairs[PAIRS / 2];
        println!(
            "{what}, empty kernel: {frame:.1} ns (all: {:.1?})",
            pairs.iter().map(|p| p.0).collect::<Vec<_>>()
        );
        println!("one reading at a boundary:         {bare:.1} ns; ratio {:.2}", frame / bare);
    }
}
