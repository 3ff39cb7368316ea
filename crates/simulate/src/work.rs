//! What is simulated: a schedule, or a pattern round by round.

use crate::ask::{Ask, Source};
use crate::engine::{Costs, Model, Outcome, Progress, simulate_at};
use crate::mpi_trace::{self, TracedFacts};
use crate::noise::Noise;
use crate::parameters::{PS, Parameters};
use crate::patterns::{Job, Pattern, find};
use crate::schedule::Schedule;
use crate::size::Size;
use crate::{goal, rounds};
use anechoic_recording::{Problem, ProblemKind};

/// What is simulated.
#[derive(Debug)]
pub(crate) enum Work {
    /// Operations one by one.
    Schedule(Schedule),
    /// A pattern round by round, without a schedule.
    Rounds(&'static Pattern, Job),
}

impl Work {
    /// Prepares what is asked for. Returns also what was traced.
    ///
    /// # Errors
    /// A file cannot be read or is malformed, there is no such pattern, or the job is too large.
    pub(crate) fn read(ask: &Ask) -> Result<(Self, Option<TracedFacts>), Problem> {
        let work = match &ask.source {
            Source::Trace(directory, copies) => {
                let (schedule, traced) = mpi_trace::read(directory, *copies)?;
                return Ok((Self::Schedule(schedule), Some(traced)));
            }
            Source::Goal(file) => Self::Schedule(goal::read(file)?),
            Source::Pattern(name, job) => {
                let unknown = || {
                    ProblemKind::Usage.problem(format!("there is no pattern {name}"), "see --help")
                };
                let pattern = find(name).ok_or_else(unknown)?;
                match ask.model {
                    Model::Rounds => pattern.check(job).map(|()| Self::Rounds(pattern, *job))?,
                    _ => Self::Schedule(pattern.schedule(job)?),
                }
            }
        };
        Ok((work, None))
    }

    /// Returns how much it is.
    pub(crate) fn size(&self) -> Size {
        match self {
            Self::Schedule(schedule) => Size {
                ranks: schedule.ranks(),
                cpus: schedule.cpus(),
                operations: schedule.len() as u64,
                messages: schedule.messages(),
                bytes: schedule.bytes(),
                longest_ns: schedule.longest_ns(),
            },
            Self::Rounds(pattern, job) => pattern.measure(job),
        }
    }

    /// Returns the schedule, if there is one.
    pub(crate) fn schedule(&self) -> Option<&Schedule> {
        match self {
            Self::Schedule(schedule) => Some(schedule),
            Self::Rounds(..) => None,
        }
    }

    /// Returns a note if messages keep CPUs busy for longer than ranks compute: round by round, they then come earlier or
    /// later than message by message.
    pub(crate) fn inaccuracy(&self, parameters: &Parameters) -> Option<String> {
        let Self::Rounds(pattern, job) = self else { return None };
        let bytes = pattern.longest_message(job).saturating_sub(1);
        let per_byte_ps = parameters.gap_per_byte_ps.max(parameters.overhead_per_byte_ps);
        let usual_ps = parameters.latency_ps + parameters.overhead_ps;
        let is_long = bytes.saturating_mul(per_byte_ps) > usual_ps.max(job.grain_ns * PS);
        is_long.then(|| {
            "messages take longer than the computations between them: round by round this is inaccurate, and without \
             --model rounds it is not"
                .to_owned()
        })
    }

    /// Simulates it once.
    ///
    /// # Errors
    /// As [`simulate`](crate::simulate).
    pub(crate) fn simulate(
        &self,
        costs: Costs<'_>,
        noise: &mut Noise,
        progress: Progress<'_>,
    ) -> Result<Outcome, Problem> {
        match self {
            Self::Schedule(schedule) => simulate_at(costs, schedule, noise, progress),
            Self::Rounds(pattern, job) => {
                rounds::simulate(pattern, job, &costs.parameters, noise, progress)
            }
        }
    }
}
