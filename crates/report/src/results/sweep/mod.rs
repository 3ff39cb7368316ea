//! The screen of measurements of different sizes or tick rates, joined: a table and figures over the number in which
//! they differ.

mod row;

pub use row::{SWEEP, sweep};
pub(crate) use row::{by_ranks, by_rate};

use crate::picture::{Axis, Chart, Curve, Draw, Place, Quantity as Unit, ROWS};
use crate::results::measured::counted as counted_events;
use crate::results::measured::cumulative;
use crate::screen::{Screen, Section};
use crate::style::{View, capital, plain};
use crate::table::Table;
use crate::units::{count, counted, fine, hertz, noise, number as per_sample};
use anechoic_analyze::sweep::{By, Line, Quantity, Sweep, SweepPoint};

/// From this ratio of the largest to the smallest value an axis is logarithmic.
const FAR: f64 = 10.0;
/// Largest number of curves in one figure.
const CURVES: usize = 8;
/// Largest number of experiments of which the distributions are drawn.
const MOST: usize = 8;
/// Largest number of tick rates that an axis names one by one.
const NAMED: usize = 8;
/// Space beside the lowest and the highest of them, as a factor.
const ROOM: f64 = 1.15;

/// Shows the quantity against the number, as a table and as a figure, and the distributions at each number.
pub(crate) fn screen(found: &Sweep, view: &View<'_>) -> Screen {
    let mut screen = Screen::default();
    let measurements = counted(found.measurements, "measurement", "measurements");
    let (method, number) = (plain(&found.method), number(found.by));
    screen.heading(&format!("{method} by {number}: {measurements}"));
    screen.gap();
    screen.headline(&sentences(found).join(" "));
    screen.part(SECTION, |part| add(found, view, part));
    screen
}

/// The part that a page shows as a section of its own.
const SECTION: Section =
    Section { anchor: "sweep", title: "Several sizes or rates", short: "Sizes" };

/// Adds the table, and the figures of the quantity and of the distributions.
pub(crate) fn add(found: &Sweep, view: &View<'_>, screen: &mut Screen) {
    screen.section(&format!("{} by {}", what(found), number(found.by)));
    if let Some(chart) = chart(found) {
        screen.pictured(chart, caption(found));
    }
    screen.table(table(found));
    screen.note(note(found));
    if let Some(table) = events_table(found) {
        screen.section(&format!(
            "cache misses and page faults in each sample by {}",
            number(found.by)
        ));
        screen.table(table);
        screen.note(counted_events::HOW);
        if lacks_events(found) {
            screen.note(NOT_COUNTED.1);
        }
        // The terminal has the table.
        for (name, chart) in event_charts(found) {
            screen.pictured(chart.titled("", ROWS), caption_of_events(found, &name));
        }
    }
    let shown = if view.all { MOST } else { 1 };
    for (name, chart) in distributions(found).into_iter().take(shown) {
        screen.pictured(chart, caption_of_distributions(found, &name));
    }
}

/// Describes the figure of the quantity.
fn caption(found: &Sweep) -> String {
    format!(
        "{} by {}: mean over repeated measurements, with the standard deviation.",
        capital(what(found)),
        number(found.by)
    )
}

/// Describes the figure of an event in each sample, by its name.
fn caption_of_events(found: &Sweep, name: &str) -> String {
    let number = number(found.by);
    format!("{name}, by {number}: mean over repeated measurements, with the standard deviation.")
}

/// Describes the distributions of one experiment.
fn caption_of_distributions(found: &Sweep, name: &str) -> String {
    let number = number(found.by);
    format!("Share of the samples that lost at most this much, by {number}: {name}.")
}

/// Names the number in which measurements differ.
pub(crate) fn number(by: By) -> &'static str {
    match by {
        By::Rate => "tick rate",
        By::Ranks => "ranks",
        By::Cpus => "CPUs",
        By::Hosts => "hosts",
    }
}

/// Names what is joined.
pub(crate) fn what(found: &Sweep) -> &'static str {
    match found.quantity {
        Quantity::Noise => "noise",
        Quantity::Delay => "delay of a phase",
    }
}

/// Explains the columns of the table.
pub(crate) fn note(found: &Sweep) -> &'static str {
    match found.quantity {
        Quantity::Noise if found.distributions.is_empty() => {
            "noise of all CPUs of a measurement together; mean and standard deviation are over repeated measurements"
        }
        Quantity::Noise => {
            "noise: mean of the samples over the shortest, minus 1; mean and standard deviation are over repeated measurements"
        }
        Quantity::Delay => {
            "mean time of a phase beyond its time without noise; mean and standard deviation are over repeated measurements"
        }
    }
}

/// Writes the number of a measurement.
fn number_cell(found: &Sweep, number: f64) -> String {
    match found.by {
        By::Rate => hertz(number),
        By::Ranks | By::Cpus | By::Hosts => count(number as u64),
    }
}

