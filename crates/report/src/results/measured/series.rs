//! The tables of series: the time of a sample and its spread.

use crate::results::measured::loss::{Loss, amount};
use crate::results::measured::names::{Named, same, shown};
use crate::screen::Screen;
use crate::style::clip;
use crate::table::{Rows, Table};
use crate::units::{count, fine_range, noise, percent};
use anechoic_analyze::samples::distribution::Distribution;
use anechoic_analyze::samples::{Fixed, Measured, SeriesResult};

/// Widest name of a kernel.
const KERNEL: usize = 16;

/// Explains the outliers.
const SPREAD: &str = "fasties and slowies are outliers, beyond three widths of the main body";

/// Adds the best sample of each series, and what the others lost; of many series, those of the noisiest.
pub(crate) fn add_briefly(measured: &Measured, screen: &mut Screen) {
    let shown = shown(measured, false);
    if shown.is_empty() {
        return screen.sentence("nothing was measured: no series was started");
    }
    screen.table(lengths(&shown));
    let sign = if is_fixed_time(&shown) {
        "- is fewer than the best window"
    } else {
        "+ is time over the shortest sample"
    };
    match shown.len() < measured.series.len() {
        true => screen.note(&format!("{sign}; {}", noisiest_of(shown.len(), measured))),
        false => screen.note(sign),
    }
}

fn noisiest_of(shown: usize, measured: &Measured) -> String {
    format!("the {shown} noisiest of {} series", measured.series.len())
}

/// Adds both tables of all series.
pub(crate) fn add(measured: &Measured, screen: &mut Screen) {
    let shown = shown(measured, true);
    if shown.is_empty() {
        return screen.sentence("nothing was measured: no series was started");
    }
    screen.table(lengths(&shown));
    screen.gap();
    screen.table(spread(&shown));
    let columns = if is_fixed_time(&shown) {
        "most, sd: units of work in a window; - is fewer than the best window"
    } else {
        "+ is time over the shortest sample"
    };
    screen.note(&format!("{columns}; {SPREAD}"));
    moved_note(shown.iter().map(|named| named.result)).iter().for_each(|text| screen.note(text));
    if shown.len() < measured.series.len() {
        screen.note(&noisiest_of(shown.len(), measured));
    }
}

