//! Page sizes: points, speed-ups and the effect of the build of a made-up recording whose results are known.

use anechoic_analyze::Paging;
use anechoic_analyze::paging::paging;
use anechoic_analyze::rank::{Configuration, Ranking, rank};
use anechoic_lab::builders::{self, clock, cpu_run};
use anechoic_recording::machine::DataTlb;
use anechoic_recording::paging::{Allocation, BUILDS, Verified};
use anechoic_recording::run::{Ended, NotAvailable, Outcome};
use anechoic_recording::{Clock, Fixed, Parameters, Recorder, Recording, Run, Sample, Series};
use std::path::Path;

/// The mean cost of the counter read that ends a sample, rounded, which is part of each.
const READ: u64 = 61;
const ACCESSES: u64 = 1_000;
const MIB: u64 = 1 << 20;

/// A series: pages, build, MiB, the ns per access of its passes, and the bytes per page size of its memory; none if it was
/// refused.
type Made<'a> = (&'a str, usize, u64, &'a [u64], Option<&'a [(u64, u64)]>);

fn analyzed(series: &[Made<'_>]) -> Paging {
    let dir = tempfile::tempdir().expect("a directory");
    paging(&record(dir.path(), series)).expect("a result")
}

fn record(dir: &Path, series: &[Made<'_>]) -> Recording {
    let clock = Clock { sample_read_mean_ticks: Some(61.4), ..clock(1_000_000_000) };
    let mut run = Run { ..builders::run("paging", clock, vec![]) };
    run.machine.data_tlb = Some(DataTlb { entries: 2048, entries_2m: None });
    run.not_available = vec![NotAvailable {
        what: "pages huge-1g".into(),
        why: "no memory in one piece".into(),
        remedy: "reserve them at boot".into(),
    }];
    let (mut all, mut samples, mut now) = (vec![], vec![], 1_000);
    for (number, (pages, build, mib, passes, memory)) in (0..).zip(series) {
        let first_ticks = now;
        for (index, ns) in (0..).zip(*passes) {
            let (start_ticks, end_ticks) = (now, now + ns * ACCESSES + READ);
            samples.push(Sample {
                series: number,
                index,
                cpu: 0,
                start_ticks,
                end_ticks,
                count: 1,
            });
            now = end_ticks;
        }
        run.outcomes.push(Outcome {
            series: number,
            first_ticks,
            last_ticks: now,
            samples: passes.len() as u64,
            lost: 0,
            wrong: 0,
            ended: if memory.is_some() { Ended::Complete } else { Ended::NoMemory },
            ..Outcome::default()
        });
        run.allocations.push(Allocation {
            series: number,
            bytes: memory.map_or(0, |_| mib * MIB),
            pages: memory.unwrap_or_default().iter().copied().collect(),
            verified: Verified::PageFlags,
            memory_node: None,
            refused: memory.is_none().then(|| "no memory".into()),
            counted_iterations: 2 * ACCESSES,
            // In the second half of the series the walks shared their counter with others, so they are left out.
            counts: [
                ("dtlb_misses", true),
                ("page_walk_cycles", (number as usize) < series.len() / 2),
            ]
            .into_iter()
            .filter(|(_, counted)| *counted)
            .map(|(name, _)| (name.to_owned(), ACCESSES))
            .collect(),
        });
        all.push(Series {
            series: number,
            round: number,
            method: "paging".into(),
            variant: BUILDS[*build].into(),
            cpu: Some(0),
            tid: 100,
            policy: "other".into(),
            fixed: Fixed::Work,
            grain_ticks: now / 7, // as calibrated, so never twice the same
            asked: 1024,
            parameters: Parameters {
                iterations: ACCESSES,
                megacycle_ticks: 1_000_000,
                working_set_bytes: Some(mib * MIB),
                experiment: Some((*pages).into()),
                ..Parameters::default()
            },
        });
        now += 1_000;
    }
    run.cpus = vec![cpu_run(0, (1_000, now), 20)];
    run.end_ticks = now;
    let mut recorder = Recorder::create(dir, &run).expect("a new directory");
    recorder.append(&all).expect("in order");
    recorder.append(&samples).expect("in order");
    recorder.finish(&run).expect("there is space");
    Recording::open(dir).expect("just written")
}

/// The pages of a whole matrix of 8 MiB.
const BASE: Option<&[(u64, u64)]> = Some(&[(4096, 8 * MIB)]);
const HUGE: Option<&[(u64, u64)]> = Some(&[(2 * MIB, 8 * MIB)]);

/// Two blocks on base pages and explicit ones in both builds: these save `saved` ns of 20 and 40.
fn two_blocks(saved: [[u64; 2]; 2]) -> Vec<[u64; 4]> {
    saved.map(|[optimised, other]| [20, 40, 20 - optimised, 40 - other]).to_vec()
}

fn series(blocks: &[[u64; 4]]) -> Vec<(&'static str, usize, u64, Vec<u64>, bool)> {
    let in_block = |&[a, b, c, d]: &[u64; 4]| {
        // The longest pass of three does not count.
        let passes = |ns: u64| vec![ns, ns, 10 * ns];
        [("base", 0, a), ("base", 1, b), ("huge-2m", 0, c), ("huge-2m", 1, d)]
            .map(|(pages, build, ns)| (pages, build, 8, passes(ns), pages == "base"))
    };
    blocks.iter().flat_map(in_block).collect()
}

fn paging_of_blocks(saved: [[u64; 2]; 2]) -> Paging {
    let made = series(&two_blocks(saved));
    let made: Vec<Made<'_>> = made
        .iter()
        .map(|(pages, build, mib, passes, base)| {
            (*pages, *build, *mib, &passes[..], if *base { BASE } else { HUGE })
        })
        .collect();
    analyzed(&made)
}

#[test]
fn speed_ups_come_from_pairs_of_the_same_block() {
    let found = paging_of_blocks([[10, 10], [10, 10]]);
    assert_eq!((found.blocks, found.sizes()), (2, vec![8 * MIB]));
    let base = found.point("base", BUILDS[0], 8 * MIB).expect("measured");
    assert_eq!((base.ns.value, base.blocks, base.passes, base.speedup), (20.0, 2, 6, None));
    assert_eq!(base.over_best.expect("a best").value, 1.0);
    assert_eq!(base.counts["dtlb_misses"], 0.5, "of the passes with the one before them");
    assert_eq!(
        base.counts["page_walk_cycles"], 0.5,
        "of the block in which they were counted all the time"
    );
    let huge = found.point("huge-2m", BUILDS[1], 8 * MIB).expect("measured");
    assert_eq!(huge.speedup.expect("base pages").value, 0.25);
    assert_eq!(huge.saved_ns.expect("base pages").value, 10.0);
    assert_eq!(huge.over_best.expect("itself").value, 0.0);
    assert_eq!((found.tlb_entries, found.tlb_assumed, found.reach_bytes()), (2048, false, 8 * MIB));
    assert!(!found.host_backing_unknown);
    let absent: Vec<_> = found.kinds.iter().filter(|kind| kind.absent.is_some()).collect();
    assert_eq!((absent.len(), &*absent[0].id), (1, "huge-1g"));
}

#[test]
fn whether_the_saving_depends_on_the_build_is_decided_by_the_interval_of_the_difference() {
    // Savings that differ from block to block alike in both builds do not depend on the build.
    let alike = paging_of_blocks([[9, 9], [11, 11]]).saved.expect("both builds");
    assert_eq!(alike.saved_ns.map(|estimate| estimate.value), [10.0, 10.0]);
    assert_eq!((alike.difference_ns.value, alike.depends_on_build), (0.0, false));
    let differs = paging_of_blocks([[5, 15], [6, 16]]).saved.expect("both builds");
    assert_eq!((differs.difference_ns.value, differs.depends_on_build), (10.0, true));
    let unclear = paging_of_blocks([[5, 15], [10, 10]]).saved.expect("both builds");
    assert_eq!((unclear.difference_ns.value, unclear.depends_on_build), (5.0, false));
}

#[test]
fn blocks_with_other_pages_or_no_memory_do_not_count() {
    let half: &[(u64, u64)] = &[(4096, 4 * MIB), (2 * MIB, 4 * MIB)];
    let found = analyzed(&[
        ("base", 0, 8, &[20], BASE),
        ("thp-2m", 0, 8, &[10], Some(half)),
        ("base", 0, 8, &[30], BASE),
        ("thp-2m", 0, 8, &[15], HUGE),
        ("base", 0, 8, &[40], BASE),
        ("thp-2m", 0, 8, &[], None),
    ]);
    let huge = found.point("thp-2m", BUILDS[0], 8 * MIB).expect("one block counts");
    assert_eq!((huge.blocks, huge.left_out, huge.ns.value), (1, 2, 15.0));
    assert_eq!(huge.speedup.expect("a pair").value, 0.5, "with its own block");
    assert!(huge.ns.interval.is_none(), "one block has no interval");
    let why = huge.why_left_out.as_deref().expect("a reason");
    assert_eq!(why, "only 50 % of the memory had such pages");
    let kind = found.kinds.iter().find(|kind| kind.id == "thp-2m").expect("measured");
    assert_eq!(kind.obtained, Some(0.5));
    assert!(found.saved.is_none(), "there is one build only");
}

/// Ranks two configurations, of which the second takes twice as long: two matrices in two blocks each, the larger with this
/// many passes in a block.
fn ranked(passes_of_large: usize) -> Ranking {
    let dir = tempfile::tempdir().expect("a directory");
    let recorded = |name: &str, times: u64| {
        let small: Vec<u64> = (0..24).map(|at| times * (20 + at % 2)).collect();
        let large: Vec<u64> = (0..passes_of_large as u64).map(|at| times * (40 + at % 2)).collect();
        let block = [("base", 0, 8, &*small, BASE), ("base", 0, 192, &*large, BASE)];
        record(&dir.path().join(name), &[block, block].concat())
    };
    let (first, second) = (recorded("first", 1), recorded("second", 2));
    let configuration =
        |name: &str, recording| Configuration { name: name.into(), recordings: vec![recording] };
    rank(&[configuration("first", &first), configuration("second", &second)])
        .expect("the same matrices")
}

#[test]
fn a_series_of_one_pass_has_a_time_but_no_variance() {
    let ranking = ranked(1);
    let [small, large] = &ranking.experiments[..] else { panic!("{:?}", ranking.experiments) };
    assert_eq!(
        [small, large].map(|experiment| experiment.matrix_bytes),
        [8, 192].map(|mib| Some(mib * MIB))
    );
    assert_eq!((small.tied, large.tied), (Some(false), None));
    assert_eq!(large.noise, [None, None]);
    let times = large.time.iter().map(|time| time.expect("kept"));
    let times: Vec<_> = times.map(|time| (time.mean_ns, time.over_first, time.interval)).collect();
    let [(40.0, None, None), (second, Some(over), None)] = times[..] else { panic!("{times:?}") };
    assert!((second - 80.0).abs() < 1e-9 && (over - 2.0).abs() < 1e-9, "{times:?}");
    // Two blocks of two configurations.
    assert_eq!((ranking.without_variance, ranking.working_sets_left_out), (4, 0));
    let [first, second] = &ranking.configurations[..] else { panic!("{ranking:?}") };
    assert_eq!((first.lowest.count, first.lowest.share, first.absent), (1, 1.0, 0));
    let over = second.over_first.expect("two ratios");
    assert!((over.lowest - 2.0).abs() < 1e-9 && (over.highest - 2.0).abs() < 1e-9, "{over:?}");
    assert_eq!(over.clear, 1, "one interval is known");
    let ranking = ranked(24);
    assert_eq!((ranking.without_variance, ranking.configurations[0].lowest.count), (0, 2));
}
