//! Made-up noise in seconds, and what fixed work, fixed time and a loop would see of it.

use rand::RngExt;
use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::SeedableRng;

/// The counter's step: readings are multiples of it.
const STEP_S: f64 = 10e-9;

/// An interruption: when it begins and how long it takes, in seconds.
pub type Interruption = (f64, f64);

/// A timer whose interrupts come at a fixed rate.
#[derive(Debug, Clone, Copy)]
pub struct Train {
    /// Its rate.
    pub hz: f64,
    /// Phase of the first, in cycles.
    pub phase: f64,
    /// Typical length.
    pub length_s: f64,
    /// Chance that a beat is skipped.
    pub skipped: f64,
}

impl Train {
    /// Interrupts of 15 to 30 µs, each up to 2 µs late.
    pub fn ticks(hz: f64) -> Self {
        Self { hz, phase: 0.37, length_s: 20e-6, skipped: 0.0 }
    }

    /// Its interruptions within the given seconds.
    pub fn play(&self, seconds: f64, random: &mut Pcg64Mcg) -> Vec<Interruption> {
        let beats = (seconds * self.hz - self.phase).max(0.0) as u64;
        let mut played = vec![];
        for beat in 0..beats {
            let late = 2e-6 * random.random::<f64>();
            let length = self.length_s * random.random_range(0.75..1.5);
            if random.random::<f64>() >= self.skipped {
                played.push(((beat as f64 + self.phase) / self.hz + late, length));
            }
        }
        played
    }
}

/// Returns a generator of random numbers.
pub fn random(seed: u64) -> Pcg64Mcg {
    Pcg64Mcg::seed_from_u64(seed)
}

/// Uniform in (0, 1].
pub fn unit(random: &mut Pcg64Mcg) -> f64 {
    1.0 - random.random::<f64>()
}

/// Returns a random number with this mean, exponentially distributed.
pub fn exponential(mean: f64, random: &mut Pcg64Mcg) -> f64 {
    -mean * unit(random).ln()
}

/// Pareto of index 1.5 from `least` up: a finite mean, no variance; at most 10 ms.
pub fn pareto(least: f64, random: &mut Pcg64Mcg) -> f64 {
    (least * unit(random).powf(-1.0 / 1.5)).min(10e-3)
}

/// Single interruptions at random times, with the given rate per second and heavy-tailed lengths from 1 µs up.
pub fn scattered(rate_hz: f64, seconds: f64, random: &mut Pcg64Mcg) -> Vec<Interruption> {
    let mut played = vec![];
    let mut at = exponential(1.0 / rate_hz, random);
    while at < seconds {
        played.push((at, pareto(1e-6, random)));
        at += exponential(1.0 / rate_hz, random);
    }
    played
}

/// Daemons that wake at random and make 5 to 50 interruptions within some milliseconds, of heavy
/// tail from 5 µs up. Within a burst they come in an even rhythm of the burst's own.
pub fn bursts(rate_hz: f64, seconds: f64, random: &mut Pcg64Mcg) -> Vec<Interruption> {
    let mut played = vec![];
    let mut at = exponential(1.0 / rate_hz, random);
    while at < seconds {
        let count = random.random_range(5..=50);
        let apart = random.random_range(50e-6..400e-6);
        for number in 0..count {
            let jitter = random.random_range(0.0..20e-6);
            played.push((at + f64::from(number) * apart + jitter, pareto(5e-6, random)));
        }
        at += exponential(1.0 / rate_hz, random);
    }
    played
}

/// All of them in the order in which they begin.
pub fn together(parts: &[Vec<Interruption>]) -> Vec<Interruption> {
    let mut all = parts.concat();
    all.sort_by(|a, b| a.0.total_cmp(&b.0));
    all
}

fn read(seconds: f64) -> f64 {
    (seconds / STEP_S).round() * STEP_S
}

/// Fixed work: when each repetition began, and how much longer than the work it took. What interrupts
/// pushes all boundaries that follow.
pub fn fixed_work(
    interruptions: &[Interruption],
    grain_s: f64,
    seconds: f64,
    random: &mut Pcg64Mcg,
) -> (Vec<f64>, Vec<f64>) {
    let (mut starts, mut excess) = (vec![], vec![]);
    let mut next = interruptions.iter().copied().peekable();
    let mut now = 0.0;
    while now < seconds {
        let start = now;
        // The work itself varies by some tens of nanoseconds.
        let mut end = now + grain_s + exponential(20e-9, random);
        while let Some((_, length)) = next.next_if(|&(at, _)| at < end) {
            end += length;
        }
        starts.push(read(start));
        excess.push(read(end) - read(start) - grain_s);
        now = end;
    }
    (starts, excess)
}

