//! Was the machine quiet enough for a benchmark? What its runs lost, how fast the machine was before and after, and the
//! smallest effect that as many runs on each side would show.

mod effect;
mod first;

use crate::facts::Facts;
use crate::samples::Measured;
use crate::variance::{SourceShare, variance};
use crate::{Summary, Variance};
pub use effect::Effect;
pub use first::SlowFirst;
use schemars::JsonSchema;
use serde::Serialize;

/// What the kernel's own account of a run may differ by without meaning: less than this decides nothing.
const RESOLUTION_NS: f64 = 5e6;
/// Number of sources that are named.
const SOURCES: usize = 5;

/// What a machine must satisfy to be fit for a benchmark.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Limits {
    /// Largest part of the time in which the benchmark wanted a CPU that others may take, from 0 to 1.
    pub max_noise: f64,
    /// Smallest effect that must be found, from 0 to 1; absent if none must.
    pub min_effect: Option<f64>,
}

/// Whether something was fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Fitness {
    /// It was.
    Fit,
    /// What is known allows both.
    Undecided,
    /// It was not.
    Unfit,
}

/// A run of the benchmark. The times of all its threads are added up.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct CertifiedRun {
    /// From the start of the command to its end.
    pub wall_ns: u64,
    /// CPU time that the kernel counted; absent if that is not known.
    pub cpu_ns: Option<u64>,
    /// Time in which its threads had a CPU or waited for one.
    pub wanted_ns: u64,
    /// Time that they lost at least.
    pub lost_ns: u64,
    /// Time that they may have lost, with what is not visible; absent where nothing bounds that.
    pub at_most_ns: Option<u64>,
    /// The longest interruption; absent where single ones are not known.
    pub longest_ns: Option<u64>,
}

/// A benchmark's runs, and whether the machine was fit for them.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Certificate {
    /// Facts of the loops before the runs: host, processor, kernel, hypervisor.
    pub run: Facts,
    /// The command.
    pub command: Vec<String>,
    /// What was required.
    pub limits: Limits,
    /// The verdict: the worst of the checks.
    pub verdict: Fitness,
    /// The checks.
    pub checks: Vec<Check>,
    /// Number of runs that were asked for.
    pub asked_runs: u64,
    /// The runs that succeeded.
    pub runs: Vec<CertifiedRun>,
    /// Time lost in all runs, as a part of the time in which a CPU was wanted, from 0 to 1: at least.
    pub lost: f64,
    /// At most; absent where nothing bounds what is not visible.
    pub lost_at_most: Option<f64>,
    /// What took most of it, the largest first; empty where sources are not known.
    pub sources: Vec<Source>,
    /// Time for which a CPU quota held threads back; absent where that is not known.
    pub held_back_ns: Option<u64>,
    /// The smallest effect that as many runs on each side would show; absent for fewer than five runs.
    pub effect: Option<Effect>,
    /// A first run that took clearly longer than the others, which counts in `effect`; absent if it did not, and for fewer
    /// than five runs.
    pub slow_first: Option<SlowFirst>,
    /// How much longer the same work took after the runs than before them, on the CPU where it changed most: 0.01 is 1 %.
    pub drift: Option<f64>,
    /// Settings of the processor's frequency and their values.
    pub frequency: Vec<(String, String)>,
    /// What could not be seen.
    pub not_visible: Vec<String>,
}

/// What took time from the runs.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Source {
    /// Identifier of the source; empty for lost time that has none.
    pub source: String,
    /// Which instance of it.
    pub name: String,
    /// Its part of the time in which a CPU was wanted, from 0 to 1.
    pub share: f64,
}

/// Something that was checked.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Check {
    /// What.
    pub what: Checked,
    /// How it came out.
    pub outcome: Fitness,
}

/// What is checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Checked {
    /// The lost time is at most what is allowed.
    Noise,
    /// The smallest effect is at most what was asked for.
    Effect,
    /// The machine did not become slower or faster by more than the effect asked for.
    Drift,
    /// The kernel's account of the CPU time agrees with the events.
    Account,
    /// As many runs as asked for succeeded.
    Runs,
}

