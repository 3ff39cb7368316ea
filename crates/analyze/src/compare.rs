//! Did the noise change? Two sets of runs compared, with the run as the unit (Kalibera & Jones 2013).
//!
//! Blocks of one recording do not show how much runs differ from each other, so one run a side gives no verdict. With
//! repeated runs, the ratio of their geometric means has an interval from the variation between runs. Where the runs of
//! the two sides alternate in time, neighbours are compared in pairs, which removes drift of the host. Otherwise the
//! interval is widened by the correlation of successive runs. Where no run of one side lies near one of the other side in
//! time, means of sessions are compared, and one session a side proves nothing: the host may have changed. Sources that
//! the change cannot affect are a control: if they moved, the host moved.

mod contrast;
mod on_file;
mod one_run;
mod pace;
mod parts;
mod plan;
mod programs;
mod ranks;
mod result;
mod sessions;
mod trials;
pub mod wakeups;

pub use contrast::FEWEST_PAIRS;
pub use on_file::OnFile;
pub use pace::PaceChange;
pub use programs::{LeftOutThreads, ProgramChange, ReleaseChange};
pub use result::{
    Change, ChangedSetting, CpuChange, Difference, JobChange, LengthChange, Order, Planned, Side,
    SourceChange,
};
pub use trials::{Trials, TriedSetting};

use crate::Breakdown;
use crate::cluster::settings;
use crate::curve::CurvePoint;
use crate::folded::folded;
use crate::history::{History, beneath, flaws, is_beneath};
use crate::stats::{Interval, deviation, mean, relative};
use crate::summary::Summary;
use anechoic_recording::{Problem, ProblemKind, Run, methods};
use contrast::{CORRELATED_RUNS, Contrast, Design};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// Thresholds that differ by more than this ratio make noise incomparable.
const SAME_THRESHOLD: f64 = 1.2;

/// A run of one side.
#[derive(Debug)]
pub struct ComparedRun<'a> {
    /// The run.
    pub run: &'a Run,
    /// Its summary.
    pub summary: &'a Summary,
}

/// The runs of two sides, and whether the noise changed.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Comparison {
    /// The side before the change.
    pub before: Side,
    /// The side after the change.
    pub after: Side,
    /// What changed for the recorded programs (`anechoic record`); absent for runs without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub program: Option<ProgramChange>,
    /// The verdict.
    pub verdict: Change,
    /// How the runs of both sides follow each other in time.
    pub order: Order,
    /// The shortest pause between runs of different sides, in ns, if the sides were measured in different sessions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub apart_ns: Option<u64>,
    /// Noise after divided by noise before: geometric means over runs. Absent if a run has no noise.
    pub ratio: Option<f64>,
    /// Its 95 % interval; absent with one run on a side.
    pub interval: Option<Interval>,
    /// Probability of a difference at least as large if nothing changed: Student's t over runs. It makes the verdict.
    pub probability: Option<f64>,
    /// The same by the ranks of the runs alone (Mann & Whitney 1947), exact. It is shown for comparison.
    pub mann_whitney: Option<f64>,
    /// Largest difference between the distributions of detour lengths of both sides (Kolmogorov and Smirnov), from 0 to 1.
    /// It is shown for comparison, without a probability, because detours of one run are not independent.
    pub length_distance: Option<f64>,
    /// Smallest change that this comparison would have found with a probability of 80 %, as a ratio above 1.
    pub detectable: Option<f64>,
    /// Runs that would find a change of 10 % with a probability of 80 %; empty with one run on each side.
    pub plan: Vec<Planned>,
    /// Runs that are not whole, or whose checks failed, and why.
    pub notes: Vec<String>,
    /// What differs between the machines and the settings of both sides.
    pub changed: Vec<ChangedSetting>,
    /// The sources of noise, the largest difference first; empty if some run has no attribution.
    pub sources: Vec<SourceChange>,
    /// The CPUs that every run measured.
    pub cpus: Vec<CpuChange>,
    /// Whether some runs measured other CPUs than others.
    pub other_cpus: bool,
    /// The pace of the loops between the detours; absent if that of a run is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pace: Option<PaceChange>,
    /// Rate of detours by threshold.
    pub lengths: Vec<LengthChange>,
    /// What the noise costs a parallel job; absent unless requested.
    pub job: Option<JobChange>,
    /// The trials of `anechoic ab` that these runs are; absent for other runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trials: Option<Trials>,
    /// What earlier runs of the host show about a single run on a side; absent if they were not asked for or not needed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub history: Option<OnFile>,
}

