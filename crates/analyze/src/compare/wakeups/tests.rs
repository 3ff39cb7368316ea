//! Simulated runs whose differences are known.

use super::*;
use crate::rank::wakeups::{Latency, WakeupRanking, rank_wakeups};
use crate::wakeup::wakeup;
use anechoic_lab::wakeups::{Block, record};
use anechoic_recording::stop::{Stop, StopCondition, StoppedBy};
use rand::RngExt;
use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::SeedableRng;

/// Number of comparisons of each case.
const COMPARISONS: u64 = 300;
/// 5 %, and three standard errors of the simulation.
const MOST_WRONG: u64 = 15 + 11;
/// Number of blocks of a run, and of wake-ups of a block.
const BLOCKS: usize = 5;
const WAKEUPS: usize = 100;

/// How runs are drawn.
#[derive(Clone, Copy)]
struct Law {
    /// Delay of all wake-ups, in ns.
    delay_ns: f64,
    /// Standard deviation of what all wake-ups of a run have in common, in ns.
    between_runs_ns: f64,
    /// Mean number of late wake-ups of a run, in bursts of this many.
    late: f64,
    burst: u64,
}

const SAME: Law = Law { delay_ns: 0.0, between_runs_ns: 700.0, late: 2.0, burst: 1 };

fn normal(random: &mut Pcg64Mcg) -> f64 {
    (0..12).map(|_| random.random::<f64>()).sum::<f64>() - 6.0
}

/// Returns the run at this second, and its wake-ups: 20 µs and an exponential time of 5 µs on average.
fn run(
    (run, found): &(Run, Wakeup),
    law: Law,
    second: usize,
    random: &mut Pcg64Mcg,
) -> (Run, Wakeup) {
    let (mut run, mut found) = (run.clone(), found.clone());
    run.start_utc = format!("2026-01-01T00:00:{second:02}Z");
    let common = 20_000.0 + law.delay_ns + law.between_runs_ns * normal(random);
    let mut whole = vec![];
    let mut medians = vec![];
    for _ in 0..BLOCKS {
        let mut block: Vec<f64> =
            (0..WAKEUPS).map(|_| common - 5_000.0 * (1.0 - random.random::<f64>()).ln()).collect();
        block.sort_by(f64::total_cmp);
        medians.push(block[WAKEUPS / 2 - 1]);
        whole.append(&mut block);
    }
    whole.sort_by(f64::total_cmp);
    let (mut late, mut at) = (0, 0.0);
    loop {
        at -= (1.0 - random.random::<f64>()).ln() * law.burst as f64 / law.late;
        if at.is_nan() || at >= 1.0 {
            break;
        }
        late += law.burst;
    }
    let row = &mut found.rows[0];
    row.samples = whole.len() as u64;
    (row.p50_ns, row.p99_ns) =
        (Some(whole[whole.len() / 2 - 1]), Some(whole[whole.len() * 99 / 100 - 1]));
    (row.late, row.late_dispersion, row.p50_of_blocks_ns) = (late, law.burst as f64, medians);
    (run, found)
}

/// Compares `runs` runs of each law, in turns or one side after the other.
fn compared(
    template: &(Run, Wakeup),
    laws: [Law; 2],
    runs: usize,
    in_turns: bool,
    random: &mut Pcg64Mcg,
) -> WakeupComparison {
    let second = |side: usize, at: usize| if in_turns { 2 * at + side } else { side * runs + at };
    let sides = [0, 1].map(|side| {
        (0..runs).map(|at| run(template, laws[side], second(side, at), random)).collect::<Vec<_>>()
    });
    let sides = sides
        .each_ref()
        .map(|side| side.iter().map(|(run, found)| WakeupRun { run, found }).collect::<Vec<_>>());
    let names = ["before", "after"].map(str::to_owned);
    compare_wakeups(names, [&sides[0], &sides[1]], None).expect("they are alike")
}

fn template() -> (Run, Wakeup) {
    let dir = tempfile::tempdir().expect("a directory");
    let recording = record(dir.path(), &[Block::new(0, vec![20_000; 10])]);
    (recording.run().clone(), wakeup(&recording).expect("readable"))
}

