//! The screen of repeated runs of a program: how much of their variance noise explains.

mod row;
pub(in crate::results) mod words;

pub use row::VARIANCE;

use crate::names::source_name;
use crate::picture::{Axis, Chart, Curve, Draw, Quantity};
use crate::screen::{Screen, Section};
use crate::style::{View, plain};
use crate::table::Table;
use crate::units::{count, counted, rough_share, time, timestamp};
use anechoic_analyze::Variance;
use anechoic_analyze::facts::Facts;
use anechoic_analyze::variance::{ProgramRun, SourceShare, Taken, UNATTRIBUTED};

/// Largest number of runs in a shortened table, those that took longest.
const RUNS: usize = 10;
/// Largest number of sources in a shortened table.
const SOURCES: usize = 4;
/// Number of rows between the axes of the chart in the terminal.
const ROWS: usize = 7;

/// Its section on a page.
const SECTION: Section =
    Section { anchor: "variance", title: "Why runs differ", short: "Variance" };

/// Shows the runs, and how much of their variance noise explains.
#[must_use]
pub(crate) fn variance(found: &Variance, view: &View<'_>) -> Screen {
    let mut screen = Screen::default();
    screen.heading(&crate::heading::machine(&found.run));
    screen.context(&format!(
        "{} of {} · {}",
        counted(found.runs.len() as u64, "run", "runs"),
        words::program(found),
        timestamp(&found.run.start_utc)
    ));
    screen.gap();
    screen.headline(&words::sentences(found).join(" "));
    words::warnings(found).iter().for_each(|warning| screen.warning(warning));
    if found.runs.len() > 1 {
        screen.picture(
            chart(found).titled("wall time of each run against its lost time", ROWS),
            match found.explained.without {
                Some(_) => {
                    "Wall time of each run against the time that it lost; the line is the fit."
                }
                None => "Wall time of each run against the time that it lost.",
            },
        );
    }
    screen.section("runs, the longest first");
    screen.table(
        runs(found)
            .first(RUNS, view.all, |more| format!("{} more", counted(more as u64, "run", "runs"))),
    );
    screen.section("lost time of a run by source");
    screen.table(sources(&found.sources, &found.run, "a run").first(SOURCES, view.all, |more| {
        format!("{} more", counted(more as u64, "source", "sources"))
    }));
    words::details(&found.explained, "A run").iter().for_each(|line| screen.note(line));
    screen.path("recordings", view);
    screen
}

/// Draws the wall time of each run against its lost time, with the fit where the time without noise is stated.
fn chart(found: &Variance) -> Chart {
    let points = || found.runs.iter().map(|run| (run.lost_ns as f64, run.wall_ns as f64));
    let mut points: Vec<(f64, f64)> = points().collect();
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut curves = vec![Curve::numbered(0, "run".into(), Draw::Points, &points)];
    if let (Some(_), Some(slope), [first, .., last]) =
        (&found.explained.without, found.explained.slope, &points[..])
    {
        let fitted = |lost: f64| (lost, found.wall_ns.mean + slope * (lost - found.lost_ns.mean));
        let ends = [fitted(first.0), fitted(last.0)];
        curves.insert(0, Curve::numbered(1, "fit".into(), Draw::Line, &ends));
    }
    let (x, y) =
        (Axis::linear("lost time", Quantity::Time), Axis::linear("wall time", Quantity::Time));
    Chart::new(x, y, curves)
}

fn runs(found: &Variance) -> Table {
    let mut by_length: Vec<&ProgramRun> = found.runs.iter().collect();
    by_length.sort_by_key(|run| std::cmp::Reverse(run.wall_ns));
    Table::with_rows(&by_length)
        .number("run", |run| count(u64::from(run.number)))
        .number("wall time", |run| words::exact(run.wall_ns as f64, found.wall_ns.sd))
        .number("CPU time", |run| {
            run.cpu_ns.map_or("–".into(), |ns| words::exact(ns as f64, found.wall_ns.sd))
        })
        .number("lost time", |run| time(run.lost_ns as f64))
        .name("most of it", |run| most(run.most.as_ref(), &found.run))
        .captioned("The runs, with what took most of the lost time")
}

/// Names what took most of the lost time.
pub(in crate::results) fn most(most: Option<&Taken>, run: &Facts) -> String {
    let Some(most) = most else { return "–".to_owned() };
    format!("{} {}", name(run, &most.source, &most.name), time(most.ns as f64))
}

/// Lists what took the lost time of a run, or of an iteration.
pub(in crate::results) fn sources(sources: &[SourceShare], run: &Facts, one: &str) -> Table {
    Table::with_rows(sources)
        .name("source", |row| name(run, &row.source, &row.name))
        .number("mean", |row| time(row.lost_ns.mean))
        .number("± sd", |row| row.lost_ns.sd.map_or("–".into(), time))
        .number("max", |row| time(row.lost_ns.max))
        .some_numbers("of the variance", 0, |row: &SourceShare| row.share.map(part))
        .captioned(&format!(
            "Lost time of {one} by source, and the part of the variance of the wall time that it explains"
        ))
}

/// Writes a part of the variance, which may be below 0.
fn part(part: f64) -> String {
    rough_share(if part.abs() < 0.005 { 0.0 } else { part })
}

/// Names a source.
fn name(run: &Facts, source: &str, name: &str) -> String {
    match source {
        UNATTRIBUTED => "not attributed".to_owned(),
        source => plain(&source_name(source, name, run)),
    }
}
