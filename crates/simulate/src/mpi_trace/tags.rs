//! The tags of simulated messages.

use super::communicators::Communicators;
use super::handles::Peer;
use super::steps::{Message, RankTrace};
use crate::schedule::bad;
use anechoic_recording::Problem;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Tags from here on are not those of the program.
const OURS: u32 = 1 << 30;

/// What messages must have in common to match, besides their ranks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Label {
    /// A tag of the program.
    Tag(u32),
    /// Any: their receiver asks for no tag.
    Any,
    /// They belong to a collective operation.
    Collective,
}

/// The tags of simulated messages: messages of different communicators, and those of collective operations, must not
/// match.
#[derive(Debug, Default)]
pub(super) struct Tags {
    numbers: HashMap<(u32, Label), u32>,
    /// For receivers that ask for any tag, and their communicators, what all messages to them have.
    labels: HashMap<(u32, u32), Label>,
}

/// How a rank receives the messages of a communicator.
#[derive(Debug, Default)]
struct Receives {
    /// The first line that asks for any tag.
    any: Option<u32>,
    /// Whether others ask for a tag.
    named: bool,
}

impl Tags {
    /// Finds out which receivers ask for any tag.
    ///
    /// # Errors
    /// A rank asks for any tag in one place and for some in others, and is sent several.
    pub(super) fn find(
        traces: &[RankTrace],
        communicators: &Communicators,
    ) -> Result<Self, Problem> {
        let mut receives: BTreeMap<(u32, u32), Receives> = BTreeMap::new();
        each(traces, communicators, |rank, communicator, line, message, sends| {
            if !sends {
                let receives = receives.entry((rank, communicator)).or_default();
                match message.tag {
                    Some(_) => receives.named = true,
                    None => receives.any = receives.any.or(Some(line)),
                }
            }
        });
        receives.retain(|_, receives| receives.any.is_some());
        let mut sent: BTreeMap<(u32, u32), BTreeSet<u32>> = BTreeMap::new();
        if receives.values().any(|receives| receives.named) {
            each(traces, communicators, |_, communicator, _, message, sends| {
                if let (true, Peer::Rank(to), Some(tag)) = (sends, message.peer, message.tag) {
                    let to = communicators.rank(communicator, to);
                    sent.entry((to, communicator)).or_default().insert(tag);
                }
            });
        }
        let mut labels = HashMap::new();
        for (key, Receives { any, named }) in receives {
            let tags = sent.get(&key).filter(|_| named);
            let label = match (named, tags.map(|tags| (tags.first(), tags.len()))) {
                (false, _) => Label::Any,
                (true, Some((Some(&tag), 1))) => Label::Tag(tag),
                (true, None | Some((None, _))) => Label::Tag(0),
                (true, Some(_)) => {
                    let why = "the rank receives any tag here and some tags elsewhere: the trace does not have which message it was";
                    let problem = bad(why, "trace the program with a tag in this receive");
                    return Err(traces[key.0 as usize].problem(any.unwrap_or(0), problem));
                }
            };
            labels.insert(key, label);
        }
        Ok(Self { numbers: HashMap::new(), labels })
    }

    /// Returns the tag of a message to a traced rank; `tag` is absent for any.
    pub(super) fn message(&mut self, to: u32, communicator: u32, tag: Option<u32>) -> u32 {
        let label = match (self.labels.get(&(to, communicator)), tag) {
            (Some(Label::Any), _) | (None, None) => Label::Any,
            (Some(&label), None) => label,
            (_, Some(tag)) => Label::Tag(tag),
        };
        self.number(communicator, label)
    }

    /// Returns the tag of the messages of collective operations.
    pub(super) fn collective(&mut self, communicator: u32) -> u32 {
        self.number(communicator, Label::Collective)
    }

    /// Returns the number of a label: that of the program for the first communicator, if it is none of ours.
    fn number(&mut self, communicator: u32, label: Label) -> u32 {
        match label {
            Label::Tag(tag) if communicator == 0 && tag < OURS => tag,
            label => {
                let next = OURS + self.numbers.len() as u32;
                *self.numbers.entry((communicator, label)).or_insert(next)
            }
        }
    }
}

/// Calls `take` for each message: rank, communicator, line, message, and whether it is sent.
fn each(
    traces: &[RankTrace],
    communicators: &Communicators,
    mut take: impl FnMut(u32, u32, u32, &Message, bool),
) {
    for (rank, trace) in traces.iter().enumerate() {
        let known = &communicators.known[rank];
        for step in &trace.steps {
            for (message, sends) in step.what.messages() {
                if message.peer != Peer::Nobody {
                    let communicator = known[message.communicator as usize];
                    take(rank as u32, communicator, step.line, message, sends);
                }
            }
        }
    }
}
