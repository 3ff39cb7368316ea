//! The model from CSV files: the worked example of the paper, tables of known parameters, and defects.

use anechoic_predict::ticks::{
    Costs, Fitted, Linearity, Model, Origin, Point, Processor, ProcessorModel, Sample, Table,
    model, read_files,
};
use proptest::prelude::*;
use rand::RngExt;
use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::SeedableRng;

const TIMES: &str =
    "processor,copies,rate_hz,milliseconds\nP-IV,1,100,12.675\nP-IV,1,10000,13.397\n";
const COSTS: &str = "processor,trap_us,handler_us\nP-IV,0.52,0.49\n";

/// The table of two files, or what is said of them, without their directory.
fn table(times: &str, costs: &str) -> Result<Table, String> {
    let dir = tempfile::tempdir().expect("a directory");
    let path = |name: &str, text: &str| {
        let path = dir.path().join(name);
        std::fs::write(&path, text).expect("writable");
        path
    };
    let read = read_files(&path("times.csv", times), &path("costs.csv", costs));
    let place = format!("{}/", dir.path().display());
    read.map_err(|error| error.to_string().replace(&place, ""))
}

fn only(model: &Model) -> &ProcessorModel {
    assert_eq!(model.processors.len(), 1);
    &model.processors[0]
}

#[test]
fn the_worked_example() {
    let model = model(&table(TIMES, COSTS).expect("sound files"));
    let processor = only(&model);
    let pair = processor.pairs[0];
    // Printed: 133 extra interrupts, 134 µs direct, 588 µs indirect = 81 %.
    let printed = |value: f64| format!("{value:.0}");
    assert_eq!((printed(pair.extra), printed(pair.rise_us)), ("133".into(), "722".into()));
    assert_eq!((printed(pair.direct_us), printed(pair.indirect_us)), ("134".into(), "588".into()));
    let share = pair.indirect_share.expect("it rose");
    assert_eq!(printed(share * 100.0), "81");
    assert_eq!(processor.shares.expect("one pair").median, share);
    // P of the trap and the handler are 1,000 times their cost in a second.
    let parts = processor.per_1000.expect("a cost above 0");
    assert!((parts.trap.expect("no gap") - 0.052).abs() < 1e-12);
    assert!((parts.handler - 0.049).abs() < 1e-12);
    assert!((parts.indirect - 0.443).abs() < 0.001, "{parts:?}");
    assert!((processor.ticks[3].percent - 5.44).abs() < 0.005, "f(10000): {:?}", processor.ticks);
    let tickless = processor.tickless[0].ms.expect("f is small");
    assert!((tickless - 12.668).abs() < 0.001, "{tickless}");
    // Two points lie on the line whatever they are.
    let last = &processor.points[1];
    let (predicted, observed) = (last.predicted.expect("f < 1"), last.observed.expect("B"));
    assert!((predicted - observed).abs() < 1e-9, "{last:?}");
    assert_eq!(processor.goodness.r_squared, None);
    assert_eq!(processor.verdict.linearity, Linearity::Untested);
    assert_eq!(processor.verdict.sample, Sample::TooFew);
}

/// What a made-up processor is made of.
#[derive(Debug, Clone)]
struct Known {
    tickless_ms: f64,
    trap_us: f64,
    handler_us: f64,
    indirect_us: f64,
}

const KNOWN: Known = Known { tickless_ms: 12.5, trap_us: 0.5, handler_us: 1.5, indirect_us: 18.0 };

