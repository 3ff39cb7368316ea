//! Tests of usual ranges, against simulated rates whose truth is known.

use super::*;
use crate::testing::Random;

/// How a rate varies without any change.
type Law = fn(&mut Random, &mut f64) -> f64;

const LAWS: [(&str, RateUnit, Law); 5] = [
    ("normal", RateUnit::Number, |random, _| 5_000.0 + 500.0 * random.normal()),
    ("exponential", RateUnit::Number, |random, _| -2_000.0 * (1.0 - random.share()).ln()),
    ("log-normal", RateUnit::Number, |random, _| 2_000.0 * random.normal().exp()),
    ("correlated", RateUnit::Number, |random, state| {
        *state = 0.95 * *state + 0.31 * random.normal();
        3_000.0 * state.exp()
    }),
    ("rare bursts of some seconds", RateUnit::CpuTime, |random, left| {
        if *left <= 0.0 && random.share() < 1.0 / 120.0 {
            *left = (1.0 + 6.0 * random.share()).round();
        }
        *left -= 1.0;
        if *left >= 0.0 { 0.4 + 0.2 * random.share() } else { 0.01 * random.share() }
    }),
];

const DAY_S: u64 = 86_400;

#[test]
fn rates_that_do_not_change_leave_their_range_at_most_once_in_some_hours() {
    for (name, unit, law) in LAWS {
        let (mut random, mut state) = (Random(1), 0.0);
        let mut range = UsualRange::new(unit);
        let days = 4;
        let found = (0..days * DAY_S).filter(|&second| {
            let value = law(&mut random, &mut state);
            range.take(value, second).is_some()
        });
        let found = found.count();
        println!("{name}: {found} in {days} days");
        // Thirteen rates are watched: together less than one an hour.
        assert!(found as f64 <= days as f64 * 24.0 / 13.0, "{name}: {found} in {days} days");
    }
}

#[test]
fn no_change_beyond_the_range_is_missed_and_each_is_found_once() {
    for (name, unit, law) in LAWS {
        let (mut random, mut state, mut highest) = (Random(2), 0.0, 0.0_f64);
        let mut range = UsualRange::new(unit);
        let mut found = 0;
        for second in 0..DAY_S {
            let value = law(&mut random, &mut state);
            if second > 3 * 3_600 && second % 4_000 == 0 {
                // A change for 20 s, to twice what was the highest ever.
                let (level, mut hits) = (2.0 * highest + 1.0, vec![]);
                for at in 0..20 {
                    hits.extend(range.take(level * (1.0 + 0.1 * random.share()), second + at));
                }
                assert_eq!(hits.len(), 1, "{name}: {hits:?}");
                assert_eq!(hits[0].start_ticks, second, "{name}: since the first second");
                found += 1;
                // An hour later it is forgotten.
                for at in 0..3_700 {
                    range.take(law(&mut random, &mut state), second + at);
                }
            }
            highest = highest.max(value);
            range.take(value, second);
        }
        assert!(found > 15);
    }
}

#[test]
fn nothing_is_unusual_in_the_first_minutes_or_too_little_to_matter() {
    let mut range = UsualRange::new(RateUnit::CpuTime);
    for second in 0..599 {
        assert_eq!(range.take(if second % 100 == 99 { 9.0 } else { 0.0 }, second), None);
    }
    let mut range = UsualRange::new(RateUnit::CpuTime);
    for second in 0..7_200 {
        let value = if second < 5_000 { 0.0 } else { 0.029 };
        assert_eq!(range.take(value, second), None, "second {second}");
    }
    assert!(range.take(0.9, 7_200).is_some_and(|left| left.seconds == 1));
}
