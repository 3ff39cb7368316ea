//! What each rank does: sends, receives and computations, and what each of them waits for.

mod build;

pub use build::Builder;
pub(crate) use build::bad;

/// A receive from any rank.
pub const ANY_RANK: u32 = u32::MAX;
/// A message with any tag.
pub const ANY_TAG: u32 = u32::MAX;
/// More operations than this are refused: the highest bit of their numbers marks edges.
pub(crate) const MOST_OPERATIONS: usize = (ON_START - 1) as usize;
/// Marks a dependency on the start of an operation, not on its end.
pub(crate) const ON_START: u32 = 1 << 31;
/// The longest computation, in ns: 13 days.
pub(crate) const LONGEST_NS: u64 = 1 << 50;
/// The longest message, in bytes: 64 GiB.
pub(crate) const LONGEST_BYTES: u64 = 1 << 36;
/// Computations below this many ns are stored in the operation itself.
const SHORT_NS: u64 = u32::MAX as u64;
/// The duration of a computation that is stored in the operation itself.
const IN_OPERATION: u64 = u64::MAX;

/// What an operation does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Kind {
    /// Sends a message.
    Send,
    /// Receives a message.
    Receive,
    /// Computes.
    Compute,
}

/// What many operations have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Shape {
    /// What the operation does.
    pub(crate) kind: Kind,
    /// Length of the message in bytes, or of the computation in ns.
    pub(crate) size: u64,
    /// Tag of the message.
    pub(crate) tag: u32,
    /// The CPU of the rank that does it.
    pub(crate) cpu: u8,
    /// The network interface of the rank.
    pub(crate) nic: u8,
}

/// An operation of a rank. Operations are known by their numbers within their rank, from 0.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Operation {
    /// The other rank, or the duration of a short computation in ns.
    pub(crate) peer: u32,
    /// Its shape, by number.
    pub(crate) shape: u32,
}

/// The words of an operation: peer, shape, and where the list of those that wait for it begins.
const WORDS: usize = 3;

/// Where what belongs to a rank begins.
#[derive(Debug, Clone, Copy, Default, Hash)]
struct Place {
    /// Its first operation among those of all ranks.
    operation: u32,
    /// Its first dependency among those of all ranks.
    edge: u32,
}

/// The operations of all ranks.
#[derive(Debug, Clone, Hash)]
pub struct Schedule {
    /// For each rank its operations, and then the lists of those that wait for them: what an event needs is near.
    words: Vec<u32>,
    shapes: Vec<Shape>,
    /// Where each rank begins, and where all end.
    places: Vec<Place>,
    cpus: u8,
    nics: u8,
    messages: u64,
    bytes: u64,
    longest_ns: u64,
}

impl Schedule {
    /// Returns the number of ranks.
    #[must_use]
    pub fn ranks(&self) -> u32 {
        (self.places.len() - 1) as u32
    }

    /// Returns the number of operations of all ranks.
    #[must_use]
    pub fn len(&self) -> usize {
        self.places[self.places.len() - 1].operation as usize
    }

    /// Returns whether no rank does anything.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the number of CPUs of each rank: the highest that an operation names, and those below it.
    #[must_use]
    pub fn cpus(&self) -> usize {
        usize::from(self.cpus) + 1
    }

    /// Returns the number of network interfaces of each rank.
    #[must_use]
    pub fn nics(&self) -> usize {
        usize::from(self.nics) + 1
    }

    /// Returns the number of messages.
    #[must_use]
    pub fn messages(&self) -> u64 {
        self.messages
    }

    /// Returns the bytes of all messages.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns the number of operations of a rank.
    pub(crate) fn count(&self, rank: u32) -> u32 {
        self.places[rank as usize + 1].operation - self.places[rank as usize].operation
    }

    /// Returns the number of an operation among those of all ranks.
    #[inline]
    pub(crate) fn number(&self, rank: u32, operation: u32) -> usize {
        (self.places[rank as usize].operation + operation) as usize
    }

    /// Returns the place of a rank's first word.
    #[inline]
    fn begin(&self, rank: u32) -> usize {
        let Place { operation, edge } = self.places[rank as usize];
        WORDS * operation as usize + edge as usize
    }

    /// Returns an operation.
    #[inline]
    pub(crate) fn operation(&self, rank: u32, operation: u32) -> Operation {
        let words = &self.words[self.begin(rank) + WORDS * operation as usize..][..WORDS];
        Operation { peer: words[0], shape: words[1] }
    }

    /// Returns the shape with this number. The size of a short computation stands in the operation instead.
    #[inline]
    pub(crate) fn shape(&self, number: u32) -> Shape {
        self.shapes[number as usize]
    }

    /// Returns the shape of an operation, with the duration of a computation.
    #[inline]
    pub(crate) fn whole_shape(&self, Operation { peer, shape }: Operation) -> Shape {
        let mut shape = self.shape(shape);
        if shape.size == IN_OPERATION && shape.kind == Kind::Compute {
            shape.size = u64::from(peer);
        }
        shape
    }

    /// Returns those of the same rank that wait for an operation: numbers, marked by [`ON_START`] if they wait for its
    /// start only.
    #[inline]
    pub(crate) fn dependants(&self, rank: u32, operation: u32) -> &[u32] {
        let begin = self.begin(rank);
        let count = self.count(rank);
        let edges = begin + WORDS * count as usize;
        let first = self.words[begin + WORDS * operation as usize + 2] as usize;
        let end = match operation + 1 < count {
            true => edges + self.words[begin + WORDS * (operation as usize + 1) + 2] as usize,
            false => self.begin(rank + 1),
        };
        &self.words[edges + first..end]
    }

    /// Returns the first operation that waits for this one, if both exist.
    #[inline]
    pub(crate) fn first_dependant(&self, rank: u32, operation: u32) -> Option<u32> {
        let exists = operation < self.count(rank);
        exists.then(|| self.dependants(rank, operation).first().copied()).flatten()
    }

    /// Returns the longest computation, in ns.
    pub(crate) fn longest_ns(&self) -> u64 {
        self.longest_ns
    }

    /// Calls `take` for each operation with how many others it waits for.
    pub(crate) fn each_wait(&self, mut take: impl FnMut(usize, u32)) {
        let mut waits = vec![];
        for rank in 0..self.ranks() {
            let count = self.count(rank) as usize;
            waits.clear();
            waits.resize(count, 0);
            let edges = &self.words[self.begin(rank) + WORDS * count..self.begin(rank + 1)];
            edges.iter().for_each(|edge| waits[(edge & !ON_START) as usize] += 1);
            let first = self.number(rank, 0);
            waits.iter().enumerate().for_each(|(operation, &waits)| take(first + operation, waits));
        }
    }
}

/// A message that is sent or received, or a computation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Sends this many bytes to a rank, with a tag.
    Send {
        /// The rank that receives.
        to: u32,
        /// Length of the message.
        bytes: u64,
        /// Its tag.
        tag: u32,
    },
    /// Receives this many bytes from a rank or [`ANY_RANK`], with a tag or [`ANY_TAG`].
    Receive {
        /// The rank that sends.
        from: u32,
        /// Length of the message.
        bytes: u64,
        /// Its tag.
        tag: u32,
    },
    /// Computes for this many ns.
    Compute {
        /// The duration.
        ns: u64,
    },
}
