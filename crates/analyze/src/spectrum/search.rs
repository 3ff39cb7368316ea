//! The input of spectra, and their complete result.

use super::background::LOWEST_BIN;
use super::hunt::Hunt;
use super::line::Spectrum;
use super::signal::{FEWEST, HIGHEST_HZ, Signal};

/// Largest number of reported lines.
const MOST_LINES: usize = 16;

/// Noise over time.
#[derive(Debug, Clone, Copy)]
pub enum Input<'a> {
    /// Fixed time: the time lost in consecutive windows.
    Windows {
        /// Length of a window, in seconds.
        window_s: f64,
        /// Time lost in each window, in seconds.
        lost_s: &'a [f64],
    },
    /// Fixed work: consecutive repetitions.
    Repetitions {
        /// Start of each, in seconds, in order.
        starts_s: &'a [f64],
        /// Excess of each over the undisturbed duration, in seconds; a constant makes no difference.
        excess_s: &'a [f64],
    },
    /// Events at points in time.
    Events {
        /// Time of each event, in seconds.
        starts_s: &'a [f64],
        /// Duration of each, in seconds; without durations all have equal weight.
        lengths_s: Option<&'a [f64]>,
        /// Time in which events were recorded.
        between_s: (f64, f64),
    },
}

/// What to search for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Options {
    /// Probability that a series without any period shows a line, in (0, 1).
    pub false_alarm: f64,
    /// Highest analysed frequency.
    pub highest_hz: f64,
}

impl Default for Options {
    /// 1 % and 10 kHz.
    fn default() -> Self {
        Self { false_alarm: 0.01, highest_hz: HIGHEST_HZ }
    }
}

/// Finds the lines in a series of noise.
///
/// The test assumes that noise without a period has no memory longer than a fiftieth of the series (a beat that stays
/// in step for a fifteenth of the series is reported as a line in one case of four). Its spectrum may have any shape
/// that is smooth over some tens of bins of `1 / length` each. For input that is not finite, not in order or too short
/// the result has no lines and names the reason.
#[must_use]
pub fn lines(input: &Input<'_>, options: &Options) -> Spectrum {
    let limit_hz = options.highest_hz;
    let signal = match *input {
        Input::Windows { window_s, lost_s } => Signal::even(window_s, lost_s, limit_hz),
        Input::Repetitions { starts_s, excess_s } => Signal::uneven(starts_s, excess_s, limit_hz),
        Input::Events { starts_s, lengths_s, between_s } => {
            Signal::from_events(starts_s, lengths_s, between_s, limit_hz)
        }
    };
    let values = match *input {
        Input::Windows { lost_s, .. } => lost_s.len(),
        Input::Repetitions { excess_s, .. } => excess_s.len(),
        Input::Events { starts_s, .. } => starts_s.len(),
    };
    let mut spectrum = Spectrum {
        false_alarm: options.false_alarm,
        values: values as u64,
        span_s: 0.0,
        resolution_hz: None,
        lowest_hz: None,
        highest_hz: None,
        tested: 0,
        threshold: None,
        cap_ns: None,
        lines: vec![],
        figure: vec![],
        regular: vec![],
        not_visible: vec![],
    };
    let Some(mut signal) = signal else {
        let fewest = if matches!(input, Input::Events { .. }) { FEWEST / 4 } else { FEWEST };
        spectrum.not_visible.push(format!(
            "any period: this needs {fewest} values in time order, and there are {values}"
        ));
        return spectrum;
    };
    spectrum.span_s = signal.span_s;
    if matches!(input, Input::Windows { .. }) {
        spectrum.values = signal.values.len() as u64;
    }
    let mut hunt = Hunt::new(&signal, options.false_alarm);
    if hunt.tested() == 0 {
        spectrum.not_visible.push("any period: the time is too short".to_owned());
        return spectrum;
    }
    describe(&hunt, &signal, input, &mut spectrum);
    hunt.run(&mut signal);
    spectrum.figure = hunt.figure;
    let mut lines = hunt.lines;
    lines.sort_by(|a, b| b.over_background.total_cmp(&a.over_background));
    lines.truncate(MOST_LINES);
    lines.sort_by(|a, b| a.hz.total_cmp(&b.hz));
    if matches!(input, Input::Events { .. }) {
        let without = matches!(input, Input::Events { lengths_s: None, .. });
        for line in &mut lines {
            line.durations = None;
            line.noise = line.noise.filter(|_| !without);
        }
    }
    spectrum.lines = lines;
    spectrum
}

/// Describes what was searched, and the limits.
fn describe(hunt: &Hunt, signal: &Signal<'_>, input: &Input<'_>, spectrum: &mut Spectrum) {
    let bin_hz = 1.0 / signal.span_s;
    // Under a Hann taper two lines of equal strength are apart at two bins.
    spectrum.resolution_hz = Some(2.0 * bin_hz);
    let (lowest_hz, highest_hz) = (LOWEST_BIN as f64 * bin_hz, signal.highest_hz);
    spectrum.lowest_hz = Some(lowest_hz);
    spectrum.highest_hz = Some(highest_hz);
    spectrum.tested = hunt.tested() as u64;
    spectrum.threshold = Some(hunt.threshold());
    let cut = signal.cap.is_finite() && signal.raw.iter().any(|raw| raw.abs() > signal.cap);
    spectrum.cap_ns = cut.then_some(signal.cap * 1e9);
    spectrum.not_visible.push(format!(
        "below {lowest_hz:.2} Hz: {:.1} s contain fewer than {LOWEST_BIN} such periods; measure for longer",
        signal.span_s
    ));
    spectrum.not_visible.push(match input {
        Input::Events { .. } => format!("above {highest_hz:.0} Hz: not analysed"),
        _ => format!(
            "above {highest_hz:.0} Hz: a value covers {:.0} µs, and a period needs two values; faster trains can appear as slower lines; use a shorter grain or window",
            signal.grain_s * 1e6
        ),
    });
}
