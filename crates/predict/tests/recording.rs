//! The model from recordings.

use crate::made::{self, MICRO, Made};
use anechoic_predict::ticks::{Linearity, Origin, Point, RateFrom, Table, model, table_of};
use anechoic_recording::Loss;
use anechoic_recording::injection::InjectionKind;
use anechoic_recording::run::Ended;

fn read(made: &Made) -> Result<Table, String> {
    let place = tempfile::tempdir().expect("a place for it");
    let recording = made.record(&place.path().join("r"));
    table_of(&recording).map_err(|error| error.to_string())
}

fn near(found: f64, expected: f64) -> bool {
    (found / expected - 1.0).abs() < 1e-4
}

#[test]
fn times_and_costs_of_a_whole_recording() {
    let table = read(&Made::whole()).expect("sound");
    assert!(matches!(&table.origin, Origin::Recording(facts) if facts.method == "serial"));
    let [processor] = &table.processors[..] else { panic!("one CPU") };
    assert_eq!(processor.name, "AMD EPYC 7B13, CPU 1");
    assert_eq!((processor.own_tick_hz, &processor.notes[..]), (Some(250.0), &[][..]));
    let facts = |p: &Point| (p.copies, p.asked_hz, p.rate_from, p.blocks, p.sorts);
    let found: Vec<_> = processor.points.iter().map(facts).collect();
    let expected = [1u32, 2].map(|copies| {
        let sorts = Some(120 * u64::from(copies));
        [(0.0, RateFrom::Table), (1_000.0, RateFrom::Events), (10_000.0, RateFrom::Events)]
            .map(|(hz, from)| (copies, Some(hz), from, 3, sorts))
    });
    assert_eq!(found, expected.concat());
    // What came was counted: each 500th did not, and hrtimer_wakeup is none of them.
    let fastest = &processor.points[2];
    assert!((fastest.rate_hz / 9_980.0 - 1.0).abs() < 0.002, "{fastest:?}");
    assert!(near(fastest.ms, 5.0 / (1.0 - 9_980.0 * 20e-6)), "{fastest:?}");
    assert!(near(processor.points[3].ms, 5.0), "two copies: {:?}", processor.points[3]);
    // What each block took stands with it.
    for point in &processor.points {
        let blocks: Vec<u32> = point.by_block.iter().map(|time| time.block).collect();
        assert_eq!(blocks, [0, 1, 2], "{point:?}");
        assert!(near(point.by_block[2].ms / point.by_block[1].ms, 1.001), "{point:?}");
        assert!((point.by_block[0].rate_hz - point.rate_hz).abs() < 5.0, "{point:?}");
    }
    // Three blocks of 0.999, 1 and 1.001.
    let error = processor.points[0].standard_error_ms.expect("three blocks");
    assert!((error - 0.005 / 3f64.sqrt()).abs() < 1e-6, "{error}");

    let costs = &processor.costs;
    assert!(near(costs.trap_us, 0.21) && near(costs.trap_min_us.expect("seen"), 0.2), "{costs:?}");
    // Alone: half took 1 µs, half 1.5; those with the tick, or a gap of the host's, are left out.
    assert!(near(costs.handler_us, 1.25) && near(costs.gap_us.expect("seen"), 15.0), "{costs:?}");
    let added: Vec<_> = costs.added.iter().map(|cost| (cost.rate_hz, cost.count)).collect();
    assert_eq!(added, [(Some(1_000.0), 100), (Some(10_000.0), 1_000)]);
    let tick = costs.tick.as_ref().expect("seen");
    assert_eq!((tick.count, tick.rate_hz), (300, Some(250.0)));
    assert!(near(tick.handler_us, 2.5) && near(tick.gap_us, 14.0), "{tick:?}");
}

