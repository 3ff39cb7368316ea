//! Writes detours, their events and losses, some at a time.

use crate::clock::Clock;
use crate::problem::Problem;
use crate::recorder::Recorder;
use crate::rows::{Detour, KernelEvent, Loss, LossKind, Name};
use crate::run::Run;
use crate::trace::Missed;

/// Rows that are written at once.
const ROWS: usize = 64 << 10;

/// What is known of a CPU.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct CpuSums {
    pub(super) detours: u64,
    /// Number of events that were lost, each of which may have been a detour.
    pub(super) lost: u64,
    /// End of its last detour.
    reached: u64,
}

/// The recording in progress.
pub(super) struct Sink {
    recorder: Recorder,
    clock: Clock,
    start: u64,
    end: u64,
    shortest: u64,
    at: u32,
    cpu: CpuSums,
    detours: Vec<Detour>,
    events: Vec<KernelEvent>,
    losses: Vec<Loss>,
}

impl Sink {
    pub(super) fn new(recorder: Recorder, run: &Run) -> Self {
        let (clock, start) = (run.clock.clone(), run.start_ticks);
        let (at, cpu, shortest) = (0, CpuSums::default(), u64::MAX);
        let (detours, events, losses) = (vec![], vec![], vec![]);
        Self { recorder, clock, start, end: start, shortest, at, cpu, detours, events, losses }
    }

    /// Begins the rows of a CPU.
    pub(super) fn begin(&mut self, cpu: u32) {
        (self.at, self.cpu) = (cpu, CpuSums { reached: self.start, ..CpuSums::default() });
    }

    pub(super) fn cpu(&self) -> CpuSums {
        self.cpu
    }

    /// Returns the CPU whose rows are written.
    pub(super) fn at(&self) -> u32 {
        self.at
    }

    /// Converts nanoseconds to ticks.
    pub(super) fn ticks(&self, ns: u64) -> u64 {
        self.clock.ticks(ns)
    }

    pub(super) fn start_ticks(&self) -> u64 {
        self.start
    }

    pub(super) fn end_ticks(&self) -> u64 {
        self.end
    }

    /// Returns the shortest detour of all CPUs.
    pub(super) fn shortest_ticks(&self) -> u64 {
        self.shortest
    }

    /// Notes a time until which the trace reaches.
    pub(super) fn reaches(&mut self, ticks: u64) {
        self.end = self.end.max(ticks);
    }

    /// Returns the end of the last detour of the CPU.
    pub(super) fn reached(&self) -> u64 {
        self.cpu.reached
    }

    /// Adds a detour that begins after the one before, with its events in time order.
    pub(super) fn add(
        &mut self,
        (start_ticks, end_ticks): (u64, u64),
        events: &[KernelEvent],
    ) -> Result<(), Problem> {
        if start_ticks < self.cpu.reached || end_ticks <= start_ticks {
            return Ok(());
        }
        self.detours.push(Detour { cpu: self.at, start_ticks, end_ticks });
        self.events.extend_from_slice(events);
        (self.cpu.reached, self.cpu.detours) = (end_ticks, self.cpu.detours + 1);
        self.shortest = self.shortest.min(end_ticks - start_ticks);
        self.reaches(end_ticks);
        if self.detours.len().max(self.events.len()) >= ROWS { self.write() } else { Ok(()) }
    }

    /// Notes events that were lost between two instants; returns whether any were.
    pub(super) fn missed(&mut self, missed: Missed, from: u64, to: u64) -> Result<bool, Problem> {
        let count = match missed {
            Missed::Nothing => return Ok(false),
            Missed::Count(count) => count,
            Missed::Unknown => 0,
        };
        self.cpu.lost = self.cpu.lost.saturating_add(count.max(1));
        for what in [LossKind::Events, LossKind::Detours] {
            let (start_ticks, end_ticks) = (from.min(to), to);
            self.losses.push(Loss { what, cpu: self.at, start_ticks, end_ticks, count });
        }
        if self.losses.len() >= ROWS {
            self.write()?;
        }
        Ok(true)
    }

    fn write(&mut self) -> Result<(), Problem> {
        self.recorder.append(&self.detours)?;
        self.recorder.append(&self.events)?;
        self.recorder.append(&self.losses)?;
        self.detours.clear();
        self.events.clear();
        self.losses.clear();
        Ok(())
    }

    pub(super) fn names(&mut self, names: &[Name]) -> Result<(), Problem> {
        self.write()?;
        Ok(self.recorder.append(names)?)
    }

    pub(super) fn finish(mut self, run: &Run) -> Result<(), Problem> {
        self.write()?;
        Ok(self.recorder.finish(run)?)
    }
}
