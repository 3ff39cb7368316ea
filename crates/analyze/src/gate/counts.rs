//! Judges rules on what another tool counted by length.
//!
//! The ranges that it counted in bound every length, and so what was found. Without times it is not known how detours
//! depend on each other: those that were counted are taken to be independent events.

use super::rules::Rule;
use super::{Doubt, Examined, Finding, Judged, Outcome, Requirements, doubts};
use crate::cluster::host_name;
use crate::counted::{Ranges, Within, ranges};
use anechoic_recording::{Clock, Problem, Recording, Run, methods};

/// What was counted on one CPU, as a rule sees it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Counts<'a> {
    cpu: u32,
    pub(super) clock: &'a Clock,
    /// For how long it was measured; 0 if that is not known.
    pub(super) wall_ns: u64,
    pub(super) threshold_ns: u64,
    /// Whether latencies of wake-ups were counted, which are no lost time.
    pub(super) latencies: bool,
    pub(super) ranges: &'a Ranges,
}

impl Counts<'_> {
    /// Returns how many were longer than this.
    pub(super) fn longer_than(&self, ns: u64) -> Within<u64> {
        let number = |counts: &dyn Fn(u64, u64) -> bool| {
            let counted = self.ranges.iter().filter(|&(shortest, longest, _)| {
                counts(self.clock.ns(shortest), self.clock.ns(longest))
            });
            counted.fold(0_u64, |sum, (_, _, count)| sum.saturating_add(count))
        };
        Within {
            at_least: number(&|shortest, _| shortest > ns),
            at_most: number(&|_, longest| longest > ns),
        }
    }

    /// Returns the longest; 0 if none was counted.
    pub(super) fn longest(&self) -> Within<u64> {
        let none = Within { at_least: 0, at_most: 0 };
        self.ranges.at(1.0, self.clock).map_or(none, |longest| longest.ns)
    }

    /// Returns a finding of this CPU without values. So many certainly count, and so many may.
    pub(super) fn finding(&self, number: Within<u64>) -> Finding {
        Finding {
            recording: None,
            cpu: Some(self.cpu),
            outcome: Outcome::Undecided,
            value: 0.0,
            at_least: 0.0,
            at_most: None,
            events: number.at_least,
            uncertain: number.at_most.saturating_sub(number.at_least),
            wall_ns: self.wall_ns,
            needed_ns: None,
            doubt: None,
        }
    }
}

/// Judges rules on the CPUs of a recording that has only counts by length.
///
/// # Errors
/// A file is damaged.
pub(super) fn examine(
    recording: &Recording,
    rules: &[Rule],
    requirements: &Requirements,
) -> Result<Examined, Problem> {
    let run = recording.run();
    let by_cpu = ranges(recording)?;
    let none = Ranges::default();
    let cpus = run.cpus.iter().map(|cpu| Counts {
        cpu: cpu.cpu,
        clock: &run.clock,
        wall_ns: run.clock.ns(cpu.last_ticks.saturating_sub(cpu.first_ticks)),
        threshold_ns: run.clock.ns(run.threshold_ticks),
        latencies: run.method == methods::LATENCIES,
        ranges: by_cpu.get(&cpu.cpu).unwrap_or(&none),
    });
    let cpus: Vec<Counts<'_>> = cpus.collect();
    let judged = rules.iter().map(|rule| judge(rule, &cpus));
    let (findings, refused) = judged.map(|of| of.map_or_else(refuse, |of| (of, None))).unzip();
    let wall_ns = cpus.iter().map(|cpu| cpu.wall_ns).min().unwrap_or(0);
    let of = Judged {
        path: recording.dir().display().to_string(),
        host: host_name(recording),
        start_utc: run.start_utc.clone(),
        wall_ns,
        threshold_ns: run.clock.ns(run.threshold_ticks),
        cpus: cpus.iter().map(|cpu| cpu.cpu).collect(),
        counts_only: true,
        doubts: requirements.doubts_of_counts(run, wall_ns),
        doubts_of_sources: vec![Doubt::NotAttributed],
    };
    Ok(Examined { summary: None, of, findings, refused, job: run.parallel.clone() })
}

