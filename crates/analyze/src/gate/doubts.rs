//! Why a recording passes nothing: the requirements of a gate.

use crate::competition::competition;
use crate::coverage::SURELY_SEEN_NS;
use crate::known::{Doubt, doubt_of_state, known_doubts};
use crate::program::Account;
use crate::summary::Summary;
use anechoic_recording::options::duration;
use anechoic_recording::{LossKind, Recording, Run};
use schemars::JsonSchema;
use serde::Serialize;

/// What a recording must satisfy to pass any rule.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Requirements {
    /// Shortest time for which each CPU must have been watched.
    pub min_time_ns: u64,
    /// Largest share of the detours that may be lost, and of the time in which kernel events may be lost.
    pub max_lost: f64,
    /// Largest share of the kernel events that may lie outside all detours.
    pub max_misaligned: f64,
}

/// A requirement that can be set.
#[derive(Debug)]
pub struct Requirement {
    /// Its name, which is its option and its key in a file of rules.
    pub id: &'static str,
    /// Placeholder of its value in the help.
    pub value_name: &'static str,
    /// What it requires, in one line with its default.
    pub help: &'static str,
    /// Sets it.
    pub set: fn(&mut Requirements, &str) -> Result<(), String>,
}

/// All requirements that can be set.
pub static REQUIREMENTS: &[Requirement] = &[
    Requirement {
        id: "min-time",
        value_name: "TIME",
        help: "Minimum measured time of each CPU; below it, rules are undecided; a program runs for as long as it does [default: 3s]",
        set: |requirements, text| {
            let time = duration(text)?.as_nanos();
            requirements.min_time_ns = u64::try_from(time).unwrap_or(u64::MAX);
            Ok(())
        },
    },
    Requirement {
        id: "max-lost",
        value_name: "PERCENT",
        help: "Largest share of detours, or of the time of kernel events, that may be lost [default: 0.1%]",
        set: |requirements, text| percentage(text).map(|share| requirements.max_lost = share),
    },
    Requirement {
        id: "max-misaligned",
        value_name: "PERCENT",
        help: "Largest share of kernel events outside all detours, for rules on sources [default: 0.1%]",
        set: |requirements, text| percentage(text).map(|share| requirements.max_misaligned = share),
    },
];

/// Returns whether a doubt keeps a recording from passing a gate.
pub(super) fn concerns_gates(doubt: &Doubt) -> bool {
    // Injected noise is to be judged, and a rule decides for itself whether an ended run is a sample for it.
    !matches!(doubt, Doubt::Injected | Doubt::EndedByEvent { .. })
}

impl Default for Requirements {
    fn default() -> Self {
        Self { min_time_ns: 3_000_000_000, max_lost: 0.001, max_misaligned: 0.001 }
    }
}

impl Requirements {
    /// Returns why a recording can pass no rule.
    pub(super) fn doubts(&self, recording: &Recording, summary: &Summary) -> Vec<Doubt> {
        let run = recording.run();
        let mut doubts: Vec<Doubt> = doubt_of_state(run).into_iter().collect();
        let unwatched = run.cpus.iter().find(|cpu| cpu.last_ticks <= cpu.first_ticks);
        if shortest_ns(summary) == 0 {
            doubts.push(Doubt::NotMeasured { cpu: unwatched.map(|cpu| cpu.cpu) });
        }
        let account = summary.run.program.as_ref().and_then(|program| program.account);
        if let Some(account) = account.filter(Account::lacks_events) {
            doubts.push(Doubt::CpuTime { missing_ns: account.missing_ns() });
        }
        if let Some(ppm) = run.clock.residual_ppm.filter(|_| run.clock.rate_is_wrong()) {
            doubts.push(Doubt::WrongRate { ppm });
        }
        let lost = summary.total.lost_detours;
        let share = crate::share(lost, summary.total.detours.saturating_add(lost));
        if share > self.max_lost {
            doubts.push(Doubt::LostDetours { share });
        }
        for doubt in known_doubts(run, competition(summary)).into_iter().filter(concerns_gates) {
            if !doubts.contains(&doubt) {
                doubts.push(doubt);
            }
        }
        doubts
    }