/// What a certificate is made from.
#[derive(Debug)]
pub struct Evidence {
    /// The command.
    pub command: Vec<String>,
    /// Number of runs that were asked for.
    pub asked_runs: u64,
    /// The loops before the runs.
    pub before: Summary,
    /// The same work before the runs.
    pub before_runs: Measured,
    /// And after them; absent if a signal ended the runs.
    pub after_runs: Option<Measured>,
    /// The runs with kernel events that succeeded; none without events.
    pub recorded: Vec<Summary>,
    /// The runs without events, by the kernel's counters alone.
    pub counted: Vec<CertifiedRun>,
    /// Time for which a CPU quota held runs without events back, if that is known.
    pub held_back_ns: Option<u64>,
    /// Settings of the processor's frequency and their values.
    pub frequency: Vec<(String, String)>,
    /// What could not be seen, and why.
    pub not_visible: Vec<String>,
}

impl Certificate {
    /// Judges what was measured.
    #[must_use]
    pub fn new(evidence: Evidence, limits: Limits) -> Self {
        let Evidence { command, asked_runs, before, recorded, counted, .. } = evidence;
        let found = variance(&recorded);
        let runs = match recorded.is_empty() {
            true => counted,
            false => recorded.iter().map(CertifiedRun::from_summary).collect(),
        };
        let sum = |ns: fn(&CertifiedRun) -> u64| runs.iter().map(ns).sum::<u64>() as f64;
        let wanted_ns = sum(|run| run.wanted_ns);
        let part = |ns: f64| if wanted_ns > 0.0 { (ns / wanted_ns).min(1.0) } else { 0.0 };
        let lost_ns = sum(|run| run.lost_ns);
        let at_most_ns = runs.iter().map(|run| run.at_most_ns).sum::<Option<u64>>();
        let lost_at_most = at_most_ns.map(|ns| part(ns as f64));
        let wall: Vec<f64> = runs.iter().map(|run| run.wall_ns as f64).collect();
        let effect = Effect::from_runs(&wall);
        let drift =
            evidence.after_runs.as_ref().and_then(|after| drift(&evidence.before_runs, after));
        let lacks = found.as_ref().is_some_and(|found| found.lacking_events > 0);
        let held_back_ns = match recorded.is_empty() {
            true => evidence.held_back_ns,
            false => held_back_ns(&recorded),
        };
        // The first check that decides is the one that the headline names.
        let mut checks = vec![];
        if (runs.len() as u64) < asked_runs {
            checks.push(Check { what: Checked::Runs, outcome: Fitness::Undecided });
        }
        let at_most_ns = at_most_ns.map(|ns| ns as f64);
        checks.push(noise(lost_ns, at_most_ns, wanted_ns, limits.max_noise));
        if let Some(least) = limits.min_effect {
            checks.push(effect_is_small(effect.as_ref(), least));
            checks.extend(drift.map(|drift| drift_is_small(drift, least)));
        }
        if lacks {
            checks.push(Check { what: Checked::Account, outcome: Fitness::Undecided });
        }
        Certificate {
            run: before.run,
            command,
            limits,
            verdict: checks.iter().map(|check| check.outcome).max().unwrap_or(Fitness::Undecided),
            checks,
            asked_runs,
            lost: part(lost_ns),
            lost_at_most,
            sources: found.map_or(vec![], |found| sources(&found, wanted_ns)),
            held_back_ns,
            effect,
            slow_first: SlowFirst::from_runs(&wall),
            drift,
            frequency: evidence.frequency,
            not_visible: evidence.not_visible,
            runs,
        }
    }
}

