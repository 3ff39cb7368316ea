//! Collective operations, by the algorithms that MPI libraries use.

use super::exchange::{Fold, Folded, Shift, Swap, Tree};
use super::{Job, Messages, Round, after_compute};

/// In round k, each rank sends to the one 2^k after it and receives from the one 2^k before it.
pub(crate) fn barrier(job: &Job, _: u32, number: u64) -> Option<Round> {
    after_compute(job, number, |round| Some((shift(job, doubled(job, round)?), job.bytes)))
}

/// Returns 2 to the power of a round, if it is below the number of ranks.
fn doubled(job: &Job, round: u64) -> Option<u32> {
    let distance = 1_u32.checked_shl(u32::try_from(round).ok()?)?;
    (distance < job.ranks).then_some(distance)
}

fn shift(job: &Job, distance: u32) -> Messages {
    Messages::Shift(Shift { ranks: job.ranks, distance })
}

/// A rank receives from the one without its lowest bit, then sends to those with one of the bits below that.
pub(crate) fn broadcast(job: &Job, _: u32, number: u64) -> Option<Round> {
    after_compute(job, number, |round| {
        let levels = u64::from(job.ranks.next_power_of_two().ilog2());
        let bit = 1 << levels.checked_sub(round + 1)?;
        let tree = Tree { ranks: job.ranks, bit, outwards: true };
        Some((Messages::Tree(tree), job.bytes))
    })
}

/// The broadcast backwards.
pub(crate) fn reduce(job: &Job, _: u32, number: u64) -> Option<Round> {
    after_compute(job, number, |round| {
        let tree = Tree { ranks: job.ranks, bit: doubled(job, round)?, outwards: false };
        Some((Messages::Tree(tree), job.bytes))
    })
}

/// Returns a round of an exchange on a power of two of ranks, to which all others pass their vectors before, and from which
/// they get the result after. `inside` returns a bit and a number of bytes.
fn on_power_of_two(
    job: &Job,
    number: u64,
    inside: impl Fn(Folded, u64) -> Option<(u32, u64)>,
) -> Option<Round> {
    let folded = Folded::new(job.ranks);
    let fold = |inwards| (Messages::Fold(Fold { folded, inwards }), job.bytes);
    after_compute(job, number, |round| {
        let before = u64::from(!folded.is_all());
        if round < before {
            return Some(fold(true));
        }
        match inside(folded, round - before) {
            Some((bit, bytes)) => Some((Messages::Swap(Swap { folded, bit }), bytes)),
            // The result is passed on once.
            None if before == 1 && is_first(round - before, |round| inside(folded, round)) => {
                Some(fold(false))
            }
            None => None,
        }
    })
}

/// Returns whether this is the first round that is none.
fn is_first<T>(round: u64, rounds: impl Fn(u64) -> Option<T>) -> bool {
    round.checked_sub(1).is_none_or(|before| rounds(before).is_some())
}

/// In round k, ranks whose places differ in bit k exchange their vectors.
pub(crate) fn recursive_doubling(job: &Job, _: u32, number: u64) -> Option<Round> {
    on_power_of_two(job, number, |folded, round| {
        (round < u64::from(folded.power.ilog2())).then(|| (1 << round, job.bytes))
    })
}

/// Halves of halves of the vector are exchanged, each rank reduces its part, and all parts come back the same way.
pub(crate) fn rabenseifner(job: &Job, _: u32, number: u64) -> Option<Round> {
    on_power_of_two(job, number, |folded, round| {
        let rounds = u64::from(folded.power.ilog2());
        let halvings = match round < rounds {
            true => round + 1,
            false => (2 * rounds).checked_sub(round).filter(|&halvings| halvings > 0)?,
        };
        let bytes = (job.bytes >> halvings).max(job.bytes.min(1));
        Some((folded.power >> halvings, bytes))
    })
}

/// The parts of the vector go round twice: once to be reduced, once to be known to all.
pub(crate) fn ring(job: &Job, _: u32, number: u64) -> Option<Round> {
    let bytes = (job.bytes / u64::from(job.ranks)).max(job.bytes.min(1));
    after_compute(job, number, |round| {
        (round < 2 * (u64::from(job.ranks) - 1)).then(|| (shift(job, 1), bytes))
    })
}

/// All-to-all: in round k, each rank sends the blocks whose number has bit k to the one 2^k after it.
pub(crate) fn bruck(job: &Job, _: u32, number: u64) -> Option<Round> {
    after_compute(job, number, |round| {
        let (ranks, distance) = (u64::from(job.ranks), doubled(job, round)?);
        // Of every 2·distance numbers, the second half has the bit.
        let twice = 2 * u64::from(distance);
        let whole = ranks / twice * u64::from(distance);
        let blocks = whole + (ranks % twice).saturating_sub(u64::from(distance));
        Some((shift(job, distance), blocks.saturating_mul(job.bytes)))
    })
}

/// All-to-all: in step k, each rank sends to the one k after it and receives from the one k before it.
pub(crate) fn pairwise(job: &Job, _: u32, number: u64) -> Option<Round> {
    after_compute(job, number, |round| {
        let distance = round + 1;
        let is_other = distance < u64::from(job.ranks);
        is_other.then(|| (shift(job, distance as u32), job.bytes))
    })
}
