//! The samples of a method, from the tables to the result.

use anechoic_analyze::rank::{Configuration, Place, RankedExperiment, Unit, Variation, rank};
use anechoic_analyze::samples::{CpuSamples, Measured, SeriesResult, measure, visit};
use anechoic_lab::two_cpus;
use anechoic_recording::run::{Ended, Outcome, RunState};
use anechoic_recording::{Fixed, Loss, Parameters, Recorder, Recording, Run, Sample, Series};

/// 100 µs.
const GRAIN: u64 = 100 * two_cpus::MICRO;

fn series(series: u32, variant: &str, cpu: Option<u32>) -> Series {
    Series {
        series,
        method: "tick".into(),
        variant: variant.into(),
        cpu,
        tid: 100,
        policy: "other".into(),
        grain_ticks: GRAIN,
        fixed: Fixed::Work,
        asked: 1_000,
        round: 0,
        parameters: Parameters {
            iterations: 100,
            calibrated_ticks: GRAIN,
            instructions: 500,
            step_iterations: Some(1),
            step_ticks: Some(1_250),
            threshold_ticks: Some(1_900),
            copies: 1,
            ..Parameters::default()
        },
    }
}

/// Samples back to back from `start`, in the number of `series`, on `cpu`.
fn samples(series: u32, cpu: u32, start: u64, durations: &[u64]) -> Vec<Sample> {
    let mut end = start;
    let sample = |(index, &duration): (u64, &u64)| {
        let start_ticks = end;
        end += duration;
        Sample { series, index, cpu, start_ticks, end_ticks: end, count: 1 }
    };
    (0..).zip(durations).map(sample).collect()
}

/// How a series went whose samples are all there.
fn outcome(samples: &[Sample]) -> Outcome {
    Outcome {
        series: samples[0].series,
        first_ticks: samples[0].start_ticks,
        last_ticks: samples[samples.len() - 1].end_ticks,
        samples: samples.len() as u64,
        lost: 0,
        wrong: 0,
        ended: Ended::Complete,
        ..Outcome::default()
    }
}

fn record(run: &Run, series: &[Series], parts: &[&[Sample]]) -> (tempfile::TempDir, Recording) {
    let place = tempfile::tempdir().unwrap();
    let dir = place.path().join("recording");
    let mut recorder = Recorder::create(&dir, run).unwrap();
    recorder.append(series).unwrap();
    parts.iter().for_each(|part| recorder.append(part).unwrap());
    recorder.finish(run).unwrap();
    (place, Recording::open(&dir).unwrap())
}

fn run(outcomes: Vec<Outcome>) -> Run {
    Run { method: "tick".into(), trace: None, outcomes, ..two_cpus::run(two_cpus::SECOND) }
}

#[test]
fn a_step_that_differs_from_its_calibration_is_that_of_the_series() {
    let rows = samples(0, 1, two_cpus::SECOND / 10, &[GRAIN; 4]);
    let planned = series(0, "intmul", Some(1));
    let planned_as = &planned.parameters;
    let steps = planned_as.iterations / planned_as.step_iterations.expect("watched");
    let calibrated = planned_as.calibrated_ticks / steps;
    let cases = [
        ("not recorded", None, None, true),
        ("as calibrated", Some(calibrated), Some(0.0), true),
        ("a fifth longer", Some(calibrated * 6 / 5), Some(0.2), true),
        ("a busy sibling", Some(calibrated * 8 / 5), Some(0.6), false),
        ("a core that clocked up", Some(calibrated * 3 / 5), Some(-0.4), false),
    ];
    for (name, step_ticks, change, holds) in cases {
        let run = run(vec![Outcome { step_ticks, ..outcome(&rows) }]);
        let (_place, recording) = record(&run, std::slice::from_ref(&planned), &[&rows]);
        let measured = measure(&recording).unwrap();
        let facts = &series_result(&measured, 0).facts;
        let found = facts.step_change.map(|change| (change * 1e6).round() / 1e6);
        assert_eq!((found, facts.is_calibrated()), (change, holds), "case: {name}");
        let stint = recording.stints(&run.cpus[1]).unwrap()[0];
        let before = planned.parameters.step_ticks.expect("watched");
        assert_eq!(stint.shortest_gap_ticks, step_ticks.unwrap_or(before), "case: {name}");
    }
}