/// Times by T = B/(1 − c·h), each off by a normal deviate of relative size `noise`.
fn made(known: &Known, rates: &[f64], copies: &[u32], noise: f64, seed: u64) -> Table {
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    let mut normal = || (0..12).map(|_| random.random_range(-0.5..0.5)).sum::<f64>();
    let cost_us = known.trap_us + known.handler_us + known.indirect_us;
    let mut points = vec![];
    for &copies in copies {
        // More copies take a little longer each, whatever the rate.
        let tickless_ms = known.tickless_ms * (1.0 + 0.01 * f64::from(copies));
        points.extend(rates.iter().map(|&rate_hz| {
            let ms = tickless_ms / (1.0 - cost_us * rate_hz / 1e6) * (1.0 + noise * normal());
            Point::given(copies, rate_hz, ms)
        }));
    }
    Table {
        origin: Origin::Files { times: "t".into(), costs: "c".into() },
        processors: vec![Processor::given(
            "made".into(),
            points,
            Costs::given(known.trap_us, known.handler_us),
        )],
        left_out: vec![],
    }
}

/// 24 rates, evenly up to 12 kHz.
fn even_rates() -> Vec<f64> {
    (1..=24).map(|n| f64::from(n) * 500.0).collect()
}

#[test]
fn without_noise_the_parameters_come_back_exactly() {
    let rates = [100.0, 250.0, 500.0, 1_000.0, 2_500.0, 5_000.0, 10_000.0, 20_000.0];
    let model = model(&made(&KNOWN, &rates, &[1, 2, 4, 8], 0.0, 1));
    let processor = only(&model);
    assert!((processor.cost.total_us - 20.0).abs() < 1e-9, "{:?}", processor.cost);
    assert!((processor.cost.indirect_us - 18.0).abs() < 1e-9);
    assert!((processor.tickless[3].ms.expect("B") - 13.5).abs() < 1e-9, "{:?}", processor.tickless);
    assert!((processor.goodness.r_squared.expect("tested") - 1.0).abs() < 1e-12);
    assert!(processor.goodness.largest_miss.expect("predicted").abs() < 1e-12);
    assert_eq!(processor.verdict.linearity, Linearity::Holds);
    assert_eq!(processor.verdict.sample, Sample::Enough);
    assert!((processor.ticks[2].percent - 2.0).abs() < 1e-9, "f(1000)");
    assert!(processor.by_rate.iter().all(|rate| (rate.per_interrupt_us - 20.0).abs() < 1e-9));
    assert!(processor.falls.is_empty() && !processor.bend.expect("eight rates").differs);
    // With f itself instead of f/(1 − f) the points at high rates would lie off by algebra alone.
    let last = &processor.points[7];
    assert!(
        (last.share.expect("predicted") - 0.4).abs() < 1e-9
            && last.predicted.expect("f < 1") > 0.66,
        "{last:?}"
    );
}

/// What it takes: the standard error of c, relative to c, is about noise / (f · √(n/12)) for n points evenly up to
/// the rate at which interrupts take f. Here 1 % / (24 % · √8) is 1.5 % of c, so 1.6 % of the indirect cost.
#[test]
fn one_percent_of_noise_leaves_the_parameters_within_five() {
    let seeds = 1..=200;
    let mut misses = vec![];
    for seed in seeds {
        let model = model(&made(&KNOWN, &even_rates(), &[1, 2, 4, 8], 0.01, seed));
        let processor = only(&model);
        let indirect = processor.cost.indirect_us / KNOWN.indirect_us - 1.0;
        let tickless = processor.tickless[0].ms.expect("B") / (KNOWN.tickless_ms * 1.01) - 1.0;
        let share = processor.ticks[3].percent / 20.0 - 1.0;
        misses.push([indirect, tickless, share].map(f64::abs).into_iter().fold(0.0, f64::max));
        assert_eq!(processor.verdict.sample, Sample::Enough, "seed {seed}");
    }
    assert!(misses[0] < 0.05, "the first: {}", misses[0]);
    let within = misses.iter().filter(|miss| **miss < 0.05).count();
    assert!(within >= 195, "{within} of 200 within 5 %");
}

#[test]
fn intervals_cover_and_the_verdict_holds_where_the_model_does() {
    let (mut covered, mut holds) = (0, 0);
    for seed in 1..=300 {
        let model = model(&made(&KNOWN, &even_rates(), &[1, 2, 4, 8], 0.01, seed));
        let processor = only(&model);
        let interval = processor.cost.indirect_interval.expect("enough points");
        covered += u32::from(interval.low <= 18.0 && 18.0 <= interval.high);
        holds +=
            u32::from(!processor.bend.expect("many rates").differs && processor.goodness.off < 5);
    }
    assert!((276..=297).contains(&covered), "covers {covered} of 300");
    assert!(holds >= 290, "{holds} of 300");
}

