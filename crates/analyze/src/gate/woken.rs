//! The wake-ups of one kind on one CPU, as rules of a gate see them.

use super::{Finding, Outcome};
use crate::wakeup::kind::Kind;
use schemars::JsonSchema;
use serde::Serialize;

/// The wake-ups that a finding is of.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct JudgedWakeups {
    /// Their number.
    pub samples: u64,
    /// How their threads slept; absent if another tool counted them.
    pub kind: Option<Kind>,
}

/// The wake-ups of one kind on one CPU, as a rule sees them.
#[derive(Debug, Clone)]
pub(super) struct Woken {
    /// The CPU; absent for a thread that the scheduler put on any.
    pub(super) cpu: Option<u32>,
    pub(super) kind: Kind,
    /// For how long the recording lasted.
    pub(super) wall_ns: u64,
    pub(super) samples: u64,
    /// Number that were measured and not stored.
    pub(super) lost: u64,
    /// Number of further expiries that passed before the thread could sleep again.
    pub(super) overruns: u64,
    pub(super) longest_ns: u64,
    /// Number that count in each part of the time.
    pub(super) late: Vec<f64>,
}

impl Woken {
    /// Returns the number that count.
    pub(super) fn number(&self) -> u64 {
        self.late.iter().sum::<f64>() as u64
    }

