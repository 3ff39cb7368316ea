//! Attribution of recordings on disk.

use crate::stage::*;
use anechoic_attribute::attribute;
use anechoic_recording::EventKind::*;
use anechoic_recording::run::{Ended, Outcome};
use anechoic_recording::{
    Activity, Counter, Fixed, KernelEvent, Name, NameKind, Parameters, Recorder, Recording, Run,
    Sample, Series,
};
use std::fs;
use std::path::{Path, PathBuf};

/// Writes a recording with a tick, an IPI from the other CPU, and a detour without event.
fn record(dir: &Path, run: &Run, symbols: bool) {
    let mut recorder = Recorder::create(dir, run).unwrap();
    recorder.append(&[detour(100, 200), detour(300, 400), detour(500, 600)]).unwrap();
    let tick = [
        ev(120, LocalTimerEntry, [236, 0, 0]),
        ev(130, HrtimerEntry, [0xa, TICK, 0]),
        ev(140, HrtimerExit, [0xa, 0, 0]),
        ev(150, LocalTimerExit, [236, 0, 0]),
        ev(320, RescheduleEntry, [253, 0, 0]),
        ev(330, RescheduleExit, [253, 0, 0]),
    ];
    recorder.append(&tick).unwrap();
    recorder.append::<KernelEvent>(&[far(310, 42, IpiSendCpu, [1, 0, 0])]).unwrap();
    recorder.append(&[loss("events", 550, 560)]).unwrap();
    let counter = |name: &str, ticks, value| Counter { name: name.into(), cpu: 1, ticks, value };
    recorder.append(&[counter("steal_ns", 90, 5), counter("steal_ns", 325, 15)]).unwrap();
    recorder
        .append(&[counter("interrupts/RES", 50, 7), counter("interrupts/RES", 700, 8)])
        .unwrap();
    let name = |kind, key, name: &str| Name { kind, key, ticks: 0, name: name.into() };
    recorder.append(&[name(NameKind::Task, 42, "bash")]).unwrap();
    if symbols {
        recorder.append(&[name(NameKind::Symbol, TICK, "tick_nohz_handler")]).unwrap();
    }
    recorder.finish(run).unwrap();
}

fn stage_run() -> Run {
    let mut run = run("other", vec![cpu_run(1, VICTIM)]);
    run.steal_readings = true;
    run.machine.cpus = [0, 1]
        .map(|cpu| anechoic_recording::machine::Cpu { cpu, ..run.machine.cpus[0].clone() })
        .into();
    run
}

fn rows(dir: &Path) -> Vec<Activity> {
    let recording = Recording::open(dir).unwrap();
    recording.rows().flat_map(Result::unwrap).collect()
}

fn files(dir: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found: Vec<_> = ["activities/part-00000.parquet", "attribution.json", "SHA256SUMS"]
        .map(|name| (name.into(), fs::read(dir.join(name)).unwrap()))
        .into();
    found.sort();
    found
}

#[test]
fn a_recording_is_attributed_and_again_to_the_same_bytes() {
    let place = tempfile::tempdir().unwrap();
    let dir = place.path().join("recording");
    record(&dir, &stage_run(), true);
    let attribution = attribute(&Recording::open(&dir).unwrap()).unwrap();
    assert_eq!((attribution.alignment.events, attribution.alignment.outside), (6, 0));
    assert_eq!(
        attribution.audit.iter().map(|row| (row.counted, row.seen)).collect::<Vec<_>>(),
        [(1, Some(1))]
    );
    assert_eq!((attribution.steal_read_ns, attribution.steal_placed_ns), (Some(10), Some(10)));
    let expected = [
        "entry gap: timer-tick | 100..120 = 18 | steal 0",
        "timer-tick | 120..150 = 20",
        "timer-tick | 130..140 = 10 | in 1 | tick_nohz_handler",
        "exit gap: timer-tick | 150..200 = 42 | steal 10",
        "entry gap: ipi reschedule | 300..320 = 18 | steal 0",
        "ipi reschedule | 320..330 = 10 | by 0 bash",
        "exit gap: ipi reschedule | 330..400 = 62 | steal 0",
        "dark: not-attributable | 500..600 = 90",
    ];
    assert_eq!(rows(&dir).iter().map(words).collect::<Vec<_>>(), expected);
    let recording = Recording::open(&dir).unwrap();
    assert_eq!(recording.attribution().unwrap(), Some(attribution));
    recording.verify().unwrap();

    let before = files(&dir);
    attribute(&recording).unwrap();
    assert_eq!(files(&dir), before);
}

