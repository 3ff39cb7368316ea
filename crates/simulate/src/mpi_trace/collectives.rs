//! Operations of all ranks of a communicator, and the algorithms by which they are simulated.

use super::values::Values;
use crate::patterns::program::{Part, Program};
use crate::patterns::{self, Job, collectives as by};

/// Longest vector that is reduced by exchanges of the whole, in bytes; blocks of longer ones are reduced apart.
const WHOLE_BYTES: u64 = 2 << 10;
/// Longest block of an all-to-all that is passed on by other ranks, in bytes.
const PASSED_BYTES: u64 = 256;
/// Most bytes of all blocks that are gathered by doubling, in bytes; more go round.
const DOUBLED_BYTES: u64 = 80 << 10;

/// A collective operation. The size rules are those of MPICH's defaults.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Algorithm {
    /// Dissemination, 1 byte.
    Barrier,
    /// A binomial tree.
    Broadcast,
    /// A binomial tree.
    Reduce,
    /// Recursive doubling up to 2 KiB, else Rabenseifner.
    Allreduce,
    /// A binomial tree, blocks collected.
    Gather,
    /// Each rank sends to the root.
    GatherEach,
    /// A binomial tree, blocks handed down.
    Scatter,
    /// The root sends to each rank.
    ScatterEach,
    /// Bruck up to 80 KiB in all, else a ring.
    Allgather,
    /// A ring.
    AllgatherEach,
    /// Bruck up to 256 bytes, else pairs.
    Alltoall,
    /// Pairs.
    AlltoallEach,
    /// Pairs.
    ReduceScatter,
    /// Rounds over twice the distance.
    Scan,
    /// A new communicator: a barrier.
    Create,
    /// New communicators: color and key of each rank are gathered.
    Split,
}

/// A collective operation of a rank.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Meeting {
    /// The name of the call.
    pub(super) name: &'static str,
    /// How it is simulated.
    pub(super) algorithm: Algorithm,
    /// The number of the communicator in the trace of the rank.
    pub(super) communicator: u32,
    /// The rank in the communicator that is the root; 0 if there is none.
    pub(super) root: u32,
    /// Bytes of the vector, or of a block.
    pub(super) bytes: u64,
    /// Bytes for each rank.
    pub(super) sent: Box<[u64]>,
    /// Bytes from each rank.
    pub(super) received: Box<[u64]>,
}

impl Meeting {
    /// Reads the sizes of a collective operation.
    pub(super) fn read(
        name: &'static str,
        algorithm: Algorithm,
        communicator: u32,
        values: &Values,
    ) -> Result<Self, String> {
        let (_, rank, ranks) = values.communicator.unwrap_or((0, 0, 1));
        let root = values.ranks.first().copied().unwrap_or(0);
        let wrong = || format!("its root {root} is none of the {ranks} ranks");
        let root = u32::try_from(root).ok().filter(|&root| root < ranks).ok_or_else(wrong)?;
        let (mut bytes, sent, received) = sizes(algorithm, values, rank == root)?;
        for array in [&sent, &received] {
            if !array.is_empty() && array.len() != ranks as usize {
                return Err(format!("{} sizes are given for {ranks} ranks", array.len()));
            }
        }
        if let Algorithm::GatherEach | Algorithm::ScatterEach = algorithm
            && rank == root
        {
            // Copies of the root are no roots.
            bytes = sent.get(rank as usize).or(received.get(rank as usize)).copied().unwrap_or(0);
        }
        Ok(Self { name, algorithm, communicator, root, bytes, sent, received })
    }

    /// Returns what must be equal at all ranks.
    pub(super) fn common(&self) -> (&'static str, u32, u64) {
        let bytes = match self.algorithm {
            Algorithm::GatherEach | Algorithm::ScatterEach => 0,
            _ => self.bytes,
        };
        (self.name, self.root, bytes)
    }

