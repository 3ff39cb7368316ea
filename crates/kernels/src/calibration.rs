//! Calibration: how many iterations of a kernel fill a sample, and how many lie between two counter reads. The command
//! and the image without an operating system calibrate by this same code, so that their samples can be compared.

use crate::counter;
use core::hint::black_box;

/// Number of calls that the duration of one is taken from.
const CALLS: usize = 101;
/// The same while the number of iterations in a call is still sought.
const CALLS_OF_SEARCH: usize = 11;
/// Shortest duration of one call.
const CALL_NS: u64 = 50_000;
/// Largest number of iterations in a call: with more, what is calibrated does nothing.
const MOST_ITERATIONS: u64 = 1 << 40;
/// Largest relative difference of two successive trials that agree.
const AGREEMENT: f64 = 0.005;
/// Number of trials in a round. Where no two in a row agree, as on a host whose other guests change the core's speed,
/// up to [`ROUNDS`] rounds are made.
const TRIALS: usize = 20;
/// Largest relative interquartile range at which a round is accepted at once.
const ROUGH_AGREEMENT: f64 = 0.1;
/// Number of rounds after which the one with the smallest interquartile range is taken, with a doubt.
const ROUNDS: usize = 3;
/// Shortest duration of a step between two counter reads.
const STEP_NS: u64 = 500;
/// Smallest number of steps in a sample of fixed work.
const STEPS_OF_SAMPLE: u64 = 16;
/// Smallest number of steps in a window, whose count is no finer than one step.
const STEPS_OF_WINDOW: u64 = 1_000;
/// With fewer steps in a sample, the counter reads would be a large part of the work.
pub const FEWEST_STEPS: u64 = 8;
/// Number of steps that are timed together.
const STEP_GROUP: u64 = 64;
/// A step that lasts this many times as long as usual is a detour.
const THRESHOLD_STEPS: f64 = 1.5;
/// The two counter reads of a sample are at most one in this many parts of it.
const FRAME_SHARE: f64 = 10.0;
/// A sample in one call may last at most this many times as long as asked.
const LONGEST_SAMPLE: f64 = 1.5;
/// Largest number of calls from which the duration of one pass is taken; it has no grain to match.
const PASSES: usize = 21;
/// Time for these calls.
const PASSES_NS: u64 = 20_000_000;

/// The counter of the CPU that a kernel is calibrated on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Counter {
    /// Ticks per nanosecond.
    pub ticks_per_ns: f64,
    /// Mean duration of a read, in ticks.
    pub read_ticks: f64,
    /// The step in which the counter advances, in ticks.
    pub step_ticks: u64,
}

impl Counter {
    /// Converts nanoseconds to ticks.
    fn ticks(&self, ns: u64) -> f64 {
        ns as f64 * self.ticks_per_ns
    }
}

/// How much work a sample should be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Amount {
    /// Work that lasts this number of nanoseconds.
    Grain {
        /// Duration in ns; 0 for one call of a kernel that does nothing.
        ns: u64,
        /// Whether the counter is read inside a sample, so that detours in it are seen.
        watched: bool,
    },
    /// A number of iterations, with the counter read after each step.
    Iterations {
        /// Iterations in a sample.
        sample: u64,
        /// Iterations in a step.
        step: u64,
    },
    /// A unit of work for windows of this number of nanoseconds.
    Window {
        /// Length of a window in ns.
        ns: u64,
    },
    /// One call with this number of iterations: a pass over a working set.
    Pass {
        /// Iterations in a pass.
        iterations: u64,
    },
}

/// How a kernel's work fills a sample.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Pace {
    /// Iterations in a sample, or in a unit if the time is fixed.
    pub iterations: u64,
    /// Duration of these iterations without noise, counter reads included.
    pub calibrated_ticks: u64,
    /// Duration of a million iterations without noise and without counter reads; 0 for no work at all.
    pub megaiteration_ticks: u64,
    /// The work between two counter reads, if detours inside samples are recorded.
    pub step: Option<Step>,
}

/// The work between two counter reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Step {
    /// Iterations in a step.
    pub iterations: u64,
    /// Duration of a step without noise.
    pub ticks: u64,
    /// A longer step is a detour.
    pub threshold_ticks: u64,
    /// Steps in a sample of fixed work.
    pub in_sample: u64,
}

/// The grain or window is too short to measure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooShort {
    /// The shortest one that can be measured, in nanoseconds.
    pub least_ns: u64,
}