fn series_result(measured: &Measured, number: u32) -> &SeriesResult {
    measured.series.iter().find(|series| series.facts.number == number).unwrap()
}

#[test]
fn a_series_of_fixed_work() {
    // 30 of 100 µs with a 40 µs longer one after each third.
    let durations: Vec<u64> =
        (0..30).map(|i| if i % 3 == 2 { GRAIN * 14 / 10 } else { GRAIN }).collect();
    let mut rows = samples(0, 1, two_cpus::SECOND / 10, &durations);
    let outcome = outcome(&rows);
    rows.remove(7);
    let outcome = Outcome { lost: 1, wrong: 2, ..outcome };
    let (_place, recording) =
        record(&run(vec![outcome]), &[series(0, "intmul", Some(1))], &[&rows]);
    let measured = measure(&recording).unwrap();
    let SeriesResult { facts, distribution, steadiness, pace, fine, figures, .. } =
        series_result(&measured, 0);
    assert_eq!((facts.samples, facts.lost, facts.missing, facts.wrong), (29, 1, 1, 2));
    assert_eq!((facts.start_ns, facts.wall_ns), (100_000_000, 3_400_000));
    assert_eq!((facts.watched, facts.step_ns, facts.grain_ns), (true, Some(500.0), 100_000));
    let d = distribution.as_ref().unwrap();
    assert_eq!(
        (d.min, d.max, d.third_decile_mean, d.slowies.count),
        (100_000.0, 140_000.0, 100_000.0, 10)
    );
    assert!((d.mean - 113_793.103_448).abs() < 1e-6, "{d:?}");
    assert!((d.noise.unwrap() - 0.137_931_034).abs() < 1e-9, "{d:?}");
    assert_eq!(steadiness.unwrap().steady, Some(false));
    let pace = pace.as_ref().unwrap();
    assert_eq!((pace.ns_per_instruction, pace.ticks_per_instruction), (2.0, 5.0));
    assert!(pace.cycles.is_none(), "nothing tells how long a cycle is");
    let fine = fine.as_ref().unwrap();
    assert_eq!((fine.distinct, fine.dominant[0].raw, fine.dominant[0].count), (Some(2), GRAIN, 19));
    assert_eq!((fine.longest_run.raw, fine.longest_run.length), (GRAIN, 2));
    assert_eq!(figures.series.iter().map(|bin| bin.count).sum::<u64>(), 29);
    assert_eq!(figures.survival.last().unwrap().value, 140_000.0);
    assert!(measured.not_available.is_empty());
}

#[test]
fn a_series_of_fixed_time() {
    let window = |index| Sample {
        series: 4,
        index,
        cpu: 0,
        start_ticks: index * GRAIN,
        end_ticks: (index + 1) * GRAIN,
        count: if index % 10 == 3 { 60 } else { 100 },
    };
    let rows: Vec<Sample> = (0..1_000).map(window).collect();
    let mut planned = Series { fixed: Fixed::Time, ..series(4, "intadd", Some(0)) };
    planned.parameters.iterations = 2;
    let (_place, recording) = record(&run(vec![outcome(&rows)]), &[planned], &[&rows]);
    let measured = measure(&recording).unwrap();
    let result = series_result(&measured, 4);
    let d = result.distribution.as_ref().unwrap();
    assert_eq!((d.mean, d.min, d.max, d.third_decile_mean), (96.0, 60.0, 100.0, 100.0));
    assert!((d.noise.unwrap() - 0.04).abs() < 1e-12);
    assert_eq!((d.slowies.count, d.slowies.extreme, d.fasties.count), (100, Some(60.0), 0));
    // 100 µs for 100 units of two iterations of 500 instructions.
    assert!((result.pace.as_ref().unwrap().ns_per_instruction - 1.0).abs() < 1e-12);
    assert_eq!(result.figures.survival.last().unwrap().value, 60.0);
}

