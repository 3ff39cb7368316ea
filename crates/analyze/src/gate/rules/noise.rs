//! `max-noise`: the share of the CPU time that detours take.

use super::{HIGHEST_THRESHOLD_NS, Judge, Rule, RuleRow, Scope, Unit, hides};
use crate::blocks::bounds_and_most;
use crate::counted::Within;
use crate::gate::counts::Counts;
use crate::gate::doubts::percentage;
use crate::gate::program::{Counted, Runs, Sums};
use crate::gate::tally::{Tally, Watched};
use crate::gate::{Doubt, Finding, Outcome};
use crate::stats::{
    Bounds, UNSEEN, fewest_in_sum, highest_mean, lowest_mean, most_events, most_in_sum,
};

/// The rule.
pub(super) static NOISE: RuleRow = RuleRow {
    id: "max-noise",
    value_name: "[SOURCE=]PERCENT",
    help: "Highest noise of a CPU, of all sources or of those that match: 0.1%, 'thread:*=0.01%'",
    scope: Scope::Source,
    unit: Unit::Share,
    limit: percentage,
    judge: Judge::Cpu { detours: judge, counts: judge_counts, runs: Some(judge_runs) },
};

fn judge(rule: &Rule, watched: &Watched<'_>) -> Finding {
    let value = crate::share(watched.seen.sum_ticks, watched.wall_ticks);
    let doubt = hides(watched.threshold_ns, HIGHEST_THRESHOLD_NS);
    let seen = bounds_of_parts(watched.seen, watched);
    let possible = if std::ptr::eq(watched.seen, watched.possible) {
        seen
    } else {
        bounds_of_parts(watched.possible, watched)
    };
    let at_least = seen.0.at_least.unwrap_or(0.0);
    let at_most = most(possible, watched);
    Finding {
        outcome: Outcome::from_bounds(rule.limit, at_least, at_most),
        value,
        at_least,
        at_most,
        doubt,
        ..watched.finding()
    }
}

/// Returns the upper bound of the noise from what its parts show; absent if nothing bounds the length of a detour that was
/// not seen.
fn most((bounds, most): (Bounds, f64), watched: &Watched<'_>) -> Option<f64> {
    let allowed = watched.longest_allowed_ns.map(|ns| watched.clock.ticks(ns) as f64);
    let longest = Some(watched.longest_ticks as f64).filter(|ticks| *ticks > 0.0);
    let seen = match watched.possible.sum_ticks {
        0 => unseen(allowed, longest)? / watched.wall_ticks as f64,
        _ => bounds.interval.map_or(most, |interval| interval.high),
    };
    // Each lost detour is taken to be as long as the longest of all others, and of this source.
    let lost = match watched.lost_detours {
        0 => 0.0,
        lost => lost as f64 * longest.or(allowed)? / watched.wall_ticks as f64,
    };
    // Few long detours may have an upper limit over all of the time.
    Some((seen + lost).min(1.0))
}

/// Returns the largest sum of what was never seen: as many detours as agree with none, each for as long as another rule
/// allows; without one, for [`UNSEEN`] times as long as the longest detour of any source. Absent if neither is known.
fn unseen(allowed: Option<f64>, longest: Option<f64>) -> Option<f64> {
    let length = allowed.or_else(|| longest.map(|longest| UNSEEN * longest))?;
    Some(most_events(0.0, 1.0) * length)
}

/// Returns the bounds from the lost time in equal parts of the run, and the upper one of few events.
fn bounds_of_parts(tally: &Tally, watched: &Watched<'_>) -> (Bounds, f64) {
    let parts = watched.parts(tally);
    // The end of a run that was cut off is known only from its detours: it has one part, which is all that was watched.
    let part_ticks = if parts.len() == 1 { watched.wall_ticks } else { tally.lost.length_ticks() };
    bounds_and_most(parts, part_ticks)
}

/// Judges the share of the time in which a program wanted a CPU that it lost: the mean over its runs.
fn judge_runs(rule: &Rule, runs: &Runs<'_>) -> Finding {
    let wanted = runs.wanted_ns().max(1.0);
    let allowed = runs.longest_allowed_ns.map(|ns| ns as f64);
    let most = match runs.possible.events {
        0 => unseen(allowed, runs.longest_ns()),
        _ => {
            let Sums { sum_ns, squares, longest_ns, .. } = runs.possible;
            Some(highest_mean(sum_ns, squares, longest_ns))
        }
    };
    let fewest = lowest_mean(runs.seen.sum_ns, runs.seen.squares) / wanted;
    let most = most.map(|most| (most / wanted).min(1.0));
    let seen = shares(runs, |run| run.seen);
    runs.judged(rule.limit, [&seen, &shares(runs, |run| run.possible)], (fewest, most))
}

/// Returns the share that each run lost by these sums.
fn shares(runs: &Runs<'_>, sums: fn(&Counted) -> Sums) -> Vec<f64> {
    let share = |run: &Counted| sums(run).sum_ns / run.wanted_ns.max(1.0);
    runs.runs.iter().map(|(run, _)| share(run)).collect()
}

/// The sum lies between the bounds of the ranges, or is known exactly. Its uncertainty by chance comes on top.
fn judge_counts(rule: &Rule, counts: &Counts<'_>) -> Result<Finding, Doubt> {
    if counts.latencies {
        return Err(Doubt::Latencies);
    }
    if counts.wall_ns == 0 {
        return Err(Doubt::NoTime);
    }
    let wall = counts.wall_ns as f64;
    let (ranges, clock) = (counts.ranges, counts.clock);
    let shortest = || ranges.iter().map(|(from, _, count)| (clock.ns(from) as f64, count as f64));
    // Nothing lasts longer than the measurement.
    let longest =
        || ranges.iter().map(|(_, to, count)| ((clock.ns(to) as f64).min(wall), count as f64));
    let sum =
        |all: &mut dyn Iterator<Item = (f64, f64)>| all.map(|(ns, count)| ns * count).sum::<f64>();
    let known = ranges.sum_ns(clock);
    let number = ranges.number();
    let most_by_chance = match number {
        0 => counts.longest_allowed_ns.and_then(|ns| unseen(Some(ns as f64), None)),
        _ => Some(most_in_sum(longest()) - sum(&mut longest())),
    };
    let least_by_chance = sum(&mut shortest()) - fewest_in_sum(shortest());
    let least = known.at_least as f64;
    let most = (known.at_most as f64).min(sum(&mut longest()).max(least));
    let at_least = ((least - least_by_chance) / wall).clamp(0.0, 1.0);
    let at_most = most_by_chance.map(|chance| ((most + chance) / wall).clamp(0.0, 1.0));
    let rough = least / wall <= rule.limit && rule.limit < most / wall;
    let certain = if rough { 0 } else { number };
    Ok(Finding {
        outcome: Outcome::from_bounds(rule.limit, at_least, at_most),
        value: (least / wall).min(1.0),
        at_least,
        at_most,
        doubt: hides(counts.threshold_ns, HIGHEST_THRESHOLD_NS),
        ..counts.finding(Within { at_least: certain, at_most: number })
    })
}