/// Writes a value.
fn value(found: &Sweep, value: f64) -> String {
    match found.quantity {
        Quantity::Noise => noise(value),
        Quantity::Delay if value < 0.0 => format!("-{}", fine(-value)),
        Quantity::Delay => fine(value),
    }
}

/// Returns what was found: how the quantity differs between the lowest and the highest number.
pub(crate) fn sentences(found: &Sweep) -> Vec<String> {
    let most = found.lines.iter().filter_map(risen);
    let Some((_, line, first, last)) = most.max_by(|a, b| a.0.abs().total_cmp(&b.0.abs())) else {
        let number = number(found.by);
        // A rate is a number itself.
        let number_of = if found.by == By::Rate { "" } else { "number of " };
        return vec![format!("All measurements have the same {number_of}{number}.")];
    };
    let value = |point: &SweepPoint| value(found, point.spread.mean);
    let mut text = format!(
        "The {} of {} is {} at {} and {} at {}",
        what(found),
        plain(&line.name),
        value(first),
        words(found, first.at),
        value(last),
        words(found, last.at)
    );
    if found.lines.len() > 1 {
        text += &format!(", the largest difference of {} experiments", found.lines.len());
    }
    let mut sentences = vec![text + "."];
    if found.lines.iter().flat_map(|line| &line.points).all(|point| point.spread.sd.is_none()) {
        sentences.push(
            "No measurement was repeated, so that differences by chance are not known.".to_owned(),
        );
    }
    sentences
}

/// Returns by how much the quantity rises from the lowest to the highest number, and the points at both.
fn risen(line: &Line) -> Option<(f64, &Line, &SweepPoint, &SweepPoint)> {
    let (first, last) = (line.points.first()?, line.points.last()?);
    (first.at < last.at).then_some((last.spread.mean - first.spread.mean, line, first, last))
}

/// Writes a number with its unit: `8 ranks`, `250 Hz`.
fn words(found: &Sweep, number: f64) -> String {
    let [one, many] = match found.by {
        By::Rate => return hertz(number),
        By::Ranks => ["rank", "ranks"],
        By::Cpus => ["CPU", "CPUs"],
        By::Hosts => ["host", "hosts"],
    };
    counted(number as u64, one, many)
}

/// Returns mean and deviation of each experiment at each number.
pub(crate) fn table(found: &Sweep) -> Table {
    let number = number(found.by);
    let mut table =
        Table::with_names("experiment", &[number, "runs", "mean", "± sd", "min", "max"])
            .captioned("Mean and deviation at each number");
    for line in &found.lines {
        for point in &line.points {
            let spread = &point.spread;
            table.row(vec![
                plain(&line.name),
                number_cell(found, point.at),
                count(spread.runs),
                value(found, spread.mean),
                spread.sd.map_or("–".into(), |sd| value(found, sd)),
                value(found, spread.min),
                value(found, spread.max),
            ]);
        }
    }
    table
}

/// Stands where an event was not counted, or never came, and what explains it.
const NOT_COUNTED: (&str, &str) = ("–", "–: not counted there, or it never came");

/// Returns the lines of each event that came, with its heading.
fn came(found: &Sweep) -> Vec<(String, &Vec<Line>)> {
    let lines = |(title, event)| Some((title, found.events.get(event)?));
    counted_events::all().filter_map(lines).collect()
}

/// Returns the value of an event of an experiment at a number.
fn event_at<'a>(lines: &'a [Line], name: &str, number: f64) -> Option<&'a SweepPoint> {
    let line = lines.iter().find(|line| line.name == name)?;
    line.points.iter().find(|point| point.at == number)
}

/// Returns whether an event has no value where another has one.
fn lacks_events(found: &Sweep) -> bool {
    let came = came(found);
    let lacks = |(name, number): (&str, f64)| {
        came.iter().any(|(_, lines)| event_at(lines, name, number).is_none())
    };
    rows_of_events(&came).into_iter().any(lacks)
}

/// Returns the experiments and numbers at which any of these events was counted: experiments as they come, numbers rising.
fn rows_of_events<'a>(came: &[(String, &'a Vec<Line>)]) -> Vec<(&'a str, f64)> {
    let mut rows: Vec<(&str, Vec<f64>)> = vec![];
    for line in came.iter().flat_map(|(_, lines)| *lines) {
        let numbers = line.points.iter().map(|point| point.at);
        match rows.iter_mut().find(|(name, _)| *name == line.name) {
            Some((_, known)) => known.extend(numbers),
            None => rows.push((&line.name, numbers.collect())),
        }
    }
    for (_, numbers) in &mut rows {
        numbers.sort_by(f64::total_cmp);
        numbers.dedup();
    }
    let rows = rows.into_iter();
    rows.flat_map(|(name, numbers)| numbers.into_iter().map(move |number| (name, number))).collect()
}

