//! The screen of do-nothing loops: how much they vary, what accounts for that, and what was published.

mod beside;
mod figures;
mod job;
mod parts;

use super::ticks::{self, Extra, alone};
use super::{Study, add_published, add_set, cell, identity, table};
use crate::published::{TICKS, TSAFRIR};
use crate::results::sweep;
use crate::results::sweep::by_rate;
use crate::screen::Screen;
use crate::style::{Tone, View};
use crate::table::Table;
use crate::units::{count, micros_exact, noise, share};
use anechoic_analyze::samples::distribution::Distribution;
use anechoic_analyze::samples::subtraction::Subtraction;
use anechoic_analyze::samples::{Measured, SeriesResult};
use anechoic_predict::bsp::Bsp;
use anechoic_recording::Run;
use parts::Part;

/// The tick rate for which the paper states its overhead.
const PAPER_HZ: f64 = 1_000.0;
/// Ratio of the tick costs of two variants from which the paper's enigma counts as reproduced.
const ORDER_OF_MAGNITUDE: f64 = 10.0;

/// The sets that differ only in the tick rate: this prefix, and the rate in Hz.
pub const LOOPS_RATE: &str = "rate-";
/// The set of samples in which nothing happens between two reads of the counter.
pub const LOOPS_DELTAS: &str = "deltas";

/// The sets whose samples take a part of a tick's period: this prefix, and the period divided by the grain.
pub const LOOPS_PART: &str = "tick-by-";

/// Shows the experiments on do-nothing loops, one set for each recording with its name: the distribution of each variant,
/// how much of its spread is accounted for, what one tick costs it, and how it changes with the tick rate, beside Tsafrir
/// 2007; and how long the phases of `jobs` of several sizes were delayed. `here` is the run of one of the sets, which
/// describes the machine.
#[must_use]
pub fn suite_loops(
    sets: &[(String, Measured)],
    jobs: &[Bsp],
    here: Option<&Run>,
    view: &View<'_>,
) -> Study {
    let rated = |(name, set): &'_ (String, Measured)| -> Option<f64> {
        name.strip_prefix(LOOPS_RATE)?.parse().ok().filter(|_| !set.series.is_empty())
    };
    let mut rates: Vec<(String, f64, &Measured)> =
        sets.iter().filter_map(|set| Some((set.0.clone(), rated(set)?, &set.1))).collect();
    rates.sort_by(|a, b| a.1.total_cmp(&b.1));
    let deltas = sets.iter().find(|(name, _)| name == LOOPS_DELTAS).map(|(_, set)| set);
    let part = |named: &(String, Measured)| -> Option<u64> {
        named.0.strip_prefix(LOOPS_PART)?.parse().ok()
    };
    let parts: Vec<Part<'_>> =
        sets.iter().filter_map(|named| Part::new(part(named)?, &named.1)).collect();
    let usual = sets.iter().find(|named| is_of_loops(&named.0) && part(named).is_none());
    let sets: Vec<&Measured> =
        sets.iter().filter(|(name, _)| is_of_loops(name)).map(|(_, set)| set).collect();
    let first = sets.first().copied().or(rates.first().map(|(.., set)| *set));
    let mut study = Study::begin("do-nothing loops", &TSAFRIR, first.map(|set| &set.run));
    study.changed.extend(answers(&sets));
    study.foremost = "interrupts of a run";
    let screen = &mut study.shown;
    job::figure_8(jobs, screen);
    job::figure_9(screen);
    screen.section("the machines of the paper (Table 3), and this one");
    screen.table(beside::machines(here));
    screen.note(beside::MACHINES);
    screen.section("the distributions of the paper (Figure 10 and Table 4)");
    screen.table(beside::distributions());
    if let Some(set) = sets.first() {
        figures::figure_10(set, screen);
    }
    screen.section("interrupts of a run (Table 5)");
    screen.table(beside::interrupts(&sets));
    screen.note(beside::DIRECT);
    if let Some(swept) = by_rate(&rates) {
        sweep::add(&swept, view, screen);
        screen.note(RATES);
    }
    figures::figure_11(&sets, screen);
    screen.section("between two reads of the counter (section 4.1)");
    screen.table(beside::deltas(deltas));
    screen.note(beside::DELTAS);
    parts::figure_15(&parts, screen);
    if let Some(set) = sets.first() {
        figures::figure_16(set, screen);
    }
    if let Some((name, set)) = usual {
        job::from_loops(name, set, screen);
    }
    screen.section(&format!("published ({})", TSAFRIR.short));
    let stated = TICKS.iter().filter(|cell| cell.place == "Abstract").copied();
    add_published(&stated.collect::<Vec<_>>(), screen);
    screen.item(Tone::Plain, LOOPS_VERDICT);
    let tables = Screen::from_fn(|screen| sets.iter().for_each(|set| add(set, screen)));
    screen.details("Tables of each set", tables);
    study
}

