//! The earlier runs of a host: how much its runs differ from each other, and what one more would have to show.
//!
//! Whether two single runs differ by more than runs of this host do is a question of exchange: if nothing changed, the
//! two are any two of all runs, so their difference is one of the differences of all pairs. Its rank among them has a
//! known distribution, whatever that of the noise is (Fisher's randomization test). Drift only makes two runs that
//! follow each other more alike than any two.

mod kind;
mod past;
mod trend;
mod wakeups;

pub use kind::Kind;
pub(crate) use past::Past;
pub(crate) use trend::Valued;
pub use trend::{Step, Trend};
pub use wakeups::{PastLatencies, PastWakeups, WakeupHistory, WakeupSeries};

use crate::cluster::settings;
use crate::competition::competition;
use crate::known::{Doubt, known_doubts};
use crate::program::Account;
use crate::stats::{Interval, NORMAL, deviation, mean, relative, successive};
use crate::summary::Summary;
use anechoic_recording::Run;
use anechoic_recording::run::RunState;
use anechoic_recording::sources;
use anechoic_recording::stop::{DETOUR, WAKE_UP};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// Fewest runs that make a verdict on single runs.
pub const FEWEST: usize = 20;
/// Largest number of runs that are looked at, the newest.
pub const MOST: usize = 200;

/// The earlier runs of a host that were measured alike.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct History {
    /// How they were measured.
    pub kind: Kind,
    /// The runs, in order of time.
    pub runs: Vec<PastRun>,
    /// Number of runs of this kind that are left out because they are not whole.
    pub not_whole: u64,
    /// Number of older runs of this kind that are left out.
    pub older: u64,
    /// Number of runs that were measured in other ways, or on other hosts.
    pub others: u64,
    /// Geometric mean of the noise over runs; absent if a run has none.
    pub noise: Option<f64>,
    /// Standard deviation between runs, relative to the mean, from that of the logarithms; absent for one run.
    pub between_runs: Option<f64>,
    /// Its 95 % interval, which assumes that runs are independent; absent for fewer than five runs.
    pub between_runs_interval: Option<Interval>,
    /// Correlation of successive runs, from -1 to 1; absent for fewer than five runs.
    pub successive: Option<f64>,
    /// The change that a single run must show, as a ratio above 1; absent if the runs are too few for any.
    pub needed: Option<f64>,
    /// Where the noise changed from one run to the next; absent if that is not shown.
    pub step: Option<Step>,
    /// Where the noise changes with time; absent if that is not shown.
    pub trend: Option<Trend>,
    /// Settings of the machine that are not the same in all runs.
    pub changed: Vec<String>,
}

/// An earlier run.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct PastRun {
    /// Directory of the recording.
    pub path: String,
    /// Start of the run, RFC 3339 in UTC.
    pub start_utc: String,
    /// Its noise, over all CPUs.
    pub noise: f64,
    /// Its 95 % interval from the variation within the run, if it has one.
    pub interval: Option<Interval>,
    /// Detours per second and CPU.
    pub rate_per_s: f64,
    /// Noise of what is below the kernel, in a guest with attribution.
    pub beneath: Option<f64>,
    /// What the run knew that makes its noise doubtful.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub doubts: Vec<Doubt>,
    /// What affects noise and may differ between runs.
    #[serde(skip)]
    settings: BTreeMap<String, String>,
}

impl PastRun {
    /// Returns what a history keeps of a run.
    #[must_use]
    pub fn new(path: String, run: &Run, summary: &Summary) -> Self {
        Self {
            path,
            start_utc: run.start_utc.clone(),
            noise: summary.total.noise,
            interval: summary.total.interval,
            rate_per_s: summary.total.rate_per_s,
            beneath: beneath(run, summary),
            doubts: known_doubts(run, competition(summary)),
            settings: settings(run),
        }
    }
}

/// What a history leaves out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LeftOut {
    /// Number of runs of this kind that are not whole.
    pub not_whole: u64,
    /// Number of older runs of this kind.
    pub older: u64,
    /// Number of other runs.
    pub others: u64,
}

