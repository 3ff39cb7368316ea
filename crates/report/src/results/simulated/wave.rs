//! The idle wave of a single delay.

use crate::table::Table;
use crate::units::{bounds, count, counted, fine};
use anechoic_analyze::stats::Interval;
use anechoic_simulate::{IdleWave, Simulation, Typical, WaveDistance};

/// Rows that are shown unless all are.
const BRIEFLY: usize = 6;

/// Returns the heading.
pub(super) fn heading(wave: &IdleWave) -> String {
    format!("how the delay of rank {} moves from rank to rank", count(wave.rank))
}

/// Shows what happened at each distance up to the first that was not reached, or at some of them.
pub(super) fn table(wave: &IdleWave, all: bool) -> Table {
    let numbered = wave.distances.iter().enumerate();
    let shown: Vec<&WaveDistance> =
        numbered.filter(|&(at, _)| is_shown(wave, at, all)).map(|(_, distance)| distance).collect();
    Table::with_rows(&shown)
        .number("messages away", |distance| count(u64::from(distance.messages)))
        .number("ranks", |distance| count(distance.ranks))
        .number("reached", |distance| ranks(distance.reached))
        .number("after", |distance| distance.after_ns.map_or("–".to_owned(), fine))
        .number("late by", |distance| later(distance.late_ns))
        .number("at the end", |distance| later(distance.finish_late_ns))
        .captioned("What the delay does to ranks, by the number of messages from the delayed rank")
}

/// Returns whether a row is shown: up to the first one that was not reached; briefly, if there are many, those at powers of
/// four, and the last one that was reached.
fn is_shown(wave: &IdleWave, at: usize, all: bool) -> bool {
    let reached = |distance: &WaveDistance| distance.after_ns.is_some();
    let last = wave.distances.iter().rposition(reached).unwrap_or(0);
    let is_some = last < BRIEFLY || at == 0 || at.is_power_of_two() && at.ilog2().is_multiple_of(2);
    at == last || at == last + 1 || at < last && (all || is_some)
}

/// Explains the columns.
pub(super) fn note(wave: &IdleWave, all: bool) -> String {
    let rest = if all { "" } else { "; --all shows every distance, and the critical path" };
    format!(
        "reached: late by {}, a tenth of the delay; after: from its start; late by: when it came; medians of the ranks of a \
         distance{rest}",
        fine(wave.reached_ns)
    )
}

/// Says how far the delay came, and how fast.
pub(super) fn sentences(wave: &IdleWave, found: &Simulation, is_alone: bool) -> Vec<String> {
    let delay = fine(wave.delay_ns as f64);
    let mut sentences = vec![];
    if !is_alone {
        let (cost, change) = match wave.job_delay.median < 0.0 {
            true => (negated(&wave.job_delay), "earlier"),
            false => (wave.job_delay, "later"),
        };
        sentences.push(format!(
            "The delay of {delay} makes the job end {} {change}.",
            with_interval(&cost)
        ));
    }
    let reached = ranks(wave.ranks_reached);
    let all = counted(u64::from(found.job.ranks), "rank", "ranks");
    let moves = wave.time_per_message.zip(wave.loss_per_message).map(|(time, loss)| {
        let (what, loss) = match loss.median < 0.0 {
            true => ("gains", negated(&loss)),
            false => ("loses", loss),
        };
        let loses = match loss.median < 0.5 {
            true => "nothing".to_owned(),
            false => with_interval(&loss),
        };
        format!("; with each message it moves on in {} and {what} {loses}", with_interval(&time))
    });
    let begin = if is_cut(wave, found) { "Before the job ended, it" } else { "It" };
    sentences.push(format!("{begin} reached {reached} of {all}{}.", moves.unwrap_or_default()));
    sentences
}

/// Returns whether the job ended before the wave could move on: it was still strong, and had no time for one more message.
fn is_cut(wave: &IdleWave, found: &Simulation) -> bool {
    let last = wave.distances.iter().rev().find_map(|at| Some((at, at.after_ns?)));
    let (Some((at, after_ns)), Some(whole)) = (last, &found.slowdown) else { return false };
    let farthest = wave.distances.last().map_or(0, |at| at.messages);
    let end_ns = found.quiet_ns * whole.median - wave.job_delay.median;
    let pace_ns = wave.time_per_message.map_or(after_ns, |time| time.median);
    at.messages < farthest
        && at.late_ns >= 2.0 * wave.reached_ns
        && wave.at_ns as f64 + after_ns + 1.5 * pace_ns >= end_ns
}

/// Returns a median with the other sign.
fn negated(found: &Typical) -> Typical {
    let interval = found.interval.map(|Interval { low, high }| Interval { low: -high, high: -low });
    Typical { median: -found.median, interval }
}

/// Writes a median with its interval, if it has one.
fn with_interval(found: &Typical) -> String {
    match found.interval {
        Some(interval) => {
            format!("{} (95 %: {})", later(found.median), bounds(Some(interval), None, later))
        }
        None => later(found.median),
    }
}

/// Writes a number of ranks, which is a half between two simulations.
fn ranks(number: f64) -> String {
    match number.fract() == 0.0 {
        true => count(number as u64),
        false => format!("{number:.1}"),
    }
}

/// Writes how late a rank is.
fn later(late_ns: f64) -> String {
    let sign = if late_ns < 0.0 { "−" } else { "" };
    format!("{sign}{}", fine(late_ns.abs()))
}