/// Returns whether a set is of loops at the kernel's own tick rate.
fn is_of_loops(name: &str) -> bool {
    !name.starts_with(LOOPS_RATE) && name != LOOPS_DELTAS
}

/// Adds the tables of one set.
fn add(set: &Measured, screen: &mut Screen) {
    add_set(set, "samples", screen);
    screen.table(distributions(set));
    screen.gap();
    screen.note(SPREADS);
    screen.table(spreads(set));
    if ticks::has_overhead(set) {
        screen.gap();
        let at = Extra { head: "at 1,000 Hz", cell: &at_paper_rate };
        ticks::add(set, &[], &[at], screen);
    }
    ticks::add_unpinned(set, screen);
}

/// Explains the rates.
const RATES: &str = "tick rate: the kernel's own, and above it that with injected interrupts, which do nothing but enter and leave the kernel";

/// The result for the loops in words.
const LOOPS_VERDICT: &str = "Some loops agreed with the program that sorts, others showed an overhead an order of \
                             magnitude larger, or worse, on IA32, IA64 and Power (abstract).";

/// Explains the columns of the spread.
const SPREADS: &str = "p99−p1 in µs, raw and after subtracting the time of the kernel; accounted: how much of the spread \
                       that the kernel caused disappears, of p99−p1 and of the IQR; paced: the smaller of both, with \
                       slow changes of the core's speed removed";

/// Returns average, median, deviation and extremes of each variant, as the paper does.
fn distributions(set: &Measured) -> Table {
    let mut rows = table(set, &["samples", "mean, µs", "median", "sd", "min", "max"]);
    for series in &set.series {
        let mut cells = identity(set, &series.facts);
        cells.push(count(series.facts.samples));
        let time = |part: fn(&Distribution) -> Option<f64>| {
            cell(series.distribution.as_ref().and_then(part), micros_exact)
        };
        cells.extend([
            time(|d| Some(d.mean)),
            time(|d| d.quantile(0.5).map(|median| median.value)),
            time(|d| d.standard_deviation),
            time(|d| Some(d.min)),
            time(|d| Some(d.max)),
        ]);
        rows.row(cells);
    }
    rows
}

/// Returns fasties, slowies, and how much of the spread the kernel accounts for.
fn spreads(set: &Measured) -> Table {
    let heads = ["fasties", "slowies", "p99−p1", "left", "accounted", "of IQR", "paced"];
    let mut rows = table(set, &heads);
    for series in &set.series {
        let mut cells = identity(set, &series.facts);
        let outliers = |count_of: fn(&Distribution) -> u64| {
            series.distribution.as_ref().map_or("–".into(), |d| count(count_of(d)))
        };
        cells.extend([outliers(|d| d.fasties.count), outliers(|d| d.slowies.count)]);
        cells.extend(accounted(series.subtraction.as_ref()));
        rows.row(cells);
    }
    rows
}

/// Returns p99−p1 before and after the subtraction, and the shares accounted for: of p99−p1, of the interquartile
/// range, and with slow changes of speed removed.
fn accounted(subtraction: Option<&Subtraction>) -> [String; 5] {
    let verdict = subtraction.map(|subtraction| &subtraction.verdict);
    let spread = verdict.and_then(|verdict| verdict.p99_p1.as_ref());
    let iqr = verdict.and_then(|verdict| verdict.iqr.as_ref());
    [
        cell(spread.map(|spread| spread.raw_ns), micros_exact),
        cell(spread.map(|spread| spread.left_ns), micros_exact),
        cell(spread.and_then(|spread| spread.share), share),
        cell(iqr.and_then(|iqr| iqr.share), share),
        cell(verdict.and_then(|verdict| verdict.paced?.accounted), share),
    ]
}