/// Fixed time: what is missing of the work in each window. A unit belongs to the window it ends in.
pub fn fixed_time(
    interruptions: &[Interruption],
    window_s: f64,
    unit_s: f64,
    seconds: f64,
    random: &mut Pcg64Mcg,
) -> Vec<f64> {
    let mut counts = vec![0u32; (seconds / window_s) as usize];
    let mut next = interruptions.iter().copied().peekable();
    let mut now = 0.0;
    while now < seconds {
        now += unit_s * (1.0 + 0.01 * random.random::<f64>());
        while let Some((_, length)) = next.next_if(|&(at, _)| at < now) {
            now += length;
        }
        if let Some(count) = counts.get_mut((now / window_s) as usize) {
            *count += 1;
        }
    }
    let most = counts.iter().copied().max().unwrap_or(0);
    counts.iter().map(|&count| f64::from(most - count) * unit_s).collect()
}

/// A kind of noise without any period, as values at even steps of 100 µs.
pub type Surrogate = fn(usize, &mut Pcg64Mcg) -> Vec<f64>;

/// The kinds of noise without a period that spectra are tried on.
pub const SURROGATES: [(&str, Surrogate); 5] = [
    ("blocks of a series with ticks and bursts", blocks),
    ("bursts", poisson_bursts),
    ("red noise", red),
    ("slowly modulated rate", modulated),
    ("few giants", giants),
];

/// Window of the surrogates.
pub const SURROGATE_STEP_S: f64 = 100e-6;

/// A series with ticks, bursts and giants, cut into blocks of random length that are put together in
/// random order: the bursts stay, and the beat of the ticks is lost from block to block.
pub fn blocks(count: usize, random: &mut Pcg64Mcg) -> Vec<f64> {
    let seconds = count as f64 * SURROGATE_STEP_S;
    let parts = [
        Train::ticks(250.0).play(seconds, random),
        bursts(10.0, seconds, random),
        scattered(300.0, seconds, random),
    ];
    let series = fixed_time(&together(&parts), SURROGATE_STEP_S, 2e-6, seconds, random);
    rearranged(&series, count as f64 / BLOCKS, random)
}

/// Blocks in a surrogate, on average.
const BLOCKS: f64 = 60.0;

/// Blocks of geometric length from anywhere in a series, one after the other (the stationary
/// bootstrap of Politis & Romano, 1994).
pub fn rearranged(series: &[f64], mean_length: f64, random: &mut Pcg64Mcg) -> Vec<f64> {
    let mut at = 0;
    (0..series.len())
        .map(|_| {
            at = match random.random::<f64>() < 1.0 / mean_length {
                true => random.random_range(0..series.len()),
                false => (at + 1) % series.len(),
            };
            series[at]
        })
        .collect()
}

/// Daemons that wake at random, with sizes of heavy tail.
pub fn poisson_bursts(count: usize, random: &mut Pcg64Mcg) -> Vec<f64> {
    let seconds = count as f64 * SURROGATE_STEP_S;
    let parts = [bursts(20.0, seconds, random), scattered(100.0, seconds, random)];
    fixed_time(&together(&parts), SURROGATE_STEP_S, 2e-6, seconds, random)
}

/// A random walk under white noise: a spectrum that falls with the square of the frequency.
pub fn red(count: usize, random: &mut Pcg64Mcg) -> Vec<f64> {
    let mut level = 0.0;
    let mut normal = || {
        let (u, v) = (unit(random), unit(random));
        (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos()
    };
    (0..count)
        .map(|_| {
            level = 0.9995 * level + normal();
            1e-6 * (level + 3.0 * normal())
        })
        .collect()
}

/// Single interruptions whose rate goes up and down tenfold within hundreds of milliseconds.
pub fn modulated(count: usize, random: &mut Pcg64Mcg) -> Vec<f64> {
    let seconds = count as f64 * SURROGATE_STEP_S;
    let (mut played, mut at) = (vec![], 0.0);
    while at < seconds {
        let rate = 200.0 * 10f64.powf(random.random_range(0.0..1.5));
        let end = at + exponential(0.2, random);
        while at < end {
            played.push((at, pareto(2e-6, random)));
            at += exponential(1.0 / rate, random);
        }
    }
    fixed_time(&played, SURROGATE_STEP_S, 2e-6, seconds, random)
}

/// A dozen of giants of up to 10 ms among single interruptions of some microseconds.
pub fn giants(count: usize, random: &mut Pcg64Mcg) -> Vec<f64> {
    let seconds = count as f64 * SURROGATE_STEP_S;
    let giants =
        (0..12).map(|_| (seconds * random.random::<f64>(), random.random_range(1e-3..10e-3)));
    let giants = giants.collect();
    let parts = [giants, scattered(300.0, seconds, random)];
    fixed_time(&together(&parts), SURROGATE_STEP_S, 2e-6, seconds, random)
}

/// When repetitions began that took the surrogate's step and each its excess.
pub fn starts(excess_s: &[f64]) -> Vec<f64> {
    let mut now = 0.0;
    let start = |excess: &f64| {
        let start = now;
        now += SURROGATE_STEP_S + excess.max(0.0);
        start
    };
    excess_s.iter().map(start).collect()
}
