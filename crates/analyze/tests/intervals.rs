//! Intervals of noise cover the truth as often as they state, or are not given.

use anechoic_analyze::blocks::bounds;
use rand::RngExt;
use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::SeedableRng;

/// Length of a simulated run, in ms.
const RUN_MS: usize = 10_000;
/// Number of parts of the run, of 10 ms.
const PARTS: usize = 1_000;
/// Length of a part in ticks; all times below are in ms.
const PART_TICKS: u64 = 1_000_000_000;
const RUNS: usize = 500;

/// Lost time of the parts of a run.
struct Lost {
    random: Pcg64Mcg,
    parts: Vec<f64>,
}

impl Lost {
    fn uniform(&mut self) -> f64 {
        self.random.random_range(f64::EPSILON..1.0)
    }

    fn exponential(&mut self) -> f64 {
        -self.uniform().ln()
    }

    fn normal(&mut self) -> f64 {
        let turn = 2.0 * std::f64::consts::PI * self.uniform();
        (2.0 * self.exponential()).sqrt() * turn.cos()
    }

    /// Adds detours at a rate per ms from one time to another, each of a random length with the mean 1.
    fn detours(&mut self, rate: f64, from: f64, to: f64, length: impl Fn(&mut Self) -> f64) {
        let mut at = from + self.exponential() / rate;
        while at < to.min(RUN_MS as f64) {
            let length = length(self);
            self.parts[at as usize * PARTS / RUN_MS] += length;
            at += self.exponential() / rate;
        }
    }

    /// Bursts of exponential length, in which there are two detours a ms.
    fn bursts(&mut self, per_s: f64, length_ms: f64) {
        let mut at = self.exponential() / per_s * 1e3;
        while at < RUN_MS as f64 {
            let length = self.exponential() * length_ms;
            self.detours(2.0, at, at + length, Self::exponential);
            at += self.exponential() / per_s * 1e3;
        }
    }

    /// Detours whose rate wanders with this time constant; the mean rate is 0.25 a ms.
    fn wandering(&mut self, constant_ms: f64, deviation: f64) {
        let keeps = (-1.0 / constant_ms).exp();
        let mut state = self.normal();
        for ms in 0..RUN_MS {
            state = keeps * state + (1.0 - keeps * keeps).sqrt() * self.normal();
            let rate = 0.25 * (deviation * state - deviation * deviation / 2.0).exp();
            self.detours(rate, ms as f64, ms as f64 + 1.0, Self::exponential);
        }
    }

    /// Blocks of 200 ms, as the method forms them, whose lost time is correlated with that of the one before.
    fn correlated(&mut self, correlation: f64) {
        let mut state = self.normal();
        for part in 0..PARTS {
            if part % 20 == 0 {
                let rest = (1.0 - correlation * correlation).sqrt();
                state = correlation * state + rest * self.normal();
            }
            self.parts[part] += (1.0 + 0.2 * state) * (1.0 + 0.3 * self.normal()).max(0.0);
        }
    }

    /// Detours whose rate is half as high again as its mean or half as high, for a random time of this mean.
    fn levels(&mut self, mean_ms: f64) {
        let (mut at, mut high) = (0.0, self.uniform() < 0.5);
        while at < RUN_MS as f64 {
            let end = at + self.exponential() * mean_ms;
            self.detours(if high { 0.375 } else { 0.125 }, at, end, Self::exponential);
            (at, high) = (end, !high);
        }
    }

    /// Ticks of one length, `every_ms`, beside two kinds of other detours: rates per ms and lengths.
    fn mixture(&mut self, (every_ms, tick): (f64, f64), others: [(f64, f64); 2]) {
        let mut at = self.uniform() * every_ms;
        while at < RUN_MS as f64 {
            self.parts[at as usize * PARTS / RUN_MS] += tick;
            at += every_ms;
        }
        for (rate, length) in others {
            self.detours(rate, 0.0, RUN_MS as f64, |_| length);
        }
    }

    /// Detours of Pareto lengths: P(longer than x) falls as x^-shape.
    fn heavy(&mut self, per_ms: f64, shape: f64) {
        let length = |lost: &mut Self| lost.uniform().powf(-1.0 / shape) * (shape - 1.0) / shape;
        self.detours(per_ms, 0.0, RUN_MS as f64, length);
    }
}

/// The share of runs that got an interval, the share of these that enclose the truth, and the shares of all runs whose
/// lower bound exceeds the truth and whose interval lies below it.
fn simulate(truth_ms: f64, seed: u64, fill: impl Fn(&mut Lost)) -> [f64; 4] {
    let truth = truth_ms / RUN_MS as f64;
    let [mut given, mut covered, mut above, mut below] = [0.0; 4];
    for run in 0..RUNS as u64 {
        let random = Pcg64Mcg::seed_from_u64(seed * 1_000_000 + run);
        let mut lost = Lost { random, parts: vec![0.0; PARTS] };
        fill(&mut lost);
        // A detour of the mean length takes 0.01 ms.
        let ticks = |ms: &f64| (ms * 0.01 * PART_TICKS as f64 / 10.0) as u64;
        let parts: Vec<u64> = lost.parts.iter().map(ticks).collect();
        let found = bounds(&[&parts], PART_TICKS);
        let least = found.at_least.expect("a lower bound");
        above += f64::from(u8::from(least > truth));
        if let Some(interval) = found.interval {
            given += 1.0;
            covered += f64::from(u8::from(interval.low <= truth && truth <= interval.high));
            below += f64::from(u8::from(interval.high < truth));
        }
    }
    let runs = RUNS as f64;
    [given / runs, covered / f64::max(given, 1.0), above / runs, below / runs]
}

