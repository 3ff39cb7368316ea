//! The tables of series: how long a sample took, and how sure that is.

use crate::measured::loss::{Loss, amount};
use crate::measured::names::{Named, same, shown};
use crate::screen::Screen;
use crate::steadiness::moved;
use crate::style::clip;
use crate::table::Table;
use crate::units::{count, fine_range, noise};
use anechoic_analyze::samples::distribution::{Distribution, Quantile};
use anechoic_analyze::samples::{Fixed, Measured, SeriesResult};

/// The widest name of a kernel.
const KERNEL: usize = 16;

/// Adds both tables.
pub(crate) fn add(measured: &Measured, all: bool, screen: &mut Screen) {
    let shown = shown(measured, all);
    if shown.is_empty() {
        return screen.sentence("nothing was measured: no series was begun");
    }
    screen.table(lengths(&shown));
    screen.gap();
    screen.table(spread(&shown));
    if shown.len() < measured.series.len() {
        screen.note(&format!("the noisiest {} of {} series", shown.len(), measured.series.len()));
    }
}

/// Whether the time of every series is fixed.
fn is_fixed_time(shown: &[Named<'_>]) -> bool {
    same(shown.iter().map(|named| named.result.facts.fixed)) == Some(Fixed::Time)
}

/// What tells the series apart.
fn identity(shown: &[Named<'_>], kernel_goes: u8, policy_goes: u8) -> Table {
    let facts = || shown.iter().map(|named| &named.result.facts);
    let mut columns = Table::default();
    columns.left("", 0, shown.iter().map(|named| named.letter.map_or(String::new(), String::from)));
    columns.left("kernel", kernel_goes, facts().map(|facts| clip(&facts.variant, KERNEL)));
    if same(facts().map(|facts| &facts.policy)).is_none() {
        columns.left("policy", policy_goes, facts().map(|facts| facts.policy.clone()));
    }
    columns.right(
        "CPU",
        0,
        facts().map(|facts| facts.cpu.map_or("any".into(), |cpu| cpu.to_string())),
    );
    columns
}

/// The best sample, and what the others lost against it.
fn lengths(shown: &[Named<'_>]) -> Table {
    let mut columns = identity(shown, 0, 0);
    let of = |text: fn(&Loss, &Distribution) -> Option<String>| {
        shown.iter().map(move |named| told(named.result, text).unwrap_or("–".into()))
    };
    let best = if is_fixed_time(shown) { "most" } else { "shortest" };
    let sign = if is_fixed_time(shown) { '-' } else { '+' };
    let results = || shown.iter().map(|named| named.result);
    // One number of digits for all, so that they can be compared.
    let seen = results().filter_map(smallest_spread).reduce(f64::min).unwrap_or(0.0);
    let value = |result: &SeriesResult| {
        let distribution = result.distribution.as_ref()?;
        let loss = Loss::of(&result.facts, distribution);
        Some(loss.value(loss.best, seen))
    };
    columns.right(best, 0, results().map(|result| value(result).unwrap_or("–".into())));
    columns.right(
        &format!("{sign}median"),
        0,
        of(|loss, d| Some(loss.text(loss.quantile(d, 0.5)?))),
    );
    columns.right(&format!("{sign}mean"), 0, of(|loss, d| Some(loss.text(d.mean))));
    columns.right(&format!("{sign}p99"), 1, of(|loss, d| Some(loss.text(loss.quantile(d, 0.99)?))));
    columns.right(&format!("{sign}worst"), 0, of(|loss, d| Some(loss.text(loss.worst(d)))));
    columns.right("noise", 0, of(|_, d| d.noise.map(noise)));
    columns.captioned("Samples of each series")
}

/// How far the samples lie apart, and how well that is known.
fn spread(shown: &[Named<'_>]) -> Table {
    // The letter tells a series too, and the lines above the number of samples where all have as many.
    let letters = shown.iter().all(|named| named.letter.is_some());
    let mut columns = identity(shown, if letters { 5 } else { 0 }, 7);
    let results = || shown.iter().map(|named| named.result);
    let of = |text: fn(&Loss, &Distribution) -> Option<String>| {
        results().map(move |result| told(result, text).unwrap_or("–".into()))
    };
    columns.right("samples", 6, results().map(|result| count(result.facts.samples)));
    columns.right("sd", 0, of(|loss, d| Some(amount(loss.fixed, d.standard_deviation?))));
    let sign = if is_fixed_time(shown) { '-' } else { '+' };
    columns.right(&format!("{sign}median, 95 %"), 1, of(median_interval));
    columns.right("fasties", 4, of(|_, d| Some(count(d.fasties.count))));
    columns.right("slowies", 2, of(|_, d| Some(count(d.slowies.count))));
    columns.right("mean moved", 3, results().map(moved));
    pace(&mut columns, shown);
    columns.captioned("Spread of each series")
}

/// Cycles or, where no chain of additions tells how long one is, nanoseconds: of one instruction, and in a column of its
/// own of one iteration of do-nothing loops.
fn pace(columns: &mut Table, shown: &[Named<'_>]) {
    let results = || shown.iter().map(|named| named.result);
    let in_cycles = results().filter_map(|r| r.pace.as_ref()).any(|pace| pace.cycles.is_some());
    let of = |iterations: bool| {
        let cell = move |result: &SeriesResult| {
            let pace =
                result.pace.as_ref().filter(|_| (result.facts.instructions == 1) == iterations);
            let cell = match pace {
                Some(pace) if in_cycles => pace.cycles.map(|c| format!("{:.2}", c.per_instruction)),
                pace => pace.map(|pace| format!("{:.3}", pace.ns_per_instruction)),
            };
            cell.unwrap_or("–".into())
        };
        results().map(cell)
    };
    let heads = if in_cycles { ["CPI", "cycles/iter."] } else { ["ns/instr", "ns/iter."] };
    columns.right(heads[0], 0, of(false));
    columns.right(heads[1], 0, of(true));
}

/// What there is to say of a series that has samples.
fn told(result: &SeriesResult, text: fn(&Loss, &Distribution) -> Option<String>) -> Option<String> {
    let distribution = result.distribution.as_ref()?;
    text(&Loss::of(&result.facts, distribution), distribution)
}

/// A loss that the best value should have digits for: that of the median, else of the mean.
fn smallest_spread(result: &SeriesResult) -> Option<f64> {
    let distribution = result.distribution.as_ref()?;
    let loss = Loss::of(&result.facts, distribution);
    let median = loss.quantile(distribution, 0.5).map(|value| loss.of_value(value));
    [median, Some(loss.of_value(distribution.mean))].into_iter().flatten().find(|lost| *lost > 0.0)
}

fn median_interval(loss: &Loss, distribution: &Distribution) -> Option<String> {
    let median = |quantile: &&Quantile| (quantile.share - 0.5).abs() < 1e-6;
    let interval = distribution.quantiles.iter().find(median)?.interval?;
    let (one, other) = (loss.of_value(interval.low), loss.of_value(interval.high));
    let (low, high) = (one.min(other), one.max(other));
    Some(match loss.fixed {
        fixed if low == high => amount(fixed, low),
        Fixed::Work => fine_range(low, high),
        Fixed::Time => format!("{}–{}", amount(Fixed::Time, low), amount(Fixed::Time, high)),
    })
}
