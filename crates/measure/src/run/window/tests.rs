//! What is kept of made-up runs.

use super::*;
use anechoic_lab::builders;
use anechoic_recording::run::Outcome;
use anechoic_recording::stop::{Stop, StopCondition};
use anechoic_recording::{EventKind, NameKind};

const MS: u64 = 1_000_000;

/// A run on CPUs 0 and 1 with a counter of 1 GHz that began at 1 s and lasted `ms`, to keep 100 ms.
fn run(ms: u64) -> Run {
    let (first, last) = (1_000 * MS + 5, (1_000 + ms) * MS);
    let iterations = 1_000 * ms;
    let cpus = [0, 1].map(|cpu| CpuRun { iterations, ..builders::cpu_run(cpu, (first, last), 20) });
    let mut run = builders::run("detours", builders::clock(1_000_000_000), cpus.into());
    (run.start_ticks, run.end_ticks) = (1_000 * MS, (1_000 + ms) * MS);
    run.start_utc = "2026-01-01T00:00:00.000000Z".into();
    run.machine.memory_bytes = 16 << 30;
    let kept = Some(Kept { asked_ns: 100 * MS, dropped_ns: 0 });
    run.stop_on = Some(Stop { condition: StopCondition::Longer(MS), met: None, kept });
    run
}

fn window(run: &Run) -> Window {
    Window::new(Duration::from_millis(100), run)
}

fn detour(cpu: u32, start_us: u64, length_us: u64) -> Detour {
    let start_ticks = 1_000 * MS + start_us * 1_000;
    Detour { cpu, start_ticks, end_ticks: start_ticks + length_us * 1_000 }
}

/// Every 25 ms a part begins; each millisecond has a detour and an event on both CPUs.
fn filled(run: &Run, ms: u64) -> Window {
    let mut window = window(run);
    for at in 0..ms {
        let now = (1_000 + at) * MS;
        if at > 0 && window.is_over(now) {
            let counter = Counter { name: "stat/x".into(), cpu: 0, ticks: now, value: at };
            let thread = SeenThread { tid: at as i32, ..SeenThread::default() };
            let part = Part { from_ticks: now, counters: vec![counter], ..Part::default() };
            window.begin(part, vec![thread], u64::MAX);
        }
        let rows = window.rows();
        for cpu in [0, 1] {
            rows.detours.push(detour(cpu, at * 1_000 + 100, 20));
            let (ticks, kind) = (now + 110_000, EventKind::Nmi);
            rows.events.push(KernelEvent { cpu, ticks, kind, pid: 1, args: [0; 3] });
        }
        let name = Name { kind: NameKind::Task, key: at, ticks: now, name: "x".into() };
        rows.names.push(name);
    }
    window
}

#[test]
fn the_last_parts_are_kept_and_the_run_begins_with_them() {
    let mut run = run(1_000);
    let mut window = filled(&run, 1_000);
    assert!(window.parts.len() <= 7, "{} parts", window.parts.len());
    assert!(window.close(run.end_ticks, None).is_none(), "this test reads no counts");
    let rows = window.finish(&mut run);
    assert_eq!(run.start_ticks, 1_900 * MS, "the last 100 ms, in whole parts");
    assert_eq!(run.start_utc, "2026-01-01T00:00:00.900000Z");
    let kept = run.stop_on.as_ref().and_then(|stop| stop.kept).expect("it says so");
    assert_eq!(kept.dropped_ns, 900 * MS);
    for cpu in &run.cpus {
        assert_eq!((cpu.first_ticks, cpu.detours, cpu.iterations), (1_900 * MS, 100, 100_000));
    }
    let count = |count_of: fn(&Rows) -> usize| rows.iter().map(count_of).sum::<usize>();
    assert_eq!(count(|rows| rows.detours.len()), 200);
    assert_eq!(count(|rows| rows.events.len()), 200);
    let readings: Vec<u64> =
        rows.iter().flat_map(|rows| &rows.counters).map(|reading| reading.value).collect();
    assert_eq!(readings, [900], "one reading of the counters, at the start");
    let named: Vec<i32> = run.threads.iter().map(|thread| thread.tid).collect();
    assert_eq!(named, [925, 950, 975]);
}

#[test]
fn a_run_that_is_shorter_than_what_is_kept_stays_whole() {
    let mut run = run(90);
    let mut window = filled(&run, 90);
    window.close(run.end_ticks, None);
    let before = run.clone();
    let rows = window.finish(&mut run);
    assert_eq!((run.start_ticks, run.start_utc), (before.start_ticks, before.start_utc));
    assert_eq!(run.cpus[1].first_ticks, before.cpus[1].first_ticks);
    assert_eq!(run.cpus[1].iterations, before.cpus[1].iterations);
    assert_eq!(run.cpus[1].detours, 90);
    assert_eq!(rows.iter().map(|rows| rows.detours.len()).sum::<usize>(), 180);
}

