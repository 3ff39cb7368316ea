//! Walks through the phases: duration of each, the rank that came last, and the detours in it.

use super::outcome::Happened;
use super::play::Player;
use super::track::Track;

/// One phase of a job.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Step {
    /// Duration from one release to the next: on a host from the earliest of its ranks', averaged over hosts.
    pub took_ns: f64,
    /// Time from the release to the last rank's arrival.
    pub work_ns: f64,
    /// Part of it that the last rank spent in detours.
    pub away_ns: f64,
    /// Time that the recursion adds to the undisturbed phase.
    pub delay_ns: u64,
    /// Index of the track of the rank that arrived last.
    pub last: u32,
    pub happened: Happened,
}

/// The ranks of one host in one phase.
struct OnHost {
    took_ns: u64,
    /// The rank that arrived last, and its arrival after the release.
    last: usize,
    work_ns: u64,
}

/// The tracks of one round of a job with joined phases; tracks of one host are adjacent.
#[derive(Debug, Clone)]
pub(super) struct Round<'a> {
    pub number: u32,
    pub tracks: Vec<&'a Track>,
}

impl Round<'_> {
    pub(super) fn phases(&self) -> usize {
        self.tracks.first().map_or(0, |track| track.phases.len())
    }

    /// Range of the tracks of each host.
    fn hosts(&self) -> Vec<(usize, usize)> {
        let mut from = 0;
        let runs = self.tracks.chunk_by(|a, b| a.host == b.host);
        let range = |run: &[&Track]| {
            let range = (from, from + run.len());
            from = range.1;
            range
        };
        runs.map(range).collect()
    }

    /// Returns when the ranks of a host were released: the earliest observation, because the other ranks may have been
    /// in a detour.
    fn released(&self, (from, to): (usize, usize), phase: usize) -> u64 {
        let starts = self.tracks[from..to].iter().map(|track| track.phases[phase].start_ns);
        starts.min().unwrap_or(0)
    }

    /// Returns when a phase starts on the first host.
    pub(super) fn starts_ns(&self, phase: usize) -> u64 {
        let host = self.tracks.first().map_or(0, |track| track.host);
        let here = self.tracks.iter().take_while(|track| track.host == host);
        here.map(|track| track.phases[phase].start_ns).min().unwrap_or(0)
    }

    fn next_released(&self, (from, to): (usize, usize), phase: usize) -> u64 {
        let next = self.tracks[from..to].iter().map(|track| track.next_ns(phase));
        next.min().unwrap_or(0)
    }

    /// Returns all phases without the recursion.
    pub(super) fn walk(&self) -> Vec<Step> {
        let hosts = self.hosts();
        let mut players: Vec<Player<'_>> = self.tracks.iter().map(|t| Player::new(t)).collect();
        (0..self.phases()).map(|phase| self.step(&hosts, phase, &mut players)).collect()
    }

    /// Returns one phase of all hosts, of which that with the slowest rank counts.
    fn step(&self, hosts: &[(usize, usize)], phase: usize, players: &mut [Player<'_>]) -> Step {
        let (mut took_ns, mut happened) = (0.0, Happened::Nothing);
        let mut slowest: Option<(OnHost, f64)> = None;
        for &host in hosts {
            let (on_host, away_ns, here) = self.on_host(host, phase, players);
            took_ns += on_host.took_ns as f64 / hosts.len() as f64;
            happened = match (happened, here) {
                (Happened::InWork, _) | (_, Happened::InWork) => Happened::InWork,
                (Happened::InWait, _) => Happened::InWait,
                (_, here) => here,
            };
            if slowest.as_ref().is_none_or(|(other, _)| other.work_ns < on_host.work_ns) {
                slowest = Some((on_host, away_ns));
            }
        }
        let (last, work_ns, away_ns) =
            slowest.map_or((0, 0, 0.0), |(on, away)| (on.last, on.work_ns, away));
        Step { took_ns, work_ns: work_ns as f64, away_ns, delay_ns: 0, last: last as u32, happened }
    }

    /// Returns what happened on one host, and the time in detours of its last rank.
    fn on_host(
        &self,
        host: (usize, usize),
        phase: usize,
        players: &mut [Player<'_>],
    ) -> (OnHost, f64, Happened) {
        let (start, next) = (self.released(host, phase), self.next_released(host, phase));
        let mut happened = Happened::Nothing;
        let (mut last, mut away) = (OnHost { took_ns: 0, last: host.0, work_ns: 0 }, 0);
        for (place, player) in (host.0..host.1).zip(&mut players[host.0..host.1]) {
            let end = self.tracks[place].phases[phase].end_ns;
            let mut away_here = 0u64;
            for span in player.from(start).iter().take_while(|s| s.start_ns < next) {
                let inside = span.end_ns.min(end).saturating_sub(span.start_ns.max(start));
                away_here = away_here.saturating_add(inside);
                if inside > 0 {
                    happened = Happened::InWork;
                } else if happened == Happened::Nothing && span.start_ns < span.end_ns {
                    happened = Happened::InWait;
                }
            }
            let work_ns = end.saturating_sub(start);
            if place == host.0 || work_ns > last.work_ns {
                (last, away) = (OnHost { took_ns: 0, last: place, work_ns }, away_here);
            }
        }
        // Every phase but the first begins where the one before ended, or later where one was left out.
        last.took_ns = next.saturating_sub(start);
        (last, away as f64, happened)
    }

    /// Adds the recursion for each phase, started at its measured start.
    pub(super) fn play(&self, steps: &mut [Step], grain_ns: u64) {
        let hosts = self.hosts();
        let mut players: Vec<Player<'_>> = self.tracks.iter().map(|t| Player::new(t)).collect();
        for (phase, step) in steps.iter_mut().enumerate() {
            for &host in &hosts {
                let start = self.released(host, phase);
                for player in &mut players[host.0..host.1] {
                    let took = player.done(start, grain_ns) - start;
                    step.delay_ns = step.delay_ns.max(took.saturating_sub(grain_ns));
                }
            }
        }
    }

    /// Calls `each` with the detours that delayed the last rank: index of the track, and number of the detour among
    /// those of its CPU.
    pub(super) fn blame(&self, steps: &[Step], mut each: impl FnMut(&Track, u64)) {
        let hosts = self.hosts();
        let mut players: Vec<Player<'_>> = self.tracks.iter().map(|t| Player::new(t)).collect();
        for (phase, step) in steps.iter().enumerate() {
            let last = step.last as usize;
            let Some(track) = self.tracks.get(last).filter(|_| step.away_ns > 0.0) else {
                continue;
            };
            let host = hosts.iter().find(|host| (host.0..host.1).contains(&last));
            let Some(&host) = host else { continue };
            let (start, end) = (self.released(host, phase), track.phases[phase].end_ns);
            let late = players[last].from(start).iter().take_while(|s| s.start_ns < end).count();
            let first = track.first_detour + players[last].place() as u64;
            (0..late as u64).for_each(|number| each(track, first + number));
        }
    }
}
