//! Findings of each rule beside their values in closed form.

use super::counts::Counts;
use super::program::{Counted, Runs, Sums};
use super::rules::{RULES, Rule};
use super::tally::{Tally, Watched};
use super::{Doubt, Finding, Outcome};
use crate::blocks::bounds_and_most;
use crate::counted::Ranges;
use crate::stats::{
    dispersion, fewest_events, fewest_in_sum, highest_mean, lowest_mean, most_events, most_in_sum,
};
use crate::testing::clock_ns;
use anechoic_recording::Clock;

const SECOND: u64 = 1_000_000_000;
/// What the rule of three states of none: the 95 % bound of a Poisson mean.
const THREE: f64 = 2.995_732_273_553_991;

fn rule(text: &str) -> Rule {
    let (id, given) = text.split_once(' ').expect("a name and a limit");
    let row = RULES.iter().find(|row| row.id == id).expect("a rule");
    row.read(given).expect("it can be read")
}

fn close(found: f64, expected: f64) -> bool {
    (found - expected).abs() <= 1e-9 * expected.abs().max(1e-3)
}

/// Returns a tally of ten seconds with detours that end at these times, in ms, and are as long, in ns.
fn tally(over_ns: u64, detours: &[(u64, u64)]) -> Tally {
    let mut tally = Tally::new(0, 10 * SECOND, over_ns, &clock_ns());
    detours.iter().for_each(|&(end_ms, length)| {
        tally.add(end_ms * 1_000_000, length);
    });
    tally
}

/// A CPU that was watched for ten seconds, whose longest detour of any source took 500 µs.
fn watched<'a>(clock: &'a Clock, seen: &'a Tally, possible: &'a Tally) -> Watched<'a> {
    Watched {
        cpu: 3,
        clock,
        wall_ticks: 10 * SECOND,
        last_ticks: 10 * SECOND,
        threshold_ns: 100,
        lost_detours: 0,
        longest_ticks: 500_000,
        longest_allowed_ns: None,
        seen,
        possible,
    }
}

#[test]
fn a_tally_counts_by_block_what_is_long_enough() {
    // Blocks of 200 ms; the last ends with the run.
    let found = tally(
        1_000,
        &[(0, 5_000), (199, 1_000), (200, 1_001), (399, 2_000), (10_000, 9_000), (11_000, 3_000)],
    );
    let mut counts = vec![0; 50];
    (counts[0], counts[1], counts[49]) = (1, 2, 2);
    assert_eq!((found.counts, found.events), (counts, 5));
    assert_eq!((found.longest_ticks, found.sum_ticks), (9_000, 21_001));
    let squares = 25e6 + 1e6 + 1_001.0 * 1_001.0 + 4e6 + 81e6 + 9e6;
    assert!(close(found.squares, squares), "{}", found.squares);
    let mut late = Tally::new(5_000, 5_000 + 100, 0, &clock_ns());
    assert!(late.add(5_003, 3) && late.add(5_004, 1) && !late.add(5_004, 0));
    assert_eq!((late.counts[1], late.counts[2]), (1, 1), "two ticks in a block, from the start on");
}

