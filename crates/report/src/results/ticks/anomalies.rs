//! Warnings about oddities in the table of times, one line each.

use crate::screen::Screen;
use crate::units::{counted, hertz, share};
use anechoic_predict::ticks::{Fall, ProcessorModel};

/// Number of falls that are listed one by one.
const MOST_FALLS: usize = 6;
/// A point whose allowed miss is larger shows little about the model.
const BLIND: f64 = 0.1;

/// Adds the warnings.
pub(crate) fn add(processor: &ProcessorModel, all: bool, screen: &mut Screen) {
    // Between similar rates random errors make some times fall: falls within the errors are only counted.
    let (within, beyond): (Vec<&Fall>, Vec<&Fall>) =
        processor.falls.iter().partition(|fall| fall.within_error == Some(true) && !all);
    let most = if all { beyond.len() } else { MOST_FALLS };
    beyond.iter().take(most).for_each(|one| screen.warning(&fall(one)));
    let more = beyond.len().saturating_sub(most) as u64;
    if more > 0 {
        let falls = counted(more, "more such fall", "more such falls");
        screen.warning(&format!("{falls} (--all shows them)"));
    }
    if !within.is_empty() {
        let steps = counted(within.len() as u64, "step", "steps");
        screen.warning(&format!(
            "the time falls, within the errors, at {steps} to the next higher rate"
        ));
    }
    if let Some(shares) = processor.shares.filter(|shares| shares.negative + shares.without > 0) {
        let all = counted(shares.pairs + shares.without, "pair", "pairs");
        let rise = "the time rises by less than the direct cost, or not at all";
        let odd = shares.negative + shares.without;
        screen.warning(&format!("in {odd} of {all} {rise}"));
    }
    let blind = processor.points.iter().map(|point| point.allowed).fold(0.0, f64::max);
    if blind > BLIND {
        let recorded = processor.points.iter().any(|point| !point.point.by_block.is_empty());
        let vary = if recorded { " between blocks" } else { "" };
        let busy = if recorded { ": was the machine busy?" } else { "" };
        let blind = share(blind);
        screen.warning(&format!(
            "the times vary so much{vary} that a miss of {blind} would go unnoticed{busy}"
        ));
    }
    processor.notes.iter().for_each(|note| screen.warning(note));
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
