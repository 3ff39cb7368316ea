//! Communicators: which handles of different ranks mean the same one, and which ranks it has.

use super::steps::{How, Made, RankTrace, Used};
use crate::schedule::bad;
use anechoic_recording::Problem;
use std::collections::HashMap;
use std::sync::Arc;

/// A communicator of several ranks.
#[derive(Debug, Clone)]
pub(super) struct Communicator {
    /// Its ranks in order; absent if it has all, in the order of their own numbers.
    pub(super) members: Option<Arc<[u32]>>,
}

/// The communicators of all traces.
#[derive(Debug)]
pub(super) struct Communicators {
    /// All of them.
    pub(super) all: Vec<Communicator>,
    /// For each rank: those that it numbers 0, 1 and so on, by their places in `all`.
    pub(super) known: Vec<Vec<u32>>,
}

/// What makes a communicator the same at all of its ranks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Key {
    /// It has all ranks, and no call made it: it is the first one like that, the second one, and so on.
    Whole(u32),
    /// It has one rank.
    Single(u32),
    /// It was made from this one by the call with this number, for this color.
    Made { from: u32, call: u32, color: i64 },
}

/// What is known of a communicator that was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Known {
    /// Not yet which one it is.
    No,
    /// It is this one.
    Yes(u32),
    /// The rank got none, or the trace does not have its ranks.
    Never,
}

/// Which of the communicators that were made another one is.
#[derive(Debug, Clone, Copy)]
enum Candidate {
    /// None of them.
    None,
    /// That is not known yet.
    Later,
    /// It is this communicator, and the one that was made at this place.
    Is(u32, usize),
}

/// What is known at a rank.
#[derive(Debug)]
struct AtRank {
    /// The communicators in the order of use, as far as they are known.
    bound: Vec<u32>,
    /// Which of those that were made each of them is.
    made_by: Vec<Option<usize>>,
    /// Those that were made, as far as they are known.
    made: Vec<Known>,
    /// Number of communicators that no call made.
    whole: u32,
    /// How many were made from each.
    calls: HashMap<u32, u32>,
    /// The number of each call that made one, among those that made some from the same.
    numbers: Vec<Option<u32>>,
}

/// Colors and keys of the ranks that split a communicator, by their places in it.
type Splits = HashMap<(u32, u32), HashMap<u32, (i64, i64)>>;

/// Finds the communicators.
struct Finder<'a> {
    traces: &'a [RankTrace],
    all: Vec<Communicator>,
    keys: HashMap<Key, u32>,
    splits: Splits,
}

impl Communicators {
    /// Finds out which communicators the traces use.
    ///
    /// # Errors
    /// A trace does not have the ranks of a communicator that it uses, or a file is missing.
    pub(super) fn find(traces: &[RankTrace]) -> Result<Self, Problem> {
        let mut finder =
            Finder { traces, all: vec![], keys: HashMap::new(), splits: HashMap::new() };
        let mut ranks: Vec<AtRank> = traces.iter().map(AtRank::new).collect();
        let mut goes_on = true;
        while goes_on {
            goes_on = false;
            for (rank, at) in ranks.iter_mut().enumerate() {
                goes_on |= finder.advance(rank as u32, at)?;
            }
        }
        for (trace, at) in traces.iter().zip(&ranks) {
            if let Some(used) = trace.communicators.get(at.bound.len()) {
                return Err(unknown(trace, used));
            }
        }
        let known = ranks.into_iter().map(|at| at.bound).collect();
        Ok(Self { all: finder.all, known })
    }
}

impl Communicators {
    /// Returns the rank that is at a place of a communicator.
    pub(super) fn rank(&self, communicator: u32, place: u32) -> u32 {
        let members = &self.all[communicator as usize].members;
        members.as_ref().map_or(place, |members| members[place as usize])
    }

    /// Returns whether a communicator has a rank.
    pub(super) fn contains(&self, communicator: u32, rank: u32) -> bool {
        let members = &self.all[communicator as usize].members;
        members.as_ref().is_none_or(|members| members.contains(&rank))
    }
}

