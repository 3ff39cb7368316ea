//! Hand-made results of methods: samples as a 250 Hz guest gives them, and what is said of them.

use super::{direct, facts};
use anechoic_analyze::samples::distribution::{
    Distribution, Outliers, Quantile, QuantileIntervals,
};
use anechoic_analyze::samples::figures::{Drawn, Figures, Histogram, MOST_DRAWN, Point, TimeBin};
use anechoic_analyze::samples::fine::{Dominant, EqualRun, FineView};
use anechoic_analyze::samples::pace::{Cycles, Pace};
use anechoic_analyze::samples::steadiness::Steadiness;
use anechoic_analyze::samples::{Fixed, Measured, SeriesFacts, SeriesResult};
use anechoic_analyze::stats::Interval;
use anechoic_recording::paging::counts::{FAULTS_IN, FIRST_LEVEL, LAST_LEVEL};
use anechoic_recording::run::Ended;
use std::collections::BTreeMap;

/// The same numbers everywhere, from 0 to 1.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// What one sample is made of, in ns.
#[derive(Debug, Clone, Copy)]
pub struct Part {
    pub work: f64,
    pub direct: f64,
    pub gaps: f64,
    pub host: f64,
}

/// Samples of `grain_ns` under a 250 Hz tick of about 15 µs, jitter, and few long detours.
pub fn parts(grain_ns: f64, samples: usize, jitter_ns: f64, seed: u64) -> Vec<Part> {
    let mut random = Random(seed);
    let mut now = 0.0;
    let mut tick = 4e6 * random.next();
    let mut part = || {
        let work = grain_ns + jitter_ns * -random.next().max(1e-9).ln();
        let mut part =
            Part { work: (work / 10.0).round() * 10.0, direct: 0.0, gaps: 0.0, host: 0.0 };
        while tick < now + part.work + part.direct + part.gaps {
            part.direct += 3_500.0 + (100.0 * random.next()).round() * 10.0;
            part.gaps += 10_500.0 + (200.0 * random.next()).round() * 10.0;
            tick += 4e6;
        }
        if random.next() < 0.002 {
            part.host += (2_000.0 / random.next().max(1e-3)).round() * 10.0;
        }
        now += sum(&part);
        part
    };
    (0..samples).map(|_| part()).collect()
}

fn sum(part: &Part) -> f64 {
    part.work + part.direct + part.gaps + part.host
}

/// The times of such samples.
pub fn times(grain_ns: f64, samples: usize, jitter_ns: f64, seed: u64) -> Vec<f64> {
    parts(grain_ns, samples, jitter_ns, seed).iter().map(sum).collect()
}

/// A series without samples.
pub fn series_facts(method: &str, variant: &str, cpu: Option<u32>, grain_ns: u64) -> SeriesFacts {
    SeriesFacts {
        number: 0,
        method: method.into(),
        variant: variant.into(),
        cpu,
        policy: "other".into(),
        grain_ns,
        fixed: if method == "ftq" { Fixed::Time } else { Fixed::Work },
        iterations: 5_000,
        instructions: 512,
        calibrated_ns: grain_ns as f64 * 1.0001,
        asked: 10_000,
        samples: 0,
        lost: 0,
        missing: 0,
        wrong: 0,
        ended: Ended::Complete,
        start_ns: 0,
        wall_ns: 0,
        watched: true,
        step_ns: Some(503.2),
        step_change: None,
        counts: BTreeMap::new(),
        cpus_seen: vec![],
        migrations: 0,
    }
}

/// A series with these samples: times in ns, or units of work.
pub fn series(facts: SeriesFacts, values: &[f64]) -> SeriesResult {
    let wall: f64 = match facts.fixed {
        Fixed::Work => values.iter().sum(),
        Fixed::Time => values.len() as f64 * facts.grain_ns as f64,
    };
    let facts = SeriesFacts { samples: values.len() as u64, wall_ns: wall as u64, ..facts };
    let distribution = distribution(&facts, values);
    let steady = (values.len() >= 5).then_some(true);
    let steadiness = Steadiness { variation: 0.0012, maiv: 0.01, steady, steady_after: 57 };
    let figures = figures(&facts, values);
    SeriesResult {
        distribution: Some(distribution),
        steadiness: Some(steadiness),
        pace: None,
        fine: Some(fine(values)),
        subtraction: None,
        ticks: None,
        spectrum: None,
        figures,
        facts,
    }
}

