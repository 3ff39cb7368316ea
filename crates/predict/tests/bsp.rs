//! A job that was played, and what the comparison says of it: the answer is known.

use crate::jobs::{Away, MICRO, MS, Made};
use anechoic_predict::bsp::{Basis, Bsp, Cell, Happened, Part, Played, bsp};
use anechoic_recording::parallel::Meeting;
use anechoic_recording::{Problem, Recording};
use rand::RngExt;
use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::SeedableRng;
use tempfile::TempDir;

/// The comparison of a job whose hosts recorded these.
fn job(recordings: &[Recording]) -> Result<Bsp, Problem> {
    bsp(&recordings.iter().collect::<Vec<_>>())
}

fn compared(made: &Made) -> Bsp {
    let dir = TempDir::new().expect("a directory");
    job(&made.record(dir.path())).expect("a comparison")
}

fn only(bsp: &Bsp) -> &Cell {
    assert_eq!(bsp.cells.len(), 1, "{bsp:#?}");
    &bsp.cells[0]
}

fn part(cell: &Cell, happened: Happened) -> Part {
    let parts = &cell.explanation.as_ref().expect("predicted").parts;
    *parts.iter().find(|part| part.happened == happened).expect("all kinds are told")
}

fn close(found: f64, expected: f64, name: &str) {
    assert!((found - expected).abs() < 1e-9, "{name}: {found}, not {expected}");
}

/// Ticks of 10 to 30 µs every 4 ms and many other delays, over the given milliseconds.
fn noise(ms: u64, seed: u64) -> Vec<Away> {
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    let mut away = vec![];
    for tick in 0..ms / 4 {
        let start = tick * 4 * MS + 200 * MICRO * (seed % 3) + MICRO;
        away.push((start, random.random_range(10 * MICRO..30 * MICRO)));
        if random.random_bool(0.3) {
            away.push((
                start + random.random_range(40 * MICRO..3 * MS),
                random.random_range(300..3_000),
            ));
        }
        if random.random_bool(0.01) {
            away.push((start + 3_050 * MICRO, random.random_range(50 * MICRO..700 * MICRO)));
        }
    }
    away
}

#[test]
fn two_detours_of_a_grain_each_in_ten_seconds() {
    // 1 ms on each of two CPUs, at other times: two phases of 10,000 take twice as long.
    let ranks = vec![(0, vec![(3_000 * MS + 5, MS)]), (0, vec![(7_000 * MS + 5, MS)])];
    let bsp = compared(&Made::new(MS, 10_000, ranks));
    let cell = only(&bsp);
    assert!(!bsp.guest);
    assert_eq!((cell.ranks, cell.phases, cell.left_out), (2, 10_000, 0));
    assert_eq!((cell.undisturbed.basis, cell.undisturbed.phases), (Basis::Undisturbed, 9_998));
    close(cell.undisturbed.ns.value, 1e6, "undisturbed");
    close(cell.measured.value, 2e-4, "measured");
    close(cell.predicted.expect("known").value, 2e-4, "recursion");
    close(cell.anew.expect("known").value, 2e-4, "recursion begun anew at each phase");
    assert_eq!(cell.played, Some(Played::Through));
    close(cell.ratio.expect("noise").value, 1.0, "ratio");
    // By hand: a phase that starts in the last grain of free time before the detour is hit by it.
    let window = 10_002.0;
    let free = 2.0 * (1.0 / (window - 1.0)) - (1.0 / (window - 1.0f64)).powi(2);
    assert!((cell.brackets.expect("known").free_start - free).abs() < 1e-7, "{:?}", cell.brackets);
    assert!(cell.brackets.expect("known").wall_start > free);
    let in_work = part(cell, Happened::InWork);
    assert_eq!(in_work.phases, 2);
    close(in_work.measured, 2e-4, "all of it is in those");
    let explanation = cell.explanation.as_ref().expect("known");
    close(explanation.extra_ns.expect("two").value, 0.0, "a detour costs its own time");
    assert_eq!(explanation.longest, []);
    for (rank, at) in cell.of_ranks.iter().zip([0, 1]) {
        assert_eq!((rank.rank, rank.last_disturbed), (at, 1));
        close(rank.cost, 1e-4, "half of it");
        close(rank.noise.expect("known"), 1.0 / 10_002.0, "noise");
    }
    assert!(bsp.not_available[0].what.starts_with("sources"), "{:?}", bsp.not_available);
}

