//! HdrHistogram's percentile distribution, by the rule of its Java library.

use super::{DETOURS, text};

/// The levels that `PercentileIterator` of HdrHistogram's Java library goes through with five ticks per half distance.
fn levels() -> impl Iterator<Item = f64> {
    let next = |level: &f64| {
        let halvings = (1.0 / (1.0 - level)).log2().floor() + 1.0;
        Some(level + 1.0 / (5.0 * halvings.exp2()))
    };
    std::iter::successors(Some(0.0), next)
}

#[test]
fn percentiles_are_those_of_the_durations() {
    let text = text("hgrm");
    let (head, rest) = text.split_once("\n\n").expect("a head");
    assert_eq!(head, "       Value     Percentile TotalCount 1/(1-Percentile)");
    let mut sorted: Vec<f64> = DETOURS.concat().iter().map(|(_, ns)| *ns as f64 / 1e3).collect();
    sorted.sort_by(f64::total_cmp);
    let rows: Vec<Vec<f64>> = rest
        .lines()
        .take_while(|line| !line.starts_with('#'))
        .map(|line| line.split_whitespace().map(|word| word.parse().expect("a number")).collect())
        .collect();
    let (last, before) = rows.split_last().expect("rows");
    for (row, level) in before.iter().zip(levels()) {
        let reached = ((level * sorted.len() as f64).ceil() as usize).max(1);
        let expected = [sorted[reached - 1], level, reached as f64, 1.0 / (1.0 - level)];
        for (found, expected) in row.iter().zip(expected) {
            assert!((found - expected).abs() <= 1e-3 * expected + 5e-3, "{row:?} {expected}");
        }
    }
    assert_eq!((before.len(), last.len(), last[1], last[2]), (15, 3, 1.0, 6.0));
    // The same as those of the Python library, which has other levels.
    let footer = "#[Mean    =      241.138, StdDeviation   =      450.002]\n\
                  #[Max     =     1234.943, Total count    =            6]\n";
    assert!(text.contains(footer), "{text}");
}
