//! What is odd about the table, a line each.

use super::words::hertz;
use crate::style::{Tone, View, plain, wrap};
use crate::units::{counted, share};
use anechoic_predict::ticks::{Fall, ProcessorModel};
use std::io::{self, Write};

/// Falls that are named before they are folded.
const MOST_FALLS: usize = 6;
/// A point that may miss by more tells little.
const BLIND: f64 = 0.1;

/// Writes them.
pub(super) fn write(of: &ProcessorModel, view: &View<'_>, out: &mut dyn Write) -> io::Result<()> {
    // Between near rates any error makes some times fall: those within it are only counted.
    let (within, beyond): (Vec<&Fall>, Vec<&Fall>) =
        of.falls.iter().partition(|fall| fall.within_error == Some(true) && !view.all);
    let most = if view.all { beyond.len() } else { MOST_FALLS };
    beyond.iter().take(most).try_for_each(|one| mark(&fall(one), view, out))?;
    let more = beyond.len().saturating_sub(most) as u64;
    if more > 0 {
        let falls = counted(more, "more such fall", "more such falls");
        mark(&format!("{falls} (--all shows them)"), view, out)?;
    }
    if !within.is_empty() {
        let steps = counted(within.len() as u64, "step", "steps");
        let line = format!("the time falls at {steps} to the next higher rate, within the errors");
        mark(&line, view, out)?;
    }
    if let Some(shares) = of.shares.filter(|shares| shares.negative + shares.without > 0) {
        let all = shares.pairs + shares.without;
        let rise = "the time rises by less than the direct cost, or not at all";
        let odd = shares.negative + shares.without;
        mark(&format!("in {odd} of {} {rise}", counted(all, "pair", "pairs")), view, out)?;
    }
    let blind = of.points.iter().filter(|point| !point.point.by_block.is_empty());
    let blind = blind.map(|point| point.allowed).fold(0.0, f64::max);
    if blind > BLIND {
        let line = format!(
            "the times differ so much between blocks that a miss of {} could not be told: was the machine busy?",
            share(blind)
        );
        mark(&line, view, out)?;
    }
    of.notes.iter().try_for_each(|note| mark(note, view, out))
}

fn fall(fall: &Fall) -> String {
    let copies = counted(u64::from(fall.copies), "copy", "copies");
    let within = match fall.within_error {
        Some(true) => ", within the errors",
        Some(false) => ", by more than the errors",
        None => "",
    };
    format!(
        "the time falls as the rate rises: {copies}, {:.4} ms at {}, {:.4} ms at {}{within}",
        fall.low_ms,
        hertz(fall.low_hz),
        fall.high_ms,
        hertz(fall.high_hz)
    )
}

/// A line that begins with a mark.
fn mark(text: &str, view: &View<'_>, out: &mut dyn Write) -> io::Result<()> {
    let lines = wrap(&plain(text), view.columns() - 2);
    lines.iter().enumerate().try_for_each(|(line, text)| {
        let mark = if line == 0 { "! " } else { "  " };
        writeln!(out, "{}", view.style.paint(Tone::Warning, &format!("{mark}{text}")))
    })
}