#[test]
fn three_parts() {
    let model = model(&read(&Made::whole()).expect("sound"));
    let processor = &model.processors[0];
    assert!((processor.cost.total_us - 20.0).abs() < 0.05, "{:?}", processor.cost);
    let parts = processor.per_1000.expect("a cost above 0");
    assert_eq!(parts.trap, None);
    assert!(near(parts.handler, 0.125) && near(parts.gap.expect("seen"), 1.5), "{parts:?}");
    assert!((parts.indirect - 0.375).abs() < 0.005, "{parts:?}");
    // The tick has a handler and a gap of its own, and disturbs caches as added interrupts do.
    let own = processor.per_1000_own_ticks.expect("seen");
    assert!((own.total - (0.25 + 1.4 + parts.indirect)).abs() < 1e-6, "{own:?}");
    assert!(near(processor.ticks[1].percent, own.total / 4.0), "f(250)");
    let tickless = processor.tickless[0];
    let without = tickless.without_own_tick_ms.expect("rate and cost are known");
    assert!((tickless.ms.expect("B") - 5.0).abs() < 0.002, "{tickless:?}");
    assert!((without - 5.0 * (1.0 - own.total / 400.0)).abs() < 0.002, "{tickless:?}");
    assert_eq!(processor.verdict.linearity, Linearity::Holds);
}

#[test]
fn who_says_what_came() {
    let rate = |made: &Made| {
        let table = read(made).expect("sound");
        let point = table.processors[0].points[2].clone();
        (point.rate_from, point.rate_hz, table.processors[0].notes.clone())
    };
    let mut lost = Made::whole();
    // In one of three blocks events were lost: there the injector's count stands in.
    let round = lost.series.iter().find(|s| s.parameters.injection == Some(1)).expect("made").series
        as usize;
    let ticks = lost.run.outcomes[round].first_ticks;
    let loss = |what: &str, cpu| Loss {
        what: what.into(),
        cpu,
        start_ticks: ticks + 5,
        end_ticks: ticks + 6,
        count: 1,
    };
    lost.losses = vec![loss("samples", made::CPU), loss("events", 0)];
    assert_eq!(rate(&lost).0, RateFrom::Events, "neither samples nor those of another CPU");
    lost.losses.push(loss("events", made::CPU));
    let (from, hz, notes) = rate(&lost);
    assert!((from, &notes[..]) == (RateFrom::Injector, &[]) && (hz - 9_980.0).abs() < 20.0, "{hz}");

    let mut hidden = Made::whole();
    hidden.names.clear();
    assert_eq!(rate(&hidden).0, RateFrom::Injector);
    hidden.run.injections[1].spells.clear();
    let (from, hz, notes) = rate(&hidden);
    assert!(from == RateFrom::Asked && (hz - 10_000.0).abs() < 1e-6, "{hz}");
    assert!(notes[0].contains("were not counted"), "{notes:?}");
}

/// Somebody else's interrupts, at 2 kHz in the first round, where none were added.
#[test]
fn interrupts_of_others_count() {
    let mut made = Made::whole();
    let (from, to) = (made.run.outcomes[0].first_ticks, made.run.outcomes[0].last_ticks);
    let times = (from..to).step_by(500 * MICRO as usize);
    let added = made.events.iter().find(|event| event.args[0] == made::ADDED).expect("made");
    let others = times.map(|ticks| anechoic_recording::KernelEvent { ticks, ..*added });
    let mut events: Vec<_> = others.chain(made.events.iter().copied()).collect();
    events.sort_by_key(|event| event.ticks);
    made.events = events;
    let table = read(&made).expect("sound");
    let point = &table.processors[0].points[0];
    assert!((point.rate_hz - 2_000.0 / 3.0).abs() < 5.0, "{point:?}");
    assert_eq!((point.asked_hz, point.rate_from), (Some(0.0), RateFrom::Events));
    assert!(table.processors[0].notes[0].contains("something else samples"), "{table:?}");
}

