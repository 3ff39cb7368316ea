//! What formats hold of a recording of wake-ups.

use super::Export;
use super::prometheus::{Family, Kind as Metric, NAMED, OTHER, Sample, bare, gauge};
use crate::results::wakeup::kinds;
use anechoic_analyze::wakeup::{Causes, Kind, Latencies, WakeSource, wakeup};
use anechoic_analyze::{Progress, Wakeup, folded};
use anechoic_recording::options::Answers;
use anechoic_recording::run::CpuRun;
use anechoic_recording::{Problem, Recording, Sample as WakeUp, Series, Stint};
use std::collections::BTreeMap;

/// The wake-ups of a file: those whose latency is reported.
#[derive(Debug, Clone)]
pub(super) struct Wakeups {
    /// Their kind; absent if all kinds are in one file.
    pub(super) kind: Option<Kind>,
    /// Number of all.
    pub(super) number: u64,
    /// Each series by its number.
    series: BTreeMap<u32, Series>,
}

impl Wakeups {
    fn read(recording: &Recording) -> Result<Self, Problem> {
        let known = recording.series()?;
        let number = known.iter().map(|(_, outcome)| outcome.samples).sum();
        let reported = |series: &Series| !series.parameters.events_off;
        let series = known.into_iter().map(|(series, _)| series).filter(reported);
        let series = series.map(|series| (series.series, series)).collect();
        Ok(Self { kind: None, number, series })
    }

    fn kinds(&self) -> Vec<Kind> {
        let sleeps = self.series.values().filter_map(|series| series.parameters.sleep);
        let mut kinds: Vec<Kind> = sleeps.map(|sleep| Kind::from(&sleep)).collect();
        kinds.sort_unstable();
        kinds.dedup();
        kinds
    }

    /// Returns the series of a wake-up if it is one of them.
    fn series(&self, sample: &WakeUp) -> Option<&Series> {
        let series = self.series.get(&sample.series)?;
        let kind = Kind::from(&series.parameters.sleep?);
        (self.kind.is_none_or(|only| only == kind)).then_some(series)
    }
}

impl<'a> Export<'a> {
    /// Returns the wake-ups of a recording, or of these of its CPUs, as one file.
    pub(super) fn of_wakeups(
        recording: &'a Recording,
        cpus: Option<&[u32]>,
        answers: &'a Answers,
        progress: &'a dyn Fn(Progress),
    ) -> Result<Self, Problem> {
        let loops = (recording.loops()?, None);
        let whole = Self::bare(recording, loops, cpus, answers, progress)?;
        Ok(whole.with_wakeups(Wakeups::read(recording)?))
    }

    /// Returns each kind of wake-ups as a file of its own.
    pub(super) fn by_kind(self) -> Result<Vec<Self>, Problem> {
        let Some(all) = &self.wakeups else { return Ok(vec![self]) };
        let kinds = all.kinds();
        if kinds.len() < 2 {
            let wakeups = Wakeups { kind: kinds.first().copied(), ..all.clone() };
            return Ok(vec![self.with_wakeups(wakeups)]);
        }
        let of_kind = |kind: Kind| {
            let whole =
                Self::of_wakeups(self.recording, Some(&self.cpus), self.answers, self.progress)?;
            Ok(whole.with_wakeups(Wakeups { kind: Some(kind), ..all.clone() }))
        };
        kinds.into_iter().map(of_kind).collect()
    }

    /// Returns the kind of its wake-ups; absent for detours, and for several kinds.
    pub(super) fn kind(&self) -> Option<Kind> {
        self.wakeups.as_ref()?.kind
    }

    /// Returns what the name of its file ends with before the extension: the kind of its wake-ups if there are others.
    #[must_use]
    pub fn suffix(&self) -> String {
        let Some(wakeups) = &self.wakeups else { return String::new() };
        let kinds = wakeups.kinds();
        let name = wakeups.kind.and_then(|kind| kinds::name(kind, &kinds));
        let name = name.map(|name| name.replace(", ", "-").replace(' ', "-").replace('µ', "u"));
        name.map(|name| format!("-{name}")).unwrap_or_default()
    }

    /// Passes start and length in ticks of each detour of a CPU to `each`, in time order; or those of its wake-ups.
    pub(super) fn lengths(
        &self,
        cpu: (&CpuRun, &[Stint]),
        mut each: impl FnMut(u64, u64) -> Result<(), Problem>,
    ) -> Result<(), Problem> {
        let Some(wakeups) = &self.wakeups else {
            return self.bare_detours(cpu, |detour| each(detour.start_ticks, detour.lost_ticks));
        };
        for sample in self.recording.rows_of_cpu::<WakeUp>(cpu.0.cpu).each() {
            let sample = sample?;
            self.count(wakeups.number);
            if wakeups.series(&sample).is_some() {
                each(sample.start_ticks, sample.end_ticks.saturating_sub(sample.start_ticks))?;
            }
        }
        Ok(())
    }

    /// Returns the series of the wake-ups on a CPU.
    pub(super) fn series_of(&self, cpu: u32) -> Option<&Series> {
        let wakeups = self.wakeups.as_ref()?;
        let is_one = |series: &&Series| {
            let kind = series.parameters.sleep.map(|sleep| Kind::from(&sleep));
            series.cpu == Some(cpu) && (wakeups.kind.is_none() || wakeups.kind == kind)
        };
        wakeups.series.values().find(is_one)
    }

