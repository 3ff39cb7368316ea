//! The screen of the serial tick model, as a whole: beside the one that was looked at and found good.
//!
//! After a change that is meant, look at `INSTA_UPDATE=always cargo test --workspace --test report`
//! in the diff of `tests/snapshots`.

use crate::made::{self, samples::Random};
use anechoic_analyze::stats::Interval;
use anechoic_predict::ticks::{
    BlockTime, Costs, Estimate, Model, Origin, Point, Processor, RateFrom, Scheduler,
    SchedulerCost, SeenCost, Table, model,
};
use anechoic_report::results::Found;
use anechoic_report::results::ticks::TICKS;
use anechoic_report::{Style, View, schemas};
use proptest::prelude::*;

fn screen(model: &Model, view: &View<'_>) -> String {
    Found::from_value(&TICKS, model.clone(), &[]).screen(view).to_text(view)
}

/// Looks at a screen: as it was, never over 80 columns, and as the schema says.
fn golden(name: &str, table: &Table) {
    let model = model(table);
    let text = screen(&model, &View::default());
    let widest = text.lines().map(|line| line.chars().count()).max();
    assert!(widest <= Some(80), "{name} has a line of {widest:?} columns:\n{text}");
    insta::assert_snapshot!(name, text);
    let (_, schema) =
        schemas().into_iter().find(|(name, _)| *name == "ticks.schema.json").expect("listed");
    let schema = serde_json::from_str(&schema).expect("a schema is JSON");
    let mut json = vec![];
    anechoic_report::json(&model, &mut json).expect("writing to memory");
    let printed = serde_json::from_slice(&json).expect("JSON reads back");
    assert!(jsonschema::is_valid(&schema, &printed), "{name}");
}

pub fn files(processors: Vec<Processor>) -> Table {
    let origin = Origin::Files { times: "times.csv".into(), costs: "costs.csv".into() };
    Table { origin, processors, left_out: vec![] }
}

pub fn processor(name: &str, points: Vec<Point>, costs: Costs) -> Processor {
    Processor::given(name.into(), points, costs)
}

/// The paper's example, and a table of ticks with scatter, a fall and a wrong cell.
#[test]
fn from_files() {
    let example = vec![Point::given(1, 100.0, 12.675), Point::given(1, 10_000.0, 13.397)];
    let mut random = Random(5);
    let mut points = vec![];
    for copies in [1, 2, 4, 8] {
        for rate_hz in [100.0, 200.0, 500.0, 1_000.0, 2_500.0, 5_000.0, 10_000.0] {
            let noise = 1.0 + 0.003 * (random.next() - 0.5);
            let work = 11.2 * (1.0 + 0.004 * f64::from(copies));
            points.push(Point::given(copies, rate_hz, work / (1.0 - 7.4e-6 * rate_hz) * noise));
        }
    }
    points[25].ms *= 1.06;
    let table = files(vec![
        processor("P-IV 2.8 GHz", example, Costs::given(0.52, 0.49)),
        processor("P-III 664 MHz", points, Costs::given(0.39, 0.71)),
    ]);
    golden("ticks_files", &table);
}

/// The tables of the paper: both modes, each estimator, and the published values beside them.
#[test]
fn tables_of_the_paper() {
    golden("ticks_published", &anechoic_report::published::serial_table());
}

/// What the scheduler takes with these numbers of copies: of the last, nothing but ticks in one round.
fn scheduler(all: &[u32]) -> Scheduler {
    let about = |us: f64, reach: f64| Estimate {
        us,
        interval: Some(Interval { low: us - reach, high: us + reach }),
    };
    let cost = |&copies: &u32| {
        let us = 6.31 + 0.012 * f64::from(copies);
        let one = all.len() > 1 && all.last() == Some(&copies);
        let once = |us| Estimate { us, interval: None };
        SchedulerCost {
            copies,
            rounds: if one { 1 } else { 5 },
            ticks: 1_841 + 113 * u64::from(copies),
            tick: if one { once(us) } else { about(us, 0.42) },
            function: about(2.94 + 0.011 * f64::from(copies), 0.2),
            switches: if copies > 1 && !one { 1_702 } else { 0 },
            choice: (copies > 1 && !one).then(|| about(2.31, 0.15)),
        }
    };
    let several = all.len() > 1;
    Scheduler {
        by_copies: all.iter().map(cost).collect(),
        tick_per_copy: several.then(|| about(0.012, 0.008)),
        function_per_copy: several.then(|| about(0.011, 0.004)),
        choice_per_copy: several.then(|| about(0.003, 0.021)),
        not_available: (!several).then(|| "there is only one number of copies".to_owned()),
    }
}

