//! Tables of the points, shares and times of one processor.

use super::words;
use crate::published::{Figure6, published_share};
use crate::screen::Screen;
use crate::style::{Tone, View};
use crate::table::Table;
use crate::units::{
    change, count, counted, hertz, hz, micro, millis, number, percent, percent_range, share,
};
use anechoic_predict::ticks::{Parts, ProcessorModel, RateFrom, SeenCost};

/// Number of points in a shortened table.
const MOST_POINTS: usize = 32;

/// Adds the time at each point, and the observed and predicted slowdown relative to no interrupts.
pub(crate) fn add_points(processor: &ProcessorModel, all: bool, screen: &mut Screen) {
    let line = if processor.verdict.sample.resolves_cost() {
        "time T of a sort, and its excess over the time B without interrupts: observed (T−B)/B, predicted f/(1−f)"
    } else {
        "time of a sort; nothing is predicted because the cost is not significantly above 0"
    };
    screen.note(line);
    let printed = Figure6::from_model(processor);
    let table = Table::with_rows(&processor.points)
        .number("copies", |f| f.point.copies.to_string())
        .some_numbers("asked Hz", 2, |f| {
            f.point.asked_hz.filter(|&asked_hz| asked_hz > 0.0).map(hz)
        })
        .number("Hz", |f| hz(f.point.rate_hz))
        .some_numbers("sorts", 4, |f| f.point.sorts.map(count))
        .number("ms a sort", |f| millis(f.point.ms))
        .some_numbers("observed", 0, |f| f.observed.map(change))
        .some_numbers("predicted", 1, |f| f.predicted.map(change))
        .some_numbers("std. error", 3, |f| {
            f.standard_error.map(|error| change(error).replace('+', ""))
        })
        .some_numbers("miss", 0, |f| {
            let mark = if f.off { " !" } else { "  " };
            f.miss.map(|miss| change(miss) + mark)
        })
        .some_numbers("Fig. 6 obs.", 1, |f| Some(change(printed.as_ref()?.observed(&f.point)?)))
        .some_numbers("Fig. 6 f", 1, |f| Some(change(printed.as_ref()?.predicted(&f.point))))
        .captioned("Measured and modelled times");
    screen.table(table.first(MOST_POINTS, all, |left| {
        format!("{} (--all shows them)", counted(left as u64, "more point", "more points"))
    }));
    if printed.is_some() {
        screen.note(
            "Fig. 6: as the paper computes it, f = the rate times the sum of its Table 2, and B = the mean of T·(1 − f)",
        );
    }
    if processor.points.iter().any(|point| point.point.rate_from == RateFrom::Asked) {
        screen.toned(Tone::Warning, "rates as requested: delivered interrupts were not counted");
    }
}

/// Adds mean and standard deviation of what was observed of single interrupts and of the trap (Figure 2 of the paper).
pub(crate) fn add_direct(processor: &ProcessorModel, screen: &mut Screen) {
    let costs = &processor.costs;
    let seen: Vec<&SeenCost> = costs.tick.iter().chain(&costs.added).collect();
    if seen.is_empty() {
        return;
    }
    let own = |cost: &SeenCost| costs.tick.as_ref().is_some_and(|tick| std::ptr::eq(tick, cost));
    screen.gap();
    screen.note(
        "direct cost of single interrupts in the watched loop, mean ± standard deviation in µs",
    );
    let table = Table::with_rows(&seen)
        .name("interrupt", |cost| match (own(cost), cost.rate_hz) {
            (true, _) => "kernel's own tick".to_owned(),
            (false, Some(rate_hz)) => format!("added at {}", hertz(rate_hz)),
            (false, None) => "added".to_owned(),
        })
        .number("number", |cost| count(cost.count))
        .number("in the kernel", |cost| mean(cost.handler_us, cost.handler_sd_us))
        .number("gaps", |cost| mean(cost.gap_us, cost.gap_sd_us));
    screen.table(table.captioned("Direct cost of single interrupts"));
    let least = costs.trap_min_us.map_or(String::new(), |us| format!(", fastest {}", micro(us)));
    let trap = mean(costs.trap_us, costs.trap_sd_us);
    screen.note(&format!(
        "empty system call (trap): {trap} µs{least}; deviation of means of many calls"
    ));
}

/// `1.24 ± 0.31`.
fn mean(us: f64, sd: Option<f64>) -> String {
    sd.map_or(number(us), |sd| format!("{} ± {}", number(us), number(sd)))
}

/// Adds what interrupts take at several rates, and the time without them.
pub(super) fn add_shares(processor: &ProcessorModel, view: &View<'_>, screen: &mut Screen) {
    if let Some(per_1000) = &processor.per_1000 {
        screen.table(at_1000(processor, per_1000));
    }
    screen.gap();
    screen.table(
        shares_of_ticks(processor, true).or_if_too_wide(view, || shares_of_ticks(processor, false)),
    );
    if processor.by_rate.len() > 1 {
        let costs = processor
            .by_rate
            .iter()
            .take(MOST_POINTS)
            .map(|cost| format!("to {} Hz {}", hz(cost.rate_hz), micro(cost.per_interrupt_us)));
        let costs = costs.collect::<Vec<_>>().join(", ");
        screen.note(&format!("cost of one interrupt from the lowest rate {costs}"));
    }
    screen.gap();
    screen.table(tickless(processor, view.all));
    screen.gap();
}