#[test]
fn runs_of_one_setting_differ_no_more_often_than_stated() {
    let (template, mut random) = (template(), Pcg64Mcg::seed_from_u64(37));
    let laws = [
        ("usual", SAME),
        ("no late ones", Law { late: 0.0, ..SAME }),
        ("few late ones", Law { late: 0.3, ..SAME }),
        ("bursts", Law { late: 20.0, burst: 10, ..SAME }),
        ("runs alike", Law { between_runs_ns: 0.0, ..SAME }),
        ("runs unlike", Law { between_runs_ns: 20_000.0, ..SAME }),
    ];
    for (name, law) in laws {
        for (runs, in_turns) in [(3, true), (3, false), (6, true), (6, false)] {
            let wrong = (0..COMPARISONS).filter(|_| {
                let found = compared(&template, [law; 2], runs, in_turns, &mut random);
                assert!(matches!(found.verdict, WakeupVerdict::Changed | WakeupVerdict::NotShown));
                found.verdict == WakeupVerdict::Changed
            });
            let wrong = wrong.count() as u64;
            assert!(wrong <= MOST_WRONG, "{name}, {runs} runs, in turns {in_turns}: {wrong}");
        }
    }
}

#[test]
fn a_delay_is_found_and_its_interval_holds_it() {
    let (template, mut random) = (template(), Pcg64Mcg::seed_from_u64(1));
    let delayed = Law { delay_ns: 3_000.0, ..SAME };
    for (runs, in_turns, least) in [(4, true, 0.7), (8, true, 0.95), (8, false, 0.9)] {
        let (mut found, mut held) = (0, 0);
        for _ in 0..COMPARISONS {
            let result = compared(&template, [SAME, delayed], runs, in_turns, &mut random);
            assert_eq!(result.order, if in_turns { Order::Paired } else { Order::Apart });
            let median = result.rows[0].p50_ns.expect("measured");
            let within = median.interval.expect("several runs");
            found += u64::from(median.clear && median.after > median.before);
            held += u64::from(within.low <= 3_000.0 && 3_000.0 <= within.high);
        }
        let share = |number: u64| number as f64 / COMPARISONS as f64;
        assert!(share(found) >= least, "{runs} runs, in turns {in_turns}: {found} found");
        assert!(share(held) >= 0.95 - 0.038, "{runs} runs, in turns {in_turns}: {held} held");
    }
}

#[test]
fn many_more_late_ones_are_found_and_a_few_more_are_not() {
    let (template, mut random) = (template(), Pcg64Mcg::seed_from_u64(2));
    let late = |late: f64| Law { late, ..SAME };
    for (before, after, range) in
        [(2.0, 40.0, 0.9..=1.0), (0.0, 20.0, 0.8..=1.0), (0.3, 1.0, 0.0..=0.3)]
    {
        let found = (0..COMPARISONS).filter(|_| {
            compared(&template, [late(before), late(after)], 5, true, &mut random).rows[0]
                .late
                .clear
        });
        let share = found.count() as f64 / COMPARISONS as f64;
        assert!(range.contains(&share), "{before} and {after} a run: {share}");
    }
}

fn one_run_differs(template: &(Run, Wakeup), laws: [Law; 2], random: &mut Pcg64Mcg) -> bool {
    let found = compared(template, laws, 1, true, random);
    assert!(found.by_blocks && found.rows[0].p99_ns.expect("measured").interval.is_none());
    match found.verdict {
        WakeupVerdict::OneRunDiffers => true,
        WakeupVerdict::OneRun => false,
        verdict => panic!("{verdict:?}"),
    }
}

#[test]
fn one_run_on_a_side_makes_no_verdict() {
    let (template, mut random) = (template(), Pcg64Mcg::seed_from_u64(3));
    let alike = Law { between_runs_ns: 0.0, ..SAME };
    let wrong = (0..COMPARISONS)
        .filter(|_| one_run_differs(&template, [alike; 2], &mut random))
        .count() as u64;
    assert!(wrong <= MOST_WRONG, "{wrong} of {COMPARISONS}");
    let delayed = Law { delay_ns: 3_000.0, ..alike };
    let found = (0..COMPARISONS)
        .filter(|_| one_run_differs(&template, [alike, delayed], &mut random))
        .count() as u64;
    assert!(found > COMPARISONS * 4 / 5, "{found} of {COMPARISONS}");
}

/// Compares one run with another, or with none.
fn verdict(
    before: &(Run, Wakeup),
    after: Option<&(Run, Wakeup)>,
) -> Result<WakeupVerdict, Problem> {
    let names = ["before", "after"].map(str::to_owned);
    let before = [WakeupRun { run: &before.0, found: &before.1 }];
    let after = after.into_iter().map(|made| WakeupRun { run: &made.0, found: &made.1 });
    let after: Vec<WakeupRun<'_>> = after.collect();
    compare_wakeups(names, [&before, &after], None).map(|found| found.verdict)
}

