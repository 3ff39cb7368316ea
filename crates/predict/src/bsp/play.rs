//! The recursion on recorded time: when each rank would finish if detours cost only their own time.

use super::track::Track;
use crate::phases::Span;

/// A cursor over one rank's detours, for instants that do not decrease.
#[derive(Debug, Clone)]
pub(super) struct Player<'a> {
    away: &'a [Span],
    /// First detour that has not ended.
    next: usize,
}

impl<'a> Player<'a> {
    pub(super) fn new(track: &'a Track) -> Self {
        Self { away: track.away(), next: 0 }
    }

    /// Returns the detours that have not ended at an instant; the first may have begun.
    pub(super) fn from(&mut self, now_ns: u64) -> &'a [Span] {
        while self.away.get(self.next).is_some_and(|span| span.end_ns <= now_ns) {
            self.next += 1;
        }
        &self.away[self.next..]
    }

    /// Returns the index of the first of these.
    pub(super) fn place(&self) -> usize {
        self.next
    }

    /// Returns when a rank that starts at `now_ns` has had `grain_ns` of free time. A start inside a detour waits for
    /// its end.
    pub(super) fn done(&mut self, now_ns: u64, grain_ns: u64) -> u64 {
        let mut end_ns = now_ns.saturating_add(grain_ns);
        for span in self.from(now_ns) {
            if span.start_ns >= end_ns {
                break;
            }
            end_ns = end_ns.saturating_add(span.end_ns.saturating_sub(span.start_ns.max(now_ns)));
        }
        end_ns
    }
}

/// Plays a job on one clock from the start of its first phase to the end of its last; every phase ends when its slowest
/// rank ends. Calls `each` with the start of every phase and its delay, and stops after several times the measured
/// number.
pub(super) fn play_through(tracks: &[&Track], grain_ns: u64, mut each: impl FnMut(u64, u64)) {
    let windows = || tracks.iter().filter_map(|track| track.window());
    let (Some(first), Some(last)) =
        (windows().map(|window| window.0).min(), windows().map(|window| window.1).min())
    else {
        return;
    };
    let most = tracks.first().map_or(0, |track| track.phases.len()) * 4 + 1_000;
    let mut players: Vec<_> = tracks.iter().map(|track| Player::new(track)).collect();
    let mut now = first;
    for _ in 0..most {
        if now >= last {
            return;
        }
        let undisturbed = now.saturating_add(grain_ns.max(1));
        let done = players.iter_mut().map(|player| player.done(now, grain_ns));
        let end = done.fold(undisturbed, u64::max);
        each(now, end - undisturbed);
        now = end;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn track(away: &[(u64, u64)]) -> Track {
        let span = |&(start_ns, end_ns): &(u64, u64)| Span { start_ns, end_ns };
        Track {
            rank: 0,
            host: 0,
            cpu: None,
            calibrated_ns: 0,
            count: 0,
            phases: vec![],
            detours: Some(away.iter().map(span).collect()),
            first_detour: 0,
        }
    }

    #[test]
    fn when_a_rank_is_done() {
        let track = track(&[(10, 20), (25, 25), (30, 31), (50, 90)]);
        let cases = [
            ("before all", 0, 5, 5),
            ("up to a detour", 0, 10, 10),
            ("over one", 0, 11, 21),
            ("over two", 0, 25, 36),
            ("start in a detour", 15, 4, 24),
            ("start at its end", 20, 4, 24),
            ("start at its beginning", 30, 1, 32),
            ("into the next detour", 40, 10, 50),
            ("inside the last", 60, 1, 91),
            ("after all", 95, 7, 102),
            ("no number is too large", 95, u64::MAX, u64::MAX),
        ];
        for (name, now, grain, expected) in cases {
            assert_eq!(Player::new(&track).done(now, grain), expected, "case: {name}");
        }
        // One player asked for all of them in turn.
        let mut player = Player::new(&track);
        let ends: Vec<u64> = cases.iter().skip(4).map(|case| player.done(case.1, case.2)).collect();
        assert_eq!(ends, cases.iter().skip(4).map(|case| case.3).collect::<Vec<u64>>());
    }
}
