//! `max-noise`: the share of the CPU time that detours take.

use super::{HIGHEST_THRESHOLD_NS, Judge, Rule, RuleRow, Scope, Unit, hides};
use crate::blocks::bounds;
use crate::counted::Within;
use crate::gate::counts::Counts;
use crate::gate::doubts::share;
use crate::gate::tally::{Tally, Watched};
use crate::gate::{Doubt, Finding, Outcome};
use crate::stats::{Bounds, fewest_in_sum, most_events, most_in_sum, most_in_sum_of};

/// The rule.
pub(super) static NOISE: RuleRow = RuleRow {
    id: "max-noise",
    value_name: "[SOURCE=]PERCENT",
    help: "Highest noise of a CPU, of all sources or of those that match: 0.1%, 'thread:*=0.01%'",
    scope: Scope::Source,
    unit: Unit::Share,
    limit: share,
    judge: Judge::Cpu { detours: judge, counts: judge_counts },
};

fn judge(rule: &Rule, of: &Watched<'_>) -> Finding {
    let value = crate::share(of.seen.sum_ticks, of.wall_ticks);
    let doubt = hides(of.threshold_ns, HIGHEST_THRESHOLD_NS);
    if of.of_program && of.possible.sum_ticks > 0 {
        let doubt = doubt.or(Some(Doubt::OfProgram));
        return Finding { value, doubt, ..of.finding() };
    }
    let at_least = of_parts(of.seen, of).at_least.unwrap_or(0.0);
    let at_most = of_parts(of.possible, of).interval.map(|interval| interval.high);
    let parts = of.possible.lost.up_to(of.last_ticks);
    let few = || most_in_sum(parts.iter().map(|&ticks| ticks as f64)) / of.wall_ticks as f64;
    // Each lost detour is taken to be as long as the longest of all others, and of this source.
    let lost = of.lost_detours as f64 * of.longest_ticks as f64 / of.wall_ticks as f64;
    // Of what was never seen, as many detours as the longest may come as agree with none in this time.
    let unseen = || most_events(0.0, 1.0) * of.longest_ticks as f64 / of.wall_ticks as f64;
    let at_most = match of.possible.sum_ticks {
        0 => unseen(),
        _ => at_most.unwrap_or_else(few),
    } + lost;
    Finding {
        outcome: Outcome::of(rule.limit, at_least, Some(at_most)),
        value,
        at_least,
        at_most: Some(at_most),
        doubt,
        ..of.finding()
    }
}

/// Returns the bounds from the lost time in equal parts of the run.
fn of_parts(tally: &Tally, of: &Watched<'_>) -> Bounds {
    bounds(&[tally.lost.up_to(of.last_ticks)], tally.lost.length_ticks())
}

/// The sum lies between the bounds of the ranges, or is known exactly. Its uncertainty by chance comes on top.
fn judge_counts(rule: &Rule, of: &Counts<'_>) -> Result<Finding, Doubt> {
    if of.latencies {
        return Err(Doubt::Latencies);
    }
    if of.wall_ns == 0 {
        return Err(Doubt::NoTime);
    }
    let wall = of.wall_ns as f64;
    let shortest =
        || of.ranges.iter().map(|(from, _, count)| (of.clock.ns(from) as f64, count as f64));
    // Nothing lasts longer than the measurement.
    let longest = || {
        of.ranges.iter().map(|(_, to, count)| ((of.clock.ns(to) as f64).min(wall), count as f64))
    };
    let sum =
        |all: &mut dyn Iterator<Item = (f64, f64)>| all.map(|(ns, count)| ns * count).sum::<f64>();
    let known = of.ranges.sum_ns(of.clock);
    let by_chance = (
        sum(&mut shortest()) - fewest_in_sum(shortest()),
        most_in_sum_of(longest()) - sum(&mut longest()),
    );
    let least = known.at_least as f64;
    let most = (known.at_most as f64).min(sum(&mut longest()).max(least));
    let at_least = ((least - by_chance.0) / wall).clamp(0.0, 1.0);
    let at_most = ((most + by_chance.1) / wall).clamp(0.0, 1.0);
    let rough = least / wall <= rule.limit && rule.limit < most / wall;
    let number = of.ranges.number();
    let certain = if rough { 0 } else { number };
    Ok(Finding {
        outcome: Outcome::of(rule.limit, at_least, Some(at_most)),
        value: (least / wall).min(1.0),
        at_least,
        at_most: Some(at_most),
        doubt: hides(of.threshold_ns, HIGHEST_THRESHOLD_NS),
        ..of.finding(Within { at_least: certain, at_most: number })
    })
}
