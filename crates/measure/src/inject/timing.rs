//! When noise comes: periodically, at random, or at the times of a recording.

use anechoic_recording::{Detour, Problem, ProblemKind, Recording};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// When noise comes.
#[derive(Debug, Clone, PartialEq)]
pub enum Timing {
    /// At a fixed period.
    Periodic {
        /// The period.
        period: Duration,
    },
    /// At a fixed period whose phase other processes and hosts share, or none does. For threads only.
    Phased {
        /// The period.
        period: Duration,
        /// Where in the period each one starts.
        phase: Phase,
    },
    /// At times with exponentially distributed gaps.
    Poisson {
        /// The mean gap.
        period: Duration,
        /// Seed of the random gaps.
        seed: u64,
    },
    /// At the times of a recording's detours, in a loop.
    Replay(Arc<Replay>),
}

/// Where in its period noise starts (Ferreira 2008).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// At whole multiples of the period since the epoch of the wall clock: at the same time in all processes, and on all
    /// hosts as far as their clocks agree.
    Coordinated,
    /// At a random part of the period, another one on each CPU.
    Random {
        /// Seed of the random parts.
        seed: u64,
    },
}

impl Timing {
    /// Returns the period of noise that starts at whole multiples of it on the wall clock.
    pub(super) fn coordinated(&self) -> Option<Duration> {
        match self {
            Timing::Phased { period, phase: Phase::Coordinated } => Some(*period),
            _ => None,
        }
    }

    /// Returns the mean time between two starts.
    pub(super) fn period(&self) -> Duration {
        match self {
            Timing::Periodic { period }
            | Timing::Phased { period, .. }
            | Timing::Poisson { period, .. } => *period,
            Timing::Replay(replay) => replay.period(),
        }
    }

    /// Returns the events of one CPU; `place`, its index in the list, makes random or replayed CPUs differ.
    pub(super) fn on(&self, place: usize, duration: Duration) -> Events {
        let duration_ns = duration.as_nanos() as u64;
        match self {
            Timing::Periodic { period } => {
                Events::Periodic { next_ns: 0, period_ns: period.as_nanos() as u64, duration_ns }
            }
            Timing::Phased { period, phase } => {
                let period_ns = period.as_nanos() as u64;
                let next_ns = match phase {
                    Phase::Coordinated => 0, // the start is a multiple of the period
                    Phase::Random { seed } => {
                        Pcg64Mcg::seed_from_u64(seed.wrapping_add(place as u64))
                            .random_range(0..period_ns.max(1))
                    }
                };
                Events::Periodic { next_ns, period_ns, duration_ns }
            }
            Timing::Poisson { period, seed } => Events::Poisson {
                random: Pcg64Mcg::seed_from_u64(seed.wrapping_add(place as u64)),
                next_ns: 0.0,
                mean_ns: period.as_nanos() as f64,
                duration_ns,
            },
            Timing::Replay(replay) => {
                Events::Replay { replay: Arc::clone(replay), place, next: 0, round: 0 }
            }
        }
    }
}

/// An event: its time since the start, and its duration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Event {
    pub(super) start_ns: u64,
    pub(super) duration_ns: u64,
}

/// The endless events of one CPU, in time order.
#[derive(Debug, Clone)]
pub(super) enum Events {
    Periodic { next_ns: u64, period_ns: u64, duration_ns: u64 },
    Poisson { random: Pcg64Mcg, next_ns: f64, mean_ns: f64, duration_ns: u64 },
    Replay { replay: Arc<Replay>, place: usize, next: usize, round: u64 },
}

impl Iterator for Events {
    type Item = Event;

