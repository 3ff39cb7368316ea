//! What formats hold of a recording of wake-ups.

use super::Export;
use crate::results::wakeup::kinds;
use anechoic_analyze::wakeup::{Kind, wakeup};
use anechoic_analyze::{Progress, Wakeup};
use anechoic_recording::options::Answers;
use anechoic_recording::run::CpuRun;
use anechoic_recording::{Problem, Recording, Sample as WakeUp, Series, Stint};
use std::collections::BTreeMap;

/// The wake-ups of a file: those whose latency is reported.
#[derive(Debug, Clone)]
pub(in crate::export) struct Wakeups {
    /// Their kind; absent if all kinds are in one file.
    pub(in crate::export) kind: Option<Kind>,
    /// Number of all.
    pub(in crate::export) number: u64,
    /// Each series by its number, with the number of its wake-ups that were lost.
    series: BTreeMap<u32, (Series, u64)>,
}

impl Wakeups {
    fn read(recording: &Recording) -> Result<Self, Problem> {
        let known = recording.series()?;
        let number =
            known.iter().fold(0_u64, |sum, (_, outcome)| sum.saturating_add(outcome.samples));
        let reported = |series: &Series| !series.parameters.events_off;
        let series = known.into_iter().filter(|(series, _)| reported(series));
        let series =
            series.map(|(series, outcome)| (series.series, (series, outcome.lost))).collect();
        Ok(Self { kind: None, number, series })
    }

    fn kinds(&self) -> Vec<Kind> {
        let sleeps = self.series.values().filter_map(|(series, _)| series.parameters.sleep);
        let mut kinds: Vec<Kind> = sleeps.map(|sleep| Kind::from(&sleep)).collect();
        kinds.sort_unstable();
        kinds.dedup();
        kinds
    }

    /// Returns the series of a wake-up if it is one of them.
    fn series(&self, sample: &WakeUp) -> Option<&Series> {
        let (series, _) = self.series.get(&sample.series)?;
        let kind = Kind::from(&series.parameters.sleep?);
        (self.kind.is_none_or(|only| only == kind)).then_some(series)
    }
}

impl<'a> Export<'a> {
    /// Returns the wake-ups of a recording, or of these of its CPUs, as one file.
    pub(in crate::export) fn from_wakeups(
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
    pub(in crate::export) fn by_kind(self) -> Result<Vec<Self>, Problem> {
        let Some(all) = &self.wakeups else { return Ok(vec![self]) };
        let kinds = all.kinds();
        if kinds.len() < 2 {
            let wakeups = Wakeups { kind: kinds.first().copied(), ..all.clone() };
            return Ok(vec![self.with_wakeups(wakeups)]);
        }
        let mut files = Vec::new();
        for kind in kinds {
            let whole =
                Self::from_wakeups(self.recording, Some(&self.cpus), self.answers, self.progress)?;
            files.push(whole.with_wakeups(Wakeups { kind: Some(kind), ..all.clone() }));
        }
        Ok(files)
    }

    /// Returns the kind of its wake-ups; absent for detours, and for several kinds.
    pub(in crate::export) fn kind(&self) -> Option<Kind> {
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
    pub(in crate::export) fn lengths(
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

    /// Returns each series of the wake-ups on a CPU, with the number of its wake-ups that were lost.
    fn all_series_of(&self, cpu: u32) -> impl Iterator<Item = &(Series, u64)> {
        let kind = |series: &Series| series.parameters.sleep.map(|sleep| Kind::from(&sleep));
        let only = self.kind();
        let all = self.wakeups.iter().flat_map(|wakeups| wakeups.series.values());
        all.filter(move |(series, _)| {
            series.cpu == Some(cpu) && (only.is_none() || only == kind(series))
        })
    }

    /// Returns the first series of the wake-ups on a CPU.
    pub(in crate::export) fn series_of(&self, cpu: u32) -> Option<&Series> {
        self.all_series_of(cpu).next().map(|(series, _)| series)
    }

    /// Returns the number of wake-ups of a CPU that were measured and not stored.
    pub(in crate::export) fn lost_wakeups(&self, cpu: u32) -> u64 {
        self.all_series_of(cpu).map(|(_, lost)| lost).sum()
    }

    /// Returns the result of its wake-ups; absent for detours.
    pub(in crate::export) fn found_wakeups(&self) -> Result<Option<Wakeup>, Problem> {
        self.wakeups.as_ref().map(|_| wakeup(self.recording)).transpose()
    }
}