#[test]
fn rates_are_those_of_a_poisson_mean() {
    let clock = clock_ns();
    let seen = tally(50_000, &[(1_000, 60_000), (3_000, 70_000), (5_000, 10_000), (7_000, 80_000)]);
    let possible =
        tally(50_000, &[(1_000, 60_000), (3_000, 70_000), (4_000, 90_000), (7_000, 80_000)]);
    let detours = Watched { lost_detours: 2, ..watched(&clock, &seen, &possible) };
    let bursts = |tally: &Tally| {
        dispersion(&tally.counts.iter().map(|&count| count as f64).collect::<Vec<_>>())
    };
    let least = fewest_events(3.0, bursts(&seen)) / 10.0;
    let most = most_events(6.0, bursts(&possible)) / 10.0;
    let judged = |limit: f64| {
        let max_rate = Rule { limit, ..rule("max-rate >50us=1/s") };
        max_rate.judge(&detours).expect("a rule on CPUs")
    };
    let found = judged(0.9);
    assert_eq!((found.cpu, found.events, found.uncertain), (Some(3), 3, 3));
    assert_eq!((found.value, found.wall_ns, found.outcome), (0.3, 10 * SECOND, Outcome::Undecided));
    assert!(close(found.at_least, least), "{found:?}, not {least}");
    assert!(found.at_most.is_some_and(|at_most| close(at_most, most)), "{found:?}, not {most}");
    // Six in each ten seconds are shown to be fewer than nine after this time, to a thousandth.
    let shows = |ns: f64| most_events(6.0 * ns / 1e10, bursts(&possible)) <= 0.9 * ns / 1e9;
    let needed = found.needed_ns.expect("it is undecided") as f64;
    assert!(shows(needed * 1.000_001) && !shows(needed / 1.0011), "{found:?}");
    assert_eq!(judged(0.6).needed_ns, None, "at the limit");
    for (limit, outcome) in [(least * 0.999, Outcome::Fail), (most * 1.001, Outcome::Pass)] {
        let found = judged(limit);
        assert_eq!((found.outcome, found.needed_ns), (outcome, None), "{limit}");
    }
}

#[test]
fn thresholds_above_what_counts_leave_doubt() {
    let clock = clock_ns();
    let none = tally(0, &[]);
    let doubt = |text: &str, threshold_ns: u64| {
        let detours = Watched { threshold_ns, ..watched(&clock, &none, &none) };
        rule(text).judge(&detours).expect("a rule on CPUs").doubt
    };
    for (text, highest) in [
        ("max-rate 1/s", 1_000),
        ("max-rate >50us=1/s", 50_000),
        ("max-noise 1%", 1_000),
        ("max-detour 70us", 70_000),
    ] {
        let threshold_ns = highest + 1;
        assert_eq!(doubt(text, highest), None, "{text}");
        assert_eq!(doubt(text, threshold_ns), Some(Doubt::Threshold { threshold_ns }), "{text}");
    }
}

#[test]
fn noise_has_the_bounds_of_its_parts_and_of_what_was_lost() {
    let clock = clock_ns();
    let detours: Vec<(u64, u64)> =
        (1..=40).map(|at| (at * 240, 30_000 + at * at % 7 * 1_000)).collect();
    let more: Vec<(u64, u64)> =
        detours.iter().map(|(end, length)| (*end, length + 5_000)).collect();
    let (seen, possible) = (tally(0, &detours), tally(0, &more));
    let sum: u64 = detours.iter().map(|(_, length)| length).sum();
    let bounds =
        |tally: &Tally| bounds_and_most(tally.lost.up_to(10 * SECOND), tally.lost.length_ticks());
    let (least, _) = bounds(&seen);
    let (most, highest) = bounds(&possible);
    let most = most.interval.map_or(highest, |interval| interval.high);
    for lost_detours in [0, 3] {
        let detours = Watched { lost_detours, ..watched(&clock, &seen, &possible) };
        let found = rule("max-noise 1%").judge(&detours).expect("a rule on CPUs");
        assert!(close(found.value, sum as f64 / 1e10), "{found:?}");
        assert!(close(found.at_least, least.at_least.expect("noise")), "{found:?}");
        let expected = most + lost_detours as f64 * 500_000.0 / 1e10;
        assert!(
            found.at_most.is_some_and(|at_most| close(at_most, expected)),
            "{found:?}, not {expected}"
        );
    }
}

