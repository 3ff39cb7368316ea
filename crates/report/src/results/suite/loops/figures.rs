//! The figures of the paper on its do-nothing loops, of the sets of this machine.

use crate::results::measured::left::over_shortest;
use crate::results::measured::names::shown;
use crate::results::measured::subtraction::{subtracted, widest};
use crate::results::measured::{scatter, tail};
use crate::results::suite::absolute;
use crate::screen::Screen;
use crate::style::plain;
use anechoic_analyze::samples::Measured;

/// Rows of a chart in the terminal.
const ROWS: usize = 8;

/// Adds the distributions of the first loop under each policy, and their tails.
pub(super) fn figure_10(set: &Measured, screen: &mut Screen) {
    let all = shown(set, true);
    let Some(group) = scatter::alike(&all).into_iter().next() else { return };
    let kernel = plain(&group[0].result.facts.variant);
    let chart = scatter::distributions(&absolute::drawn(&group)).named("figure 10");
    let title = format!("Figure 10 · share of the samples of {kernel} that took at most this long");
    screen.pictured(
        chart.titled(title, ROWS),
        format!("As Figure 10 of the paper, left: the share of the samples of {kernel} that took at most this long, by policy."),
    );
    let tails = tail::survival(&group).named("figure 10 tail");
    screen.pictured(
        tails,
        format!("As Figure 10 of the paper, right: the tail of the same. {}", tail::SURVIVAL),
    );
}

/// Adds what remains of the noisiest series as the time of the kernel is subtracted.
pub(super) fn figure_11(sets: &[&Measured], screen: &mut Screen) {
    let Some(set) = sets.first() else { return };
    let all = subtracted(set, true);
    let Some((named, subtraction)) = widest(&all) else { return };
    let (chart, caption) = over_shortest(named, subtraction, &set.run);
    let caption = format!("As Figure 11 of the paper, right, with caches enabled. {caption}");
    screen.pictured(chart.named("figure 11"), caption);
}

/// Adds the consecutive samples of each loop.
pub(super) fn figure_16(set: &Measured, screen: &mut Screen) {
    absolute::over_time(set, "Figure 16", &[], screen);
}
