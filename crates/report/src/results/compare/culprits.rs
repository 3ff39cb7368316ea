//! What took most of the difference between two sides.

use super::{points, source_name};
use crate::style::{capital, listed};
use crate::units::{cpu_list, rough_share};
use anechoic_analyze::compare::{Comparison, CpuChange, Difference, SourceChange};

/// A source is named if its change is at least this part of the whole change, and of the largest change of a source.
const NAMED: f64 = 0.3;
/// Most sources that are named.
const MOST: usize = 3;
/// Parts of the change that add up to more than this are not parts of a whole: other sources changed the other way.
const WHOLE: f64 = 1.1;

/// Names the sources and the CPUs that changed most; absent if none of them changed clearly.
pub(super) fn explained(found: &Comparison) -> Option<String> {
    let sentences: Vec<String> = by_source(found).into_iter().chain(by_cpu(found)).collect();
    (!sentences.is_empty()).then(|| sentences.join(" "))
}

/// Returns by how much more time the source took after the change.
fn change(source: &SourceChange) -> f64 {
    let Difference { before, after, .. } = source.difference;
    after - before
}

/// Names the sources that changed most, as parts of the change where they are parts of it, else in percentage points.
fn by_source(found: &Comparison) -> Option<String> {
    let all: f64 = found.sources.iter().map(change).sum();
    // Where the sum moved against the verdict, one run made the mean, and nothing explains the change.
    let towards = if found.after.noise < found.before.noise { all < 0.0 } else { all > 0.0 };
    // A source that varies much may hide more than a clear one took.
    let largest = found.sources.iter().map(|source| change(source).abs()).fold(all.abs(), f64::max);
    let is_named = |source: &&SourceChange| {
        towards && source.difference.clear && change(source).abs() >= NAMED * largest
    };
    let mut named: Vec<&SourceChange> = found.sources.iter().filter(is_named).collect();
    named.sort_by(|a, b| change(b).abs().total_cmp(&change(a).abs()));
    named.truncate(MOST);
    if named.is_empty() {
        return None;
    }
    let parts: Vec<f64> = named.iter().map(|source| change(source) / all).collect();
    let are_parts = parts.iter().all(|part| *part > 0.0) && parts.iter().sum::<f64>() <= WHOLE;
    let named = named.iter().zip(&parts).enumerate().map(|(at, (source, part))| {
        let first = at == 0;
        let what = if are_parts { share(*part, first) } else { amount(change(source), first) };
        format!("{} {what}", source_name(source))
    });
    let named: Vec<String> = named.collect();
    let text = if are_parts { listed(&named) } else { named.join(", ") };
    Some(format!("{}.", capital(&text)))
}

/// Writes `explains 40 % of the change`, and `12 %` after that.
fn share(part: f64, first: bool) -> String {
    let share = rough_share(part.min(1.0));
    if first { format!("explains {share} of the change") } else { share }
}

/// Writes `took 43.7 percentage points more`, and `29.4 less` after that.
fn amount(change: f64, first: bool) -> String {
    let (size, way) = (points(change.abs()), if change < 0.0 { "less" } else { "more" });
    if first { format!("took {size} percentage points {way}") } else { format!("{size} {way}") }
}

/// Names the CPUs on which the change is clear, unless that is all or none of them.
fn by_cpu(found: &Comparison) -> Option<String> {
    let clear: Vec<&CpuChange> = found.cpus.iter().filter(|cpu| cpu.difference.clear).collect();
    let cpus: Vec<u32> = clear.iter().map(|change| change.cpu).collect();
    let word = if cpus.len() == 1 { "CPU" } else { "CPUs" };
    let some = !clear.is_empty() && clear.len() < found.cpus.len();
    some.then(|| format!("It is clear on {word} {}.", cpu_list(&cpus)))
}

#[cfg(test)]
mod tests {
    use super::super::tests::{comparison, source};
    use super::*;

    /// A source with its change in percentage points, and whether that is clear.
    type Part = (&'static str, f64, bool);

    #[test]
    fn what_took_most_of_the_change_is_named_with_its_sign() {
        let cases: [(&str, &[Part], Option<&str>); 13] = [
            ("one", &[("a", 10.0, true)], Some("Thread a explains 100 % of the change.")),
            (
                "two of three",
                &[("a", 5.0, true), ("b", 4.0, true), ("c", 1.0, true)],
                Some("Thread a explains 50 % of the change and thread b 40 %."),
            ),
            (
                "three that are equal",
                &[("a", 5.0, true), ("b", 5.0, true), ("c", 5.0, true)],
                Some("Thread a explains 33 % of the change, thread b 33 % and thread c 33 %."),
            ),
            (
                "many that are equal",
                &[("a", 2.0, true), ("b", 2.0, true), ("c", 2.0, true), ("d", 2.0, true)],
                None,
            ),
            ("none clear", &[("a", 9.0, false), ("b", 1.0, false)], None),
            ("none", &[], None),
            (
                "the competitor that displaces the loop",
                &[("true", 43.7, true), ("loop 1", -29.4, true), ("sh", 7.9, true)],
                Some("Thread true took 43.7 percentage points more, thread loop 1 29.4 less."),
            ),
            (
                "the same, and the loop is not clear",
                &[("true", 43.7, true), ("loop 1", -29.4, false), ("sh", 7.9, true)],
                Some("Thread true took 43.7 percentage points more."),
            ),
            (
                "a little over all",
                &[("a", 10.5, true), ("b", -0.5, true)],
                Some("Thread a explains 100 % of the change."),
            ),
            (
                "two that exceed the change together",
                &[("a", 8.0, true), ("b", 8.0, true), ("c", -6.0, false)],
                Some("Thread a took 8.00 percentage points more, thread b 8.00 more."),
            ),
            (
                "less",
                &[("a", -20.0, true), ("b", 12.0, true)],
                Some("Thread a took 20.0 percentage points less, thread b 12.0 more."),
            ),
            (
                "unclear ones hide more",
                &[("a", 5.0, true), ("b", 30.0, false), ("c", -29.0, false)],
                None,
            ),
            ("clear ones cancel each other", &[("a", 20.0, true), ("b", -20.0, true)], None),
        ];
        for (name, parts, expected) in cases {
            let all: f64 = parts.iter().map(|(_, by, _)| by / 100.0).sum();
            let mut found = comparison([0.5, 0.5 + all]);
            let parts = parts.iter();
            found.sources =
                parts.map(|(name, by, clear)| source(name, by / 100.0, *clear)).collect();
            assert_eq!(explained(&found).as_deref(), expected, "case: {name}");
        }
    }
}
