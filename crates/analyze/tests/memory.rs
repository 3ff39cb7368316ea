//! Memory experiments: points, regions, borders and outliers of a made-up recording whose results are known.

use anechoic_analyze::memory;
use anechoic_analyze::memory::REGIONS;
use anechoic_analyze::rank::{Configuration, rank};
use anechoic_lab::builders::{self, activity, clock, cpu_run};
use anechoic_recording::attribution::Attribution;
use anechoic_recording::machine::{Cache, Cpu};
use anechoic_recording::run::{Ended, NotAvailable, Outcome};
use anechoic_recording::{
    Activity, ActivityKind, Fixed, Parameters, Recorder, Recording, Run, Sample, Series,
};
use std::path::Path;

/// The mean cost of a counter read of the lab's clock, rounded, which is part of each sample.
const READ: u64 = 25;
/// Time between two samples.
const PAUSE: u64 = 1_000;
const READS: &str = "bandwidth-read-random-warm";
const ABSENT: &str = "migration-read-random-far";

/// Returns a CPU with caches of 4, 16 and 64 KiB.
fn cpu() -> Cpu {
    let cache = |(level, kind, kib): (u32, &str, u64)| Cache {
        level,
        kind: kind.into(),
        size_bytes: kib << 10,
        line_bytes: 64,
        ways: 8,
        shared_cpus: "0".into(),
    };
    let caches = [(1, "Data", 4), (1, "Instruction", 8), (2, "Unified", 16), (3, "Unified", 64)];
    Cpu {
        cpu: 0,
        class: String::new(),
        package: None,
        core: None,
        node: None,
        siblings: "0".into(),
        caches: caches.map(cache).to_vec(),
        governor: None,
    }
}

/// Returns a working set of some KiB with the ticks per access of each pass.
type Set<'a> = (u64, &'a [u64]);

