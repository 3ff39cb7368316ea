//! Blocks of a recording: a host drifts from one block to the next, so times are compared within blocks.

use super::table::{BlockTime, Point};
use anechoic_analyze::stats::{mean, standard_error};
use std::cmp::Ordering;
use std::collections::BTreeMap;

/// The points of one number of copies, sorted by rate, with the parts that may be compared.
#[derive(Debug)]
pub(super) struct Group {
    /// The points, with their times in blocks; without those if no block has two rates.
    pub(super) points: Vec<Point>,
    /// The blocks; without blocks, the points themselves.
    pub(super) parts: Vec<BlockPoints>,
}

/// Points whose times were taken close together, sorted by rate.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct BlockPoints {
    pub(super) points: Vec<Point>,
    /// Index of each point in the group.
    pub(super) places: Vec<usize>,
}

impl Group {
    pub(super) fn from_points(points: &[Point]) -> Self {
        let mut points = points.to_vec();
        let mut blocks: BTreeMap<u32, Vec<(usize, Point)>> = BTreeMap::new();
        for (place, point) in points.iter().enumerate() {
            for time in &point.by_block {
                blocks.entry(time.block).or_default().push((place, in_block(point, time)));
            }
        }
        let mut parts: Vec<BlockPoints> =
            blocks.into_values().map(BlockPoints::from_points).collect();
        if !parts.iter().any(BlockPoints::compares) {
            points.iter_mut().for_each(|point| point.by_block.clear());
            parts =
                vec![BlockPoints { points: points.clone(), places: (0..points.len()).collect() }];
        }
        Self { points, parts }
    }

    /// Returns the points of all parts, one part after the other.
    pub(super) fn slices(&self) -> impl Iterator<Item = &[Point]> {
        self.parts.iter().map(|part| &part.points[..])
    }
}

impl BlockPoints {
    fn from_points(mut points: Vec<(usize, Point)>) -> Self {
        points.sort_by(|a, b| a.1.rate_hz.total_cmp(&b.1.rate_hz));
        let (places, points) = points.into_iter().unzip();
        Self { points, places }
    }

    /// Returns whether the part has two rates.
    pub(super) fn compares(&self) -> bool {
        self.points.windows(2).any(|pair| pair[0].rate_hz < pair[1].rate_hz)
    }
}

/// The time of a point in one block.
fn in_block(point: &Point, time: &BlockTime) -> Point {
    Point {
        copies: point.copies,
        rate_hz: time.rate_hz,
        asked_hz: point.asked_hz,
        rate_from: point.rate_from,
        ms: time.ms,
        standard_error_ms: None,
        blocks: 1,
        by_block: vec![],
        sorts: None,
    }
}

/// Two points of the same number of copies in the blocks that have both. Without blocks the points are compared
/// directly; absent if no block has both.
pub(super) fn both(low: &Point, high: &Point) -> Option<Both> {
    if low.by_block.is_empty() || high.by_block.is_empty() {
        let errors = low.standard_error_ms.zip(high.standard_error_ms);
        let measured = |point: &Point| (point.rate_hz, point.ms);
        let error_ms = errors.map(|(a, b)| a.hypot(b));
        let blocks = low.blocks.min(high.blocks) as usize;
        return Some(Both { low: measured(low), high: measured(high), error_ms, blocks });
    }
    let common = common(&low.by_block, &high.by_block);
    let mean_of = |value: fn(&(BlockTime, BlockTime)) -> f64| {
        mean(&common.iter().map(value).collect::<Vec<_>>())
    };
    let rise = |(low, high): &(BlockTime, BlockTime)| high.ms - low.ms;
    let error_ms = standard_error(&common.iter().map(rise).collect::<Vec<_>>());
    Some(Both {
        low: (mean_of(|pair| pair.0.rate_hz)?, mean_of(|pair| pair.0.ms)?),
        high: (mean_of(|pair| pair.1.rate_hz)?, mean_of(|pair| pair.1.ms)?),
        error_ms,
        blocks: common.len(),
    })
}

/// Rate in Hz and time in ms of two points.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Both {
    pub(super) low: (f64, f64),
    pub(super) high: (f64, f64),
    /// Standard error of the difference of the times in ms; absent if it is unknown.
    pub(super) error_ms: Option<f64>,
    /// Number of blocks behind it.
    pub(super) blocks: usize,
}

/// Returns the times of the blocks that are in both lists, which are sorted by block.
fn common(low: &[BlockTime], high: &[BlockTime]) -> Vec<(BlockTime, BlockTime)> {
    let (mut low, mut high) = (low.iter().peekable(), high.iter().peekable());
    let mut common = vec![];
    while let (Some(a), Some(b)) = (low.peek(), high.peek()) {
        match a.block.cmp(&b.block) {
            Ordering::Equal => common.extend(low.next().copied().zip(high.next().copied())),
            Ordering::Less => drop(low.next()),
            Ordering::Greater => drop(high.next()),
        }
    }
    common
}