/// How the iterations of a call are found from which the duration of one iteration is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Calls {
    /// As many iterations as last 50 us.
    Long,
    /// A million, as for the do-nothing loops of Tsafrir (2007).
    Million,
}

/// Calibrates kernels on the CPU that this runs on, and remembers how far the trials disagreed.
#[derive(Debug)]
pub struct Calibration {
    counter: Counter,
    doubt: f64,
}

impl Calibration {
    /// Calibrates with this counter.
    #[must_use]
    pub fn new(counter: Counter) -> Self {
        Calibration { counter, doubt: 0.0 }
    }

    /// Returns the interquartile range of the trials as a share of their median, the largest of all calibrations since
    /// the last call; 0 where two trials in a row agreed.
    pub fn take_doubt(&mut self) -> f64 {
        core::mem::take(&mut self.doubt)
    }

    /// Returns how a kernel's work fills a sample.
    ///
    /// # Errors
    /// The grain or window is too short to measure.
    pub fn pace(
        &mut self,
        body: &mut impl FnMut(u64) -> u64,
        calls: Calls,
        amount: Amount,
    ) -> Result<Pace, TooShort> {
        let (ns, steps) = match amount {
            Amount::Pass { iterations } => return Ok(self.pass(body, iterations)),
            Amount::Grain { ns, .. } => (ns, STEPS_OF_SAMPLE),
            Amount::Window { ns } => (ns, STEPS_OF_WINDOW),
            Amount::Iterations { sample, step } => {
                let iteration = self.iteration(body, calls);
                let ticks = self.step(body, step);
                return Ok(self.in_steps(iteration, (step, ticks), sample / step));
            }
        };
        let grain = self.counter.ticks(ns);
        let frame = 2.0 * self.counter.read_ticks * FRAME_SHARE;
        if grain < frame {
            return Err(self.too_short(frame));
        }
        let iteration = self.iteration(body, calls);
        let most_steps = rounded(grain / iteration);
        if most_steps < FEWEST_STEPS && matches!(amount, Amount::Grain { .. }) {
            return self.in_one_call(grain, iteration); // timing such steps would take long
        }
        let step_ns = STEP_NS.min(ns / steps);
        let iterations = rounded(self.counter.ticks(step_ns) / iteration).max(1);
        let step = self.step(body, iterations);
        let in_sample = rounded(grain / step);
        match amount {
            Amount::Window { .. } if in_sample < FEWEST_STEPS => {
                Err(self.too_short(step * FEWEST_STEPS as f64))
            }
            Amount::Window { .. } => Ok(self.in_steps(iteration, (iterations, step), 1)),
            Amount::Grain { watched: true, .. } if in_sample >= FEWEST_STEPS => {
                Ok(self.in_steps(iteration, (iterations, step), in_sample))
            }
            _ => self.in_one_call(grain, iteration),
        }
    }

    /// Returns the pace of the kernel that does nothing, with one call in a sample or unit. The call is a step where
    /// detours in it are needed: those of windows, and of ranks that only meet.
    pub fn null_pace(&mut self, body: &mut impl FnMut(u64) -> u64, amount: Amount) -> Pace {
        if let Amount::Pass { iterations } = amount {
            return self.pass(body, iterations);
        }
        let ticks = self.step(body, 1);
        let is_step =
            matches!(amount, Amount::Window { .. } | Amount::Grain { ns: 0, watched: true });
        let step = is_step.then(|| self.watched(1, ticks, 1));
        Pace { iterations: 1, calibrated_ticks: rounded(ticks), megaiteration_ticks: 0, step }
    }

    /// Returns how many ticks a million core cycles take. An addition that depends on the one before takes one cycle on
    /// every core that we know; `chain` is a kernel with this many of them in an iteration.
    pub fn megacycle(&mut self, chain: &mut impl FnMut(u64) -> u64, instructions: u32) -> u64 {
        rounded(self.iteration(chain, Calls::Long) * 1e6 / f64::from(instructions))
    }

    /// Returns the pace of one pass per sample, in one call.
    fn pass(&mut self, body: &mut impl FnMut(u64) -> u64, iterations: u64) -> Pace {
        let first = call(body, iterations).max(1);
        let passes = (rounded(self.counter.ticks(PASSES_NS)) / first).clamp(1, PASSES as u64);
        let ticks = third_decile(passes as usize, || call(body, iterations));
        Pace {
            iterations,
            calibrated_ticks: rounded(ticks),
            megaiteration_ticks: rounded(ticks * 1e6 / iterations as f64),
            step: None,
        }
    }

