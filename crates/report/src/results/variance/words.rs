//! How much of the variance between runs of a program lost time explains, in sentences.

use super::name;
use crate::style::{listed, plain};
use crate::units::{between, counted, number, rough_share, share, time};
use anechoic_analyze::Variance;
use anechoic_analyze::facts::Facts;
use anechoic_analyze::repeat::Spread;
use anechoic_analyze::stats::Interval;
use anechoic_analyze::variance::{Decision, Explained, FEWEST, SourceShare, UNATTRIBUTED, Without};

/// Part of the squared deviations from which on one run is stated to make up the variance.
const ALONE: f64 = 0.8;
/// A program took longer by more than it lost from this ratio on, which is printed as more than 1.00.
const SURELY_MORE: f64 = 1.005;
/// Part of the share from which on a source is named.
const NAMED: f64 = 0.5;

/// Names the program.
pub(super) fn program(found: &Variance) -> String {
    found.run.program.as_ref().map_or("the program".into(), |program| plain(&program.name))
}

/// What is repeated: runs of a program, or iterations in one run.
#[derive(Debug, Clone, Copy)]
pub(in crate::results) struct Repeated {
    pub(in crate::results) many: &'static str,
    /// Fewer of them decide nothing.
    pub(in crate::results) fewest: usize,
}

const RUNS: Repeated = Repeated { many: "runs", fewest: FEWEST };

/// Returns what was found: how long the runs took, how much of their variance noise explains, and how long they would have
/// taken without it.
pub(super) fn sentences(found: &Variance) -> Vec<String> {
    let runs = counted(found.runs.len() as u64, "run", "runs");
    let took = format!("{} took {} in {runs}", program(found), spread(&found.wall_ns));
    let first = explained(&took, &found.explained, &found.lost_ns, RUNS);
    let largest = largest(&found.explained, &found.sources, &found.run);
    [Some(first), without(&found.explained), largest, alone(found)].into_iter().flatten().collect()
}

/// Returns what noise explains of the variance, after how long these took.
pub(in crate::results) fn explained(
    took: &str,
    explained: &Explained,
    lost_ns: &Spread,
    repeated: Repeated,
) -> String {
    let Repeated { many, fewest } = repeated;
    let ends =
        explained.interval.map(|ends| between(&rough_share(ends.low), &rough_share(ends.high)));
    let ends = ends.unwrap_or_default();
    match (explained.decision, explained.share) {
        (Decision::Explained, Some(part)) => {
            format!("{took}; noise explains {} of the variance (95 %: {ends}).", rough_share(part))
        }
        (Decision::Little, _) if lost_ns.max == 0.0 => {
            format!("{took} and lost no time: noise explains nothing of the variance.")
        }
        (Decision::Little, _) => {
            let most = explained.interval.map_or(0.0, |ends| ends.high);
            format!("{took}; noise explains at most {} of the variance (95 %).", share(most))
        }
        (Decision::NoVariance, _) => format!("{took}: there is no variance to explain."),
        (Decision::TooFew, _) => {
            let lost = if lost_ns.max > 0.0 { spread(lost_ns) } else { "no time".to_owned() };
            format!(
                "{took} and lost {lost}; what noise explains of the variance is undecided: that takes {fewest} {many} or more."
            )
        }
        _ => format!(
            "{took}; what noise explains of the variance is undecided (95 %: {ends}): more {many} decide."
        ),
    }
}

/// Returns how long these would have taken without noise, if that is known.
pub(in crate::results) fn without(explained: &Explained) -> Option<String> {
    let Without { mean_ns, deviation_ns, .. } = explained.without?;
    let time = with_deviation(mean_ns, Some(deviation_ns));
    Some(format!("Without noise it would have taken {time}."))
}

/// Names the source that explains most, where noise explains anything.
pub(in crate::results) fn largest(
    explained: &Explained,
    sources: &[SourceShare],
    run: &Facts,
) -> Option<String> {
    let whole = explained.share.filter(|_| explained.decision == Decision::Explained)?;
    let row = sources.first()?;
    let part = row.share.filter(|part| *part >= NAMED * whole)?;
    if row.source == UNATTRIBUTED {
        let part = rough_share(part);
        return Some(format!(
            "{part} of the variance comes from lost time whose source is not known."
        ));
    }
    let name = name(run, &row.source, &row.name);
    // The time of others may have fallen where that of this one rose.
    let part = if part > 1.0 { "All".to_owned() } else { rough_share(part) };
    Some(format!("{part} of the variance comes from {name}."))
}

