//! Compares measured and predicted loss for one grain and kind of synchronisation.

use super::explain::{explain, ranks};
use super::gather::RoundRead;
use super::job::Job;
use super::outcome::{Basis, Brackets, Cell, Played, Undisturbed};
use super::sums::{Blocks, Values, estimate, not_negative};
use super::track::Track;
use super::undisturbed::quantile;
use super::walk::Round;
use crate::phases::{laws, resample};
use anechoic_analyze::blocks::FEWEST_BLOCKS;
use anechoic_recording::parallel::Meeting;

/// Compares the rounds of one grain and kind of synchronisation. Calls `blame` with each detour that delayed the last
/// rank. Absent if no phase was recorded by all ranks.
pub(super) fn compare(rounds: &[&RoundRead], blame: impl FnMut(&Track, u64)) -> Option<Cell> {
    let first = rounds.first()?;
    let alone = first.meeting == Meeting::Nothing;
    let jobs = jobs(rounds, first.grain_ns, alone);
    if jobs.is_empty() {
        return None;
    }
    let known = jobs.iter().all(Job::known);
    let blocks = Blocks(jobs.iter().map(Job::sums).collect());
    let (whole, without) = (blocks.whole(), blocks.without_each());
    let non_negative = |value: fn(&Values) -> f64| not_negative(&whole, &without, value);
    let through = non_negative(|values| values.through).filter(|_| known);
    let anew = non_negative(|values| values.anew).filter(|_| known);
    let ratio = match through {
        Some(_) => non_negative(|values| over(values.measured, values.through)),
        None => non_negative(|values| over(values.measured, values.anew)),
    };
    jobs_blame(&jobs, blame);
    Some(Cell {
        grain_ns: first.grain_ns,
        meeting: first.meeting,
        injection: first.injection,
        ranks: ranks_of(rounds),
        phases: jobs.iter().map(|job| job.steps.len() as u64).sum(),
        left_out: rounds.iter().map(|round| round.left_out).sum(),
        undisturbed: undisturbed(&jobs, non_negative(|values| values.undisturbed_ns)?),
        measured: non_negative(|values| values.measured)?,
        predicted: through.or(anew),
        ratio: ratio.filter(|_| known),
        played: through.map(|_| Played::Through).or(anew.map(|_| Played::Anew)),
        anew,
        brackets: mean_brackets(&jobs),
        explanation: explain(&jobs, estimate(&whole, &without, |values| values.extra_ns)),
        of_ranks: ranks(&jobs, alone),
        sources: None,
    })
}

/// Returns the rounds of all ranks, or of one alone; rounds without a phase are left out.
fn rounds_of<'a>(rounds: &[&'a RoundRead], only: Option<u32>) -> Vec<Round<'a>> {
    let chosen = rounds.iter().map(|round| Round {
        number: round.number,
        tracks: round
            .tracks
            .iter()
            .filter(|track| only.is_none_or(|rank| track.rank == rank))
            .collect(),
    });
    chosen.filter(|round| round.phases() > 0).collect()
}

/// Returns one job of all ranks, or one for each rank; jobs without a phase are left out.
fn jobs<'a>(rounds: &[&'a RoundRead], grain_ns: u64, alone: bool) -> Vec<Job<'a>> {
    let mut each: Vec<Option<u32>> = vec![None];
    if alone {
        let ranks = rounds.iter().flat_map(|round| round.tracks.iter().map(|track| track.rank));
        each = ranks.map(Some).collect();
        each.sort_unstable();
        each.dedup();
    }
    let rounds: Vec<Vec<Round<'a>>> = each
        .into_iter()
        .map(|only| rounds_of(rounds, only))
        .filter(|rounds| !rounds.is_empty())
        .collect();
    let fewest = rounds.iter().map(|rounds| rounds.iter().map(Round::phases).sum::<usize>()).min();
    let shortest = rounds.iter().map(|rounds| window_ns(rounds)).min().unwrap_or(0);
    let blocks = resample::blocks(shortest, grain_ns).unwrap_or(1) as usize;
    let blocks = blocks.min(fewest.unwrap_or(1)).max(1);
    rounds.into_iter().filter_map(|rounds| Job::new(rounds, blocks)).collect()
}