    /// Returns the pace of samples of this many steps, each of which has its iterations and its duration.
    fn in_steps(&self, iteration: f64, (iterations, ticks): (u64, f64), in_sample: u64) -> Pace {
        Pace {
            iterations: iterations * in_sample,
            calibrated_ticks: rounded(ticks * in_sample as f64),
            megaiteration_ticks: rounded(iteration * 1e6),
            step: Some(self.watched(iterations, ticks, in_sample)),
        }
    }

    fn watched(&self, iterations: u64, ticks: f64, in_sample: u64) -> Step {
        let slack = 2 * self.counter.step_ticks; // for the two counter reads
        let threshold_ticks = rounded(ticks * THRESHOLD_STEPS) + slack;
        Step { iterations, ticks: rounded(ticks), threshold_ticks, in_sample }
    }

    /// Returns the pace of a sample in one call.
    fn in_one_call(&self, grain: f64, iteration: f64) -> Result<Pace, TooShort> {
        let iterations = rounded(grain / iteration).max(1);
        let ticks = iteration * iterations as f64;
        if ticks > LONGEST_SAMPLE * grain {
            return Err(self.too_short(iteration));
        }
        Ok(Pace {
            iterations,
            calibrated_ticks: rounded(ticks),
            megaiteration_ticks: rounded(iteration * 1e6),
            step: None,
        })
    }

    /// Returns the ticks of one iteration.
    fn iteration(&mut self, body: &mut impl FnMut(u64) -> u64, calls: Calls) -> f64 {
        let mut iterations = 1_000_000;
        if calls == Calls::Long {
            iterations = 1;
            let least = self.counter.ticks(CALL_NS);
            while iterations < MOST_ITERATIONS
                && third_decile(CALLS_OF_SEARCH, || call(body, iterations)) < least
            {
                iterations *= 2;
            }
        }
        self.agreed(|| third_decile(CALLS, || call(body, iterations))) / iterations as f64
    }

    /// Returns the ticks of a step of that many iterations, including the counter read that ends it.
    fn step(&mut self, body: &mut impl FnMut(u64) -> u64, iterations: u64) -> f64 {
        self.agreed(|| third_decile(CALLS, || group(body, iterations))) / STEP_GROUP as f64
    }

    /// Measures until two trials in a row agree. Where none do, the result is the median of the round with the smallest
    /// interquartile range, which is remembered as the doubt.
    fn agreed(&mut self, mut measure: impl FnMut() -> f64) -> f64 {
        let (mut range, mut median) = (f64::INFINITY, 0.0);
        for _ in 0..ROUNDS {
            let mut trials = [measure(); TRIALS];
            for at in 1..TRIALS {
                let (last, next) = (trials[at - 1], measure());
                if (next - last).abs() / last.min(next).max(1.0) <= AGREEMENT {
                    return (last + next) / 2.0;
                }
                trials[at] = next;
            }
            trials.sort_unstable_by(f64::total_cmp);
            let quartile = |number: usize| trials[number * TRIALS / 4];
            let found = (quartile(3) - quartile(1)) / quartile(2).max(1.0);
            if found < range {
                (range, median) = (found, quartile(2));
            }
            if found <= ROUGH_AGREEMENT {
                break;
            }
        }
        self.doubt = self.doubt.max(range);
        median
    }

    fn too_short(&self, least_ticks: f64) -> TooShort {
        TooShort { least_ns: (least_ticks / self.counter.ticks_per_ns) as u64 + 1 }
    }
}

/// Returns the ticks of one call.
fn call(body: &mut impl FnMut(u64) -> u64, iterations: u64) -> u64 {
    let begin = counter::boundary().0;
    black_box(body(iterations));
    counter::boundary().0.saturating_sub(begin)
}

/// Returns the ticks of a group of steps.
fn group(body: &mut impl FnMut(u64) -> u64, iterations: u64) -> u64 {
    let begin = counter::boundary().0;
    let mut end = begin;
    for _ in 0..STEP_GROUP {
        black_box(body(iterations));
        end = counter::boundary().0;
    }
    end.saturating_sub(begin)
}