#[test]
fn cycles_come_from_a_chain_of_additions() {
    // CPUs 0 and 1 are of one class, 7 of none that the run knows.
    let kinds = [
        (9, "intadd-chain", Some(0), 100_000, 2_000_000),
        (2, "intmul", Some(0), 300_000, 2_000_000),
        (4, "intadd-watched", Some(0), 104_000, 2_000_000),
        (6, "intmul", None, 200_000, 4_000_000),
        (5, "intmul", Some(7), 200_000, 0),
        (8, "empty", Some(1), 1_000, 2_000_000),
    ];
    let (mut planned, mut outcomes, mut parts) = (vec![], vec![], vec![]);
    let mut at = 0;
    for (number, variant, cpu, duration, megacycle_ticks) in kinds {
        let rows = samples(number, cpu.unwrap_or(0), at, &[duration; 5]);
        at += 5 * duration;
        outcomes.push(outcome(&rows));
        let megaiteration_ticks = if variant == "intadd-watched" { 1_000_000_000 } else { 0 };
        let mut one = series(number, variant, cpu);
        let instructions = if variant == "empty" { 0 } else { one.parameters.instructions };
        one.parameters =
            Parameters { megacycle_ticks, megaiteration_ticks, instructions, ..one.parameters };
        planned.push(one);
        parts.push(rows);
    }
    let parts: Vec<&[Sample]> = parts.iter().map(Vec::as_slice).collect();
    let (_place, recording) = record(&run(outcomes), &planned, &parts);
    let measured = measure(&recording).unwrap();
    let numbers: Vec<u32> = measured.series.iter().map(|series| series.facts.number).collect();
    assert_eq!(numbers, [2, 4, 5, 6, 8, 9], "in order, whatever the table's");
    let cycles = |number| {
        let cycles = series_result(&measured, number).pace.as_ref().unwrap().cycles;
        cycles.map(|c| ((c.per_instruction * 1e9).round() / 1e9, c.core_mhz.round()))
    };
    // 100,000 ticks are 40 µs for 50,000 additions: 0.8 ns a cycle, as a million cycles in 2,000,000 ticks.
    assert_eq!(cycles(9), Some((1.0, 1_250.0)));
    assert_eq!(cycles(2), Some((3.0, 1_250.0)));
    assert_eq!(cycles(4), Some((1.0, 1_250.0)), "calibrated: looks at the counter are not in it");
    assert_eq!((cycles(5), cycles(6)), (None, Some((1.0, 625.0))));
    assert_eq!(series_result(&measured, 8).pace, None, "no instructions");
}

#[test]
fn an_unpinned_series_is_put_in_order_and_tells_where_it_was() {
    let mut rows = samples(0, 0, 0, &[GRAIN; 30_000]);
    for sample in &mut rows {
        sample.cpu = [3, 0, 3, 1][(sample.index / 5 % 4) as usize];
    }
    let pinned = samples(1, 2, 0, &[GRAIN; 3]);
    let planned = [series(0, "sum", None), series(1, "sum", Some(2))];
    let run = run(vec![outcome(&rows), outcome(&pinned)]);
    let (first, second) = rows.split_at(20_000);
    let (_place, recording) = record(&run, &planned, &[first, &pinned, second]);
    let mut seen = vec![];
    let known = recording.series().unwrap();
    let strangers = visit(&recording, &known, |at, samples| {
        seen.extend(samples.iter().filter(|_| at == 0).map(|sample| sample.index));
    });
    assert_eq!(strangers.unwrap(), 0);
    assert_eq!(seen, Vec::from_iter(0..30_000));
    let measured = measure(&recording).unwrap();
    let facts = &series_result(&measured, 0).facts;
    let on = |cpu, samples| CpuSamples { cpu, samples };
    assert_eq!(facts.cpus_seen, [on(0, 7_500), on(1, 7_500), on(3, 15_000)]);
    assert_eq!((facts.migrations, facts.missing), (5_999, 0));
    assert_eq!(series_result(&measured, 1).facts.cpus_seen, []);
}