/// Added interrupts on a guest; `bent` where they get cheaper at high rates.
fn recorded(bent: f64) -> Table {
    let mut random = Random(11);
    let mut points = vec![];
    for copies in [1, 2, 4, 8] {
        for asked in [0.0, 250.0, 1_000.0, 4_000.0, 10_000.0] {
            let rate_hz = asked * 0.998;
            let cost = 19.4e-6 * (1.0 - bent * rate_hz / 10_000.0);
            let error = 0.002;
            let noise = 1.0 + error * (random.next() + random.next() - 1.0);
            let ms = 4.31 / (1.0 - cost * rate_hz) * noise;
            // The host is slower from block to block.
            let drift = |block: u32| 1.0 + 0.004 * (f64::from(block) - 3.5);
            let mut by_block: Vec<BlockTime> = vec![];
            for block in 0..8 {
                let noise = 1.0 + error * (random.next() - 0.5);
                by_block.push(BlockTime { block, rate_hz, ms: ms * drift(block) * noise });
            }
            points.push(Point {
                asked_hz: Some(asked),
                rate_from: if asked > 0.0 { RateFrom::Events } else { RateFrom::Table },
                standard_error_ms: Some(4.31 * 0.004),
                blocks: 8,
                by_block,
                sorts: Some(2_000 * u64::from(copies)),
                ..Point::given(copies, rate_hz, ms)
            });
        }
    }
    let seen = |rate_hz, count, handler_us, gap_us| SeenCost {
        rate_hz: Some(rate_hz),
        count,
        handler_us,
        handler_sd_us: Some(handler_us / 4.0),
        gap_us,
        gap_sd_us: None,
    };
    let costs = Costs {
        trap_min_us: Some(0.071),
        trap_sd_us: Some(0.012),
        gap_us: Some(14.9),
        added: vec![seen(1_000.0, 4_980, 1.31, 15.2), seen(10_000.0, 49_800, 1.24, 14.8)],
        tick: Some(seen(250.0, 1_240, 2.36, 15.3)),
        ..Costs::given(0.083, 1.25)
    };
    let mut run = made::facts();
    run.method = "serial".into();
    let processor = Processor {
        own_tick_hz: Some(250.0),
        scheduler: scheduler(if bent > 0.0 { &[4] } else { &[1, 2, 4, 8] }),
        notes: vec!["left out: 2 rounds that were not completed".into()],
        ..processor("AMD EPYC 7B13, CPU 1", points, costs)
    };
    let origin = Origin::Recording(Box::new(run));
    Table { origin, processors: vec![processor], left_out: vec![] }
}

#[test]
fn from_a_recording() {
    golden("ticks_recording", &recorded(0.0));
    golden("ticks_bent", &recorded(0.3));
}

/// Times that say nothing, or the opposite.
#[test]
fn with_less() {
    let falling =
        vec![Point::given(1, 0.5, 12.9), Point::given(1, 250.0, 12.4), Point::given(4, 100.0, 3.0)];
    let noise: Vec<Point> = (0..7)
        .map(|n| Point::given(2, 100.0 * f64::from(n + 1), 0.8 + 0.01 * f64::from(n * 3 % 7)))
        .collect();
    let table = files(vec![
        processor("falls", falling, Costs::given(0.5, 0.5)),
        processor("noise", noise, Costs::given(0.5, 0.5)),
    ]);
    golden("ticks_less", &table);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// No table makes a line too wide, or lets a name move the cursor.
    #[test]
    fn any_table_can_be_shown(
        cells in proptest::collection::vec((1u32..70, 0.0f64..1e9, 1e-9f64..1e9), 2..60),
        (trap_us, handler_us, gap_us) in (1e-9f64..1e9, 1e-9f64..1e9, proptest::option::of(0.0f64..1e9)),
        own in any::<bool>(),
        seen in proptest::collection::vec((any::<u32>(), -1e12f64..1e12, any::<bool>()), 0..24),
        (width, all, color) in (60usize..100, any::<bool>(), any::<bool>()),
    ) {
        let points = cells.iter().map(|&(copies, rate_hz, ms)| Point::given(copies, rate_hz, ms)).collect();
        let tick = own.then_some(SeenCost { rate_hz: None, count: 1, handler_us, handler_sd_us: gap_us, gap_us: trap_us, gap_sd_us: None });
        let costs = Costs { gap_us, tick, ..Costs::given(trap_us, handler_us) };
        let name = "\x1b[2J a name that goes on and on ".repeat(4);
        let by_copies = seen.iter().map(|&(copies, us, both)| {
            let estimate = Estimate { us, interval: both.then_some(Interval { low: us, high: us * us }) };
            let (ticks, choice) = (u64::from(copies), both.then_some(estimate));
            SchedulerCost { copies, rounds: 1, ticks, tick: estimate, function: estimate, switches: ticks, choice }
        });
        let first = by_copies.clone().next().map(|cost| cost.tick);
        let scheduler = Scheduler {
            by_copies: by_copies.collect(),
            tick_per_copy: first,
            function_per_copy: first.filter(|_| all),
            choice_per_copy: first.filter(|_| own),
            not_available: all.then(|| name.clone()),
        };
        let own_tick_hz = own.then_some(250.0);
        let processor = Processor { own_tick_hz, scheduler, ..processor(&name, points, costs) };
        let model = model(&files(vec![processor]));
        let view = View { width, all, style: Style { color: false }, ..View::default() };
        let text = screen(&model, &view);
        let widest = text.lines().map(|line| line.chars().count()).max().unwrap_or(0);
        prop_assert!(widest <= width, "{widest} of {width}\n{text}");
        prop_assert!(!text.contains('\x1b'));
        let coloured = View { style: Style { color }, ..view };
        prop_assert_eq!(screen(&model, &coloured).contains('\x1b'), color);
    }
}
