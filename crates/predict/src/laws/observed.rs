//! The delays of a recording as one number and one rate (Tsafrir 2007, Section 4.3: from do-nothing loops to a job).

use anechoic_analyze::samples::{Fixed, Measured, measure};
use anechoic_analyze::{Summary, no_sample, summarize};
use anechoic_recording::{Problem, ProblemKind, Recording, methods};
use schemars::JsonSchema;
use serde::Serialize;

/// Share of delayed samples above which one sample may contain several delays.
const MOST_DELAYED: f64 = 0.5;

/// The delays that were observed: of the samples of loops, or of the detours of CPUs.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Observed {
    /// Directory of the recording.
    pub recording: String,
    /// Method of measurement.
    pub method: String,
    /// Number of samples; absent for detours.
    pub samples: Option<u64>,
    /// Number of delays: samples clearly slower than the main body, or detours.
    pub delays: u64,
    /// Their mean in ns. A sample counts with its time beyond the undisturbed one, the mean between the 20th and the 30th
    /// percentile.
    pub mean_ns: f64,
    /// Time that was observed, of all series or CPUs together, in ns.
    pub time_ns: f64,
    /// The part of it without the delays: the time in which they begin, and that a job computes in.
    pub free_ns: f64,
}

impl Observed {
    /// Returns the delays of a recording.
    ///
    /// # Errors
    ///
    /// It cannot be read, has neither detours nor samples of fixed work, or shows no delay.
    pub fn from_recording(recording: &Recording) -> Result<Self, Problem> {
        let run = recording.run();
        let name = recording.dir().display().to_string();
        if let Some(why) = no_sample(run) {
            let remedy = "measure without --keep, or give the laws --delay and --every";
            return Err(ProblemKind::NoVerdict.problem(why, remedy).about(&name));
        }
        match run.method == methods::DETOURS {
            true => Self::from_delays(name, &run.method, delays_of_detours(&summarize(recording)?)),
            false => Self::from_samples(name, &measure(recording)?),
        }
    }

    /// Returns the delays of the samples of a recording with this name.
    ///
    /// # Errors
    ///
    /// It has no samples of fixed work, or shows no delay.
    pub fn from_samples(name: String, found: &Measured) -> Result<Self, Problem> {
        Self::from_delays(name, &found.method, delays_of_samples(found))
    }

    fn from_delays(name: String, method: &str, delays: Delays) -> Result<Self, Problem> {
        let (samples, delays, sum_ns, time_ns) = delays;
        let lacks =
            |why: &str, remedy: &str| Err(ProblemKind::NoVerdict.problem(why, remedy).about(&name));
        match samples {
            Some(0) => {
                return lacks(
                    "it has no samples of fixed work",
                    "name a recording of `anechoic measure loops`, `measure fwq` or `anechoic run`",
                );
            }
            Some(samples) if delays as f64 > MOST_DELAYED * samples as f64 => {
                return lacks(
                    "more than half of the samples are delayed, so several delays may lie in one",
                    "measure with a shorter --grain",
                );
            }
            _ if delays == 0 || sum_ns <= 0.0 => {
                return lacks("nothing was delayed in it", "measure longer");
            }
            _ => {}
        }
        let (mean_ns, free_ns) = (sum_ns / delays as f64, time_ns - sum_ns);
        let method = method.to_owned();
        Ok(Self { recording: name, method, samples, delays, mean_ns, time_ns, free_ns })
    }

    /// Returns the mean delay in ns.
    pub(super) fn delay_ns(&self) -> u64 {
        (self.mean_ns.round() as u64).max(1)
    }

    /// Returns the mean free time of a CPU between two delays in ns. A phase of a job takes its grain in free time, so
    /// this is what the law's p is relative to; per wall time, noise of half the time would count as a third.
    pub(super) fn every_ns(&self) -> u64 {
        ((self.free_ns / self.delays as f64).round() as u64).max(1)
    }
}

/// Number of samples and delays, sum of the delays and the time that was observed in ns.
type Delays = (Option<u64>, u64, f64, f64);

fn delays_of_detours(found: &Summary) -> Delays {
    let total = &found.total;
    let wall_ns = total.wall_ns as f64;
    (None, total.detours, total.noise * wall_ns, wall_ns)
}

fn delays_of_samples(found: &Measured) -> Delays {
    let fixed_work = found.series.iter().filter(|series| series.facts.fixed == Fixed::Work);
    let (mut samples, mut delays, mut sum_ns, mut time_ns) = (0, 0, 0.0, 0.0);
    for body in fixed_work.filter_map(|series| series.distribution.as_ref()) {
        samples += body.samples;
        time_ns += body.mean * body.samples as f64;
        if let Some(mean) = body.slowies.mean {
            delays += body.slowies.count;
            sum_ns += (mean - body.third_decile_mean) * body.slowies.count as f64;
        }
    }
    (Some(samples), delays, sum_ns, time_ns)
}