/// The time before the detour that ended the run counts, not that before the moment when it was found.
#[test]
fn enough_is_kept_before_the_detour_that_ended_the_run() {
    let mut run = run(1_000);
    let mut window = filled(&run, 1_000);
    let met = StoppedBy {
        cpu: 0,
        start_ticks: 1_970 * MS,
        end_ticks: 1_972 * MS,
        second: None,
        thread: None,
    };
    window.close(run.end_ticks, Some(met));
    window.finish(&mut run);
    assert_eq!(run.start_ticks, 1_850 * MS);
}

/// What goes on for longer than is kept may end the run.
#[test]
fn what_goes_on_is_kept_from_its_start() {
    for (since_ticks, expected_ms) in [(u64::MAX, 1_850), (1_300 * MS, 1_200), (1_990 * MS, 1_850)]
    {
        let mut window = window(&run(1_000));
        for ms in (25..1_000).step_by(25) {
            let part = Part { from_ticks: (1_000 + ms) * MS, ..Part::default() };
            window.begin(part, vec![], since_ticks);
        }
        let kept = window.parts.front().map(|part| part.from_ticks / MS);
        assert_eq!(kept, Some(expected_ms), "{since_ticks}");
    }
}

/// A thread that is late has no sample yet, so that its time counts from the last wake-up on its CPU: for 10 s at most, in which an
/// unused CPU, whose last one is long ago, holds no more.
#[test]
fn a_late_wake_up_goes_on_since_the_last_one_of_its_cpu() {
    let window = window(&run(1_000));
    let now = 100_000 * MS;
    let cases: [(&str, &[u64], u64); 5] = [
        ("one is late", &[now - 3 * MS, now - 907 * MS], now - 907 * MS),
        ("none is", &[now - 2 * MS, now - MS], now - 2 * MS),
        ("never woken", &[now - MS, 0], now - 10_000 * MS),
        ("after now", &[now + MS], now),
        ("no CPU", &[], now),
    ];
    for (name, last, expected) in cases {
        assert_eq!(window.asleep_since(last.iter().copied(), now), expected, "case: {name}");
    }
}

/// The thread on CPU 1 is late for 900 ms, much longer than what is kept: the parts before it are still there when it runs.
#[test]
fn a_later_wake_up_than_is_kept_is_kept_whole() {
    let mut run = run(2_000);
    run.stop_on.as_mut().expect("a condition").condition = StopCondition::Wakeup(MS);
    let mut window = window(&run);
    let late_since = 2_050 * MS;
    for ms in (25..2_000).step_by(25) {
        let now = (1_000 + ms) * MS;
        let since = window.asleep_since([now, now.min(late_since)].into_iter(), now);
        window.begin(Part { from_ticks: now, ..Part::default() }, vec![], since);
    }
    let met = StoppedBy {
        cpu: 1,
        start_ticks: late_since,
        end_ticks: 2_950 * MS,
        second: None,
        thread: None,
    };
    run.stop_on.as_mut().expect("a condition").met = Some(met);
    window.close(run.end_ticks, Some(met));
    let rows = window.finish(&mut run);
    assert_eq!(run.start_ticks, 1_950 * MS, "100 ms before it");
    assert!(rows.iter().all(|rows| rows.losses.is_empty()), "no event of it is missing");
}

#[test]
fn what_goes_on_at_the_start_is_no_measured_time() {
    let mut run = run(300);
    let mut window = window(&run);
    let from = 1_150 * MS;
    window.begin(Part { from_ticks: from, ..Part::default() }, vec![], u64::MAX);
    let loss = |start_us: u64, end_us: u64, what, count| Loss {
        what,
        cpu: 1,
        start_ticks: 1_000 * MS + start_us * 1_000,
        end_ticks: 1_000 * MS + end_us * 1_000,
        count,
    };
    let rows = window.rows();
    rows.detours = vec![detour(0, 149_000, 5_000), detour(0, 160_000, 10), detour(1, 155_000, 9)];
    rows.losses = vec![
        loss(100_000, 140_000, LossKind::Detours, 7),
        loss(140_000, 152_000, LossKind::Events, 0),
        loss(200_000, 210_000, LossKind::Detours, 3),
    ];
    window.close(run.end_ticks, None);
    let rows = window.finish(&mut run);
    let firsts: Vec<u64> = run.cpus.iter().map(|cpu| cpu.first_ticks).collect();
    assert_eq!(firsts, [1_154 * MS, from], "CPU 0 was away until then");
    let counts: Vec<_> = run.cpus.iter().map(|cpu| (cpu.detours, cpu.lost_detours)).collect();
    assert_eq!(counts, [(1, 0), (1, 3)]);
    let spans: Vec<_> =
        rows[0].losses.iter().map(|loss| (loss.start_ticks, loss.end_ticks)).collect();
    assert_eq!(spans, [(from, 1_152 * MS), (1_200 * MS, 1_210 * MS)]);
}

