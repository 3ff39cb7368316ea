//! The screen of the iterations of a recorded program: which were slow, and what hit them.

mod row;
mod words;

pub use row::ITERATIONS;

use crate::picture::{Axis, Chart, Curve, Draw, Quantity};
use crate::results::variance::words::{details, exact};
use crate::results::variance::{most, sources};
use crate::screen::{Screen, Section};
use crate::style::{View, plain};
use crate::table::Table;
use crate::units::{count, counted, time, timestamp};
use anechoic_analyze::Iterations;
use anechoic_analyze::iterations::Iteration;

/// Largest number of iterations in a shortened table.
const SLOWEST: usize = 5;
/// Largest number of sources in a shortened table.
const SOURCES: usize = 4;
/// Number of rows between the axes of the chart in the terminal.
const ROWS: usize = 7;

/// Its section on a page.
const SECTION: Section =
    Section { anchor: "iterations", title: "Iterations of the program", short: "Iterations" };

/// Shows how long the iterations took, how much of their variance noise explains, and the slowest ones.
#[must_use]
pub(crate) fn iterations(found: &Iterations, view: &View<'_>) -> Screen {
    let mut screen = Screen::default();
    // The summary of the program, which comes before it, names the machine.
    screen.heading(&format!(
        "{} · {} · {}",
        counted(found.iterations, "iteration", "iterations"),
        words::marked(found),
        timestamp(&found.run.start_utc)
    ));
    screen.gap();
    screen.headline(&words::sentences(found).join(" "));
    words::warnings(found).iter().for_each(|warning| screen.warning(warning));
    if found.drawn.len() > 1 {
        screen.picture(
            chart(found).titled("wall time of iterations over the run", ROWS),
            "Wall time of iterations over the run, and without the time that each lost.",
        );
    }
    if found.slowest.is_empty() {
        return screen;
    }
    screen.section("the slowest iterations");
    // The list has the slowest hundred.
    let others = found.iterations.saturating_sub(SLOWEST as u64);
    let shown = |_| format!("{} more", counted(others, "iteration", "iterations"));
    screen.table(slowest(found).first(SLOWEST, view.all, shown));
    if !found.sources.is_empty() {
        screen.section("lost time of an iteration by source");
        screen.table(sources(&found.sources, &found.run, "an iteration").first(
            SOURCES,
            view.all,
            |more| format!("{} more", counted(more as u64, "source", "sources")),
        ));
    }
    let lines = details(&found.explained, "An iteration").into_iter().chain(words::notes(found));
    lines.for_each(|line| screen.note(&line));
    screen.path("recording", view);
    screen
}

/// Draws the wall time of iterations over the run, and what it would be without the lost time of each.
fn chart(found: &Iterations) -> Chart {
    let points = |ns: fn(&Iteration) -> u64| -> Vec<(f64, f64)> {
        found.drawn.iter().map(|it| (it.start_ns as f64, ns(it) as f64)).collect()
    };
    let whole = points(|it| it.wall_ns);
    let without = points(|it| it.wall_ns.saturating_sub(it.lost_ns));
    let curves = vec![
        Curve::numbered(0, "iteration".into(), Draw::Points, &whole),
        Curve::numbered(1, "without lost time".into(), Draw::Points, &without),
    ];
    let (x, y) = (
        Axis::linear("since the start", Quantity::Time),
        Axis::linear("wall time", Quantity::Time),
    );
    Chart::new(x, y, curves)
}

fn slowest(found: &Iterations) -> Table {
    let sd = found.times.and_then(|times| times.wall_ns.sd);
    let labelled = found.slowest.iter().any(|it| !it.label.is_empty());
    let mut table = Table::with_rows(&found.slowest).number("number", |it| count(it.number));
    if found.threads.len() > 1 {
        table = table.number("thread", |it| it.thread.to_string());
    }
    if labelled {
        table = table.name("label", |it| plain(&it.label));
    }
    table
        .number("began at", |it| exact(it.start_ns as f64, sd))
        .number("wall time", |it| exact(it.wall_ns as f64, sd))
        .number("executed", |it| time(it.executed_ns as f64))
        .number("lost time", |it| time(it.lost_ns as f64))
        .number("slept", |it| time(it.slept_ns as f64))
        .name("most of the lost time", |it| most(it.most.as_ref(), &found.run))
        .captioned("The slowest iterations, with what took most of the lost time")
}
