//! Sessions: runs that follow each other without a long pause.
//!
//! The runs of one session do not show how a host differs from one hour to the next, so where the sides were measured in
//! different sessions, the session is the unit.

use super::Values;
use crate::history::seconds;

/// A longer pause between two runs, in seconds, begins another session.
const PAUSE_S: f64 = 600.0;

/// The sessions of two sides, none of which has runs of both.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Sessions {
    /// The numbers of the runs of each session, by side.
    pub(super) by_side: [Vec<Vec<usize>>; 2],
    /// The shortest pause between sessions of different sides, in ns.
    pub(super) apart_ns: u64,
}

impl Sessions {
    /// Divides the runs, which are in order of time on each side; absent if a session has runs of both sides, or if the
    /// time of a run is not known.
    pub(super) fn from_sides(sides: &[Vec<Values>; 2]) -> Option<Self> {
        let mut all = Vec::new();
        for (side, runs) in sides.iter().enumerate() {
            for (at, run) in runs.iter().enumerate() {
                all.push((seconds(&run.start_utc)?, run.wall_ns as f64 / 1e9, side, at));
            }
        }
        all.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut by_side: [Vec<Vec<usize>>; 2] = [vec![], vec![]];
        let mut apart_s = f64::MAX;
        let mut last: Option<(f64, usize)> = None;
        for (start, length, side, at) in all {
            let pause = last.map(|(end, _)| start - end).filter(|pause| *pause <= PAUSE_S);
            match (pause, last) {
                (Some(_), Some((_, before))) if before != side => return None,
                (Some(_), _) => by_side[side].last_mut()?.push(at),
                (None, before) => {
                    if let Some((end, _)) = before.filter(|(_, before)| *before != side) {
                        apart_s = apart_s.min(start - end);
                    }
                    by_side[side].push(vec![at]);
                }
            }
            let end = last.map_or(f64::MIN, |(end, _)| end).max(start + length);
            last = Some((end, side));
        }
        Some(Self { by_side, apart_ns: (apart_s * 1e9) as u64 })
    }

    /// Returns whether a side has only one.
    pub(super) fn is_single(&self) -> bool {
        self.by_side.iter().any(|sessions| sessions.len() < 2)
    }

    /// Returns the mean of each session.
    pub(super) fn means(&self, sides: &[Vec<f64>; 2]) -> [Vec<f64>; 2] {
        [0, 1].map(|side| {
            let mean = |runs: &Vec<usize>| {
                runs.iter().map(|at| sides[side][*at]).sum::<f64>() / runs.len() as f64
            };
            self.by_side[side].iter().map(mean).collect()
        })
    }
}