    /// Returns why a recording of counts can pass no rule.
    pub(super) fn doubts_of_counts(&self, run: &Run, wall_ns: u64) -> Vec<Doubt> {
        let mut doubts: Vec<Doubt> = doubt_of_state(run).into_iter().collect();
        match wall_ns {
            _ if run.cpus.is_empty() => doubts.push(Doubt::NotMeasured { cpu: None }),
            0 => doubts.push(Doubt::NoTime),
            _ => doubts.extend(self.too_short(wall_ns)),
        }
        doubts
    }

    /// Returns a doubt if a CPU was watched for too short a time. Loops end at one instant, microseconds before or after
    /// what was requested.
    pub(super) fn too_short(&self, wall_ns: u64) -> Option<Doubt> {
        let short = (wall_ns as f64) < 0.99 * self.min_time_ns as f64;
        short.then_some(Doubt::TooShort { wall_ns })
    }

    /// Returns why a recording can pass no rule on sources.
    pub(super) fn doubts_of_sources(&self, summary: &Summary) -> Vec<Doubt> {
        let Some(sources) = &summary.sources else { return vec![Doubt::NotAttributed] };
        let mut doubts = vec![];
        let lost = summary.losses.iter().find(|loss| loss.what == LossKind::Events);
        if let Some(lost) = lost.filter(|lost| lost.time_share > self.max_lost) {
            doubts.push(Doubt::LostEvents { share: lost.time_share });
        }
        let share = crate::share(sources.alignment.outside, sources.alignment.events);
        let checked = summary.run.threshold_ns <= SURELY_SEEN_NS;
        if checked && share > self.max_misaligned {
            doubts.push(Doubt::Misaligned { share });
        }
        if !sources.audit_differences.is_empty() {
            doubts.push(Doubt::Audit { counters: sources.audit_differences.len() as u64 });
        }
        if !sources.untraced.is_empty() {
            doubts.push(Doubt::NoEvents { what: sources.untraced.join(", ") });
        }
        doubts
    }
}

/// Returns the shortest time for which a CPU was watched, or how long a program was recorded; 0 without CPUs.
pub(super) fn shortest_ns(summary: &Summary) -> u64 {
    if summary.run.program.is_some() && !summary.cpus.is_empty() {
        return summary.run.wall_ns;
    }
    summary.cpus.iter().map(|cpu| cpu.wall_ns).min().unwrap_or(0)
}

/// Reads a percentage of 0 or more, as a share.
///
/// # Errors
/// It is none.
pub fn percentage(text: &str) -> Result<f64, String> {
    let number: Option<f64> = text.trim().strip_suffix('%').and_then(|n| n.trim().parse().ok());
    number
        .filter(|percent| *percent >= 0.0 && percent.is_finite())
        .map(|percent| percent / 100.0)
        .ok_or_else(|| {
            format!("'{}' is not a percentage; write one, for example 0.1%", text.trim())
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use anechoic_lab::builders;

    #[test]
    fn counts_of_no_cpu_or_of_no_time_pass_nothing() {
        let mut run = builders::run("detours", builders::clock(1_000_000_000), vec![]);
        let doubts = |run: &Run, ns| Requirements::default().doubts_of_counts(run, ns);
        assert_eq!(doubts(&run, 0), [Doubt::NotMeasured { cpu: None }]);
        run.cpus = vec![builders::cpu_run(0, (0, 10), 1)];
        assert_eq!(doubts(&run, 0), [Doubt::NoTime]);
        assert_eq!(doubts(&run, 2_000_000_000), [Doubt::TooShort { wall_ns: 2_000_000_000 }]);
        assert_eq!(doubts(&run, 3_000_000_000), []);
    }

    #[test]
    fn what_is_injected_is_judged_and_nothing_on_an_emulator() {
        assert!(concerns_gates(&Doubt::Emulated) && concerns_gates(&Doubt::MeasuredTogether));
        assert!(!concerns_gates(&Doubt::Injected));
        assert!(!concerns_gates(&Doubt::EndedByEvent { condition: String::new() }));
    }

    #[test]
    fn a_run_may_be_a_hundredth_shorter_than_required() {
        let required = Requirements { min_time_ns: 10_000, ..Requirements::default() };
        for (wall_ns, short) in [(0, true), (9_899, true), (9_900, false), (20_000, false)] {
            let doubt = short.then_some(Doubt::TooShort { wall_ns });
            assert_eq!(required.too_short(wall_ns), doubt, "{wall_ns} ns");
        }
    }
}