    /// Returns a finding without values.
    pub(super) fn finding(&self) -> Finding {
        Finding {
            recording: None,
            cpu: self.cpu,
            program: None,
            runs: None,
            outcome: Outcome::Undecided,
            value: 0.0,
            at_least: 0.0,
            at_most: None,
            events: self.number(),
            uncertain: self.lost,
            wall_ns: self.wall_ns,
            wakeups: Some(JudgedWakeups { samples: self.samples, kind: Some(self.kind) }),
            needed_ns: None,
            doubt: None,
            largest_source: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gate::RULES;
    use crate::gate::rules::Rule;
    use crate::wakeup::PARTS;
    use rand::RngExt;
    use rand_pcg::Pcg64Mcg;
    use rand_pcg::rand_core::SeedableRng;

    fn woken(samples: u64, late: Vec<f64>) -> Woken {
        let kind = Kind { interval_ns: 1_000_000, shallow: false, call: None };
        let (longest_ns, wall_ns) = (60_000, samples * 1_000_000);
        Woken { cpu: Some(0), kind, wall_ns, samples, lost: 0, overruns: 0, longest_ns, late }
    }

    fn rule(given: &str) -> Rule {
        let (id, text) = given.split_once(' ').expect("a rule and its limit");
        RULES.iter().find(|row| row.id == id).expect("a rule").read(text).expect("a limit")
    }

    fn judged(given: &str, woken: &Woken) -> Finding {
        rule(given).judge_wakeups(woken).expect("a rule on wake-ups")
    }

    /// The quantiles of the chi-squared distribution, halved, from its tables: the bounds of a Poisson mean.
    #[test]
    fn the_bounds_are_those_of_a_poisson_mean() {
        let table = [(0, 0.0, 2.995_73), (1, 0.051_293, 4.743_86), (3, 0.817_69, 7.753_66)];
        for samples in [1_000, 10_000, 100_000, 1_000_000] {
            for (late, low, high) in table {
                // One in some part of the time each, as if by chance. Where they fell widens the bounds a little.
                let mut parts = vec![0.0; PARTS];
                (0..late).for_each(|number| parts[number * 11 + 2] = 1.0);
                let found = judged("max-late >50us=1/1e6", &woken(samples, parts));
                let [least, most] = [found.at_least, found.at_most.expect("a bound")];
                let share = |number: f64| number / samples as f64;
                let about = 1e-4 / samples as f64;
                let (low, high) = (share(low) + about, share(high) - about);
                assert!((0.5 * low..=low).contains(&least) || late == 0, "{late}: {found:?}");
                assert!((high..1.15 * high + 2.0 * about).contains(&most), "{late}: {found:?}");
                assert!((found.value - share(late as f64)).abs() < about, "{late}: {found:?}");
                assert_eq!((found.events, found.uncertain), (late as u64, 0), "{late}: {found:?}");
            }
        }
    }

    #[test]
    fn a_share_is_decided_where_its_bound_is_and_a_longest_one_where_none_is_lost() {
        let none = || vec![0.0; PARTS];
        let three = || (0..PARTS).map(|part| f64::from(u8::from(part % 11 == 2))).collect();
        let lost = |woken: Woken| Woken { lost: 1, ..woken };
        let cases = [
            ("max-late >50us=1/1e6", woken(3_000_000, none()), Outcome::Pass),
            ("max-late >50us=1/1e6", woken(2_990_000, none()), Outcome::Undecided),
            ("max-late >50us=1/1e6", lost(woken(3_000_000, none())), Outcome::Undecided),
            ("max-late >50us=1/1e6", woken(800_000, three()), Outcome::Fail),
            ("max-late >50us=1/1e6", woken(830_000, three()), Outcome::Undecided),
            ("max-late >50us=1/1e6", woken(7_760_000, three()), Outcome::Pass),
            ("max-late >50us=1/1e6", woken(1, none()), Outcome::Undecided),
            ("max-late >50us=100%", woken(1, none()), Outcome::Pass),
            ("max-wakeup 60us", woken(10, none()), Outcome::Pass),
            ("max-wakeup 60us", lost(woken(10, none())), Outcome::Undecided),
            ("max-wakeup 59us", lost(woken(10, none())), Outcome::Fail),
        ];
        for (given, woken, expected) in cases {
            let found = judged(given, &woken);
            assert_eq!(found.outcome, expected, "{given}: {found:?}");
        }
        let found = judged("max-late >50us=1/1e6", &woken(1_000_000, none()));
        let needed_s = found.needed_ns.expect("three times as many") as f64 / 1e9;
        assert!((2_990.0..3_005.0).contains(&needed_s), "{needed_s} s");
    }

    /// The truth is the chance with which each wake-up is late.
    #[test]
    fn no_verdict_on_a_share_is_wrong_more_often_than_stated() {
        const RUNS: u32 = 1_000;
        let mut random = Pcg64Mcg::seed_from_u64(37);
        for expected in [0.1, 0.5, 1.0, 3.0, 10.0, 60.0] {
            let (samples, mut wrong) = (100_000, [0, 0]);
            for _ in 0..RUNS {
                let mut parts = vec![0.0; PARTS * 5];
                let (mut at, all) = (0.0, parts.len());
                loop {
                    at -= (1.0 - random.random::<f64>()).ln() / expected;
                    if at >= 1.0 {
                        break;
                    }
                    parts[(at * all as f64) as usize] += 1.0;
                }
                let woken = woken(samples, parts);
                let truth = expected / samples as f64;
                let rule = |limit: f64| Rule { limit, ..rule("max-late >50us=1/1e6") };
                let judged = |limit| rule(limit).judge_wakeups(&woken).expect("judged").outcome;
                wrong[0] += u32::from(judged(truth * 1.000_001) == Outcome::Fail);
                wrong[1] += u32::from(judged(truth * 0.999_999) == Outcome::Pass);
            }
            // 5 %, and three standard errors of the simulation.
            assert!(wrong.iter().all(|number| *number <= 71), "{expected}: {wrong:?} of {RUNS}");
        }
    }

    /// Each may have been late: its expiry passed, or it was lost.
    #[test]
    fn lost_wake_ups_and_overruns_are_uncertain() {
        let mut late = vec![0.0; PARTS];
        late[5] = 1.0;
        let found =
            judged("max-late >50us=1%", &Woken { lost: 3, overruns: 4, ..woken(993, late) });
        assert_eq!((found.events, found.uncertain), (1, 7));
        assert!((found.value - 1.0 / 1_000.0).abs() < 1e-12, "{found:?}");
        let most = crate::stats::most_events(8.0, 1.0) / 1_000.0;
        assert!(found.at_most.is_some_and(|at_most| at_most >= most), "{found:?}, not {most}");
    }
}