#[test]
fn where_the_model_does_not_hold() {
    let rates = [0.0, 250.0, 500.0, 1_000.0, 2_500.0, 5_000.0, 10_000.0, 20_000.0];
    // Interrupts get cheaper: 20 µs each at low rates, half of that at 20 kHz.
    let mut bent = made(&KNOWN, &rates, &[1, 2, 4, 8], 0.0, 2);
    for point in &mut bent.processors[0].points {
        let cost_us = 20.0 - point.rate_hz / 2_000.0;
        point.ms = 12.5 / (1.0 - cost_us * point.rate_hz / 1e6);
    }
    let bent = model(&bent);
    let processor = only(&bent);
    assert_eq!(processor.verdict.linearity, Linearity::Fails);
    let bend = processor.bend.expect("eight rates");
    assert!(bend.differs && bend.high_us < bend.low_us, "{bend:?}");
    assert!(processor.by_rate[0].per_interrupt_us > processor.by_rate[6].per_interrupt_us + 8.0);

    // One wrong cell: it is found, and the parameters stay.
    let mut wrong = made(&KNOWN, &rates, &[1, 2, 4, 8], 0.001, 3);
    wrong.processors[0].points[13].ms *= 0.8;
    let wrong = model(&wrong);
    let processor = only(&wrong);
    let off: Vec<_> = processor.points.iter().filter(|point| point.off).collect();
    assert_eq!((off.len(), off[0].point.copies, off[0].point.rate_hz), (1, 2, 5_000.0));
    assert!((processor.cost.indirect_us - 18.0).abs() < 0.9, "{:?}", processor.cost);
    assert_eq!(processor.goodness.largest_miss_hz, Some(5_000.0));
    assert_eq!(
        (processor.falls.len(), processor.falls[0].copies, processor.falls[0].high_hz),
        (1, 2, 5_000.0)
    );
    assert_eq!(processor.falls[0].within_error, None);

    // Times fall as the rate rises: stated, no error.
    let falling =
        model(&table(&TIMES.replace("13.397", "12.4"), COSTS).expect("an anomaly is no defect"));
    let processor = only(&falling);
    assert_eq!((processor.falls.len(), processor.shares), (1, None));
    assert!(processor.cost.total_us < 0.0 && processor.cost.indirect_share.is_none());
}

/// Nothing is predicted from a cost that is not above 0.
#[test]
fn a_cost_of_0_or_less_is_no_result() {
    let falling = [10.0, 10.5, 9.0, 8.0, 7.0, 6.0, 5.0];
    let rising_a_little = [10.0, 10.02, 9.99, 10.01, 10.0, 10.03, 9.98];
    let cases: [(&str, &[f64], Sample); 4] = [
        ("surely below 0", &falling, Sample::NotPositive),
        ("two rates that fall", &falling[1..3], Sample::NotPositive),
        ("two rates alike", &[10.0, 10.0], Sample::NotPositive),
        ("not told from 0", &rising_a_little, Sample::Noise),
    ];
    for (name, times, sample) in cases {
        let rates = [100, 1_000, 2_000, 5_000, 10_000, 20_000, 30_000];
        let rows = rates.iter().zip(times).map(|(rate, ms)| format!("P-IV,1,{rate},{ms}\n"));
        let rows: String = rows.collect();
        let times = format!("processor,copies,rate_hz,milliseconds\n{rows}");
        let model = model(&table(&times, COSTS).expect("an anomaly is no defect"));
        let processor = only(&model);
        assert_eq!(processor.verdict.sample, sample, "case: {name}: {:?}", processor.cost);
        assert_eq!(processor.verdict.linearity, Linearity::Untested, "case: {name}");
        assert_eq!(
            (processor.per_1000, processor.ticks.len(), processor.tickless.len()),
            (None, 0, 0),
            "case: {name}"
        );
        let predicts = |point: &Fitted| point.predicted.is_some() || point.miss.is_some();
        assert!(!processor.points.iter().any(predicts), "case: {name}");
    }
}