#[test]
fn what_has_nothing_in_common_is_refused() {
    let other = {
        let dir = tempfile::tempdir().expect("a directory");
        let block = Block { shallow: true, ..Block::new(0, vec![20_000; 10]) };
        let recording = record(dir.path(), &[block]);
        (recording.run().clone(), wakeup(&recording).expect("readable"))
    };
    let first = template();
    let (a, b, mut c) = (first.clone(), other, first);
    c.1.late_ns = 50_000;
    let why = |result: Result<WakeupVerdict, Problem>| result.expect_err("refused").to_string();
    assert!(why(verdict(&a, None)).contains("after has no runs"));
    assert!(why(verdict(&a, Some(&b))).contains("no interval and kind of idle in common"));
    assert!(why(verdict(&a, Some(&c))).contains("different limits"));
    assert_eq!(verdict(&a, Some(&a)).ok(), Some(WakeupVerdict::OneRun));
}

/// The sources are those of all wake-ups of a run: an interval that one side alone has would look like a change.
#[test]
fn sources_are_compared_only_where_all_runs_have_the_same_kinds() {
    use crate::wakeup::{Causes, Parts, WakeSource};
    let (run, mut found) = template();
    let source = WakeSource {
        source: "thread".into(),
        name: "x".into(),
        wakeups: 1,
        share: 0.5,
        share_above_p99: None,
        share_late: None,
    };
    found.causes = Some(Causes {
        explained: 10,
        not_attributable: 0,
        unknown_share_late: 0.0,
        mean: Some(Parts { timer_ns: 10_000.0, ..Parts::default() }),
        mean_above_p99: None,
        mean_late: None,
        stages: vec![],
        bands: vec![],
        idle: vec![],
        by_call: vec![],
        sources: vec![source],
    });
    let mut more = found.clone();
    more.rows.push(Latencies { interval_ns: 100_000, ..found.rows[0].clone() });
    let compared = |after: &Wakeup| {
        let side = |found| [WakeupRun { run: &run, found }; 2];
        let names = ["before", "after"].map(str::to_owned);
        compare_wakeups(names, [&side(&found), &side(after)], None).expect("compared")
    };
    let (alike, other) = (compared(&found), compared(&more));
    assert_eq!((alike.sources.len(), other.sources.len()), (1, 0));
    let noted =
        |found: &WakeupComparison| found.notes.iter().any(|note| note.contains("is not compared"));
    assert!(!noted(&alike) && noted(&other), "{:?}", other.notes);
    assert_eq!(other.rows.len(), 1, "what both have is compared");
}

/// The runs after the change end at their first late wake-up, so that their share of late ones says when they ended.
#[test]
fn runs_that_a_late_wake_up_ended_are_not_compared_by_their_late_ones() {
    let (template, mut random) = (template(), Pcg64Mcg::seed_from_u64(38));
    let law = Law { late: 0.0, ..SAME };
    let mut sides = [0, 1].map(|side| {
        (0..4).map(|at| run(&template, law, 2 * at + side, &mut random)).collect::<Vec<_>>()
    });
    sides[1].iter_mut().for_each(|(_, found)| found.rows[0].late = 40);
    let compared = |sides: &[Vec<(Run, Wakeup)>; 2]| {
        let sides = sides.each_ref().map(|side| {
            side.iter().map(|(run, found)| WakeupRun { run, found }).collect::<Vec<_>>()
        });
        compare_wakeups(["a".into(), "b".into()], [&sides[0], &sides[1]], None).expect("alike")
    };
    let found = compared(&sides);
    assert!(found.rows[0].late.clear && found.verdict == WakeupVerdict::Changed, "{found:#?}");
    sides[1][2].0.stop_on = Some(Stop {
        condition: StopCondition::Wakeup(200_000),
        met: Some(StoppedBy { cpu: 0, start_ticks: 1, end_ticks: 2, second: None, thread: None }),
        kept: None,
    });
    let found = compared(&sides);
    let late = found.rows[0].late;
    assert_eq!((late.probability, late.clear), (None, false));
    assert_eq!(found.verdict, WakeupVerdict::NotShown);
    let stated = found.notes.iter().any(|note| note.starts_with("1 of 8 runs ended because"));
    assert!(stated, "{:?}", found.notes);
    assert!(found.rows[0].p50_ns.is_some_and(|median| median.interval.is_some()));
}