/// Writes a recording of these working sets; the longest pass over each has a timer tick of this length in it.
fn record(dir: &Path, sets: &[Set<'_>], tick: u64) -> Recording {
    let mut run = Run { ..builders::run("memory", clock(1_000_000_000), vec![]) };
    run.machine.cpus = vec![cpu()];
    run.trace = Some(builders::trace());
    run.not_available = vec![NotAvailable {
        what: format!("experiment {ABSENT}"),
        why: "no such CPU".into(),
        remedy: String::new(),
    }];
    let (mut all, mut samples, mut rows, mut now) = (vec![], vec![], vec![], 1_000);
    for (number, (kib, passes)) in (0..).zip(sets) {
        let (bytes, first_ticks) = (kib << 10, now);
        let longest = passes.iter().max();
        for (index, per_access) in (0..).zip(*passes) {
            let (start_ticks, end_ticks) = (now, now + per_access * bytes / 64 + READ);
            if Some(per_access) == longest {
                let of = (0, samples.len() as u64);
                rows.push(activity(of, ActivityKind::Activity, "timer-tick", start_ticks, tick));
            }
            samples.push(Sample {
                series: number,
                index,
                cpu: 0,
                start_ticks,
                end_ticks,
                count: 1,
            });
            now = end_ticks + PAUSE;
        }
        run.outcomes.push(Outcome {
            series: number,
            first_ticks,
            last_ticks: now,
            samples: passes.len() as u64,
            lost: 0,
            wrong: 0,
            ended: Ended::Complete,
            ..Outcome::default()
        });
        all.push(Series {
            series: number,
            round: number,
            method: "memory".into(),
            variant: "read-random".into(),
            cpu: Some(0),
            tid: 100,
            policy: "other".into(),
            fixed: Fixed::Work,
            grain_ticks: now / 7, // as calibrated, so never twice the same
            asked: 1024,
            parameters: Parameters {
                iterations: bytes / 64,
                working_set_bytes: Some(bytes),
                page_bytes: Some(4096),
                experiment: Some(READS.into()),
                ..Parameters::default()
            },
        });
    }
    run.cpus = vec![cpu_run(0, (1_000, now), 20)];
    run.end_ticks = now;
    let mut recorder = Recorder::create(dir, &run).expect("a new directory");
    recorder.append(&all).expect("in order");
    recorder.append(&samples).expect("in order");
    recorder.finish(&run).expect("there is space");
    let recording = Recording::open(dir).expect("just written");
    let mut writer = recording.derive::<Activity>().expect("writable");
    writer.append(&rows).expect("in order");
    writer.finish().expect("there is space");
    recording.write_attribution(&Attribution::default()).expect("writable");
    recording
}

#[test]
fn points_and_regions_are_those_of_the_samples() {
    let dir = tempfile::tempdir().expect("a directory");
    let sets: [Set<'_>; 6] = [
        (2, &[4, 4, 4]),
        (4, &[5, 5, 8]),
        (8, &[10, 20, 30]),
        (32, &[40, 40, 40]),
        (64, &[42, 42, 42]),
        (128, &[100]),
    ];
    let recording = record(dir.path(), &sets, 0);
    let found = memory(&recording).expect("a result");
    let reads = found.experiment(READS).expect("measured");
    assert_eq!(found.measured().count(), 1);
    let points: Vec<_> = reads
        .points
        .iter()
        .map(|of| (of.bytes >> 10, of.samples, of.min, of.median, of.mean, of.max, of.variance))
        .collect();
    assert_eq!(points[1], (4, 3, 5.0, 5.0, 6.0, 8.0, Some(3.0)));
    assert_eq!(points[2], (8, 3, 10.0, 20.0, 20.0, 30.0, Some(100.0)));
    assert_eq!(points[5], (128, 1, 100.0, 100.0, 100.0, 100.0, None));
    let regions = reads.regions.map(|region| region.map(|of| (of.points, of.ticks, of.ratio)));
    let expected: [_; REGIONS] = [
        Some((2, 5.0, Some(0.25))),
        Some((1, 20.0, Some(5.0))),
        Some((2, 41.0, Some(0.0))),
        Some((1, 100.0, None)),
    ];
    assert_eq!(regions, expected);
    let absent = found.experiments.iter().find(|of| of.id == ABSENT).expect("listed");
    assert_eq!(absent.absent.as_deref(), Some("no such CPU"));
    assert!(absent.points.is_empty() && absent.regions.iter().all(Option::is_none));
    assert_eq!(found.page_bytes, [4096]);
}

#[test]
fn borders_are_reported_and_measured() {
    let dir = tempfile::tempdir().expect("a directory");
    // The second cache ends at 8 KiB instead of 16, and nothing rises at the third.
    let sets: [Set<'_>; 9] = [
        (1, &[4]),
        (2, &[4]),
        (4, &[4]),
        (8, &[16]),
        (16, &[40]),
        (32, &[40]),
        (64, &[40]),
        (128, &[42]),
        (256, &[42]),
    ];
    let found = memory(&record(dir.path(), &sets, 0)).expect("a result");
    let borders: Vec<_> = found
        .borders
        .iter()
        .map(|of| (of.name.as_str(), of.reported_bytes >> 10, of.knee_bytes.map(|of| of >> 10)))
        .collect();
    assert_eq!(borders, [("L1", 4, Some(5)), ("L2", 16, Some(11)), ("L3", 64, None)]);
}

#[test]
fn an_outlier_has_a_cause_if_kernel_events_account_for_it() {
    // 15 usual passes and a long one, over 64 accesses: it is 64 × 30 ticks over the median.
    let mut passes = [10; 16];
    passes[7] = 40;
    for (tick, explained) in [(64 * 20, 1), (64 * 10, 0)] {
        let dir = tempfile::tempdir().expect("a directory");
        let found = memory(&record(dir.path(), &[(4, &passes)], tick)).expect("a result");
        let of = &found.outliers;
        assert_eq!((of.samples, of.count, of.examined), (16, 1, 1));
        assert_eq!(of.explained, explained);
        let causes: Vec<_> =
            of.causes.iter().map(|of| (of.source.as_str(), of.outliers, of.ns)).collect();
        let expected = [("timer-tick", 1, tick)];
        assert_eq!(causes, expected[..explained as usize]);
    }
}

#[test]
fn configurations_are_ranked_by_the_time_of_an_access_in_each_region() {
    let dir = tempfile::tempdir().expect("a directory");
    let passes = |spread: u64| -> Vec<u64> { (0..24).map(|at| 4 + at * 7 % 5 * spread).collect() };
    let measured = |name: &str, spread: u64| {
        let passes = passes(spread);
        let sets = [2, 4, 8, 32, 256].map(|kib| (kib, &*passes));
        record(&dir.path().join(name), &sets, 100)
    };
    let (quiet, loud) = (measured("quiet", 1), measured("loud", 9));
    let of =
        |name: &str, recording| Configuration { name: name.into(), recordings: vec![recording] };
    let ranking =
        rank(&[of("loud", &loud), of("quiet", &quiet)]).expect("both are the same experiments");
    let regions: Vec<_> = ranking.experiments.iter().map(|found| found.region).collect();
    assert_eq!(regions, [1, 2, 3, 4].map(Some));
    let shown = memory(&quiet).expect("memory");
    let shown = shown.experiment(READS).expect("measured");
    for (found, region) in ranking.experiments.iter().zip(&shown.regions) {
        assert_eq!((found.experiment.as_str(), found.grain_ns), (READS, 0));
        assert_eq!((found.clearly_lowest, found.clearly_highest), (Some(1), Some(0)));
        let noise = found.noise[1].expect("measured").variance_to_mean;
        let expected = region.and_then(|region| region.ratio).expect("measured");
        assert!((noise / expected - 1.0).abs() < 1e-9, "{noise} {expected}");
    }
    // The curves are those of each recording, and of repeated runs the mean and the whole range.
    let (curves, close) = (&ranking.curves, |a: f64, b: f64| (a / b - 1.0).abs() < 1e-9);
    assert_eq!(
        curves.caches,
        [("L1", 4), ("L2", 16), ("L3", 64)].map(|(of, kib)| (of.into(), kib << 10))
    );
    let shown = [&loud, &quiet].map(|of| memory(of).expect("memory"));
    for (at, shown) in shown.iter().enumerate() {
        let (drawn, points) =
            (&curves.points[READS][&at], &shown.experiment(READS).expect("measured").points);
        assert_eq!(drawn.len(), points.len());
        for (drawn, point) in drawn.iter().zip(points) {
            assert_eq!(drawn.bytes, point.bytes);
            let ns = [point.min, point.mean, point.max].map(|of| of * shown.tick_ns);
            let same = [drawn.least_ns, drawn.mean_ns, drawn.greatest_ns].into_iter().zip(ns);
            assert!(same.into_iter().all(|(a, b)| close(a, b)), "{drawn:?} {point:?}");
        }
    }
    let both = Configuration { name: "both".into(), recordings: vec![&loud, &quiet] };
    let joined = rank(&[both, of("quiet", &quiet)]).expect("the same experiments").curves;
    let (drawn, [loud, quiet]) =
        (&joined.points[READS][&0][0], [0, 1].map(|at| &curves.points[READS][&at][0]));
    assert!(close(drawn.mean_ns, (loud.mean_ns + quiet.mean_ns) / 2.0), "{drawn:?}");
    assert_eq!(
        (drawn.least_ns, drawn.greatest_ns),
        (quiet.least_ns.min(loud.least_ns), loud.greatest_ns)
    );
}

#[test]
fn what_the_operating_system_took_is_no_variance_of_the_memory() {
    // Three equal passes and one that a tick of 64 accesses × 6 ticks lengthens: without it, or half of it, less varies.
    let passes = [10, 10, 10, 16];
    for (tick, expected) in [(64 * 6, 1.0), (64 * 3, 0.75), (0, 0.0)] {
        let dir = tempfile::tempdir().expect("a directory");
        let found = memory(&record(dir.path(), &[(4, &passes)], tick)).expect("a result");
        let point = &found.experiment(READS).expect("measured").points[0];
        assert_eq!(point.os_share(), Some(expected), "{tick}: {point:?}");
        let region = found.experiment(READS).expect("measured").regions[0].expect("one");
        assert_eq!(region.os_share, Some(expected));
    }
}

#[test]
fn working_sets_that_not_all_recordings_have_are_left_out_of_a_ranking() {
    let dir = tempfile::tempdir().expect("a directory");
    let passes: Vec<u64> = (0..24).map(|at| 4 + at * 7 % 5).collect();
    let wild: Vec<u64> = (0..24).map(|at| 4 + at * 7 % 5 * 90).collect();
    let few = record(&dir.path().join("few"), &[(2, &passes), (8, &passes)], 0);
    // One more working set of the same region, with much more noise.
    let sets: [Set<'_>; 3] = [(2, &passes), (4, &wild), (8, &passes)];
    let many = record(&dir.path().join("many"), &sets, 0);
    let of =
        |name: &str, recording| Configuration { name: name.into(), recordings: vec![recording] };
    let ranking =
        rank(&[of("few", &few), of("many", &many)]).expect("both are the same experiment");
    assert_eq!((ranking.working_sets_left_out, ranking.unequal_samples), (1, 0));
    let alike = ranking.experiments.iter().map(|found| found.tied);
    assert!(alike.eq([Some(true); 2]), "{:?}", ranking.experiments);
    let cache: Vec<_> = ranking.experiments.iter().map(|found| found.cache.as_deref()).collect();
    assert_eq!(cache, [Some("L1"), Some("L2")]);
}