/// With errors that are known, a fall by more than these is against the model, even where two rates test no line.
#[test]
fn a_fall_by_more_than_its_error() {
    for (name, rates, ms, error_ms, expected) in [
        ("beyond", 4, 12.6, 0.001, Linearity::Fails),
        ("within", 4, 12.6, 0.01, Linearity::Holds),
        ("two rates, beyond", 2, 12.6, 0.001, Linearity::Fails),
        ("two rates, within", 2, 12.6, 0.01, Linearity::Untested),
    ] {
        let rates = &[0.0, 100.0, 5_000.0, 10_000.0][..rates];
        let mut table = made(&KNOWN, rates, &[1, 2, 4], 0.0, 1);
        for point in &mut table.processors[0].points {
            (point.blocks, point.standard_error_ms) = (5, Some(error_ms));
        }
        table.processors[0].points[1].ms = ms;
        let model = model(&table);
        let processor = only(&model);
        assert!(processor.verdict.sample.resolves_cost(), "case: {name}: {:?}", processor.cost);
        assert_eq!(processor.verdict.linearity, expected, "case: {name}: {:?}", processor.falls);
        // By less than 1 %: no point is off.
        assert_eq!(processor.goodness.off, 0, "case: {name}");
        let within = processor.falls.iter().map(|fall| fall.within_error).collect::<Vec<_>>();
        assert_eq!(within, [Some(name.ends_with("within"))], "case: {name}");
    }
}

#[test]
fn points_with_errors_of_their_own() {
    let rates = [0.0, 1_000.0, 2_000.0, 5_000.0, 10_000.0];
    let mut table = made(&KNOWN, &rates, &[1, 2], 0.0, 1);
    for (at, point) in table.processors[0].points.iter_mut().enumerate() {
        point.blocks = 4;
        point.standard_error_ms = Some(point.ms * if at == 3 { 0.02 } else { 0.001 });
        if at == 3 || at == 8 {
            point.ms *= 1.03;
        }
    }
    let model = model(&table);
    let off: Vec<bool> = only(&model).points.iter().map(|point| point.off).collect();
    // Both are off by 3 %: the one whose error is 2 % may be.
    assert!(!off[3] && off[8], "{off:?}");
}

#[test]
fn several_processors_and_what_is_passed_by() {
    let times = "milliseconds,processor,copies,rate_hz\n13.4,\"B, old\",2,1000\n12.6,A,1,0\n12.9,A,1,1000\n13.1,\"B, old\",2,100\n9,A,4,100\n";
    let costs = "processor,trap_us,handler_us\nA,0.5,0.5\nC,1,1\n\"B, old\",0.6,0.7\n";
    let model = model(&table(times, costs).expect("sound"));
    let names: Vec<&str> =
        model.processors.iter().map(|processor| processor.name.as_str()).collect();
    assert_eq!(names, ["B, old", "A"]);
    let (b, a) = (&model.processors[0], &model.processors[1]);
    assert_eq!((b.pairs[0].low_hz, b.costs.trap_us), (100.0, 0.6));
    assert_eq!((a.points.len(), a.pairs.len()), (3, 1));
    assert!(a.notes[0].contains("only one rate at copies 4"), "{:?}", a.notes);
    // What is absent is named.
    assert_eq!(model.left_out.len(), 1);
    assert!(model.left_out[0].starts_with("C has costs, but no times in "), "{:?}", model.left_out);
    let absent =
        "the table has no time for copies 1 at 100 Hz, copies 4 at 0 Hz, copies 4 at 1000 Hz";
    assert_eq!(a.notes[1], absent);
}