#[test]
fn unpinned_series_that_ran_at_the_same_time_are_kept_apart() {
    let all =
        [0, 1].map(|number| samples(number, number, u64::from(number) * GRAIN / 2, &[GRAIN; 5]));
    let planned = [series(0, "sum", None), series(1, "sum", None)];
    let run = run(all.iter().map(|rows| outcome(rows)).collect());
    let (_place, recording) = record(&run, &planned, &[&all[0], &all[1]]);
    let mut seen = [vec![], vec![]];
    let known = recording.series().unwrap();
    visit(&recording, &known, |at, samples| seen[at].extend_from_slice(samples)).unwrap();
    assert_eq!(seen, all);
}

#[test]
fn what_does_not_fit_is_told_and_the_rest_is_there() {
    let good = samples(1, 0, 0, &[GRAIN; 10]);
    let foreign = samples(77, 0, 10 * GRAIN, &[GRAIN; 4]);
    let late = samples(1, 0, 14 * GRAIN, &[GRAIN; 3]);
    let long = samples(5, 1, 0, &[u64::MAX]);
    let none = Outcome { series: 2, samples: 100, ..outcome(&good) };
    let planned = [
        series(1, "sum", Some(0)),
        series(2, "sum", Some(0)),
        series(3, "sum", Some(1)),
        series(5, "sum", Some(1)),
    ];
    let run = run(vec![outcome(&good), none, outcome(&long)]);
    let (_place, recording) = record(&run, &planned, &[&good, &foreign, &late, &long]);
    let measured = measure(&recording).unwrap();
    assert_eq!(series_result(&measured, 1).facts.samples, 10);
    let empty = series_result(&measured, 2);
    assert_eq!((empty.facts.samples, empty.figures.series.len()), (0, 0));
    assert!(empty.distribution.is_none() && empty.steadiness.is_none() && empty.fine.is_none());
    assert_eq!(series_result(&measured, 5).distribution.as_ref().unwrap().samples, 1);
    let told: Vec<&str> = measured.not_available.iter().map(|row| row.what.as_str()).collect();
    assert_eq!(told, ["4 samples", "3 samples", "1 series"]);
}

#[test]
fn a_run_that_was_cut_off_says_what_its_samples_say() {
    let rows = samples(0, 0, 500, &[GRAIN; 100]);
    let run = Run { state: RunState::Running, cpus: vec![], ..run(vec![]) };
    let (_place, recording) = record(&run, &[series(0, "sum", Some(0))], &[&rows]);
    let measured = measure(&recording).unwrap();
    let facts = &series_result(&measured, 0).facts;
    assert_eq!((facts.ended, facts.samples, facts.wall_ns), (Ended::CutOff, 100, 10_000_000));
    assert_eq!(measured.run.wall_ns, 10_000_000);
}

#[test]
fn lost_samples_are_a_share_of_the_time_that_series_ran() {
    let rows = samples(0, 0, 0, &[GRAIN; 100]);
    let place = tempfile::tempdir().unwrap();
    let dir = place.path().join("recording");
    let run = run(vec![outcome(&rows)]);
    let mut recorder = Recorder::create(&dir, &run).unwrap();
    recorder.append(&[series(0, "sum", Some(0))]).unwrap();
    recorder.append(&rows).unwrap();
    let (start_ticks, end_ticks) = (90 * GRAIN, 110 * GRAIN);
    let loss = Loss { what: "samples".into(), cpu: 0, start_ticks, end_ticks, count: 20 };
    recorder.append(&[loss]).unwrap();
    recorder.finish(&run).unwrap();
    let measured = measure(&Recording::open(&dir).unwrap()).unwrap();
    let loss = &measured.losses[0];
    assert_eq!((loss.what.as_str(), loss.count, loss.time_share), ("samples", 20, 0.1));
}