    /// Adds what a rank does. `ranks` take part, and the program has the number of this one, from the root on.
    pub(super) fn add(&self, program: &mut Program<'_>, ranks: u32) {
        let job = Job { ranks, iterations: 1, grain_ns: 0, bytes: self.bytes };
        match self.algorithm {
            Algorithm::Barrier | Algorithm::Create => patterns::add(program, &job, by::barrier),
            Algorithm::Broadcast => patterns::add(program, &job, by::broadcast),
            Algorithm::Reduce => patterns::add(program, &job, by::reduce),
            Algorithm::Allreduce if self.bytes <= WHOLE_BYTES => {
                patterns::add(program, &job, by::recursive_doubling);
            }
            Algorithm::Allreduce => patterns::add(program, &job, by::rabenseifner),
            Algorithm::Gather => gather(program, &job),
            Algorithm::Scatter => scatter(program, &job),
            Algorithm::Allgather | Algorithm::Split
                if self.bytes.saturating_mul(ranks.into()) <= DOUBLED_BYTES =>
            {
                doubled(program, &job);
            }
            Algorithm::Allgather | Algorithm::Split => around(program, ranks, |_| self.bytes),
            Algorithm::Alltoall if self.bytes <= PASSED_BYTES => {
                patterns::add(program, &job, by::bruck)
            }
            Algorithm::Alltoall => patterns::add(program, &job, by::pairwise),
            Algorithm::Scan => scan(program, &job),
            _ => self.add_each(program, ranks),
        }
    }

    /// Adds what a rank does where each rank has a size of its own.
    fn add_each(&self, program: &mut Program<'_>, ranks: u32) {
        let at = |sizes: &[u64], number: u32| size_at(sizes, number, self.root, ranks);
        match self.algorithm {
            Algorithm::GatherEach if program.rank == 0 => {
                let from: Vec<Part> =
                    (1..ranks).map(|peer| part(peer, at(&self.received, peer))).collect();
                exchange(program, &[], &from);
            }
            Algorithm::GatherEach => exchange(program, &[part(0, self.bytes)], &[]),
            Algorithm::ScatterEach if program.rank == 0 => {
                let to: Vec<Part> =
                    (1..ranks).map(|peer| part(peer, at(&self.sent, peer))).collect();
                exchange(program, &to, &[]);
            }
            Algorithm::ScatterEach => exchange(program, &[], &[part(0, self.bytes)]),
            Algorithm::AllgatherEach => around(program, ranks, |peer| at(&self.received, peer)),
            Algorithm::AlltoallEach => {
                let (sent, received) = (&self.sent, &self.received);
                in_pairs(program, ranks, |peer| at(sent, peer), |peer| at(received, peer));
            }
            _ => {
                let own = at(&self.received, program.rank);
                in_pairs(program, ranks, |peer| at(&self.received, peer), |_| own);
            }
        }
    }
}

/// Returns the size of the rank with this number, counted from the root. Extrapolated ranks have the sizes of those traced.
fn size_at(sizes: &[u64], number: u32, root: u32, ranks: u32) -> u64 {
    let number = (u64::from(number) + u64::from(root)) % u64::from(ranks);
    sizes.get(number as usize % sizes.len().max(1)).copied().unwrap_or(0)
}

/// Bytes of the vector or block, those for each rank, and those from each rank.
type Sizes = (u64, Box<[u64]>, Box<[u64]>);

/// Returns the bytes of the vector or block, those for each rank, and those from each rank.
fn sizes(algorithm: Algorithm, values: &Values, is_root: bool) -> Result<Sizes, String> {
    let (none, same) = (Box::<[u64]>::default, |bytes| (bytes, Box::default(), Box::default()));
    Ok(match algorithm {
        Algorithm::Barrier | Algorithm::Create => same(1),
        Algorithm::Split => same(8),
        Algorithm::Broadcast | Algorithm::Reduce | Algorithm::Allreduce | Algorithm::Scan => {
            same(values.bytes(0, 0)?)
        }
        // At the root of a gather, what it sends may be in place; and so on.
        Algorithm::Gather if is_root => same(values.bytes(1, 1)?),
        Algorithm::Gather => same(values.bytes(0, 0)?),
        Algorithm::Scatter if is_root => same(values.bytes(0, 0)?),
        Algorithm::Scatter | Algorithm::Allgather | Algorithm::Alltoall => {
            same(values.bytes(1, 1)?)
        }
        Algorithm::GatherEach if is_root => (0, none(), values.bytes_each(0, 1)?),
        Algorithm::GatherEach => same(values.bytes(0, 0)?),
        Algorithm::ScatterEach if is_root => (0, values.bytes_each(0, 0)?, none()),
        Algorithm::ScatterEach => same(values.bytes(0, 1)?),
        Algorithm::AllgatherEach => (0, none(), values.bytes_each(0, 1)?),
        Algorithm::AlltoallEach => (0, values.bytes_each(0, 0)?, values.bytes_each(2, 1)?),
        Algorithm::ReduceScatter => (0, none(), values.bytes_each(0, 0)?),
    })
}

/// Returns a message of a collective operation, which has a tag of its own in its group.
fn part(peer: u32, bytes: u64) -> Part {
    Part { peer, bytes, tag: 0 }
}