/// The handler of another mode takes the place of the first; the indirect cost is that of the first.
#[test]
fn modes_of_the_handler() {
    let costs = "processor,mode,trap_us,handler_us\nP-IV,PIT,0.52,0.49\nP-IV,TSC,0.52,5.98\n";
    let model = model(&table(TIMES, costs).expect("sound"));
    let processor = only(&model);
    let parts: Vec<_> = processor.modes.iter().map(|mode| (&*mode.name, mode.parts)).collect();
    let [("PIT", pit), ("TSC", tsc)] = parts[..] else { panic!("{parts:?}") };
    assert_eq!(Some(pit), processor.per_1000);
    assert_eq!((pit.indirect, pit.trap), (tsc.indirect, tsc.trap));
    assert!((tsc.handler - 0.598).abs() < 1e-12 && (tsc.total - pit.total - 0.549).abs() < 1e-12);
    let twice = costs.replace("TSC", "PIT");
    let error = table(TIMES, &twice).expect_err("twice");
    assert!(error.starts_with("costs.csv:3: a second row of costs of P-IV in mode PIT"), "{error}");
}

/// The mean over all pairs counts a fall as much as every rise.
#[test]
fn estimators_differ_where_times_fall() {
    let rates = [0.0, 1_000.0, 5_000.0, 10_000.0, 20_000.0];
    let exact = model(&made(&KNOWN, &rates, &[1, 2, 4, 8], 0.0, 1));
    let all = only(&exact).estimators.expect("pairs");
    assert_eq!((all.pairs, all.rises), (40, 40));
    let rises = all.mean_of_rises.expect("all");
    assert!((all.fit - 1.8).abs() < 1e-9 && (rises - all.mean).abs() < 1e-9, "{all:?}");
    let mut wrong = made(&KNOWN, &rates, &[1, 2, 4, 8], 0.0, 1);
    wrong.processors[0].points[0].ms *= 1.05;
    let wrong = model(&wrong);
    let all = only(&wrong).estimators.expect("pairs");
    assert_eq!((all.pairs, all.rises), (40, 39));
    let rises = all.mean_of_rises.expect("39");
    assert!(all.mean < rises - 0.1 && (all.fit - 1.8).abs() < 0.02, "{all:?}");
}

