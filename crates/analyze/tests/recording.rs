//! A small recording on disk, summarised: every number known beforehand.

use anechoic_analyze::{sources, summarize};
use anechoic_lab::two_cpus::{self, MICRO, SECOND, SHORTEST, activity};
use anechoic_recording::attribution::{Alignment, Attribution, Audit};
use anechoic_recording::run::RunState;
use anechoic_recording::{
    Activity, ActivityKind, Counter, Detour, Loss, ProblemKind, Recorder, Recording, Run,
};
use std::path::Path;

/// 10 s of two CPUs: every 4 ms a tick of 20 µs on both; on CPU 1 after each a hole of 80 µs.
fn detours(seconds: u64) -> Vec<Detour> {
    let mut detours = vec![];
    for cpu in 0..2 {
        for tick in 0..seconds * 250 {
            let start = tick * SECOND / 250;
            let gap = |after: u64, length: u64| Detour {
                cpu,
                start_ticks: start + after * MICRO,
                end_ticks: start + (after + length) * MICRO + SHORTEST,
            };
            detours.push(gap(100, 20));
            if cpu == 1 {
                detours.push(gap(500, 80));
            }
        }
    }
    detours
}

/// Half of a tick is the gap before it; the hole has no kernel event.
fn activities(detours: &[Detour]) -> Vec<Activity> {
    let mut activities = vec![];
    let mut index = [0; 2];
    for detour in detours {
        let at = (detour.cpu, index[detour.cpu as usize]);
        index[detour.cpu as usize] += 1;
        let start = detour.start_ticks;
        let length = detour.end_ticks - start - SHORTEST;
        if length == 20 * MICRO {
            let half = length / 2;
            activities.push(activity(at, ActivityKind::EntryGap, "timer-tick", start, half));
            activities.push(activity(
                at,
                ActivityKind::Activity,
                "timer-tick",
                start + half,
                length - half,
            ));
        } else {
            let mut hole = activity(at, ActivityKind::Unexplained, "vm-or-hardware", start, length);
            hole.steal_ns = Some(20_000);
            activities.push(hole);
        }
    }
    activities
}

fn write(dir: &Path, run: &Run, detours: &[Detour]) {
    let mut recorder = Recorder::create(dir, run).expect("a new directory");
    recorder.append(detours).expect("in order");
    let losses = [Loss {
        what: "events".into(),
        cpu: 1,
        start_ticks: SECOND,
        end_ticks: 2 * SECOND,
        count: 5,
    }];
    recorder.append(&losses).expect("in order");
    let reading = |ticks, value| Counter { name: "interrupts/LOC".into(), cpu: 0, ticks, value };
    recorder.append(&[reading(0, 7), reading(run.end_ticks, 2_507)]).expect("in order");
    recorder.finish(run).expect("there is space");
}

fn attribute(dir: &Path, activities: &[Activity]) -> Recording {
    let recording = Recording::open(dir).expect("just written");
    let mut writer = recording.derive::<Activity>().expect("writable");
    writer.append(activities).expect("in order");
    writer.finish().expect("there is space");
    let audit =
        |counter: &str, seen| Audit { counter: counter.into(), cpu: 0, counted: 2_500, seen };
    let attribution = Attribution {
        tool_version: "0.1.0".into(),
        alignment: Alignment { events: 10_000, ..Alignment::default() },
        audit: vec![audit("interrupts/LOC", Some(2_499)), audit("interrupts/RES", Some(2_400))],
        untraced: vec!["HYP".into()],
        ..Attribution::default()
    };
    recording.write_attribution(&attribution).expect("writable");
    Recording::open(dir).expect("just written")
}

