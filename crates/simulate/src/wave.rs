//! The idle wave of a single delay: which ranks it reaches, when, and how late it makes them.
//!
//! Each simulation is repeated without the delay. How far a rank is from the rank that was delayed is the smallest number of
//! messages from one to the other.

use crate::engine::Ends;
use crate::given::{Given, OneDelay};
use crate::median::{median_interval, sorted};
use crate::parameters::PS;
use crate::replica::{Replica, ns};
use crate::runs::Runs;
use crate::schedule::{ANY_RANK, Kind, Schedule};
use anechoic_analyze::stats::{Interval, quantile};
use anechoic_recording::Problem;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, VecDeque};

/// The wave has reached a rank that is late by this share of the delay.
const REACHED: f64 = 0.1;
/// Distances from which on a wave has a speed.
const FOR_SPEED: usize = 3;

/// What a single delay does to other ranks.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct IdleWave {
    /// The delayed rank.
    pub rank: u64,
    /// Start of the delay, in ns.
    pub at_ns: u64,
    /// Its length, in ns.
    pub delay_ns: u64,
    /// From when on a rank counts as reached: late by this time, in ns, a tenth of the delay.
    pub reached_ns: f64,
    /// Number of ranks that it reached, the delayed one included: the median of all simulations.
    pub ranks_reached: f64,
    /// How much later the job finishes than in the same simulations without the delay, in ns.
    pub job_delay: Typical,
    /// Time that it takes to reach ranks that are one message further away, in ns; absent if it did not reach all ranks
    /// at three distances in each simulation.
    pub time_per_message: Option<Typical>,
    /// By how much less it delays ranks that are one message further away, in ns; absent if it did not reach all ranks
    /// at three distances in each simulation.
    pub loss_per_message: Option<Typical>,
    /// What happened at each distance, from the delayed rank on.
    pub distances: Vec<WaveDistance>,
}

/// The median of all simulations.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Typical {
    /// The median.
    pub median: f64,
    /// Its 95 % interval; absent for fewer than 6 simulations.
    pub interval: Option<Interval>,
}

/// What a delay does to the ranks at one distance: medians of these ranks, and of all simulations.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct WaveDistance {
    /// Messages from the delayed rank.
    pub messages: u32,
    /// Number of ranks.
    pub ranks: u64,
    /// How many of them it reached.
    pub reached: f64,
    /// When it came, in ns from the start of the delay; absent if it reached fewer than half of them.
    pub after_ns: Option<f64>,
    /// How late it made them when it came, in ns; of a rank that it did not reach, how late it was at most.
    pub late_ns: f64,
    /// How late they finished, in ns.
    pub finish_late_ns: f64,
}

/// What happened at one distance in one simulation.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
struct At {
    ranks: u64,
    reached: u64,
    after_ns: Option<f64>,
    late_ns: f64,
    finish_late_ns: f64,
}

/// What happened in one simulation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Wave {
    at: Vec<At>,
    job_delay_ns: f64,
    /// Time and loss per message.
    per_message: Option<[f64; 2]>,
}

/// Finds the wave of the delay in these replicas; none if there was no single delay, of large jobs, by the rules of others,
/// and if it was ended early.
///
/// # Errors
/// As [`simulate`](crate::simulate).
pub(crate) fn find(
    runs: &Runs<'_>,
    given: &Given,
    replicas: &[Replica],
) -> Result<Option<IdleWave>, Problem> {
    let (Some(delay), Some(schedule)) = (given.one_delay(), runs.small_schedule()) else {
        return Ok(None);
    };
    let by_distance = ranks_by_distance(schedule, delay.rank as u32, runs.eager_bytes());
    let waves = runs.in_threads(replicas.len(), |number| -> Result<Wave, Problem> {
        let [with, without] =
            runs.ends_with_and_without_delay(schedule, given, replicas[number].seed)?;
        Ok(Wave::new(schedule, delay, &by_distance, &with, &without))
    })?;
    let waves: Option<Vec<Wave>> = waves.into_iter().collect();
    Ok(waves.and_then(|waves| IdleWave::new(delay, &waves)))
}

