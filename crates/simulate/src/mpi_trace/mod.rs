//! Traces of MPI programs, as liballprof of LogGOPSim writes them: what each rank did becomes a schedule.

mod agreement;
mod build;
mod calls;
mod collectives;
mod communicators;
mod files;
mod handles;
mod line;
mod rank;
mod requests;
mod steps;
mod tags;
mod values;

use crate::schedule::{Schedule, bad};
use anechoic_recording::Problem;
use communicators::Communicators;
use schemars::JsonSchema;
use serde::Serialize;
use std::path::Path;
use steps::RankTrace;
use tags::Tags;

/// The largest number of ranks.
const MOST_RANKS: u64 = 1 << 28;

/// What was read from the traces of a program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct TracedFacts {
    /// Number of ranks that were traced.
    pub ranks: u32,
    /// How often they are simulated: above 1, the job is extrapolated.
    pub copies: u32,
    /// Number of calls of all ranks.
    pub calls: u64,
    /// Number of those that do not communicate. Their time counts as computation.
    pub local_calls: u64,
    /// The longest time of a rank from the end of `MPI_Init` to the start of `MPI_Finalize`, in ns.
    pub traced_ns: u64,
    /// Time between calls that communicate, in ns: the mean of all ranks.
    pub computation_ns: u64,
    /// Number of calls that end messages without naming them: `MPI_Waitany`, `MPI_Test` and their like.
    pub unclear_calls: u64,
    /// Number of messages that were begun without blocking and for which nothing waits.
    pub lost_messages: u64,
}

/// Returns the schedule of a program whose ranks were traced, with the traced ranks `copies` times. `directory` has a file
/// for each rank.
///
/// # Errors
/// A file is missing, damaged or from another program, or a call is not simulated.
pub fn read(directory: &Path, copies: u32) -> Result<(Schedule, TracedFacts), Problem> {
    read_all(directory, copies).map_err(|problem| problem.about(directory.display()))
}

fn read_all(directory: &Path, copies: u32) -> Result<(Schedule, TracedFacts), Problem> {
    let files = files::find(directory)?;
    if files.len() as u64 * u64::from(copies) > MOST_RANKS {
        let why = format!("{copies} copies of {} ranks are too many", files.len());
        return Err(bad(why, "extrapolate by a smaller factor"));
    }
    let traces: Vec<RankTrace> =
        files.iter().map(|file| rank::read(file)).collect::<Result<_, _>>()?;
    let communicators = Communicators::find(&traces)?;
    agreement::check(&traces, &communicators)?;
    let mut tags = Tags::find(&traces, &communicators)?;
    let schedule = build::schedule(&traces, &communicators, &mut tags, copies)?;
    Ok((schedule, TracedFacts::new(&traces, copies)))
}

impl TracedFacts {
    /// Returns what a reader of the simulation should know.
    pub(crate) fn notes(&self) -> Vec<String> {
        let mut notes = vec![
            "the computation of a trace already contains the noise of the machine where it was traced; the slowdown is by the added noise alone"
                .to_owned(),
        ];
        if self.copies > 1 {
            notes.push(format!(
                "extrapolated: {} copies of the {} traced ranks compute and exchange messages as these did, each among themselves; only collective operations of all ranks join them",
                self.copies, self.ranks
            ));
        }
        if self.unclear_calls > 0 {
            notes.push(format!(
                "{} calls like MPI_Test and MPI_Waitany end messages that the trace does not name: each message ends at the last of them that names its request, and time between them counts as computation",
                self.unclear_calls
            ));
        }
        if self.lost_messages > 0 {
            notes.push(format!(
                "nothing in the trace waits for {} messages: the program did not, or it copied their requests, and the simulation is then too fast",
                self.lost_messages
            ));
        }
        notes
    }

    fn new(traces: &[RankTrace], copies: u32) -> Self {
        let sum = |value: fn(&RankTrace) -> u64| traces.iter().map(value).sum::<u64>();
        let computed = traces.iter().map(|trace| u128::from(trace.computation_ns())).sum::<u128>();
        Self {
            ranks: traces.len() as u32,
            copies,
            calls: sum(|trace| trace.calls),
            local_calls: sum(|trace| trace.local_calls),
            traced_ns: traces.iter().map(|trace| trace.traced_ns).max().unwrap_or(0),
            computation_ns: (computed / traces.len().max(1) as u128) as u64,
            unclear_calls: sum(|trace| trace.unclear_calls),
            lost_messages: sum(|trace| trace.lost_messages),
        }
    }
}
