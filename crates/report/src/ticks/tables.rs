//! Points, shares and times of one processor, in columns.

use super::words::{change, micro, number, range, rate};
use crate::style::{Tone, View};
use crate::table::{Align, Table};
use crate::units::{count, counted, share};
use anechoic_analyze::bootstrap::Interval;
use anechoic_predict::ticks::{Fitted, Parts, ProcessorModel, RateFrom, Tickless};
use std::io::{self, Write};

/// Points that are shown before they are folded.
const MOST_POINTS: usize = 32;

/// Milliseconds in five digits or so.
fn ms(value: f64) -> String {
    match value {
        ..0.999_5 => format!("{value:.5}"),
        ..9.999_5 => format!("{value:.4}"),
        ..99.995 => format!("{value:.3}"),
        ..999.95 => format!("{value:.2}"),
        _ => number(value),
    }
}

/// A column: its head, and the cell of a point; absent where no point has anything to say.
type Column = (&'static str, fn(&Fitted) -> Option<String>);

const COLUMNS: [Column; 9] = [
    ("copies", |f| Some(f.point.copies.to_string())),
    ("asked Hz", |f| f.point.asked_hz.filter(|&hz| hz > 0.0).map(rate)),
    ("Hz", |f| Some(rate(f.point.rate_hz))),
    ("sorts", |f| f.point.sorts.map(count)),
    ("ms a sort", |f| Some(ms(f.point.ms))),
    ("observed", |f| f.observed.map(change)),
    ("predicted", |f| f.predicted.map(change)),
    ("std. error", |f| f.standard_error.map(|error| change(error).replace('+', ""))),
    ("miss", |f| {
        let mark = if f.off { " !" } else { "  " };
        f.miss.map(|miss| change(miss) + mark)
    }),
];

/// Columns that are left out where not all fit, in this order.
const GO_FIRST: [&str; 4] = ["sorts", "std. error", "asked Hz", "predicted"];

/// Times at each point, and by how much they are longer than without interrupts: observed and predicted.
pub(super) fn points(of: &ProcessorModel, view: &View<'_>, out: &mut dyn Write) -> io::Result<()> {
    let line = if of.verdict.sample.tells_cost() {
        "time T of a sort, and its excess over B, that without interrupts: observed (T−B)/B, predicted f/(1−f)"
    } else {
        "time of a sort; nothing is predicted from a cost that is not told to be above 0"
    };
    super::paragraph(line, Tone::Quiet, view, out)?;
    let most = if view.all { of.points.len() } else { MOST_POINTS };
    let shown = &of.points[..of.points.len().min(most)];
    let said = |(_, cell): &&Column| shown.iter().any(|point| cell(point).is_some());
    let mut columns: Vec<&Column> = COLUMNS.iter().filter(said).collect();
    let made = |columns: &[&Column]| {
        let heads: Vec<(&str, Align)> =
            columns.iter().map(|(head, _)| (*head, Align::Right)).collect();
        let mut table = Table::new(&heads);
        for point in shown {
            let cells = columns.iter().map(|(_, cell)| cell(point).unwrap_or("–".into()));
            table.row(cells.collect());
        }
        table.fit(view.columns())
    };
    for gone in GO_FIRST {
        if made(&columns).width() > view.columns() {
            columns.retain(|(head, _)| *head != gone);
        }
    }
    made(&columns).write(view.style, out)?;
    let more = of.points.len() - shown.len();
    if more > 0 {
        let line =
            format!("{} (--all shows them)", counted(more as u64, "more point", "more points"));
        super::paragraph(&line, Tone::Quiet, view, out)?;
    }
    let asked = of.points.iter().any(|point| point.point.rate_from == RateFrom::Asked);
    if asked {
        super::paragraph(
            "rates as asked for: what came was not counted",
            Tone::Warning,
            view,
            out,
        )?;
    }
    Ok(())
}

/// Decimals that show a percentage to three digits or so.
fn decimals(percent: f64) -> usize {
    match percent.abs() {
        ..0.994_95 => 3,
        ..9.994_95 => 2,
        ..99.95 => 1,
        _ => 0,
    }
}

/// A share in percent.
fn percent(value: f64) -> String {
    match (decimals(value), value.abs()) {
        // Nothing that a CPU has; a longer number would not fit.
        (_, 9_999.5..) => format!("{value:.1e} %"),
        (0, _) => number(value) + " %",
        (decimals, _) => format!("{value:.decimals$} %"),
    }
}

/// Its interval, as exact as its upper end.
fn percent_range(interval: Interval) -> String {
    let decimals = decimals(interval.high);
    if decimals == 0 {
        return range(interval) + " %";
    }
    let to = if interval.low < 0.0 { " to " } else { "–" };
    format!("{:.decimals$}{to}{:.decimals$} %", interval.low, interval.high)
}

/// What 1,000 interrupts a second take, by parts.
pub(super) fn per_1000(
    of: &ProcessorModel,
    view: &View<'_>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let Some(per_1000) = &of.per_1000 else { return Ok(()) };
    let around = if per_1000.gap.is_some() { "gaps" } else { "trap" };
    let left = ("CPU at 1,000/s", Align::Left);
    let heads = [around, "handler", "indirect", "all"].map(|head| (head, Align::Right));
    let mut table = Table::new(&[&[left], &heads[..]].concat());
    let mut row = |name: &str, parts: &Parts| {
        let around = parts.gap.or(parts.trap).map_or("–".into(), percent);
        let rest = [parts.handler, parts.indirect, parts.total].map(percent);
        table.row([&[name.to_owned(), around], &rest[..]].concat());
    };
    match &of.per_1000_own_ticks {
        Some(own) => {
            row("added interrupts", per_1000);
            row("kernel's own tick", own);
        }
        None => row("ticks", per_1000),
    }
    table.fit(view.columns()).write(view.style, out)
}

/// What ticks at some rates take, and the cost of an interrupt at each rate that was measured.
pub(super) fn ticks(of: &ProcessorModel, view: &View<'_>, out: &mut dyn Write) -> io::Result<()> {
    let with = shares_of_ticks(of, true).fit(view.columns());
    let table = if with.width() > view.columns() {
        shares_of_ticks(of, false).fit(view.columns())
    } else {
        with
    };
    table.write(view.style, out)?;
    if of.by_rate.len() > 1 {
        let costs = of.by_rate.iter().take(MOST_POINTS);
        let costs: Vec<String> = costs
            .map(|cost| format!("to {} Hz {}", rate(cost.rate_hz), micro(cost.per_interrupt_us)))
            .collect();
        let line = format!("one interrupt costs, from the lowest rate {}", costs.join(", "));
        super::paragraph(&line, Tone::Quiet, view, out)?;
    }
    Ok(())
}

/// f(n), with or without its intervals.
fn shares_of_ticks(of: &ProcessorModel, intervals: bool) -> Table {
    let rates: Vec<String> = of.ticks.iter().map(|tick| rate(tick.rate_hz)).collect();
    let mut heads = vec![("ticks a second", Align::Left)];
    heads.extend(rates.iter().map(|rate| (rate.as_str(), Align::Right)));
    let mut table = Table::new(&heads);
    let mut row = |name: &str, cells: Vec<String>| {
        table.row([vec![name.to_owned()], cells].concat());
    };
    row("take of the CPU", of.ticks.iter().map(|tick| percent(tick.percent)).collect());
    if intervals && of.ticks.iter().any(|tick| tick.interval.is_some()) {
        let cell = |interval: Option<Interval>| interval.map_or("–".into(), percent_range);
        row("95 %", of.ticks.iter().map(|tick| cell(tick.interval)).collect());
    }
    table
}

/// The time without interrupts, and what copies cost each other where there is room for it.
pub(super) fn tickless(
    of: &ProcessorModel,
    view: &View<'_>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let most = if view.all { of.tickless.len() } else { MOST_POINTS };
    let alone_ms = of.tickless.iter().find(|tickless| tickless.copies == 1).and_then(|one| one.ms);
    let alone_ms = alone_ms.filter(|_| of.tickless.len() > 1);
    let shown = &of.tickless[..of.tickless.len().min(most)];
    let with = times_without(shown, alone_ms).fit(view.columns());
    let table = if with.width() > view.columns() {
        times_without(shown, None).fit(view.columns())
    } else {
        with
    };
    table.write(view.style, out)
}

/// B of each number of copies, and against `alone_ms`, that of one.
fn times_without(all: &[Tickless], alone_ms: Option<f64>) -> Table {
    let mut heads = vec![("copies", Align::Right), ("ms without interrupts", Align::Right)];
    let own = all.iter().any(|tickless| tickless.without_own_tick_ms.is_some());
    if own {
        heads[1].0 = "ms without added ones";
        heads.push(("without the kernel's tick too", Align::Right));
    }
    if alone_ms.is_some() {
        heads.push(("against 1 copy", Align::Right));
    }
    let mut table = Table::new(&heads);
    let cell = |value: Option<f64>| value.map_or("–".into(), ms);
    for tickless in all {
        let mut cells = vec![tickless.copies.to_string(), cell(tickless.ms)];
        if own {
            cells.push(cell(tickless.without_own_tick_ms));
        }
        if let Some(alone_ms) = alone_ms {
            let against = tickless.ms.filter(|_| tickless.copies > 1);
            cells.push(against.map_or("–".into(), |ms| change(ms / alone_ms - 1.0)));
        }
        table.row(cells);
    }
    table
}

/// The spread of the indirect share.
pub(super) fn indirect_shares(
    of: &ProcessorModel,
    view: &View<'_>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let Some(shares) = &of.shares else {
        let line = "the time rises from no rate to a higher one: there is no indirect share";
        return super::paragraph(line, Tone::Warning, view, out);
    };
    if shares.pairs == 1 {
        let which = match shares.without {
            0 => "the only pair".to_owned(),
            without => format!("the one pair of {} whose time rose", count(without + 1)),
        };
        let line = format!("indirect share of {which}: {}", share(shares.median));
        return plainly(&line, view, out);
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
    plainly(&line, view, out)
}

fn plainly(line: &str, view: &View<'_>, out: &mut dyn Write) -> io::Result<()> {
    crate::style::wrap(line, view.columns()).iter().try_for_each(|line| writeln!(out, "{line}"))
}
