//! Lost time of a recording of series: rounds with pauses between them, each with its own step.

use anechoic_analyze::{Sources, sources, summarize};
use anechoic_lab::two_cpus::{self, MICRO, SECOND, activity};
use anechoic_recording::attribution::{Alignment, Attribution, Audit};
use anechoic_recording::run::{Ended, Outcome};
use anechoic_recording::{
    Activity, ActivityKind, Counter, Detour, Fixed, Loss, Parameters, ProblemKind, Recorder,
    Recording, Run, Sample, Series,
};
use std::path::Path;

/// Two rounds of both CPUs: each second of start and end, and the step in ticks.
const ROUNDS: [(u64, u64, u64); 2] = [(1, 5, 1_250), (7, 9, 5_000)];

fn series(number: u32, cpu: u32, step_ticks: Option<u64>) -> Series {
    Series {
        series: number,
        method: "fwq".into(),
        variant: "sum".into(),
        cpu: Some(cpu),
        tid: 100,
        policy: "other".into(),
        grain_ticks: 1_000 * MICRO,
        fixed: Fixed::Work,
        asked: 1,
        round: 0,
        parameters: Parameters {
            iterations: 1_000,
            calibrated_ticks: 1_000 * MICRO,
            instructions: 1,
            step_iterations: step_ticks.map(|_| 1),
            step_ticks,
            threshold_ticks: step_ticks.map(|step| step * 3 / 2),
            copies: 1,
            ..Parameters::default()
        },
    }
}

/// The run of both rounds on both CPUs, and its series.
fn rounds(watched: bool) -> (Run, Vec<Series>) {
    let mut run = Run { method: "fwq".into(), threshold_ticks: 0, ..two_cpus::run(10 * SECOND) };
    let mut planned = vec![];
    for (number, (round, cpu)) in (0..2).flat_map(|r| [(r, 0), (r, 1)]).enumerate() {
        let (start, end, step) = ROUNDS[round];
        planned.push(series(number as u32, cpu, watched.then_some(step)));
        run.outcomes.push(Outcome {
            series: number as u32,
            first_ticks: start * SECOND,
            last_ticks: end * SECOND,
            samples: 1,
            lost: 0,
            wrong: 0,
            ended: Ended::Complete,
            ..Outcome::default()
        });
    }
    run.cpus.iter_mut().for_each(|cpu| cpu.shortest_gap_ticks = 0);
    (run, planned)
}

/// On CPU 1 a tick of 20 µs each 4 ms of the whole ten seconds, and what each step adds to it.
fn detours() -> Vec<Detour> {
    let detour = |tick: u64| {
        let start_ticks = tick * SECOND / 250 + 100 * MICRO;
        let step = if start_ticks < 6 * SECOND { ROUNDS[0].2 } else { ROUNDS[1].2 };
        Detour { cpu: 1, start_ticks, end_ticks: start_ticks + 20 * MICRO + step }
    };
    (0..2_500).map(detour).collect()
}

fn record(dir: &Path, watched: bool) {
    let (run, series) = rounds(watched);
    let mut recorder = Recorder::create(dir, &run).expect("a new directory");
    recorder.append(&series).expect("in order");
    if watched {
        recorder.append(&detours()).expect("in order");
    }
    for outcome in &run.outcomes {
        let sample = Sample {
            series: outcome.series,
            index: 0,
            cpu: series[outcome.series as usize].cpu.expect("pinned"),
            start_ticks: outcome.first_ticks,
            end_ticks: outcome.last_ticks,
            count: 1,
        };
        recorder.append(&[sample]).expect("in order");
    }
    // Half a second in the first round, half a second in the pause.
    let (start_ticks, end_ticks) = (9 * SECOND / 2, 11 * SECOND / 2);
    let loss = Loss { what: "events".into(), cpu: 1, start_ticks, end_ticks, count: 5 };
    recorder.append(&[loss]).expect("in order");
    let reading = |ticks, value| Counter { name: "interrupts/LOC".into(), cpu: 1, ticks, value };
    recorder.append(&[reading(SECOND, 7), reading(9 * SECOND, 2_007)]).expect("in order");
    recorder.finish(&run).expect("there is space");
}

/// A row for each detour that lies in a stint; events were seen of the given number of 2,000 interrupts.
fn attribute(dir: &Path, seen: u64) -> Recording {
    let recording = Recording::open(dir).expect("just written");
    let mut writer = recording.derive::<Activity>().expect("writable");
    let inside = |start: u64| {
        ROUNDS.iter().any(|round| (round.0 * SECOND..round.1 * SECOND).contains(&start))
    };
    let rows: Vec<Activity> = (0..)
        .zip(detours())
        .filter(|(_, detour)| inside(detour.start_ticks))
        .map(|(index, detour)| {
            let kind = ActivityKind::Activity;
            activity((1, index), kind, "timer-tick", detour.start_ticks, 20 * MICRO)
        })
        .collect();
    writer.append(&rows).expect("in order");
    writer.finish().expect("there is space");
    let audit =
        Audit { counter: "interrupts/LOC".into(), cpu: 1, counted: 2_000, seen: Some(seen) };
    let alignment = Alignment { events: 3_000, ..Alignment::default() };
    let attribution = Attribution { audit: vec![audit], alignment, ..Attribution::default() };
    recording.write_attribution(&attribution).expect("writable");
    Recording::open(dir).expect("just written")
}