/// Returns what 1,000 interrupts per second take, by parts.
fn at_1000(processor: &ProcessorModel, per_1000: &Parts) -> Table {
    let around = if per_1000.gap.is_some() { "gaps" } else { "trap" };
    let mut table = Table::with_names("at 1,000/s", &[around, "handler", "indirect", "all"])
        .captioned("Share of the CPU that 1,000 interrupts per second take");
    match (&processor.per_1000_own_ticks, &processor.modes[..]) {
        (Some(own), _) => {
            table.row(cells_of_parts("added interrupts", per_1000));
            table.row(cells_of_parts("kernel's own tick", own));
        }
        (None, []) => table.row(cells_of_parts("ticks", per_1000)),
        (None, modes) => modes.iter().for_each(|mode| {
            table.row(cells_of_parts(&format!("ticks, {} handler", mode.name), &mode.parts));
            if let Some(share) = published_share(processor, &mode.name) {
                let all = [share.trap, share.handler, share.indirect, share.sum];
                let cells = all.map(|percent| format!("{percent:.2} %"));
                table.row([vec!["  published".to_owned()], cells.to_vec()].concat());
            }
        }),
    }
    table
}

fn cells_of_parts(name: &str, parts: &Parts) -> Vec<String> {
    let around = parts.gap.or(parts.trap).map_or("–".into(), percent);
    let [handler, indirect, total] = [parts.handler, parts.indirect, parts.total].map(percent);
    vec![name.to_owned(), around, handler, indirect, total]
}

/// Returns the share of the CPU that ticks take at several rates, with or without intervals.
fn shares_of_ticks(processor: &ProcessorModel, intervals: bool) -> Table {
    let rates: Vec<String> = processor.ticks.iter().map(|tick| hz(tick.rate_hz)).collect();
    let heads: Vec<&str> = rates.iter().map(String::as_str).collect();
    let mut table = Table::with_names("ticks per second", &heads).captioned("What ticks take");
    let shares = processor.ticks.iter().map(|tick| percent(tick.percent));
    table.row(std::iter::once("share of the CPU".to_owned()).chain(shares).collect());
    if intervals && processor.ticks.iter().any(|tick| tick.interval.is_some()) {
        let ranges = processor
            .ticks
            .iter()
            .map(|tick| tick.interval.map_or("–".into(), |i| percent_range(i.low, i.high)));
        table.row(std::iter::once("95 %".to_owned()).chain(ranges).collect());
    }
    table
}

/// Returns the time without interrupts for each number of copies, and, if it fits, its ratio to that of one copy.
fn tickless(processor: &ProcessorModel, all: bool) -> Table {
    let most =
        if all { processor.tickless.len() } else { MOST_POINTS.min(processor.tickless.len()) };
    let shown = &processor.tickless[..most];
    let own = shown.iter().any(|tickless| tickless.without_own_tick_ms.is_some());
    let alone_ms =
        processor.tickless.iter().find(|tickless| tickless.copies == 1).and_then(|one| one.ms);
    let without = if own { "ms without added ones" } else { "ms without interrupts" };
    Table::with_rows(shown)
        .number("copies", |tickless| tickless.copies.to_string())
        .number(without, |tickless| tickless.ms.map_or("–".into(), millis))
        .some_numbers("without the kernel's tick", 0, |tickless| {
            tickless.without_own_tick_ms.map(millis)
        })
        .some_numbers("relative to 1 copy", 1, |tickless| {
            Some(change(tickless.ms.filter(|_| tickless.copies > 1)? / alone_ms? - 1.0))
        })
        .captioned("Time without interrupts")
}

/// Adds the spread of the indirect share.
pub(super) fn add_indirect_shares(processor: &ProcessorModel, screen: &mut Screen) {
    let Some(shares) = &processor.shares else {
        let line = "the time does not rise between any two rates: there is no indirect share";
        return screen.toned(Tone::Warning, line);
    };
    if shares.pairs == 1 {
        let which = match shares.without {
            0 => "the only pair".to_owned(),
            without => format!("the one pair of {} whose time rose", count(without + 1)),
        };
        let median = share(shares.median);
        return screen.sentence(&format!("The indirect share of {which} is {median}."));
    }
    let fit = processor.cost.indirect_share;
    let fit = fit.map_or(String::new(), |fit| format!(", fitted cost {}", share(fit)));
    let rose = match shares.without {
        0 => counted(shares.pairs, "pair", "pairs"),
        without => {
            let all = shares.pairs + without;
            format!("the {} of {} pairs whose time rose", count(shares.pairs), count(all))
        }
    };
    let mut line = format!("Indirect share of {rose}: median {}", share(shares.median));
    line += &format!(" ({} to {})", share(shares.q1), share(shares.q3));
    line += &format!(", mean {}{fit}", share(shares.mean));
    line += &format!(", range {} to {}.", share(shares.min), share(shares.max));
    screen.sentence(&line);
    words::estimators(processor).iter().for_each(|text| screen.sentence(text));
}
