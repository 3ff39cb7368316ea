//! The screen of injected noise of one share: what it costs a job by its rate and length, and by whether it comes to all
//! CPUs at the same time.

use super::{NOTHING, Study};
use crate::palette;
use crate::picture::{Axis, Chart, Curve, Draw, Quantity, ROWS};
use crate::published::{FERREIRA, INJECTED, SIGNATURES, SLOWDOWN, Signature, find};
use crate::results::bsp::host_line;
use crate::style::plain;
use crate::table::Table;
use crate::units::{asked, between, bounds, count, counted, loss, loss_number};
use anechoic_analyze::stats::Interval;
use anechoic_predict::bsp::{Bsp, Cell, Estimate};

/// The name of the set without injected noise.
const NONE: &str = "none";
/// Terms of the expected maximum of which later ones are below any error here.
const TERMS: u32 = 200;

/// Shows what each signature of Ferreira 2008 costs, beside what the signature predicts. Each set has its name.
#[must_use]
pub fn suite_ferreira(sets: &[(String, Bsp)]) -> Study {
    let mut study = Study::new("injected noise of 2.5 %", &FERREIRA);
    study.foremost = "slowdown at";
    let screen = &mut study.shown;
    let Some((_, first)) = sets.first() else {
        screen.sentence(NOTHING);
        return study;
    };
    screen.contexts(&first.hosts, host_line, ["host", "hosts"]);
    let sets = in_order(sets);
    if sets.iter().any(|(_, set)| !set.notes.is_empty()) {
        screen.gap();
    }
    for (name, set) in &sets {
        set.notes.iter().for_each(|note| screen.warning(&format!("{}: {note}", named(name))));
    }
    for cell in &first.cells {
        screen.section(&format!("slowdown at a grain of {}", asked(cell.grain_ns)));
        screen.table(table(&sets, cell.grain_ns));
    }
    screen.note(LEGEND);
    let share = share(&sets);
    let caption = format!("{ADDED}{} {NODES}", if share.is_some() { GREY } else { "" });
    screen.pictured(chart(&sets, share), caption);
    study.changed.extend([published(), comes_to(&sets)]);
    study
}

/// Describes the figure.
const ADDED: &str = "What the injected noise adds to the time of the job by the grain; bars: 95 % intervals of what it adds, from the \
                     intervals of the set with it and of the set without; no bar where one of them has none.";
/// Describes the grey line.
const GREY: &str = " Grey: p/(1 − p) of noise that takes the share p of each CPU, which ranks lose that are all interrupted at the same \
                    times.";
/// States what the figure cannot show.
const NODES: &str = "The paper's factor of 20 is of 10,000 nodes.";
/// Names the grey line.
const SHARE: &str = "p/(1 − p), p: share of the noise";

/// Returns the sets with injected noise, each with its signature.
fn injected<'a>(sets: &'a [&(String, Bsp)]) -> impl Iterator<Item = (&'static Signature, &'a Bsp)> {
    sets.iter().filter_map(|(name, set)| Some((signature_named(name)?, set)))
}

/// Returns the signature of the set of this name; none for the set without noise and for other names.
fn signature_named(name: &str) -> Option<&'static Signature> {
    SIGNATURES.iter().find(|signature| signature.id == name)
}

/// Draws the grey line; nothing if there is only one grain, or no set with noise at the same times.
fn share(sets: &[&(String, Bsp)]) -> Option<Curve> {
    let grains = || sets.iter().flat_map(|(_, set)| &set.cells).map(|cell| cell.grain_ns as f64);
    let (low, high) = (grains().fold(f64::INFINITY, f64::min), grains().fold(0.0, f64::max));
    let (signature, _) =
        injected(sets).find(|(signature, _)| signature.coordinated).filter(|_| low < high)?;
    let share = predicted(signature, 1, 1);
    let line = [(low, share), (high, share)];
    Some(Curve::colored(palette::REST, 0, SHARE.into(), Draw::Segments, &line))
}

