//! Calibration: how many iterations of a kernel fill a sample, and how many lie between two counter reads.

use crate::experiment::Amount;
use crate::kernel::{AnyBody, Body, Kernel, Memory};
use anechoic_kernels::counter;
use anechoic_recording::{Clock, Problem, ProblemKind};
use std::cell::Cell;
use std::hint::black_box;

/// The duration of an undisturbed call is the mean of the samples in this quantile range (Tsafrir 2007):
/// shorter ones are flukes, longer ones are disturbed.
const THIRD_DECILE: std::ops::Range<f64> = 0.2..0.3;
/// Number of calls that this mean is taken from.
const CALLS: usize = 101;
/// Iterations of one call when a do-nothing loop is calibrated (Tsafrir 2007).
const DO_NOTHING_ITERATIONS: u64 = 1_000_000;
/// Shortest duration of one call when another kernel is calibrated.
const CALL_NS: u64 = 50_000;
/// Largest relative difference of two successive trials that agree.
const AGREEMENT: f64 = 0.005;
/// Number of trials in a round. Where no two in a row agree, as on a host whose other guests change the
/// core's speed, up to [`ROUNDS`] rounds are made.
const TRIALS_OF_ROUND: usize = 20;
/// Largest relative interquartile range at which a round is accepted at once.
const ROUGH_AGREEMENT: f64 = 0.1;
/// Number of rounds after which the one with the smallest interquartile range is taken, with a note.
const ROUNDS: usize = 3;
/// Shortest duration of a step between two counter reads.
const STEP_NS: u64 = 500;
/// Smallest number of steps in a sample of fixed work.
const STEPS_OF_SAMPLE: u64 = 16;
/// Smallest number of steps in a window, whose count is no finer than one step.
const STEPS_OF_WINDOW: u64 = 1_000;
/// With fewer steps in a sample, the counter reads would be a large part of the work.
pub(crate) const FEWEST_STEPS: u64 = 8;
/// Number of steps that are timed together.
const STEP_GROUP: u64 = 64;
/// A step that lasts this many times as long as usual is a detour.
const THRESHOLD_STEPS: f64 = 1.5;
/// The overhead of the measurement is at most one in this many parts of a sample.
const FRAME_SHARE: u64 = 10;

/// Largest number of calls from which the duration of one pass is taken; it has no grain to match.
const PASSES: usize = 21;
/// Time for these calls.
const PASSES_NS: u64 = 20_000_000;

/// What a sample should be.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct PaceRequest {
    pub(crate) amount: Amount,
    /// Whether to read the counter inside a sample of fixed work.
    pub(crate) watched: bool,
}

/// How a kernel's work fills a sample.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Pace {
    /// Number of iterations in a sample, or in a unit if the time is fixed.
    pub(crate) iterations: u64,
    /// Duration of these iterations without noise, counter reads included.
    pub(crate) calibrated_ticks: u64,
    /// Duration of a million iterations without noise and without counter reads; 0 for no work at all.
    pub(crate) megaiteration_ticks: u64,
    pub(crate) step: Option<Step>,
}

/// The work between two counter reads.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Step {
    pub(crate) iterations: u64,
    pub(crate) ticks: u64,
    pub(crate) threshold_ticks: u64,
    /// Number of steps in a sample of fixed work.
    pub(crate) in_sample: u64,
}

/// The interquartile range of a calibration's trials, as a share of their median; 0 where two in a row
/// agreed. It is the largest one of a kernel's calibrations.
pub(crate) type Doubt = f64;

/// Calibrates a kernel on the CPU that the calling thread is pinned to, in memory that is large enough for it.
///
/// # Errors
/// Fails if the grain is too short to measure.
pub(crate) fn calibrate(
    kernel: Kernel,
    wanted: PaceRequest,
    clock: &Clock,
    memory: &mut Memory,
) -> Result<(Pace, Doubt), Problem> {
    let on = Calibration { kernel, clock, doubt: Cell::new(0.0) };
    let pace = match AnyBody::prepare(kernel, memory) {
        AnyBody::Plain(mut body) => on.pace(&mut body, wanted),
        AnyBody::Memory(mut body) => on.pace(&mut body, wanted),
    };
    Ok((pace?, on.doubt.get()))
}