#[test]
fn intervals_cover_the_truth_or_are_not_given() {
    type Fill = Box<dyn Fn(&mut Lost)>;
    // Name, lost time in all, smallest coverage if most runs have an interval; else few may have one.
    let cases: [(&str, f64, Option<f64>, Fill); 22] = [
        (
            "independent",
            500.0,
            Some(0.92),
            Box::new(|lost| lost.detours(0.05, 0.0, 1e4, Lost::exponential)),
        ),
        (
            "many",
            5_000.0,
            Some(0.92),
            Box::new(|lost| lost.detours(0.5, 0.0, 1e4, Lost::exponential)),
        ),
        ("correlated 0.3", 1_000.0, Some(0.92), Box::new(|lost| lost.correlated(0.3))),
        ("correlated 0.6", 1_000.0, Some(0.92), Box::new(|lost| lost.correlated(0.6))),
        ("correlated 0.75", 1_000.0, Some(0.9), Box::new(|lost| lost.correlated(0.75))),
        ("correlated 0.85", 1_000.0, Some(0.86), Box::new(|lost| lost.correlated(0.85))),
        ("wandering for 50 ms", 2_500.0, Some(0.92), Box::new(|lost| lost.wandering(50.0, 0.5))),
        ("wandering for 150 ms", 2_500.0, Some(0.92), Box::new(|lost| lost.wandering(150.0, 0.5))),
        (
            "levels for a fifteenth of the run",
            2_500.0,
            Some(0.94),
            Box::new(|lost| lost.levels(667.0)),
        ),
        ("levels for a twelfth", 2_500.0, Some(0.92), Box::new(|lost| lost.levels(833.0))),
        ("levels for an eighth", 2_500.0, Some(0.86), Box::new(|lost| lost.levels(1_250.0))),
        ("short bursts", 5_000.0, Some(0.92), Box::new(|lost| lost.bursts(5.0, 50.0))),
        ("long bursts", 8_000.0, Some(0.92), Box::new(|lost| lost.bursts(2.0, 200.0))),
        ("a light tail", 500.0, Some(0.92), Box::new(|lost| lost.heavy(0.05, 3.0))),
        (
            "ticks, a hundred of 0.65 ms, three of 2.6 ms",
            13_530.0,
            Some(0.92),
            Box::new(|lost| lost.mixture((8.0, 5.0), [(0.01, 65.0), (0.0003, 260.0)])),
        ),
        (
            "ticks, 200 of 0.05 ms, ten of 5 ms",
            7_250.0,
            Some(0.92),
            Box::new(|lost| lost.mixture((4.0, 0.5), [(0.02, 5.0), (0.001, 500.0)])),
        ),
        ("a heavy tail, 1.5", 2_500.0, Some(0.94), Box::new(|lost| lost.heavy(0.25, 1.5))),
        ("a heavy tail, 1.3", 2_500.0, None, Box::new(|lost| lost.heavy(0.25, 1.3))),
        ("a heavy tail, 1.2", 2_500.0, None, Box::new(|lost| lost.heavy(0.25, 1.2))),
        ("a heavy tail, 1.1", 2_500.0, None, Box::new(|lost| lost.heavy(0.25, 1.1))),
        ("a heavy tail, 1.05", 2_500.0, None, Box::new(|lost| lost.heavy(0.25, 1.05))),
        ("few detours", 100.0, None, Box::new(|lost| lost.heavy(0.01, 1.2))),
    ];
    for (seed, (name, truth_ms, covers, fill)) in cases.into_iter().enumerate() {
        let [given, covered, above, below] = simulate(truth_ms * 0.01, seed as u64, fill);
        println!(
            "{name}: {given:.3} given, {covered:.3} of these cover; of all {above:.3} above, {below:.3} below"
        );
        // The lower bound is as sure as the interval: half of what that misses, and some chance.
        let most = covers.map_or(0.045, |least| 0.7 * (1.0 - least));
        assert!(above <= most, "case: {name}: the lower bound of {above} is too high");
        if let Some(least) = covers {
            assert!((least..=0.99).contains(&covered), "case: {name}: covers {covered}");
            assert!(given > 0.35, "case: {name}: {given} have an interval");
        } else {
            assert!(given < 0.3, "case: {name}: {given} have an interval");
            assert!(below < 0.14, "case: {name}: the upper bound of {below} is too low");
        }
    }
}