    fn next(&mut self) -> Option<Event> {
        Some(match self {
            Events::Periodic { next_ns, period_ns, duration_ns } => {
                *next_ns += *period_ns;
                Event { start_ns: *next_ns, duration_ns: *duration_ns }
            }
            Events::Poisson { random, next_ns, mean_ns, duration_ns } => {
                // 1 − u lies in (0, 1], so its logarithm is finite.
                let u: f64 = random.random();
                *next_ns -= *mean_ns * f64::ln_1p(-u);
                Event { start_ns: *next_ns as u64, duration_ns: *duration_ns }
            }
            Events::Replay { replay, place, next, round } => {
                let detours = &replay.cpus[*place % replay.cpus.len()];
                let (start_ns, duration_ns) = detours[*next];
                let event = Event { start_ns: start_ns + *round * replay.length_ns, duration_ns };
                *next += 1;
                if *next == detours.len() {
                    (*next, *round) = (0, *round + 1);
                }
                event
            }
        })
    }
}

/// The detours of a recording, ready to be replayed.
#[derive(Debug, PartialEq)]
pub struct Replay {
    recording: String,
    length_ns: u64,
    /// Start (since the recording's start) and duration of each detour, for each CPU that has any.
    cpus: Vec<Vec<(u64, u64)>>,
    left_out: LeftOut,
}

/// The detours of one CPU, which are replayed in a loop.
#[derive(Debug, Clone, Copy)]
pub(super) struct Round<'a> {
    /// The detours, at least one.
    detours: &'a [(u64, u64)],
    length_ns: u64,
}

impl Round<'_> {
    /// Returns the time from the start of the last detour to the first of the next round.
    pub(super) fn after_last_ns(&self) -> u64 {
        self.detours.last().map_or(0, |(start_ns, _)| self.length_ns.saturating_sub(*start_ns))
    }

    /// Returns the time since the start of the previous detour (for the first one: the last of the previous
    /// round), and the duration.
    pub(super) fn gaps(&self) -> impl Iterator<Item = (u64, u64)> {
        let mut before_ns = self.after_last_ns().wrapping_neg(); // negative: before the start
        self.detours.iter().map(move |&(start_ns, duration_ns)| {
            let gap_ns = start_ns.wrapping_sub(before_ns);
            before_ns = start_ns;
            (gap_ns, duration_ns)
        })
    }
}

/// What a replay leaves out because it is shorter or longer than requested.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LeftOut {
    /// Number of detours.
    pub count: u64,
    /// How many of them are too long.
    pub longer: u64,
    /// Their total time.
    pub time_ns: u64,
}

/// The largest number of detours in a replay: all are kept in memory, 16 bytes each.
const MOST: u64 = 16_000_000;

/// Formats an upper bound, or nothing if there is none.
fn up_to(most: Duration) -> String {
    if most == Duration::MAX { String::new() } else { format!(", up to {most:?},") }
}

impl Replay {
    /// Reads the detours of a recording that are between `least` and `most` long.
    ///
    /// # Errors
    /// Fails if there are none or too many, or if the recording is damaged.
    pub fn read(recording: &Recording, least: Duration, most: Duration) -> Result<Self, Problem> {
        let clock = &recording.run().clock;
        let ns = |length: Duration| u64::try_from(length.as_nanos()).unwrap_or(u64::MAX);
        let lengths_ns = ns(least).max(1)..=ns(most);
        let path = recording.dir().display().to_string();
        let mut cpus = BTreeMap::new();
        let (mut left_out, mut count, mut longest_ns) = (LeftOut::default(), 0, 0);
        for cpu in &recording.run().cpus {
            let ns = |ticks: u64| clock.ns(ticks.saturating_sub(cpu.first_ticks));
            let length_ns = |detour: &Detour| {
                let length = detour.end_ticks.saturating_sub(detour.start_ticks);
                clock.ns(length.saturating_sub(cpu.shortest_gap_ticks))
            };
            longest_ns = ns(cpu.last_ticks).max(longest_ns);
            let kept: &mut Vec<(u64, u64)> = cpus.entry(cpu.cpu).or_default();
            for detours in recording.rows_of_cpu::<Detour>(cpu.cpu) {
                let (played, others): (Vec<Detour>, Vec<Detour>) = detours?
                    .into_iter()
                    .partition(|detour| lengths_ns.contains(&length_ns(detour)));
                left_out.count += others.len() as u64;
                let longer = |detour: &&Detour| length_ns(detour) > *lengths_ns.end();
                left_out.longer += others.iter().filter(longer).count() as u64;
                left_out.time_ns += others.iter().map(length_ns).sum::<u64>();
                count += played.len() as u64;
                if count > MOST {
                    let why = format!("{path} has over {MOST} detours of {least:?} or more");
                    let remedy = "leave out shorter ones with --longer-than";
                    return Err(ProblemKind::Data.problem(why, remedy));
                }
                kept.extend(
                    played.iter().map(|detour| (ns(detour.start_ticks), length_ns(detour))),
                );
            }
        }
        match Replay::new(path.clone(), Duration::from_nanos(longest_ns), cpus) {
            Some(replay) => Ok(Replay { left_out, ..replay }),
            None => {
                let why =
                    format!("{path} has no detours of {least:?} or more{} to replay", up_to(most));
                Err(ProblemKind::Data.problem(why, "record some with: anechoic run"))
            }
        }
    }