#[test]
fn without_symbols_the_tick_is_the_most_frequent_timer() {
    let place = tempfile::tempdir().unwrap();
    let dir = place.path().join("recording");
    record(&dir, &stage_run(), false);
    attribute(&Recording::open(&dir).unwrap()).unwrap();
    let tick = &rows(&dir)[2];
    assert_eq!((&*tick.source, tick.function.as_deref()), ("timer-tick", Some("0xf1")));
}

#[test]
fn without_events_there_are_no_activities() {
    let place = tempfile::tempdir().unwrap();
    let dir = place.path().join("recording");
    let mut run = stage_run();
    run.trace = None;
    record(&dir, &run, true);
    let attribution = attribute(&Recording::open(&dir).unwrap()).unwrap();
    assert_eq!(attribution.alignment.events, 0);
    assert_eq!(attribution.audit[0].seen, None, "nothing could be seen");
    assert_eq!(rows(&dir), []);
}

#[test]
fn a_damaged_table_is_an_error_and_the_old_result_stays() {
    let place = tempfile::tempdir().unwrap();
    let dir = place.path().join("recording");
    record(&dir, &stage_run(), true);
    attribute(&Recording::open(&dir).unwrap()).unwrap();
    let before = files(&dir);
    let events = fs::read_dir(dir.join("events")).unwrap().next().unwrap().unwrap().path();
    let mut bytes = fs::read(&events).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0x10;
    fs::write(&events, bytes).unwrap();
    let error = attribute(&Recording::open(&dir).unwrap()).unwrap_err().to_string();
    assert!(error.contains("checksum") && error.contains("restore"), "{error}");
    assert_eq!(files(&dir), before);
    assert_eq!(rows(&dir).len(), 8);
}

/// Three series of CPU 1, each one second of 1,000 ticks with one sample; the last thread was not pinned. The
/// steps are given; `None` means that gaps were not recorded.
fn record_series(dir: &Path, steps: [Option<u64>; 2]) {
    record_copies(dir, steps, 1);
}

/// The same, with the given number of copies of the second series' work on the CPU.
fn record_copies(dir: &Path, steps: [Option<u64>; 2], copies: u32) {
    let mut run = Run { method: "fwq".into(), ..run("other", vec![cpu_run(1, VICTIM)]) };
    let mut planned = vec![];
    let mut samples = vec![];
    for (series, step_ticks) in (0..).zip([steps[0], steps[1], None]) {
        let (first_ticks, last_ticks) =
            (u64::from(series) * 1_000, u64::from(series) * 1_000 + 900);
        planned.push(Series {
            series,
            method: "fwq".into(),
            variant: "sum".into(),
            cpu: (series < 2).then_some(1),
            tid: VICTIM,
            policy: if series == 1 { "fifo 1" } else { "other" }.into(),
            grain_ticks: 900,
            fixed: Fixed::Work,
            asked: 1,
            round: 0,
            parameters: Parameters {
                iterations: 10,
                calibrated_ticks: 900,
                instructions: 1,
                step_iterations: step_ticks.map(|_| 1),
                step_ticks,
                threshold_ticks: step_ticks.map(|step| step * 3 / 2),
                copies: if series == 1 { copies } else { 1 },
                ..Parameters::default()
            },
        });
        let (samples_taken, ended) = (1, Ended::Complete);
        run.outcomes.push(Outcome {
            series,
            first_ticks,
            last_ticks,
            samples: samples_taken,
            lost: 0,
            wrong: 0,
            ended,
            ..Outcome::default()
        });
        let (start_ticks, end_ticks) = (first_ticks, last_ticks);
        samples.push(Sample { series, index: 0, cpu: 1, start_ticks, end_ticks, count: 1 });
    }
    let mut recorder = Recorder::create(dir, &run).unwrap();
    recorder.append(&planned).unwrap();
    recorder.append(&samples).unwrap();
    if steps[0].is_some() {
        recorder.append(&[detour(100, 200), detour(1_100, 1_200)]).unwrap();
    }
    let events: Vec<KernelEvent> = [100, 905, 1_100, 2_100]
        .iter()
        .flat_map(|from| {
            [switch(from + 40, VICTIM, 0, 43, 120), switch(from + 80, 43, 0, VICTIM, 120)]
        })
        .collect();
    recorder.append(&events).unwrap();
    recorder.finish(&run).unwrap();
}