/// Returns the ranks by the smallest number of messages from this rank to each of them. A message that waits for its
/// receiver also goes back.
fn ranks_by_distance(schedule: &Schedule, rank: u32, eager_bytes: u64) -> BTreeMap<u32, Vec<u32>> {
    let mut distances = vec![u32::MAX; schedule.ranks() as usize];
    let mut queue = VecDeque::from([rank]);
    distances[rank as usize] = 0;
    while let Some(rank) = queue.pop_front() {
        for operation in 0..schedule.count(rank) {
            let operation = schedule.operation(rank, operation);
            let shape = schedule.shape(operation.shape);
            let reaches = match shape.kind {
                Kind::Send => true,
                Kind::Receive => operation.peer != ANY_RANK && shape.size > eager_bytes,
                Kind::Compute => false,
            };
            if reaches && distances[operation.peer as usize] == u32::MAX {
                distances[operation.peer as usize] = distances[rank as usize] + 1;
                queue.push_back(operation.peer);
            }
        }
    }
    let mut found: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for (rank, distance) in (0..).zip(distances) {
        if distance != u32::MAX {
            found.entry(distance).or_default().push(rank);
        }
    }
    found
}

/// What a delay did to one rank. Times are in ns.
struct Delayed {
    /// From the start of the delay until the first operation that ends late; absent if it was not reached.
    after_ns: Option<f64>,
    late_ns: f64,
    finish_late_ns: f64,
}

impl Delayed {
    fn new(schedule: &Schedule, delay: OneDelay, rank: u32, with: &Ends, without: &Ends) -> Self {
        let (mut first, mut most_ns) = (None::<(u64, f64)>, 0.0_f64);
        for operation in 0..schedule.count(rank) {
            let number = schedule.number(rank, operation);
            let (end_ps, usual_ps) = (with.1[number], without.1[number]);
            let late_ns = late_by(end_ps, usual_ps);
            most_ns = most_ns.max(late_ns);
            let is_earlier = first.is_none_or(|(first_ps, _)| usual_ps < first_ps);
            if late_ns >= REACHED * delay.delay_ns as f64 && is_earlier {
                first = Some((usual_ps, late_ns));
            }
        }
        let finish = |ends: &Ends| ends.0.finish_ps[rank as usize];
        Self {
            after_ns: first.map(|(usual_ps, _)| ns(usual_ps) - delay.at_ns as f64),
            late_ns: first.map_or(most_ns, |(_, late_ns)| late_ns),
            finish_late_ns: late_by(finish(with), finish(without)),
        }
    }
}

/// Returns how much later something ends, in ns, given both times in ps.
fn late_by(with_ps: u64, without_ps: u64) -> f64 {
    (with_ps as f64 - without_ps as f64) / PS as f64
}

impl Wave {
    fn new(
        schedule: &Schedule,
        delay: OneDelay,
        by_distance: &BTreeMap<u32, Vec<u32>>,
        with: &Ends,
        without: &Ends,
    ) -> Self {
        let at = by_distance.values().map(|ranks| {
            let ranks =
                ranks.iter().map(|&rank| Delayed::new(schedule, delay, rank, with, without));
            At::new(&ranks.collect::<Vec<_>>())
        });
        let at: Vec<At> = at.collect();
        let job_delay_ns = ns(with.0.end_ps()) - ns(without.0.end_ps());
        Self { per_message: per_message(&at), at, job_delay_ns }
    }

    /// Returns the number of ranks that it reached.
    fn ranks_reached(&self) -> f64 {
        self.at.iter().map(|at| at.reached as f64).sum()
    }
}

/// Returns the time and the loss per message, given what happened at each distance; none if the wave reached too few.
fn per_message(at: &[At]) -> Option<[f64; 2]> {
    let front = at.iter().take_while(|at| at.reached == at.ranks);
    // The delayed rank itself is late at its next operation, which may be soon or not.
    let reached: Vec<(f64, &At)> = (0..).map(f64::from).zip(front).skip(1).collect();
    if reached.len() < FOR_SPEED {
        return None;
    }
    let after = reached.iter().map(|(messages, at)| (*messages, at.after_ns.unwrap_or(0.0)));
    let late = reached.iter().map(|(messages, at)| (*messages, at.late_ns));
    Some([slope(&after.collect::<Vec<_>>()), -slope(&late.collect::<Vec<_>>())])
}