/// Returns whether every series has fixed time.
fn is_fixed_time(shown: &[Named<'_>]) -> bool {
    same(shown.iter().map(|named| named.result.facts.fixed)) == Some(Fixed::Time)
}

/// Returns the name of a kernel as it fits into a column: of a user's function without the directory, if need be.
fn short(kernel: &str) -> String {
    let file = kernel.rsplit('/').next().filter(|_| kernel.len() > KERNEL);
    clip(file.unwrap_or(kernel), KERNEL)
}

/// Begins a table with the columns that distinguish the series.
fn identity<'a>(shown: &'a [Named<'a>], kernel_goes: u8, policy_goes: u8) -> Rows<'a, Named<'a>> {
    let policies = same(shown.iter().map(|named| &named.result.facts.policy)).is_none();
    Table::with_rows(shown)
        .some_names("", 0, |named| named.letter.map(String::from))
        .some_names("kernel", kernel_goes, |named| Some(short(&named.result.facts.variant)))
        .some_names("policy", policy_goes, |named| {
            policies.then(|| named.result.facts.policy.to_string())
        })
        .number("CPU", |named| named.result.facts.cpu.map_or("any".into(), |cpu| cpu.to_string()))
}

/// Returns the best sample of each series, and what the others lost relative to it.
fn lengths(shown: &[Named<'_>]) -> Table {
    let (best, sign) = if is_fixed_time(shown) { ("most", '-') } else { ("shortest", '+') };
    // All rows have the same number of digits, so that they can be compared.
    let spreads = shown.iter().filter_map(|named| smallest_spread(named.result));
    let seen = spreads.reduce(f64::min).unwrap_or(0.0);
    identity(shown, 0, 0)
        .some_numbers(best, 0, |named| lost(named, |loss, _| Some(loss.value(loss.best, seen))))
        .some_numbers(&format!("{sign}median"), 0, |named| {
            lost(named, |loss, d| Some(loss.text(loss.quantile(d, 0.5)?)))
        })
        .some_numbers(&format!("{sign}mean"), 0, |named| {
            lost(named, |loss, d| Some(loss.text(d.mean)))
        })
        .some_numbers(&format!("{sign}p99"), 1, |named| {
            lost(named, |loss, d| Some(loss.text(loss.quantile(d, 0.99)?)))
        })
        .some_numbers(&format!("{sign}worst"), 0, |named| {
            lost(named, |loss, d| Some(loss.text(loss.worst(d))))
        })
        .some_numbers("noise", 0, |named| lost(named, |_, d| d.noise.map(noise)))
        .captioned("Samples of each series")
}

/// Returns the spread of the samples of each series.
fn spread(shown: &[Named<'_>]) -> Table {
    // A letter names a series as well, and the lines above give the number of samples if it is the same for all.
    let letters = shown.iter().all(|named| named.letter.is_some());
    let sign = if is_fixed_time(shown) { '-' } else { '+' };
    let mut paces = shown.iter().filter_map(|named| named.result.pace.as_ref());
    let in_cycles = paces.any(|pace| pace.cycles.is_some());
    let [instruction, iteration] =
        if in_cycles { ["CPI", "cycles/iter."] } else { ["ns/instr", "ns/iter."] };
    identity(shown, if letters { 5 } else { 0 }, 7)
        .some_numbers("samples", 6, |named| Some(count(named.result.facts.samples)))
        .some_numbers("sd", 0, |named| {
            lost(named, |loss, d| Some(amount(loss.fixed, d.standard_deviation?)))
        })
        .some_numbers(&format!("{sign}median, 95 %"), 1, |named| lost(named, median_interval))
        .some_numbers("fasties", 4, |named| lost(named, |_, d| Some(count(d.fasties.count))))
        .some_numbers("slowies", 2, |named| lost(named, |_, d| Some(count(d.slowies.count))))
        .some_numbers("mean moved", 3, |named| Some(moved(named.result)))
        .some_numbers(instruction, 0, |named| pace(named.result, in_cycles, false))
        .some_numbers(iteration, 0, |named| pace(named.result, in_cycles, true))
        .captioned("Spread of each series")
}

/// Returns cycles, or nanoseconds if the length of a cycle was not calibrated, per instruction or per iteration of a
/// do-nothing loop.
fn pace(series: &SeriesResult, in_cycles: bool, iterations: bool) -> Option<String> {
    let pace = series.pace.as_ref().filter(|_| (series.facts.instructions == 1) == iterations)?;
    if in_cycles {
        return pace.cycles.as_ref().map(|cycles| format!("{:.2}", cycles.per_instruction));
    }
    Some(format!("{:.3}", pace.ns_per_instruction))
}

/// Returns a text about the loss of a series, if it has samples.
fn lost(
    named: &Named<'_>,
    text: impl Fn(&Loss, &Distribution) -> Option<String>,
) -> Option<String> {
    let distribution = named.result.distribution.as_ref()?;
    text(&Loss::new(&named.result.facts, distribution), distribution)
}

/// Returns the loss that the digits of the best value should resolve: that of the median, else of the mean.
fn smallest_spread(result: &SeriesResult) -> Option<f64> {
    let distribution = result.distribution.as_ref()?;
    let loss = Loss::new(&result.facts, distribution);
    let median = loss.quantile(distribution, 0.5).map(|value| loss.lost(value));
    [median, Some(loss.lost(distribution.mean))].into_iter().flatten().find(|lost| *lost > 0.0)
}

fn median_interval(loss: &Loss, distribution: &Distribution) -> Option<String> {
    let interval = distribution.quantile(0.5)?.interval?;
    let (one, other) = (loss.lost(interval.low), loss.lost(interval.high));
    let (low, high) = (one.min(other), one.max(other));
    Some(match loss.fixed {
        fixed if low == high => amount(fixed, low),
        Fixed::Work => fine_range(low, high),
        Fixed::Time => format!("{}–{}", amount(Fixed::Time, low), amount(Fixed::Time, high)),
    })
}

/// Explains how far the mean of series moved, if that is known of any.
pub(crate) fn moved_note<'a>(mut series: impl Iterator<Item = &'a SeriesResult>) -> Option<String> {
    let most = percent(series.find_map(|result| result.steadiness)?.maiv * 100.0);
    Some(format!(
        "mean moved: how far the accumulated mean moved over the last half of the samples; ✓ if at most {most}"
    ))
}

/// Returns how far the accumulated mean moved over the last half, and whether it is steady; few samples have no answer.
pub(crate) fn moved(series: &SeriesResult) -> String {
    let Some(steadiness) = series.steadiness else { return "–".into() };
    match steadiness.steady {
        None => "too few".into(),
        Some(true) => format!("{} ✓", noise(steadiness.variation)),
        Some(false) => format!("{} ✗", noise(steadiness.variation)),
    }
}