impl History {
    /// Returns the history of runs of this kind.
    #[must_use]
    pub fn new(kind: Kind, mut runs: Vec<PastRun>, left_out: LeftOut) -> Self {
        runs.sort_by(|a, b| (&a.start_utc, &a.path).cmp(&(&b.start_utc, &b.path)));
        let noise: Vec<Valued<'_>> = runs.iter().map(|run| (&*run.start_utc, run.noise)).collect();
        let Variation {
            mean,
            between_runs,
            between_runs_interval,
            successive,
            needed,
            step,
            trend,
        } = Variation::new(&noise);
        let LeftOut { not_whole, older, others } = left_out;
        Self {
            noise: mean,
            between_runs,
            between_runs_interval,
            successive,
            needed,
            step,
            trend,
            changed: changed(runs.iter().map(|run| &run.settings)),
            not_whole,
            older,
            others,
            kind,
            runs,
        }
    }

    /// Returns a value of each run for a comparison with single runs; absent if a run lacks it.
    pub(crate) fn past(&self, value: impl Fn(&PastRun) -> Option<f64>) -> Option<Past> {
        self.runs.iter().map(value).collect::<Option<Vec<f64>>>().map(Past::new)
    }

    /// Returns the time from the first to the last start, in seconds.
    pub(crate) fn span_s(&self) -> f64 {
        self.ends_s().map_or(0.0, |(first, last)| last - first)
    }

    /// Returns the time from these runs to the nearest start of an earlier one, in seconds; 0 if they began among them.
    pub(crate) fn apart_s(&self, starts: impl Iterator<Item = f64> + Clone) -> f64 {
        let (first, last) = self.ends_s().unwrap_or_default();
        let after = starts.clone().fold(f64::MAX, f64::min) - last;
        let before = first - starts.fold(f64::MIN, f64::max);
        after.max(before).max(0.0)
    }

    fn ends_s(&self) -> Option<(f64, f64)> {
        let start = |run: Option<&PastRun>| run.and_then(|run| seconds(&run.start_utc));
        start(self.runs.first()).zip(start(self.runs.last()))
    }
}

/// How much a value of successive runs varies, and whether it changed.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Variation {
    /// Geometric mean over runs; absent if a run has no such value above 0.
    pub mean: Option<f64>,
    /// Standard deviation between runs, relative to the mean, from that of the logarithms; absent for one run.
    pub between_runs: Option<f64>,
    /// Its 95 % interval, which assumes that runs are independent; absent for fewer than five runs.
    pub between_runs_interval: Option<Interval>,
    /// Correlation of successive runs, from -1 to 1; absent for fewer than five runs.
    pub successive: Option<f64>,
    /// The change that a single run must show, as a ratio above 1; absent if the runs are too few for any.
    pub needed: Option<f64>,
    /// Where the value changed from one run to the next; absent if that is not shown.
    pub step: Option<Step>,
    /// Where the value changes with time; absent if that is not shown.
    pub trend: Option<Trend>,
}