/// Returns the wall time of some rounds.
fn window_ns(rounds: &[Round<'_>]) -> u64 {
    let first = |round: &Round<'_>| round.tracks.first().and_then(|track| track.window());
    let length = |round: &Round<'_>| first(round).map_or(0, |(from, to)| to - from);
    rounds.iter().map(length).fold(0, u64::saturating_add)
}

fn ranks_of(rounds: &[&RoundRead]) -> u64 {
    rounds.iter().map(|round| round.tracks.len() as u64).max().unwrap_or(0)
}

/// Returns the ratio of a measured to a predicted delay; not a number if none is predicted.
fn over(measured: f64, predicted: f64) -> f64 {
    if predicted > 0.0 { measured / predicted } else { f64::NAN }
}

fn jobs_blame(jobs: &[Job<'_>], mut blame: impl FnMut(&Track, u64)) {
    for job in jobs.iter().filter(|job| job.known()) {
        job.by_round().for_each(|(round, steps)| round.blame(steps, &mut blame));
    }
}

/// Returns the place of a basis in the order from the best to the worst.
fn place(basis: Basis) -> u32 {
    match basis {
        Basis::Undisturbed => 0,
        Basis::Corrected => 1,
        Basis::Calibrated => 2,
    }
}

fn undisturbed(jobs: &[Job<'_>], ns: super::outcome::Estimate) -> Undisturbed {
    // What holds for all of them is the least that holds for one.
    let basis = jobs.iter().map(|job| job.base.basis).max_by_key(|&basis| place(basis));
    Undisturbed {
        ns,
        meeting_ns: jobs.iter().map(|job| job.base.meeting_ns).sum::<f64>() / jobs.len() as f64,
        phases: jobs.iter().map(|job| job.base.phases).sum(),
        basis: basis.unwrap_or(Basis::Calibrated),
        wander: mean(jobs.iter().map(wander)),
    }
}

/// Returns the spread of the blocks of a job from the 5th to the 95th percentile.
fn wander(job: &Job<'_>) -> Option<f64> {
    let known = job.base_blocks.iter().filter(|(count, _)| *count > 0.0);
    let mut means: Vec<f64> = known.map(|(count, sum)| sum / count).collect();
    let enough = job.known() && means.len() as u64 >= FEWEST_BLOCKS;
    enough.then(|| (quantile(&mut means, 0.95) - quantile(&mut means, 0.05)) / job.base.ns)
}

/// Returns the laws for the same number of independent ranks; for ranks that did not synchronise, the mean of their
/// losses.
fn mean_brackets(jobs: &[Job<'_>]) -> Option<Brackets> {
    let each: Vec<Option<(f64, f64)>> = jobs.iter().map(brackets).collect();
    Some(Brackets {
        free_start: mean(each.iter().map(|both| both.map(|both| both.0)))?,
        wall_start: mean(each.iter().map(|both| both.map(|both| both.1)))?,
    })
}

/// Returns the losses by both laws for as many independent ranks as the job has.
fn brackets(job: &Job<'_>) -> Option<(f64, f64)> {
    let timelines = job.timelines().filter(|_| job.known())?;
    let laws = laws(&timelines, job.base.ns.round() as u64);
    let ranks = timelines.len() as u64;
    let loss = |law: &crate::phases::Law| law.mean_of_slowest_ns(ranks) / job.base.ns;
    Some((loss(&laws.free), loss(&laws.wall)))
}

/// Returns the mean of numbers; absent if any is.
fn mean(values: impl Iterator<Item = Option<f64>>) -> Option<f64> {
    let values: Vec<f64> = values.collect::<Option<_>>()?;
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}
