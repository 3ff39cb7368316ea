//! The phases of one rank in one round, and the phases that all ranks of a job recorded.

use crate::phases::Span;

/// One phase of one rank, in ns of its host's clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Phase {
    /// Number in the round.
    pub index: u64,
    /// Release from the previous synchronisation.
    pub start_ns: u64,
    /// Arrival at the next synchronisation.
    pub end_ns: u64,
    /// Release from that; absent if it was not recorded.
    pub next_ns: Option<u64>,
}

impl Phase {
    /// Returns whether it is complete and its times increase.
    fn whole(&self, after_ns: u64) -> bool {
        let ends = self.next_ns.is_some_and(|next| self.end_ns <= next && self.start_ns < next);
        after_ns <= self.start_ns && self.start_ns <= self.end_ns && ends
    }
}

/// One rank in one round.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Track {
    pub rank: u32,
    /// Number of its host.
    pub host: usize,
    pub cpu: Option<u32>,
    /// Calibrated duration of its work.
    pub calibrated_ns: u64,
    /// Number of its phases, including lost ones.
    pub count: u64,
    pub phases: Vec<Phase>,
    /// Detours in time order; absent if they are unknown.
    pub detours: Option<Vec<Span>>,
    /// Number of the first detour among those of its CPU.
    pub first_detour: u64,
}

impl Track {
    /// Returns the detours; none if they are unknown.
    pub(super) fn away(&self) -> &[Span] {
        self.detours.as_deref().unwrap_or_default()
    }

    /// Returns the time from the start of its first phase to the end of its last.
    pub(super) fn window(&self) -> Option<(u64, u64)> {
        Some((self.phases.first()?.start_ns, self.phases.last()?.next_ns?))
    }

    /// Returns the end of a phase's synchronisation, once the phases are joined.
    pub(super) fn next_ns(&self, phase: usize) -> u64 {
        self.phases[phase].next_ns.unwrap_or(self.phases[phase].end_ns)
    }

    /// Returns whether the rank worked until an instant. A gap of the work ends with a step of the work, one of a wait after
    /// the arrival and at the release at the latest. The phases are not yet joined.
    pub(super) fn works_until(&self, ns: u64) -> bool {
        let begun = self.phases.partition_point(|phase| phase.start_ns < ns);
        begun.checked_sub(1).is_some_and(|place| ns <= self.phases[place].end_ns)
    }

    /// Returns the time in detours between two instants.
    pub(super) fn lost_ns(&self, from_ns: u64, to_ns: u64) -> u64 {
        let inside =
            |span: &Span| span.end_ns.min(to_ns).saturating_sub(span.start_ns.max(from_ns));
        self.away().iter().map(inside).fold(0, u64::saturating_add)
    }
}

/// Keeps the phases that all these ranks recorded, so that they have the same indices; returns the number of dropped
/// phases.
pub(super) fn join(tracks: &mut [Track]) -> u64 {
    let count = tracks.iter().map(|track| track.count.max(track.phases.len() as u64)).max();
    let mut at = vec![0; tracks.len()];
    let mut kept = 0;
    'all: while !tracks.is_empty() {
        let here = |(track, &at): (&Track, &usize)| track.phases.get(at).map(|p| p.index);
        let Some(indices) = tracks.iter().zip(&at).map(here).collect::<Option<Vec<u64>>>() else {
            break;
        };
        let furthest = indices.iter().copied().max().unwrap_or(0);
        if indices.iter().any(|&index| index < furthest) {
            for (track, at) in tracks.iter().zip(&mut at) {
                while track.phases.get(*at).is_some_and(|phase| phase.index < furthest) {
                    *at += 1;
                }
                if *at >= track.phases.len() {
                    break 'all;
                }
            }
            continue;
        }
        let before = |track: &Track| if kept == 0 { 0 } else { track.next_ns(kept - 1) };
        let whole =
            tracks.iter().zip(&at).all(|(track, &at)| track.phases[at].whole(before(track)));
        for (track, at) in tracks.iter_mut().zip(&mut at) {
            if whole {
                track.phases[kept] = track.phases[*at];
            }
            *at += 1;
        }
        kept += usize::from(whole);
    }
    tracks.iter_mut().for_each(|track| track.phases.truncate(kept));
    count.unwrap_or(0).saturating_sub(kept as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a track with phases of 10 ns with these numbers; each phase is complete if the next number follows it.
    fn track(rank: u32, indices: &[u64]) -> Track {
        let phase = |&index: &u64| Phase {
            index,
            start_ns: index * 10,
            end_ns: index * 10 + 7,
            next_ns: Some(index * 10 + 10),
        };
        Track {
            rank,
            host: 0,
            cpu: Some(rank),
            calibrated_ns: 7,
            count: indices.last().map_or(0, |last| last + 1),
            phases: indices.iter().map(phase).collect(),
            detours: Some(vec![]),
            first_detour: 0,
        }
    }

    #[test]
    fn phases_that_all_have() {
        type Case = (&'static str, &'static [&'static [u64]], &'static [u64], u64);
        let cases: [Case; 8] = [
            ("no rank", &[], &[], 0),
            ("one rank", &[&[0, 1, 2]], &[0, 1, 2], 0),
            ("all", &[&[0, 1, 2], &[0, 1, 2]], &[0, 1, 2], 0),
            ("one lost some", &[&[0, 1, 2, 3], &[0, 3]], &[0, 3], 2),
            ("both lost some", &[&[0, 2, 3, 5], &[1, 2, 5, 6]], &[2, 5], 5),
            ("one has none", &[&[0, 1], &[]], &[], 2),
            ("one ended early", &[&[0, 1, 2, 3], &[0, 1]], &[0, 1], 2),
            ("nothing in common", &[&[0, 2], &[1, 3]], &[], 4),
        ];
        for (name, given, expected, left_out) in cases {
            let mut tracks: Vec<Track> = (0..).zip(given).map(|(r, i)| track(r, i)).collect();
            assert_eq!(join(&mut tracks), left_out, "case: {name}");
            for track in &tracks {
                let indices: Vec<u64> = track.phases.iter().map(|phase| phase.index).collect();
                assert_eq!(indices, expected, "case: {name}, rank {}", track.rank);
            }
        }
    }

    #[test]
    fn phases_that_make_no_sense_are_left_out() {
        let whole = track(0, &[0, 1, 2, 3]);
        let phase = |index, start_ns, end_ns, next_ns| Phase { index, start_ns, end_ns, next_ns };
        let cases = [
            ("its end is not known", phase(2, 20, 27, None)),
            ("arrived before it started", phase(2, 25, 22, Some(30))),
            ("released before it arrived", phase(2, 20, 27, Some(26))),
            ("no time at all", phase(2, 20, 20, Some(20))),
            ("begun before the one before was over", phase(2, 19, 27, Some(30))),
        ];
        for (name, bad) in cases {
            let mut other = whole.clone();
            other.phases[2] = bad;
            let mut tracks = [whole.clone(), other];
            assert_eq!(join(&mut tracks), 1, "case: {name}");
            assert_eq!(tracks[0].phases.len(), 3, "case: {name}");
        }
    }
}