/// States that one run makes up the variance, if one does.
fn alone(found: &Variance) -> Option<String> {
    let squared = |wall_ns: u64| (wall_ns as f64 - found.wall_ns.mean).powi(2);
    let all: f64 = found.runs.iter().map(|run| squared(run.wall_ns)).sum();
    let run = found.runs.iter().max_by(|a, b| squared(a.wall_ns).total_cmp(&squared(b.wall_ns)))?;
    // Of few runs one always does.
    let is_alone = found.runs.len() >= FEWEST && squared(run.wall_ns) > ALONE * all && all > 0.0;
    is_alone.then(|| format!("One run, number {}, makes up most of the variance.", run.number))
}

/// Returns what makes the result doubtful.
pub(super) fn warnings(found: &Variance) -> Vec<String> {
    let mut warnings = vec![];
    if !found.left_out.is_empty() {
        let numbers: Vec<String> = found.left_out.iter().map(u32::to_string).collect();
        let runs = if numbers.len() == 1 { "Run" } else { "Runs" };
        let (numbers, verb) = (listed(&numbers), if numbers.len() == 1 { "does" } else { "do" });
        warnings.push(format!(
            "{runs} {numbers} {verb} not count: the command failed, or the recording ended early."
        ));
    }
    if found.lacking_events > 0 {
        let runs = counted(found.lacking_events, "run", "runs");
        warnings.push(format!(
            "In {runs} the kernel counted more CPU time of the program than the events show: do not trust the result."
        ));
    }
    warnings
}

/// Returns the numbers behind the sentences: the slope, the interval of the time without noise, and how both are defined.
pub(in crate::results) fn details(explained: &Explained, one: &str) -> Vec<String> {
    let mut lines = vec![];
    if let (Decision::Explained, Some(slope), Some(ends)) =
        (explained.decision, explained.slope, explained.slope_interval)
    {
        let range = between(&number(ends.low), &number(ends.high));
        lines.push(format!(
            "{one} took {} ms longer for each ms more that it lost (95 %: {range}).",
            number(slope)
        ));
        let more = match explained.without {
            _ if ends.low < SURELY_MORE => None,
            Some(_) => Some(
                "It was longer by more than it lost, for example because caches were cold afterwards. The share counts only the lost time; the time without noise counts all of it.",
            ),
            None => Some(
                "Delays alone are not that long: what took longer may have met more noise for a reason of their own. No time without noise is stated.",
            ),
        };
        lines.extend(more.map(str::to_owned));
    }
    if let Some(without) = &explained.without {
        let Interval { low, high } = without.interval_ns;
        let sd = Some((high - low) / 4.0);
        let range = between(&exact(low, sd), &exact(high, sd));
        lines.push(format!("Mean without noise: {range} (95 %)."));
    }
    lines
}

/// Writes mean and standard deviation: `2.10 ± 0.14 s`.
pub(in crate::results) fn spread(spread: &Spread) -> String {
    with_deviation(spread.mean, spread.sd)
}

fn with_deviation(mean_ns: f64, deviation_ns: Option<f64>) -> String {
    let Some(deviation) = deviation_ns else { return time(mean_ns) };
    let Written { unit_ns, unit, decimals } = written(mean_ns, deviation);
    format!("{:.decimals$} ± {:.decimals$} {unit}", mean_ns / unit_ns, deviation / unit_ns)
}

/// Writes a time as exactly as times with this deviation are written.
pub(in crate::results) fn exact(ns: f64, deviation_ns: Option<f64>) -> String {
    let Written { unit_ns, unit, decimals } = written(ns, deviation_ns.unwrap_or(ns / 100.0));
    format!("{:.decimals$} {unit}", ns / unit_ns)
}

/// How a time is written.
struct Written {
    unit_ns: f64,
    unit: &'static str,
    decimals: usize,
}

/// Returns how a time is written so that its deviation has two digits.
fn written(ns: f64, deviation_ns: f64) -> Written {
    let (unit_ns, unit) = match ns.abs() {
        ..1e3 => (1.0, "ns"),
        ..1e6 => (1e3, "µs"),
        ..1e9 => (1e6, "ms"),
        _ => (1e9, "s"),
    };
    let part = deviation_ns / unit_ns;
    let decimals =
        if part > 0.0 { (1.0 - part.log10().floor()).clamp(0.0, 9.0) as usize } else { 2 };
    Written { unit_ns, unit, decimals }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deviation_has_two_digits() {
        let cases = [
            (2.1e9, Some(0.14e9), "2.10 ± 0.14 s"),
            (1.95e9, Some(0.021e9), "1.950 ± 0.021 s"),
            (312.4e6, Some(1.24e6), "312.4 ± 1.2 ms"),
            (312.4e6, Some(124e6), "312 ± 124 ms"),
            (2e9, Some(20e3), "2.000000 ± 0.000020 s"),
            (12e9, Some(0.0), "12.00 ± 0.00 s"),
            (12e9, None, "12.0 s"),
        ];
        for (mean, deviation, expected) in cases {
            assert_eq!(with_deviation(mean, deviation), expected);
        }
        assert_eq!(exact(2.1e9, Some(0.14e9)), "2.10 s");
    }
}
