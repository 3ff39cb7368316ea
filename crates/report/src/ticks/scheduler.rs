//! What the scheduler takes, by how many copies can run: the paper's Figure 3.

use super::figures::DOTS;
use super::words::{number, range};
use crate::figure::{Axis, Plot, Quantity, Scale};
use crate::style::{Tone, View, wrap};
use crate::table::{Align, Table};
use crate::units::count;
use anechoic_analyze::bootstrap::Interval;
use anechoic_predict::ticks::{Estimate, ProcessorModel, Scheduler, SchedulerCost};
use std::io::{self, Write};

/// Numbers of copies that are shown before they are folded.
const MOST: usize = 16;
/// Rows of the figure.
const ROWS: usize = 8;
/// Ticks to which its vertical axis is rounded.
const TICKS: usize = 4;

/// What is measured of the scheduler: its sign and name in the figure, and its value.
type Curve = (char, &'static str, fn(&SchedulerCost) -> Option<Estimate>);

/// Beside each other at each number of copies.
const CURVES: [Curve; 3] = [
    ('t', "tick", |cost| Some(cost.tick)),
    ('f', "its function", |cost| Some(cost.function)),
    ('s', "tick to switch", |cost| cost.choice),
];

/// Table, figure and what they come to.
pub(super) fn write(of: &ProcessorModel, view: &View<'_>, out: &mut dyn Write) -> io::Result<()> {
    let scheduler = &of.scheduler;
    writeln!(out)?;
    if scheduler.by_copies.is_empty() {
        let why = scheduler.not_available.as_deref().unwrap_or("nothing was measured");
        let line =
            format!("what the scheduler takes, by the number of copies: not available ({why})");
        return super::paragraph(&line, Tone::Quiet, view, out);
    }
    let line = "what the scheduler takes in the kernel, by how many copies can run, in µs (95 %): ticks that came \
                alone in sorts without added interrupts, the median of each round";
    super::paragraph(line, Tone::Quiet, view, out)?;
    table(scheduler, view, out)?;
    if let Some(why) = &scheduler.not_available {
        return super::paragraph(why, Tone::Quiet, view, out);
    }
    let lines = wrap(&further(scheduler), view.columns());
    lines.iter().try_for_each(|line| writeln!(out, "{line}"))?;
    figure(scheduler, view, out)
}

/// `6.12 (5.91–6.33)`.
fn cell(of: Option<Estimate>, interval: bool) -> String {
    let Some(of) = of else { return "–".into() };
    let range = of.interval.filter(|_| interval).map(|of| format!(" ({})", range(of)));
    number(of.us) + &range.unwrap_or_default()
}

fn table(of: &Scheduler, view: &View<'_>, out: &mut dyn Write) -> io::Result<()> {
    let most = if view.all { of.by_copies.len() } else { MOST };
    let shown = &of.by_copies[..of.by_copies.len().min(most)];
    let mut made = Table::new(&[]);
    for (counts, intervals) in [(true, true), (false, true), (false, false)] {
        made = columns(shown, counts, intervals).fit(view.columns());
        if made.width() <= view.columns() {
            break;
        }
    }
    made.write(view.style, out)?;
    match of.by_copies.len() - shown.len() {
        0 => Ok(()),
        more => {
            let line = format!("{more} more numbers of copies (--all shows them)");
            super::paragraph(&line, Tone::Quiet, view, out)
        }
    }
}

/// With or without how many were seen, and how sure that is.
fn columns(costs: &[SchedulerCost], counts: bool, intervals: bool) -> Table {
    let heads = ["copies", "ticks", "a tick", "its function", "switches", "tick to switch"];
    let kept = |at: &usize| counts || ![1, 4].contains(at);
    let heads: Vec<(&str, Align)> =
        (0..heads.len()).filter(kept).map(|at| (heads[at], Align::Right)).collect();
    let mut table = Table::new(&heads);
    for cost in costs {
        let cells = [
            cost.copies.to_string(),
            count(cost.ticks),
            cell(Some(cost.tick), intervals),
            cell(Some(cost.function), false),
            count(cost.switches),
            cell(cost.choice, intervals),
        ];
        let cells = cells.into_iter().enumerate().filter(|(at, _)| kept(at));
        table.row(cells.map(|(_, cell)| cell).collect());
    }
    table
}

/// What each further copy adds, and whether that is anything.
fn further(of: &Scheduler) -> String {
    let adds = |of: Option<Estimate>| {
        let of = of?;
        let sure = match of.interval {
            None => " (no interval of one block)".to_owned(),
            Some(interval) => {
                let told = interval.low > 0.0 || interval.high < 0.0;
                let text = if told { "" } else { ": not told from 0" };
                let ns = Interval { low: interval.low * 1e3, high: interval.high * 1e3 };
                format!(" ({}, 95 %{text})", range(ns))
            }
        };
        Some(format!("{} ns{sure}", number(of.us * 1e3)))
    };
    let Some(tick) = adds(of.tick_per_copy) else {
        return "No block has two numbers of copies: what a further one adds is not known.".into();
    };
    let function = adds(of.function_per_copy);
    let function = function.map_or(String::new(), |ns| format!(", {ns} of it to its function"));
    let choice = adds(of.choice_per_copy);
    let choice = choice.map_or(String::new(), |ns| format!(", and {ns} from there to the switch"));
    format!("Each further copy adds {tick} to a tick{function}{choice}.")
}

fn figure(of: &Scheduler, view: &View<'_>, out: &mut dyn Write) -> io::Result<()> {
    let ends = |of: Estimate| of.interval.map_or([of.us; 2], |i| [i.low.max(0.0), i.high]);
    let all = || of.by_copies.iter().flat_map(|cost| CURVES.map(|(_, _, value)| value(cost)));
    let ns = all().flatten().flat_map(ends).map(|us| us * 1e3);
    let copies = of.by_copies.iter().map(|cost| f64::from(cost.copies));
    let x = Axis::over(Quantity::Count, Scale::Log, copies);
    let y = Axis::over(Quantity::Time, Scale::Linear, ns.chain([0.0])).rounded(TICKS);
    let title = "what the scheduler takes, over the number of copies (Tsafrir's Figure 3)";
    let mut plot = Plot::new(title, x, y, ROWS, view);
    for (place, (sign, name, value)) in CURVES.into_iter().enumerate() {
        let tone = Tone::Series(place as u8);
        for cost in &of.by_copies {
            let Some(value) = value(cost) else { continue };
            let middle = plot.x_dot(f64::from(cost.copies)) / DOTS.0;
            let most = plot.canvas.columns.saturating_sub(CURVES.len());
            let column = middle.saturating_sub(1).min(most) + place;
            let [low, high] = ends(value).map(|us| plot.y_dot(us * 1e3));
            plot.canvas.line(column * DOTS.0, low, high, tone);
            let row = plot.y_dot(value.us * 1e3) / DOTS.1;
            plot.canvas.put(column, row, sign, tone);
        }
        plot.key.push((format!("{sign} {name}"), tone));
    }
    writeln!(out)?;
    plot.write(view, out)
}
