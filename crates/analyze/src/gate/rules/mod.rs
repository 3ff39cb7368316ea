//! The rules of a gate, one file and one row each.

mod detour;
mod increase;
mod late;
mod noise;
mod rate;
mod release;
mod slow;
mod wait;
mod wakeup;

pub(super) use increase::judge as judge_increase;

use super::counts::Counts;
use super::pattern::SourcePattern;
use super::program::Runs;
use super::tally::Watched;
use super::woken::Woken;
use super::{Doubt, Finding};
use crate::summary::Summary;
use anechoic_recording::options::duration;
use anechoic_recording::stop::StopCondition;
use anechoic_recording::{Run, methods};
use schemars::JsonSchema;
use serde::Serialize;
use std::fmt;

/// All rules.
pub static RULES: &[&RuleRow] = &[
    &noise::NOISE,
    &slow::SLOW,
    &detour::DETOUR,
    &wait::WAIT,
    &release::RELEASE,
    &rate::RATE,
    &wakeup::WAKEUP,
    &late::LATE,
    &increase::INCREASE,
];

/// Longest threshold at which noise and rates of all detours are judged: shorter than what the kernel's interrupts take.
const HIGHEST_THRESHOLD_NS: u64 = 1_000;

/// A kind of rule.
#[derive(Debug)]
pub struct RuleRow {
    /// Its name, which is its option and its key in a file of rules.
    pub id: &'static str,
    /// Placeholder of its value in the help.
    pub value_name: &'static str,
    /// What it limits, in one line.
    pub help: &'static str,
    /// What its value may name besides the limit.
    pub scope: Scope,
    /// The unit of its limit.
    pub unit: Unit,
    /// Reads the limit, in that unit.
    pub limit: fn(&str) -> Result<f64, String>,
    /// How it is judged.
    judge: Judge,
}

/// The unit of a limit and of what is compared with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// A share of the CPU time, from 0 to 1.
    Share,
    /// A share of the CPU time that a slower pace takes, from 0 to 1.
    SlowShare,
    /// Nanoseconds.
    Nanoseconds,
    /// Detours per second and CPU.
    PerSecond,
    /// A share of the wake-ups, from 0 to 1.
    WakeupShare,
    /// An increase, relative to the noise before: 0.1 for 10 %.
    Increase,
}

/// What a rule may name besides its limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// Nothing.
    Limit,
    /// A pattern of sources.
    Source,
    /// A pattern of sources, and a length.
    SourceAndLength,
    /// A length, which it needs.
    Length,
}