#[test]
fn phases_played_by_the_recursion_agree_with_it() {
    let ranks =
        |hosts| (0..6usize).map(|rank| (rank % hosts, noise(4_000, 1 + rank as u64))).collect();
    for (name, grain, hosts) in
        [("short", 100 * MICRO, 1), ("usual", MS, 1), ("two hosts", MS, 2), ("six", MS, 6)]
    {
        let phases = 3_000 * MS / grain;
        let bsp = compared(&Made { rounds: 2, ..Made::new(grain, phases, ranks(hosts)) });
        let cell = only(&bsp);
        assert_eq!((cell.ranks, cell.phases), (6, 2 * phases), "{name}");
        assert!(cell.measured.value > 0.01, "{name}: {cell:#?}");
        let ratio = cell.ratio.expect("noise");
        // Where all ranks of a host are away at a release, that host sees it late.
        let off = if hosts == 1 { 1e-9 } else { 0.02 };
        assert!((ratio.value - 1.0).abs() < off, "{name}: {ratio:?}");
        // A host that sees some releases late differs from the recursion in few blocks, too few for an interval.
        assert!(ratio.interval.is_some() || hosts > 1, "{name}: {ratio:?}");
        let low = ratio.at_least.expect("enough blocks");
        let high = ratio.interval.map_or(f64::INFINITY, |interval| interval.high);
        assert!(low <= ratio.value + 1e-9 && ratio.value <= high + 1e-9, "{name}");
        let measured = cell.measured;
        assert!(measured.at_least.expect("enough blocks") < measured.value, "{name}");
        assert!(measured.interval.is_none_or(|interval| measured.value < interval.high), "{name}");
        let played = if hosts == 1 { Played::Through } else { Played::Anew };
        assert_eq!(cell.played, Some(played), "{name}");
        let anew = cell.anew.expect("known").value;
        assert!((anew / cell.measured.value - 1.0).abs() < off, "{name}: {anew}");
    }
}

#[test]
fn what_detours_cost_besides_their_time_is_told() {
    let ranks = vec![(0, noise(4_000, 1)), (0, noise(4_000, 2))];
    let bsp = compared(&Made { extra: 2 * MICRO, guest: true, ..Made::new(MS, 3_000, ranks) });
    assert!(bsp.guest);
    let cell = only(&bsp);
    let in_work = part(cell, Happened::InWork);
    let explanation = cell.explanation.as_ref().expect("known");
    let difference = cell.measured.value - cell.anew.expect("known").value;
    assert!(difference > 0.0);
    close(in_work.measured - in_work.predicted, difference, "it is all in disturbed phases");
    let extra = explanation.extra_ns.expect("many");
    for rank in &cell.of_ranks {
        close(rank.work_ns.expect("undisturbed ones"), 1e6, "work");
        let disturbed = rank.disturbed_work_ns.expect("disturbed ones");
        assert!((1_002_000.0..1_002_600.0).contains(&disturbed), "{rank:?}");
    }
    // A phase holds one detour or two on the rank that is late.
    assert!((2_000.0..2_600.0).contains(&extra.value), "{extra:?}");
    close(difference, extra.value * in_work.phases as f64 / 3_000.0 / 1e6, "per phase");
    let expected = 1.0 + difference / cell.anew.expect("known").value;
    let ratio = cell.ratio.expect("noise").value;
    assert!((ratio - expected).abs() < 0.01, "{ratio}, about {expected}");
}

#[test]
fn phases_that_no_detour_explains_are_named() {
    let ranks = vec![(0, vec![(100 * MS + 5, MS)]), (0, vec![])];
    let slower = |phase| match phase {
        700 => 300 * MICRO,
        800 => 5 * MICRO,
        _ => phase % 3,
    };
    let bsp = compared(&Made { slower, ..Made::new(MS, 2_000, ranks) });
    let cell = only(&bsp);
    let explanation = cell.explanation.as_ref().expect("known");
    let named: Vec<(u64, u32)> = explanation.longest.iter().map(|p| (p.phase, p.round)).collect();
    assert_eq!(named, [(700, 0)], "5 µs more in 1 ms is not much: {explanation:#?}");
    close(explanation.longest[0].took_ns, 1.3e6, "as long as it took");
    let unexplained = part(cell, Happened::Unexplained);
    assert_eq!(unexplained.phases, 1);
    assert!((unexplained.measured - 0.3 / 2_000.0).abs() < 1e-8, "{unexplained:?}");
    close(unexplained.predicted, 0.0, "nothing");
}

