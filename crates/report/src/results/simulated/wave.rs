//! The idle wave of a single delay.

use crate::table::Table;
use crate::units::{bounds, count, counted, fine};
use anechoic_simulate::{IdleWave, Typical, WaveDistance};

/// Rows that are shown unless all are.
const BRIEFLY: usize = 8;

/// Returns the heading.
pub(super) fn heading(wave: &IdleWave) -> String {
    format!("how the delay of rank {} moves from rank to rank", count(wave.rank))
}

/// Shows what happened at each distance, or at some of them.
pub(super) fn table(wave: &IdleWave, all: bool) -> Table {
    let shown = wave.distances.iter().enumerate().filter(|(at, _)| all || is_shown(wave, *at));
    let shown: Vec<&WaveDistance> = shown.map(|(_, distance)| distance).collect();
    Table::with_rows(&shown)
        .number("messages away", |distance| count(u64::from(distance.messages)))
        .number("ranks", |distance| count(distance.ranks))
        .number("reached", |distance| ranks(distance.reached))
        .number("after", |distance| distance.after_ns.map_or("–".to_owned(), fine))
        .number("late by", |distance| later(distance.late_ns))
        .number("at the end", |distance| later(distance.finish_late_ns))
        .captioned("What the delay does to ranks, by the number of messages from the delayed rank")
}

/// Returns whether a row is shown: those at powers of two, and the last one that was reached, if there are many.
fn is_shown(wave: &IdleWave, at: usize) -> bool {
    let reached = |distance: &WaveDistance| distance.after_ns.is_some();
    let last = wave.distances.iter().rposition(reached).unwrap_or(0);
    let is_end = at == last || at == last + 1;
    wave.distances.len() <= BRIEFLY || is_end || at < last && (at == 0 || at.is_power_of_two())
}

/// Explains the columns.
pub(super) fn note(wave: &IdleWave, all: bool) -> String {
    let shown = (0..wave.distances.len()).filter(|&at| all || is_shown(wave, at)).count();
    let rest = match wave.distances.len() - shown {
        0 => "",
        _ => "; --all shows every distance",
    };
    format!(
        "reached: late by {}, a tenth of the delay; after: from its start; late by: when it came; medians of the ranks of a \
         distance{rest}",
        fine(wave.reached_ns)
    )
}

/// Says how far the delay came, and how fast.
pub(super) fn sentences(wave: &IdleWave, ranks_of_job: u32, is_alone: bool) -> Vec<String> {
    let delay = fine(wave.delay_ns as f64);
    let mut sentences = vec![];
    if !is_alone {
        let (cost, change) = match wave.job_delay.median < 0.0 {
            true => (-wave.job_delay.median, "earlier"),
            false => (wave.job_delay.median, "later"),
        };
        sentences.push(format!(
            "The delay of {delay} makes the job end {} {change}{}.",
            fine(cost),
            interval(&wave.job_delay)
        ));
    }
    let reached = ranks(wave.ranks_reached);
    let all = counted(u64::from(ranks_of_job), "rank", "ranks");
    let moves = wave.time_per_message.zip(wave.loss_per_message).map(|(time, loss)| {
        let (what, loss_ns) = match loss.median < 0.0 {
            true => ("gains", -loss.median),
            false => ("loses", loss.median),
        };
        let loses = match loss_ns < 0.5 {
            true => "nothing".to_owned(),
            false => format!("{}{}", fine(loss_ns), interval(&loss)),
        };
        let pace = format!("{}{}", fine(time.median), interval(&time));
        format!("; with each message it moves on in {pace} and {what} {loses}")
    });
    sentences.push(format!("It reached {reached} of {all}{}.", moves.unwrap_or_default()));
    sentences
}

/// Writes the interval of a median, if it has one.
fn interval(found: &Typical) -> String {
    match found.interval {
        Some(interval) => format!(" (95 %: {})", bounds(Some(interval), None, later)),
        None => String::new(),
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
