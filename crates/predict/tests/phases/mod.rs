//! Made-up timelines, and means with their errors.

pub mod recording;

use anechoic_predict::phases::{Span, Timeline};
use rand::RngExt;
use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::SeedableRng;

pub const SECOND: u64 = 1_000_000_000;
pub const MS: u64 = 1_000_000;
pub const MICRO: u64 = 1_000;

pub fn spans(pairs: impl IntoIterator<Item = (u64, u64)>) -> Vec<Span> {
    pairs.into_iter().map(|(start_ns, end_ns)| Span { start_ns, end_ns }).collect()
}

/// One detour of 1 ms in 10 s.
pub fn alone() -> Timeline {
    Timeline::new(10 * SECOND, spans([(3 * SECOND, 3 * SECOND + MS)]))
}

/// Ticks of 10 to 30 µs, 250 a second; short detours at random; a daemon of 1 to 5 ms about every second.
pub fn busy(seconds: u64) -> Timeline {
    let mut random = Pcg64Mcg::seed_from_u64(1);
    let mut detours = vec![];
    for tick in 0..seconds * 250 {
        let start = tick * 4 * MS;
        detours.push((start, start + random.random_range(10 * MICRO..30 * MICRO)));
        if random.random_bool(0.3) {
            let start = start + random.random_range(40 * MICRO..3 * MS);
            detours.push((start, start + random.random_range(200..3_000)));
        }
        if random.random_bool(0.004) {
            let start = start + random.random_range(40 * MICRO..3 * MS);
            detours.push((start, start + random.random_range(MS..5 * MS)));
        }
    }
    Timeline::new(seconds * SECOND, spans(detours))
}

/// Mean, and its standard error.
pub fn mean_and_error(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let values: Vec<f64> = values.collect();
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (mean, (squares / (count - 1.0) / count).sqrt())
}