#[test]
fn every_defect_is_told_with_its_line() {
    let row = |row: &str| format!("{TIMES}{row}\n");
    let cost = |row: &str| format!("{COSTS}{row}\n");
    let cases: [(&str, String, String, &str); 18] = [
        ("copies 0", row("P-IV,0,1000,13"), COSTS.into(), "times.csv:4: copies is \"0\""),
        ("part of a copy", row("P-IV,1.5,1000,13"), COSTS.into(), "times.csv:4: copies is \"1.5\""),
        ("no number", row("P-IV,1,fast,13"), COSTS.into(), "times.csv:4: rate_hz is not a number"),
        (
            "decimal comma",
            row("P-IV,1,1000,\"13,1\""),
            COSTS.into(),
            "milliseconds is not a number",
        ),
        ("negative rate", row("P-IV,1,-5,13"), COSTS.into(), "times.csv:4: rate_hz is negative"),
        ("NaN", row("P-IV,1,1000,NaN"), COSTS.into(), "milliseconds is not a finite number"),
        ("infinite", row("P-IV,1,inf,13"), COSTS.into(), "rate_hz is not a finite number"),
        ("no time", row("P-IV,1,1000,0"), COSTS.into(), "times.csv:4: milliseconds is 0"),
        ("huge", row("P-IV,1,1000,1e300"), COSTS.into(), "milliseconds is larger than"),
        ("missing cell", row("P-IV,1,1000,"), COSTS.into(), "times.csv:4: milliseconds is missing"),
        ("short row", row("P-IV,1,1000"), COSTS.into(), "times.csv:4: 3 cells instead of 4"),
        (
            "twice",
            row("P-IV,1,100.0,13"),
            COSTS.into(),
            "times.csv:4: a second time of P-IV at copies 1 and 100 Hz, after line 2",
        ),
        (
            "no costs",
            row("P4,1,1000,13"),
            COSTS.into(),
            "times.csv:4: P4 has no costs in costs.csv",
        ),
        ("costs twice", TIMES.into(), cost("P-IV,1,1"), "costs.csv:3: a second row of costs"),
        ("cost 0", TIMES.into(), cost("X,0,1"), "costs.csv:3: trap_us is 0"),
        (
            "headers",
            TIMES.replace("rate_hz", "hz"),
            COSTS.into(),
            "times.csv:1: unknown column \"hz\"; the columns must be processor,copies,rate_hz,milliseconds",
        ),
        (
            "one rate",
            "processor,copies,rate_hz,milliseconds\nP-IV,1,100,12\nP-IV,2,100,12\n".into(),
            COSTS.into(),
            "times.csv:2: P-IV has times at only one rate",
        ),
        (
            "no rows",
            "processor,copies,rate_hz,milliseconds\n".into(),
            COSTS.into(),
            "times.csv:1: no rows",
        ),
    ];
    for (name, times, costs, expected) in cases {
        let error = table(&times, &costs).expect_err(name);
        assert!(error.contains(expected), "case: {name}: {error}");
        assert_eq!(error.lines().count(), 1, "case: {name}: {error}");
        assert!(error.contains(';'), "case: {name} names no remedy: {error}");
    }
    let many: String = (1..=1_001).map(|n| format!("P-IV,2,{n},13\n")).collect();
    let error = table(&format!("{TIMES}{many}"), COSTS).expect_err("too many");
    assert!(error.starts_with("times.csv:1002: more than 1000 rows"), "{error}");
    let nowhere = read_files("/no/such.csv".as_ref(), "/no/such.csv".as_ref()).expect_err("none");
    assert!(nowhere.to_string().contains("/no/such.csv"), "{nowhere}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_bytes_are_a_table_or_an_error(text in "[pr,\"\n0-9.e-]{0,200}") {
        let times = format!("processor,copies,rate_hz,milliseconds\n{text}");
        let _ = table(&times, &format!("processor,trap_us,handler_us\n{text}"));
    }

    /// Whatever times are read, every number that is told is one.
    #[test]
    fn any_times_give_finite_numbers(
        cells in proptest::collection::btree_map((1u32..4, 0u32..9), -9.0f64..9.0, 2..20),
        costs in (-9.0f64..9.0, -9.0f64..9.0),
    ) {
        let row = |((copies, rate), time): (&(u32, u32), &f64)| {
            format!("x,{copies},{},{}\n", if *rate == 0 { 0.0 } else { 10f64.powi(*rate as i32) }, 10f64.powf(*time))
        };
        let rows: String = cells.iter().map(row).collect();
        let times = format!("processor,copies,rate_hz,milliseconds\n{rows}");
        let costs = format!("processor,trap_us,handler_us\nx,{},{}\n", 10f64.powf(costs.0), 10f64.powf(costs.1));
        if let Ok(table) = table(&times, &costs) {
            let model = model(&table);
            let processor = only(&model);
            let mut told = vec![processor.cost.total_us, processor.cost.indirect_us];
            told.extend(processor.per_1000.map(|parts| parts.total));
            told.extend(processor.ticks.iter().map(|tick| tick.percent));
            prop_assert!(told.iter().all(|number| number.is_finite()), "{told:?}");
            prop_assert_eq!(processor.verdict.sample.resolves_cost(), processor.per_1000.is_some());
            prop_assert!(processor.per_1000.is_none() || processor.cost.total_us > 0.0, "{:?}", processor.cost);
            let points = processor.points.iter().flat_map(|p| [p.predicted, p.observed, p.miss]).flatten();
            let pairs = processor.pairs.iter().flat_map(|p| [p.extra, p.direct_us, p.per_interrupt_us]);
            let all: Vec<f64> = points.chain(pairs).collect();
        prop_assert!(all.iter().all(|number| number.is_finite()), "{processor:?}");
        }
    }
}
