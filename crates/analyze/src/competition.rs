//! Whether something else had the measured CPUs for so long that the machine was at work, not idle.

use crate::coverage::CounterReadings;
use crate::readings::summarize;
use crate::sources::SourceRow;
use crate::summary::Summary;
use crate::suspects::Suspect;
use anechoic_recording::{Policy, Problem, Recording, Run, sources};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Share of the time from which on other programs are at work, and not a disturbance.
const AT_WORK: f64 = 0.2;
/// The counter of the time for which the measuring threads waited for their CPUs.
const VICTIM_WAITED: &str = "victim/run_delay_ns";

/// What had the CPUs instead of the loops, as a share of the time.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Competition {
    /// Other programs, by the kernel's events.
    Programs(f64),
    /// Anything for which the loops had to wait, by the kernel's account of them: other threads, or a CPU quota.
    Waiting(f64),
}

/// Returns what had the CPUs in a run, if that is most of what was lost and a large part of the time.
#[must_use]
pub fn competition(summary: &Summary) -> Option<Competition> {
    let run = &summary.run;
    let rows = summary.sources.as_ref().map(|sources| &sources.rows[..]);
    let suspects = summary.suspects.as_deref().unwrap_or_default();
    let loops = Loops { policy: &run.policy, program: run.program.is_some(), cpus: run.cpus.len() };
    loops.competition(summary.total.noise, rows, suspects)
}

/// Returns what had the CPUs in a run of which there is no summary. Its detours are read only where the kernel's account of
/// the waiting loops lets that be, or where there is none.
///
/// # Errors
///
/// Those of [`summarize`].
pub fn competition_in(recording: &Recording) -> Result<Option<Competition>, Problem> {
    let run = recording.run();
    if run.program.is_some() || run.policy.is_fifo() {
        return Ok(None);
    }
    // The account is of the whole run, and what a run keeps at its end may be another matter.
    let is_whole = run.stop_on.as_ref().is_none_or(|stop| stop.kept.is_none());
    match waited(&CounterReadings::read(recording)?, run).filter(|_| is_whole) {
        // While something else had a CPU, its loop waited. The account is read a little later than the loops begin.
        Some(part) if part < AT_WORK / 2.0 => Ok(None),
        _ => Ok(competition(&summarize(recording)?)),
    }
}

/// Returns the share of the time in which loops waited, a mean over all measured CPUs; absent where that of one is unknown.
fn waited(readings: &CounterReadings, run: &Run) -> Option<f64> {
    let is_measured = |cpu: u32| run.cpus.iter().any(|measured| measured.cpu == cpu);
    let accounts: Vec<f64> = readings
        .all()
        .filter(|(name, cpu, [first, last])| {
            *name == VICTIM_WAITED && is_measured(*cpu) && last.ticks > first.ticks
        })
        .map(|(_, _, [first, last])| {
            let between_ns = run.clock.ns(last.ticks - first.ticks);
            last.value.saturating_sub(first.value) as f64 / between_ns.max(1) as f64
        })
        .collect();
    (accounts.len() == run.cpus.len()).then(|| accounts.iter().sum::<f64>() / accounts.len() as f64)
}

/// Returns the same from the parts of a summary: the noise, and the sources of a run or, without them, the counters that
/// increased.
pub(crate) fn competition_of(
    run: &Run,
    noise: f64,
    rows: Option<&[SourceRow]>,
    suspects: &[Suspect],
) -> Option<Competition> {
    let loops = Loops { policy: &run.policy, program: run.program.is_some(), cpus: run.cpus.len() };
    loops.competition(noise, rows, suspects)
}

/// How the loops of a run measured.
struct Loops<'a> {
    policy: &'a Policy,
    program: bool,
    cpus: usize,
}

impl Loops<'_> {
    fn competition(
        &self,
        noise: f64,
        rows: Option<&[SourceRow]>,
        suspects: &[Suspect],
    ) -> Option<Competition> {
        if self.program || self.policy.is_fifo() {
            return None;
        }
        let (part, kind) = match rows {
            Some(rows) => {
                let part = lost_to_programs(rows) * noise;
                (part, Competition::Programs(part))
            }
            None => {
                let part = self.waited(suspects)?;
                (part, Competition::Waiting(part))
            }
        };
        (part > 0.5 * noise && part >= AT_WORK).then_some(kind)
    }

    /// Returns the share of the time in which the loops could run and did not, a mean over all measured CPUs.
    fn waited(&self, suspects: &[Suspect]) -> Option<f64> {
        let waited = suspects.iter().find(|suspect| suspect.counter == VICTIM_WAITED)?;
        Some(waited.time_share? * waited.cpus.len() as f64 / self.cpus as f64)
    }
}

/// Returns the share of the lost time that the threads of programs took.
fn lost_to_programs(rows: &[SourceRow]) -> f64 {
    let threads = rows.iter().filter(|row| {
        sources::THREAD.is(&row.source)
            && row.threads.iter().any(|thread| is_program(&row.name, thread.command.as_deref()))
    });
    threads.map(|row| row.share).sum()
}

/// Returns whether a thread of this name, with this command of its process, belongs to a program.
fn is_program(name: &str, command: Option<&str>) -> bool {
    match command {
        Some(command) => !command.is_empty(),
        // Of a thread that had ended, the process is unknown. Of the kernel's threads, only these come and go.
        None => !name.starts_with("kworker/"),
    }
}
