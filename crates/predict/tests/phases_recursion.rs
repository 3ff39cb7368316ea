//! The recursion against known values, a plain simulation and the brackets.

use crate::phases::{MICRO, MS, SECOND, alone, busy, spans};
use anechoic_predict::phases::{
    BUDGET, Host, Job, Recursion, Span, Tables, Timeline, laws, recursion,
};
use proptest::prelude::*;
use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::SeedableRng;

fn host(cpus: Vec<Timeline>) -> Vec<Host> {
    let cpus = (0..).zip(cpus).collect();
    vec![Host::new("host".into(), cpus).expect("one window")]
}

/// 1 ms once in 10 s.
#[test]
fn one_delay_of_one_length() {
    let hosts = host(vec![alone()]);
    let cases = [
        ("one rank", MS, 1, 1.000_1, 0.000_03),
        ("ten thousand", MS, 10_000, 1.730, 0.01),
        ("all that there is", MS, 300_000, 2.0, 0.001),
        ("all, a longer grain", 10 * MS, 300_000, 1.1, 0.000_1),
    ];
    for (name, grain, ranks, expected, tolerance) in cases {
        let tables = Tables::new(&hosts, grain).expect("in memory");
        let got = recursion(&tables, ranks, 1, BUDGET).expect("affordable").slowdown;
        assert!((got - expected).abs() < tolerance, "case: {name}: {got}");
    }
    let tables = Tables::new(&hosts, MS).expect("in memory");
    assert_eq!(recursion(&tables, 100_000_000, 1, BUDGET), None, "beyond the budget");
    let quiet = host(vec![Timeline::new(SECOND, vec![])]);
    let got = recursion(&Tables::new(&quiet, MS).expect("in memory"), 1_000, 1, BUDGET)
        .expect("affordable");
    assert_eq!((got.slowdown, got.interval.low, got.interval.high), (1.0, 1.0, 1.0));
    // The first look at 32 phases of each run is enough, because all agree.
    assert_eq!((got.runs, got.phases), (8, 8 * 32));
}

#[test]
fn the_recursion_lies_between_its_brackets() {
    let timeline = busy(20);
    let hosts = host(vec![timeline.clone()]);
    for grain in [100 * MICRO, MS, 10 * MS] {
        let laws = laws([&timeline], grain);
        let tables = Tables::new(&hosts, grain).expect("in memory");
        for ranks in [1, 30, 1_000, 100_000] {
            let Some(got) = recursion(&tables, ranks, 1, BUDGET) else {
                continue;
            };
            let slowdown = |ns: f64| 1.0 + ns / grain as f64;
            let low = slowdown(laws.free.mean_of_slowest_ns(ranks));
            let high = slowdown(laws.wall.mean_of_slowest_ns(ranks));
            let spread = 2.0 * (got.interval.high - got.slowdown) + 0.002 * (low - 1.0);
            assert!(low - spread < got.slowdown, "{grain} ns, {ranks}: {low} {got:?}");
            assert!(got.slowdown < high + spread, "{grain} ns, {ranks}: {high} {got:?}");
        }
    }
}

/// Of a recording that is too long, an eighth of the starts and those with the longest delays tell the same.
#[test]
fn some_starts_stand_for_all() {
    let timeline = busy(200);
    let most = timeline.count() / 8;
    let hosts = host(vec![timeline]);
    for grain in [100 * MICRO, MS, 10 * MS] {
        let all = Tables::new(&hosts, grain).expect("in memory");
        let some = Tables::bounded(&hosts, grain, most).expect("in memory");
        for ranks in [1, 20, 1_000, 50_000] {
            let found_with = |tables| recursion(tables, ranks, 1, BUDGET / 10).expect("affordable");
            let (all, some) = (found_with(&all), found_with(&some));
            let error = |found: &Recursion| found.interval.high - found.slowdown;
            let allowed = 2.0 * (error(&all) + error(&some)) + 0.02 * (all.slowdown - 1.0);
            let off = (all.slowdown - some.slowdown).abs();
            assert!(off < allowed, "{grain} ns, {ranks} ranks: {all:?}, {some:?}");
        }
    }
}

/// Two CPUs that are away at the same time cost a pair of ranks no more than one; away in turn, twice as much.
#[test]
fn cpus_of_a_host_share_a_clock() {
    let ticks = |offset: u64| {
        let tick = move |at: u64| (at * 10 * MS + offset, at * 10 * MS + offset + MS / 10);
        Timeline::new(SECOND, spans((0..100).map(tick)))
    };
    let slowdown = |cpus: Vec<Timeline>| {
        recursion(&Tables::new(&host(cpus), MS).expect("in memory"), 2, 1, BUDGET)
            .expect("affordable")
            .slowdown
    };
    let (same, in_turn) =
        (slowdown(vec![ticks(0), ticks(0)]), slowdown(vec![ticks(0), ticks(5 * MS)]));
    assert!((same - 1.0101).abs() < 2e-4, "{same}");
    assert!((in_turn - 1.0204).abs() < 4e-4, "{in_turn}");
}