#[test]
fn detours_of_those_who_wait_cost_nothing() {
    // Rank 1 is away while rank 0, which is late, still works.
    let ranks = vec![(0, vec![(50 * MS + 5, 500 * MICRO)]), (0, vec![(51 * MS + 10, 300 * MICRO)])];
    let cell = compared(&Made::new(MS, 1_000, ranks)).cells.remove(0);
    close(cell.measured.value, 5e-4, "the first alone");
    close(cell.ratio.expect("noise").value, 1.0, "the recursion knows");
    // Between arrival and release, where no phase is late.
    let ranks = vec![(0, vec![]), (0, vec![(1_011_005_000, 1_000)])];
    let made = Made { meets_in: 10 * MICRO, ..Made::new(MS, 2_000, ranks) };
    let cell = compared(&made).cells.remove(0);
    assert_eq!(part(&cell, Happened::InWait).phases, 1, "{:#?}", cell.explanation);
    close(cell.measured.value, 0.0, "nothing");
    close(cell.undisturbed.meeting_ns, 1e4, "meeting");
}

#[test]
fn a_core_that_is_slow_where_it_is_disturbed_is_told() {
    let away = (0..500).map(|number| (1_001 * MS + number * 2 * MS, 20 * MICRO)).collect();
    let slower = |phase| if phase >= 1_000 { 4 * MICRO } else { 0 };
    let ranks = vec![(0, away), (0, vec![])];
    let cell = compared(&Made { slower, ..Made::new(MS, 2_000, ranks) }).cells.remove(0);
    let explanation = cell.explanation.expect("known");
    let difference = cell.measured.value - cell.predicted.expect("known").value;
    assert!(difference > 5e-4, "{difference}");
    assert!(
        (explanation.speed / difference - 1.0).abs() < 0.1,
        "{} of {difference}",
        explanation.speed
    );
    assert!(cell.undisturbed.wander.expect("blocks") > 0.003);
}

#[test]
fn where_every_phase_is_disturbed_the_rest_is_taken() {
    let ranks = vec![(0, noise(4_000, 1)), (0, noise(4_000, 2))];
    let cell = compared(&Made::new(10 * MS, 350, ranks)).cells.remove(0);
    assert_eq!(cell.undisturbed.basis, Basis::Corrected);
    assert!((cell.undisturbed.ns.value - 1e7).abs() < 2e3, "{:?}", cell.undisturbed);
    assert!((cell.ratio.expect("noise").value - 1.0).abs() < 0.02, "{:?}", cell.ratio);
}

#[test]
fn ranks_that_meet_nobody_lose_their_noise() {
    let ranks = vec![(0, noise(4_000, 1)), (0, noise(4_000, 2)), (0, vec![])];
    let bsp =
        compared(&Made { meeting: Meeting::Nothing, ..Made::new(100 * MICRO, 30_000, ranks) });
    let cell = only(&bsp);
    assert_eq!((cell.ranks, cell.phases), (3, 90_000));
    for rank in &cell.of_ranks {
        let alone = rank.alone.expect("by itself");
        assert!((alone.measured - alone.law.expect("known")).abs() < 1e-6, "{rank:?}");
    }
    assert_eq!(cell.of_ranks[2].alone.expect("by itself").measured, 0.0);
    let mean = cell.of_ranks.iter().map(|rank| rank.alone.expect("alone").measured).sum::<f64>();
    close(cell.measured.value, mean / 3.0, "the mean of all");
    assert!((cell.ratio.expect("noise").value - 1.0).abs() < 1e-9);
    let free = cell.brackets.expect("known").free_start;
    assert!((free / cell.measured.value - 1.0).abs() < 1e-3, "exactly 1 / (1 - noise)");
}