/// Exchanges messages, except empty ones.
fn exchange(program: &mut Program<'_>, to: &[Part], from: &[Part]) {
    let full = |parts: &[Part]| -> Vec<Part> {
        parts.iter().copied().filter(|part| part.bytes > 0).collect()
    };
    program.exchange(&full(to), &full(from));
}

/// Returns the number of ranks in the subtree of a rank in a binomial tree, itself included.
fn subtree(rank: u32, ranks: u32) -> u64 {
    match rank {
        0 => ranks.into(),
        rank => (1_u64 << rank.trailing_zeros()).min(u64::from(ranks - rank)),
    }
}

/// Returns the parent and the children of a rank in a binomial tree, the largest subtree first.
fn binomial(rank: u32, ranks: u32) -> (Option<u32>, Vec<u32>) {
    let lowest = match rank {
        0 => u64::from(ranks).next_power_of_two(),
        rank => 1 << rank.trailing_zeros(),
    };
    let parent = (rank > 0).then(|| rank & (rank - 1));
    let bits = std::iter::successors(Some(lowest / 2), |bit| Some(bit / 2));
    let children = bits.take_while(|&bit| bit > 0).map(|bit| u64::from(rank) + bit);
    (parent, children.filter(|&child| child < u64::from(ranks)).map(|child| child as u32).collect())
}

/// The blocks of each subtree come up to the root.
fn gather(program: &mut Program<'_>, job: &Job) {
    let (parent, children) = binomial(program.rank, job.ranks);
    let blocks = |rank: u32| job.bytes.saturating_mul(subtree(rank, job.ranks));
    children.iter().rev().for_each(|&child| program.receive(part(child, blocks(child))));
    if let Some(parent) = parent {
        program.send(part(parent, blocks(program.rank)));
    }
}

/// The blocks of each subtree come down from the root.
fn scatter(program: &mut Program<'_>, job: &Job) {
    let (parent, children) = binomial(program.rank, job.ranks);
    let blocks = |rank: u32| job.bytes.saturating_mul(subtree(rank, job.ranks));
    if let Some(parent) = parent {
        program.receive(part(parent, blocks(program.rank)));
    }
    children.iter().for_each(|&child| program.send(part(child, blocks(child))));
}

/// In round k, each rank sends the blocks that it has, at most 2^k, to the one 2^k before it.
fn doubled(program: &mut Program<'_>, job: &Job) {
    let (rank, ranks) = (u64::from(program.rank), u64::from(job.ranks));
    let mut distance = 1;
    while distance < ranks {
        let blocks = distance.min(ranks - distance) * job.bytes;
        let message = |peer: u64| part((peer % ranks) as u32, blocks);
        program.exchange(&[message(rank + ranks - distance)], &[message(rank + distance)]);
        distance *= 2;
    }
}

/// Each rank passes the blocks on to the next one, its own first. `bytes` is the size of a rank's block.
fn around(program: &mut Program<'_>, ranks: u32, bytes: impl Fn(u32) -> u64) {
    let (rank, ranks) = (u64::from(program.rank), u64::from(ranks));
    let at = |number: u64| (number % ranks) as u32;
    for step in 1..ranks {
        let sent = bytes(at(rank + ranks - step + 1));
        let received = bytes(at(rank + ranks - step));
        let (to, from) = (at(rank + 1), at(rank + ranks - 1));
        exchange(program, &[part(to, sent)], &[part(from, received)]);
    }
}

/// In step k, each rank sends to the one k after it and receives from the one k before it.
fn in_pairs(
    program: &mut Program<'_>,
    ranks: u32,
    sent: impl Fn(u32) -> u64,
    received: impl Fn(u32) -> u64,
) {
    let (rank, ranks) = (u64::from(program.rank), u64::from(ranks));
    for distance in 1..ranks {
        let to = ((rank + distance) % ranks) as u32;
        let from = ((rank + ranks - distance) % ranks) as u32;
        exchange(program, &[part(to, sent(to))], &[part(from, received(from))]);
    }
}

/// In round k, each rank sends to the one 2^k after it and receives from the one 2^k before it, if they exist.
fn scan(program: &mut Program<'_>, job: &Job) {
    let (rank, ranks) = (u64::from(program.rank), u64::from(job.ranks));
    let mut distance = 1;
    while distance < ranks {
        let after = Some(rank + distance).filter(|&after| after < ranks);
        let before = rank.checked_sub(distance);
        let message = |peer: Option<u64>| peer.map(|peer| part(peer as u32, job.bytes));
        program.exchange(message(after).as_slice(), message(before).as_slice());
        distance *= 2;
    }
}