#[test]
fn series_are_attributed_each_by_its_own_loop() {
    let place = tempfile::tempdir().unwrap();
    let dir = place.path().join("recording");
    record_series(&dir, [Some(12), Some(30)]);
    let attribution = attribute(&Recording::open(&dir).unwrap()).unwrap();
    assert_eq!((attribution.alignment.events, attribution.alignment.outside), (4, 0));
    let expected = [
        "entry gap: thread pid 43 | 100..140 = 32",
        "off: thread pid 43 | 140..180 = 40 | runnable",
        "exit gap: thread pid 43 | 180..200 = 16",
        "entry gap: fair-server pid 43 | 1100..1140 = 20",
        "off: fair-server pid 43 | 1140..1180 = 40 | runnable",
        "exit gap: fair-server pid 43 | 1180..1200 = 10",
    ];
    assert_eq!(rows(&dir).iter().map(words).collect::<Vec<_>>(), expected);
}

#[test]
fn samples_that_nobody_watched_keep_what_the_kernel_did() {
    let place = tempfile::tempdir().unwrap();
    let dir = place.path().join("recording");
    record_series(&dir, [None, None]);
    let attribution = attribute(&Recording::open(&dir).unwrap()).unwrap();
    assert_eq!(attribution.alignment.events, 0, "nothing can be checked");
    let found: Vec<_> = rows(&dir).iter().map(|row| (row.detour, words(row))).collect();
    let expected = [
        (0, "off: thread pid 43 | 140..180 = 40 | runnable".to_owned()),
        (1, "off: fair-server pid 43 | 1140..1180 = 40 | runnable".to_owned()),
    ];
    assert_eq!(found, expected);
}

#[test]
fn beside_series_whose_gaps_were_watched_others_are_left_out() {
    let place = tempfile::tempdir().unwrap();
    let dir = place.path().join("recording");
    record_series(&dir, [Some(12), None]);
    let attribution = attribute(&Recording::open(&dir).unwrap()).unwrap();
    // An event at 905 is in no series, and one at 1,140 is in a series without recorded gaps.
    assert_eq!((attribution.alignment.events, attribution.alignment.outside), (2, 0));
    let expected = [
        "entry gap: thread pid 43 | 100..140 = 32",
        "off: thread pid 43 | 140..180 = 40 | runnable",
        "exit gap: thread pid 43 | 180..200 = 16",
    ];
    assert_eq!(rows(&dir).iter().map(words).collect::<Vec<_>>(), expected);
}

#[test]
fn copies_that_share_their_cpu_are_no_loops_of_it() {
    let place = tempfile::tempdir().unwrap();
    let dir = place.path().join("recording");
    record_copies(&dir, [None, None], 2);
    let attribution = attribute(&Recording::open(&dir).unwrap()).unwrap();
    assert_eq!(attribution.alignment.events, 0, "nothing can be checked");
    let found: Vec<_> = rows(&dir).iter().map(|row| (row.detour, words(row))).collect();
    assert_eq!(found, [(0, "off: thread pid 43 | 140..180 = 40 | runnable".to_owned())]);
}