/// Returns the cost of ticks at the paper's rate as a share of all time.
fn part_at_paper_rate(series: &SeriesResult) -> Option<f64> {
    Some(alone(series)?.per_tick_ns * PAPER_HZ / 1e9)
}

fn at_paper_rate(series: &SeriesResult) -> String {
    cell(part_at_paper_rate(series), |part| {
        if part < 0.0 { format!("-{}", noise(-part)) } else { noise(part) }
    })
}

/// Answers the paper's questions from the sets.
fn answers(sets: &[&Measured]) -> Vec<String> {
    let all = || sets.iter().flat_map(|set| &set.series);
    let mut texts = vec![];
    let costs: Vec<(f64, &SeriesResult)> =
        all().filter_map(|series| Some((part_at_paper_rate(series)?, series))).collect();
    let known = || costs.iter().filter(|(_, series)| is_known(series));
    let by_cost = |a: &&(f64, &SeriesResult), b: &&(f64, &SeriesResult)| a.0.total_cmp(&b.0);
    match (known().min_by(by_cost), known().max_by(by_cost)) {
        (Some(least), Some(most)) => {
            texts.push(range(least, most));
            let (known, all) = (known().count(), costs.len());
            if known < all {
                texts.push(format!(
                    "The intervals of {} of {all} series are wider than what a tick costs; these are left out here.",
                    all - known
                ));
            }
        }
        _ if costs.is_empty() => texts.push(
            "The cost of ticks is unknown: it needs kernel events (run as root) and samples with and without a tick."
                .to_owned(),
        ),
        _ => texts.push(
            "The cost of ticks is unknown: the samples vary too much. Take more of them (--samples), on a quiet machine."
                .to_owned(),
        ),
    }
    texts.extend(judged(sets));
    texts
}

/// Returns whether the interval is at most as wide as what a tick costs.
fn is_known(series: &SeriesResult) -> bool {
    let overhead = alone(series);
    let interval = overhead.and_then(|overhead| Some((overhead.per_tick_ns, overhead.interval?)));
    interval.is_some_and(|(cost, interval)| interval.high - interval.low <= cost)
}

/// States how much of the spread the kernel's time accounts for, with slow changes of speed removed if possible.
fn judged(sets: &[&Measured]) -> Option<String> {
    let all = || sets.iter().flat_map(|set| &set.series);
    let verdicts = || all().filter_map(|series| Some(&series.subtraction.as_ref()?.verdict));
    let paced: Vec<f64> = verdicts().filter_map(|verdict| verdict.paced?.accounted).collect();
    let as_they_were = || verdicts().filter_map(|verdict| verdict.accounted).collect();
    let (mut shares, how) = if paced.is_empty() {
        (as_they_were(), "")
    } else {
        (paced, ", with slow changes of the core's speed removed")
    };
    shares.sort_by(f64::total_cmp);
    let (least, most) = (*shares.first()?, *shares.last()?);
    let whose = match shares[shares.len() / 2] {
        half if half < 0.5 => "most of it has another cause",
        _ => "most of it is time that the kernel recorded",
    };
    Some(format!(
        "Subtracting the time of the kernel takes away {} of the spread by which disturbed samples exceed undisturbed ones\
         {how} ({} to {}, the {} of {} series that can be judged): {whose}.",
        share(shares[shares.len() / 2]),
        share(least),
        share(most),
        shares.len(),
        all().count()
    ))
}

fn range(least: &(f64, &SeriesResult), most: &(f64, &SeriesResult)) -> String {
    let name = |series: &SeriesResult| crate::style::plain(&series.facts.variant);
    let percent = |part: f64| format!("{:.2} %", part * 100.0);
    let interval = |series: &SeriesResult| alone(series)?.interval;
    let surely_more = |low: f64, high: f64| high > 0.0 && low >= ORDER_OF_MAGNITUDE * high;
    let enigma = match (interval(least.1), interval(most.1)) {
        (Some(least), Some(most)) if surely_more(most.low, least.high) => {
            "some variants pay an order of magnitude more than others, as in the paper"
        }
        _ => "unlike in the paper, no variant pays an order of magnitude more than another",
    };
    format!(
        "At 1,000 Hz ticks alone would cost {} ({}) to {} ({}) of all time if their cost is proportional to their rate, \
         as the paper found; {enigma}.",
        percent(least.0),
        name(least.1),
        percent(most.0),
        name(most.1)
    )
}
