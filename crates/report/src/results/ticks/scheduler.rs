//! The time that the scheduler takes by the number of runnable copies: Figure 3 of the paper.

use super::words::range;
use crate::picture::{Axis, Chart, Curve as Drawn, Draw, Quantity};
use crate::screen::Screen;
use crate::style::View;
use crate::table::Table;
use crate::units::{count, counted, number};
use anechoic_analyze::stats::Interval;
use anechoic_predict::ticks::{Estimate, ProcessorModel, Scheduler, SchedulerCost};

/// Number of rows in a shortened table.
const MOST: usize = 16;
/// Rows of the figure.
const ROWS: usize = 8;
/// Number of axis ticks to which the vertical axis is rounded.
const TICKS: usize = 4;

/// Describes the figure.
const FIGURE: &str = "Time of the scheduler by the number of runnable copies (Figure 3 of the paper): a tick, its function, and from the tick to the switch.";

/// A measured time of the scheduler: its letter and name in the figure, and its value.
type Curve = (char, &'static str, fn(&SchedulerCost) -> Option<Estimate>);

/// The times shown for each number of copies.
const CURVES: [Curve; 3] = [
    ('t', "tick", |cost| Some(cost.tick)),
    ('f', "its function", |cost| Some(cost.function)),
    ('s', "tick to switch", |cost| cost.choice),
];

/// Adds the table, the figure and a sentence on what further copies add.
pub(super) fn add(processor: &ProcessorModel, view: &View<'_>, screen: &mut Screen) {
    let scheduler = &processor.scheduler;
    screen.gap();
    if scheduler.by_copies.is_empty() {
        let why = scheduler.not_available.as_deref().unwrap_or("nothing was measured");
        return screen
            .note(&format!("scheduler time by the number of copies: not available ({why})"));
    }
    screen.note(
        "scheduler time in the kernel by the number of runnable copies, in µs (95 %): ticks that came alone during \
         sorts without added interrupts; median of each round",
    );
    let table = columns(&scheduler.by_copies, true);
    let table = table.or_if_too_wide(view, || columns(&scheduler.by_copies, false));
    screen.table(table.first(MOST, view.all, |left| {
        let left = counted(left as u64, "more number of copies", "more numbers of copies");
        format!("{left} (--all shows them)")
    }));
    if let Some(why) = &scheduler.not_available {
        return screen.note(why);
    }
    screen.sentence(&further(scheduler));
    screen.pictured(figure(scheduler).named("scheduler"), FIGURE);
}

/// `6.12 (5.91–6.33)`.
fn cell(estimate: Option<Estimate>, interval: bool) -> String {
    let Some(estimate) = estimate else { return "–".into() };
    let range =
        estimate.interval.filter(|_| interval).map(|interval| format!(" ({})", range(interval)));
    number(estimate.us) + &range.unwrap_or_default()
}

/// Returns one row for each number of copies; the counts are left out if the table is too wide.
fn columns(costs: &[SchedulerCost], intervals: bool) -> Table {
    Table::with_rows(costs)
        .number("copies", |cost| cost.copies.to_string())
        .some_numbers("ticks", 1, |cost| Some(count(cost.ticks)))
        .number("a tick", |cost| cell(Some(cost.tick), intervals))
        .number("its function", |cost| cell(Some(cost.function), false))
        .some_numbers("switches", 1, |cost| Some(count(cost.switches)))
        .number("tick to switch", |cost| cell(cost.choice, intervals))
        .captioned("Scheduler time by the number of copies")
}

/// Returns what each further copy adds, and whether that differs from 0.
fn further(scheduler: &Scheduler) -> String {
    let Some(tick) = scheduler.tick_per_copy.map(added) else {
        return "What a further copy adds is unknown: no block has two numbers of copies.".into();
    };
    let function = scheduler.function_per_copy.map(added);
    let function = function.map_or(String::new(), |ns| format!(", {ns} of it to its function"));
    let choice = scheduler.choice_per_copy.map(added);
    let choice = choice.map_or(String::new(), |ns| format!(", and {ns} from there to the switch"));
    format!("Each further copy adds {tick} to a tick{function}{choice}.")
}

/// `24.1 ns (95 %: 20.3–27.9)`.
fn added(estimate: Estimate) -> String {
    let sure = match estimate.interval {
        None => " (one block gives no interval)".to_owned(),
        Some(interval) => {
            let differs = interval.low > 0.0 || interval.high < 0.0;
            let text = if differs { "" } else { "; not significant" };
            let ns = Interval { low: interval.low * 1e3, high: interval.high * 1e3 };
            format!(" (95 %: {}{text})", range(ns))
        }
    };
    format!("{} ns{sure}", number(estimate.us * 1e3))
}

fn figure(scheduler: &Scheduler) -> Chart {
    let ends = |estimate: Estimate| {
        estimate.interval.map_or([estimate.us; 2], |i| [i.low.max(0.0), i.high])
    };
    let all =
        || scheduler.by_copies.iter().flat_map(|cost| CURVES.map(|(_, _, value)| value(cost)));
    let ns = all().flatten().flat_map(ends).map(|us| us * 1e3);
    let copies = scheduler.by_copies.iter().map(|cost| f64::from(cost.copies));
    let x = Axis::log("copies", Quantity::Count).over(copies);
    let y = Axis::linear("time in the kernel", Quantity::Time).over(ns.chain([0.0])).rounded(TICKS);
    let mut curves = vec![];
    for (number, (sign, name, value)) in CURVES.into_iter().enumerate() {
        let (mut points, mut spans) = (vec![], vec![]);
        for cost in &scheduler.by_copies {
            let Some(estimate) = value(cost) else { continue };
            let [low, high] = ends(estimate).map(|us| us * 1e3);
            points.push((f64::from(cost.copies), estimate.us * 1e3));
            spans.push((low, high));
        }
        let curve = Drawn::numbered(number, name.into(), Draw::Points, &points);
        curves.push(curve.lettered(Some(sign)).spanning(spans));
    }
    let title = "scheduler time against the number of copies (Tsafrir's Figure 3)";
    Chart { beside: true, ..Chart::new(x, y, curves).titled(title, ROWS) }
}
