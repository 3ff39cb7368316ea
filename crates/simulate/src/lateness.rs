//! How late ranks are over time: a simulation beside the same one without noise, or without its single delay.

use crate::engine::Ends;
use crate::given::Given;
use crate::parameters::PS;
use crate::replica::ns;
use crate::runs::Runs;
use crate::schedule::Schedule;
use anechoic_recording::Problem;
use schemars::JsonSchema;
use serde::Serialize;

/// Number of instants.
const INSTANTS: u64 = 48;
/// Most groups of ranks.
const GROUPS: u64 = 32;

/// How late ranks are over time.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Lateness {
    /// Seed of the simulation.
    pub seed: u64,
    /// Whether it is compared with the same simulation without the single delay; else with that without noise.
    pub without_delay_only: bool,
    /// Instants of the simulation that it is compared with, in ns.
    pub at_ns: Vec<f64>,
    /// Groups of ranks, in order of their numbers: one rank each in small jobs.
    pub groups: Vec<LateGroup>,
}

/// How late some ranks are over time.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct LateGroup {
    /// The first rank.
    pub first: u32,
    /// The last one.
    pub last: u32,
    /// For each instant: how much later what a rank had done by then is done, in ns; negative if earlier. The latest of the
    /// ranks counts. What is not done yet is not late.
    pub late_ns: Vec<f64>,
}

/// Finds how late ranks are in the simulation with this seed; none of large jobs, by the rules of others, and if it is
/// ended early.
///
/// # Errors
/// As [`simulate`](crate::simulate).
pub(crate) fn find(runs: &Runs<'_>, given: &Given, seed: u64) -> Result<Option<Lateness>, Problem> {
    let Some(schedule) = runs.small_schedule() else { return Ok(None) };
    let without_delay_only = given.one_delay().is_some() && !given.is_one_delay();
    let ends = match without_delay_only {
        true => runs.ends_with_and_without_delay(schedule, given, seed),
        false => runs.ends_with_and_without_noise(schedule, given, seed),
    };
    match ends {
        Err(_) if runs.must_stop() => Ok(None),
        Err(problem) => Err(problem),
        Ok([with, without]) => {
            Ok(Some(Lateness::new(schedule, seed, without_delay_only, [&with, &without])))
        }
    }
}

impl Lateness {
    fn new(
        schedule: &Schedule,
        seed: u64,
        without_delay_only: bool,
        [with, without]: [&Ends; 2],
    ) -> Self {
        let end_ps = without.0.end_ps();
        let at_ps: Vec<u64> = (1..=INSTANTS).map(|at| share(end_ps, at, INSTANTS)).collect();
        let ranks = u64::from(schedule.ranks());
        let groups = ranks.min(GROUPS);
        let groups = (0..groups).map(|group| {
            let first = share(ranks, group, groups) as u32;
            let last = share(ranks, group + 1, groups) as u32 - 1;
            let mut late_ns = vec![f64::NEG_INFINITY; at_ps.len()];
            for rank in first..=last {
                let late = late_at(schedule, rank, &at_ps, [&with.1, &without.1]);
                late_ns.iter_mut().zip(late).for_each(|(most, late)| *most = most.max(late));
            }
            LateGroup { first, last, late_ns }
        });
        Self {
            seed,
            without_delay_only,
            groups: groups.collect(),
            at_ns: at_ps.iter().map(|&at_ps| ns(at_ps)).collect(),
        }
    }
}

/// Returns this share of a number.
fn share(all: u64, part: u64, parts: u64) -> u64 {
    (u128::from(all) * u128::from(part) / u128::from(parts)) as u64
}

/// Returns for each instant by how many ns the last operation of a rank that has ended without noise ends later with it.
fn late_at(
    schedule: &Schedule,
    rank: u32,
    at_ps: &[u64],
    [with, without]: [&[u64]; 2],
) -> Vec<f64> {
    let first = schedule.number(rank, 0);
    let numbers = first..first + schedule.count(rank) as usize;
    let mut ends: Vec<(u64, u64)> = numbers.map(|number| (without[number], with[number])).collect();
    ends.sort_unstable();
    let late = at_ps.iter().map(|&at_ps| {
        let done = ends.partition_point(|(usual_ps, _)| *usual_ps <= at_ps);
        let last = done.checked_sub(1).map(|last| ends[last]);
        last.map_or(0.0, |(usual_ps, end_ps)| (end_ps as f64 - usual_ps as f64) / PS as f64)
    });
    late.collect()
}
