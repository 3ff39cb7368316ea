//! Did wake-up latency change? Runs of `measure wakeup` before and after a change, with the run as the unit.

mod sources;

use super::contrast::{Contrast, Design};
use super::parts::clear_of;
use super::{ChangedSetting, Difference, Order, Trials, Values, changed, notes};
use crate::cluster::settings;
use crate::history::flaws;
use crate::stats::{Interval, fewest_events, mean, most_events, probability_of_more};
use crate::wakeup::{Kind, Latencies, Wakeup};
use anechoic_recording::{Problem, ProblemKind, Run};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeSet;

/// Fewest blocks of a recording that show how much its blocks differ.
const FEWEST_BLOCKS: usize = 3;

/// A run of one side.
#[derive(Debug, Clone, Copy)]
pub struct WakeupRun<'a> {
    /// The run.
    pub run: &'a Run,
    /// Its wake-ups.
    pub found: &'a Wakeup,
}

/// The runs of two sides, and whether wake-up latency changed.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct WakeupComparison {
    /// The side before the change.
    pub before: WakeupSide,
    /// The side after the change.
    pub after: WakeupSide,
    /// The verdict.
    pub verdict: WakeupVerdict,
    /// How the runs of both sides follow each other in time.
    pub order: Order,
    /// Whether intervals are from the blocks of the recordings, because a side has only one. They do not show how much runs
    /// differ.
    pub by_blocks: bool,
    /// A wake-up that took longer counts as late, in nanoseconds.
    pub late_ns: u64,
    /// Whether some runs measured other CPUs than others.
    pub other_cpus: bool,
    /// Latencies by interval and kind of idle: of all CPUs together, which make the verdict, and of each CPU.
    pub rows: Vec<WakeupChange>,
    /// What the sources took of a wake-up on average, the largest difference first; empty if some run has no causes.
    pub sources: Vec<WakeSourceChange>,
    /// What differs between the machines and the settings of both sides.
    pub changed: Vec<ChangedSetting>,
    /// Runs that are not whole, or whose checks failed, and why.
    pub notes: Vec<String>,
    /// The trials of `anechoic ab` that these runs are; absent for other runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trials: Option<Trials>,
}

/// One side of a comparison of wake-ups.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct WakeupSide {
    /// Its name.
    pub name: String,
    /// Number of runs.
    pub runs: u64,
    /// Number of wake-ups.
    pub wakeups: u64,
}

/// Whether wake-up latency changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WakeupVerdict {
    /// A median, a 99th percentile or a share of late wake-ups changed.
    Changed,
    /// No change is shown.
    NotShown,
    /// They differ, but all runs of a side are of one session, far from the other side ([`Order::OneSession`]); or what is kept
    /// of a run is no sample of it ([`Order::Kept`]).
    Unproven,
    /// A side has only one run; the recordings differ by more than the variation within them.
    OneRunDiffers,
    /// A side has only one run, and no difference exceeds the variation within the recordings, or that is not known.
    OneRun,
}

/// The latencies of one kind of wake-ups on both sides, on one CPU or on all.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct WakeupChange {
    /// How the threads slept.
    pub kind: Kind,
    /// The CPU; absent for all together.
    pub cpu: Option<u32>,
    /// The medians in nanoseconds; absent if a run has none.
    pub p50_ns: Option<Difference>,
    /// The 99th percentiles in nanoseconds; absent if a run has none, or if a side has only one run.
    pub p99_ns: Option<Difference>,
    /// The share of late wake-ups.
    pub late: LateChange,
}

/// The share of late wake-ups on both sides.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct LateChange {
    /// Before the change.
    pub before: LateShare,
    /// After the change.
    pub after: LateShare,
    /// Probability of a difference at least as large if nothing changed: that of the numbers of late ones (the conditional
    /// test of Przyborowski and Wilenski 1940, with their dispersion), and of the shares of the runs, whichever is larger. Absent
    /// if a run ended because a wake-up was late.
    pub probability: Option<f64>,
    /// Whether the difference is significant among all of its table (Holm 1979, at 5 %).
    pub clear: bool,
}

/// The late wake-ups of a side.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct LateShare {
    /// Number of wake-ups.
    pub wakeups: u64,
    /// Number of late ones.
    pub late: u64,
    /// The smallest and the largest share that agree with it, each with a probability of 95 %; absent without wake-ups.
    pub share: Option<Interval>,
}

/// What a source took of a wake-up on both sides.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct WakeSourceChange {
    /// Identifier of the source.
    pub source: String,
    /// Which instance of it, without numbers of CPUs; empty if there is only one.
    pub name: String,
    /// Its mean time in a wake-up in nanoseconds.
    pub difference: Difference,
}

