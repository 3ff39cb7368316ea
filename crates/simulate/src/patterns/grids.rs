//! Ranks on chains and grids that exchange with their neighbours.

use super::Job;
use super::program::{Part, Program};

/// Sends to both neighbours and receives from them, at the ends from one.
pub(super) fn chain(program: &mut Program<'_>, job: &Job) {
    program.compute(job.grain_ns);
    let rank = program.rank;
    let neighbours = [rank.checked_sub(1), Some(rank + 1).filter(|&next| next < job.ranks)];
    let parts: Vec<Part> = neighbours
        .into_iter()
        .flatten()
        .map(|peer| Part { peer, bytes: job.bytes, tag: 0 })
        .collect();
    program.exchange(&parts, &parts);
}

/// Exchanges with the neighbours of a periodic grid of two dimensions.
pub(super) fn halo_2d(program: &mut Program<'_>, job: &Job) {
    halo::<2>(program, job);
}

/// Exchanges with the neighbours of a periodic grid of three dimensions.
pub(super) fn halo_3d(program: &mut Program<'_>, job: &Job) {
    halo::<3>(program, job);
}

fn halo<const D: usize>(program: &mut Program<'_>, job: &Job) {
    program.compute(job.grain_ns);
    let sides = sides::<D>(job.ranks);
    let place = place(program.rank, sides);
    let (mut to, mut from) = (vec![], vec![]);
    for dimension in (0..D).filter(|&dimension| sides[dimension] > 1) {
        let side = sides[dimension];
        for (direction, step) in [(0, 1), (1, side - 1)] {
            let neighbour = |step: u32| {
                let mut place = place;
                place[dimension] = (place[dimension] + step) % side;
                rank(place, sides)
            };
            // A tag for each direction: with two ranks on a side, both neighbours are the same rank.
            let tag = 2 * dimension as u32 + direction;
            to.push(Part { peer: neighbour(step), bytes: job.bytes, tag });
            from.push(Part { peer: neighbour(side - step), bytes: job.bytes, tag });
        }
    }
    program.exchange(&to, &from);
}

/// Receives from the neighbours on the near sides, computes, and sends to those on the far sides.
pub(super) fn sweep(program: &mut Program<'_>, job: &Job) {
    let sides = sides::<2>(job.ranks);
    let place = place(program.rank, sides);
    let corner = program.iteration % 4;
    let (mut from, mut to) = (vec![], vec![]);
    for dimension in 0..2 {
        let is_upwards = (corner >> dimension) & 1 == 0;
        let lower = place[dimension].checked_sub(1);
        let upper = Some(place[dimension] + 1).filter(|&next| next < sides[dimension]);
        let (before, after) = if is_upwards { (lower, upper) } else { (upper, lower) };
        for (neighbour, parts) in [(before, &mut from), (after, &mut to)] {
            if let Some(coordinate) = neighbour {
                let mut place = place;
                place[dimension] = coordinate;
                parts.push(Part { peer: rank(place, sides), bytes: job.bytes, tag: corner });
            }
        }
    }
    program.exchange(&[], &from);
    program.compute(job.grain_ns);
    program.exchange(&to, &[]);
}

/// Receives from the rank before, computes, and sends to the rank after.
pub(super) fn pipeline(program: &mut Program<'_>, job: &Job) {
    let rank = program.rank;
    let part = |peer: u32| Part { peer, bytes: job.bytes, tag: 0 };
    if let Some(before) = rank.checked_sub(1) {
        program.receive(part(before));
    }
    program.compute(job.grain_ns);
    if rank + 1 < job.ranks {
        program.send(part(rank + 1));
    }
}

/// Returns the sides of a grid of all ranks that are as equal as possible, the longest first.
fn sides<const D: usize>(ranks: u32) -> [u32; D] {
    let (mut sides, mut left) = ([1; D], ranks);
    for (place, side) in sides.iter_mut().enumerate() {
        let dimensions = (D - place) as u32;
        // The largest divisor up to the root; the last side is what is left.
        let mut root = f64::from(left).powf(1.0 / f64::from(dimensions)).round() as u32;
        root = root.max(1);
        while root.checked_pow(dimensions).is_none_or(|power| power > left) {
            root -= 1;
        }
        *side = match dimensions {
            1 => left,
            _ => (1..=root).rev().find(|side| left % side == 0).unwrap_or(1),
        };
        left /= *side;
    }
    sides.reverse();
    sides
}

/// Returns the place of a rank in a grid.
fn place<const D: usize>(rank: u32, sides: [u32; D]) -> [u32; D] {
    let mut left = rank;
    sides.map(|side| {
        let place = left % side;
        left /= side;
        place
    })
}

/// Returns the rank at a place of a grid.
fn rank<const D: usize>(place: [u32; D], sides: [u32; D]) -> u32 {
    (0..D).rev().fold(0, |rank, dimension| rank * sides[dimension] + place[dimension])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grids_have_all_ranks_and_nearly_equal_sides() {
        assert_eq!(sides::<2>(12), [4, 3]);
        assert_eq!(sides::<2>(1 << 20), [1 << 10, 1 << 10]);
        assert_eq!(sides::<2>(7), [7, 1]);
        assert_eq!(sides::<3>(64), [4, 4, 4]);
        assert_eq!(sides::<3>(24), [4, 3, 2]);
        for ranks in 1..300 {
            let sides = sides::<3>(ranks);
            assert_eq!(sides.iter().product::<u32>(), ranks);
            let all = (0..ranks).all(|number| rank(place(number, sides), sides) == number);
            assert!(all, "{ranks}");
        }
    }
}
