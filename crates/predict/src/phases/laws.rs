//! The closed-form brackets: the slowdown lies between them for independent ranks.

use super::law::{Law, LawBuilder};
use super::starts::BothStarts;
use super::sweep::sweep;
use super::timeline::Timeline;

/// Both closed-form laws of one grain.
#[derive(Debug, Clone, PartialEq)]
pub struct Laws {
    /// Phases start anywhere in a rank's free time: the lower bracket. Exact for one rank.
    pub free: Law,
    /// Phases start anywhere in wall time, and so in a detour as often as it is long: the upper bracket.
    pub wall: Law,
}

/// The laws of these CPUs at one grain.
///
/// Free start: E(f) = grain + the detours whose place in free time lies in [f, f + grain), f uniform in free
/// time. Wall start: the same, and a start inside a detour waits for its end. Delays are put into bins that
/// are at most 1/1024 of them wide; the mean of one rank is not, and is exact.
///
/// `grain_ns` must lie above 0 and not above the free time of any of the CPUs.
///
/// # Panics
/// Where it does not.
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
