//! Progress on stderr. While measuring: a bar with the time left if a CPU is free to draw it, or one line
//! with the end time if every CPU is measured. Afterwards: a spinner. Nothing is shown when piped, and no bar
//! for less than two seconds.

use crate::terminal;
use anechoic_measure::run::Stage;
use anechoic_system::holder::Holder;
use indicatif::{ProgressBar, ProgressState, ProgressStyle};
use std::io::{IsTerminal, stderr};
use std::time::Duration;

/// Work shorter than this is done without progress.
const WORTH_SHOWING: Duration = Duration::from_secs(2);

/// Shows on a terminal what is being done after the measurement, until dropped. Shown only after two seconds,
/// with the time left if the number of steps is known.
pub(crate) struct Busy(Option<ProgressBar>);

impl Busy {
    /// Starts showing `what`, a few words; shows nothing when piped or `quiet`.
    pub fn with(what: impl Into<String>, quiet: bool) -> Self {
        Self::steps(what, 1, quiet)
    }

    /// Starts showing work that has this number of steps.
    pub fn steps(what: impl Into<String>, steps: u64, quiet: bool) -> Self {
        let (shown, what) = (!quiet && stderr().is_terminal(), what.into());
        Busy(shown.then(|| {
            let line = move |state: &ProgressState, out: &mut dyn std::fmt::Write| {
                let _ = write!(out, "{}", line(&what, state));
            };
            let style = ProgressStyle::with_template("{line}");
            let style = style.unwrap_or_else(|_| ProgressStyle::default_spinner());
            let bar = ProgressBar::new(steps).with_style(style.with_key("line", line));
            bar.enable_steady_tick(Duration::from_millis(200));
            bar
        }))
    }

    /// Does as [`Busy::show`], and returns true.
    pub fn shown(&self, done: u64, total: u64) -> bool {
        self.show(done, total);
        true
    }

    /// Shows that `done` of `total` steps are done.
    pub fn show(&self, done: u64, total: u64) {
        if let Some(bar) = &self.0 {
            bar.set_length(total);
            bar.set_position(done);
        }
    }

    /// Counts one finished step.
    pub fn step(&self) {
        if let Some(bar) = &self.0 {
            bar.inc(1);
        }
    }
}

/// Returns what is being done, and the time passed or left; empty for short work.
fn line(what: &str, state: &ProgressState) -> String {
    let passed = state.elapsed();
    match (state.pos(), state.len()) {
        _ if passed < WORTH_SHOWING => String::new(),
        (done @ 1.., Some(steps)) => {
            format!("{what}: {done} of {steps}, {} left", left(state.eta()))
        }
        _ => format!("{what}, {} so far", left(passed)),
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        if let Some(bar) = &self.0 {
            bar.finish_and_clear();
        }
    }
}

/// Formats the time left in full seconds, or in minutes.
fn left(time: Duration) -> String {
    let seconds = time.as_secs_f64().ceil();
    if seconds < 300.0 {
        format!("{seconds} s")
    } else {
        format!("{} min", (seconds / 60.0).ceil())
    }
}

/// Shows the stages of one run.
pub struct Progress {
    what: String,
    bar: Option<ProgressBar>,
    shown: bool,
    quiet: bool,
}

impl Progress {
    /// Creates the display; `what` names what is measured, for example `CPUs 0-1`.
    pub fn new(what: String, quiet: bool) -> Self {
        Progress { what, bar: None, shown: !quiet && stderr().is_terminal(), quiet }
    }

    /// Shows a new stage.
    pub fn stage(&mut self, stage: Stage) {
        if let Stage::Waiting { holders, waited } = &stage {
            holders.iter().filter(|_| !self.quiet).for_each(|holder| waits_for(holder, *waited));
        }
        if !self.shown {
            return;
        }
        match stage {
            Stage::Started { total, may_draw } if total > WORTH_SHOWING => {
                self.start(total, may_draw)
            }
            Stage::Started { .. } | Stage::Begun(_) | Stage::News(_) | Stage::Waiting { .. } => {}
            Stage::Passed { passed, left: time_left } => {
                if let Some(bar) = &self.bar {
                    bar.set_length((passed + time_left).as_millis() as u64);
                    bar.set_position(passed.as_millis() as u64);
                    bar.set_message(left(time_left));
                }
            }
            Stage::Calibrating => terminal::print_note("calibrating the kernels"),
            Stage::Saving => self.finish(),
        }
    }

    fn start(&mut self, total: Duration, may_draw: bool) {
        let what = &self.what;
        if may_draw {
            let style = ProgressStyle::with_template("measuring {prefix} {bar:30} {msg} left");
            let bar = ProgressBar::new(total.as_millis() as u64).with_message(left(total));
            bar.set_prefix(what.clone());
            bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
            self.bar = Some(bar);
        } else {
            // Nothing may draw while every CPU is measured, so the end time is printed once.
            let end = end_time(&jiff::Zoned::now(), total);
            terminal::print_note(format_args!("measuring {what} until {end}; Ctrl-C ends early"));
        }
    }

    fn finish(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }
}

/// States which thread the start of a measurement waits for.
fn waits_for(holder: &Holder, waited: Duration) {
    let so_far = match waited.as_secs() {
        0 => String::new(),
        seconds => format!(" for {seconds} s"),
    };
    terminal::print_note(format_args!(
        "waiting{so_far}: {holder}; end it, or leave the CPU out with --cpus"
    ));
}

/// Writes when a measurement that starts now ends.
fn end_time(now: &jiff::Zoned, total: Duration) -> String {
    now.saturating_add(total).strftime("%Y-%m-%d %H:%M:%S %Z").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_on_another_day_has_its_date_and_zone() {
        let now: jiff::Zoned = "2026-11-22T23:59:30+00:00[UTC]".parse().expect("a time");
        assert_eq!(end_time(&now, Duration::from_secs(45)), "2026-11-23 00:00:15 UTC");
    }
}