/// How a rule is judged.
#[derive(Debug, Clone, Copy)]
enum Judge {
    /// On each CPU.
    Cpu {
        /// By its detours.
        detours: fn(&Rule, &Watched<'_>) -> Finding,
        /// By what another tool counted; or why it cannot be judged.
        counts: fn(&Rule, &Counts<'_>) -> Result<Finding, Doubt>,
        /// By the runs of a recorded program; absent if each is judged by itself, like other recordings.
        runs: Option<fn(&Rule, &Runs<'_>) -> Finding>,
    },
    /// On each CPU, by the pace of its loop; no finding where it is unknown.
    Pace(fn(&Rule, &Summary) -> Vec<Finding>),
    /// Only in recordings of a program, by the waits of its threads.
    Waits,
    /// Only in recordings of a program, by how late timers released its threads.
    Releases,
    /// Only in recordings of wake-ups, on each CPU.
    Wakeups {
        /// By its wake-ups.
        wakeups: fn(&Rule, &Woken) -> Finding,
        /// By what another tool counted; or why it cannot be judged.
        counts: fn(&Rule, &Counts<'_>) -> Result<Finding, Doubt>,
    },
    /// By comparison with a baseline.
    Baseline,
}

/// A rule with its limit.
#[derive(Debug, Clone)]
pub struct Rule {
    /// Its kind.
    pub row: &'static RuleRow,
    /// As it was given.
    pub given: String,
    /// The sources that it counts; absent if it counts all lost time.
    pub source: Option<SourcePattern>,
    /// Only longer detours count; absent if all do.
    pub longer_than_ns: Option<u64>,
    /// The limit, in the unit of the rule.
    pub limit: f64,
}

impl RuleRow {
    /// Reads a rule of this kind: `[SOURCE][>LENGTH]=LIMIT`, or only `LIMIT`.
    ///
    /// # Errors
    /// Returns what is wrong with it, and how to write it.
    pub fn read(&'static self, text: &str) -> Result<Rule, String> {
        let given = text.trim().to_owned();
        let (scope, limit) = match given.rsplit_once('=') {
            Some((scope, limit)) => (scope, limit),
            None => ("", &given[..]),
        };
        let (source, length) = match scope.rsplit_once('>') {
            Some((source, length)) => (source, Some(length)),
            None => (scope, None),
        };
        if self.scope == Scope::Limit && given.contains('=') {
            return Err(format!("'{given}': it takes only a limit"));
        }
        let takes_length = matches!(self.scope, Scope::SourceAndLength | Scope::Length);
        if !takes_length && length.is_some() {
            return Err(format!("'{given}': only max-rate and max-late take a length"));
        }
        let has_source = !source.trim().is_empty();
        if self.scope == Scope::Length && (length.is_none() || has_source) {
            return Err(format!("'{given}': write it as '>50us=1/1e6'"));
        }
        let nanoseconds =
            |text| duration(text).map(|time| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX));
        let source = Some(source.trim()).filter(|source| !source.is_empty());
        Ok(Rule {
            row: self,
            source: source.map(SourcePattern::read).transpose()?,
            longer_than_ns: length.map(nanoseconds).transpose()?,
            limit: (self.limit)(limit)?,
            given,
        })
    }

    /// Returns whether it compares the recordings with a baseline.
    #[must_use]
    pub fn needs_baseline(&self) -> bool {
        matches!(self.judge, Judge::Baseline)
    }
}

impl Rule {
    /// Returns whether another rule limits the same quantity.
    #[must_use]
    pub fn limits_the_same_as(&self, other: &Self) -> bool {
        let quantity = |rule: &Self| (rule.row.id, rule.source.clone(), rule.longer_than_ns);
        quantity(self) == quantity(other)
    }

    /// Returns the length above which detours count for it, in ns.
    pub(super) fn counts_over_ns(&self) -> u64 {
        let own = self.longer_than_ns.unwrap_or(0);
        if self.row.unit == Unit::Nanoseconds { self.limit as u64 } else { own }
    }

    /// Returns for how long a run had watched before the part of it that is kept, if nothing in that time could count: the
    /// run waited for what is no longer. Otherwise 0.
    pub(super) fn unseen_ns(&self, run: &Run) -> u64 {
        if self.knows_dropped(run) { run.dropped_ns() } else { 0 }
    }

    /// Returns a doubt if what is kept of a run is no sample for it: the part that ends with the detour for which the run
    /// waited. It is one where all is kept, or where no detour of the time before was as long as those that count.
    pub(super) fn doubt_of_kept(&self, run: &Run) -> Option<Doubt> {
        run.kept_after_stop()?;
        let doubt = Doubt::Kept { longer_than_ns: self.dropped_within_ns(run) };
        (!self.knows_dropped(run)).then_some(doubt)
    }

    /// Returns whether nothing that it counts came before the part of a run that is kept.
    fn knows_dropped(&self, run: &Run) -> bool {
        let holds = self.dropped_within_ns(run).is_some_and(|ns| self.counts_over_ns() >= ns);
        holds && !self.row.needs_baseline()
    }

    /// Returns the length that nothing exceeded for which a run waited, in ns, before it ended; absent if the run waited for
    /// something else.
    fn dropped_within_ns(&self, run: &Run) -> Option<u64> {
        match run.stop_on.as_ref()?.condition {
            // Under a real-time policy, artefacts of it were longer and ended nothing.
            StopCondition::Longer(ns) if !self.judges_threads() => {
                Some(ns).filter(|_| !run.policy.is_fifo())
            }
            StopCondition::Wait(ns) if self.judges_waits() => Some(ns),
            // The number of those before is not known, but that none of them was so late.
            StopCondition::Wakeup(ns)
                if self.judges_wakeups() && self.row.unit == Unit::Nanoseconds =>
            {
                Some(ns)
            }
            _ => None,
        }
    }

    /// Returns the longest detour, of the sources that it counts, that any of these rules allows; absent if none limits it.
    pub(super) fn longest_allowed_ns(&self, rules: &[Self]) -> Option<u64> {
        let limits = |other: &&Self| {
            let covers = other.source.is_none() || other.source == self.source;
            std::ptr::eq(other.row, &detour::DETOUR) && covers
        };
        rules.iter().filter(limits).map(|other| other.limit as u64).min()
    }

    /// Judges it on one CPU; absent for a rule on waits or on a baseline.
    pub(super) fn judge(&self, watched: &Watched<'_>) -> Option<Finding> {
        match self.row.judge {
            Judge::Cpu { detours, .. } => Some(detours(self, watched)),
            Judge::Pace(_)
            | Judge::Waits
            | Judge::Releases
            | Judge::Wakeups { .. }
            | Judge::Baseline => None,
        }
    }

    /// Judges it by the pace of the loops; absent for a rule on anything else.
    pub(super) fn judge_pace(&self, summary: &Summary) -> Option<Vec<Finding>> {
        match self.row.judge {
            Judge::Pace(judge) => Some(judge(self, summary)),
            _ => None,
        }
    }

    /// Judges it on the wake-ups of one kind on one CPU; absent for a rule on anything else.
    pub(super) fn judge_wakeups(&self, woken: &Woken) -> Option<Finding> {
        match self.row.judge {
            Judge::Wakeups { wakeups, .. } => Some(wakeups(self, woken)),
            _ => None,
        }
    }

    /// Returns whether it judges the recordings of a program together.
    pub(super) fn judges_runs(&self) -> bool {
        matches!(self.row.judge, Judge::Cpu { runs: Some(_), .. })
    }

    /// Judges it on the runs of a program; absent if it judges each by itself.
    pub(super) fn judge_runs(&self, runs: &Runs<'_>) -> Option<Finding> {
        match self.row.judge {
            Judge::Cpu { runs: Some(judge), .. } => Some(judge(self, runs)),
            _ => None,
        }
    }

    /// Returns whether it counts only some sources.
    pub(super) fn selects(&self) -> bool {
        self.source.is_some()
    }

    /// Returns whether it judges the waits of a program's threads.
    pub(super) fn judges_waits(&self) -> bool {
        matches!(self.row.judge, Judge::Waits)
    }

    /// Returns whether it judges how late timers released a program's threads.
    pub(super) fn judges_releases(&self) -> bool {
        matches!(self.row.judge, Judge::Releases)
    }

    /// Returns whether it judges only threads of a program.
    fn judges_threads(&self) -> bool {
        self.judges_waits() || self.judges_releases()
    }

    /// Returns whether it judges the pace of the loops.
    pub(super) fn judges_pace(&self) -> bool {
        matches!(self.row.judge, Judge::Pace(_))
    }

    /// Returns whether it judges wake-ups.
    pub(super) fn judges_wakeups(&self) -> bool {
        matches!(self.row.judge, Judge::Wakeups { .. })
    }

    /// Returns why it cannot be judged on a recording of this run, if so.
    pub(super) fn refusal(&self, run: &Run) -> Option<Doubt> {
        let no_program =
            (self.judges_threads() && run.program.is_none()).then_some(Doubt::NoProgram);
        let is_of_wakeups = run.method == methods::WAKEUP;
        let other = match self.judges_wakeups() {
            true if !is_of_wakeups => Some(Doubt::NoWakeups),
            false if is_of_wakeups => no_program.or(Some(Doubt::Latencies)),
            _ => no_program,
        };
        other.or_else(|| self.doubt_of_kept(run))
    }

    /// Judges it on what another tool counted on one CPU, or returns why it cannot be judged; absent for a rule on a
    /// baseline.
    pub(super) fn judge_counts(&self, counts: &Counts<'_>) -> Option<Result<Finding, Doubt>> {
        match self.row.judge {
            Judge::Cpu { counts: judge, .. } => Some(judge(self, counts)),
            Judge::Wakeups { .. } if !counts.latencies => Some(Err(Doubt::NoWakeups)),
            Judge::Wakeups { counts: judge, .. } => Some(judge(self, counts)),
            Judge::Pace(_) => Some(Err(Doubt::NoPace)),
            Judge::Waits | Judge::Releases => Some(Err(Doubt::NoProgram)),
            Judge::Baseline => None,
        }
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.row.id, self.given)
    }
}

/// Returns the doubt that a threshold hides detours of which each counts.
fn hides(threshold_ns: u64, shortest_ns: u64) -> Option<Doubt> {
    (threshold_ns > shortest_ns).then_some(Doubt::Threshold { threshold_ns })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_read_with_source_length_and_limit() {
        type Read = Result<(Option<String>, Option<u64>, f64), String>;
        let find = |id: &str| RULES.iter().find(|row| row.id == id).copied().expect(id);
        let read = |id: &str, text: &str| -> Read {
            let rule = find(id).read(text)?;
            Ok((rule.source.map(|pattern| pattern.to_string()), rule.longer_than_ns, rule.limit))
        };
        let thread = || Some("thread:*".to_owned());
        let cases: [(&str, &str, Read); 30] = [
            ("max-slow", "1%", Ok((None, None, 0.01))),
            ("max-slow", "thread:*=1%", Err("it takes only a limit".into())),
            ("max-noise", "0.1%", Ok((None, None, 0.001))),
            ("max-noise", " thread:* = 0.5 % ", Ok((thread(), None, 0.005))),
            ("max-noise", "0.1", Err("'0.1' is not a percentage".into())),
            ("max-noise", "-1%", Err("'-1%' is not a percentage".into())),
            ("max-noise", "nan%", Err("is not a percentage".into())),
            (
                "max-noise",
                "thread:*>1us=1%",
                Err("only max-rate and max-late take a length".into()),
            ),
            ("max-noise", "tread=1%", Err("did you mean thread?".into())),
            ("max-detour", "50us", Ok((None, None, 50_000.0))),
            ("max-detour", "thread:*=1ms", Ok((thread(), None, 1e6))),
            ("max-detour", "50", Err("'50' is not a duration".into())),
            ("max-rate", "thread:*=1/s", Ok((thread(), None, 1.0))),
            ("max-rate", ">50us=6/min", Ok((None, Some(50_000), 0.1))),
            ("max-rate", "thread:* > 50us=36/h", Ok((thread(), Some(50_000), 0.01))),
            ("max-rate", "250hz", Ok((None, None, 250.0))),
            ("max-rate", "0/s", Err("is not a rate over 0".into())),
            ("max-rate", "1/year", Err("'1/year' is not a rate".into())),
            ("max-rate", "", Err("'' is not a rate".into())),
            ("max-rate", ">50=1/s", Err("'50' is not a duration".into())),
            ("max-wakeup", "50us", Ok((None, None, 50_000.0))),
            ("max-wakeup", "thread=50us", Err("it takes only a limit".into())),
            ("max-late", ">50us=1/1e6", Ok((None, Some(50_000), 1e-6))),
            ("max-late", " > 1ms = 0.01 %", Ok((None, Some(1_000_000), 1e-4))),
            ("max-late", "0.01%", Err("write it as '>50us=1/1e6'".into())),
            ("max-late", "thread>50us=1%", Err("write it as '>50us=1/1e6'".into())),
            ("max-late", ">50us=0/5", Err("'0/5' is not a share".into())),
            ("max-late", ">50us=101%", Err("'101%' is not a share".into())),
            ("max-increase", "150%", Ok((None, None, 1.5))),
            ("max-increase", "thread:*=10%", Err("it takes only a limit".into())),
        ];
        for (id, text, expected) in cases {
            match (read(id, text), expected) {
                (Ok(found), Ok(expected)) => {
                    assert!((found.2 - expected.2).abs() < 1e-12, "{id} {text}: {found:?}");
                    assert_eq!((found.0, found.1), (expected.0, expected.1), "{id} {text}");
                }
                (Err(found), Err(expected)) => {
                    assert!(found.contains(&expected), "{id} {text}: {found}");
                }
                (found, expected) => panic!("{id} {text}: {found:?}, not {expected:?}"),
            }
        }
    }

    #[test]
    fn rules_limit_the_same_if_only_their_limits_differ() {
        let read = |(id, text): (&str, &str)| {
            let row = RULES.iter().find(|row| row.id == id).copied().expect(id);
            row.read(text).expect(text)
        };
        let first = read(("max-rate", "thread>50us=1/s"));
        for (other, same) in [
            (("max-rate", "thread>50us=2/s"), true),
            (("max-rate", "thread>60us=1/s"), false),
            (("max-rate", "thread=1/s"), false),
            (("max-rate", "nmi>50us=1/s"), false),
            (("max-noise", "thread=1%"), false),
        ] {
            assert_eq!(first.limits_the_same_as(&read(other)), same, "{other:?}");
        }
    }
}