/// The most frequent values; each has as many ticks as nanoseconds.
fn fine(values: &[f64]) -> FineView {
    let runs: Vec<EqualRun> = values
        .chunk_by(|a, b| a == b)
        .map(|run| EqualRun { raw: run[0] as u64, length: run.len() as u64 })
        .collect();
    let mut runs_by_value = BTreeMap::<u64, Vec<u64>>::new();
    let mut runs_by_length = vec![];
    for run in &runs {
        runs_by_value.entry(run.raw).or_default().push(run.length);
        let place = run.length.ilog2() as usize;
        runs_by_length.resize(runs_by_length.len().max(place + 1), 0);
        runs_by_length[place] += 1;
    }
    let distinct = Some(runs_by_value.len() as u64);
    let dominant_value = |(raw, lengths): (u64, Vec<u64>)| {
        let count: u64 = lengths.iter().sum();
        Dominant {
            raw,
            value: raw as f64,
            count,
            share: count as f64 / values.len() as f64,
            runs: Some(lengths.len() as u64),
            longest_run: lengths.into_iter().max(),
        }
    };
    let mut dominant: Vec<Dominant> = runs_by_value.into_iter().map(dominant_value).collect();
    dominant.sort_by_key(|value| std::cmp::Reverse(value.count));
    dominant.truncate(8);
    let longest = runs.iter().max_by_key(|run| run.length).copied();
    let longest_run = longest.unwrap_or(EqualRun { raw: 0, length: 0 });
    FineView { distinct, dominant, longest_run, runs_by_length }
}

pub fn pace(ns_per_instruction: f64, per_instruction: Option<f64>) -> Option<Pace> {
    let cycles =
        per_instruction.map(|per_instruction| Cycles { per_instruction, core_mhz: 3_690.0 });
    Some(Pace { ns_per_instruction, ticks_per_instruction: ns_per_instruction * 2.6, cycles })
}

fn distribution(facts: &SeriesFacts, values: &[f64]) -> Distribution {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let n = sorted.len() as f64;
    let mean = sorted.iter().sum::<f64>() / n;
    let variance = sorted.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (n - 1.0);
    let at = |share: f64| sorted[((share * n).ceil() as usize).clamp(1, sorted.len()) - 1];
    let quantile = |share: f64| Quantile {
        share,
        value: at(share),
        interval: Some(Interval { low: at(share - 0.01), high: at((share + 0.01).min(1.0)) }),
    };
    let (min, max) = (sorted[0], sorted[sorted.len() - 1]);
    let reach = 3.0 * (at(0.75) - at(0.25)).max(30.0);
    let outliers = |fence: f64, low: bool| {
        let beyond: Vec<f64> =
            sorted.iter().copied().filter(|&v| if low { v < fence } else { v > fence }).collect();
        let count = beyond.len();
        Outliers {
            fence,
            count: count as u64,
            share: count as f64 / n,
            mean: (count > 0).then(|| beyond.iter().sum::<f64>() / count as f64),
            extreme: (count > 0).then_some(if low { min } else { max }),
        }
    };
    let (low, high) = (outliers(at(0.25) - reach, true), outliers(at(0.75) + reach, false));
    let work = facts.fixed == Fixed::Work;
    Distribution {
        samples: sorted.len() as u64,
        mean,
        standard_deviation: (n > 1.0).then(|| variance.sqrt()),
        skewness: Some(31.2),
        excess_kurtosis: Some(1_210.0),
        min,
        max,
        variance_to_mean: Some(variance / mean),
        noise: (max > 0.0).then(|| if work { mean / min - 1.0 } else { 1.0 - mean / max }),
        third_decile_mean: at(0.25),
        quantiles: [0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99, 0.999].map(quantile).to_vec(),
        intervals: QuantileIntervals {
            blocks: 100,
            block_samples: sorted.len() as u64 / 100,
            fewest_blocks: 10,
            assumes: "blocks are alike".into(),
        },
        fasties: if work { low } else { high },
        slowies: if work { high } else { low },
        rounding: 0.0,
    }
}

