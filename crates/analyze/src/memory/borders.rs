//! The borders between the regions of working sets: what the machine reports, and where the time of an access rises.

use super::Experiment;
use anechoic_recording::Run;
use anechoic_recording::machine::Cache;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Experiments whose curve shows the caches, the clearest first.
const CURVES: [&str; 4] = [
    "bandwidth-read-random-local-warm",
    "bandwidth-read-random-warm",
    "bandwidth-write-random-warm",
    "bandwidth-read-sequential-warm",
];
/// Between two levels the time of an access must rise at least by this factor; otherwise there is no knee.
const RISE: f64 = 1.3;

/// The border between two regions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Border {
    /// Name of the cache: `L1`, `L2`, `L3`.
    pub name: String,
    /// Size of the cache that the machine reports, in bytes.
    pub reported_bytes: u64,
    /// The working set at which the time of an access is the geometric mean of the times in both regions, in bytes;
    /// absent if it does not rise between them.
    pub knee_bytes: Option<u64>,
}

/// Returns the caches of data of the measured CPU, from the first level on. A machine that hides them has none.
pub(crate) fn caches(run: &Run) -> Vec<&Cache> {
    let cpu = run.cpus.first().map(|cpu| cpu.cpu);
    let known = run.machine.cpus.iter().find(|known| Some(known.cpu) == cpu);
    let mut caches: Vec<_> = known.iter().flat_map(|known| &known.caches).collect();
    caches.retain(|cache| cache.kind != "Instruction" && cache.size_bytes > 0);
    caches.sort_by_key(|cache| cache.level);
    caches.dedup_by_key(|cache| cache.level);
    caches.truncate(super::REGIONS - 1);
    caches
}

/// Returns the borders at the sizes of the caches, with the measured knees.
pub(super) fn borders(caches: &[&Cache], experiments: &[Experiment]) -> Vec<Border> {
    let border = |cache: &&Cache| Border {
        name: format!("L{}", cache.level),
        reported_bytes: cache.size_bytes,
        knee_bytes: None,
    };
    let borders: Vec<Border> = caches.iter().map(border).collect();
    let measured = |id: &&str| experiments.iter().find(|of| of.id == *id && of.points.len() > 2);
    let Some(curve) = CURVES.iter().find_map(measured) else { return borders };
    let points: Vec<(f64, f64)> =
        curve.points.iter().map(|point| ((point.bytes as f64).log2(), point.median)).collect();
    let sizes: Vec<f64> =
        borders.iter().map(|border| (border.reported_bytes as f64).log2()).collect();
    let first = points.first().map_or(0.0, |point| point.0);
    let last = points.last().map_or(0.0, |point| point.0);
    let with = |(number, border): (usize, Border)| {
        let below = if number == 0 { first } else { sizes[number - 1] };
        let above = sizes.get(number + 1).copied().unwrap_or(last);
        let (from, to) = ((below + sizes[number]) / 2.0, (sizes[number] + above) / 2.0);
        let knee = knee(&points, from, to).map(|log2| log2.exp2().round() as u64);
        Border { knee_bytes: knee, ..border }
    };
    borders.into_iter().enumerate().map(with).collect()
}

/// Returns where the curve crosses the geometric mean of its values at two places, if it rises between them.
fn knee(points: &[(f64, f64)], from: f64, to: f64) -> Option<f64> {
    let (low, high) = (value_at(points, from)?, value_at(points, to)?);
    if low <= 0.0 || high < low * RISE {
        return None;
    }
    let middle = (low * high).sqrt();
    let crossing = |pair: &[(f64, f64)]| {
        let [(x0, y0), (x1, y1)] = [pair[0], pair[1]];
        let crosses = y0 < middle && y1 >= middle && x1 >= from && x0 <= to && y0 > 0.0;
        crosses.then(|| x0 + (x1 - x0) * (middle / y0).ln() / (y1 / y0).ln())
    };
    points.windows(2).find_map(crossing)
}

/// Returns the value of a curve, interpolated; absent outside it.
fn value_at(points: &[(f64, f64)], x: f64) -> Option<f64> {
    let next = points.partition_point(|point| point.0 < x);
    match (next.checked_sub(1).map(|at| points[at]), points.get(next)) {
        (Some((x0, y0)), Some((x1, y1))) => Some(y0 + (y1 - y0) * (x - x0) / (x1 - x0)),
        (None, Some(&(x1, y1))) if x1 == x => Some(y1),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Points at each octave, with these values.
    fn curve(values: &[f64]) -> Vec<(f64, f64)> {
        (12..).map(f64::from).zip(values.iter().copied()).collect()
    }

    #[test]
    fn a_knee_is_where_the_curve_crosses_the_middle_of_two_levels() {
        type Case<'a> = (&'a str, &'a [f64], Option<f64>);
        let cases: [Case<'_>; 5] = [
            ("sharp", &[1.0, 1.0, 1.0, 4.0, 4.0, 4.0], Some(14.5)),
            ("early", &[1.0, 4.0, 4.0, 4.0, 4.0, 4.0], Some(12.5)),
            ("flat", &[1.0, 1.0, 1.1, 1.1, 1.2, 1.2], None),
            ("falling", &[4.0, 4.0, 4.0, 1.0, 1.0, 1.0], None),
            ("nothing", &[0.0; 6], None),
        ];
        for (name, values, expected) in cases {
            let found = knee(&curve(values), 12.0, 17.0);
            assert_eq!(found.map(|x| (x * 10.0).round() / 10.0), expected, "case: {name}");
        }
        assert_eq!(knee(&[], 12.0, 17.0), None);
        assert_eq!(knee(&curve(&[1.0, 9.0]), 12.0, 17.0), None, "the curve ends before");
    }
}
