//! Ranks on chains and grids that exchange with their neighbours.

use super::exchange::{Chain, Exchange, Line};
use super::{Job, Messages, Round, after_compute};

/// Sends to both neighbours and receives from them, at the ends from one.
pub(super) fn chain(job: &Job, _: u32, number: u64) -> Option<Round> {
    after_compute(job, number, |number| {
        (number == 0).then_some((Messages::Chain(Chain { ranks: job.ranks }), job.bytes))
    })
}

/// Exchanges with the neighbours of a periodic grid of two dimensions.
pub(super) fn halo_2d(job: &Job, _: u32, number: u64) -> Option<Round> {
    after_compute(job, number, |number| {
        (number == 0).then(|| (Messages::Grid2(Grid { sides: sides(job.ranks) }), job.bytes))
    })
}

/// Exchanges with the neighbours of a periodic grid of three dimensions.
pub(super) fn halo_3d(job: &Job, _: u32, number: u64) -> Option<Round> {
    after_compute(job, number, |number| {
        (number == 0).then(|| (Messages::Grid3(Grid { sides: sides(job.ranks) }), job.bytes))
    })
}

/// Receives from the neighbours on the near sides, computes, and sends to those on the far sides.
pub(super) fn sweep(job: &Job, iteration: u32, number: u64) -> Option<Round> {
    let (sides, corner) = (sides(job.ranks), iteration % 4);
    let messages = Messages::Front(Front { sides, corner, sends: number == 2 });
    received_and_sent(job, number, messages)
}

/// Receives from the rank before, computes, and sends to the rank after.
pub(super) fn pipeline(job: &Job, _: u32, number: u64) -> Option<Round> {
    let messages = Messages::Line(Line { ranks: job.ranks, sends: number == 2 });
    received_and_sent(job, number, messages)
}

/// Returns a round of a pattern that receives, computes, and sends.
fn received_and_sent(job: &Job, number: u64, messages: Messages) -> Option<Round> {
    match number {
        0 | 2 => Some(Round::Exchange { messages, bytes: job.bytes }),
        1 => Some(Round::Compute { ns: job.grain_ns }),
        _ => None,
    }
}

/// A periodic grid: each rank exchanges messages with both neighbours on each side that has more than one rank.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Grid<const D: usize> {
    sides: [u32; D],
}

impl<const D: usize> Grid<D> {
    /// Calls `take` with each slot and the neighbours of a rank: the one in its direction, and the one against it.
    #[inline]
    fn neighbours(self, rank: u32, mut take: impl FnMut(usize, u32, u32)) {
        let place = place(rank, self.sides);
        let mut stride = 1;
        for (dimension, side) in self.sides.into_iter().enumerate() {
            if side > 1 {
                let up = if place[dimension] + 1 < side {
                    rank + stride
                } else {
                    rank - (side - 1) * stride
                };
                let down =
                    if place[dimension] > 0 { rank - stride } else { rank + (side - 1) * stride };
                take(2 * dimension, up, down);
                take(2 * dimension + 1, down, up);
            }
            stride *= side;
        }
    }
}

impl<const D: usize> Exchange for Grid<D> {
    const SLOTS: usize = 2 * D;

    #[inline]
    fn sends(self, rank: u32, mut take: impl FnMut(usize, u32)) {
        self.neighbours(rank, |slot, towards, _| take(slot, towards));
    }

    #[inline]
    fn receives(self, rank: u32, mut take: impl FnMut(u32, usize)) {
        self.neighbours(rank, |slot, _, against| take(against, slot));
    }

    fn messages(self) -> u64 {
        let ranks: u64 = self.sides.iter().map(|&side| u64::from(side)).product();
        ranks * 2 * self.sides.iter().filter(|&&side| side > 1).count() as u64
    }

    // With two ranks on a side, both neighbours are the same rank.
    fn tag(self, slot: usize) -> u32 {
        slot as u32
    }
}

/// A wave front over an open grid from one of its corners: only what a rank sends, or only what it receives.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Front {
    sides: [u32; 2],
    corner: u32,
    sends: bool,
}

impl Front {
    /// Calls `take` with each dimension and the neighbour of a rank before or behind the front.
    fn neighbours(self, rank: u32, behind: bool, mut take: impl FnMut(usize, u32)) {
        let place = place(rank, self.sides);
        let mut stride = 1;
        for (dimension, side) in self.sides.into_iter().enumerate() {
            let is_upwards = (self.corner >> dimension) & 1 == 0;
            if is_upwards == behind {
                if place[dimension] > 0 {
                    take(dimension, rank - stride);
                }
            } else if place[dimension] + 1 < side {
                take(dimension, rank + stride);
            }
            stride *= side;
        }
    }
}

impl Front {
    /// Returns the place of a rank in a dimension by its distance from the corner.
    fn turned(self, dimension: usize, distance: u32) -> u32 {
        match (self.corner >> dimension) & 1 {
            0 => distance,
            _ => self.sides[dimension] - 1 - distance,
        }
    }

    /// Calls `take` with each rank, those that the front comes to first before the others.
    pub(crate) fn in_order(self, mut take: impl FnMut(usize)) {
        let [width, height] = self.sides;
        for row in 0..height {
            for column in 0..width {
                take((self.turned(1, row) * width + self.turned(0, column)) as usize);
            }
        }
    }
}

impl Exchange for Front {
    const SLOTS: usize = 2;

    fn sends(self, rank: u32, take: impl FnMut(usize, u32)) {
        if self.sends {
            self.neighbours(rank, false, take);
        }
    }

    fn receives(self, rank: u32, mut take: impl FnMut(u32, usize)) {
        if !self.sends {
            self.neighbours(rank, true, |dimension, neighbour| take(neighbour, dimension));
        }
    }

    fn messages(self) -> u64 {
        let [width, height] = self.sides.map(u64::from);
        if self.sends { (width - 1) * height + width * (height - 1) } else { 0 }
    }

    fn tag(self, _: usize) -> u32 {
        self.corner
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
#[cfg(test)]
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
