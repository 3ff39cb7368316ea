//! The screen of context switches: beside the one that was looked at and found good.
//!
//! After a change that is meant, look at `INSTA_UPDATE=always cargo test --workspace --test report`
//! in the diff of `tests/snapshots`.

use crate::made;
use anechoic_analyze::Switch;
use anechoic_analyze::samples::outliers::{Cause, Outliers};
use anechoic_analyze::stats::Estimate;
use anechoic_analyze::stats::Interval;
use anechoic_analyze::switch::{Point, Without};
use anechoic_recording::switch::Partners;
use anechoic_report::{View, schemas};

fn sure(value: f64, by: f64) -> Estimate {
    Estimate { value, interval: Some(Interval { low: value - by, high: value + by }) }
}

/// Returns the results of rings with these members and working sets in KiB.
fn usual(kinds: &[Partners], members: &[u32], kibs: &[u64]) -> Switch {
    let own = |kib: u64| 280.0 + 40.0 * kib as f64;
    let mut points = vec![];
    for &partners in kinds {
        for &members in members {
            for &kib in kibs {
                let direct = if partners == Partners::Threads { 500.0 } else { 650.0 };
                let direct = direct + 50.0 * f64::from(members);
                let indirect = (f64::from(members) * kib as f64 - 512.0).max(0.0) * 10.0;
                points.push(Point {
                    partners,
                    members,
                    bytes: kib << 10,
                    hops: 40_000 / (kib + 1),
                    hop_ns: sure(own(kib) + direct + indirect, 40.0),
                    cost_ns: kibs.contains(&0).then(|| sure(direct + indirect, 20.0)),
                    indirect_ns: (kib > 0).then(|| sure(indirect, 15.0)),
                    events_ns: Some(sure(420.0, 30.0)),
                });
            }
        }
    }
    let without =
        |&kib: &u64| Without { bytes: kib << 10, hops: 9_000, hop_ns: sure(own(kib), 8.0) };
    Switch {
        run: anechoic_analyze::facts::Facts { method: "switch".into(), ..made::facts() },
        cpu: Some(1),
        tick_ns: 0.385,
        read_ticks: 25,
        blocks: 5,
        kernel: kibs.iter().any(|&kib| kib > 0).then(|| "read-sequential".into()),
        l2_bytes: Some(2 << 20),
        events_compared: true,
        tokens: [123_456, 0],
        without: kibs.iter().map(without).collect(),
        points,
        outliers: Outliers {
            samples: 246_912,
            count: 800,
            examined: 400,
            explained: 330,
            causes: vec![Cause {
                source: "timer-tick".into(),
                name: String::new(),
                outliers: 330,
                ns: 1_900_000,
            }],
        },
    }
}

/// Looks at a screen: as it was, never over 80 columns, and as the schema says.
fn golden(name: &str, found: &Switch) {
    let view = View::default();
    let text = anechoic_report::switch(found, &view).to_text(&view);
    let widest = text.lines().map(|line| line.chars().count()).max();
    assert!(widest <= Some(80), "{name} has a line of {widest:?} columns:\n{text}");
    insta::assert_snapshot!(name, text);
    let (_, schema) =
        schemas().into_iter().find(|(name, _)| *name == "switch.schema.json").expect("listed");
    let schema = serde_json::from_str(&schema).expect("a schema is JSON");
    let mut json = vec![];
    anechoic_report::json(found, &mut json).expect("a vector takes all");
    let printed = serde_json::from_slice(&json).expect("JSON reads back");
    assert!(jsonschema::is_valid(&schema, &printed), "{name}");
}

#[test]
fn the_usual_sweep() {
    golden("switch", &usual(&[Partners::Processes], &[2, 4, 8, 16], &[0, 4, 64, 1024, 8192]));
}

#[test]
fn processes_and_threads_without_working_sets() {
    golden("switch_kinds", &usual(&Partners::ALL, &[2, 8], &[0]));
}

#[test]
fn lost_tokens_and_nothing_measured() {
    let none = Switch { tokens: [5, 2], ..usual(&[], &[], &[]) };
    golden("switch_nothing", &none);
}