#[test]
fn every_number() {
    let place = tempfile::tempdir().expect("a place for it");
    let dir = place.path().join("recording");
    let detours = detours(10);
    write(&dir, &two_cpus::run(10 * SECOND), &detours);
    let recording = attribute(&dir, &activities(&detours));
    let summary = summarize(&recording).expect("a sound recording");

    // CPU 0: 250 × 20 µs a second; CPU 1: 250 × 100 µs.
    let close = |a: f64, b: f64| (a - b).abs() < 1e-9;
    assert!(close(summary.cpus[0].noise, 0.005), "{}", summary.cpus[0].noise);
    assert!(close(summary.cpus[1].noise, 0.025), "{}", summary.cpus[1].noise);
    assert!(close(summary.total.noise, 0.015), "{}", summary.total.noise);
    assert_eq!(summary.total.worst_cpu, Some(1));
    let interval = summary.total.interval.expect("enough blocks");
    assert!(close(interval.low, 0.015) && interval.high < 0.0151, "even noise: {interval:?}");
    assert_eq!((summary.intervals.blocks, summary.intervals.block_ns), (50, 200_000_000));
    assert!(close(summary.cpus[0].rate_per_s, 250.0));
    assert_eq!(summary.cpus[1].detours, 5_000);
    let lengths = summary.cpus[1].lengths.as_ref().expect("there were some");
    assert_eq!((lengths.min_ns, lengths.max_ns), (20_000, 80_000));
    assert!((lengths.p50_ns as f64 - 2e4).abs() < 20.0, "{lengths:?}");
    assert!((lengths.p50_by_time_ns as f64 - 8e4).abs() < 80.0, "{lengths:?}");
    assert_eq!(summary.cpus[0].shortest_gap_ns, Some(9.6));

    let thresholds: Vec<_> = summary.curve.iter().map(|p| (p.threshold_ns, p.detours)).collect();
    assert_eq!(thresholds.first(), Some(&(60, 7_500)));
    assert_eq!(thresholds.last(), Some(&(50_000, 2_500)));

    let found = summary.sources.as_ref().expect("it was attributed");
    let rows: Vec<_> = found
        .rows
        .iter()
        .map(|r| (r.source.as_str(), r.detours, r.cpus.clone(), (r.share * 1e6).round()))
        .collect();
    // 200 ms of holes and 100 ms of ticks a second and CPU pair: two thirds, one third.
    let expected = [
        ("vm-or-hardware", 2_500, vec![1], 666_667.0),
        ("timer-tick", 5_000, vec![0, 1], 333_333.0),
    ];
    assert_eq!(rows, expected);
    assert!(close(found.rows[1].rate_per_s, 250.0), "of the CPUs that it touched");
    assert!(close(found.rows[1].share_without_gaps, 1.0 / 6.0));
    assert_eq!(found.rows[0].steal.map(|steal| (steal.ns, steal.share)), Some((50_000_000, 0.25)));
    let coverage = found.coverage.expect("time was lost");
    assert!(close(coverage.explained, 1.0 / 3.0), "{coverage:?}");
    assert!(close(coverage.explained_without_gaps, 1.0 / 6.0), "{coverage:?}");
    assert_eq!((coverage.not_attributable, coverage.unattributed), (0.0, 0.0));
    assert_eq!(found.audited, 2);
    let differ: Vec<_> = found.audit_differences.iter().map(|d| d.counter.as_str()).collect();
    assert_eq!(differ, ["interrupts/RES"], "one may differ, a hundred may not");

    assert_eq!(summary.longest.len(), 10);
    assert!(summary.longest.iter().all(|d| d.length_ns == 80_000 && d.steal_ns == Some(20_000)));
    assert_eq!(summary.longest[0].start_ns, 500_000);
    assert_eq!(summary.longest[0].parts[0].source, "vm-or-hardware");
    let losses = &summary.losses[0];
    assert_eq!((losses.what.as_str(), losses.count, losses.time_share), ("events", 5, 0.05));
    assert_eq!(summary.suspects, None, "events were recorded");

    let alone = sources(&recording).expect("it was attributed");
    assert_eq!(Some(alone.sources), summary.sources);
}

#[test]
fn without_events_there_are_suspects() {
    let place = tempfile::tempdir().expect("a place for it");
    let dir = place.path().join("recording");
    let run = Run { trace: None, ..two_cpus::run(10 * SECOND) };
    write(&dir, &run, &detours(10));
    let recording = Recording::open(&dir).expect("just written");
    let suspects = summarize(&recording).expect("sound").suspects.expect("no events");
    assert_eq!(
        (suspects[0].what.as_str(), suspects[0].rate_per_s),
        ("local timer interrupts", Some(250.0))
    );
    let error = sources(&recording).expect_err("nothing was attributed").to_string();
    assert!(error.contains("anechoic check") && !error.contains("anechoic attribute"), "{error}");
}

