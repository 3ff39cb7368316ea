//! The closed-form brackets between which the slowdown of independent ranks lies.

use super::law::{Law, LawBuilder};
use super::starts::BothStarts;
use super::sweep::sweep;
use super::timeline::Timeline;

/// Both closed-form laws of one grain.
#[derive(Debug, Clone, PartialEq)]
pub struct Laws {
    /// Law of phases that start at random in a rank's free time: the lower bracket, exact for one rank.
    pub free: Law,
    /// Law of phases that start at random in wall time, and therefore in a detour in proportion to its length: the
    /// upper bracket.
    pub wall: Law,
}

/// Returns the laws of these CPUs at one grain.
///
/// Free start: E(f) = grain + the detours whose position in free time lies in [f, f + grain), with f uniform in free
/// time. Wall start: the same, but a start inside a detour also waits for its end. Delays are collected in bins with a
/// relative width of at most 1/1024; the mean of one rank is exact.
///
/// # Panics
///
/// `grain_ns` must be above 0 and at most the free time of each CPU.
#[must_use]
pub fn laws<'a>(cpus: impl IntoIterator<Item = &'a Timeline>, grain_ns: u64) -> Laws {
    let (mut free, mut wall) = (LawBuilder::default(), LawBuilder::default());
    for timeline in cpus {
        assert!(0 < grain_ns && grain_ns <= timeline.free_ns(), "grain beyond the window");
        let starts = BothStarts::new(timeline.length_ns(), timeline.lost_ns(), None);
        let starts = sweep(timeline, grain_ns, 1, starts);
        free.add(&starts.free);
        wall.add(&starts.wall);
    }
    Laws { free: free.finish(), wall: wall.finish() }
}