    /// Creates a replay from (start since the recording's start, duration) of each detour, in ns, per CPU in
    /// time order. CPUs without detours are dropped, because their noise is played by others. Returns `None`
    /// if nothing is left.
    fn new(
        recording: String,
        length: Duration,
        cpus: BTreeMap<u32, Vec<(u64, u64)>>,
    ) -> Option<Self> {
        let cpus: Vec<_> = cpus.into_values().filter(|detours| !detours.is_empty()).collect();
        let last =
            |detours: &Vec<(u64, u64)>| detours.last().map_or(0, |(start, long)| start + long);
        let last_ns = cpus.iter().map(last).max()?;
        let length_ns = last_ns.max(length.as_nanos() as u64).max(1);
        Some(Replay { recording, length_ns, cpus, left_out: LeftOut::default() })
    }

    /// Returns what is left out.
    #[must_use]
    pub fn left_out(&self) -> LeftOut {
        self.left_out
    }

    /// Returns the total time of the replayed detours in ns, over all CPUs.
    #[must_use]
    pub fn time_ns(&self) -> u64 {
        self.cpus.iter().flatten().map(|(_, duration_ns)| duration_ns).sum()
    }

    /// Returns the number of detours in one round, over all CPUs.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.cpus.iter().map(|detours| detours.len() as u64).sum()
    }

    /// Returns the path of the recording.
    #[must_use]
    pub fn recording(&self) -> &str {
        &self.recording
    }

    /// Returns the detours to replay, for each CPU that has any.
    pub(super) fn rounds(&self) -> impl Iterator<Item = Round<'_>> {
        self.cpus.iter().map(|detours| Round { detours, length_ns: self.length_ns })
    }

    /// Returns the mean time between two starts on one CPU.
    pub(super) fn period(&self) -> Duration {
        Duration::from_nanos(self.length_ns * self.cpus.len() as u64 / self.count())
    }

    /// Returns the share of the busiest CPU, if each detour takes `besides` in addition.
    pub(super) fn share(&self, besides: Duration) -> f64 {
        let besides_ns = besides.as_nanos() as u64;
        let taken = |detours: &Vec<(u64, u64)>| -> u64 {
            detours.iter().map(|(_, duration_ns)| duration_ns.saturating_add(besides_ns)).sum()
        };
        let most = self.cpus.iter().map(taken).max().unwrap_or(0);
        most as f64 / self.length_ns as f64
    }

    /// Returns the mean duration of a detour.
    pub(super) fn mean_duration(&self) -> Duration {
        Duration::from_nanos(self.time_ns() / self.count())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first(timing: &Timing, place: usize, n: usize) -> Vec<(u64, u64)> {
        let events = timing.on(place, Duration::from_nanos(5));
        events.take(n).map(|event| (event.start_ns, event.duration_ns)).collect()
    }

    #[test]
    fn periods_are_equal() {
        let timing = Timing::Periodic { period: Duration::from_micros(1) };
        assert_eq!(first(&timing, 0, 3), [(1_000, 5), (2_000, 5), (3_000, 5)]);
    }

    #[test]
    fn random_phases_differ_between_cpus_and_keep_the_period() {
        let phased = |phase| Timing::Phased { period: Duration::from_millis(100), phase };
        let first = |phase, place| first(&phased(phase), place, 3);
        assert_eq!(first(Phase::Coordinated, 0)[0], (100_000_000, 5));
        assert_eq!(first(Phase::Coordinated, 0), first(Phase::Coordinated, 1));
        let random = Phase::Random { seed: 3 };
        let (one, other) = (first(random, 0), first(random, 1));
        assert_ne!(one, other);
        for events in [&one, &other] {
            assert!((100_000_000..200_000_000).contains(&events[0].0), "{events:?}");
            assert_eq!(events[2].0 - events[1].0, 100_000_000);
        }
        assert_eq!(first(random, 0), one, "the seed repeats it");
    }

    #[test]
    fn poisson_events_repeat_by_their_seed_and_have_the_mean_and_spread_of_the_law() {
        let timing = Timing::Poisson { period: Duration::from_micros(1), seed: 7 };
        assert_eq!(first(&timing, 0, 100), first(&timing, 0, 100));
        assert_ne!(first(&timing, 0, 100), first(&timing, 1, 100));
        let starts: Vec<f64> = first(&timing, 0, 100_000).iter().map(|e| e.0 as f64).collect();
        let gaps: Vec<f64> = starts.windows(2).map(|pair| pair[1] - pair[0]).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let spread = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
        assert!((mean / 1e3 - 1.0).abs() < 0.02, "{mean}");
        assert!((spread.sqrt() / mean - 1.0).abs() < 0.02, "{spread}");
    }

    #[test]
    fn a_replay_starts_again_and_gives_cpus_their_own() {
        let cpus = [(0, vec![(10, 1), (40, 2)]), (1, vec![]), (2, vec![(20, 3)])].into();
        let replay = Replay::new("r".into(), Duration::from_nanos(100), cpus).expect("not empty");
        let timing = Timing::Replay(Arc::new(replay));
        assert_eq!(first(&timing, 0, 3), [(10, 1), (40, 2), (110, 1)]);
        assert_eq!(first(&timing, 1, 2), [(20, 3), (120, 3)]);
        assert_eq!(timing.period(), Duration::from_nanos(66));
    }

    #[test]
    fn the_gaps_of_a_round_lead_to_the_same_times() {
        let replay = |detours| {
            let cpus = [(0, detours)].into();
            Replay::new("r".into(), Duration::from_nanos(100), cpus).expect("not empty")
        };
        for detours in [vec![(10, 1), (40, 2)], vec![(0, 7)], vec![(5, 5), (10, 5), (99, 1)]] {
            let replay = replay(detours);
            let round = replay.rounds().next().expect("one CPU");
            let mut at_ns = round.after_last_ns().wrapping_neg();
            let gaps = round.gaps().chain(round.gaps());
            let found: Vec<_> = gaps
                .map(|(gap_ns, duration_ns)| {
                    at_ns = at_ns.wrapping_add(gap_ns);
                    (at_ns, duration_ns)
                })
                .collect();
            let of_thread = first(&Timing::Replay(Arc::new(replay)), 0, found.len());
            assert_eq!(found, of_thread);
        }
    }

    #[test]
    fn nothing_cannot_be_replayed() {
        assert!(Replay::new("r".into(), Duration::from_secs(1), [(0, vec![])].into()).is_none());
    }
}
