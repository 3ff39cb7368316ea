//! Calibration of the counter: its rate, its cost, its offset between CPUs.

mod frequency;
mod skew;
pub mod wall;

use crate::cpus;
use anechoic_kernels::counter;
use anechoic_recording::{Clock, Problem, ProblemKind};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

pub use frequency::Anchor;
pub(crate) use frequency::is_invariant;

/// Number of back-to-back reads from which the cost and resolution of one read are taken.
const READS: usize = 100_000;
/// Number of rounds of reads before their cost counts: 20 ms at 10 ns per read.
const FEWEST_ROUNDS: u32 = 20;
/// Number of rounds after which it counts in any case.
const MOST_ROUNDS: u32 = 100;
/// Time after which two rounds are enough: a hypervisor may emulate each read, in microseconds.
const LONGEST: Duration = Duration::from_millis(200);
/// Relative difference of two rounds that agree.
const AGREEMENT: f64 = 0.02;
/// Number of distinct small differences that are kept.
const DELTAS: usize = 8;
/// Number of calls from which the mean cost of a clock call is taken.
const CALLS: u32 = 20_000;

/// Calibrates the counter for `cpus`, in about 100 ms plus 1 ms per CPU. The cost of a read is that of the first of
/// them, warm.
///
/// The residual covers only this short time; a run replaces it with the one over its own length
/// ([`Anchor::residual_ppm`]).
///
/// # Errors
/// Fails if the counter may stop or change its rate, unless `allow_variant`, or if nothing gives its rate.
pub fn calibrate(cpus: &[u32], allow_variant: bool) -> Result<Clock, Problem> {
    let invariant = is_invariant();
    if !invariant && !allow_variant {
        let why = "the TSC of this CPU is not invariant, so its ticks do not measure time";
        let remedy = "use --allow-variant-tsc to measure anyway";
        return Err(ProblemKind::Unavailable.problem(why, remedy));
    }
    let begin = Anchor::take();
    let cost = || {
        let bare = settled(|| read_cost(counter::now), |cost| cost.0);
        (bare, read_cost(|| counter::boundary().0).0)
    };
    let on_first = cpus.first().and_then(|&cpu| cpus::run_on(cpu, cost).ok());
    let ((read_mean_ticks, read_min_ticks, read_deltas), of_samples) =
        on_first.unwrap_or_else(cost);
    let skew = skew::against_first(cpus);
    let end = Anchor::take_after(begin, frequency::BASELINE);
    let (frequency_millihertz, frequency_source) = frequency::find(begin, end)?;
    let regression = frequency_source == frequency::REGRESSION; // the regression cannot check itself
    Ok(Clock {
        counter: counter::NAME.to_owned(),
        frequency_millihertz,
        frequency_source,
        residual_ppm: begin.residual_ppm(end, frequency_millihertz).filter(|_| !regression),
        invariant,
        read_mean_ticks,
        sample_read_mean_ticks: Some(of_samples),
        read_min_ticks,
        read_deltas,
        call_costs_ns: call_costs(),
        skew,
    })
}

/// Repeats a measurement until its core is warm: some rounds at least, and then until two in a row agree, or for the
/// most rounds or the longest time. An idle core raises its frequency only after some ten milliseconds of work.
fn settled<T>(mut round: impl FnMut() -> T, cost: impl Fn(&T) -> f64) -> T {
    let begin = Instant::now();
    let mut last = round();
    for number in 2..=MOST_ROUNDS {
        let next = round();
        let change = (cost(&next) - cost(&last)).abs() / cost(&last).max(f64::MIN_POSITIVE);
        last = next;
        if number >= FEWEST_ROUNDS && change <= AGREEMENT || begin.elapsed() > LONGEST {
            break;
        }
    }
    last
}