fn figures(facts: &SeriesFacts, values: &[f64]) -> Figures {
    let chunk = values.len().div_ceil(200).max(1);
    let stretch = facts.wall_ns as f64 * chunk as f64 / values.len() as f64;
    let bin = |(number, values): (usize, &[f64])| TimeBin {
        start_ns: facts.start_ns + (number as f64 * stretch) as u64,
        count: values.len() as u64,
        min: values.iter().copied().fold(f64::MAX, f64::min),
        mean: values.iter().sum::<f64>() / values.len() as f64,
        max: values.iter().copied().fold(0.0, f64::max),
    };
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let n = sorted.len();
    let (first, last) = (sorted[0], sorted[n - 1]);
    // The main body, as far as its fences.
    let at = |share: f64| sorted[(share * (n - 1) as f64) as usize];
    let reach = 3.0 * (at(0.5) - at(0.25)).max(15.0) * 2.0;
    let low = if facts.fixed == Fixed::Work { first } else { (at(0.5) - reach).max(first) };
    let high = if facts.fixed == Fixed::Work { (at(0.5) + reach).min(last) } else { last };
    let width = ((high - low) / 200.0).max(1.0);
    let mut counts = vec![0; ((high - low) / width) as usize + 1];
    let (mut below, mut above) = (0, 0);
    for value in &sorted {
        match (value - low) / width {
            place if place < 0.0 => below += 1,
            place if place as usize >= counts.len() => above += 1,
            place => counts[place as usize] += 1,
        }
    }
    if facts.fixed == Fixed::Time {
        sorted.reverse();
    }
    let shares = (0..120).map(|step| 10f64.powf(-f64::from(step) / 119.0 * (n as f64).log10()));
    let point = |share: f64| Point {
        value: sorted[n - (share * n as f64).round().max(1.0) as usize],
        share,
    };
    Figures {
        series: values.chunks(chunk).enumerate().map(bin).collect(),
        drawn: drawn(facts, values),
        histogram: Some(Histogram { low, width, counts, below, above }),
        cdf: cdf(values),
        survival: shares.map(point).collect(),
    }
}

/// The samples at equal distances in time, of many every n-th.
fn drawn(facts: &SeriesFacts, values: &[f64]) -> Drawn {
    let step = values.len().div_ceil(MOST_DRAWN).max(1);
    let start = |at: usize| facts.start_ns + facts.wall_ns * at as u64 / values.len() as u64;
    let points = values.iter().enumerate().step_by(step).map(|(at, &value)| (start(at), value));
    Drawn { points: points.collect(), all: step == 1 }
}

fn cdf(values: &[f64]) -> Vec<Point> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let n = sorted.len();
    let mut points: Vec<Point> = vec![];
    let mut next = 0.0;
    for (at, &value) in sorted.iter().enumerate() {
        let last_of_equals = sorted.get(at + 1) != Some(&value);
        let share = (at + 1) as f64 / n as f64;
        if last_of_equals && (share >= next || at + 1 == n) {
            points.push(Point { value, share });
            // Finer towards both ends.
            next = share + (share.min(1.0 - share) / 16.0).max(1.0 / n as f64);
        }
    }
    points
}

/// A recording of these series.
pub fn measured(method: &str, mut series: Vec<SeriesResult>) -> Measured {
    for (number, series) in series.iter_mut().enumerate() {
        series.facts.number = number as u32;
    }
    let mut run = facts();
    run.method = method.into();
    run.wall_ns = series.iter().map(|s| s.facts.start_ns + s.facts.wall_ns).max().unwrap_or(0);
    run.cpus = series.iter().filter_map(|series| series.facts.cpu).collect();
    run.cpus.sort_unstable();
    run.cpus.dedup();
    Measured {
        run,
        method: method.into(),
        series,
        sources: None,
        losses: vec![],
        not_available: vec![],
    }
}