/// Compares three runs a side, the second side 50 µs slower, changed and at this hour.
fn at_hour(hour: u32, change: fn(&mut Run)) -> WakeupComparison {
    let (template, mut random) = (template(), Pcg64Mcg::seed_from_u64(5));
    let late = Law { delay_ns: 50_000.0, ..SAME };
    let sides = [(0, SAME), (hour, late)].map(|(hour, law)| {
        let mut side: Vec<_> = (0..3).map(|at| run(&template, law, at, &mut random)).collect();
        for (run, _) in &mut side {
            run.start_utc.replace_range(11..13, &format!("{hour:02}"));
            if hour > 0 {
                change(run);
            }
        }
        side
    });
    let sides = sides
        .each_ref()
        .map(|side| side.iter().map(|(run, found)| WakeupRun { run, found }).collect::<Vec<_>>());
    compare_wakeups(["before", "after"].map(str::to_owned), [&sides[0], &sides[1]], None)
        .expect("they are alike")
}

#[test]
fn sides_far_apart_prove_nothing_and_what_differs_between_them_is_stated() {
    let found = at_hour(5, |_| ());
    assert_eq!((found.order, found.verdict), (Order::OneSession, WakeupVerdict::Unproven));
    assert!(found.changed.is_empty() && found.notes.is_empty(), "{:?}", found.notes);
    let found = at_hour(5, |run| {
        run.machine.kernel = "6.99".into();
        run.state = anechoic_recording::run::RunState::Interrupted("asked".into());
    });
    assert_eq!(
        found.changed.iter().map(|change| change.name.as_str()).collect::<Vec<_>>(),
        ["kernel"]
    );
    assert!(found.notes.iter().any(|note| note.contains("ended early")), "{:?}", found.notes);
}

/// One of a thousand agrees with 0.0513 to 4.744 of them (half the quantiles of the chi-squared distribution).
#[test]
fn a_share_of_late_wake_ups_has_the_bounds_of_a_poisson_mean() {
    let share = LateShare::new(1, 1_000, 1.0).share.expect("wake-ups");
    assert!((share.low * 1e3 - 0.051_293).abs() < 1e-3, "{share:?}");
    assert!((share.high * 1e3 - 4.743_86).abs() < 1e-2, "{share:?}");
    assert_eq!(LateShare::new(0, 0, 1.0).share, None);
}

/// Ranks configurations that are simulated by these laws, each with four runs in turns.
fn ranked(template: &(Run, Wakeup), laws: &[Law], random: &mut Pcg64Mcg) -> WakeupRanking {
    let simulated: Vec<Vec<(Run, Wakeup)>> = (0..laws.len())
        .map(|at| {
            (0..4).map(|turn| run(template, laws[at], turn * laws.len() + at, random)).collect()
        })
        .collect();
    let configurations: Vec<(String, Vec<WakeupRun<'_>>)> = simulated
        .iter()
        .enumerate()
        .map(|(at, runs)| {
            let runs = runs.iter().map(|(run, found)| WakeupRun { run, found });
            (at.to_string(), runs.collect())
        })
        .collect();
    rank_wakeups(&configurations).expect("they are alike")
}

#[test]
fn a_winner_is_clear_no_more_often_than_stated_and_a_faster_one_wins() {
    let (template, mut random) = (template(), Pcg64Mcg::seed_from_u64(4));
    let is_clear =
        |found: &WakeupRanking| found.rows.iter().any(|row| row.clearly_lowest.is_some());
    for number in [2, 3, 6] {
        let wrong = (0..COMPARISONS)
            .filter(|_| is_clear(&ranked(&template, &vec![SAME; number], &mut random)));
        let wrong = wrong.count() as u64;
        assert!(wrong <= MOST_WRONG, "{number} equal ones: {wrong} of {COMPARISONS}");
    }
    let delayed = |delay_ns: f64| Law { delay_ns, ..SAME };
    let laws = [delayed(6_000.0), SAME, delayed(12_000.0)];
    let found = (0..COMPARISONS).filter(|_| {
        let ranking = ranked(&template, &laws, &mut random);
        let median = ranking.rows.iter().find(|row| row.latency == Latency::Median);
        median.is_some_and(|row| {
            (row.lowest, row.clearly_lowest, row.clearly_highest) == (Some(1), Some(1), Some(2))
        })
    });
    let found = found.count() as u64;
    assert!(found > COMPARISONS * 9 / 10, "{found} of {COMPARISONS}");
}
