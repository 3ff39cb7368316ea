//! The screen of page sizes: beside the one that was looked at and found good.
//!
//! After a change that is meant, look at `INSTA_UPDATE=always cargo test --workspace --test report`
//! in the diff of `tests/snapshots`.

use crate::made;
use anechoic_analyze::Paging;
use anechoic_analyze::paging::{Kind, Point, Saved};
use anechoic_analyze::stats::Estimate;
use anechoic_analyze::stats::Interval;
use anechoic_recording::paging::{BUILDS, PAGE_KINDS, Verified};
use anechoic_recording::run::NotAvailable;
use anechoic_report::{View, schemas};
use std::collections::BTreeMap;

fn sure(value: f64, by: f64) -> Estimate {
    Estimate { value, interval: Some(Interval { low: value - by, high: value + by }) }
}

/// Returns the time per access of a page size: the more, the more of the matrix is beyond the TLB.
fn ns(kind: usize, build: usize, mib: u64) -> f64 {
    let own = [1.0, 4.0][build];
    own + (mib as f64 / 40.0).min(9.0) / f64::from(1 << kind.min(6))
}

pub fn usual(mibs: &[u64]) -> Paging {
    let mut points = vec![];
    for (build, id) in BUILDS.iter().enumerate() {
        for &mib in mibs {
            for kind in (0..PAGE_KINDS.len()).filter(|&kind| kind != 1 && kind != 11) {
                let (ns, base) = (ns(kind, build, mib), ns(0, build, mib));
                points.push(Point {
                    pages: PAGE_KINDS[kind].id.into(),
                    build: (*id).into(),
                    bytes: mib << 20,
                    blocks: if kind == 10 { 4 } else { 5 },
                    left_out: u64::from(kind == 10),
                    why_left_out: (kind == 10)
                        .then(|| "only 62 % of the memory had such pages".into()),
                    passes: 40,
                    ns: sure(ns, 0.02),
                    speedup: (kind > 0).then(|| sure(1.0 - ns / base, 0.003)),
                    saved_ns: (kind > 0).then(|| sure(base - ns, 0.03)),
                    over_best: Some(sure(ns - 1.0, 0.01)),
                    counts: BTreeMap::from([("page_faults".into(), 0.0)]),
                });
            }
        }
    }
    let kind = |at: usize| Kind {
        id: PAGE_KINDS[at].id.into(),
        backing: PAGE_KINDS[at].backing,
        page_bytes: PAGE_KINDS[at].bytes.max(4096),
        absent: (at == 11)
            .then(|| "the kernel found memory in one piece for 0 of 1 pages of 1 GiB".into()),
        remedy: if at == 11 { "reserve them at boot: hugepagesz=1G hugepages=1" } else { "" }
            .into(),
        verified: (at != 11).then_some(if at < 9 { Verified::PageFlags } else { Verified::Smaps }),
        obtained: (at != 11).then_some(1.0),
    };
    let kinds: Vec<Kind> = (0..PAGE_KINDS.len()).filter(|&at| at != 1).map(kind).collect();
    let missing = |what: &str, why: &str, remedy: &str| NotAvailable {
        what: what.into(),
        why: why.into(),
        remedy: remedy.into(),
    };
    let run = anechoic_analyze::facts::Facts {
        method: "paging".into(),
        not_available: vec![
            missing(
                "pages huge-1g",
                kinds[10].absent.as_deref().expect("absent"),
                &kinds[10].remedy,
            ),
            missing(
                "data-TLB misses",
                "the hypervisor provides no hardware counters",
                "ask the host",
            ),
        ],
        ..made::facts()
    };
    Paging {
        run,
        cpu: Some(1),
        tick_ns: 0.385,
        read_ticks: 25,
        blocks: 5,
        base_page_bytes: 4096,
        tlb_entries: 3072,
        tlb_assumed: false,
        host_backing_unknown: true,
        kinds,
        points,
        saved: Some(Saved {
            bytes: mibs.last().copied().unwrap_or(0) << 20,
            pages: "thp-2m".into(),
            saved_ns: [sure(8.86, 0.03), sure(8.84, 0.05)],
            difference_ns: sure(-0.02, 0.06),
            depends_on_build: false,
        }),
    }
}

/// Looks at a screen: as it was, never over 80 columns, and as the schema says.
fn golden(name: &str, found: &Paging, all: bool) {
    let view = View { all, ..View::default() };
    let text = anechoic_report::paging(found, &view).to_text(&view);
    let widest = text.lines().map(|line| line.chars().count()).max();
    assert!(widest <= Some(80), "{name} has a line of {widest:?} columns:\n{text}");
    insta::assert_snapshot!(name, text);
    let (_, schema) =
        schemas().into_iter().find(|(name, _)| *name == "paging.schema.json").expect("listed");
    let schema = serde_json::from_str(&schema).expect("a schema is JSON");
    let mut json = vec![];
    anechoic_report::json(found, &mut json).expect("a vector takes all");
    let printed = serde_json::from_slice(&json).expect("JSON reads back");
    assert!(jsonschema::is_valid(&schema, &printed), "{name}");
}

const SIZES: [u64; 9] = [3, 6, 12, 24, 48, 96, 192, 384, 768];

#[test]
fn screens() {
    golden("paging", &usual(&SIZES), false);
    golden("paging_all", &usual(&SIZES), true);
    let depends = |found: Paging| Paging {
        saved: found.saved.map(|saved| Saved {
            difference_ns: sure(2.0, 0.5),
            depends_on_build: true,
            ..saved
        }),
        tlb_assumed: true,
        host_backing_unknown: false,
        ..found
    };
    golden("paging_depends", &depends(usual(&[12])), false);
    let nothing = Paging { points: vec![], kinds: vec![], saved: None, ..usual(&SIZES) };
    golden("paging_nothing", &nothing, false);
}

/// A counter that is there has its column, and the published misses stand beside it.
#[test]
fn counted_misses_are_shown_beside_the_published_ones() {
    let mut found = usual(&SIZES);
    for point in &mut found.points {
        point.counts.insert("dtlb_misses".into(), 0.87);
    }
    let view = View { all: true, ..View::default() };
    let text = anechoic_report::paging(&found, &view).to_text(&view);
    assert!(text.contains("TLB misses") && text.contains("0.87 an access"), "{text}");
}