/// What is compared of one run.
#[derive(Debug, Clone, Default)]
struct Values {
    start_utc: String,
    noise: f64,
    /// Standard error of the logarithm of its noise, from the variation within the run.
    within: Option<f64>,
    rate_per_s: f64,
    wall_ns: u64,
    threshold_ns: u64,
    cpus: BTreeMap<u32, f64>,
    sources: Option<BTreeMap<(String, String), f64>>,
    curve: Vec<CurvePoint>,
    pace: Option<pace::PaceValues>,
    /// What is wrong with the run.
    flaws: Vec<&'static str>,
    settings: BTreeMap<String, String>,
    guest: bool,
    /// Noise below the kernel, if that is known.
    beneath: Option<f64>,
    /// Slowdown of the requested job, less 1.
    job: Option<f64>,
    /// Whether only the part before the detour that it waited for is kept, which is no sample of the run.
    kept: bool,
    /// What it shows of a recorded program.
    program: Option<programs::ProgramTimes>,
    /// In a duet: whether the sides had swapped their CPUs.
    swapped: Option<bool>,
}

/// A job whose cost is compared: its slowdown less 1 in each run before and after.
#[derive(Debug, Clone, PartialEq)]
pub struct JobCosts {
    /// Number of ranks.
    pub ranks: u64,
    /// Noise-free time between two synchronisations, in ns.
    pub grain_ns: u64,
    /// Cost with the noise of each run, in the order of the runs.
    pub costs: [Vec<f64>; 2],
}

/// What is known besides the runs of both sides.
#[derive(Debug, Clone, Copy, Default)]
pub struct Beside<'a> {
    /// What the noise of each run costs a job, if that was requested.
    pub job: Option<&'a JobCosts>,
    /// How the runs were made, if they are trials. Runs have the order of its complete pairs.
    pub trials: Option<&'a Trials>,
    /// Earlier runs of the host. They show how much its runs differ where a side has only one.
    pub history: Option<&'a History>,
}