/// Draws what each signature adds against the grain.
fn chart(sets: &[&(String, Bsp)], share: Option<Curve>) -> Chart {
    let mut curves = vec![];
    for ((number, (signature, set)), letter) in injected(sets).enumerate().zip('a'..='z') {
        let mut cells: Vec<&Cell> = set.cells.iter().collect();
        cells.sort_by_key(|cell| cell.grain_ns);
        let (points, ends): (Vec<_>, Vec<_>) =
            cells.iter().filter_map(|cell| added_at(sets, cell)).unzip();
        let curve = Curve::numbered(number, words(signature), Draw::Line, &points);
        curves.push(curve.spanning(ends).lettered(Some(letter)));
    }
    curves.extend(share);
    let y = Axis::linear("time added", Quantity::Share);
    let y = y.over(curves.iter().flat_map(Curve::along).chain([0.0])).rounded(5);
    Chart::new(Axis::log("grain", Quantity::Time), y, curves)
        .titled("time that the injected noise adds, by grain", ROWS + 2)
        .named("added")
}

/// Returns the point of a cell, and the ends of the interval of what noise adds there.
fn added_at(sets: &[&(String, Bsp)], cell: &Cell) -> Option<((f64, f64), (f64, f64))> {
    let value = added(sets, cell)?;
    let ends = added_between(sets, cell).map_or((value, value), |ends| (ends.low, ends.high));
    Some(((cell.grain_ns as f64, value), ends))
}

/// Explains the columns.
const LEGEND: &str = "measured: time over that without any noise; added: by the injected noise, over the set without it; signature: what its rate \
                      and length predict; detours: what all recorded detours predict. together: on all CPUs at the same times; random: \
                      at random times of each CPU. A thread that spins also takes the switch to it and back, which the signature leaves out.";

/// Returns the sets without noise first, then in the order of the signatures, and others as they come.
fn in_order(sets: &[(String, Bsp)]) -> Vec<&(String, Bsp)> {
    let mut sorted: Vec<&(String, Bsp)> = sets.iter().collect();
    sorted.sort_by_key(|(name, _)| place(name));
    sorted
}

/// Returns the place of a set among the others by its name.
fn place(name: &str) -> usize {
    match SIGNATURES.iter().position(|signature| signature.id == name) {
        _ if name == NONE => 0,
        Some(at) => at + 1,
        None => SIGNATURES.len() + 1,
    }
}

fn cell_of(set: &Bsp, grain_ns: u64) -> Option<&Cell> {
    set.cells.iter().find(|cell| cell.grain_ns == grain_ns)
}

/// Returns the slowdown at a grain in the set without noise.
fn without(sets: &[&(String, Bsp)], grain_ns: u64) -> Option<Estimate> {
    let (_, none) = sets.iter().find(|(name, _)| name == NONE)?;
    Some(cell_of(none, grain_ns)?.measured)
}

/// Returns the slowdown that the injected noise adds to that of the set without it.
fn added(sets: &[&(String, Bsp)], cell: &Cell) -> Option<f64> {
    let base = without(sets, cell.grain_ns)?.value;
    Some((1.0 + cell.measured.value) / (1.0 + base) - 1.0)
}

/// Returns the 95 % interval of the slowdown that the injected noise adds; absent unless both slowdowns have one.
fn added_between(sets: &[&(String, Bsp)], cell: &Cell) -> Option<Interval> {
    over(cell.measured, without(sets, cell.grain_ns)?)
}

/// Returns the 95 % interval of a slowdown over another one. It is a ratio of two independent estimates, so that the squares
/// of their distances to the ends add up in logarithms.
fn over(with: Estimate, base: Estimate) -> Option<Interval> {
    let ln = |slowdown: f64| slowdown.ln_1p();
    let (with_interval, base_interval) = (with.interval?, base.interval?);
    let middle = ln(with.value) - ln(base.value);
    let below =
        f64::hypot(ln(with.value) - ln(with_interval.low), ln(base_interval.high) - ln(base.value));
    let above =
        f64::hypot(ln(with_interval.high) - ln(with.value), ln(base.value) - ln(base_interval.low));
    Some(Interval { low: (middle - below).exp_m1(), high: (middle + above).exp_m1() })
}

/// Returns one row for each set.
fn table(sets: &[&(String, Bsp)], grain_ns: u64) -> Table {
    let heads = ["measured", "95 %", "added", "signature", "detours"];
    let mut table = Table::with_names("noise", &heads).captioned("Slowdown by injected noise");
    for (name, set) in sets {
        let Some(cell) = cell_of(set, grain_ns) else { continue };
        let signature = signature_named(name);
        let measured = cell.measured;
        table.row(vec![
            named(name),
            loss(measured.value),
            bounds(measured.interval, measured.at_least, |bound| {
                loss_number(bound, measured.value)
            }),
            signature.and_then(|_| added(sets, cell)).map_or("–".into(), loss),
            signature.map_or("–".into(), |signature| {
                loss(predicted(signature, cell.grain_ns, cell.ranks))
            }),
            cell.predicted.map_or("–".into(), |estimate| loss(estimate.value)),
        ]);
    }
    table
}

