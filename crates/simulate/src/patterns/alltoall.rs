//! Each rank has a block for every other one.

use super::Job;
use super::program::{Part, Program};

/// In round k, each rank sends the blocks whose number has bit k to the one 2^k after it.
pub(crate) fn bruck(program: &mut Program<'_>, job: &Job) {
    program.compute(job.grain_ns);
    let (rank, ranks) = (u64::from(program.rank), u64::from(job.ranks));
    let mut distance = 1;
    while distance < ranks {
        // Of every 2·distance numbers, the second half has the bit.
        let whole = ranks / (2 * distance) * distance;
        let blocks = whole + (ranks % (2 * distance)).saturating_sub(distance);
        let message =
            |peer: u64| Part { peer: (peer % ranks) as u32, bytes: blocks * job.bytes, tag: 0 };
        program.exchange(&[message(rank + distance)], &[message(rank + ranks - distance)]);
        distance *= 2;
    }
}

/// In step k, each rank sends to the one k after it and receives from the one k before it.
pub(crate) fn pairwise(program: &mut Program<'_>, job: &Job) {
    program.compute(job.grain_ns);
    let (rank, ranks) = (u64::from(program.rank), u64::from(job.ranks));
    for distance in 1..ranks {
        let message = |peer: u64| Part { peer: (peer % ranks) as u32, bytes: job.bytes, tag: 0 };
        program.exchange(&[message(rank + distance)], &[message(rank + ranks - distance)]);
    }
}