impl At {
    fn new(ranks: &[Delayed]) -> Self {
        let median = |values: Vec<f64>| quantile(&sorted(values), 0.5);
        let after: Vec<f64> = ranks.iter().filter_map(|rank| rank.after_ns).collect();
        let reached = after.len() as u64;
        Self {
            ranks: ranks.len() as u64,
            reached,
            after_ns: median(after).filter(|_| 2 * reached >= ranks.len() as u64),
            late_ns: median(ranks.iter().map(|rank| rank.late_ns).collect()).unwrap_or(0.0),
            finish_late_ns: median(ranks.iter().map(|rank| rank.finish_late_ns).collect())
                .unwrap_or(0.0),
        }
    }
}

impl IdleWave {
    fn new(delay: OneDelay, waves: &[Wave]) -> Option<Self> {
        let distances = waves.first()?.at.iter().enumerate();
        Some(Self {
            rank: delay.rank as u64,
            at_ns: delay.at_ns,
            delay_ns: delay.delay_ns,
            reached_ns: REACHED * delay.delay_ns as f64,
            ranks_reached: typical(waves, |wave| Some(wave.ranks_reached()))?.median,
            job_delay: typical(waves, |wave| Some(wave.job_delay_ns))?,
            time_per_message: typical_of_all(waves, |wave| Some(wave.per_message?[0])),
            loss_per_message: typical_of_all(waves, |wave| Some(wave.per_message?[1])),
            distances: distances
                .filter_map(|(messages, at)| WaveDistance::new(messages, at.ranks, waves))
                .collect(),
        })
    }
}

impl WaveDistance {
    fn new(messages: usize, ranks: u64, waves: &[Wave]) -> Option<Self> {
        let median = |value: fn(&At) -> f64| typical(waves, |wave| Some(value(&wave.at[messages])));
        Some(Self {
            messages: messages as u32,
            ranks,
            reached: median(|at| at.reached as f64)?.median,
            after_ns: typical_of_most(waves, |wave| wave.at[messages].after_ns)
                .map(|after| after.median),
            late_ns: median(|at| at.late_ns)?.median,
            finish_late_ns: median(|at| at.finish_late_ns)?.median,
        })
    }
}

/// Returns the median of all simulations that have the value.
fn typical(waves: &[Wave], value: impl Fn(&Wave) -> Option<f64>) -> Option<Typical> {
    Typical::new(waves.iter().filter_map(value).collect())
}

/// Returns the median of all simulations, if all have the value.
fn typical_of_all(waves: &[Wave], value: impl Fn(&Wave) -> Option<f64>) -> Option<Typical> {
    let values: Option<Vec<f64>> = waves.iter().map(value).collect();
    values.and_then(Typical::new)
}

/// Returns the median of all simulations that have the value, if most have it.
fn typical_of_most(waves: &[Wave], value: impl Fn(&Wave) -> Option<f64>) -> Option<Typical> {
    let values: Vec<f64> = waves.iter().filter_map(value).collect();
    let are_most = 2 * values.len() >= waves.len();
    Typical::new(values).filter(|_| are_most)
}

impl Typical {
    /// Returns the median of independent values.
    fn new(values: Vec<f64>) -> Option<Self> {
        let values = sorted(values);
        Some(Self { median: quantile(&values, 0.5)?, interval: median_interval(&values) })
    }
}

/// Returns the slope of the line of least squares through points.
fn slope(points: &[(f64, f64)]) -> f64 {
    let count = points.len() as f64;
    let sum = |value: fn(&(f64, f64)) -> f64| points.iter().map(value).sum::<f64>();
    let (x, y) = (sum(|point| point.0) / count, sum(|point| point.1) / count);
    let with_y: f64 = points.iter().map(|point| (point.0 - x) * (point.1 - y)).sum();
    let with_x: f64 = points.iter().map(|point| (point.0 - x).powi(2)).sum();
    with_y / with_x
}