/// Why the sources are not compared.
const OTHER_KINDS: &str = "what took the time is not compared, because a run has intervals, kinds of idle or waking calls that another lacks, and the \
                           sources of a run are those of all its wake-ups";

/// Compares runs of wake-ups before and after a change. `names` are those of the sides; with `trials` the runs have the order
/// of its complete pairs.
///
/// # Errors
/// A side has no runs, or the sides have no kind of wake-ups or no limit of late ones in common.
pub fn compare_wakeups(
    names: [String; 2],
    runs: [&[WakeupRun<'_>]; 2],
    trials: Option<&Trials>,
) -> Result<WakeupComparison, Problem> {
    let sorted = runs.map(|side| {
        let mut side: Vec<(usize, WakeupRun<'_>)> = side.iter().copied().enumerate().collect();
        side.sort_by(|a, b| a.1.run.start_utc.cmp(&b.1.run.start_utc));
        side
    });
    let values = sorted.each_ref().map(|side| {
        side.iter()
            .map(|(number, run)| {
                values(run, trials.and_then(|trials| trials.duet_swapped(*number)))
            })
            .collect::<Vec<_>>()
    });
    let sides = sorted.map(|side| side.into_iter().map(|(_, run)| run).collect::<Vec<_>>());
    let (kinds, late_ns) = in_common(&names, &sides)?;
    let by_blocks = sides.iter().any(|side| side.len() < 2);
    let design = if by_blocks { Design::Apart } else { Design::from_sides(&values) };
    let cpus = |run: &WakeupRun<'_>| run.run.cpus.iter().map(|cpu| cpu.cpu).collect::<Vec<u32>>();
    let first = cpus(&sides[0][0]);
    let other_cpus = sides.iter().flatten().any(|run| cpus(run) != first);
    let unit = Unit { sides: &sides, design: &design, by_blocks };
    let rows = unit.rows(&kinds, if other_cpus { &[] } else { &first });
    let verdict = verdict(&rows, &unit);
    let other_kinds = unit.has_other_kinds().then(|| OTHER_KINDS.to_owned());
    Ok(WakeupComparison {
        before: WakeupSide::new(&names[0], &sides[0]),
        after: WakeupSide::new(&names[1], &sides[1]),
        verdict,
        order: design.order(),
        by_blocks,
        late_ns,
        other_cpus,
        rows,
        sources: unit.sources(),
        changed: changed(&values),
        notes: [notes(&values, &names), ended(&sides), other_kinds.into_iter().collect()].concat(),
        trials: trials.cloned(),
    })
}

/// Returns what the order of the runs, their settings and their flaws are known from.
fn values(run: &WakeupRun<'_>, swapped: Option<bool>) -> Values {
    Values {
        start_utc: run.run.start_utc.clone(),
        wall_ns: run.found.run.wall_ns,
        flaws: flaws(run.run),
        settings: settings(run.run),
        swapped,
        kept: run.run.kept_after_stop().is_some(),
        ..Values::default()
    }
}

/// Returns which runs ended because a wake-up was late, and what is not compared therefore.
fn ended(sides: &[Vec<WakeupRun<'_>>; 2]) -> Vec<String> {
    let all = || sides.iter().flatten();
    let Some(condition) = all().find_map(|run| run.run.ended_at()) else { return vec![] };
    let number = all().filter(|run| run.run.ended_at().is_some()).count();
    vec![format!(
        "{number} of {} runs ended because a wake-up was late (--stop-on '{condition}'), so that shares of late ones are not \
         compared",
        all().count()
    )]
}

/// Returns the kinds of wake-ups that all runs have, and the limit of late ones.
fn in_common(
    names: &[String; 2],
    sides: &[Vec<WakeupRun<'_>>; 2],
) -> Result<(Vec<Kind>, u64), Problem> {
    let usage = |why: String, remedy: &str| ProblemKind::Usage.problem(why, remedy);
    if let Some((name, _)) = names.iter().zip(sides).find(|(_, side)| side.is_empty()) {
        return Err(usage(format!("{name} has no runs"), "name recordings"));
    }
    let mut all = sides.iter().flatten();
    let first = all.next().map(kinds_of).unwrap_or_default();
    let shared = all.fold(first, |shared, run| &shared & &kinds_of(run));
    if shared.is_empty() {
        let why = "the runs have no interval and kind of idle in common".into();
        return Err(usage(why, "measure both sides with the same options"));
    }
    let limits: BTreeSet<u64> = sides.iter().flatten().map(|run| run.found.late_ns).collect();
    match limits.first() {
        Some(limit) if limits.len() == 1 => Ok((shared.into_iter().collect(), *limit)),
        _ => {
            let why = "the runs count as late what took longer than different limits".into();
            Err(usage(why, "measure both sides with the same --late"))
        }
    }
}

/// Returns the kinds of wake-ups of a run.
fn kinds_of(run: &WakeupRun<'_>) -> BTreeSet<Kind> {
    run.found.rows.iter().filter(|row| row.samples > 0).map(Latencies::kind).collect()
}

/// What is compared: the runs of both sides, or the blocks of single runs.
struct Unit<'a> {
    sides: &'a [Vec<WakeupRun<'a>>; 2],
    design: &'a Design,
    by_blocks: bool,
}

/// A row before it is known which differences are clear.
struct Tested {
    kind: Kind,
    cpu: Option<u32>,
    contrasts: [Option<(Contrast, [f64; 2])>; 2],
    means: [Option<[f64; 2]>; 2],
    late: LateChange,
}

impl Unit<'_> {
    /// Returns the row of this kind in each run: of a CPU, or of all together.
    fn rows_of_runs(&self, kind: Kind, cpu: Option<u32>) -> Option<[Vec<&Latencies>; 2]> {
        let [before, after] = self.sides.each_ref().map(|side| {
            side.iter().map(|run| row_of(run.found, kind, cpu)).collect::<Option<Vec<_>>>()
        });
        Some([before?, after?])
    }

    /// Returns whether a run has kinds of wake-ups that another one lacks.
    fn has_other_kinds(&self) -> bool {
        let mut all = self.sides.iter().flatten().map(kinds_of);
        let first = all.next().unwrap_or_default();
        all.any(|kinds| kinds != first)
    }

    fn rows(&self, kinds: &[Kind], cpus: &[u32]) -> Vec<WakeupChange> {
        let places: Vec<Option<u32>> = match cpus {
            [] | [_] => vec![None],
            several => [None].into_iter().chain(several.iter().copied().map(Some)).collect(),
        };
        let mut rows = vec![];
        for whole in [true, false] {
            let places = places.iter().filter(|cpu| cpu.is_none() == whole);
            let all = places.flat_map(|cpu| kinds.iter().map(move |kind| (*kind, *cpu)));
            let tested: Vec<Tested> =
                all.filter_map(|(kind, cpu)| self.tested(kind, cpu)).collect();
            rows.extend(finished(tested));
        }
        rows
    }

    fn tested(&self, kind: Kind, cpu: Option<u32>) -> Option<Tested> {
        let runs = self.rows_of_runs(kind, cpu)?;
        let medians = match self.by_blocks {
            false => quantiles(&runs, |row| row.p50_ns),
            true => Some(
                runs.each_ref()
                    .map(|side| side.iter().flat_map(|row| row.p50_of_blocks_ns.clone()).collect()),
            ),
        };
        let whole_medians = quantiles(&runs, |row| row.p50_ns);
        let p99 = quantiles(&runs, |row| row.p99_ns);
        let p99_contrast =
            p99.as_ref().filter(|_| !self.by_blocks).and_then(|p99| self.contrast(p99));
        Some(Tested {
            kind,
            cpu,
            contrasts: [medians.as_ref().and_then(|medians| self.contrast(medians)), p99_contrast],
            means: [whole_medians.as_ref().map(both_means), p99.as_ref().map(both_means)],
            late: self.late(&runs),
        })
    }

    /// Returns how the sides differ, with the mean of each; absent for too few blocks.
    fn contrast(&self, values: &[Vec<f64>; 2]) -> Option<(Contrast, [f64; 2])> {
        let enough = !self.by_blocks || values.iter().all(|side| side.len() >= FEWEST_BLOCKS);
        enough.then(|| Some((Contrast::new(values, self.design)?, both_means(values))))?
    }

    /// Compares the shares of late wake-ups.
    fn late(&self, runs: &[Vec<&Latencies>; 2]) -> LateChange {
        let sum = |side: &[&Latencies], value: fn(&Latencies) -> u64| {
            side.iter().map(|row| value(row)).sum::<u64>()
        };
        let number = runs.each_ref().map(|side| sum(side, |row| row.late));
        let wakeups = runs.each_ref().map(|side| sum(side, |row| row.samples));
        let dispersion = runs.iter().flatten().map(|row| row.late_dispersion).fold(1.0, f64::max);
        let [x, y] = number.map(|late| late as f64 / dispersion);
        let part = wakeups[1] as f64 / (wakeups[0] + wakeups[1]).max(1) as f64;
        let more =
            probability_of_more(y, x + y, part).min(probability_of_more(x, x + y, 1.0 - part));
        let by_number = (2.0 * more).min(1.0);
        // The variance of a root of a share does not depend on the share.
        let root = |row: &&Latencies| (row.late as f64 / row.samples.max(1) as f64).sqrt();
        let roots = runs.each_ref().map(|side| side.iter().map(root).collect());
        let by_runs = Contrast::new(&roots, self.design).filter(|_| !self.by_blocks);
        let by_runs = by_runs.map_or(0.0, |contrast| contrast.probability());
        let ended = self.sides.iter().flatten().any(|run| run.run.ended_at().is_some());
        LateChange {
            before: LateShare::new(number[0], wakeups[0], dispersion),
            after: LateShare::new(number[1], wakeups[1], dispersion),
            probability: (!ended).then(|| by_number.max(by_runs)),
            clear: false,
        }
    }
}

/// Returns the row of this kind: of a CPU, or of all together.
pub(crate) fn row_of(found: &Wakeup, kind: Kind, cpu: Option<u32>) -> Option<&Latencies> {
    match cpu {
        Some(_) => found.rows.iter().find(|row| row.kind() == kind && row.cpu == cpu),
        None => found.whole().find(|row| row.kind() == kind),
    }
}

/// Returns a quantile of each run; absent if one has none.
fn quantiles(
    runs: &[Vec<&Latencies>; 2],
    quantile: fn(&Latencies) -> Option<f64>,
) -> Option<[Vec<f64>; 2]> {
    let side =
        |side: &Vec<&Latencies>| side.iter().map(|row| quantile(row)).collect::<Option<Vec<f64>>>();
    Some([side(&runs[0])?, side(&runs[1])?])
}

fn both_means(values: &[Vec<f64>; 2]) -> [f64; 2] {
    values.each_ref().map(|side| mean(side).unwrap_or_default())
}

impl WakeupChange {
    /// Returns whether anything of it differs beyond chance.
    fn is_clear(&self) -> bool {
        let quantiles = [&self.p50_ns, &self.p99_ns];
        self.late.clear || quantiles.into_iter().flatten().any(|difference| difference.clear)
    }
}

impl WakeupSide {
    fn new(name: &str, runs: &[WakeupRun<'_>]) -> Self {
        WakeupSide {
            name: name.to_owned(),
            runs: runs.len() as u64,
            wakeups: runs.iter().map(|run| run.found.samples()).sum(),
        }
    }
}

impl LateShare {
    fn new(late: u64, wakeups: u64, dispersion: f64) -> Self {
        let part = |events: f64| (events / wakeups as f64).min(1.0);
        let share = (wakeups > 0).then(|| Interval {
            low: part(fewest_events(late as f64, dispersion)),
            high: part(most_events(late as f64, dispersion)),
        });
        LateShare { wakeups, late, share }
    }
}

/// Finds the clear differences among all of these.
fn finished(tested: Vec<Tested>) -> Vec<WakeupChange> {
    let mut probabilities = vec![];
    for row in &tested {
        let contrasts = row.contrasts.iter().flatten();
        probabilities.extend(contrasts.map(|(contrast, _)| contrast.probability()));
        probabilities.extend(row.late.probability);
    }
    let clear = clear_of(&probabilities);
    let mut each = (0..probabilities.len()).map(|at| clear.contains(&at));
    let mut is_clear = || each.next().unwrap_or(false);
    let mut rows = vec![];
    for Tested { kind, cpu, contrasts, means, late } in tested {
        let [p50_ns, p99_ns] = [0, 1].map(|at| match (&contrasts[at], means[at]) {
            (Some((contrast, [before, after])), _) => Some(Difference {
                before: *before,
                after: *after,
                interval: Some(contrast.interval()),
                clear: is_clear(),
            }),
            (None, Some([before, after])) => {
                Some(Difference { before, after, interval: None, clear: false })
            }
            (None, None) => None,
        });
        let late = LateChange { clear: late.probability.is_some() && is_clear(), ..late };
        rows.push(WakeupChange { kind, cpu, p50_ns, p99_ns, late });
    }
    rows
}

/// Returns the verdict from the rows of all CPUs together.
fn verdict(rows: &[WakeupChange], unit: &Unit<'_>) -> WakeupVerdict {
    let differs = rows.iter().filter(|row| row.cpu.is_none()).any(WakeupChange::is_clear);
    match (unit.by_blocks, differs) {
        (true, true) => WakeupVerdict::OneRunDiffers,
        (true, false) => WakeupVerdict::OneRun,
        (false, false) => WakeupVerdict::NotShown,
        (false, true) if matches!(unit.design.order(), Order::OneSession | Order::Kept) => {
            WakeupVerdict::Unproven
        }
        (false, true) => WakeupVerdict::Changed,
    }
}

#[cfg(test)]
mod tests;