    /// Returns the result of its wake-ups; absent for detours.
    pub(super) fn found_wakeups(&self) -> Result<Option<Wakeup>, Problem> {
        self.wakeups.as_ref().map(|_| wakeup(self.recording)).transpose()
    }
}

/// Returns the metrics of wake-ups.
pub(super) fn families(found: &Wakeup, per_cpu: bool) -> Vec<Family> {
    let rows: Vec<&Latencies> = match per_cpu {
        true => found.rows.iter().filter(|row| row.cpu.is_some()).collect(),
        false => found.whole().collect(),
    };
    let each = |value: fn(&Latencies) -> Vec<Sample>| {
        rows.iter().flat_map(|row| with_kind(row, per_cpu, value(row))).collect()
    };
    let limit = vec![bare(found.late_ns as f64 / 1e9)];
    let mut families = vec![
        Family {
            kind: Metric::Summary,
            ..gauge(
                "anechoic_wakeup_latency_seconds",
                "From the programmed expiry of a timer until its thread ran.",
                each(latencies),
            )
        },
        gauge("anechoic_wakeup_late_limit_seconds", "A wake-up that took longer is late.", limit),
        gauge(
            "anechoic_late_wakeups",
            "Number of late wake-ups.",
            each(|row| vec![bare(row.late as f64)]),
        ),
        gauge(
            "anechoic_late_wakeup_ratio",
            "Share of the wake-ups that were late.",
            each(|row| {
                let share = (row.samples > 0).then(|| row.late as f64 / row.samples as f64);
                share.map(bare).into_iter().collect()
            }),
        ),
        gauge(
            "anechoic_late_wakeup_interval_ratio",
            "Bounds of anechoic_late_wakeup_ratio, each with a probability of 95 %.",
            each(bounds),
        ),
        gauge(
            "anechoic_wakeup_overruns",
            "Number of expiries that passed before a thread could sleep again.",
            each(|row| vec![bare(row.overruns as f64)]),
        ),
        gauge(
            "anechoic_lost_wakeups",
            "Number of wake-ups that were measured and not stored.",
            each(|row| vec![bare(row.lost as f64)]),
        ),
    ];
    families.extend(found.causes.iter().flat_map(by_source));
    families
}

/// Adds the labels of a row.
fn with_kind(row: &Latencies, per_cpu: bool, samples: Vec<Sample>) -> Vec<Sample> {
    let mut labels = vec![
        ("interval_seconds", (row.interval_ns as f64 / 1e9).to_string()),
        ("idle", crate::results::wakeup::idle(row.shallow)),
    ];
    labels.extend(row.cpu.filter(|_| per_cpu).map(|cpu| ("cpu", cpu.to_string())));
    let with =
        |sample: Sample| Sample { labels: [labels.clone(), sample.labels].concat(), ..sample };
    samples.into_iter().map(with).collect()
}

fn latencies(row: &Latencies) -> Vec<Sample> {
    let known = [
        ("0", row.min_ns),
        ("0.5", row.p50_ns),
        ("0.99", row.p99_ns),
        ("0.999", row.p999_ns),
        ("1", row.max_ns),
    ];
    let quantile = |(quantile, ns): (&str, Option<f64>)| {
        Some(Sample { labels: vec![("quantile", quantile.into())], ..bare(ns? / 1e9) })
    };
    let number = Sample { suffix: "_count", ..bare(row.samples as f64) };
    known.into_iter().filter_map(quantile).chain([number]).collect()
}

fn bounds(row: &Latencies) -> Vec<Sample> {
    let bounds = row.late_share.iter().flat_map(|share| [("low", share.low), ("high", share.high)]);
    bounds
        .map(|(bound, value)| Sample { labels: vec![("bound", bound.into())], ..bare(value) })
        .collect()
}

/// Returns the share of each source in the time of all wake-ups and of the late ones: the sources by name that took most, and
/// all others together.
fn by_source(causes: &Causes) -> [Family; 2] {
    let all = named(causes, |source| Some(source.share));
    let late = named(causes, |source| source.share_late);
    [
        gauge(
            "anechoic_wakeup_source_ratio",
            "Share of the time of all wake-ups that a source took, by name: the 20 that took most, and all others.",
            all,
        ),
        gauge(
            "anechoic_late_wakeup_source_ratio",
            "Share of the time of late wake-ups that a source took, by name: the 20 that took most, and all others.",
            late,
        ),
    ]
}

fn named(causes: &Causes, share: fn(&WakeSource) -> Option<f64>) -> Vec<Sample> {
    let mut sums: BTreeMap<(&str, String), f64> = BTreeMap::new();
    for source in &causes.sources {
        let Some(share) = share(source) else { return vec![] };
        *sums.entry((&source.source, folded(&source.source, &source.name))).or_default() += share;
    }
    let mut sums: Vec<_> = sums.into_iter().collect();
    sums.sort_by(|a, b| b.1.total_cmp(&a.1));
    let rest: f64 = sums.split_off(sums.len().min(NAMED)).into_iter().map(|(_, share)| share).sum();
    let other = ((OTHER, String::new()), rest);
    let all = sums.into_iter().chain([other]);
    let labels = |source: &str, name| vec![("source", source.to_owned()), ("name", name)];
    all.map(|((source, name), share)| Sample { labels: labels(source, name), ..bare(share) })
        .collect()
}