/// Measures how many ticks a million core cycles take on the CPU that the calling thread is pinned to. An
/// addition that depends on the one before takes one cycle on every core that we know.
pub(crate) fn megacycle(chain: Kernel, clock: &Clock, memory: &mut Memory) -> (u64, Doubt) {
    let on = Calibration { kernel: chain, clock, doubt: Cell::new(0.0) };
    let iteration = match AnyBody::prepare(chain, memory) {
        AnyBody::Plain(mut body) => on.iteration(&mut body),
        AnyBody::Memory(mut body) => on.iteration(&mut body),
    };
    let cycle = iteration / f64::from(chain.instructions());
    ((cycle * 1e6).round() as u64, on.doubt.get())
}

/// The calibration of one kernel on one CPU.
struct Calibration<'a> {
    kernel: Kernel,
    clock: &'a Clock,
    doubt: Cell<Doubt>,
}

impl Calibration<'_> {
    /// Computes how the work fills a sample.
    fn pace(&self, body: &mut impl Body, wanted: PaceRequest) -> Result<Pace, Problem> {
        let (length, steps) = match wanted.amount {
            Amount::Pass => return Ok(self.pass(body)),
            Amount::Grain(length) => (length, STEPS_OF_SAMPLE),
            Amount::Window(length) => (length, STEPS_OF_WINDOW),
        };
        if self.kernel.is_null() {
            return Ok(self.null(body, wanted));
        }
        let grain_ns = u64::try_from(length.as_nanos()).unwrap_or(u64::MAX);
        let grain = self.clock.ticks(grain_ns) as f64;
        let frame = 2.0 * self.clock.read_mean_ticks * FRAME_SHARE as f64;
        if grain < frame {
            return Err(self.too_short(grain_ns, frame));
        }
        let iteration = self.iteration(body);
        let step_ns = STEP_NS.min(grain_ns / steps);
        let iterations = (self.clock.ticks(step_ns) as f64 / iteration).round().max(1.0) as u64;
        let step_ticks = self.step(body, iterations);
        let in_sample = (grain / step_ticks).round() as u64;
        let megaiteration_ticks = (iteration * 1e6).round() as u64;
        match wanted.amount {
            Amount::Window(_) if in_sample < FEWEST_STEPS => {
                Err(self.too_short(grain_ns, step_ticks * FEWEST_STEPS as f64))
            }
            Amount::Window(_) => {
                let step = self.watched(iterations, step_ticks, 1);
                let (calibrated_ticks, step) = (step.ticks, Some(step));
                Ok(Pace { iterations, calibrated_ticks, megaiteration_ticks, step })
            }
            _ if !wanted.watched || in_sample < FEWEST_STEPS => {
                self.whole(grain_ns, grain, iteration)
            }
            _ => Ok(Pace {
                iterations: iterations * in_sample,
                calibrated_ticks: (step_ticks * in_sample as f64).round() as u64,
                megaiteration_ticks,
                step: Some(self.watched(iterations, step_ticks, in_sample)),
            }),
        }
    }

    /// Returns the pace of the null kernel, with one call per sample or unit and nothing to calibrate. Its call is a step
    /// where detours in it are needed: those of ranks that only meet.
    fn null(&self, body: &mut impl Body, wanted: PaceRequest) -> Pace {
        let (iterations, ticks) = (1, self.step(body, 1));
        let counted = match wanted.amount {
            Amount::Window(_) => true,
            Amount::Grain(grain) => wanted.watched && grain.is_zero(),
            Amount::Pass => false,
        };
        let step = counted.then(|| self.watched(iterations, ticks, 1));
        let calibrated_ticks = ticks.round() as u64;
        Pace { iterations, calibrated_ticks, megaiteration_ticks: 0, step }
    }

    /// Returns the pace of one pass per sample, in one call.
    fn pass(&self, body: &mut impl Body) -> Pace {
        let iterations = self.kernel.pass();
        let first = self.call(body, iterations).max(1);
        let passes = (self.clock.ticks(PASSES_NS) / first).clamp(1, PASSES as u64) as usize;
        let ticks = third_decile(passes, || self.call(body, iterations));
        Pace {
            iterations,
            calibrated_ticks: ticks.round() as u64,
            megaiteration_ticks: (ticks * 1e6 / iterations as f64).round() as u64,
            step: None,
        }
    }

    /// Returns the ticks of one iteration.
    fn iteration(&self, body: &mut impl Body) -> f64 {
        let mut iterations = DO_NOTHING_ITERATIONS;
        if !self.kernel.is_do_nothing() {
            iterations = 1;
            let least = self.clock.ticks(CALL_NS) as f64;
            while third_decile(11, || self.call(body, iterations)) < least {
                iterations *= 2;
            }
        }
        self.agreed(|| third_decile(CALLS, || self.call(body, iterations))) / iterations as f64
    }

    /// Returns the ticks of a step of that many iterations, including the counter read that ends it.
    fn step(&self, body: &mut impl Body, iterations: u64) -> f64 {
        let mut group = || {
            let begin = counter::boundary().0;
            let mut end = begin;
            for _ in 0..STEP_GROUP {
                black_box(body.run(iterations));
                end = counter::boundary().0;
            }
            end.saturating_sub(begin)
        };
        self.agreed(|| third_decile(CALLS, &mut group)) / STEP_GROUP as f64
    }

    fn watched(&self, iterations: u64, ticks: f64, in_sample: u64) -> Step {
        let slack = 2 * self.clock.step_ticks(); // for the two counter reads
        let threshold_ticks = (ticks * THRESHOLD_STEPS).round() as u64 + slack;
        Step { iterations, ticks: ticks.round() as u64, threshold_ticks, in_sample }
    }

    /// Returns the pace of a sample in one call.
    fn whole(&self, grain_ns: u64, grain: f64, iteration: f64) -> Result<Pace, Problem> {
        let iterations = (grain / iteration).round().max(1.0) as u64;
        let calibrated = iteration * iterations as f64;
        if calibrated > 1.5 * grain {
            return Err(self.too_short(grain_ns, iteration));
        }
        Ok(Pace {
            iterations,
            calibrated_ticks: calibrated.round() as u64,
            megaiteration_ticks: (iteration * 1e6).round() as u64,
            step: None,
        })
    }

    fn call(&self, body: &mut impl Body, iterations: u64) -> u64 {
        let begin = counter::boundary().0;
        black_box(body.run(iterations));
        counter::boundary().0.saturating_sub(begin)
    }

    /// Measures until two trials in a row agree. Where none do, the result is the median of the round with
    /// the smallest interquartile range, which is noted as the doubt.
    fn agreed(&self, mut measure: impl FnMut() -> f64) -> f64 {
        let mut calmest = (f64::INFINITY, 0.0);
        for _ in 0..ROUNDS {
            let mut trials = vec![measure()];
            while trials.len() < TRIALS_OF_ROUND {
                let (last, next) = (trials[trials.len() - 1], measure());
                if (next - last).abs() / last.min(next).max(1.0) <= AGREEMENT {
                    return (last + next) / 2.0;
                }
                trials.push(next);
            }
            trials.sort_unstable_by(f64::total_cmp);
            let quartile = |number: usize| trials[number * TRIALS_OF_ROUND / 4];
            let range = (quartile(3) - quartile(1)) / quartile(2).max(1.0);
            if range < calmest.0 {
                calmest = (range, quartile(2));
            }
            if range <= ROUGH_AGREEMENT {
                break;
            }
        }
        let (range, median) = calmest;
        self.doubt.set(self.doubt.get().max(range));
        median
    }

    fn too_short(&self, asked_ns: u64, least_ticks: f64) -> Problem {
        let least_ns = self.clock.ns(least_ticks.ceil() as u64) + 1;
        let why = format!("{}: {asked_ns} ns is too short to measure", self.kernel.id());
        ProblemKind::Usage.problem(why, format!("ask for at least {least_ns} ns"))
    }
}