/// Returns the error of a communicator whose ranks are not in the trace.
fn unknown(trace: &RankTrace, used: &Used) -> Problem {
    let ranks = used.ranks;
    let why = format!("the trace does not have the ranks of this communicator of {ranks} ranks");
    let remedy = "communicators are known if they have all ranks, or if MPI_Comm_dup or MPI_Comm_split made them";
    trace.problem(used.line, bad(why, remedy))
}

/// Returns the error of a communicator that one of two calls made.
fn ambiguous((first, second): (u32, u32)) -> Problem {
    let why =
        format!("the trace does not have whether line {first} or {second} made this communicator");
    bad(why, "call MPI_Comm_rank with each new communicator before the next one is made")
}

impl AtRank {
    fn new(trace: &RankTrace) -> Self {
        let made = trace.made.len();
        Self {
            bound: vec![],
            made_by: vec![],
            made: vec![Known::No; made],
            whole: 0,
            calls: HashMap::new(),
            numbers: vec![None; made],
        }
    }
}

impl Finder<'_> {
    /// Finds out more about the communicators of a rank, and returns whether it did.
    fn advance(&mut self, rank: u32, at: &mut AtRank) -> Result<bool, Problem> {
        let trace = &self.traces[rank as usize];
        let mut goes_on = false;
        while let Some(used) = trace.communicators.get(at.bound.len()) {
            let Some((number, made)) = self.bind(rank, at, used)? else { break };
            at.bound.push(number);
            at.made_by.push(made);
            self.count_calls(rank, at);
            goes_on = true;
        }
        for place in 0..at.made.len() {
            if at.made[place] == Known::No {
                at.made[place] = self.made(at, place, &trace.made[place]);
                goes_on |= at.made[place] != Known::No;
            }
        }
        Ok(goes_on)
    }

    /// Returns which communicator this is, and which of those that were made, if that is known by now.
    fn bind(
        &mut self,
        rank: u32,
        at: &mut AtRank,
        used: &Used,
    ) -> Result<Option<(u32, Option<usize>)>, Problem> {
        let trace = &self.traces[rank as usize];
        let before = before(trace, at, used);
        if let Some(before) = before.filter(|&before| self.is(at.bound[before], rank, used)) {
            return Ok(Some((at.bound[before], at.made_by[before])));
        }
        match self.made_as(rank, at, used)? {
            Candidate::None => {}
            Candidate::Later => return Ok(None),
            Candidate::Is(number, place) => return Ok(Some((number, Some(place)))),
        }
        let ranks = self.traces.len() as u32;
        let key = match (used.rank, used.ranks) {
            (own, all) if all == ranks && own == rank => {
                at.whole += 1;
                Key::Whole(at.whole - 1)
            }
            (_, 1) => Key::Single(rank),
            // Nobody asks which one it is.
            _ if !used.communicates => Key::Single(rank),
            (_, more) if more > ranks => {
                let why = format!("a communicator has {more} ranks, and there are {ranks} traces");
                return Err(trace.problem(used.line, bad(why, "copy the traces of all ranks")));
            }
            (own, all) if all == ranks && at.bound.is_empty() => {
                let why =
                    format!("this is the trace of rank {own}, and its name is that of {rank}");
                return Err(trace.problem(used.line, bad(why, "give the files their own names")));
            }
            _ => return Err(unknown(trace, used)),
        };
        let members = matches!(key, Key::Single(_)).then(|| Arc::from([rank]));
        Ok(Some((self.number(key, members), None)))
    }

    /// Returns which of the communicators that were made this is.
    ///
    /// # Errors
    /// It may be several, and they have other ranks.
    fn made_as(&self, rank: u32, at: &AtRank, used: &Used) -> Result<Candidate, Problem> {
        let trace = &self.traces[rank as usize];
        let mut found = Candidate::None;
        for (place, made) in trace.made.iter().enumerate() {
            let is_other = made.line >= used.line
                || at.made_by.contains(&Some(place))
                || is_released(trace, made, made.line, used.line);
            match (at.made[place], found) {
                _ if is_other => {}
                (Known::No, _) => return Ok(Candidate::Later),
                (Known::Yes(number), Candidate::None) if self.is(number, rank, used) => {
                    found = Candidate::Is(number, place);
                }
                (Known::Yes(number), Candidate::Is(first, before))
                    if self.is(number, rank, used)
                        && self.all[number as usize].members
                            != self.all[first as usize].members =>
                {
                    let lines = (trace.made[before].line, made.line);
                    return Err(trace.problem(used.line, ambiguous(lines)));
                }
                _ => {}
            }
        }
        Ok(found)
    }

    /// Returns whether a communicator has this number of ranks, and this one at its place.
    fn is(&self, number: u32, rank: u32, used: &Used) -> bool {
        match &self.all[number as usize].members {
            Some(members) => {
                members.len() == used.ranks as usize && members[used.rank as usize] == rank
            }
            None => self.traces.len() == used.ranks as usize && used.rank == rank,
        }
    }

    /// Returns the number of a communicator, which is new if there is none with this key.
    fn number(&mut self, key: Key, members: Option<Arc<[u32]>>) -> u32 {
        *self.keys.entry(key).or_insert_with(|| {
            self.all.push(Communicator { members });
            (self.all.len() - 1) as u32
        })
    }

    /// Numbers the calls that made communicators from those that are known, and notes colors and keys.
    fn count_calls(&mut self, rank: u32, at: &mut AtRank) {
        let trace = &self.traces[rank as usize];
        for (place, made) in trace.made.iter().enumerate() {
            let Some(&from) = at.bound.get(made.from as usize) else { return };
            if at.numbers[place].is_some() {
                continue;
            }
            let calls = at.calls.entry(from).or_default();
            at.numbers[place] = Some(*calls);
            if let How::Split { color, key } = made.how {
                let own = trace.communicators[made.from as usize].rank;
                self.splits.entry((from, *calls)).or_default().insert(own, (color, key));
            }
            *calls += 1;
        }
    }

    /// Returns which communicator was made, if that is known by now.
    fn made(&mut self, at: &AtRank, place: usize, made: &Made) -> Known {
        let (Some(call), Some(&from)) = (at.numbers[place], at.bound.get(made.from as usize))
        else {
            return Known::No;
        };
        let members = self.all[from as usize].members.clone();
        match made.how {
            How::Unknown => Known::Never,
            How::Same => Known::Yes(self.number(Key::Made { from, call, color: 0 }, members)),
            How::Split { color, .. } if color < 0 => Known::Never,
            How::Split { color, .. } => {
                let ranks = members.as_ref().map_or(self.traces.len(), |members| members.len());
                let split = &self.splits[&(from, call)];
                if split.len() < ranks {
                    return Known::No;
                }
                let mut same: Vec<(i64, u32)> = split
                    .iter()
                    .filter(|(_, (other, _))| *other == color)
                    .map(|(&own, &(_, key))| (key, own))
                    .collect();
                same.sort_unstable();
                let rank = |own: u32| members.as_ref().map_or(own, |all| all[own as usize]);
                let new: Arc<[u32]> = same.into_iter().map(|(_, own)| rank(own)).collect();
                Known::Yes(self.number(Key::Made { from, call, color }, Some(new)))
            }
        }
    }
}

/// Returns the earlier use of the same communicator: the same handle, which was not given up in between.
fn before(trace: &RankTrace, at: &AtRank, used: &Used) -> Option<usize> {
    let same = |before: &Used| {
        (before.handle, before.rank, before.ranks) == (used.handle, used.rank, used.ranks)
    };
    let place = trace.communicators[..at.bound.len()].iter().rposition(same)?;
    let since = trace.communicators[place].line;
    let was_released = at.made_by[place]
        .is_some_and(|made| is_released(trace, &trace.made[made], since, used.line));
    (!was_released).then_some(place)
}

/// Returns whether a communicator was given up between two lines.
fn is_released(trace: &RankTrace, made: &Made, since: u32, until: u32) -> bool {
    let mut lines = trace.released.iter();
    lines.any(|&(line, address)| address == made.address && since <= line && line < until)
}
