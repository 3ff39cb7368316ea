//! Points, shares and times of one processor, in columns.

use crate::screen::Screen;
use crate::style::{Tone, View};
use crate::table::Table;
use crate::units::{change, count, counted, hz, micro, millis, percent, percent_range, share};
use anechoic_predict::ticks::{Fitted, Parts, ProcessorModel, RateFrom};

/// Points that are shown before they are folded.
const MOST_POINTS: usize = 32;

/// A column: its head, when it is left out where not all fit, and the cell of a point; absent where there is none.
type Column = (&'static str, u8, fn(&Fitted) -> Option<String>);

const COLUMNS: [Column; 9] = [
    ("copies", 0, |f| Some(f.point.copies.to_string())),
    ("asked Hz", 2, |f| f.point.asked_hz.filter(|&rate_hz| rate_hz > 0.0).map(hz)),
    ("Hz", 0, |f| Some(hz(f.point.rate_hz))),
    ("sorts", 4, |f| f.point.sorts.map(count)),
    ("ms a sort", 0, |f| Some(millis(f.point.ms))),
    ("observed", 0, |f| f.observed.map(change)),
    ("predicted", 1, |f| f.predicted.map(change)),
    ("std. error", 3, |f| f.standard_error.map(|error| change(error).replace('+', ""))),
    ("miss", 0, |f| {
        let mark = if f.off { " !" } else { "  " };
        f.miss.map(|miss| change(miss) + mark)
    }),
];

/// Adds times at each point, and by how much they are longer than without interrupts: observed and predicted.
pub(crate) fn add_points(of: &ProcessorModel, all: bool, screen: &mut Screen) {
    let line = if of.verdict.sample.tells_cost() {
        "time T of a sort, and its excess over B, that without interrupts: observed (T−B)/B, predicted f/(1−f)"
    } else {
        "time of a sort; nothing is predicted from a cost that is not told to be above 0"
    };
    screen.note(line);
    let mut table = Table::default().captioned("Measured times, and what the model gives for them");
    for (head, goes, cell) in COLUMNS {
        let cells = of.points.iter().map(|point| cell(point).unwrap_or("–".into()));
        table.right(head, goes, cells);
    }
    let more = of.points.len().saturating_sub(MOST_POINTS);
    if more > 0 && !all {
        let more = counted(more as u64, "more point", "more points");
        table = table.folded(MOST_POINTS, format!("{more} (--all shows them)"));
    }
    screen.table(table);
    if of.points.iter().any(|point| point.point.rate_from == RateFrom::Asked) {
        screen.toned(Tone::Warning, "rates as asked for: what came was not counted");
    }
}

/// Adds what interrupts take at several rates, and the time without them.
pub(super) fn add_shares(of: &ProcessorModel, view: &View<'_>, screen: &mut Screen) {
    if let Some(per_1000) = &of.per_1000 {
        screen.table(at_1000(of, per_1000));
    }
    screen.gap();
    screen.table(shares_of_ticks(of, true).or_if_too_wide(view, || shares_of_ticks(of, false)));
    if of.by_rate.len() > 1 {
        let costs = of
            .by_rate
            .iter()
            .take(MOST_POINTS)
            .map(|cost| format!("to {} Hz {}", hz(cost.rate_hz), micro(cost.per_interrupt_us)));
        let costs = costs.collect::<Vec<_>>().join(", ");
        screen.note(&format!("one interrupt costs, from the lowest rate {costs}"));
    }
    screen.gap();
    screen.table(tickless(of, view.all));
    screen.gap();
}

/// What 1,000 interrupts a second take, by parts.
fn at_1000(of: &ProcessorModel, per_1000: &Parts) -> Table {
    let around = if per_1000.gap.is_some() { "gaps" } else { "trap" };
    let mut table = Table::of_named("CPU at 1,000/s", &[around, "handler", "indirect", "all"])
        .captioned("What 1,000 interrupts a second take");
    match &of.per_1000_own_ticks {
        Some(own) => {
            table.row(cells_of_parts("added interrupts", per_1000));
            table.row(cells_of_parts("kernel's own tick", own));
        }
        None => table.row(cells_of_parts("ticks", per_1000)),
    }
    table
}

fn cells_of_parts(name: &str, parts: &Parts) -> Vec<String> {
    let around = parts.gap.or(parts.trap).map_or("–".into(), percent);
    let [handler, indirect, total] = [parts.handler, parts.indirect, parts.total].map(percent);
    vec![name.to_owned(), around, handler, indirect, total]
}

/// The share of the CPU that ticks take at several rates, with or without its intervals.
fn shares_of_ticks(of: &ProcessorModel, intervals: bool) -> Table {
    let rates: Vec<String> = of.ticks.iter().map(|tick| hz(tick.rate_hz)).collect();
    let heads: Vec<&str> = rates.iter().map(String::as_str).collect();
    let mut table = Table::of_named("ticks a second", &heads).captioned("What ticks take");
    let shares = of.ticks.iter().map(|tick| percent(tick.percent));
    table.row(std::iter::once("take of the CPU".to_owned()).chain(shares).collect());
    if intervals && of.ticks.iter().any(|tick| tick.interval.is_some()) {
        let ranges = of
            .ticks
            .iter()
            .map(|tick| tick.interval.map_or("–".into(), |i| percent_range(i.low, i.high)));
        table.row(std::iter::once("95 %".to_owned()).chain(ranges).collect());
    }
    table
}

/// The time without interrupts for each number of copies, and where there is room for it, against that of one copy.
fn tickless(of: &ProcessorModel, all: bool) -> Table {
    let most = if all { of.tickless.len() } else { MOST_POINTS.min(of.tickless.len()) };
    let shown = &of.tickless[..most];
    let own = shown.iter().any(|tickless| tickless.without_own_tick_ms.is_some());
    let alone_ms = of.tickless.iter().find(|tickless| tickless.copies == 1).and_then(|one| one.ms);
    let without = if own { "ms without added ones" } else { "ms without interrupts" };
    Table::of_rows(shown)
        .number("copies", |of| of.copies.to_string())
        .number(without, |of| of.ms.map_or("–".into(), millis))
        .some_numbers("without the kernel's tick too", 0, |of| of.without_own_tick_ms.map(millis))
        .some_numbers("against 1 copy", 1, |of| {
            Some(change(of.ms.filter(|_| of.copies > 1)? / alone_ms? - 1.0))
        })
        .captioned("Time without interrupts")
}

/// Adds the spread of the indirect share.
pub(super) fn add_indirect_shares(of: &ProcessorModel, screen: &mut Screen) {
    let Some(shares) = &of.shares else {
        let line = "the time rises from no rate to a higher one: there is no indirect share";
        return screen.toned(Tone::Warning, line);
    };
    if shares.pairs == 1 {
        let which = match shares.without {
            0 => "the only pair".to_owned(),
            without => format!("the one pair of {} whose time rose", count(without + 1)),
        };
        let median = share(shares.median);
        return screen.sentence(&format!("indirect share of {which}: {median}"));
    }
    let fit = of.cost.indirect_share;
    let fit = fit.map_or(String::new(), |fit| format!(", of the fitted cost {}", share(fit)));
    let rose = match shares.without {
        0 => format!("{} pairs", count(shares.pairs)),
        without => {
            let all = shares.pairs + without;
            format!("the {} of {} pairs whose time rose", count(shares.pairs), count(all))
        }
    };
    let mut line = format!("indirect share over {rose}: median {}", share(shares.median));
    line += &format!(", mean {}{fit}", share(shares.mean));
    line += &format!("; half of them {} to {}", share(shares.q1), share(shares.q3));
    line += &format!(", all {} to {}", share(shares.min), share(shares.max));
    screen.sentence(&line);
}