#[test]
fn ranks_are_spread_over_hosts() {
    // Only host 2 has noise: of six ranks on three CPUs two see it, of one rank sometimes one.
    let quiet = Timeline::new(SECOND, vec![]);
    let noisy = Timeline::new(SECOND, spans([(0, SECOND / 2)]));
    let one = |cpus: Vec<Timeline>| host(cpus).remove(0);
    let hosts = [one(vec![quiet.clone(), quiet]), one(vec![noisy])];
    let tables = Tables::new(&hosts, MS).expect("in memory");
    let mut slow = 0;
    for first in 0..3 {
        let mut job = Job::new(&tables, 1, first, &mut Pcg64Mcg::seed_from_u64(1));
        let took: u64 = (0..2_000).map(|_| job.phase()).sum();
        slow += u32::from(took > 3 * SECOND);
        assert!(took == 2 * SECOND || (took > 3 * SECOND && took < 5 * SECOND), "{took}");
    }
    assert_eq!(slow, 1);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// One rank takes its free time and the detours on the way: nothing is lost over many phases.
    #[test]
    fn one_rank_passes_every_detour_once(
        detours in prop::collection::vec((0u64..900, 1u64..60), 1..30),
        grain in 1u64..3_000,
        seed: u64,
    ) {
        let timeline = Timeline::new(1_000, detours.iter().map(|&(s, d)| Span { start_ns: s, end_ns: s + d }).collect());
        let hosts = host(vec![timeline.clone()]);
        let tables = Tables::new(&hosts, grain).expect("in memory");
        let mut job = Job::new(&tables, 1, 0, &mut Pcg64Mcg::seed_from_u64(seed));
        let phases = 500;
        let took: u64 = (0..phases).map(|_| job.phase()).sum();
        let windows = (phases * grain) as f64 / timeline.free_ns() as f64;
        let expected = windows * 1_000.0;
        prop_assert!((took as f64 - expected).abs() <= timeline.lost_ns() as f64, "{took}, {expected}");
    }

    /// Many ranks on few CPUs, as they would be simulated plainly: one after the other, by searching.
    #[test]
    fn ranks_wait_for_the_slowest(
        detours in prop::collection::vec((0u64..900, 1u64..60), 1..30),
        others in prop::collection::vec((0u64..900, 1u64..60), 0..30),
        grain in 1u64..2_000,
        // Few ranks are asked one by one, of many those where delays are longest.
        starts in prop::collection::vec(0u64..1_000, 1..300),
    ) {
        let timeline = |detours: &[(u64, u64)]| {
            Timeline::new(1_000, spans(detours.iter().map(|&(s, d)| (s, s + d))))
        };
        let timelines = vec![timeline(&detours), timeline(&others)];
        prop_assume!(timelines.iter().all(|timeline| timeline.free_ns() > 0));
        let hosts = host(timelines.clone());
        let tables = Tables::new(&hosts, grain).expect("in memory");
        let mut starts = starts;
        starts.sort_unstable();
        let mut job = Job::starting_at(&tables, &[starts.clone()]);
        let took: Vec<Vec<u64>> = timelines.iter().map(|timeline| took(timeline, grain)).collect();
        let mut now = 0;
        for _ in 0..50 {
            let at = |start: &u64| ((start + now) % 1_000) as usize;
            let slowest = |start: &u64| took.iter().map(|cpu| cpu[at(start)]).max().expect("two");
            let expected = starts.iter().map(slowest).max().expect("ranks");
            prop_assert_eq!(job.phase(), expected);
            now += expected;
        }
    }
}

/// How long a rank needs for `grain` of free time, from each ns of the window on: counted ns by ns.
fn took(timeline: &Timeline, grain: u64) -> Vec<u64> {
    let busy = |at: u64| timeline.detours().iter().any(|d| (d.start_ns..d.end_ns).contains(&at));
    let busy: Vec<bool> = (0..timeline.length_ns()).map(busy).collect();
    let from = |start: usize| {
        // A detour that begins when the work is done does not matter.
        let (mut now, mut left) = (start, grain);
        while left > 0 {
            left -= u64::from(!busy[now % busy.len()]);
            now += 1;
        }
        (now - start) as u64
    };
    (0..busy.len()).map(from).collect()
}