/// Returns the mean and the smallest difference of back-to-back reads, and the distinct small differences
/// with their counts. The mean leaves out disturbed reads (over four times the median).
fn read_cost(counter: impl Fn() -> u64) -> (f64, u64, Vec<(u64, u64)>) {
    let mut reads = vec![0_u64; READS];
    for read in &mut reads {
        *read = counter();
    }
    let mut counts = BTreeMap::new();
    for pair in reads.windows(2) {
        *counts.entry(pair[1].saturating_sub(pair[0])).or_insert(0_u64) += 1;
    }
    let mut below = 0;
    let half = READS as u64 / 2;
    let median = counts.iter().find(|&(_, &count)| {
        below += count;
        below >= half
    });
    let limit = median.map_or(u64::MAX, |(&delta, _)| 4 * delta.max(1));
    let (sum, count) = counts.range(..=limit).fold((0, 0), |(s, n), (d, c)| (s + d * c, n + c));
    let minimum = counts.keys().next().copied().unwrap_or(0);
    let deltas = counts.range(..=limit).take(DELTAS).map(|(&d, &c)| (d, c)).collect();
    (sum as f64 / count.max(1) as f64, minimum, deltas)
}

/// Returns the mean cost of the usual clock calls in nanoseconds (Kärner 2014, Table I).
fn call_costs() -> Vec<(String, f64)> {
    let mean_ns = |call: &mut dyn FnMut()| {
        let begin = Instant::now();
        (0..CALLS).for_each(|_| call());
        begin.elapsed().as_nanos() as f64 / f64::from(CALLS)
    };
    let mut clock_gettime = || {
        std::hint::black_box(rustix::time::clock_gettime(rustix::time::ClockId::Monotonic));
    };
    let mut gettimeofday = || {
        let mut now = libc::timeval { tv_sec: 0, tv_usec: 0 };
        // SAFETY: `now` is a valid timeval, and the time zone may be null.
        unsafe { libc::gettimeofday(&raw mut now, std::ptr::null_mut()) };
        std::hint::black_box(now.tv_usec);
    };
    vec![
        ("clock_gettime".to_owned(), mean_ns(&mut clock_gettime)),
        ("gettimeofday".to_owned(), mean_ns(&mut gettimeofday)),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_core_that_clocks_up_is_measured_once_it_is_warm() {
        let after = |cold: u32| {
            let mut round = 0;
            let next = || {
                round += 1;
                if round <= cold { 100.0 - f64::from(round) } else { 24.5 }
            };
            settled(next, |cost| *cost)
        };
        assert_eq!([0, 5, FEWEST_ROUNDS - 2].map(after), [24.5; 3]);
        let mut wild = 0.0;
        let never = || {
            wild += 10.0;
            wild
        };
        assert!(settled(never, |cost| *cost) <= 10.0 * f64::from(MOST_ROUNDS), "it ends");
    }

    #[test]
    fn this_machine_is_calibrated() {
        let cpus = crate::cpus::allowed();
        let clock = calibrate(&cpus, true).expect("a counter with a rate");
        println!("{clock:#?}");
        assert!(
            (100_000_000..20_000_000_000_000).contains(&clock.frequency_millihertz),
            "{clock:?}"
        );
        assert!(clock.residual_ppm.is_none_or(|ppm| ppm.abs() < 500.0), "{clock:?}");
        assert!(clock.read_mean_ticks >= clock.read_min_ticks as f64, "{clock:?}");
        // A read that waits for all earlier instructions takes no less than one that waits for none.
        let of_samples = clock.sample_read_mean_ticks.expect("measured");
        assert!(of_samples > 0.9 * clock.read_mean_ticks, "{clock:?}");
        assert_eq!(clock.skew.len(), cpus.len(), "{clock:?}");
        assert!(clock.skew.iter().all(|s| s.bound_ticks < 1_000_000), "{clock:?}");
        let counted: u64 = clock.read_deltas.iter().map(|d| d.1).sum();
        assert!(counted > READS as u64 / 2, "the small differences are the common ones: {clock:?}");
    }
}
