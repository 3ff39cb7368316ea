//! The figure of a simulated job: how late its ranks are over time.

use crate::picture::{Cell, Column, Heat, Row};
use crate::screen::Screen;
use crate::style::Tone;
use crate::units::{count, fine};
use anechoic_simulate::{LateGroup, Lateness};

/// Factors of ten between the darkest cell and the lightest one.
const DECADES: f64 = 2.0;

/// Shows the figure: on a page, and in a terminal that shows all.
pub(super) fn show(found: &Lateness, all: bool, screen: &mut Screen) {
    let heat = heat(found);
    if heat.most <= 0.0 {
        return;
    }
    let caption = format!("How late ranks are over time, {}", against(found));
    if !all {
        return screen.shaded(heat, caption);
    }
    screen.section(&format!("how late ranks are over time (seed {})", found.seed));
    let shades = format!("· not late   {}", heat.shades());
    let to = found.at_ns.last().copied().unwrap_or(0.0);
    screen.picture(heat, caption);
    screen.in_terminal(|terminal| {
        terminal.toned_line(Tone::Quiet, &shades);
        terminal.note(&format!("from left to right: 0 to {}; {}", fine(to), against(found)));
    });
}

/// Says what the ranks are compared with.
fn against(found: &Lateness) -> &'static str {
    match found.without_delay_only {
        true => "compared with the same simulation without the delay",
        false => "compared with the simulation without noise",
    }
}

fn heat(found: &Lateness) -> Heat {
    let columns =
        found.at_ns.iter().map(|&at_ns| Column::plain(fine(at_ns)).briefly(String::new()));
    let late = found.groups.iter().flat_map(|group| group.late_ns.iter().copied());
    Heat {
        name: "lateness".to_owned(),
        title: String::new(),
        corner: "rank".to_owned(),
        columns: columns.collect(),
        rows: found.groups.iter().map(|group| row(group, &found.at_ns)).collect(),
        most: late.fold(0.0, f64::max),
        decades: DECADES,
        write: fine,
    }
}

fn row(group: &LateGroup, at_ns: &[f64]) -> Row {
    let first = count(u64::from(group.first));
    let label = match group.first == group.last {
        true => first,
        false => format!("{first}–{}", count(u64::from(group.last))),
    };
    let cells = group.late_ns.iter().zip(at_ns).map(|(&late_ns, &at_ns)| match late_ns < 1.0 {
        true => Cell::text("·"),
        false => Cell::hinted(late_ns, format!("{}: late by {}", fine(at_ns), fine(late_ns))),
    });
    Row::new(label, cells.collect())
}
