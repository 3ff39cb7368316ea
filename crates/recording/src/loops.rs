//! When which loops ran on the measured CPUs, and what of their gaps is the loop itself.

use crate::methods;
use crate::problem::Problem;
use crate::recording::Recording;
use crate::run::{CpuRun, Run};
use crate::stint::Stint;

/// The stints of each measured CPU in which gaps were watched, in the order of [`Run::cpus`].
#[derive(Debug, Clone, Default)]
pub struct Loops {
    by_cpu: Vec<Vec<Stint>>,
    threshold_ticks: u64,
    some_unwatched: bool,
}

impl Loops {
    /// The measured CPUs of `run`, each with its stints in time order.
    pub fn by_cpu<'a>(&'a self, run: &'a Run) -> impl Iterator<Item = (&'a CpuRun, &'a [Stint])> {
        run.cpus.iter().zip(self.by_cpu.iter().map(Vec::as_slice))
    }

    /// All stints, CPU by CPU.
    pub fn stints(&self) -> impl Iterator<Item = &Stint> {
        self.by_cpu.iter().flatten()
    }

    /// The highest threshold of any loop, in ticks: every longer gap of every loop is stored.
    #[must_use]
    pub fn threshold_ticks(&self) -> u64 {
        self.threshold_ticks
    }

    /// Whether some CPU ran loops and the gaps of none of them were watched: its lost time is not known.
    #[must_use]
    pub fn some_cpu_unwatched(&self) -> bool {
        self.some_unwatched
    }
}

impl Recording {
    /// Reads when loops ran whose gaps were watched, on all measured CPUs.
    ///
    /// # Errors
    /// A table is damaged.
    pub fn loops(&self) -> Result<Loops, Problem> {
        let run = self.run();
        let series = if run.method == methods::DETOURS { vec![] } else { self.series()? };
        let mut some_unwatched = false;
        let mut watched_of = |cpu: &CpuRun| {
            let mut stints = self.stints_among(cpu, &series);
            let any = !stints.is_empty();
            stints.retain(|stint| stint.watched); // beside those, whole samples are not attributed
            some_unwatched |= any && stints.is_empty();
            stints
        };
        let by_cpu: Vec<Vec<Stint>> = run.cpus.iter().map(&mut watched_of).collect();
        let highest = by_cpu.iter().flatten().map(|stint| stint.threshold_ticks).max();
        let threshold_ticks = highest.unwrap_or(run.threshold_ticks);
        Ok(Loops { by_cpu, threshold_ticks, some_unwatched })
    }
}
