//! When which loops ran on the measured CPUs, and what of their gaps is themselves.

use crate::error::AnalyzeError;
use anechoic_recording::run::CpuRun;
use anechoic_recording::{Recording, Run, Stint};

/// The watched stints of each measured CPU, in the order of [`Run::cpus`].
#[derive(Debug, Clone, Default)]
pub struct Loops {
    by_cpu: Vec<Vec<Stint>>,
    threshold_ticks: u64,
}

impl Loops {
    /// Those of a recording.
    ///
    /// # Errors
    /// [`AnalyzeError::NotWatched`] where on a CPU whole samples alone tell when a loop was interrupted, and
    /// [`AnalyzeError::Read`].
    pub fn of(recording: &Recording) -> Result<Self, AnalyzeError> {
        let cpus = recording.run().cpus.iter();
        let mut by_cpu = cpus.map(|cpu| recording.stints(cpu)).collect::<Result<Vec<_>, _>>()?;
        for stints in &mut by_cpu {
            let any = !stints.is_empty();
            stints.retain(|stint| stint.watched); // beside those, whole samples are not attributed
            if any && stints.is_empty() {
                return Err(AnalyzeError::NotWatched { dir: recording.dir().to_owned() });
            }
        }
        let highest = by_cpu.iter().flatten().map(|stint| stint.threshold_ticks).max();
        let threshold_ticks = highest.unwrap_or(recording.run().threshold_ticks);
        Ok(Self { by_cpu, threshold_ticks })
    }

    /// The measured CPUs of `run`, each with its stints in time order.
    pub fn by_cpu<'a>(&'a self, run: &'a Run) -> impl Iterator<Item = (&'a CpuRun, &'a [Stint])> {
        run.cpus.iter().zip(self.by_cpu.iter().map(Vec::as_slice))
    }

    /// Every longer gap of any loop is stored, in ticks: the highest threshold.
    #[must_use]
    pub fn threshold_ticks(&self) -> u64 {
        self.threshold_ticks
    }

    /// Time of the loops of that CPU which had the most, in ticks.
    #[must_use]
    pub(crate) fn longest_wall_ticks(&self) -> u64 {
        self.by_cpu.iter().map(|stints| wall_ticks(stints)).max().unwrap_or(0)
    }

    /// CPU, start and end of each stint; of a detours run that was cut off, without an end.
    pub(crate) fn windows(&self, run: &Run) -> Vec<(u32, u64, u64)> {
        let windows = self.by_cpu(run).flat_map(|(cpu, stints)| {
            let cut_off = |stint: &Stint| stint.series.is_none() && cpu.iterations == 0;
            stints.iter().map(move |stint| {
                let end = if cut_off(stint) { u64::MAX } else { stint.last_ticks };
                (cpu.cpu, stint.first_ticks, end)
            })
        });
        windows.collect()
    }

    /// From the first start to the last end of all series: between them their CPUs had events of
    /// their own. `None` of a detours run, where a CPU has events as long as its loop runs.
    pub(crate) fn span_ticks(&self) -> Option<u64> {
        let series = || self.by_cpu.iter().flatten().filter(|stint| stint.series.is_some());
        let first = series().map(|stint| stint.first_ticks).min()?;
        let last = series().map(|stint| stint.last_ticks).max()?;
        Some(last.saturating_sub(first))
    }
}

/// Time in these stints, in ticks.
pub(crate) fn wall_ticks(stints: &[Stint]) -> u64 {
    let lengths = stints.iter().map(|stint| stint.last_ticks.saturating_sub(stint.first_ticks));
    lengths.fold(0, u64::saturating_add)
}