impl CertifiedRun {
    /// Returns what a recording of the command with kernel events shows.
    fn from_summary(summary: &Summary) -> Self {
        let total = &summary.total;
        let lost_ns = (total.noise * total.wall_ns as f64).round() as u64;
        let program = summary.run.program.as_ref();
        let account = program.and_then(|program| program.account);
        let unseen_ns = account.map(|account| account.unseen_ns.saturating_add(account.steal_ns));
        // How long entry and exit of interrupts took is known only if the loops saw some.
        let edges_ns = match &summary.interrupts {
            Some(found) if found.count > 0 => found.edges.as_ref().map(|edges| edges.high_ns),
            _ => Some(0),
        };
        let in_losses = summary.losses.iter().map(|loss| loss.time_share).sum::<f64>();
        // The share is of the time of all these CPUs together.
        let watched_ns = summary.run.wall_ns as f64 * summary.run.cpus.len().max(1) as f64;
        let in_losses_ns = (in_losses * watched_ns).round() as u64;
        let unseen_ns = [edges_ns, unseen_ns, Some(in_losses_ns)].into_iter().sum::<Option<u64>>();
        Self {
            wall_ns: program.and_then(|program| program.lived_ns).unwrap_or(summary.run.wall_ns),
            cpu_ns: account.map(|account| account.kernel_ns),
            wanted_ns: total.wall_ns,
            lost_ns,
            at_most_ns: unseen_ns.map(|ns| lost_ns.saturating_add(ns).min(total.wall_ns)),
            longest_ns: summary.longest.first().map(|longest| longest.length_ns),
        }
    }
}

/// Judges the time lost at least and at most, in ns. Less than [`RESOLUTION_NS`] decides nothing.
fn noise(least_ns: f64, most_ns: Option<f64>, wanted_ns: f64, limit: f64) -> Check {
    let allowed_ns = wanted_ns * limit;
    let outcome = match most_ns {
        _ if least_ns > allowed_ns && least_ns > RESOLUTION_NS => Fitness::Unfit,
        Some(most) if most <= allowed_ns && allowed_ns >= RESOLUTION_NS => Fitness::Fit,
        _ => Fitness::Undecided,
    };
    Check { what: Checked::Noise, outcome }
}

fn effect_is_small(effect: Option<&Effect>, least: f64) -> Check {
    let outcome = match effect {
        Some(effect) if effect.smallest <= least => Fitness::Fit,
        Some(effect) if effect.at_best > least => Fitness::Unfit,
        _ => Fitness::Undecided,
    };
    Check { what: Checked::Effect, outcome }
}

fn drift_is_small(drift: f64, least: f64) -> Check {
    // How much it varies by itself is not known, so it proves nothing alone.
    let outcome = if drift.abs() > least { Fitness::Undecided } else { Fitness::Fit };
    Check { what: Checked::Drift, outcome }
}

/// Returns how much longer an undisturbed sample of the same work took afterwards, on the CPU where that changed most.
fn drift(before: &Measured, after: &Measured) -> Option<f64> {
    let changes = before.run.cpus.iter().filter_map(|&cpu| {
        let (first, then) = (undisturbed(before, cpu)?, undisturbed(after, cpu)?);
        (first > 0.0).then_some(then / first - 1.0)
    });
    changes.max_by(|a, b| a.abs().total_cmp(&b.abs()))
}

fn undisturbed(found: &Measured, cpu: u32) -> Option<f64> {
    let series = found.series.iter().find(|series| series.facts.cpu == Some(cpu))?;
    Some(series.distribution.as_ref()?.third_decile_mean)
}

fn held_back_ns(recorded: &[Summary]) -> Option<u64> {
    let limits = recorded.iter().map(|summary| Some(summary.run.limits.as_ref()?.held_ns()));
    limits.sum()
}