/// A guest that was paused for longer than is kept: the detour began before all that is kept.
#[test]
fn a_longer_detour_than_is_kept_is_kept_whole() {
    let mut run = run(2_000);
    run.trace = Some(builders::trace());
    let mut window = window(&run);
    for ms in [500, 1_000, 1_500, 1_900] {
        window.begin(Part { from_ticks: (1_000 + ms) * MS, ..Part::default() }, vec![], u64::MAX);
    }
    window.rows().detours = vec![detour(0, 300_000, 1_690_000), detour(1, 1_950_000, 5)];
    let long = window.rows().detours[0];
    let (start_ticks, end_ticks) = (long.start_ticks, long.end_ticks);
    let met = StoppedBy { cpu: 0, start_ticks, end_ticks, second: None, thread: None };
    run.stop_on.as_mut().expect("a condition").met = Some(met);
    window.close(run.end_ticks, Some(met));
    let from = 2_500 * MS;
    let rows = window.finish(&mut run);
    assert_eq!((run.start_ticks, run.cpus[0].first_ticks), (start_ticks, start_ticks));
    assert_eq!(run.cpus[1].first_ticks, from);
    assert_eq!(run.cpus.iter().map(|cpu| cpu.detours).collect::<Vec<_>>(), [1, 1]);
    let losses = rows.iter().flat_map(|rows| &rows.losses).collect::<Vec<_>>();
    assert_eq!((losses[0].start_ticks, losses[0].end_ticks), (start_ticks, from));
}

#[test]
fn memory_limits_what_is_kept() {
    let mut run = run(1_000);
    run.machine.memory_bytes = MEMORY_PARTS * 40 * size_of::<Detour>() as u64;
    let mut window = window(&run);
    for at in 0..1_000 {
        if window.is_over((1_000 + at) * MS) {
            let part = Part { from_ticks: (1_000 + at) * MS, ..Part::default() };
            window.begin(part, vec![], u64::MAX);
        }
        window.rows().detours.push(detour(0, at * 1_000, 10));
        let held: usize = window.parts.iter().map(|part| part.rows.detours.len()).sum();
        assert!(held <= 50, "{held} detours in memory");
    }
    window.close(run.end_ticks, None);
    window.finish(&mut run);
    let kept_ms = (run.end_ticks - run.start_ticks) / MS;
    assert!((20..=50).contains(&kept_ms), "{kept_ms} ms instead of 100");
}

/// The samples that are kept are numbered from their first on, and a series without any is left out.
#[test]
fn the_series_begin_with_what_is_kept_of_them() {
    let mut run = run(1_000);
    let mut window = filled(&run, 1_000);
    let sample = |series, index, at_ms: u64| Sample {
        series,
        index,
        cpu: 0,
        start_ticks: (1_000 + at_ms) * MS + 1,
        end_ticks: (1_000 + at_ms) * MS + 2,
        count: 1,
    };
    // Series 0 ends at 500 ms; series 1 lost its number 450 and, before what is kept, number 7.
    let all = (0..500).map(|at| sample(0, at, at));
    let is_kept = |index: &u64| ![7, 450].contains(index);
    let all: Vec<Sample> =
        all.chain((0..500).filter(is_kept).map(|at| sample(1, at, 500 + at))).collect();
    for part in &mut window.parts {
        let end = part.from_ticks + 25 * MS;
        let here = |sample: &&Sample| (part.from_ticks..end).contains(&sample.start_ticks);
        part.rows.samples = all.iter().filter(here).copied().collect();
    }
    let outcome = |series, lost| Outcome {
        series,
        first_ticks: 1_000 * MS,
        last_ticks: 2_000 * MS,
        samples: 500,
        lost,
        ..Outcome::default()
    };
    run.outcomes = vec![outcome(0, 0), outcome(1, 2)];
    window.close(run.end_ticks, None);
    let rows = window.finish(&mut run);
    let kept: Vec<&Sample> = rows.iter().flat_map(|rows| &rows.samples).collect();
    let numbers: Vec<u64> = kept.iter().map(|sample| sample.index).collect();
    let expected: Vec<u64> = (0..100).filter(|index| *index != 50).collect();
    assert_eq!(numbers, expected);
    let [outcome] = &run.outcomes[..] else { panic!("{:?}", run.outcomes) };
    assert_eq!((outcome.series, outcome.samples, outcome.lost), (1, 100, 1));
    assert_eq!(outcome.first_ticks, 1_900 * MS);
}

/// What is left of a pace is as fast as all of it was.
#[test]
fn a_pace_is_cut_where_the_part_begins() {
    let pace = LoopPace {
        cpu: 0,
        start_ticks: 1_000,
        end_ticks: 5_000,
        work_ticks: 3_600,
        iterations: 144,
    };
    for (begun, left) in
        [(0, Some((1_000, 3_600, 144))), (4_000, Some((4_000, 900, 36))), (5_000, None)]
    {
        let mut pace = pace;
        let is_left = begin_pace(&mut pace, begun);
        assert_eq!(is_left, left.is_some(), "{begun}");
        if let Some(left) = left {
            assert_eq!((pace.start_ticks, pace.work_ticks, pace.iterations), left, "{begun}");
        }
    }
}
