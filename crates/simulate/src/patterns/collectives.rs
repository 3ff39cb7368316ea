//! Collective operations, by the algorithms that MPI libraries use.

use super::Job;
use super::program::{Part, Program};

/// Returns a message to or from a rank. All messages between two ranks come in order, so one tag is enough.
pub(crate) fn part(peer: u32, bytes: u64) -> Part {
    Part { peer, bytes, tag: 0 }
}

/// Exchanges this many bytes each way with one rank.
fn swap(program: &mut Program<'_>, peer: u32, sent: u64, received: u64) {
    program.exchange(&[part(peer, sent)], &[part(peer, received)]);
}

/// In round k, each rank sends to the one 2^k after it and receives from the one 2^k before it.
pub(crate) fn barrier(program: &mut Program<'_>, job: &Job) {
    program.compute(job.grain_ns);
    let (rank, ranks) = (u64::from(program.rank), u64::from(job.ranks));
    let mut distance = 1;
    while distance < ranks {
        let to = ((rank + distance) % ranks) as u32;
        let from = ((rank + ranks - distance) % ranks) as u32;
        program.exchange(&[part(to, job.bytes)], &[part(from, job.bytes)]);
        distance *= 2;
    }
}

/// A rank receives from the one without its lowest bit, then sends to those with one of the bits below that.
pub(crate) fn broadcast(program: &mut Program<'_>, job: &Job) {
    program.compute(job.grain_ns);
    let (parent, children) = binomial(program.rank, job.ranks);
    if let Some(parent) = parent {
        program.receive(part(parent, job.bytes));
    }
    children.iter().for_each(|&child| program.send(part(child, job.bytes)));
}

/// The broadcast backwards.
pub(crate) fn reduce(program: &mut Program<'_>, job: &Job) {
    program.compute(job.grain_ns);
    let (parent, children) = binomial(program.rank, job.ranks);
    children.iter().rev().for_each(|&child| program.receive(part(child, job.bytes)));
    if let Some(parent) = parent {
        program.send(part(parent, job.bytes));
    }
}

/// Returns the parent and the children of a rank in a binomial tree, the largest subtree first.
pub(crate) fn binomial(rank: u32, ranks: u32) -> (Option<u32>, Vec<u32>) {
    let lowest = match rank {
        0 => u64::from(ranks).next_power_of_two(),
        rank => 1 << rank.trailing_zeros(),
    };
    let parent = (rank > 0).then(|| rank & (rank - 1));
    let mut children = vec![];
    let mut bit = lowest / 2;
    while bit > 0 {
        let child = u64::from(rank) + bit;
        if child < u64::from(ranks) {
            children.push(child as u32);
        }
        bit /= 2;
    }
    (parent, children)
}

/// What a rank is in a collective of a power of two of ranks, to which all others pass their vectors before.
enum Place {
    /// The rank passes its vector to this one, and gets the result from it.
    Outside(u32),
    /// The rank is this one of the power of two. It may do the work of another rank as well.
    Inside { place: u32, other: Option<u32> },
}

/// Returns the largest power of two of ranks, and what a rank is in it: of the first ranks, each second is outside.
fn folded(rank: u32, ranks: u32) -> (u32, Place) {
    let power = 1 << ranks.ilog2();
    let rest = ranks - power;
    let part = match rank < 2 * rest {
        true if rank.is_multiple_of(2) => Place::Outside(rank + 1),
        true => Place::Inside { place: rank / 2, other: Some(rank - 1) },
        false => Place::Inside { place: rank - rest, other: None },
    };
    (power, part)
}

/// Returns the rank at a place of the power of two.
fn unfolded(place: u32, ranks: u32) -> u32 {
    let rest = ranks - (1 << ranks.ilog2());
    if place < rest { 2 * place + 1 } else { place + rest }
}

/// Folds the ranks to a power of two, runs `inside` on those, and passes the results on.
fn on_power_of_two(
    program: &mut Program<'_>,
    job: &Job,
    inside: fn(&mut Program<'_>, &Job, u32, u32),
) {
    program.compute(job.grain_ns);
    match folded(program.rank, job.ranks) {
        (_, Place::Outside(other)) => {
            program.send(part(other, job.bytes));
            program.receive(part(other, job.bytes));
        }
        (power, Place::Inside { place, other }) => {
            if let Some(other) = other {
                program.receive(part(other, job.bytes));
            }
            inside(program, job, power, place);
            if let Some(other) = other {
                program.send(part(other, job.bytes));
            }
        }
    }
}

/// In round k, ranks whose places differ in bit k exchange their vectors.
pub(crate) fn recursive_doubling(program: &mut Program<'_>, job: &Job) {
    on_power_of_two(program, job, |program, job, power, place| {
        for round in 0..power.ilog2() {
            let peer = unfolded(place ^ (1 << round), job.ranks);
            swap(program, peer, job.bytes, job.bytes);
        }
    });
}

/// Halves of halves of the vector are exchanged, each rank reduces its part, and all parts come back the same way.
pub(crate) fn rabenseifner(program: &mut Program<'_>, job: &Job) {
    on_power_of_two(program, job, |program, job, power, place| {
        let rounds = power.ilog2();
        for round in (0..rounds).chain((0..rounds).rev()) {
            let bytes = (job.bytes >> (round + 1)).max(job.bytes.min(1));
            let peer = unfolded(place ^ (power >> (round + 1)), job.ranks);
            swap(program, peer, bytes, bytes);
        }
    });
}

/// The parts of the vector go round twice: once to be reduced, once to be known to all.
pub(crate) fn ring(program: &mut Program<'_>, job: &Job) {
    program.compute(job.grain_ns);
    let (rank, ranks) = (program.rank, job.ranks);
    let bytes = (job.bytes / u64::from(ranks)).max(job.bytes.min(1));
    let (to, from) = (rank.wrapping_add(1) % ranks, (rank + ranks - 1) % ranks);
    for _ in 0..2 * (u64::from(ranks) - 1) {
        program.exchange(&[part(to, bytes)], &[part(from, bytes)]);
    }
}