#[test]
fn sources_of_those_who_were_late() {
    let dir = TempDir::new().expect("a directory");
    // A tick on each; that of rank 1 is always over before rank 0's.
    let ticks = |length| (1..400).map(|ms| (ms * 4 * MS + 30 * MICRO, length)).collect();
    let ranks: Vec<(usize, Vec<Away>)> = vec![(0, ticks(20 * MICRO)), (1, ticks(5 * MICRO))];
    let mut made = Made::new(MS, 1_700, ranks);
    made.ranks[1].1.push((1_650 * MS + 10_000_000, 900 * MICRO));
    made.record(dir.path());
    for host in ["host=node0", "host=node1"] {
        made.attribute(&dir.path().join(host), |length| match length {
            20_000 => "timer-tick",
            5_000 => "softirq",
            _ => "thread",
        });
    }
    let recordings = anechoic_recording::find(dir.path()).expect("two hosts");
    let bsp = job(&recordings).expect("a comparison");
    assert_eq!(bsp.not_available, []);
    let sources = only(&bsp).sources.as_ref().expect("attributed");
    let found: Vec<(&str, u64)> = sources.iter().map(|row| (&*row.source, row.ns)).collect();
    assert_eq!(
        found,
        [("timer-tick", 399 * 20_000), ("thread", 900_000)],
        "no softirq: it made nobody late"
    );
}

#[test]
fn what_is_missing_is_said() {
    let away = || vec![(0, noise(1_000, 1)), (1, noise(1_000, 2))];
    let made = Made::new(MS, 900, away());
    let dir = TempDir::new().expect("a directory");
    let played = made.play();
    made.write(dir.path(), 0, &played, |_, _| true);
    made.write(dir.path(), 1, &played, |_, index| index % 10 != 3 && index != 899);
    let both = anechoic_recording::find(dir.path()).expect("two hosts");
    let cell = job(&both).expect("a comparison").cells.remove(0);
    // What follows a lost one is not known to the end of the one before.
    assert_eq!((cell.phases, cell.left_out), (900 - 90 - 90 - 1 - 1, 182));
    assert!((cell.ratio.expect("noise").value - 1.0).abs() < 0.1, "{:?}", cell.ratio);

    let one = job(&both[..1]).expect("a comparison");
    assert!(one.notes[0].contains("1 of 2 ranks are present"), "{:?}", one.notes);
    assert_eq!(only(&one).ranks, 1);

    let dir = TempDir::new().expect("a directory");
    made.write(dir.path(), 0, &played, |_, _| true);
    made.write(dir.path(), 1, &played, |_, _| false);
    let none = anechoic_recording::find(dir.path()).expect("two hosts");
    let none = job(&none).expect("a comparison");
    assert_eq!(none.cells, []);
    assert!(none.notes[0].contains("no phase that all its ranks recorded"), "{:?}", none.notes);
    assert!(bsp(&[]).is_err());
}

#[test]
fn ranks_that_share_a_cpu_are_only_measured() {
    let made = Made { copies: 2, ..Made::new(MS, 500, vec![(0, noise(1_000, 1)), (0, vec![])]) };
    let bsp = compared(&made);
    let cell = only(&bsp);
    assert_eq!(cell.undisturbed.basis, Basis::Calibrated);
    assert!(cell.predicted.is_none() && cell.ratio.is_none() && cell.explanation.is_none());
    assert!(cell.measured.value > 0.0 && cell.of_ranks[0].noise.is_none());
    assert!(bsp.not_available[0].why.contains("rank 0, 1 are unknown"), "{:?}", bsp.not_available);
}

#[test]
fn other_recordings_are_refused() {
    let dir = TempDir::new().expect("a directory");
    let run = anechoic_lab::builders::run("fwq", anechoic_lab::builders::clock(1), vec![]);
    let recorder = anechoic_recording::Recorder::create(dir.path(), &run).expect("a directory");
    recorder.finish(&run).expect("written");
    let recording = Recording::open(dir.path()).expect("a recording");
    let error = job(&[recording]).expect_err("of another method");
    assert!(
        error.to_string().ends_with(
            "is a recording of fwq, not of a parallel job; measure with `anechoic measure bsp`"
        ),
        "{error}"
    );
}