/// Names a set by its signature; that without noise, and one of another name, by their names.
fn named(name: &str) -> String {
    signature_named(name).map_or_else(|| plain(name), words)
}

/// Describes a signature: `10 Hz × 2.5 ms, together`.
fn words(signature: &Signature) -> String {
    let hz = 1e9 / signature.period_ns as f64;
    let how = if signature.coordinated { "together" } else { "random" };
    format!("{hz} Hz × {}, {how}", asked(signature.length_ns))
}

/// Returns the slowdown that a signature predicts for ranks that meet after each grain, minus 1.
///
/// Coordinated noise delays all ranks at once, so that the job loses its share of the time. Noise at random times delays a
/// phase by the rank that has most of it: the expected maximum over the ranks of a Poisson number of detours. Ranks that
/// wait absorb noise, which is why only the time of the work counts.
fn predicted(signature: &Signature, grain_ns: u64, ranks: u64) -> f64 {
    let part = signature.length_ns as f64 / signature.period_ns as f64;
    if signature.coordinated {
        return part / (1.0 - part);
    }
    let mean = grain_ns as f64 / signature.period_ns as f64 / (1.0 - part);
    most_of(mean, ranks) * signature.length_ns as f64 / grain_ns.max(1) as f64
}

/// Returns the expected maximum of `ranks` Poisson numbers with this mean.
fn most_of(mean: f64, ranks: u64) -> f64 {
    // In logarithms: the first terms of a large mean are smaller than any number.
    let (mut ln_at, mut up_to, mut expected) = (-mean, 0.0, 0.0);
    for k in 0..TERMS.max((4.0 * mean) as u32) {
        up_to += ln_at.exp();
        expected += 1.0 - f64::powf(f64::min(up_to, 1.0), ranks as f64);
        ln_at += (mean / f64::from(k + 1)).ln();
    }
    expected
}

/// Whether the cost of a signature is clear: its interval lies above 0. One below 0 does not show a gain: the machine was
/// busier during the set without noise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Clarity {
    /// More than nothing.
    Clear,
    /// Its interval is not above 0.
    AroundNothing,
    /// The set with the noise has no interval.
    NoInterval,
    /// The set without noise has no interval.
    NoBase,
}

impl Clarity {
    fn new(sets: &[&(String, Bsp)], cell: &Cell) -> Self {
        let base = without(sets, cell.grain_ns).and_then(|estimate| estimate.interval);
        match added_between(sets, cell) {
            Some(interval) if interval.low > 0.0 => Self::Clear,
            Some(_) => Self::AroundNothing,
            None if base.is_none() => Self::NoBase,
            None => Self::NoInterval,
        }
    }

    /// Returns why this number of combinations is left out, as a clause; nothing for clear ones.
    fn why(self, number: u64) -> Option<String> {
        let why = match self {
            Self::Clear => return None,
            Self::AroundNothing => "what the noise adds cannot be distinguished from nothing",
            Self::NoInterval => "with the noise only a lower bound is known",
            Self::NoBase => "without injected noise only a lower bound is known",
        };
        (number > 0).then(|| format!("{} because {why}", count(number)))
    }
}

