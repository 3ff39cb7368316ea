//! Who sends to whom in a round: for each rank at once, without a list.

/// Messages between ranks. A message has a slot, which tells the messages of a sender apart.
pub(crate) trait Exchange: Copy {
    /// The most messages that a rank sends or receives.
    const SLOTS: usize;

    /// Calls `take` with the slot and the receiver of each message that a rank sends.
    fn sends(self, rank: u32, take: impl FnMut(usize, u32));

    /// Calls `take` with the sender and its slot of each message that a rank receives.
    fn receives(self, rank: u32, take: impl FnMut(u32, usize));

    /// Returns the number of all messages.
    fn messages(self) -> u64;

    /// Returns the tag of the messages in a slot.
    fn tag(self, _slot: usize) -> u32 {
        0
    }
}

/// Each rank sends to the one this far after it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shift {
    pub(crate) ranks: u32,
    pub(crate) distance: u32,
}

impl Exchange for Shift {
    const SLOTS: usize = 1;

    fn messages(self) -> u64 {
        u64::from(self.ranks)
    }

    #[inline]
    fn sends(self, rank: u32, mut take: impl FnMut(usize, u32)) {
        let left = self.ranks - self.distance;
        take(0, if rank < left { rank + self.distance } else { rank - left });
    }

    #[inline]
    fn receives(self, rank: u32, mut take: impl FnMut(u32, usize)) {
        let left = self.ranks - self.distance;
        take(if rank < self.distance { rank + left } else { rank - self.distance }, 0);
    }
}

/// The largest power of two of ranks. All others pass their vectors to one of them before and get the result after: of the
/// first ranks, each second one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Folded {
    pub(crate) power: u32,
    /// How many others there are.
    rest: u32,
}

impl Folded {
    pub(crate) fn new(ranks: u32) -> Self {
        let power = 1 << ranks.ilog2();
        Self { power, rest: ranks - power }
    }

    /// Returns whether it is all ranks.
    pub(crate) fn is_all(self) -> bool {
        self.rest == 0
    }

    /// Returns the place of a rank in the power of two, if it is one of it.
    #[inline]
    fn place(self, rank: u32) -> Option<u32> {
        match rank < 2 * self.rest {
            true if rank.is_multiple_of(2) => None,
            true => Some(rank / 2),
            false => Some(rank - self.rest),
        }
    }

    /// Returns the rank at a place.
    #[inline]
    fn rank(self, place: u32) -> u32 {
        if place < self.rest { 2 * place + 1 } else { place + self.rest }
    }
}

/// Ranks whose places differ in a bit exchange messages.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Swap {
    pub(crate) folded: Folded,
    pub(crate) bit: u32,
}

impl Exchange for Swap {
    const SLOTS: usize = 1;

    fn messages(self) -> u64 {
        u64::from(self.folded.power)
    }

    #[inline]
    fn sends(self, rank: u32, mut take: impl FnMut(usize, u32)) {
        if let Some(place) = self.folded.place(rank) {
            take(0, self.folded.rank(place ^ self.bit));
        }
    }

    #[inline]
    fn receives(self, rank: u32, mut take: impl FnMut(u32, usize)) {
        self.sends(rank, |slot, peer| take(peer, slot));
    }
}

/// The ranks outside the power of two pass their vectors in, or get the result.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Fold {
    pub(crate) folded: Folded,
    pub(crate) inwards: bool,
}

impl Fold {
    /// Returns the other rank of a pair, and whether this one is outside.
    #[inline]
    fn pair(self, rank: u32) -> Option<(u32, bool)> {
        (rank < 2 * self.folded.rest).then(|| (rank ^ 1, rank.is_multiple_of(2)))
    }
}

impl Exchange for Fold {
    const SLOTS: usize = 1;

    fn messages(self) -> u64 {
        u64::from(self.folded.rest)
    }

    #[inline]
    fn sends(self, rank: u32, mut take: impl FnMut(usize, u32)) {
        if let Some((other, _)) = self.pair(rank).filter(|pair| pair.1 == self.inwards) {
            take(0, other);
        }
    }

    #[inline]
    fn receives(self, rank: u32, mut take: impl FnMut(u32, usize)) {
        if let Some((other, _)) = self.pair(rank).filter(|pair| pair.1 != self.inwards) {
            take(other, 0);
        }
    }
}

/// A level of a binomial tree: ranks without this bit and those below, and the same ranks with it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Tree {
    pub(crate) ranks: u32,
    pub(crate) bit: u32,
    /// Whether messages go away from rank 0.
    pub(crate) outwards: bool,
}

impl Tree {
    /// Returns the other rank, and whether this one is nearer to rank 0.
    #[inline]
    fn pair(self, rank: u32) -> Option<(u32, bool)> {
        match rank & (2 * self.bit - 1) {
            0 if rank + self.bit < self.ranks => Some((rank + self.bit, true)),
            below if below == self.bit => Some((rank - self.bit, false)),
            _ => None,
        }
    }
}

impl Exchange for Tree {
    const SLOTS: usize = 1;

    fn messages(self) -> u64 {
        // Of every 2·bit ranks, those that have the bit and none below it.
        u64::from((self.ranks - 1 + self.bit) / (2 * self.bit))
    }

    #[inline]
    fn sends(self, rank: u32, mut take: impl FnMut(usize, u32)) {
        if let Some((other, _)) = self.pair(rank).filter(|pair| pair.1 == self.outwards) {
            take(0, other);
        }
    }

    #[inline]
    fn receives(self, rank: u32, mut take: impl FnMut(u32, usize)) {
        if let Some((other, _)) = self.pair(rank).filter(|pair| pair.1 != self.outwards) {
            take(other, 0);
        }
    }
}

/// Neighbours on an open chain exchange messages.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Chain {
    pub(crate) ranks: u32,
}

impl Exchange for Chain {
    const SLOTS: usize = 2;

    fn messages(self) -> u64 {
        2 * u64::from(self.ranks - 1)
    }

    #[inline]
    fn sends(self, rank: u32, mut take: impl FnMut(usize, u32)) {
        if let Some(before) = rank.checked_sub(1) {
            take(0, before);
        }
        if rank + 1 < self.ranks {
            take(1, rank + 1);
        }
    }

    #[inline]
    fn receives(self, rank: u32, mut take: impl FnMut(u32, usize)) {
        self.sends(rank, |slot, neighbour| take(neighbour, 1 - slot));
    }
}

/// Each rank passes a message to the next one: only what it sends, or only what it receives.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Line {
    pub(crate) ranks: u32,
    pub(crate) sends: bool,
}

impl Exchange for Line {
    const SLOTS: usize = 1;

    fn messages(self) -> u64 {
        if self.sends { u64::from(self.ranks - 1) } else { 0 }
    }

    #[inline]
    fn sends(self, rank: u32, mut take: impl FnMut(usize, u32)) {
        if self.sends && rank + 1 < self.ranks {
            take(0, rank + 1);
        }
    }

    #[inline]
    fn receives(self, rank: u32, mut take: impl FnMut(u32, usize)) {
        if let Some(before) = rank.checked_sub(1).filter(|_| !self.sends) {
            take(before, 0);
        }
    }
}
