//! What the scheduler takes by the number of copies, from recordings.

use crate::made::{CPU, MICRO, Made, tick_cost};
use anechoic_predict::ticks::{Estimate, Scheduler, table_of};
use anechoic_recording::{EventKind, Loss};

fn read(made: &Made) -> Scheduler {
    let place = tempfile::tempdir().expect("a place for it");
    let recording = made.record(&place.path().join("r"));
    table_of(&recording).expect("sound").processors[0].scheduler.clone()
}

fn is(found: Estimate, us: f64) -> bool {
    let around = found.interval.is_none_or(|i| i.low <= us + 1e-9 && us - 1e-9 <= i.high);
    (found.us - us).abs() < 1e-6 && around
}

/// The same with the given number of copies instead of two.
fn with_copies(more: u32) -> Made {
    let mut made = Made::nothing();
    for block in 0..3 {
        for copies in [1, 2, more] {
            made.sorts(copies, None, block);
        }
        made.sorts(1, Some(0), block);
    }
    made.traps();
    made.watched(Some(0));
    made
}

#[test]
fn known_costs_come_back() {
    let found = read(&with_copies(8));
    assert_eq!(found.not_available, None);
    let copies: Vec<u32> = found.by_copies.iter().map(|cost| cost.copies).collect();
    assert_eq!(copies, [1, 2, 8]);
    for cost in &found.by_copies {
        let known = tick_cost(cost.copies, 1);
        let us = |ticks: u64| ticks as f64 / MICRO as f64;
        // The blocks' own differ by 1 µs, and all that the host took is in no median.
        assert!(is(cost.tick, us(known.tick)), "{cost:?}");
        let interval = cost.tick.interval.expect("three blocks");
        assert!((interval.high - cost.tick.us - 4.302_653 / 3f64.sqrt()).abs() < 1e-6, "{cost:?}");
        assert!(is(cost.function, us(known.function)), "{cost:?}");
        assert_eq!(cost.rounds, 3);
        // Sorts of 200 ms a copy and block: 50 ticks, of which one in ten was not alone.
        let ticks = 3 * 45 * u64::from(cost.copies);
        assert!(cost.ticks.abs_diff(ticks) <= 3, "{cost:?}");
        match cost.choice {
            None => assert_eq!((cost.copies, cost.switches), (1, 0)),
            Some(choice) => {
                assert!(is(choice, us(known.choice)) && cost.copies > 1, "{cost:?}");
                // Those after a softirq and those to another thread are left out.
                let switches = ticks * 7 / 9;
                assert!(cost.switches.abs_diff(switches) <= 6, "{cost:?}");
            }
        }
    }
    assert!(is(found.tick_per_copy.expect("three numbers"), 0.4), "{found:?}");
    assert!(is(found.function_per_copy.expect("three numbers"), 0.4), "{found:?}");
    assert!(is(found.choice_per_copy.expect("two of them"), 0.0), "{found:?}");
}

#[test]
fn why_there_is_none() {
    type Change = fn(&mut Made);
    let cases: [(&str, Change, usize, &str); 6] = [
        ("no function", |m| m.names.truncate(2), 0, "known function"),
        ("no ticks", |m| m.events.retain(|e| e.kind != EventKind::LocalTimerExit), 0, "came alone"),
        (
            "none quiet",
            |m| m.series.retain(|s| s.variant != "sort" || s.parameters.injection.is_some()),
            0,
            "all sorts had added interrupts",
        ),
        (
            "lost",
            |m| {
                let (start_ticks, end_ticks) = (0, u64::MAX);
                let what = "events".into();
                m.losses.push(Loss { what, cpu: CPU, start_ticks, end_ticks, count: 1 });
            },
            0,
            "lost or switched off",
        ),
        (
            "one number",
            |m| m.series.retain(|s| s.parameters.copies == 1),
            1,
            "only one number of copies",
        ),
        (
            "cut in the middle",
            |m| m.events.retain(|e| e.kind != EventKind::HrtimerExit || e.ticks % 2 == 0),
            2,
            "",
        ),
    ];
    for (name, change, rows, expected) in cases {
        let mut made = Made::whole();
        change(&mut made);
        let found = read(&made);
        assert_eq!(found.by_copies.len(), rows, "case: {name}: {found:?}");
        let why = found.not_available.unwrap_or_default();
        assert!(
            why.contains(expected) && why.is_empty() == expected.is_empty(),
            "case: {name}: {why}"
        );
    }
}