#[test]
fn configurations_are_ranked_in_the_experiments_that_all_have() {
    // How much the samples of each kernel vary, in ticks; nothing if it is not measured.
    let configuration = |kernels: [Option<u64>; 3]| {
        let measured = (0..).zip(["intadd", "intmul", "sum"]).zip(kernels);
        let measured =
            measured.filter_map(|((number, kernel), varies)| Some((number, kernel, varies?)));
        let (mut all, mut parts) = (vec![], vec![]);
        for (number, kernel, varies) in measured {
            let durations: Vec<u64> = (0..320).map(|at| GRAIN + at * 7 % 5 * varies).collect();
            all.push(series(number, kernel, Some(1)));
            parts.push(samples(
                number,
                1,
                two_cpus::SECOND / 10 + u64::from(number) * 400 * GRAIN,
                &durations,
            ));
        }
        let outcomes = parts.iter().map(|part| outcome(part)).collect();
        let parts: Vec<&[Sample]> = parts.iter().map(Vec::as_slice).collect();
        record(&run(outcomes), &all, &parts)
    };
    let (_a, quiet) = configuration([Some(1), Some(1), Some(1)]);
    let (_b, middle) = configuration([Some(10), Some(1), None]);
    let (_c, loud) = configuration([Some(100), Some(1), Some(9)]);
    let named =
        |name: &str, recording| Configuration { name: name.into(), recordings: vec![recording] };
    let ranking =
        rank(&[named("loud", &loud), named("quiet", &quiet), named("middle", &middle)]).unwrap();
    let [add, mul, sum] = &ranking.experiments[..] else { panic!("{ranking:?}") };
    let places = |experiment: &RankedExperiment| {
        experiment.noise.iter().map(|noise| noise.and_then(|noise| noise.place)).collect::<Vec<_>>()
    };
    assert_eq!(places(add), [Some(Place::Highest), Some(Place::Lowest), Some(Place::Middle)]);
    assert_eq!(
        (add.clearly_lowest, add.clearly_highest, add.tied),
        (Some(1), Some(0), Some(false))
    );
    assert_eq!((places(mul), mul.tied), (vec![None; 3], Some(true)));
    assert_eq!((sum.tied, sum.noise[2]), (None, None));
    // Values 0 to 4 have a variance of 2 and a mean of 2 (n - 1 instead of n: 2 × 320 / 319).
    let ticks = 2.0 * 320.0 / 319.0 * 100.0 / (GRAIN as f64 + 20.0);
    let found = add.noise[2].unwrap().variance_to_mean;
    assert!((found / (ticks * 1e6 / two_cpus::MICRO as f64 / 1e3) - 1.0).abs() < 1e-9, "{found}");
    let [loud, quiet, middle] = &ranking.configurations[..] else { panic!("{ranking:?}") };
    assert_eq!(
        (quiet.lowest.count, quiet.lowest.share, quiet.equal, quiet.clearly_lowest),
        (1, 0.5, 1, 1)
    );
    assert_eq!((loud.highest.count, loud.absent, middle.absent), (1, 0, 1));
}

/// A recording of 320 samples that take `longer` ticks more than `GRAIN`, do `iterations`, on a core whose cycle takes
/// `cycle` millionths of a tick.
fn timed(longer: u64, iterations: u64, cycle: u64) -> (tempfile::TempDir, Recording) {
    let durations: Vec<u64> = (0..320).map(|at| GRAIN + longer + at * 7 % 5).collect();
    let rows = samples(0, 1, two_cpus::SECOND / 10, &durations);
    let mut planned = series(0, "intadd", Some(1));
    planned.parameters.iterations = iterations;
    planned.parameters.megacycle_ticks = cycle;
    record(&run(vec![outcome(&rows)]), &[planned], &[&rows])
}