pub fn fwq() -> Measured {
    let cpu_series = |cpu, jitter, seed| {
        let counts =
            [(FIRST_LEVEL, [41_200, 1_730_000]), (LAST_LEVEL, [310, 92_400]), (FAULTS_IN, [0, 3])];
        let by_name = |(names, numbers): ([&str; 2], [u64; 2])| {
            names.map(str::to_owned).into_iter().zip(numbers)
        };
        let facts = SeriesFacts {
            counts: counts.into_iter().flat_map(by_name).collect(),
            ..series_facts("fwq", "intadd-chain", Some(cpu), 1_000_000)
        };
        let times = times(1_000_230.0, 10_000, jitter, seed);
        SeriesResult { pace: pace(0.2711, Some(1.0)), ..series(facts, &times) }
    };
    measured("fwq", vec![cpu_series(0, 120.0, 3), cpu_series(1, 150.0, 5)])
}

pub fn ftq() -> Measured {
    let windows: Vec<f64> = times(1_000_000.0, 10_000, 400.0, 9)
        .iter()
        .map(|ns| (2_013.0 - (ns - 1e6) / 496.7).max(0.0).floor())
        .collect();
    let facts = SeriesFacts {
        instructions: 0,
        step_ns: Some(496.7),
        ..series_facts("ftq", "counter-reg", Some(1), 1_000_000)
    };
    measured("ftq", vec![series(facts, &windows)])
}

pub fn tick() -> Measured {
    let kernels = [("intadd", 0.0677, 0.25), ("intmul", 0.2711, 1.0), ("intdiv", 1.89, 6.97)];
    let kernel_series = |(cpu, (variant, ns, cycles)): (u32, (&str, f64, f64))| {
        let facts = series_facts("tick", variant, Some(cpu), 100_000);
        let times = times(100_020.0, 5_000, 25.0, u64::from(cpu) + ns.to_bits());
        let ticks = direct::ticks(3_310.0, 11_420.0, 913.0, 400.0 / cycles - 60.0);
        SeriesResult { pace: pace(ns, Some(cycles)), ticks, ..series(facts, &times) }
    };
    let unpinned = SeriesFacts {
        step_change: None,
        counts: BTreeMap::new(),
        cpus_seen: vec![
            anechoic_analyze::samples::CpuSamples { cpu: 0, samples: 1_200 },
            anechoic_analyze::samples::CpuSamples { cpu: 1, samples: 3_800 },
        ],
        migrations: 7,
        ..series_facts("tick", "intadd", None, 100_000)
    };
    let mut all: Vec<SeriesResult> =
        (0..2).flat_map(|cpu| kernels.map(|k| kernel_series((cpu, k)))).collect();
    all.push(series(unpinned, &times(100_020.0, 5_000, 40.0, 77)));
    measured("tick", all)
}

pub fn loops() -> Measured {
    let variants = [("counter", 900.0), ("sum", 40.0), ("fibonacci", 60.0), ("call", 2_000.0)];
    let variant_series = |(variant, jitter): (&str, f64), policy: &str| {
        let facts = SeriesFacts {
            policy: policy.into(),
            instructions: 0,
            ..series_facts("loops", variant, Some(1), 1_000_000)
        };
        let seed = jitter as u64 * 31 + policy.len() as u64;
        let parts = parts(1_000_310.0, 20_000, jitter, seed);
        let times: Vec<f64> = parts.iter().map(sum).collect();
        let subtraction = Some(direct::subtraction(&parts));
        SeriesResult { subtraction, ..series(facts, &times) }
    };
    let other = variants.map(|variant| variant_series(variant, "other"));
    let fifo = variants.map(|variant| variant_series(variant, "fifo 1"));
    measured("loops", other.into_iter().chain(fifo).collect())
}
