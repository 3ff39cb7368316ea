//! Values of options.

use super::Refused;

/// Reads a value, and names it if it is refused.
pub(super) fn read<T>(
    text: &str,
    parse: fn(&str) -> Result<T, &'static str>,
) -> Result<T, Refused<'_>> {
    parse(text).map_err(|why| (text, why))
}

/// Reads the iterations of a sample and, after a slash, those of a step of it.
pub(super) fn iterations(text: &str) -> Result<(u64, u64), &'static str> {
    let (sample, step) = text.split_once('/').unwrap_or((text, text));
    let (sample, step) = (number(sample)?, number(step)?);
    if sample % step == 0 {
        Ok((sample, step))
    } else {
        Err("a sample is not a number of whole steps")
    }
}

/// Reads the smallest and the largest working set.
pub(super) fn sizes(text: &str) -> Result<(u64, Option<u64>), &'static str> {
    let (from, to) = text.split_once('-').ok_or("not a range such as 4k-64m")?;
    let (from, to) = (bytes(from)?, bytes(to)?);
    if from > to { Err("the range ends before it begins") } else { Ok((from, Some(to))) }
}

/// Reads a whole number of at least 1.
pub(super) fn number(text: &str) -> Result<u64, &'static str> {
    match text.parse() {
        Ok(0) => Err("must be at least 1"),
        Ok(number) => Ok(number),
        Err(_) => Err("not a whole number"),
    }
}

/// Reads a whole number with one of these units.
fn with_unit(text: &str, units: &[(&str, u64)], why: &'static str) -> Result<u64, &'static str> {
    let digits = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let unit = units.iter().find(|unit| unit.0 == &text[digits.len()..]).ok_or(why)?;
    number(digits)?.checked_mul(unit.1).ok_or("too large")
}

pub(super) fn time(text: &str) -> Result<u64, &'static str> {
    let units = [("ns", 1), ("us", 1_000), ("ms", 1_000_000), ("s", 1_000_000_000)];
    with_unit(text, &units, "not a time such as 250us, 1ms or 10s")
}

pub(super) fn bytes(text: &str) -> Result<u64, &'static str> {
    let units = [("k", 1 << 10), ("m", 1 << 20), ("g", 1 << 30)];
    with_unit(text, &units, "not a size such as 4k or 64m")
}

/// Returns whether this is a list of CPUs such as `0,2-3`.
pub(super) fn is_list(text: &str) -> bool {
    text.split(',').all(|part| range(part).is_some_and(|(first, last)| first <= last))
}

/// Returns the numbers in a list of CPUs.
pub(super) fn members(list: &str) -> impl Iterator<Item = usize> {
    list.split(',').filter_map(range).flat_map(|(first, last)| first..=last)
}

/// Reads the first and the last number of a range; a single number is both.
fn range(text: &str) -> Option<(usize, usize)> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    Some((first.parse().ok()?, last.parse().ok()?))
}