/// As many detours as none shows, each as long as another rule allows, or three times as long as any was.
#[test]
fn noise_that_was_never_seen_is_bounded_by_lengths() {
    let clock = clock_ns();
    let none = tally(0, &[]);
    let cases = [
        ("any other", 500_000, None, 0, Some(THREE * 1_500_000.0)),
        ("an allowed length", 500_000, Some(200_000), 0, Some(THREE * 200_000.0)),
        ("an allowed length alone", 0, Some(200_000), 0, Some(THREE * 200_000.0)),
        ("nothing", 0, None, 0, None),
        ("lost ones", 500_000, Some(200_000), 4, Some(THREE * 200_000.0 + 4.0 * 500_000.0)),
        ("lost ones of an allowed length", 0, Some(200_000), 4, Some((THREE + 4.0) * 200_000.0)),
        ("more than all of the time", 5 * SECOND, None, 0, Some(1e10)),
    ];
    for (name, longest_ticks, longest_allowed_ns, lost_detours, expected) in cases {
        let detours = Watched {
            longest_ticks,
            longest_allowed_ns,
            lost_detours,
            ..watched(&clock, &none, &none)
        };
        let found = rule("max-noise 1%").judge(&detours).expect("a rule on CPUs");
        assert_eq!((found.value, found.at_least), (0.0, 0.0), "case: {name}");
        match (found.at_most, expected) {
            (Some(found), Some(expected)) => {
                assert!((found / (expected / 1e10) - 1.0).abs() < 1e-6, "case: {name}: {found}");
            }
            (found, expected) => assert_eq!(found, expected, "case: {name}"),
        }
    }
}

/// A run that is too short for parts has one, which is as long as it was watched.
#[test]
fn the_noise_of_a_short_run_is_that_of_few_events() {
    let clock = clock_ns();
    let mut short = Tally::new(0, 1_000_000, 0, &clock);
    short.add(900_000, 10_000);
    let detours =
        Watched { wall_ticks: 1_000_000, last_ticks: 1_000_000, ..watched(&clock, &short, &short) };
    let found = rule("max-noise 50%").judge(&detours).expect("a rule on CPUs");
    let most = most_in_sum([(0.01, 1.0)].into_iter()).min(1.0);
    assert!(found.at_most.is_some_and(|at_most| close(at_most, most)), "{found:?}, not {most}");
    assert!(close(found.value, 0.01), "{found:?}");
}

#[test]
fn the_longest_detour_is_certain_unless_some_were_lost() {
    let clock = clock_ns();
    let (seen, possible) = (tally(0, &[(5, 40_000)]), tally(0, &[(5, 40_000), (9, 60_000)]));
    for (lost_detours, at_most) in [(0, Some(60_000.0)), (1, None)] {
        let detours = Watched { lost_detours, ..watched(&clock, &seen, &possible) };
        let found = rule("max-detour 50us").judge(&detours).expect("a rule on CPUs");
        assert_eq!((found.value, found.at_least, found.at_most), (40_000.0, 40_000.0, at_most));
        assert_eq!(found.outcome, Outcome::Undecided);
    }
}

fn counts<'a>(clock: &'a Clock, ranges: &'a Ranges) -> Counts<'a> {
    Counts {
        cpu: 3,
        clock,
        wall_ns: 10 * SECOND,
        threshold_ns: 100,
        latencies: false,
        lost: 0,
        longest_allowed_ns: None,
        ranges,
    }
}

fn judged(text: &str, counts: &Counts<'_>) -> Finding {
    rule(text).judge_counts(counts).expect("not a baseline").expect("it can be judged")
}