fn sources(found: &Variance, wanted_ns: f64) -> Vec<Source> {
    let runs = found.runs.len() as f64;
    let mut rows: Vec<&SourceShare> = found.sources.iter().collect();
    rows.sort_by(|a, b| b.lost_ns.mean.total_cmp(&a.lost_ns.mean));
    rows.truncate(SOURCES);
    let share = |row: &SourceShare| row.lost_ns.mean * runs / wanted_ns.max(1.0);
    rows.into_iter()
        .map(|row| Source { source: row.source.clone(), name: row.name.clone(), share: share(row) })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::coverage::LossSummary;
    use crate::edges::{Edges, Interrupts};
    use crate::program::{Account, ProgramFacts};
    use crate::summarize;
    use anechoic_recording::{LossKind, Recording};
    use std::path::Path;

    #[test]
    fn noise_is_judged_by_what_is_certain() {
        use Fitness::{Fit, Undecided, Unfit};
        let cases = [
            ("quiet", 0.002, Some(0.004), 10e9, Fit),
            ("noisy", 0.02, Some(0.03), 10e9, Unfit),
            ("noisy, and nothing bounds it", 0.02, None, 10e9, Unfit),
            ("noisy, and too short", 0.02, Some(0.03), 0.1e9, Undecided),
            ("what is not seen decides", 0.002, Some(0.03), 10e9, Undecided),
            ("nothing bounds what is not seen", 0.002, None, 10e9, Undecided),
            ("quiet, and too short", 0.0, Some(0.0), 0.4e9, Undecided),
            ("nothing ran", 0.0, Some(0.0), 0.0, Undecided),
        ];
        for (name, low, high, wanted_ns, expected) in cases {
            let high_ns = high.map(|high: f64| high * wanted_ns);
            let outcome = noise(low * wanted_ns, high_ns, wanted_ns, 0.01).outcome;
            assert_eq!(outcome, expected, "case: {name}");
        }
    }

    /// A run of 1 s on two CPUs that wanted 2 s and lost 20 ms; in closed form.
    #[test]
    fn what_is_not_visible_is_added_or_bounds_nothing() {
        let edges = |high_ns| Edges { low_ns: 0, high_ns, seen: 20, recording: "loops".into() };
        let account = Account {
            kernel_ns: 1_980_000_000,
            executed_ns: 1_980_000_000,
            unseen_ns: 1_000_000,
            interrupted_ns: 0,
            waking_ns: 0,
            steal_ns: 2_000_000,
            tolerance_ns: 0,
            outside_ns: 0,
        };
        let some = Some(account);
        let cases = [
            ("no interrupts", 0, None, some, 0.0, Some(23_000_000)),
            ("with their edges", 9, Some(edges(4_000_000)), some, 0.0, Some(27_000_000)),
            ("edges unknown", 9, None, some, 0.0, None),
            ("a tenth lost, of both CPUs", 0, None, some, 0.1, Some(223_000_000)),
            ("all lost", 0, None, some, 1.0, Some(2_000_000_000)),
            ("no account", 0, None, None, 0.0, None),
        ];
        let dir = Path::new("../../docs/examples/before");
        let before = summarize(&Recording::open(dir).expect("an example")).expect("readable");
        for (name, count, edges, account, time_share, expected) in cases {
            let mut summary = before.clone();
            (summary.total.wall_ns, summary.total.noise) = (2_000_000_000, 0.01);
            (summary.run.wall_ns, summary.run.cpus) = (1_000_000_000, vec![0, 1]);
            let mut interrupts = Interrupts::default();
            (interrupts.count, interrupts.edges) = (count, edges);
            summary.interrupts = Some(interrupts);
            summary.losses = vec![LossSummary {
                what: LossKind::Events,
                intervals: 1,
                count: 1,
                time_share,
                cpus: vec![0, 1],
            }];
            summary.run.program = Some(ProgramFacts {
                name: "bench".into(),
                exit_code: Some(0),
                threads: 2,
                ran_ns: 1_980_000_000,
                lived_ns: None,
                account,
                recording: None,
                marked: None,
            });
            let run = CertifiedRun::from_summary(&summary);
            assert_eq!((run.lost_ns, run.at_most_ns), (20_000_000, expected), "case: {name}");
        }
    }
}