impl Variation {
    /// Computes it from runs in order of time.
    pub(crate) fn new(runs: &[Valued<'_>]) -> Self {
        let logarithm = |(_, value): &Valued<'_>| (*value > 0.0).then(|| value.ln());
        let logarithms: Option<Vec<f64>> = runs.iter().map(logarithm).collect();
        let long = || logarithms.as_ref().filter(|values| values.len() >= 5);
        let past = logarithms.clone().map(Past::new);
        Self {
            mean: logarithms.as_ref().and_then(|values| mean(values)).map(f64::exp),
            between_runs: logarithms.as_ref().and_then(|values| deviation(values)).map(relative),
            between_runs_interval: long().and_then(|values| relative_interval(values)),
            successive: long().and_then(|values| correlation(values)),
            needed: past.filter(|_| runs.len() >= FEWEST).and_then(|past| past.needed()),
            step: Step::find(runs),
            trend: Trend::find(runs),
        }
    }
}

/// Returns the seconds since 1970 of a time stamp; absent if it is none.
pub(crate) fn seconds(utc: &str) -> Option<f64> {
    let time: jiff::Timestamp = utc.parse().ok()?;
    Some(time.as_microsecond() as f64 / 1e6)
}

/// Returns the 95 % interval of the deviation relative to the mean of values with these logarithms.
fn relative_interval(logarithms: &[f64]) -> Option<Interval> {
    let Interval { low, high } = deviation_interval(logarithms)?;
    Some(Interval { low: relative(low), high: relative(high) })
}

/// Returns the 95 % interval of a standard deviation for any shape of the distribution (Bonett 2006), by the fourth
/// moment around a mean without the outermost values. Absent where nothing varies.
fn deviation_interval(values: &[f64]) -> Option<Interval> {
    let n = values.len() as f64;
    let deviation = deviation(values).filter(|found| *found > 0.0)?;
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let cut = (n / (2.0 * (n - 4.0).sqrt())).floor() as usize;
    let cut = cut.min((values.len() - 1) / 2);
    let middle = mean(&sorted[cut..sorted.len() - cut])?;
    let fourth: f64 = values.iter().map(|value| (value - middle).powi(4)).sum();
    let square = deviation * deviation * (n - 1.0);
    let kurtosis = n * fourth / (square * square);
    let small = n / (n - NORMAL);
    let error = small * ((kurtosis - (n - 3.0) / n).max(0.0) / (n - 1.0)).sqrt();
    let end = |sign: f64| deviation * (0.5 * (small.ln() + sign * NORMAL * error)).exp();
    Some(Interval { low: end(-1.0), high: end(1.0) })
}

/// Returns the correlation of successive values; absent if they do not vary.
fn correlation(values: &[f64]) -> Option<f64> {
    let [products, squares] = successive(values);
    (squares > 0.0).then(|| products / squares)
}

/// Returns the names of the settings that are not the same in all runs.
fn changed<'a>(runs: impl Iterator<Item = &'a BTreeMap<String, String>>) -> Vec<String> {
    let runs: Vec<&BTreeMap<String, String>> = runs.collect();
    let names: BTreeSet<&String> = runs.iter().flat_map(|settings| settings.keys()).collect();
    let differs =
        |name: &&String| runs.iter().any(|settings| settings.get(*name) != runs[0].get(*name));
    names.into_iter().filter(differs).cloned().collect()
}

/// Returns what makes the result of a run doubtful.
#[must_use]
pub fn flaws(run: &Run) -> Vec<&'static str> {
    let kept = run.kept_after_stop().and(run.stop_on.as_ref());
    let waited_for = |what| kept.is_some_and(|stop| stop.condition.awaited() == what);
    let all = [
        (run.state != RunState::Complete, "ended early"),
        (run.cpus.iter().any(|cpu| cpu.lost_detours > 0), "lost detours"),
        (
            Account::from_run(run).is_some_and(|account| account.lacks_events()),
            "lacks events of the program",
        ),
        (run.clock.rate_is_wrong(), "has a counter whose rate is wrong"),
        (waited_for(DETOUR), "is only the part before the detour that it waited for"),
        (waited_for(WAKE_UP), "is only the part before the wake-up that it waited for"),
    ];
    all.into_iter().filter(|(is_so, _)| *is_so).map(|(_, what)| what).collect()
}

/// Returns whether a source is below the kernel, so that a change of the system hardly affects it. What slows work down
/// without interrupting it may be the system's: a program on another hardware thread of the core.
pub(crate) fn is_beneath(source: &str) -> bool {
    sources::VM_OR_HARDWARE.is(source)
}

/// Returns the noise of what is below the kernel of a guest; absent on bare metal and without attribution.
pub(crate) fn beneath(run: &Run, summary: &Summary) -> Option<f64> {
    let sources = summary.sources.as_ref().filter(|_| run.machine.hypervisor.is_some())?;
    let rows = sources.rows.iter().filter(|row| is_beneath(&row.source));
    Some(rows.map(|row| row.noise).sum())
}

#[cfg(test)]
pub(crate) mod tests;
