//! How fast the loops of a run went, beside their own counts of iterations.

use crate::tool::{self, anechoic, arg};
use anechoic_recording::{Detour, LoopPace, Recording};

/// What the table holds of each CPU adds up to what its loop counted, and without a break to the time in which it ran.
#[test]
fn paces_agree_with_the_counts_of_the_loop() {
    let _alone = tool::alone();
    let dir = tempfile::tempdir().expect("a directory");
    let done = anechoic(&["run", "-q", "-d", "5s", "-o", arg(dir.path())]);
    assert!(done.code.is_some_and(|code| code < 2), "{}", done.err);
    let recording = Recording::open(dir.path()).expect("just recorded");
    let summary = tool::summary(dir.path());
    let metrics = anechoic(&["export", "prometheus", arg(dir.path()), "--per-cpu"]).out;
    let metric = metrics.lines().find_map(|line| line.strip_prefix("anechoic_slow_ratio "));
    let metric: f64 = metric.and_then(|value| value.parse().ok()).expect("a metric");
    let slow = summary["pace"]["slow"].as_f64().expect("known");
    assert!((metric - slow).abs() < 1e-9, "{metric} {slow}");
    assert!(metrics.contains("anechoic_cpu_slow_ratio{cpu="), "{metrics}");
    for (place, cpu) in recording.run().cpus.iter().enumerate() {
        let rows: Vec<LoopPace> = recording
            .rows_of_cpu::<LoopPace>(cpu.cpu)
            .flat_map(|rows| rows.expect("undamaged"))
            .collect();
        let (first, last) = (rows.first().expect("some"), rows.last().expect("some"));
        assert_eq!((first.start_ticks, last.end_ticks), (cpu.first_ticks, cpu.last_ticks));
        assert!(rows.windows(2).all(|pair| pair[0].end_ticks == pair[1].start_ticks));
        let gaps: u64 = recording
            .rows_of_cpu::<Detour>(cpu.cpu)
            .flat_map(|rows| rows.expect("undamaged"))
            .map(|detour| detour.end_ticks - detour.start_ticks)
            .sum();
        let work: u64 = rows.iter().map(|row| row.work_ticks).sum();
        let iterations: u64 = rows.iter().map(|row| row.iterations).sum();
        // One iteration after each detour and each millisecond is left out: it has the time of storing.
        let left_out = cpu.iterations - cpu.detours - iterations;
        let wall = cpu.last_ticks - cpu.first_ticks;
        let stored = cpu.detours + (5_000.0 * 1.01) as u64;
        assert!(left_out <= stored, "{left_out} of {stored}");
        let storing = wall - gaps - work;
        assert!(storing <= left_out * 200 * 3, "{storing} ticks for {left_out} iterations");
        // The mean of all iterations, by their number in the description of the run, and by calm and slow time.
        let [noise, pace] = [&summary["cpus"][place], &summary["pace"]["cpus"][place]];
        let number = |value: &serde_json::Value, name: &str| value[name].as_f64().expect("known");
        let mean_ns = number(noise, "iteration_ns");
        let calm_ns = number(pace, "calm_ns");
        let expected = (1.0 - number(noise, "noise")) * (1.0 - calm_ns / mean_ns);
        let slow = number(pace, "slow");
        // What is slower by less than 0.5 % is calm, and the iterations that are left out are longer.
        assert!((slow - expected).abs() < 0.006, "{slow} slow, {expected} by {mean_ns} ns");
    }
}

/// A run of which the last part is kept has the paces of that part.
#[test]
fn the_last_part_has_its_paces() {
    let _alone = tool::alone();
    let dir = tempfile::tempdir().expect("a directory");
    let stop = ["--stop-on", "detour>10s", "--keep", "500ms"];
    let run = ["run", "-q", "-d", "3s", "-o", arg(dir.path())];
    let done = anechoic(&[&run[..], &stop].concat());
    assert!(done.code.is_some_and(|code| code <= 2), "{}", done.err);
    let recording = Recording::open(dir.path()).expect("just recorded");
    for cpu in &recording.run().cpus {
        let rows = recording.rows_of_cpu::<LoopPace>(cpu.cpu);
        let rows: Vec<LoopPace> = rows.flat_map(|rows| rows.expect("undamaged")).collect();
        let known: u64 = rows.iter().map(|row| row.end_ticks - row.start_ticks).sum();
        let wall = cpu.last_ticks - cpu.first_ticks;
        let starts = rows.iter().all(|row| row.start_ticks >= cpu.first_ticks);
        assert!(starts && known <= wall && known * 100 >= wall * 99, "{known} of {wall} ticks");
    }
}