/// Three of 10 to 20 µs, two of 30 to 100 µs: a range ends 1 ns before the next one.
#[test]
fn counts_are_judged_by_the_ends_of_their_ranges() {
    let clock = clock_ns();
    let ranges = Ranges::from_counts([(10_000, 20_001, 3), (30_000, 100_001, 2)].into_iter());
    let known = counts(&clock, &ranges);
    let noise = judged("max-noise 1%", &known);
    let shortest = || [(10_000.0, 3.0), (30_000.0, 2.0)].into_iter();
    let longest = || [(20_000.0, 3.0), (100_000.0, 2.0)].into_iter();
    assert!(close(noise.value, 90_000.0 / 1e10), "{noise:?}");
    assert!(close(noise.at_least, fewest_in_sum(shortest()) / 1e10), "{noise:?}");
    let most = most_in_sum(longest()) / 1e10;
    assert!(noise.at_most.is_some_and(|at_most| close(at_most, most)), "{noise:?}, not {most}");
    assert_eq!((noise.events, noise.uncertain, noise.wall_ns), (5, 0, 10 * SECOND));
    // Between 90 and 260 µs the ranges are too rough.
    for (limit_us, certain) in [(89.0, 5), (90.0, 0), (259.0, 0), (260.0, 5), (261.0, 5)] {
        let max_noise = Rule { limit: limit_us * 1e3 / 1e10, ..rule("max-noise 1%") };
        let found = max_noise.judge_counts(&known).expect("not a baseline").expect("judged");
        assert_eq!((found.events, found.uncertain), (certain, 5 - certain), "{limit_us} us");
    }
    let rate = judged("max-rate >40us=0.4/s", &known);
    assert_eq!((rate.events, rate.uncertain, rate.value, rate.at_least), (0, 2, 0.0, 0.0));
    let most = most_events(2.0, 1.0) / 10.0;
    assert!(rate.at_most.is_some_and(|at_most| close(at_most, most)), "{rate:?}");
    let needed = rate.needed_ns.expect("undecided") as f64;
    let shows = |ns: f64| most_events(2.0 * ns / 1e10, 1.0) <= 0.4 * ns / 1e9;
    assert!(shows(needed * 1.000_001) && !shows(needed / 1.0011), "{rate:?}");
    let rate = judged("max-rate >25us=0.001/s", &known);
    assert_eq!((rate.events, rate.uncertain, rate.value), (2, 0, 0.2));
    assert!(close(rate.at_least, fewest_events(2.0, 1.0) / 10.0), "{rate:?}");
    assert_eq!((rate.outcome, rate.needed_ns), (Outcome::Fail, None));
    let all = judged("max-rate 10/s", &known);
    assert_eq!((all.events, all.value, all.outcome), (5, 0.5, Outcome::Pass));
    let detour = judged("max-detour 50us", &known);
    assert_eq!((detour.at_least, detour.at_most), (30_000.0, Some(100_000.0)));
    assert_eq!((detour.events, detour.uncertain, detour.value), (0, 2, 30_000.0));
}

#[test]
fn counts_without_events_or_time_are_judged_as_far_as_they_go() {
    let clock = clock_ns();
    // What is as long as the limit is not longer.
    let exact = Ranges::from_counts([(50_000, 50_001, 1), (60_000, 60_001, 2)].into_iter());
    for (ns, longer) in [(49_999, 3), (50_000, 2), (59_999, 2), (60_000, 0)] {
        let found = counts(&clock, &exact).longer_than(ns);
        assert_eq!((found.at_least, found.at_most), (longer, longer), "over {ns} ns");
    }
    let none = Ranges::default();
    let empty = counts(&clock, &none);
    assert_eq!(judged("max-noise 1%", &empty).at_most, None, "nothing bounds a length");
    let limited = Counts { longest_allowed_ns: Some(50_000), ..empty };
    let found = judged("max-noise 1%", &limited).at_most.expect("a bounded length");
    assert!((found / (THREE * 50_000.0 / 1e10) - 1.0).abs() < 1e-6, "{found}");
    let detour = judged("max-detour 50us", &empty);
    assert_eq!((detour.value, detour.at_most, detour.outcome), (0.0, Some(0.0), Outcome::Pass));
    let refused = |text: &str, counts: &Counts<'_>| {
        rule(text).judge_counts(counts).expect("not a baseline").expect_err("refused")
    };
    let timeless = Counts { wall_ns: 0, ..empty };
    let woken = Counts { latencies: true, ..empty };
    assert_eq!(refused("max-noise 1%", &timeless), Doubt::NoTime);
    assert_eq!(refused("max-rate 1/s", &timeless), Doubt::NoTime);
    assert_eq!(refused("max-noise 1%", &woken), Doubt::Latencies);
    assert_eq!(refused("max-rate 1/s", &woken), Doubt::Latencies);
    assert_eq!(judged("max-rate >5us=1/s", &woken).events, 0, "long ones alone are no lost time");
    // No detour lasts longer than the measurement.
    let open = Ranges::from_counts([(10, u64::MAX, 1)].into_iter());
    let found = judged("max-noise 1%", &counts(&clock, &open));
    assert_eq!((found.at_most, found.value), (Some(1.0), 1e-9));
}