/// Compares runs of `anechoic run` before and after a change. `names` are those of the sides.
///
/// # Errors
///
/// A side has no runs, a recording is not one of `anechoic run`, or a run has no measured time.
pub fn compare(
    names: [String; 2],
    runs: [&[ComparedRun<'_>]; 2],
    beside: Beside<'_>,
) -> Result<Comparison, Problem> {
    refuse(&names, runs)?;
    let Beside { job, trials, history } = beside;
    let sides = [0, 1].map(|at| side_values(runs[at], at, beside));
    let by_history = history.map(|history| on_file::judge(history, runs, &sides));
    let mut found = compare_values(names, sides);
    if let (Some(job), Some(found)) = (job, found.job.as_mut()) {
        (found.ranks, found.grain_ns) = (job.ranks, job.grain_ns);
    }
    found.trials = trials.cloned();
    let is_open = match found.verdict {
        Change::OneRun | Change::OneRunDiffers => true,
        Change::Unproven => !found.control_moved() && found.order != Order::Kept,
        Change::Quieter | Change::Noisier | Change::NotShown => false,
    };
    if let Some(judged) = by_history.filter(|_| is_open) {
        judged.add_to(&mut found);
    }
    Ok(found)
}

/// Returns the values of the runs of a side in order of time; `at` is the number of the side.
fn side_values(side: &[ComparedRun<'_>], at: usize, beside: Beside<'_>) -> Vec<Values> {
    let mut values: Vec<Values> = side.iter().map(Values::from_run).collect();
    for (number, run) in values.iter_mut().enumerate() {
        run.job = beside.job.and_then(|job| job.costs[at].get(number).copied());
        run.swapped = beside.trials.and_then(|trials| trials.duet_swapped(number));
    }
    values.sort_by(|a, b| a.start_utc.cmp(&b.start_utc));
    values
}

/// Refuses runs that cannot be compared.
fn refuse(names: &[String; 2], runs: [&[ComparedRun<'_>]; 2]) -> Result<(), Problem> {
    for (name, side) in names.iter().zip(runs) {
        for compared in side {
            if !methods::WHOLE.contains(&&*compared.run.method) {
                let why = format!("{name} has a recording of `measure {}`", compared.run.method);
                let remedy = match &*compared.run.method {
                    methods::WAKEUP => "compare recordings of wake-ups with each other",
                    _ => {
                        "compare recordings of `anechoic run`; `anechoic rank` compares samples of fixed work or time"
                    }
                };
                return Err(ProblemKind::Usage.problem(why, remedy));
            }
            if compared.summary.total.wall_ns == 0 {
                let why = format!("a run of {name} has no measured time");
                return Err(ProblemKind::NoVerdict.problem(why, "measure it again"));
            }
        }
        if side.is_empty() {
            return Err(
                ProblemKind::Usage.problem(format!("{name} has no runs"), "name recordings")
            );
        }
    }
    let mut methods_of = runs.iter().copied().flatten().map(|compared| &*compared.run.method);
    let first = methods_of.next();
    if let Some(other) = methods_of.find(|&method| Some(method) != first) {
        let why =
            format!("some recordings are of method {}, others of {other}", first.unwrap_or(""));
        let remedy = "compare recordings of `anechoic run`, or recordings of `anechoic record`";
        return Err(ProblemKind::Usage.problem(why, remedy));
    }
    Ok(())
}

impl Values {
    fn from_run(compared: &ComparedRun<'_>) -> Self {
        let ComparedRun { run, summary } = compared;
        let total = &summary.total;
        Self {
            start_utc: run.start_utc.clone(),
            noise: total.noise,
            within: total.interval.and_then(|interval| one_run::error_of_logarithm(&interval)),
            rate_per_s: total.rate_per_s,
            wall_ns: summary.run.wall_ns,
            threshold_ns: summary.run.threshold_ns,
            // A program uses the CPUs that it gets, so that they are not the same from run to run.
            cpus: match run.program {
                Some(_) => BTreeMap::new(),
                None => summary.cpus.iter().map(|cpu| (cpu.cpu, cpu.noise)).collect(),
            },
            sources: summary.sources.as_ref().map(by_name),
            curve: summary.curve.clone(),
            pace: pace::PaceValues::from_run(compared),
            flaws: flaws(run),
            settings: settings(run),
            guest: run.machine.hypervisor.is_some(),
            beneath: beneath(run, summary),
            kept: run.kept_after_stop().is_some(),
            program: programs::ProgramTimes::from_run(compared),
            job: None,
            swapped: None,
        }
    }
}

/// Returns the noise of each source. The numbers of CPUs in its name are left out: the sides may have measured others, and
/// threads and queues of one CPU may have another number after a reboot.
fn by_name(breakdown: &Breakdown) -> BTreeMap<(String, String), f64> {
    let mut noise = BTreeMap::new();
    for row in &breakdown.rows {
        let name = folded(&row.source, &row.name);
        *noise.entry((row.source.clone(), name)).or_default() += row.noise;
    }
    noise
}

/// Compares the values of the runs of both sides, which are in order of time.
fn compare_values(names: [String; 2], sides: [Vec<Values>; 2]) -> Comparison {
    let design = Design::from_sides(&sides);
    let notes = notes(&sides, &names);
    let noise = sides.each_ref().map(|side| side.iter().map(|run| run.noise).collect::<Vec<_>>());
    let positive = noise.iter().flatten().all(|noise| *noise > 0.0);
    let logarithms =
        noise.each_ref().map(|side| side.iter().map(|share| share.ln()).collect::<Vec<_>>());
    let scale = if positive { &logarithms } else { &noise };
    let contrast = Contrast::new(scale, &design);
    let [before, after] = names;
    let [first, second] = &sides;
    let duet = design.order() == Order::Duet;
    let sources = parts::sources(&sides, &design);
    let verdict = match &contrast {
        Some(contrast) => {
            let host_moved = sources.iter().any(|source| source.control && source.difference.clear);
            contrast.verdict(host_moved || design.order() == Order::OneSession)
        }
        None if design == Design::Kept => Change::Unproven,
        None => one_run::verdict(&sides),
    };
    let means = logarithms.each_ref().map(|side| mean(side).unwrap_or_default());
    let exact =
        |logarithm: Interval| Interval { low: logarithm.low.exp(), high: logarithm.high.exp() };
    let contrast_of_ratio = contrast.as_ref().filter(|_| positive);
    Comparison {
        before: Side::new(before, first, positive),
        after: Side::new(after, second, positive),
        program: programs::programs(&sides, &design),
        verdict,
        order: design.order(),
        apart_ns: match &design {
            Design::Sessions(sessions) => Some(sessions.apart_ns),
            _ => None,
        },
        ratio: positive
            .then(|| contrast.as_ref().map_or(means[1] - means[0], |found| found.difference).exp()),
        interval: contrast_of_ratio.map(|found| exact(found.interval())),
        probability: contrast.as_ref().map(Contrast::probability),
        mann_whitney: contrast.as_ref().and_then(|_| ranks::mann_whitney(&noise)),
        length_distance: parts::length_distance(&sides).filter(|_| design != Design::Kept),
        detectable: contrast_of_ratio.map(|found| found.detectable().exp()),
        notes,
        // The variation of a side has the difference of the two sets of CPUs in it, which a duet takes off.
        plan: if positive && !duet && design != Design::Kept {
            plan::runs(&sides, &logarithms)
        } else {
            vec![]
        },
        changed: changed(&sides),
        sources,
        cpus: parts::cpus(&sides, &design),
        other_cpus: !duet
            && sides.iter().flatten().any(|run| !run.cpus.keys().eq(first_cpus(&sides))),
        pace: pace::pace(&sides, &design),
        lengths: parts::lengths(&sides, &design),
        job: parts::job(&sides, &design),
        trials: None,
        history: None,
    }
}

impl Comparison {
    /// Returns the lowest and the highest threshold of all runs, in ns.
    #[must_use]
    pub fn thresholds_ns(&self) -> (u64, u64) {
        let [before, after] = [self.before.threshold_ns, self.after.threshold_ns];
        (before.0.min(after.0), before.1.max(after.1))
    }

    /// Returns whether the runs of each side follow each other and are too few to show how much successive runs are alike.
    /// The interval then takes them to be independent.
    #[must_use]
    pub(crate) fn hides_correlation(&self) -> bool {
        let fewest = self.before.runs.min(self.after.runs);
        self.order == Order::Apart && fewest < CORRELATED_RUNS as u64
    }

    /// Returns whether a source that the change cannot affect differs.
    #[must_use]
    pub fn control_moved(&self) -> bool {
        self.sources.iter().any(|source| source.control && source.difference.clear)
    }

    /// Returns whether thresholds differ by so much that short detours count in some runs and not in others.
    #[must_use]
    pub fn thresholds_differ(&self) -> bool {
        let (lowest, highest) = self.thresholds_ns();
        highest as f64 > SAME_THRESHOLD * lowest as f64
    }
}

impl Side {
    fn new(name: String, runs: &[Values], positive: bool) -> Self {
        let noise: Vec<f64> = runs.iter().map(|run| run.noise).collect();
        let logarithms: Vec<f64> = noise.iter().map(|noise| noise.ln()).collect();
        let average = |values: &[f64]| mean(values).unwrap_or_default();
        let sampled = runs.iter().all(|run| !run.kept);
        let thresholds = || runs.iter().map(|run| run.threshold_ns);
        Self {
            name,
            runs: runs.len() as u64,
            noise: if positive { average(&logarithms).exp() } else { average(&noise) },
            between_runs: deviation(&logarithms).filter(|_| positive && sampled).map(relative),
            within_runs: plan::within(runs).filter(|_| sampled).map(relative),
            rate_per_s: average(&runs.iter().map(|run| run.rate_per_s).collect::<Vec<_>>()),
            wall_ns: runs.iter().map(|run| run.wall_ns / runs.len() as u64).sum(),
            threshold_ns: (thresholds().min().unwrap_or(0), thresholds().max().unwrap_or(0)),
            noise_of_runs: noise,
        }
    }
}

/// Returns the CPUs of the first run.
fn first_cpus(sides: &[Vec<Values>; 2]) -> impl Iterator<Item = &u32> {
    sides[0].first().into_iter().flat_map(|run| run.cpus.keys())
}

/// Names the runs that are not whole.
fn notes(sides: &[Vec<Values>; 2], names: &[String; 2]) -> Vec<String> {
    let mut notes = vec![];
    for (side, name) in sides.iter().zip(names) {
        let flawed = (1..).zip(side).filter(|(_, run)| !run.flaws.is_empty());
        notes.extend(flawed.map(|(number, run)| flaw_note(number, run, name)));
    }
    notes
}

/// Names a run that is not whole: its number on the side of this name.
fn flaw_note(number: u32, run: &Values, name: &str) -> String {
    let flaws = run.flaws.join(" and ");
    format!("run {number} of {name}, started at {}, {flaws}", run.start_utc)
}

/// Returns the settings that have one value in all runs of a side, and another or none on the other side.
fn changed(sides: &[Vec<Values>; 2]) -> Vec<ChangedSetting> {
    let names: BTreeSet<&String> =
        sides.iter().flatten().flat_map(|run| run.settings.keys()).collect();
    names.into_iter().filter_map(|name| changed_setting(sides, name)).collect()
}

/// Returns this setting if it has one value in all runs of a side, and another or none on the other side.
fn changed_setting(sides: &[Vec<Values>; 2], name: &str) -> Option<ChangedSetting> {
    let values = |side: &Vec<Values>| -> BTreeSet<Option<String>> {
        side.iter().map(|run| run.settings.get(name).cloned()).collect()
    };
    let [before, after] = sides.each_ref().map(values);
    let one = |set: BTreeSet<Option<String>>| set.into_iter().next().flatten();
    (before.len() == 1 && after.len() == 1 && before != after).then(|| ChangedSetting {
        name: name.to_owned(),
        before: one(before),
        after: one(after),
    })
}

#[cfg(test)]
mod tests;
