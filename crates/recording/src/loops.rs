//! Which loops ran on the measured CPUs and when, and what part of their gaps is the loop itself.

use crate::methods;
use crate::problem::{Problem, ProblemKind};
use crate::recording::Recording;
use crate::run::{CpuRun, Run};
use crate::stint::Stint;

/// For each measured CPU, in the order of [`Run::cpus`], the stints in which gaps were recorded.
#[derive(Debug, Clone, Default)]
pub struct Loops {
    by_cpu: Vec<Vec<Stint>>,
    threshold_ticks: u64,
    some_unwatched: bool,
}

impl Loops {
    /// Returns the measured CPUs of `run`, each with its stints in time order.
    pub fn by_cpu<'a>(&'a self, run: &'a Run) -> impl Iterator<Item = (&'a CpuRun, &'a [Stint])> {
        run.cpus.iter().zip(self.by_cpu.iter().map(Vec::as_slice))
    }

    /// Returns all stints, CPU by CPU.
    pub fn stints(&self) -> impl Iterator<Item = &Stint> {
        self.by_cpu.iter().flatten()
    }

    /// Returns the highest threshold of any loop, in ticks: every longer gap of every loop is stored.
    #[must_use]
    pub fn threshold_ticks(&self) -> u64 {
        self.threshold_ticks
    }

    /// Returns whether a CPU ran loops without recording gaps in any of them, so that its lost time is
    /// unknown.
    #[must_use]
    pub fn some_cpu_unwatched(&self) -> bool {
        self.some_unwatched
    }
}

impl Recording {
    /// Reads when loops ran that recorded gaps, on all measured CPUs.
    ///
    /// # Errors
    /// Fails if the recording has only counts by length, or if a table is damaged.
    pub fn loops(&self) -> Result<Loops, Problem> {
        let run = self.run();
        if methods::COUNTED.contains(&&*run.method) {
            return Err(without_times(self));
        }
        let series = if methods::WHOLE.contains(&&*run.method) { vec![] } else { self.series()? };
        let mut some_unwatched = false;
        let mut watched_of = |cpu: &CpuRun| {
            let mut stints = self.stints_among(cpu, &series);
            let any = !stints.is_empty();
            stints.retain(|stint| stint.watched); // whole samples are attributed only if no stint was watched
            some_unwatched |= any && stints.is_empty();
            stints
        };
        let by_cpu: Vec<Vec<Stint>> = run.cpus.iter().map(&mut watched_of).collect();
        let highest = by_cpu.iter().flatten().map(|stint| stint.threshold_ticks).max();
        let threshold_ticks = highest.unwrap_or(run.threshold_ticks);
        Ok(Loops { by_cpu, threshold_ticks, some_unwatched })
    }
}

/// Returns an error: what was requested needs the time of each detour.
fn without_times(recording: &Recording) -> Problem {
    let why =
        "it has only counts by length, which another tool made: when each detour was is not known";
    let remedy = "`anechoic summary` shows the counts; `anechoic run` records the times";
    ProblemKind::NoVerdict.problem(why, remedy).about(recording.dir().display())
}