#[test]
fn times_of_equal_work_are_compared_with_the_first_configuration() {
    let tenth = GRAIN / 10;
    let twice = GRAIN + 2;
    // What the second takes, and what that is compared with the first: 100 iterations at a cycle of a tick.
    let cases = [
        ("the same", (0, 100, 1_000_000), Unit::Time, Some(1.0)),
        ("a tenth longer", (tenth, 100, 1_000_000), Unit::Time, Some(1.1)),
        ("twice as long for twice the work", (twice, 200, 1_000_000), Unit::Time, Some(1.0)),
        ("speeds within a calibration", (tenth, 100, 1_005_000), Unit::Time, Some(1.1)),
        ("a slower core", (tenth, 100, 1_100_000), Unit::CoreCycles, Some(1.0)),
        ("unknown speed", (tenth, 100, 0), Unit::Unknown, None),
    ];
    let (_a, first) = timed(0, 100, 1_000_000);
    for (case, (longer, iterations, cycle), unit, expected) in cases {
        let (_b, second) = timed(longer, iterations, cycle);
        let configuration =
            |recording| Configuration { name: "of".into(), recordings: vec![recording] };
        let ranking = rank(&[configuration(&first), configuration(&second)]).expect(case);
        let [Some(a), Some(b)] = ranking.experiments[0].time[..] else { panic!("{case}") };
        assert_eq!(
            (ranking.unit, a.over_first, ranking.first_is_bare),
            (unit, None, false),
            "{case}"
        );
        let tick = 1e9 / two_cpus::SECOND as f64;
        assert!(
            (a.mean_ns / ((GRAIN + 2) as f64 * tick / 100.0) - 1.0).abs() < 1e-9,
            "{case}: {a:?}"
        );
        assert!(
            (a.shortest_ns / (GRAIN as f64 * tick / 100.0) - 1.0).abs() < 1e-9,
            "{case}: {a:?}"
        );
        let Some(expected) = expected else {
            assert_eq!((b.over_first, b.interval), (None, None), "{case}");
            continue;
        };
        let over = b.over_first.expect(case);
        assert!((over - expected).abs() < 1e-4, "{case}: {over}");
        let interval = b.interval.expect(case);
        assert!(
            interval.low <= over && over <= interval.high && interval.high < over * 1.001,
            "{case}: {interval:?}"
        );
        let whole = ranking.configurations[1].over_first.expect(case);
        assert_eq!((whole.median, whole.lowest, whole.highest), (over, over, over), "{case}");
        // Two ticks of 1.1 cycles and two of one differ by little, but surely.
        let clear = unit == Unit::CoreCycles || expected > 1.0;
        assert_eq!(whole.clear, u64::from(clear), "{case}");
    }
}

#[test]
fn what_cannot_be_ranked_is_refused_and_only_repeated_runs_vary() {
    let (_a, first) = timed(0, 100, 1_000_000);
    let (_b, second) = timed(5, 100, 1_000_000);
    let side =
        |recordings: &[_]| Configuration { name: "side".into(), recordings: recordings.to_vec() };
    for (runs, expected) in
        [([2, 2], Variation::Runs), ([2, 1], Variation::Parts), ([1, 2], Variation::Parts)]
    {
        let both = [&first, &second];
        let ranking = rank(&runs.map(|runs| side(&both[..runs]))).expect("they compare");
        assert_eq!((ranking.variation, &*ranking.method), (expected, "tick"), "{runs:?}");
    }
    let without_samples =
        |method: &str| record(&Run { method: method.into(), ..run(vec![]) }, &[], &[]);
    let ((_c, detours), (_d, program)) = (without_samples("detours"), without_samples("program"));
    let cases: [(&[_], &str); 4] = [
        (&[&first], "there is only one configuration"),
        (&[&first, &detours], "the methods of the recordings differ"),
        (&[&detours, &detours], "the method detours has no samples that compare"),
        (&[&program, &program], "recordings of a program have no samples to rank"),
    ];
    for (recordings, expected) in cases {
        let sides: Vec<_> = recordings.iter().map(|&recording| side(&[recording])).collect();
        assert_eq!(rank(&sides).expect_err(expected).why, expected);
    }
}

