//! Progress on stderr: while measuring, a bar with the time left where a CPU is free to draw it, or
//! one line with the time of the end where every CPU is measured; afterwards a spinner. Nothing
//! when piped, no bar under two seconds.

use anechoic_measure::run::Stage;
use indicatif::{ProgressBar, ProgressState, ProgressStyle};
use std::io::{IsTerminal, stderr};
use std::time::Duration;

/// Work shorter than this goes without progress.
const WORTH_SHOWING: Duration = Duration::from_secs(2);

/// Shows on a terminal what goes on after the measurement, until dropped: what takes over two seconds, with the time left
/// where the number of steps is known.
pub(crate) struct Busy(Option<ProgressBar>);

impl Busy {
    /// `what` in a few words; nothing is shown when piped or `quiet`.
    pub fn with(what: &'static str, quiet: bool) -> Self {
        Self::steps(what, 1, quiet)
    }

    /// The same for work that has this number of steps.
    pub fn steps(what: &'static str, steps: u64, quiet: bool) -> Self {
        let shown = !quiet && stderr().is_terminal();
        Busy(shown.then(|| {
            let line = move |state: &ProgressState, out: &mut dyn std::fmt::Write| {
                let _ = write!(out, "{}", line(what, state));
            };
            let style = ProgressStyle::with_template("{line}");
            let style = style.unwrap_or_else(|_| ProgressStyle::default_spinner());
            let bar = ProgressBar::new(steps).with_style(style.with_key("line", line));
            bar.enable_steady_tick(Duration::from_millis(200));
            bar
        }))
    }

    /// Shows that `done` of `of` steps are done.
    pub fn show(&self, done: u64, of: u64) {
        if let Some(bar) = &self.0 {
            bar.set_length(of);
            bar.set_position(done);
        }
    }

    /// A step is done.
    pub fn step(&self) {
        if let Some(bar) = &self.0 {
            bar.inc(1);
        }
    }
}

/// What goes on, and for how long already or still; nothing of what is done soon.
fn line(what: &str, state: &ProgressState) -> String {
    let passed = state.elapsed();
    match (state.pos(), state.len()) {
        _ if passed < WORTH_SHOWING => String::new(),
        (done @ 1.., Some(steps)) => {
            format!("{what}: {done} of {steps}, {} left", left(state.eta()))
        }
        _ => format!("{what}, {} already", left(passed)),
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        if let Some(bar) = &self.0 {
            bar.finish_and_clear();
        }
    }
}

/// Time left, in full seconds.
fn left(time: Duration) -> String {
    format!("{} s", time.as_secs_f64().ceil())
}

/// Shows the stages of one run.
pub struct Progress {
    what: String,
    bar: Option<ProgressBar>,
    total: Duration,
    shown: bool,
}

impl Progress {
    /// `what` says what is measured: `CPUs 0-1`.
    pub fn new(what: String, quiet: bool) -> Self {
        Progress { what, bar: None, total: Duration::ZERO, shown: !quiet && stderr().is_terminal() }
    }

    /// Takes note of a stage.
    pub fn stage(&mut self, stage: Stage) {
        if !self.shown {
            return;
        }
        match stage {
            Stage::Started { total, may_draw } if total > WORTH_SHOWING => {
                self.start(total, may_draw)
            }
            Stage::Started { .. } | Stage::Begun(_) | Stage::News(_) => {}
            Stage::Passed(passed) => {
                if let Some(bar) = &self.bar {
                    bar.set_position(passed.as_millis() as u64);
                    bar.set_message(left(self.total.saturating_sub(passed)));
                }
            }
            Stage::Calibrating => eprintln!("calibrating the kernels"),
            Stage::Saving => self.finish(),
        }
    }

    fn start(&mut self, total: Duration, may_draw: bool) {
        let what = &self.what;
        self.total = total;
        if may_draw {
            let style = ProgressStyle::with_template("measuring {prefix} {bar:30} {msg} left");
            let bar = ProgressBar::new(total.as_millis() as u64).with_message(left(total));
            bar.set_prefix(what.clone());
            bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
            self.bar = Some(bar);
        } else {
            // Nothing may draw while every CPU is measured, so the end is told once.
            let end = jiff::Zoned::now().saturating_add(total).strftime("%H:%M:%S").to_string();
            eprintln!("measuring {what} until {end}; Ctrl-C ends early");
        }
    }

    fn finish(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }
}