/// Returns the duration of an undisturbed measurement in ticks.
pub(crate) fn third_decile(calls: usize, mut measure: impl FnMut() -> u64) -> f64 {
    let mut ticks: Vec<u64> = (0..calls).map(|_| measure()).collect();
    ticks.sort_unstable();
    let at = |share: f64| (share * calls as f64) as usize;
    let middle = &ticks[at(THIRD_DECILE.start)..at(THIRD_DECILE.end).max(1)];
    middle.iter().sum::<u64>() as f64 / middle.len().max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::Pages;
    use anechoic_kernels::memory::Params;
    use anechoic_kernels::work::{Family, KERNELS};
    use std::time::Duration;

    fn calibrated(
        kernel: Kernel,
        wanted: PaceRequest,
        clock: &Clock,
    ) -> Result<(Pace, Doubt), Problem> {
        let mut memory = Memory::for_largest(std::iter::once(kernel), Pages::default())?;
        calibrate(kernel, wanted, clock, &mut memory)
    }

    #[test]
    fn the_third_decile_is_a_mean_of_ten_percent() {
        let mut values = (0..100_u64).rev();
        assert_eq!(third_decile(100, || values.next().expect("100")), 24.5);
    }

    #[test]
    fn every_kernel_fills_its_grain() {
        let clock = anechoic_system::clock::calibrate(&[0], true).expect("a counter");
        anechoic_system::cpus::pin(&anechoic_system::cpus::allowed()[..1]).expect("a CPU");
        for kernel in KERNELS.iter().filter(|kernel| kernel.family != Family::Null) {
            let length = Duration::from_millis(1);
            let (grain, window) = (Amount::Grain(length), Amount::Window(length));
            for (amount, watched) in [(grain, true), (grain, false), (window, true)] {
                let wanted = PaceRequest { amount, watched };
                let plain = Kernel::Plain(kernel);
                let (pace, doubt) = calibrated(plain, wanted, &clock).expect(kernel.id);
                println!("{} {wanted:?}: {pace:?} {doubt}", kernel.id);
                assert_eq!(pace.step.is_some(), watched);
                if amount == grain {
                    let off = clock.ns(pace.calibrated_ticks) as f64 / 1e6 - 1.0;
                    assert!(off.abs() < 0.02, "{}: {off}", kernel.id);
                }
            }
        }
    }

    #[test]
    fn a_pass_goes_through_the_whole_workspace() {
        let clock = anechoic_system::clock::calibrate(&[0], true).expect("a counter");
        let sort = |bytes| {
            let kernel = Kernel::on_memory("sort", Params { bytes }).expect("a kernel of ours");
            let wanted = PaceRequest { amount: Amount::Pass, watched: true };
            calibrated(kernel, wanted, &clock).expect("a pass needs no agreement").0
        };
        let [small, large] = [4_096, 65_536].map(sort);
        assert_eq!((small.iterations, large.iterations), (1_024, 16_384));
        assert!(large.calibrated_ticks > 4 * small.calibrated_ticks, "{small:?} {large:?}");
        assert!(small.step.is_none() && small.megaiteration_ticks > 0);
    }

    #[test]
    fn a_core_whose_speed_changes_is_calibrated_with_a_doubt() {
        let clock = anechoic_system::clock::calibrate(&[0], true).expect("a counter");
        let kernel = KERNELS.iter().find(|kernel| kernel.family != Family::Null).expect("one");
        let kernel = Kernel::Plain(kernel);
        let on = Calibration { kernel, clock: &clock, doubt: Cell::new(0.0) };
        let trials = Cell::new(0);
        let next = || trials.replace(trials.get() + 1);
        // Every other trial takes longer: by half in the first round, by an eighth from then on.
        let slowed = |trial| if trial < TRIALS_OF_ROUND { 150.0 } else { 112.5 };
        let wild = |trial: usize| if trial.is_multiple_of(2) { 100.0 } else { slowed(trial) };
        assert_eq!(on.agreed(|| wild(next())), 112.5);
        assert_eq!(trials.get(), ROUNDS * TRIALS_OF_ROUND);
        assert!((on.doubt.get() - 12.5 / 112.5).abs() < 1e-9, "{}", on.doubt.get());
        on.doubt.set(0.0);
        trials.set(0);
        let rough = |trial: usize| if trial.is_multiple_of(2) { 100.0 } else { 102.0 };
        assert_eq!(on.agreed(|| rough(next())), 102.0);
        assert_eq!(trials.get(), TRIALS_OF_ROUND);
        assert!((on.doubt.get() - 0.02).abs() < 0.001, "{}", on.doubt.get());
        on.doubt.set(0.0);
        trials.set(0);
        let settles = |trial: usize| if trial < 5 { trial as f64 } else { 100.0 };
        assert_eq!((on.agreed(|| settles(next())), on.doubt.get()), (100.0, 0.0));
    }

    #[test]
    fn a_grain_of_nothing_is_refused_with_the_least() {
        let clock = anechoic_system::clock::calibrate(&[0], true).expect("a counter");
        let kernel = KERNELS.iter().find(|kernel| kernel.family != Family::Null).expect("one");
        let wanted = PaceRequest { amount: Amount::Grain(Duration::from_nanos(10)), watched: true };
        let error = calibrated(Kernel::Plain(kernel), wanted, &clock).unwrap_err().to_string();
        assert!(error.contains(": 10 ns is too short") && error.contains("at least"), "{error}");
    }
}