#[test]
fn activities_of_other_detours_are_refused() {
    let place = tempfile::tempdir().expect("a place for it");
    let dir = place.path().join("recording");
    let detours = detours(10);
    write(&dir, &two_cpus::run(10 * SECOND), &detours[..2_000]);
    let not_yet =
        sources(&Recording::open(&dir).expect("just written")).expect_err("no activities");
    assert!(not_yet.to_string().contains("anechoic attribute"), "{not_yet}");
    let recording = attribute(&dir, &activities(&detours));
    let error = summarize(&recording).expect_err("more time than there is");
    assert_eq!(error.kind, ProblemKind::Data, "{error}");
    assert!(error.why.contains("take more time"), "{error}");
}

#[test]
fn a_run_that_was_cut_off_or_saw_nothing() {
    let place = tempfile::tempdir().expect("a place for it");
    let mut run = two_cpus::run(10 * SECOND);
    run.state = RunState::Running;
    for cpu in &mut run.cpus {
        (cpu.last_ticks, cpu.iterations, cpu.shortest_gap_ticks) = (0, 0, 0);
    }
    let dir = place.path().join("cut off");
    write(&dir, &run, &detours(4));
    let summary = summarize(&Recording::open(&dir).expect("just written")).expect("sound");
    assert!((summary.cpus[1].wall_ns as f64 - 4e9).abs() < 4e6, "{:?}", summary.cpus[1]);
    assert!((summary.total.noise - 0.015).abs() < 1e-4, "{}", summary.total.noise);
    assert_eq!(summary.cpus[0].iteration_ns, None);
    assert_eq!((summary.intervals.blocks, summary.cpus[0].shortest_gap_ns), (39, None));

    let dir = place.path().join("nothing");
    write(&dir, &two_cpus::run(SECOND / 10), &[]);
    let summary = summarize(&Recording::open(&dir).expect("just written")).expect("sound");
    assert_eq!((summary.total.noise, summary.total.lengths.as_ref()), (0.0, None));
    assert_eq!(summary.total.interval, None, "too short for one");
    assert_eq!(summary.not_available.len(), 1);
    assert!((summary.cpus[0].iteration_ns.expect("it ran") - 10.0).abs() < 0.01);
}

#[test]
fn ticks_with_and_without_events() {
    let place = tempfile::tempdir().expect("a place for it");
    let dir = place.path().join("recording");
    let mut run = two_cpus::run(10 * SECOND);
    run.machine.tick_hz = Some(250);
    run.trace.as_mut().expect("made so").alternate_ns = Some(250_000_000);
    // With events a tick takes 1 µs more. They are off in the second half of every half second.
    let off = |ticks: u64| ticks % (SECOND / 2) >= SECOND / 4;
    let mut all = detours(10);
    for detour in all.iter_mut().filter(|d| !off(d.start_ticks)) {
        detour.end_ticks += MICRO;
    }
    let mut recorder = Recorder::create(&dir, &run).expect("a new directory");
    recorder.append(&all).expect("in order");
    let untraced = |cpu| {
        move |window: u64| Loss {
            what: "untraced".into(),
            cpu,
            start_ticks: window * SECOND / 2 + SECOND / 4,
            end_ticks: (window + 1) * SECOND / 2,
            count: 0,
        }
    };
    for cpu in 0..2 {
        let losses: Vec<Loss> = (0..20).map(untraced(cpu)).collect();
        recorder.append(&losses).expect("in order");
    }
    recorder.finish(&run).expect("there is space");
    let mut rows = activities(&all);
    for row in &mut rows {
        if off(row.start_ticks) {
            (row.kind, row.source) = (ActivityKind::NotAttributable, "not-attributable".into());
        } else if row.kind == ActivityKind::Unexplained && row.self_ticks == 21 * MICRO {
            (row.kind, row.source) = (ActivityKind::Activity, "timer-tick".into());
        }
    }
    let summary = summarize(&attribute(&dir, &rows)).expect("sound");
    let cost = summary.tracer_cost.expect("20 pairs");
    assert_eq!((cost.pairs, cost.missed_on, cost.missed_off), (20, 0, 0));
    for difference in [cost.median, cost.mean] {
        assert!((difference.difference_ns - 1_000.0).abs() < 1.0, "{cost:?}");
        assert!(difference.smallest_effect_ns < 1.0, "no spread, no doubt: {cost:?}");
    }
    assert_eq!(summary.sources.expect("attributed").audited, 0, "events were off half of the time");
}
