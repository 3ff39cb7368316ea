//! Which message a receive gets: by rank, tag and order, as MPI defines it.

use crate::schedule::{ANY_RANK, ANY_TAG};

/// No entry.
const NONE: u32 = u32::MAX;

/// A receive that waits for its message, or a message that waits for its receive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Entry {
    /// The rank that sends, or any.
    pub(crate) from: u32,
    /// The tag, or any.
    pub(crate) tag: u32,
    /// The receive, or the sender's operation.
    pub(crate) operation: u32,
    next: u32,
    /// When the CPU had received the message, in ps; 0 for a receive.
    pub(crate) received_ps: u64,
}

impl Entry {
    /// Returns an entry that is in no list.
    pub(crate) fn new(from: u32, tag: u32, operation: u32, received_ps: u64) -> Self {
        Self { from, tag, operation, next: NONE, received_ps }
    }
}

/// A list of entries, the oldest first.
#[derive(Debug, Clone, Copy)]
struct List {
    first: u32,
    last: u32,
}

/// What waits on all ranks: receives without messages, and messages without receives.
#[derive(Debug)]
pub(crate) struct Matching {
    entries: Vec<Entry>,
    /// Entries that can be used again.
    free: u32,
    /// For each rank, its receives and its messages.
    lists: Vec<[List; 2]>,
}

/// Which of the two lists of a rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Waiting {
    /// Receives that wait for their messages.
    Receives,
    /// Messages that wait for their receives.
    Messages,
}

impl Matching {
    /// Returns empty lists for this many ranks.
    pub(crate) fn new(ranks: u32) -> Self {
        let empty = List { first: NONE, last: NONE };
        Self { entries: vec![], free: NONE, lists: vec![[empty; 2]; ranks as usize] }
    }

    /// Adds an entry to a rank's list.
    pub(crate) fn add(&mut self, rank: u32, list: Waiting, entry: Entry) {
        let place = match self.entries.get_mut(self.free as usize) {
            Some(unused) => {
                let place = self.free;
                self.free = std::mem::replace(unused, entry).next;
                place
            }
            None => {
                self.entries.push(entry);
                (self.entries.len() - 1) as u32
            }
        };
        let list = &mut self.lists[rank as usize][list as usize];
        match list.last {
            NONE => list.first = place,
            last => self.entries[last as usize].next = place,
        }
        list.last = place;
    }

    /// Takes the oldest entry out of a rank's list that matches this rank and tag.
    pub(crate) fn take(&mut self, rank: u32, list: Waiting, from: u32, tag: u32) -> Option<Entry> {
        let list = &mut self.lists[rank as usize][list as usize];
        let (mut before, mut place) = (NONE, list.first);
        while place != NONE {
            let entry = self.entries[place as usize];
            let same_rank = entry.from == from || entry.from == ANY_RANK || from == ANY_RANK;
            if same_rank && (entry.tag == tag || entry.tag == ANY_TAG || tag == ANY_TAG) {
                match before {
                    NONE => list.first = entry.next,
                    before => self.entries[before as usize].next = entry.next,
                }
                if list.last == place {
                    list.last = before;
                }
                self.entries[place as usize].next = self.free;
                self.free = place;
                return Some(entry);
            }
            (before, place) = (place, entry.next);
        }
        None
    }

    /// Returns what waits on a rank, the oldest first.
    pub(crate) fn waiting(&self, rank: u32, list: Waiting) -> impl Iterator<Item = Entry> {
        let first = self.lists[rank as usize][list as usize].first;
        let entry = |place: u32| self.entries.get(place as usize).copied();
        std::iter::successors(entry(first), move |before| entry(before.next))
    }

    /// Returns a number that depends on a rank's lists, so that they are in the cache.
    #[inline]
    pub(crate) fn touch(&self, rank: u32) -> u32 {
        self.lists[rank as usize][0].first
    }

    /// Returns the receive that waits longest on a rank.
    #[inline]
    pub(crate) fn oldest_receive(&self, rank: u32) -> Option<u32> {
        let first = self.lists[rank as usize][0].first;
        self.entries.get(first as usize).map(|entry| entry.operation)
    }
}