/// Three runs of a program of 2 s each, which wanted a CPU for 1 s.
#[test]
fn programs_are_judged_by_their_runs() {
    let sums = |events: u64, each_ns: f64| Sums {
        events,
        sum_ns: events as f64 * each_ns,
        squares: events as f64 * each_ns * each_ns,
        longest_ns: each_ns,
    };
    let run = |seen: u64, possible: u64| Counted {
        seen: sums(seen, 1e6),
        possible: sums(possible, 1e6),
        wanted_ns: 1e9,
        longest_ns: 2e6,
        ..Counted::default()
    };
    let all = [run(10, 12), run(14, 15), run(6, 6)];
    let runs = Runs::new(all.iter().map(|run| (run, 2 * SECOND)).collect(), None);
    let rate = rule("max-rate 5/s").judge_runs(&runs).expect("a rule on programs");
    assert_eq!((rate.value, rate.events, rate.uncertain), (5.0, 30, 3));
    assert_eq!((rate.runs, rate.wall_ns, rate.outcome), (Some(3), 6 * SECOND, Outcome::Undecided));
    // The runs differ by more than chance alone.
    let (fewest, most) = (fewest_events(30.0, 1.0) / 6.0, most_events(33.0, 1.0) / 6.0);
    assert!(
        rate.at_least < fewest && rate.at_most.is_some_and(|at_most| at_most > most),
        "{rate:?}"
    );
    let noise = rule("max-noise 1%").judge_runs(&runs).expect("a rule on programs");
    assert!(close(noise.value, 0.01) && noise.at_least < 0.01, "{noise:?}");
    let alike = [run(10, 11), run(10, 11), run(10, 11)];
    let runs = Runs::new(alike.iter().map(|run| (run, 2 * SECOND)).collect(), None);
    let rate = rule("max-rate 5/s").judge_runs(&runs).expect("a rule on programs");
    let (fewest, most) = (fewest_events(30.0, 1.0) / 6.0, most_events(33.0, 1.0) / 6.0);
    assert!(close(rate.at_least, fewest), "{rate:?}, not {fewest}");
    assert!(rate.at_most.is_some_and(|at_most| close(at_most, most)), "{rate:?}, not {most}");
    let noise = rule("max-noise 1%").judge_runs(&runs).expect("a rule on programs");
    let (fewest, most) = (lowest_mean(30e6, 30e12) / 3e9, highest_mean(33e6, 33e12, 1e6) / 3e9);
    assert!(close(noise.at_least, fewest), "{noise:?}, not {fewest}");
    assert!(noise.at_most.is_some_and(|at_most| close(at_most, most)), "{noise:?}, not {most}");
    let none = [run(0, 0), run(0, 0), run(0, 0)];
    let runs = Runs::new(none.iter().map(|run| (run, 2 * SECOND)).collect(), None);
    let noise = rule("max-noise 1%").judge_runs(&runs).expect("a rule on programs");
    let expected = THREE * 3.0 * 2e6 / 3e9;
    let found = noise.at_most.expect("bounded by the longest");
    assert!((found / expected - 1.0).abs() < 1e-6 && noise.at_least == 0.0, "{noise:?}");
    let few = Runs::new(all[..2].iter().map(|run| (run, 2 * SECOND)).collect(), None);
    let found = rule("max-rate 5/s").judge_runs(&few).expect("a rule on programs");
    assert_eq!(found.doubt, Some(Doubt::FewRunsOfProgram { runs: 2 }));
    assert_eq!((found.value, found.at_most, found.outcome), (6.0, None, Outcome::Undecided));
}