fn refuse(why: Doubt) -> (Vec<Finding>, Option<Doubt>) {
    (vec![], Some(why))
}

/// Returns the finding of a rule on each CPU, or why it cannot be judged.
fn judge(rule: &Rule, cpus: &[Counts<'_>]) -> Result<Vec<Finding>, Doubt> {
    if rule.source.is_some() {
        return Ok(vec![]); // no source is known, which is a doubt about the recording
    }
    cpus.iter().filter_map(|cpu| rule.judge_counts(cpu)).collect()
}

impl Requirements {
    /// Returns why a recording of counts can pass no rule.
    fn doubts_of_counts(&self, run: &Run, wall_ns: u64) -> Vec<Doubt> {
        let mut doubts: Vec<Doubt> = doubts::of_state(run).into_iter().collect();
        match wall_ns {
            _ if run.cpus.is_empty() => doubts.push(Doubt::NotMeasured { cpu: None }),
            0 => doubts.push(Doubt::NoTime),
            _ => doubts.extend(self.too_short(wall_ns)),
        }
        doubts
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gate::RULES;
    use crate::testing::clock_ns;

    const SECOND: u64 = 1_000_000_000;

    /// Judges a rule on ranges `(from, to, count)` in ns that were counted in 100 s.
    fn outcome(rule: &str, counts: &[(u64, u64, u64)], latencies: bool) -> Result<Outcome, Doubt> {
        let (id, text) = rule.split_once(' ').expect("a rule and its limit");
        let row = RULES.iter().find(|row| row.id == id).expect("a rule");
        let rule = row.read(text).expect("a limit");
        let ranges = Ranges::of(counts.iter().copied());
        let clock = clock_ns();
        let cpu = Counts {
            cpu: 0,
            clock: &clock,
            wall_ns: 100 * SECOND,
            threshold_ns: 500,
            latencies,
            ranges: &ranges,
        };
        let finding = rule.judge_counts(&cpu).expect("a rule on a CPU")?;
        let at_most = finding.at_most.expect("a bound");
        assert!(finding.at_least <= at_most, "{finding:?}");
        Ok(finding.outcome)
    }

    #[test]
    fn the_ranges_decide_what_they_can() {
        let us = 1_000;
        // 1,000,000 detours of 1 to 2 µs in 100 s: 1 to 2 % of the time; the longest takes 40 to 50 µs.
        let counts = [(us, 2 * us, 1_000_000), (40 * us, 50 * us, 1)];
        let cases = [
            ("max-detour 50us", Outcome::Pass),
            ("max-detour 45us", Outcome::Undecided),
            ("max-detour 39us", Outcome::Fail),
            ("max-noise 2.1%", Outcome::Pass),
            ("max-noise 1.5%", Outcome::Undecided),
            ("max-noise 0.9%", Outcome::Fail),
            ("max-rate 11000/s", Outcome::Pass),
            ("max-rate 9000/s", Outcome::Fail),
            ("max-rate >45us=1/s", Outcome::Pass),
            ("max-rate >1500ns=9000/s", Outcome::Undecided),
            ("max-rate >30us=1/h", Outcome::Fail),
        ];
        for (rule, expected) in cases {
            assert_eq!(outcome(rule, &counts, false), Ok(expected), "{rule}");
        }
        assert_eq!(outcome("max-detour 1us", &[], false), Ok(Outcome::Pass), "nothing was counted");
    }

    #[test]
    fn latencies_are_no_lost_time() {
        let counts = [(5_000, 6_000, 1_000_000)];
        assert_eq!(outcome("max-noise 1%", &counts, true), Err(Doubt::Latencies));
        assert_eq!(outcome("max-rate 1/s", &counts, true), Err(Doubt::Latencies));
        assert_eq!(outcome("max-detour 6us", &counts, true), Ok(Outcome::Pass));
        assert_eq!(outcome("max-rate >4us=1/s", &counts, true), Ok(Outcome::Fail));
    }
}