#[test]
fn samples_of_a_kernel_in_all_configurations_are_kept_for_pictures() {
    // The second does twice the work in twice the time; one sample of it takes nine times as long.
    let recorded = |grain: u64, iterations: u64, number: u64| {
        let longer = |at: u64| if at == 500 && iterations == 200 { 9 } else { 1 };
        let durations: Vec<u64> = (0..number).map(|at| (grain + at % 5) * longer(at)).collect();
        let rows = samples(0, 1, two_cpus::SECOND / 10, &durations);
        let mut planned = series(0, "intadd", Some(1));
        planned.parameters.iterations = iterations;
        record(&run(vec![outcome(&rows)]), &[planned], &[&rows])
    };
    let (_a, first) = recorded(GRAIN, 100, 320);
    let (_b, second) = recorded(2 * GRAIN, 200, 1_000);
    let configuration =
        |recording| Configuration { name: "of".into(), recordings: vec![recording] };
    let ranking = rank(&[configuration(&first), configuration(&second)]).expect("both compare");
    let [kernel] = &ranking.one_by_one[..] else { panic!("{:?}", ranking.one_by_one) };
    let [first, second] = &kernel.series[..] else { panic!("{kernel:?}") };
    let ([first], [second]) = (&first[..], &second[..]) else { panic!("{kernel:?}") };
    assert_eq!((&*kernel.kernel, kernel.grain_ns), ("intadd", 100_000));
    assert_eq!((first.facts.samples, second.facts.samples), (320, 1_000));
    assert_eq!((first.facts.iterations, second.facts.iterations), (100, 200));
    let near = |ns: f64, expected: f64| (ns / expected - 1.0).abs() < 1e-3;
    let drawn = &second.figures.drawn;
    assert!(drawn.all && near(drawn.points[500].1, 9.0 * 200_000.0), "{:?}", drawn.points[500]);
    assert!(
        near(first.figures.cdf[0].value, 100_000.0) && near(second.figures.cdf[0].value, 200_000.0)
    );
}

#[test]
fn a_series_is_whole_if_it_ended_by_itself_with_all_samples_right() {
    let rows = samples(0, 1, two_cpus::SECOND / 10, &[GRAIN; 20]);
    let whole = outcome(&rows);
    let mut hole = rows.clone();
    hole.remove(7);
    let ended = |ended: Ended| Outcome { ended, ..whole.clone() };
    let cases = [
        ("all samples", whole.clone(), &rows, true),
        ("a steady mean", ended(Ended::Steady), &rows, true),
        ("ended early", ended(Ended::Interrupted), &rows, false),
        ("a lost sample", Outcome { lost: 1, ..whole.clone() }, &rows, false),
        ("a wrong value", Outcome { wrong: 1, ..whole.clone() }, &rows, false),
        ("a missing sample", whole.clone(), &hole, false),
    ];
    for (name, outcome, rows, expected) in cases {
        let (_place, recording) =
            record(&run(vec![outcome]), &[series(0, "intmul", Some(1))], &[rows]);
        let measured = measure(&recording).unwrap();
        assert_eq!(series_result(&measured, 0).facts.is_whole(), expected, "case: {name}");
    }
}

#[test]
fn a_mean_is_steady_within_the_requested_accuracy() {
    // The mean of ten samples of 100 µs and ten of 110 µs is 105 µs, 5 % over that of the first half.
    let durations = [[GRAIN; 10], [GRAIN * 11 / 10; 10]].concat();
    let rows = samples(0, 1, two_cpus::SECOND / 10, &durations);
    for (maiv_ppm, maiv, steady) in
        [(None, 0.01, false), (Some(40_000), 0.04, false), (Some(50_000), 0.05, true)]
    {
        let mut series = series(0, "intmul", Some(1));
        series.parameters.maiv_ppm = maiv_ppm;
        let (_place, recording) = record(&run(vec![outcome(&rows)]), &[series], &[&rows]);
        let found = series_result(&measure(&recording).unwrap(), 0).steadiness.unwrap();
        assert!((found.variation - 5.0 / 105.0).abs() < 1e-9, "{found:?}");
        assert_eq!((found.maiv, found.steady), (maiv, Some(steady)), "{maiv_ppm:?}");
    }
}