#[test]
fn rounds_that_are_left_out() {
    let mut made = Made::whole();
    let sort = |made: &Made, copies, injection, nth: usize| {
        let is_meant = |s: &&anechoic_recording::Series| {
            s.variant == "sort"
                && s.parameters.copies == copies
                && s.parameters.injection == injection
        };
        made.series.iter().filter(is_meant).nth(nth).expect("made").series as usize
    };
    let (cut, fast) = (sort(&made, 1, None, 0), sort(&made, 2, Some(1), 0));
    let wrong = sort(&made, 2, None, 2);
    made.run.outcomes[cut].ended = Ended::Interrupted;
    made.run.outcomes[cut].samples = 7;
    made.run.outcomes[fast].last_ticks = 0;
    made.run.outcomes[fast].first_ticks = 0;
    made.run.outcomes[fast + 1].last_ticks = 0;
    made.run.outcomes[wrong].wrong = 3;
    let table = read(&made).expect("enough is left");
    let processor = &table.processors[0];
    let blocks: Vec<u32> = processor.points.iter().map(|point| point.blocks).collect();
    assert_eq!(blocks, [2, 3, 3, 3, 3, 2]);
    // What is left out is left out of its block; the others keep theirs.
    let own_blocks = |at: usize| processor.points[at].by_block.iter().map(|time| time.block);
    assert_eq!((own_blocks(0).collect(), own_blocks(1).collect()), (vec![1, 2], vec![0, 1, 2]));
    assert!(processor.notes[0].contains("2 incomplete rounds"), "{processor:?}");
    assert!(processor.notes[1].contains("3 samples gave a wrong result"), "{processor:?}");

    made.run.injections[1].kind = InjectionKind::Thread;
    let table = read(&made).expect("one rate and none are left");
    assert_eq!(table.processors[0].points.len(), 4);
    assert!(table.processors[0].notes[0].contains("6 rounds with noise"), "{table:?}");
}

#[test]
fn what_a_recording_may_lack() {
    type Change = fn(&mut Made);
    let cases: [(&str, Change, &str); 7] = [
        ("another method", |m| m.run.method = "tick".into(), "is a recording of tick, not"),
        ("nothing", |m| (m.series.clear(), m.run.outcomes.clear()).0, "contains no sorts; measure"),
        (
            "one rate",
            |m| m.series.retain(|s| s.variant != "sort" || s.parameters.injection.is_none()),
            "CPU 1 has sorts at only one rate of interrupts; measure for longer",
        ),
        ("no system calls", |m| m.series.retain(|s| s.variant != "trap"), "no system calls (trap)"),
        ("no events", |m| m.run.trace = None, "without kernel events"),
        ("not attributed", |m| m.attributed = false, "run `anechoic attribute`"),
        (
            "no watched loop",
            |m| m.series.retain(|s| s.parameters.step_ticks.is_none()),
            "no detour of the watched loop contains a single added interrupt",
        ),
    ];
    for (name, change, expected) in cases {
        let mut made = Made::whole();
        change(&mut made);
        let error = read(&made).expect_err(name);
        assert!(error.contains(expected) && error.contains(';'), "case: {name}: {error}");
    }
}

#[test]
fn numbers_that_make_no_sense_do_not_panic() {
    let mut made = Made::whole();
    for (at, series) in made.series.iter_mut().enumerate() {
        let parameters = &mut series.parameters;
        parameters.copies = if at % 3 == 0 { u32::MAX } else { parameters.copies };
        parameters.injection = if at % 5 == 0 { Some(99) } else { parameters.injection };
        parameters.iterations = 0;
    }
    for (at, outcome) in made.run.outcomes.iter_mut().enumerate() {
        outcome.samples = if at % 2 == 0 { u64::MAX } else { outcome.samples };
        outcome.last_ticks = if at % 7 == 0 { u64::MAX } else { outcome.last_ticks };
    }
    made.run.clock.frequency_millihertz = 0;
    made.run.injections[0].period_ns = 0;
    for activity in &mut made.activities {
        activity.self_ticks = u64::MAX - MICRO;
    }
    if let Ok(table) = read(&made) {
        let _ = model(&table);
    }
}
