//! Names of the series of a recording: a letter if there are several, and words.

use crate::style::plain;
use anechoic_analyze::samples::{Measured, SeriesFacts, SeriesResult};

/// Number of series on a short screen.
const MOST: usize = 16;

/// A series that is shown.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Named<'a> {
    /// Its letter in tables and figures; absent if it is the only series, or letters are exhausted.
    pub letter: Option<char>,
    pub result: &'a SeriesResult,
    differ: Differ,
}

/// The properties in which the series of a recording differ.
#[derive(Debug, Clone, Copy)]
struct Differ {
    variant: bool,
    cpu: bool,
    policy: bool,
}

impl Differ {
    fn between(measured: &Measured) -> Self {
        let facts = || measured.series.iter().map(|series| &series.facts);
        Self {
            variant: same(facts().map(|facts| &facts.variant)).is_none(),
            cpu: same(facts().map(|facts| facts.cpu)).is_none(),
            policy: same(facts().map(|facts| &facts.policy)).is_none(),
        }
    }
}

/// Returns the series to show in the order of the recording: all, or the noisiest.
pub(crate) fn shown(measured: &Measured, all: bool) -> Vec<Named<'_>> {
    let mut order: Vec<&SeriesResult> = measured.series.iter().collect();
    order.sort_by(|a, b| noise(b).total_cmp(&noise(a)).then(a.facts.number.cmp(&b.facts.number)));
    if !all {
        order.truncate(MOST);
    }
    order.sort_by_key(|series| series.facts.number);
    let letters = ('a'..='z').chain('A'..='Z').map(Some).chain(std::iter::repeat(None));
    let alone = measured.series.len() < 2;
    let differ = Differ::between(measured);
    let named = order.into_iter().zip(letters).map(|(result, letter)| {
        let letter = letter.filter(|_| !alone);
        Named { letter, result, differ }
    });
    named.collect()
}

/// Returns the noisiest of these series that has samples.
pub(crate) fn noisiest<'a>(shown: &[Named<'a>]) -> Option<Named<'a>> {
    let with_samples = shown.iter().filter(|named| named.result.distribution.is_some());
    // The first of equal series: max_by alone would return the last.
    with_samples.rev().copied().max_by(|a, b| noise(a.result).total_cmp(&noise(b.result)))
}

/// Returns the noise of a series for sorting; negative if it is unknown.
pub(crate) fn noise(series: &SeriesResult) -> f64 {
    let noise = series.distribution.as_ref().and_then(|distribution| distribution.noise);
    noise.unwrap_or(-1.0)
}

/// Returns the CPU of a series: `CPU 1`, or `unpinned`.
pub(crate) fn place(facts: &SeriesFacts) -> String {
    facts.cpu.map_or("unpinned".into(), |cpu| format!("CPU {cpu}"))
}

/// Describes a series: `intadd, CPU 1`, with the scheduling policy if it is not the default.
pub(crate) fn words(facts: &SeriesFacts) -> String {
    let policy =
        if facts.policy.is_other() { String::new() } else { format!(", {}", facts.policy) };
    plain(&format!("{}, {}{policy}", facts.variant, place(facts)))
}

impl Named<'_> {
    /// Returns letter and description.
    pub(crate) fn title(&self) -> String {
        let letter = self.letter.map_or(String::new(), |letter| format!("{letter} · "));
        format!("{letter}{}", words(&self.result.facts))
    }

    /// Describes what distinguishes it from the other series.
    pub(crate) fn brief(&self) -> String {
        let facts = &self.result.facts;
        let parts = [
            self.differ.variant.then(|| facts.variant.clone()),
            self.differ.cpu.then(|| place(facts)),
            self.differ.policy.then(|| facts.policy.to_string()),
        ];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        if parts.is_empty() { words(facts) } else { plain(&parts.join(", ")) }
    }

    /// Returns the shortest name that distinguishes it from the others.
    pub(crate) fn short(&self) -> String {
        self.letter.map_or_else(|| words(&self.result.facts), String::from)
    }
}

/// Returns the common value, if all are equal.
pub(crate) fn same<T: PartialEq>(mut values: impl Iterator<Item = T>) -> Option<T> {
    let first = values.next()?;
    values.all(|other| other == first).then_some(first)
}