/// Returns the duration of an undisturbed measurement in ticks: the mean between the 20th and the 30th percentile of up
/// to 101 (Tsafrir 2007). Shorter ones are flukes, longer ones are disturbed.
fn third_decile(calls: usize, mut measure: impl FnMut() -> u64) -> f64 {
    let mut ticks = [0; CALLS];
    let ticks = &mut ticks[..calls];
    ticks.iter_mut().for_each(|one| *one = measure());
    ticks.sort_unstable();
    let at = |tenths: usize| tenths * calls / 10;
    let middle = &ticks[at(2)..at(3).max(at(2) + 1)];
    middle.iter().sum::<u64>() as f64 / middle.len() as f64
}

/// Rounds a number that is not negative to the nearest whole one.
fn rounded(value: f64) -> u64 {
    (value + 0.5) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    extern crate std;

    fn calibration() -> Calibration {
        Calibration::new(Counter { ticks_per_ns: 2.0, read_ticks: 20.0, step_ticks: 2 })
    }

    #[test]
    fn the_third_decile_is_a_mean_of_ten_percent() {
        let mut values = (0..100_u64).rev();
        assert_eq!(third_decile(100, || values.next().expect("100")), 24.5);
        let few = |calls| {
            let mut values = (0..calls as u64).rev();
            third_decile(calls, || values.next().expect("as many"))
        };
        // Of few there is one, and it is not the shortest where there is a choice.
        assert_eq!([1, 2, 3, 4, 5, 10, 11].map(few), [0.0, 0.0, 0.0, 0.0, 1.0, 2.0, 2.0]);
    }

    #[test]
    fn a_core_whose_speed_changes_is_calibrated_with_a_doubt() {
        let mut on = calibration();
        let trials = core::cell::Cell::new(0);
        let next = || trials.replace(trials.get() + 1);
        // Every other trial takes longer: by half in the first round, by an eighth from then on.
        let slowed = |trial| if trial < TRIALS { 150.0 } else { 112.5 };
        let wild = |trial: usize| if trial.is_multiple_of(2) { 100.0 } else { slowed(trial) };
        assert_eq!(on.agreed(|| wild(next())), 112.5);
        assert_eq!(trials.get(), ROUNDS * TRIALS);
        let doubt = on.take_doubt();
        assert!((doubt - 12.5 / 112.5).abs() < 1e-9, "{doubt}");
        trials.set(0);
        let rough = |trial: usize| if trial.is_multiple_of(2) { 100.0 } else { 102.0 };
        assert_eq!(on.agreed(|| rough(next())), 102.0);
        assert_eq!(trials.get(), TRIALS);
        let doubt = on.take_doubt();
        assert!((doubt - 0.02).abs() < 0.001, "{doubt}");
        trials.set(0);
        let settles = |trial: usize| if trial < 5 { trial as f64 } else { 100.0 };
        assert_eq!((on.agreed(|| settles(next())), on.take_doubt()), (100.0, 0.0));
    }

    #[test]
    fn a_grain_shorter_than_the_reads_is_refused_with_the_least() {
        let mut on = calibration();
        let amount = Amount::Grain { ns: 199, watched: true };
        // Two reads of 20 ticks are a tenth of 400 ticks, which are 200 ns.
        let refused = on.pace(&mut |iterations| iterations, Calls::Long, amount);
        assert_eq!(refused, Err(TooShort { least_ns: 201 }));
    }

    #[test]
    fn one_call_lasts_at_most_half_as_long_again_as_asked() {
        let on = calibration();
        let pace = |iteration| on.in_one_call(1_000.0, iteration).map(|pace| pace.iterations);
        assert_eq!(pace(10.0), Ok(100));
        assert_eq!(pace(1_500.0), Ok(1));
        assert_eq!(pace(1_501.0), Err(TooShort { least_ns: 751 }));
    }

    #[test]
    fn a_call_that_does_nothing_is_a_step_where_detours_are_needed() {
        let mut on = calibration();
        let mut is_step =
            |amount| on.null_pace(&mut |iterations| iterations, amount).step.is_some();
        assert!(is_step(Amount::Window { ns: 1_000_000 }));
        assert!(is_step(Amount::Grain { ns: 0, watched: true }));
        assert!(!is_step(Amount::Grain { ns: 0, watched: false }));
        assert!(!is_step(Amount::Grain { ns: 1_000_000, watched: true }));
        assert!(!is_step(Amount::Pass { iterations: 1 }));
    }
}
