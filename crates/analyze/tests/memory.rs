//! Memory experiments: points, regions, borders and outliers of a made-up recording whose results are known.

use anechoic_analyze::memory;
use anechoic_analyze::memory::REGIONS;
use anechoic_analyze::rank::{Configuration, Place, Standing, rank};
use anechoic_lab::builders::{self, activity, clock, cpu_run};
use anechoic_recording::attribution::Attribution;
use anechoic_recording::machine::{Cache, Cpu};
use anechoic_recording::run::{Ended, NotAvailable, Outcome};
use anechoic_recording::{
    Activity, ActivityKind, Clock, Fixed, Library, Parameters, Recorder, Recording, Run, Sample,
    Series,
};
use std::path::Path;

/// The mean cost of the counter read that ends a sample, rounded, which is part of each. A read that waits for nothing takes
/// 24.5 ticks on this clock.
const READ: u64 = 61;
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

/// Writes a recording of one experiment over these working sets; the longest pass over each has a timer tick of this
/// length in it.
fn record(dir: &Path, sets: &[Set<'_>], tick: u64) -> Recording {
    let sets: Vec<_> = sets.iter().map(|&set| (READS, set)).collect();
    record_all(dir, &sets, tick)
}

/// Writes a recording of these experiments, likewise.
fn record_all(dir: &Path, sets: &[(&str, Set<'_>)], tick: u64) -> Recording {
    record_read(dir, sets, tick, Some(61.4))
}

/// Writes a recording of these experiments, likewise, whose clock states this cost of the read that ends a sample.
fn record_read(
    dir: &Path,
    sets: &[(&str, Set<'_>)],
    tick: u64,
    sample_read_mean_ticks: Option<f64>,
) -> Recording {
    let clock = Clock { sample_read_mean_ticks, ..clock(1_000_000_000) };
    let mut run = Run { ..builders::run("memory", clock, vec![]) };
    run.machine.cpus = vec![cpu()];
    run.trace = Some(builders::trace());
    run.not_available = vec![NotAvailable {
        what: format!("experiment {ABSENT}"),
        why: "no such CPU".into(),
        remedy: String::new(),
    }];
    let (mut all, mut samples, mut rows, mut now) = (vec![], vec![], vec![], 1_000);
    for (number, (experiment, (kib, passes))) in (0..).zip(sets) {
        let (bytes, first_ticks) = (kib << 10, now);
        let longest = passes.iter().max();
        let own = experiment.contains("-own-");
        for (index, per_access) in (0..).zip(*passes) {
            let (start_ticks, end_ticks) = (now, now + per_access * bytes / 64 + READ);
            if Some(per_access) == longest {
                let at = (0, samples.len() as u64);
                rows.push(activity(at, ActivityKind::Activity, "timer-tick", start_ticks, tick));
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
            variant: if own { "./k.so:step".into() } else { "read-random".into() },
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
                experiment: Some((*experiment).into()),
                library: own.then(|| Library { file: "k.so".into(), sha256: String::new() }),
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
        .map(|point| {
            (
                point.bytes >> 10,
                point.samples,
                point.min,
                point.median,
                point.mean,
                point.max,
                point.variance,
            )
        })
        .collect();
    assert_eq!(points[1], (4, 3, 5.0, 5.0, 6.0, 8.0, Some(3.0)));
    assert_eq!(points[2], (8, 3, 10.0, 20.0, 20.0, 30.0, Some(100.0)));
    assert_eq!(points[5], (128, 1, 100.0, 100.0, 100.0, 100.0, None));
    let regions = reads.regions.map(|region| region.map(|known| (known.points, known.ticks)));
    let expected: [_; REGIONS] =
        [Some((2, 5.0)), Some((1, 20.0)), Some((2, 41.0)), Some((1, 100.0))];
    assert_eq!(regions, expected);
    // Passes that do not vary have the variance of rounding to a tick, 1/12, over accesses squared and ticks per access.
    let rounded = |kib: f64, ticks: f64| 1.0 / 12.0 / (kib * 16.0).powi(2) / ticks;
    let expected = [
        Some(f64::midpoint(rounded(2.0, 4.0), 3.0 / 6.0)),
        Some(100.0 / 20.0),
        Some(f64::midpoint(rounded(32.0, 40.0), rounded(64.0, 42.0))),
        None,
    ];
    for (region, expected) in reads.regions.iter().flatten().zip(expected) {
        let close = |(ratio, expected): (f64, f64)| (ratio / expected - 1.0).abs() < 1e-9;
        assert_eq!(region.ratio.zip(expected).map(close), expected.map(|_| true), "{region:?}");
    }
    let absent =
        found.experiments.iter().find(|experiment| experiment.id == ABSENT).expect("listed");
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
        .map(|border| {
            (
                border.name.as_str(),
                border.reported_bytes >> 10,
                border.knee_bytes.map(|bytes| bytes >> 10),
            )
        })
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
        let outliers = &found.outliers;
        assert_eq!((outliers.samples, outliers.count, outliers.examined), (16, 1, 1));
        assert_eq!(outliers.explained, explained);
        let causes: Vec<_> = outliers
            .causes
            .iter()
            .map(|cause| (cause.source.as_str(), cause.outliers, cause.ns))
            .collect();
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
    let configuration =
        |name: &str, recording| Configuration { name: name.into(), recordings: vec![recording] };
    let ranking = rank(&[configuration("loud", &loud), configuration("quiet", &quiet)])
        .expect("both are the same experiments");
    assert_eq!(ranking.configurations[0].beside_paper, None);
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
        [("L1", 4), ("L2", 16), ("L3", 64)].map(|(name, kib)| (name.into(), kib << 10))
    );
    let shown = [&loud, &quiet].map(|recording| memory(recording).expect("memory"));
    for (at, shown) in shown.iter().enumerate() {
        let (drawn, points) =
            (&curves.points[READS][&at], &shown.experiment(READS).expect("measured").points);
        assert_eq!(drawn.len(), points.len());
        for (drawn, point) in drawn.iter().zip(points) {
            assert_eq!(drawn.bytes, point.bytes);
            let ns = [point.min, point.mean, point.max].map(|ticks| ticks * shown.tick_ns);
            let same = [drawn.least_ns, drawn.mean_ns, drawn.greatest_ns].into_iter().zip(ns);
            assert!(same.into_iter().all(|(a, b)| close(a, b)), "{drawn:?} {point:?}");
        }
    }
    let both = Configuration { name: "both".into(), recordings: vec![&loud, &quiet] };
    let joined =
        rank(&[both, configuration("quiet", &quiet)]).expect("the same experiments").curves;
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
    let configuration =
        |name: &str, recording| Configuration { name: name.into(), recordings: vec![recording] };
    let ranking = rank(&[configuration("few", &few), configuration("many", &many)])
        .expect("both are the same experiment");
    assert_eq!((ranking.working_sets_left_out, ranking.unequal_samples), (1, 0));
    let alike = ranking.experiments.iter().map(|found| found.tied);
    assert!(alike.eq([Some(true); 2]), "{:?}", ranking.experiments);
    let cache: Vec<_> = ranking.experiments.iter().map(|found| found.cache.as_deref()).collect();
    assert_eq!(cache, [Some("L1"), Some("L2")]);
}

/// Passes of the same lengths on the same machine, of which one recording is of `bare`, or older: it does not state what the
/// read that ends a pass costs. The first three working sets are so small that the read is a good part of a pass.
#[test]
fn recordings_that_state_another_read_are_ranked_with_the_same_subtraction() {
    let dir = tempfile::tempdir().expect("a directory");
    let passes: Vec<u64> = (0..24).map(|at| 4 + at * 7 % 5).collect();
    let sets = [1, 2, 4, 32].map(|kib| (READS, (kib, &*passes)));
    let [new, old, older] = [("new", Some(61.4)), ("old", None), ("older", None)]
        .map(|(name, read)| record_read(&dir.path().join(name), &sets, 0, read));
    let configuration =
        |name: &str, recording| Configuration { name: name.into(), recordings: vec![recording] };
    for (first, second, reads_differ) in
        [(&new, &old, true), (&old, &new, true), (&old, &older, false), (&new, &new, false)]
    {
        let ranking = rank(&[configuration("first", first), configuration("second", second)])
            .expect("the same passes");
        assert_eq!(ranking.reads_differ, reads_differ);
        for found in &ranking.experiments {
            assert_eq!(found.noise[0], found.noise[1], "{}", found.experiment);
            assert_eq!(
                found.time[0].map(|time| time.mean_ns),
                found.time[1].map(|time| time.mean_ns)
            );
        }
    }
}

/// Passes that take 10 ticks per access, and as many more or less in turn: with 24 of them the variance is 24/23 times the
/// square of that.
fn around_ten(more: u64) -> Vec<u64> {
    (0..24).map(|at| if at % 2 == 0 { 10 - more } else { 10 + more }).collect()
}

/// A ranking and the memory experiments print the noise of the same region: the median of the working sets, of an even
/// number the mean of the middle two. By the mean of the logarithms the first would be the lowest, as √(1·81) < 16.
#[test]
fn a_region_has_one_noise_on_both_screens_and_one_winner() {
    let dir = tempfile::tempdir().expect("a directory");
    let noise_of = |spread: [u64; 4]| {
        let ratios = spread.map(|more| (more * more) as f64 * 24.0 / 23.0 / 10.0);
        [f64::midpoint(ratios[0], ratios[1]), f64::midpoint(ratios[2], ratios[3])]
    };
    // The last two working sets are the second region.
    let spreads = [[1, 9, 3, 5], [4, 4, 4, 4]];
    let recordings = spreads.map(|spread| {
        let passes = spread.map(around_ten);
        let sets: Vec<Set<'_>> =
            [2, 4, 8, 16].into_iter().zip(passes.iter().map(|pass| &**pass)).collect();
        record(&dir.path().join(format!("{spread:?}")), &sets, 0)
    });
    let [uneven, even] = &recordings;
    let configuration =
        |name: &str, recording| Configuration { name: name.into(), recordings: vec![recording] };
    let ranking = rank(&[configuration("uneven", uneven), configuration("even", even)])
        .expect("the same experiments");
    assert_eq!(ranking.experiments.len(), 2);
    for (at, recording) in recordings.iter().enumerate() {
        let shown = memory(recording).expect("memory");
        let shown = shown.experiment(READS).expect("measured");
        for (region, (found, expected)) in
            ranking.experiments.iter().zip(noise_of(spreads[at])).enumerate()
        {
            let ranked = found.noise[at].expect("measured").variance_to_mean;
            let shown_ratio =
                shown.regions[region].and_then(|known| known.ratio).expect("measured");
            assert!((ranked / shown_ratio - 1.0).abs() < 1e-12, "{ranked} {shown_ratio}");
            assert!((ranked / expected - 1.0).abs() < 1e-12, "{ranked} {expected}");
        }
    }
    let places = |at: usize| ranking.experiments[0].noise[at].expect("measured").place;
    assert_eq!([0, 1].map(places), [Some(Place::Highest), Some(Place::Lowest)]);
}

/// Four regions of two experiments of the paper and of one that is not: 8 values are counted, 4 beside them.
#[test]
fn experiments_that_are_not_of_the_paper_are_counted_apart() {
    const WRITES: &str = "bandwidth-write-random-warm";
    const LOCAL: &str = "bandwidth-read-random-local-warm";
    let dir = tempfile::tempdir().expect("a directory");
    let measured = |name: &str, spreads: &[(&'static str, u64)]| {
        let passes: Vec<Vec<u64>> = spreads.iter().map(|(_, more)| around_ten(*more)).collect();
        let sets = spreads.iter().zip(&passes).flat_map(|((experiment, _), passes)| {
            [2, 8, 32, 256].map(|kib| (*experiment, (kib, &**passes)))
        });
        record_all(&dir.path().join(name), &sets.collect::<Vec<_>>(), 0)
    };
    // Reads: a < b < c. Writes: b < c < a. Within 64 pages: c < a < b.
    let a = measured("a", &[(READS, 1), (WRITES, 9), (LOCAL, 4)]);
    let b = measured("b", &[(READS, 4), (WRITES, 1), (LOCAL, 9)]);
    let c = measured("c", &[(READS, 9), (WRITES, 4), (LOCAL, 1)]);
    let ranking = [("a", &a), ("b", &b), ("c", &c)]
        .map(|(name, recording)| Configuration { name: name.into(), recordings: vec![recording] });
    let ranking = rank(&ranking).expect("the same experiments");
    let counts = |standing: &Standing| {
        let beside = standing.beside_paper.expect("four values");
        (
            [standing.lowest.count, standing.middle.count, standing.highest.count, standing.equal],
            [beside.lowest, beside.middle, beside.highest, beside.equal],
        )
    };
    let found: Vec<_> = ranking.configurations.iter().map(counts).collect();
    assert_eq!(
        found,
        [([4, 0, 4, 0], [0, 4, 0, 0]), ([4, 4, 0, 0], [0, 0, 4, 0]), ([0, 4, 4, 0], [4, 0, 0, 0]),]
    );
    assert_eq!(ranking.configurations[0].lowest.share, 0.5);
    let apart = ranking.experiments.iter().filter(|experiment| experiment.beside_paper);
    assert!(apart.clone().all(|experiment| experiment.experiment == LOCAL) && apart.count() == 4);
    // Where nothing else was measured, it is what is ranked.
    let [a, b] = [("a2", 4), ("b2", 9)].map(|(name, more)| measured(name, &[(LOCAL, more)]));
    let alone = [("a", &a), ("b", &b)]
        .map(|(name, recording)| Configuration { name: name.into(), recordings: vec![recording] });
    let alone = rank(&alone).expect("the same experiments");
    let first = &alone.configurations[0];
    assert_eq!((first.lowest.count, first.lowest.share, first.beside_paper), (4, 1.0, None));
}

/// What is added is the mean of the differences within blocks, so that a host that becomes slower adds nothing; the intervals
/// hold together (Student's t with 2 degrees of freedom: 4.303 for one, 6.205 for two).
#[test]
fn what_a_preemption_adds_to_a_users_function_is_compared_within_blocks() {
    let dir = tempfile::tempdir().expect("a directory");
    let (warm, write) = ("bandwidth-own-warm", "preemption-own-write-long");
    let blocks: [(&str, Set<'_>); 6] = [
        (warm, (8, &[10, 10, 11])),
        (write, (8, &[20, 20, 90])),
        (write, (8, &[31, 31, 31])),
        (warm, (8, &[20, 20, 20])),
        (warm, (8, &[30, 30, 30])),
        (write, (8, &[41, 41, 41])),
    ];
    let found = memory(&record_read(dir.path(), &blocks, 0, Some(READ as f64))).expect("a result");
    let own = found.own.expect("calls of a function");
    assert_eq!((&*own.work, own.bytes), ("./k.so:step", 8 << 10));
    let [plain, written] = &own.calls[..] else { panic!("{:?}", own.calls) };
    assert_eq!((plain.calls, plain.median_ns, plain.added_ns), (9, 20.0, None));
    assert_eq!((written.calls, written.median_ns, written.longest_ns), (9, 31.0, 90.0));
    let near = |found: f64, expected: f64| (found - expected).abs() < 1e-3;
    let interval = written.added_95.expect("three blocks");
    assert!(near(written.added_ns.expect("a mean"), 32.0 / 3.0), "{written:?}");
    assert!(near(interval.high - interval.low, 2.0 * 4.30265 / 3.0), "{written:?}");

    let dir = tempfile::tempdir().expect("a directory");
    let sleep: Vec<(&str, Set<'_>)> = blocks
        .iter()
        .filter(|(id, _)| *id == write)
        .map(|(_, set)| ("preemption-own-sleep-long", *set))
        .collect();
    let found =
        memory(&record_read(dir.path(), &[&blocks[..], &sleep].concat(), 0, Some(READ as f64)))
            .expect("a result");
    let calls = found.own.expect("calls").calls;
    let widths: Vec<f64> =
        calls.iter().filter_map(|calls| calls.added_95).map(|ends| ends.high - ends.low).collect();
    assert!(widths.len() == 2 && near(widths[0], 2.0 * 6.20535 / 3.0), "{widths:?}");

    // A run that ended within a block has no pairs.
    let dir = tempfile::tempdir().expect("a directory");
    let found =
        memory(&record_read(dir.path(), &blocks[..5], 0, Some(READ as f64))).expect("a result");
    assert!(found.own.expect("calls").calls.iter().all(|calls| calls.added_ns.is_none()));
}