#[test]
fn time_is_that_of_the_loops() {
    let place = tempfile::tempdir().expect("a place for it");
    let dir = place.path().join("recording");
    record(&dir, true);
    let recording = attribute(&dir, 1_999);
    let summary = summarize(&recording).expect("a sound recording");

    let close = |a: f64, b: f64| (a - b).abs() < 1e-9;
    let cpu = &summary.cpus[1];
    assert_eq!((cpu.wall_ns, cpu.detours), (6_000_000_000, 1_500), "the pauses are not measured");
    assert!(close(cpu.noise, 0.005), "20 of 4,000 µs, whatever the step: {}", cpu.noise);
    assert_eq!((summary.cpus[0].noise, summary.cpus[0].wall_ns), (0.0, 6_000_000_000));
    assert!(close(summary.total.noise, 0.0025), "{}", summary.total.noise);
    let lengths = cpu.lengths.as_ref().expect("there were some");
    assert_eq!((lengths.min_ns, lengths.max_ns), (20_000, 20_000));
    assert_eq!((cpu.iteration_ns, cpu.shortest_gap_ns, cpu.subtracted_ns), (None, None, 2_000.0));
    let interval = cpu.interval.expect("enough blocks of the loops' time");
    assert!(close(interval.low, 0.005) && interval.high < 0.00504, "{interval:?}");
    assert_eq!((summary.intervals.blocks, summary.intervals.block_ns), (50, 120_000_000));
    assert_eq!(summary.run.threshold_ns, 3_000, "the higher of 0.75 and 3 µs");
    assert_eq!((summary.curve[0].threshold_ns, summary.curve[0].detours), (3_000, 1_500));
    assert_eq!(summary.longest[0].index, 250, "detours before the first round keep their number");
    let losses = &summary.losses[0];
    assert!(close(losses.time_share, 0.5 / 12.0), "half of it lies in the pause: {losses:?}");

    let Sources { noise, sources: found, .. } = sources(&recording).expect("it was attributed");
    assert_eq!(noise, summary.total.noise);
    let row = &found.rows[0];
    assert_eq!((row.source.as_str(), row.detours, row.share), ("timer-tick", 1_500, 1.0));
    assert!(close(row.rate_per_s, 250.0), "{}", row.rate_per_s);
    assert_eq!(found.coverage.map(|coverage| coverage.unattributed), Some(0.0));
    assert_eq!(found.audit_differences, [], "events in the pauses are counted and seen");
}

#[test]
fn the_audit_still_finds_what_is_missing() {
    let place = tempfile::tempdir().expect("a place for it");
    let dir = place.path().join("recording");
    record(&dir, true);
    let found = sources(&attribute(&dir, 1_900)).expect("it was attributed");
    assert_eq!(found.sources.audit_differences.len(), 1);
}

#[test]
fn whole_samples_have_no_lost_time() {
    let place = tempfile::tempdir().expect("a place for it");
    let dir = place.path().join("recording");
    record(&dir, false);
    for error in [
        sources(&attribute(&dir, 1_999)).expect_err("nobody watched"),
        summarize(&attribute(&dir, 1_999)).expect_err("nobody watched"),
    ] {
        assert_eq!(error.kind, ProblemKind::NoVerdict, "{error}");
        assert!(error.to_string().contains("; measure without --pure"), "{error}");
    }
}

#[test]
fn a_recording_that_was_cut_off_knows_its_samples() {
    let place = tempfile::tempdir().expect("a place for it");
    let dir = place.path().join("recording");
    let (run, planned) = rounds(true);
    let mut recorder = Recorder::create(&dir, &run).expect("a new directory");
    recorder.append(&planned).expect("in order");
    recorder.append(&detours()).expect("in order");
    let sample = |index| Sample {
        series: 1,
        index,
        cpu: 1,
        start_ticks: (1 + index) * SECOND,
        end_ticks: (2 + index) * SECOND,
        count: 1,
    };
    recorder.append(&[sample(0), sample(1)]).expect("in order");
    let state = anechoic_recording::run::RunState::Running;
    recorder.finish(&Run { state, outcomes: vec![], ..run }).expect("there is space");
    let summary = summarize(&Recording::open(&dir).expect("just written")).expect("sound");
    assert_eq!((summary.cpus[1].wall_ns, summary.cpus[1].detours), (2_000_000_000, 500));
    assert_eq!((summary.cpus[0].wall_ns, summary.total.noise), (0, 0.005));
}