/// Returns the events in each sample of each experiment at each number; nothing if none was counted.
fn events_table(found: &Sweep) -> Option<Table> {
    let came = came(found);
    if came.is_empty() {
        return None;
    }
    let mut heads = vec![number(found.by)];
    heads.extend(came.iter().map(|(title, _)| &**title));
    let mut table = Table::with_names("experiment", &heads)
        .captioned("Cache misses and page faults in each sample at each number");
    for (name, number) in rows_of_events(&came) {
        let mut cells = vec![plain(name), number_cell(found, number)];
        cells.extend(came.iter().map(|(_, lines)| {
            let point = event_at(lines, name, number);
            point.map_or(NOT_COUNTED.0.into(), |point| per_sample(point.spread.mean))
        }));
        table.row(cells);
    }
    Some(table)
}

/// Draws the events in each sample against the number, with their names: one chart for each event that came.
fn event_charts(found: &Sweep) -> Vec<(String, Chart)> {
    let charts = counted_events::all().filter_map(|(title, event)| {
        let name = format!("{title}, in each sample");
        let chart = lines_chart(found, found.events.get(event)?, &name, Unit::Number)?;
        Some((name, chart.named(event)))
    });
    charts.collect()
}

/// Returns an axis that is logarithmic where positive values lie far apart.
fn axis(label: &str, unit: Unit, values: &[f64]) -> Axis {
    let (low, high) =
        values.iter().fold((f64::INFINITY, 0.0), |(low, high), &v| (v.min(low), v.max(high)));
    match low > 0.0 && high >= FAR * low {
        true => Axis::log(label, unit),
        false => Axis::linear(label, unit),
    }
}

/// Draws the mean of each experiment against the number, with the standard deviation as error bars; nothing where all
/// have the same number.
fn chart(found: &Sweep) -> Option<Chart> {
    let unit = if found.quantity == Quantity::Delay { Unit::Time } else { Unit::Share };
    Some(lines_chart(found, &found.lines, what(found), unit)?.named("by number"))
}

/// Names the rates themselves, of which round values in between say nothing, if they are few.
fn with_names(axis: Axis, mut rates: Vec<f64>) -> Axis {
    rates.sort_by(f64::total_cmp);
    rates.dedup();
    let [low, .., high] = rates[..] else { return axis };
    if rates.len() > NAMED || !axis.log {
        return axis;
    }
    let names = rates.iter().map(|&rate| Place { at: rate, name: hertz(rate) }).collect();
    Axis { names, range: Some((low / ROOM, high * ROOM)), ..axis }
}

/// Draws the mean of each experiment against the number on linear axes from 0, where what grows in proportion is a
/// straight line.
pub(crate) fn from_zero(found: &Sweep) -> Option<Chart> {
    let mut chart = chart(found)?;
    let values = |ends: fn(&Curve) -> Vec<f64>| chart.curves.iter().flat_map(ends).chain([0.0]);
    let linear = |axis: &Axis| Axis { log: false, ..axis.clone() };
    let x = linear(&chart.x).over(values(|curve| curve.x.clone())).rounded(ROWS);
    let y = linear(&chart.y).over(values(|curve| curve.along().collect())).rounded(ROWS / 2);
    (chart.x, chart.y) = (x, y);
    Some(chart)
}

/// Draws lines against the number, with the standard deviation as error bars; nothing where all have the same number.
fn lines_chart(found: &Sweep, lines: &[Line], what: &str, unit: Unit) -> Option<Chart> {
    let points = || lines.iter().flat_map(|line| &line.points);
    let first = points().next()?.at;
    if points().all(|point| point.at.total_cmp(&first).is_eq()) {
        return None;
    }
    let numbers: Vec<f64> = points().map(|point| point.at).collect();
    let values: Vec<f64> = points().map(error_bar).flat_map(|(low, high)| [low, high]).collect();
    let number_unit = if found.by == By::Rate { Unit::Frequency } else { Unit::Count };
    let curves = lines.iter().take(CURVES).enumerate().map(|(place, line)| {
        // A single curve needs no letter.
        let letter = ('a'..='z').nth(place).filter(|_| lines.len() > 1);
        curve(place, line).lettered(letter)
    });
    let curves = curves.collect();
    let x = axis(number(found.by), number_unit, &numbers);
    let x = if number_unit == Unit::Frequency { with_names(x, numbers) } else { x };
    let y = axis(what, unit, &values);
    let title = format!("{what} by {}, mean ± standard deviation", number(found.by));
    let mut chart = Chart::new(x, y, curves).titled(title, ROWS);
    if let Some(more @ 1..) = lines.len().checked_sub(CURVES) {
        chart.notes.push(format!("{more} more not drawn"));
    }
    Some(chart)
}