/// States of each kind why combinations are left out; nothing if none is.
fn left_out(unclear: &[(Clarity, Added<'_>)]) -> Option<String> {
    let kinds = [Clarity::AroundNothing, Clarity::NoInterval, Clarity::NoBase];
    let number =
        |kind: Clarity| unclear.iter().filter(|(clarity, _)| *clarity == kind).count() as u64;
    let why: Vec<String> = kinds.into_iter().filter_map(|kind| kind.why(number(kind))).collect();
    (!why.is_empty()).then(|| why.join(", "))
}

/// States what the paper found.
fn published() -> String {
    let factor = |column| {
        find(&INJECTED, SLOWDOWN, "one application", column).map(|factor| factor.value.text())
    };
    format!(
        "On 10,000 nodes the same 2.5 % slowed one application by a factor of more than {}, or had no effect, depending only on \
         how often and for how long it came (abstract).",
        factor("most").unwrap_or_default()
    )
}

/// What a signature added to the set without noise at a grain in ns.
type Added<'a> = (f64, &'a Signature, u64);

/// States which of the signatures cost least and most, of those whose cost is clear; undecided unless most are.
fn comes_to(sets: &[&(String, Bsp)]) -> String {
    let (mut clear, mut unclear): (Vec<Added<'_>>, Vec<(Clarity, Added<'_>)>) = (vec![], vec![]);
    for (name, set) in sets {
        let Some(signature) = signature_named(name) else { continue };
        for cell in &set.cells {
            let Some(added) = added(sets, cell) else { continue };
            let combination = (added, signature, cell.grain_ns);
            match Clarity::new(sets, cell) {
                Clarity::Clear => clear.push(combination),
                why => unclear.push((why, combination)),
            }
        }
    }
    let (decided, all) = (clear.len() as u64, (clear.len() + unclear.len()) as u64);
    let why = left_out(&unclear).unwrap_or_default();
    match from_least_to_most(&clear) {
        Some(clear) if decided == all => clear,
        Some(clear) if 2 * decided > all => {
            let number = counted(all - decided, "combination is", "combinations are");
            format!("{clear} {number} left out: {why}.")
        }
        _ if all == 0 => {
            "The cost of the noise is known only with the set without noise and one with it.".into()
        }
        _ => format!(
            "What noise of 2.5 % of each CPU costs this job is undecided: {} of {} clear. The others are not: {why}. Measure \
             for longer (--duration), on a quiet machine.",
            count(decided),
            counted(all, "combination is", "combinations are"),
        ),
    }
}

/// States the least and the greatest of these.
fn from_least_to_most(all: &[Added<'_>]) -> Option<String> {
    let by_cost = |a: &&Added<'_>, b: &&Added<'_>| a.0.total_cmp(&b.0);
    let (least, most) = (all.iter().min_by(by_cost)?, all.iter().max_by(by_cost)?);
    Some(format!(
        "Noise that takes the same 2.5 % of each CPU costs this job {}: least {} at a grain of {}, most {} at {}.",
        between(&loss(least.0), &loss(most.0)),
        words(least.1),
        asked(least.2),
        words(most.1),
        asked(most.2)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_rank_loses_the_share_of_the_noise_and_two_more_of_it() {
        let [together, .., random] = SIGNATURES;
        for grain_ns in [100_000, 10_000_000] {
            let alone = 0.025 / 0.975;
            assert!((predicted(&together, grain_ns, 64) - alone).abs() < 1e-12);
            assert!((predicted(&random, grain_ns, 1) - alone).abs() < 1e-9);
            let two = predicted(&random, grain_ns, 2);
            assert!(two > alone * 1.05 && two < alone * 2.0, "{two}");
        }
        // A grain with a thousand detours.
        assert!((predicted(&random, 1_000_000_000, 1) - 0.025 / 0.975).abs() < 1e-9);
        // With many ranks each phase has a detour: 25 µs on 100 µs, and now and then a second one.
        let many = predicted(&random, 100_000, 100_000);
        assert!(many > 0.25, "{many}");
    }

    #[test]
    fn the_largest_of_two_numbers_is_known() {
        // For two numbers with mean m: m + m·e^(−2m)·(I0(2m) + I1(2m)); at m = 1 the parenthesis is 3.870222.
        let expected = 1.0 + (-2.0f64).exp() * 3.870_222;
        assert!((most_of(1.0, 2) - expected).abs() < 1e-5, "{}", most_of(1.0, 2));
    }
    #[test]
    fn what_noise_adds_is_as_uncertain_as_both_sets() {
        let estimate = |value, low, high| Estimate {
            value,
            interval: Some(Interval { low, high }),
            at_least: Some(low),
        };
        let (with, base) = (estimate(0.05, 0.04, 0.06), estimate(0.01, 0.0, 0.02));
        let both = over(with, base).expect("both have an interval");
        // ln 1.05 − ln 1.01 = 0.038_840; below √(0.009_570² + 0.009_852²), above √(0.009_479² + 0.009_950²).
        assert!(
            (both.low - 0.025_42).abs() < 1e-5 && (both.high - 0.053_99).abs() < 1e-5,
            "{both:?}"
        );
        let exact = over(with, estimate(0.0, 0.0, 0.0)).expect("both have an interval");
        assert!((exact.low - 0.04).abs() < 1e-12 && (exact.high - 0.06).abs() < 1e-12);
        let unknown = Estimate { interval: None, ..base };
        assert_eq!((over(with, unknown), over(unknown, base)), (None, None));
    }
}
