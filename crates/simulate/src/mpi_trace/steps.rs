//! What one rank did, step after step.

use super::collectives::Meeting;
use super::handles::Peer;
use anechoic_recording::Problem;

/// A message of a rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Message {
    pub(super) peer: Peer,
    pub(super) bytes: u64,
    /// Its tag; absent for `MPI_ANY_TAG`.
    pub(super) tag: Option<u32>,
    /// The number of its communicator in the trace of the rank.
    pub(super) communicator: u32,
}

/// What a call does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum What {
    /// Sends, and waits until it may go on.
    Send(Message),
    /// Sends, and does not wait.
    Buffer(Message),
    /// Receives.
    Receive(Message),
    /// Sends one message and receives the other.
    Exchange(Box<[Message; 2]>),
    /// Begins to send or receive. The first of these has number 0, and so on.
    Begin { sends: bool, message: Message },
    /// Waits for those messages that were begun.
    End(Vec<u32>),
    /// Takes part in a collective operation.
    Meet(Box<Meeting>),
}

impl What {
    /// Returns the messages between two ranks, and whether they are sent.
    pub(super) fn messages(&self) -> impl Iterator<Item = (&Message, bool)> {
        let (sent, received) = match self {
            Self::Send(message) | Self::Buffer(message) => (Some(message), None),
            Self::Receive(message) => (None, Some(message)),
            Self::Begin { sends: true, message } => (Some(message), None),
            Self::Begin { sends: false, message } => (None, Some(message)),
            Self::Exchange(both) => (Some(&both[0]), Some(&both[1])),
            Self::End(_) | Self::Meet(_) => (None, None),
        };
        let sent = sent.into_iter().map(|message| (message, true));
        sent.chain(received.into_iter().map(|message| (message, false)))
    }
}

/// A call that communicates.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Step {
    /// Its line in the file, from 1.
    pub(super) line: u32,
    /// How long the rank computed before it, in ns.
    pub(super) before_ns: u64,
    /// What it does.
    pub(super) what: What,
}

/// A communicator as a rank knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Used {
    /// Its handle.
    pub(super) handle: i64,
    /// The rank in it.
    pub(super) rank: u32,
    /// The number of its ranks.
    pub(super) ranks: u32,
    /// The line where it is used first since the last communicator was given up.
    pub(super) line: u32,
    /// Whether a call that communicates uses it.
    pub(super) communicates: bool,
}

/// A communicator that was made. The trace has the address of its handle, not the handle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Made {
    /// The line of the call.
    pub(super) line: u32,
    /// The communicator that it was made from, by its number in the trace.
    pub(super) from: u32,
    /// Where its handle is.
    pub(super) address: u64,
    /// How it was made.
    pub(super) how: How,
}

/// How a communicator was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum How {
    /// It has the same ranks.
    Same,
    /// It has the ranks of the same color, sorted by key.
    Split { color: i64, key: i64 },
    /// The trace does not have its ranks.
    Unknown,
}

/// The trace of a rank.
#[derive(Debug, Default)]
pub(super) struct RankTrace {
    /// The name of its file.
    pub(super) file: String,
    /// The calls that communicate.
    pub(super) steps: Vec<Step>,
    /// How long it computed after the last of them, in ns.
    pub(super) after_ns: u64,
    /// The communicators.
    pub(super) communicators: Vec<Used>,
    /// Those that were made.
    pub(super) made: Vec<Made>,
    /// Those that were given up: lines, and addresses of handles.
    pub(super) released: Vec<(u32, u64)>,
    /// Number of calls from `MPI_Init` to `MPI_Finalize`.
    pub(super) calls: u64,
    /// Number of those that do not communicate.
    pub(super) local_calls: u64,
    /// Number of calls that end messages which the trace does not name.
    pub(super) unclear_calls: u64,
    /// Number of messages that nothing waits for.
    pub(super) lost_messages: u64,
    /// Time from the end of `MPI_Init` to the start of `MPI_Finalize`, in ns.
    pub(super) traced_ns: u64,
}

impl RankTrace {
    /// Returns how long the rank computed, in ns.
    pub(super) fn computation_ns(&self) -> u64 {
        self.steps.iter().map(|step| step.before_ns).sum::<u64>() + self.after_ns
    }

    /// Returns an error about a line of this trace.
    pub(super) fn problem(&self, line: u32, problem: Problem) -> Problem {
        problem.about(format_args!("{}: line {line}", self.file))
    }
}