/// Draws the mean of one experiment with its error bars.
fn curve(place: usize, line: &Line) -> Curve {
    let means = line.points.iter().map(|point| (point.at, point.spread.mean));
    Curve::numbered(place, plain(&line.name), Draw::Line, &means.collect::<Vec<_>>())
        .spanning(line.points.iter().map(error_bar).collect())
}

/// Returns both ends of the error bar of a point, which are its mean if it was not repeated.
fn error_bar(point: &SweepPoint) -> (f64, f64) {
    let sd = point.spread.sd.unwrap_or(0.0);
    (point.spread.mean - sd, point.spread.mean + sd)
}

/// Draws the cumulative distributions of each experiment, one curve for each measurement. Returns them with the name of
/// the experiment.
fn distributions(found: &Sweep) -> Vec<(String, Chart)> {
    if found.distributions.is_empty() {
        return vec![];
    }
    let experiments = found.lines.iter().take(MOST);
    let charts = experiments.map(|line| (plain(&line.name), distribution(found, line)));
    charts.filter(|(_, chart)| !chart.is_empty()).collect()
}

/// Draws the distributions of one experiment, those of the lowest numbers if there are too many.
fn distribution(found: &Sweep, line: &Line) -> Chart {
    let mut measured: Vec<_> =
        found.distributions.iter().filter(|series| series.name == line.name).collect();
    measured.sort_by(|a, b| a.at.total_cmp(&b.at));
    // Repeated measurements have their number in common.
    let repeated = line.points.iter().any(|point| point.spread.runs > 1);
    let curves = measured.into_iter().take(CURVES).map(|series| {
        let which = match repeated {
            true => format!(" · {}", plain(&series.measurement)),
            false => String::new(),
        };
        let points = series.points.iter().map(|point| (point.value, point.share)).collect();
        (format!("{}{which}", words(found, series.at)), points)
    });
    let title = format!("share of the samples that lost at most this much · {}", plain(&line.name));
    let chart = cumulative::chart("time lost", "share of the samples", curves.collect());
    let letters = chart.curves.into_iter().zip('a'..='z');
    let curves = letters.map(|(curve, letter)| curve.lettered(Some(letter))).collect();
    let chart = Chart { curves, ..Chart::new(chart.x, chart.y, vec![]) };
    chart.titled(title, ROWS).named(format!("cumulative {}", plain(&line.name)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use anechoic_analyze::repeat::Spread;
    use anechoic_recording::paging::counts::{FIRST_LEVEL, LAST_LEVEL};
    use std::collections::BTreeMap;

    fn line(name: &str, points: &[(f64, f64)]) -> Line {
        let point = |&(at, mean): &(f64, f64)| SweepPoint {
            at,
            spread: Spread { runs: 1, mean, sd: None, min: mean, max: mean },
            measurements: vec!["one".into()],
        };
        Line { name: name.into(), points: points.iter().map(point).collect() }
    }

    fn sweep_of(events: &[(&str, Vec<Line>)]) -> Sweep {
        Sweep {
            method: "loops".into(),
            by: By::Rate,
            quantity: Quantity::Noise,
            measurements: 3,
            lines: vec![line("counter", &[(250.0, 0.1), (1_000.0, 0.2)])],
            distributions: vec![],
            events: events.iter().map(|(id, lines)| ((*id).to_owned(), lines.clone())).collect(),
        }
    }

    /// An event that was counted in fewer measurements than another hides none of them.
    #[test]
    fn a_row_of_events_needs_only_one_of_them() {
        let first = vec![line("counter", &[(1_000.0, 7.0)])];
        let last =
            vec![line("counter", &[(250.0, 3.0), (1_000.0, 4.0)]), line("sum", &[(500.0, 5.0)])];
        let uneven = sweep_of(&[(FIRST_LEVEL[0], first.clone()), (LAST_LEVEL[0], last)]);
        let events = events_table(&uneven).expect("events came");
        let table = Screen::from_fn(|screen| screen.table(events));
        let view = View::default();
        let text = table.to_text(&view);
        let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
        let rows: Vec<String> = text.lines().skip(1).map(words).collect();
        assert_eq!(
            rows,
            ["counter 250 Hz – 3.00", "counter 1,000 Hz 7.00 4.00", "sum 500 Hz – 5.00"]
        );
        assert!(sweep(&uneven, &view).to_text(&view).contains(NOT_COUNTED.1));
        let even = sweep_of(&[(FIRST_LEVEL[0], first)]);
        assert!(!sweep(&even, &view).to_text(&view).contains(NOT_COUNTED.1));
        let none = Sweep { events: BTreeMap::new(), ..even };
        assert!(events_table(&none).is_none());
    }
}
