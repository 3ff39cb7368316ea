//! The test of Mann and Whitney (1947), exact.

/// More runs on a side than this are not enumerated.
const MOST: usize = 60;

/// Returns the probability that ranks differ at least as much, up or down, if nothing changed; absent for many runs.
pub(super) fn mann_whitney(sides: &[Vec<f64>; 2]) -> Option<f64> {
    let [before, after] = sides;
    if before.len().max(after.len()) > MOST {
        return None;
    }
    // A win counts two, a tie one, so that all sums are whole.
    let wins = |a: f64| before.iter().map(move |b| if a > *b { 2 } else { usize::from(a == *b) });
    let found: usize = after.iter().flat_map(|a| wins(*a)).sum();
    let most = 2 * before.len() * after.len();
    let least = found.min(most - found) / 2;
    let ways = ways(before.len(), after.len());
    let all: f64 = ways.iter().sum();
    Some((2.0 * ways[..=least].iter().sum::<f64>() / all).min(1.0))
}

/// Returns the number of orders of `n` and `m` values that have each number of wins of the second over the first.
fn ways(n: usize, m: usize) -> Vec<f64> {
    // Gauss's binomial coefficient: the product of (1 - x^(m+i)) / (1 - x^i) for i from 1 to n.
    let mut ways = vec![0.0; n * m + 1];
    ways[0] = 1.0;
    for i in 1..=n {
        for at in (m + i..ways.len()).rev() {
            ways[at] -= ways[at - m - i];
        }
        for at in i..ways.len() {
            ways[at] += ways[at - i];
        }
    }
    ways
}
