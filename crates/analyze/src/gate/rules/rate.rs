//! `max-rate`: how often a source interrupts a CPU, or a detour exceeds a length.

use super::{HIGHEST_THRESHOLD_NS, Judge, Rule, RuleRow, Scope, Unit, hides};
use crate::gate::counts::Counts;
use crate::gate::program::{Counted, Runs};
use crate::gate::tally::Watched;
use crate::gate::{Doubt, Finding, Outcome};
use crate::stats::{dispersion, fewest_events, most_events};
use anechoic_recording::options::rate as period;

/// The rule.
pub(super) static RATE: RuleRow = RuleRow {
    id: "max-rate",
    value_name: "[SOURCE][>LENGTH]=RATE",
    help: "Largest number of detours of a CPU per time: all, with a source, or longer than a length: 1000/s, 'thread:*=1/s', '>50us=6/min'",
    scope: Scope::SourceAndLength,
    unit: Unit::PerSecond,
    limit: per_second,
    judge: Judge::Cpu { detours: judge, counts: judge_counts, runs: Some(judge_runs) },
};

/// Units of time in which rates are given, in seconds.
const UNITS: [(&str, f64); 4] = [("s", 1.0), ("min", 60.0), ("h", 3_600.0), ("d", 86_400.0)];
/// Largest factor by which a measurement would have to be longer that is still reported.
const MOST_TIMES: f64 = 1e6;

fn judge(rule: &Rule, watched: &Watched<'_>) -> Finding {
    let seconds = watched.clock.seconds(watched.wall_ticks);
    let [seen, possible] = [watched.seen, watched.possible].map(|tally| {
        let counts: Vec<f64> = tally.counts.iter().map(|&count| count as f64).collect();
        (tally.events as f64, dispersion(&counts))
    });
    let most = (possible.0 + watched.lost_detours as f64, possible.1);
    let at_least = fewest_events(seen.0, seen.1) / seconds;
    let at_most = most_events(most.0, most.1) / seconds;
    let outcome = Outcome::from_bounds(rule.limit, at_least, Some(at_most));
    let undecided = outcome == Outcome::Undecided;
    Finding {
        outcome,
        value: seen.0 / seconds,
        at_least,
        at_most: Some(at_most),
        needed_ns: undecided.then(|| needed_ns(rule.limit, most, seconds)).flatten(),
        doubt: hides(watched.threshold_ns, rule.longer_than_ns.unwrap_or(HIGHEST_THRESHOLD_NS)),
        ..watched.finding()
    }
}

fn judge_counts(rule: &Rule, counts: &Counts<'_>) -> Result<Finding, Doubt> {
    if counts.latencies && rule.longer_than_ns.is_none() {
        return Err(Doubt::Latencies); // every wake-up has one
    }
    if counts.wall_ns == 0 {
        return Err(Doubt::NoTime);
    }
    let seconds = counts.wall_ns as f64 / 1e9;
    let number = counts.longer_than(rule.longer_than_ns.unwrap_or(0));
    let (seen, possible) = (number.at_least as f64, number.at_most as f64);
    let at_least = fewest_events(seen, 1.0) / seconds;
    let at_most = most_events(possible, 1.0) / seconds;
    let outcome = Outcome::from_bounds(rule.limit, at_least, Some(at_most));
    let undecided = outcome == Outcome::Undecided;
    Ok(Finding {
        outcome,
        value: seen / seconds,
        at_least,
        at_most: Some(at_most),
        needed_ns: undecided.then(|| needed_ns(rule.limit, (possible, 1.0), seconds)).flatten(),
        doubt: hides(counts.threshold_ns, rule.longer_than_ns.unwrap_or(HIGHEST_THRESHOLD_NS)),
        ..counts.finding(number)
    })
}

/// Judges how often something happens to a program on all of its CPUs, per second from its start to its end: the mean over
/// its runs.
fn judge_runs(rule: &Rule, runs: &Runs<'_>) -> Finding {
    let seconds = (runs.elapsed_ns() as f64 / 1e9).max(1e-9);
    let fewest = fewest_events(runs.seen.events as f64, 1.0) / seconds;
    let most = most_events(runs.possible.events as f64, 1.0) / seconds;
    let rates = [rates(runs, |run| run.seen.events), rates(runs, |run| run.possible.events)];
    runs.judged(rule.limit, [&rates[0], &rates[1]], (fewest, Some(most)))
}

/// Returns the rate of these events in each run.
fn rates(runs: &Runs<'_>, events: fn(&Counted) -> u64) -> Vec<f64> {
    let rate = |(run, ns): &(&Counted, u64)| events(run) as f64 * 1e9 / (*ns).max(1) as f64;
    runs.runs.iter().map(rate).collect()
}

/// Returns how long to watch a CPU to show that this many events in these seconds are within the limit, if their rate
/// stays the same; absent if that takes a million times as long.
fn needed_ns(limit: f64, events: (f64, f64), seconds: f64) -> Option<u64> {
    needed_times(limit * seconds, events).map(|times| (times * seconds * 1e9) as u64)
}

/// Returns how many times as long to measure to show that events, this many until now with this dispersion, are fewer than
/// `limit` in each of these times; absent if that takes a million times as long.
pub(super) fn needed_times(limit: f64, (events, dispersion): (f64, f64)) -> Option<f64> {
    let shows = |times: f64| most_events(events * times, dispersion) <= limit * times;
    let (mut low, mut high) = (1.0, MOST_TIMES);
    if !shows(high) {
        return None;
    }
    while high / low > 1.001 {
        let middle = f64::sqrt(low * high);
        if shows(middle) { high = middle } else { low = middle }
    }
    Some(high)
}

/// Reads a rate, `10/s`, `6/min`, `1/h`, `2/d` or `250hz`, per second.
fn per_second(text: &str) -> Result<f64, String> {
    let text = text.trim();
    let example = "write one, for example 1/s, 6/min, 0.5/h or 250hz";
    let bad = || format!("'{text}' is not a rate; {example}");
    let Some((number, unit)) = text.split_once('/') else {
        return period(text).map(|period| 1.0 / period.as_secs_f64()).map_err(|_| bad());
    };
    let unit = UNITS.iter().find(|(name, _)| *name == unit.trim()).ok_or_else(bad)?;
    let number: f64 = number.trim().parse().map_err(|_| bad())?;
    match number / unit.1 {
        rate if rate > 0.0 && rate.is_finite() => Ok(rate),
        _ => Err(format!("'{text}' is not a rate over 0; {example}")),
    }
}
