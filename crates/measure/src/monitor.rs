//! Keeps how fast the kernel's own counters grow, as a recording: the part of `anechoic monitor` that always goes on.
//!
//! Nothing spins, and no event is switched on. Times are those of a clock that nobody sets and that goes on while the machine is
//! suspended.

use anechoic_recording::machine::Machine;
use anechoic_recording::rates::RATES;
use anechoic_recording::rows::Growth;
use anechoic_recording::run::{DrainPolicy, Monitoring, NotAvailable, Run, RunState, SavedFor};
use anechoic_recording::{Clock, Held, Problem, Recorder, Recording, methods};
use anechoic_system::cgroups::Cgroup;
use anechoic_system::machine;
use anechoic_system::rates::RateReader;
use rustix::time::{ClockId, clock_gettime};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// More than this many rows wait in memory only while nothing can be saved; the oldest are dropped then.
const MOST_ROWS: usize = 100_000;

/// Returns the time of the clock of a monitor, in ns: since the machine started, with the time in which it was suspended.
pub(crate) fn boottime_ns() -> u64 {
    let now = clock_gettime(ClockId::Boottime);
    u64::try_from(now.tv_sec).unwrap_or_default() * 1_000_000_000
        + u64::try_from(now.tv_nsec).unwrap_or_default()
}

/// The clock of [`boottime_ns`].
fn clock() -> Clock {
    Clock::in_nanoseconds("CLOCK_BOOTTIME", "nanoseconds")
}

/// Reads counters again and again, and keeps what was not saved yet.
pub struct Monitor {
    reader: RateReader,
    clock: Clock,
    machine: Machine,
    asked: Monitoring,
    command: Vec<String>,
    tool_version: String,
    /// What is not saved yet.
    rows: Vec<Growth>,
    /// What was saved since the last description.
    saved: Vec<SavedFor>,
    open: Option<Open>,
    /// Rows that were dropped because nothing could be saved.
    pub dropped: u64,
}

/// The recording that is being written.
struct Open {
    recorder: Recorder,
    run: Run,
    _held: Held,
}

impl Monitor {
    /// Returns the names of the rates that this kernel shows, without control groups.
    #[must_use]
    pub fn names(&self) -> Vec<&'static str> {
        self.reader.names()
    }

    /// Notes what was saved, for the description of the recording that is open or of the next one.
    pub fn note_saved(&mut self, name: String, reasons: Vec<String>) {
        self.saved.push(SavedFor { name, reasons });
    }

    /// Begins with the first reading.
    #[must_use]
    pub fn begin(groups: &[Cgroup], asked: Monitoring, tool_version: &str) -> Self {
        let asked = Monitoring { began_utc: format!("{:.6}", jiff::Timestamp::now()), ..asked };
        let command = std::env::args_os().map(|word| word.to_string_lossy().into_owned());
        Self {
            reader: RateReader::begin(groups, boottime_ns),
            clock: clock(),
            machine: machine::describe(),
            asked,
            command: command.collect(),
            tool_version: tool_version.to_owned(),
            rows: vec![],
            saved: vec![],
            open: None,
            dropped: 0,
        }
    }

    /// Reads all counters and keeps by how much they grew; returns that.
    pub fn read(&mut self) -> &[Growth] {
        let rows = self.reader.read(boottime_ns);
        let excess = (self.rows.len() + rows.len()).saturating_sub(MOST_ROWS);
        let excess = excess.min(self.rows.len());
        if excess > 0 {
            self.rows.drain(..excess);
            self.dropped += excess as u64;
        }
        let from = self.rows.len();
        self.rows.extend(rows);
        &self.rows[from..]
    }

    /// Returns the directory of the recording that is open.
    #[must_use]
    pub fn dir(&self) -> Option<&Path> {
        self.open.as_ref().map(|open| open.recorder.dir())
    }

    /// Returns the clock of the readings.
    #[must_use]
    pub fn clock(&self) -> &Clock {
        &self.clock
    }

    /// Saves what was read since the last time, into the recording that is open or a new one in `dir()`.
    ///
    /// # Errors
    /// It cannot be saved; what was read stays in memory for the next attempt.
    pub fn save(&mut self, dir: impl FnOnce() -> PathBuf) -> Result<(), Problem> {
        let (Some(first), Some(last)) = (self.rows.first(), self.rows.last()) else {
            return Ok(());
        };
        let end_ticks = last.end_ticks;
        if self.open.is_none() {
            let run = self.describe(first.start_ticks);
            let dir = dir();
            let open = Open::create(&dir, run).inspect_err(|_| {
                let _ = std::fs::remove_dir(&dir); // it is empty
            });
            self.open = Some(open?);
        }
        let Some(open) = &mut self.open else { return Ok(()) };
        let before = open.recorder.safe_rows::<Growth>();
        let saved = open.recorder.append(&self.rows).and_then(|()| open.recorder.complete_parts());
        // What is complete stays readable; the rest goes into another recording.
        let safe = open.recorder.safe_rows::<Growth>().saturating_sub(before) as usize;
        self.rows.drain(..safe.min(self.rows.len()));
        match saved {
            Ok(()) => {
                open.note(&mut self.saved, end_ticks);
                Ok(())
            }
            Err(error) => {
                let problem = Problem::from(error);
                self.close(Some(&problem));
                Err(problem)
            }
        }
    }

    /// Completes the recording that is open; the next rows go into a new one. `trouble` ended it early.
    pub fn close(&mut self, trouble: Option<&Problem>) {
        let Some(mut open) = self.open.take() else { return };
        open.note(&mut self.saved, boottime_ns());
        let Open { recorder, mut run, _held } = open;
        run.end_utc = Some(format!("{:.6}", jiff::Timestamp::now()));
        run.state = match trouble {
            None => RunState::Complete,
            Some(problem) => {
                RunState::Interrupted(format!("not everything could be saved: {}", problem.why))
            }
        };
        run.notes.extend(clock_was_set(&run));
        let _ = recorder.finish(&run);
    }

    fn describe(&self, start_ns: u64) -> Run {
        let now = jiff::Timestamp::now();
        let ago = Duration::from_nanos(boottime_ns().saturating_sub(start_ns));
        let known: BTreeSet<&str> =
            self.rows.iter().filter_map(|row| row.name.split(' ').next()).collect();
        let absent = RATES.iter().filter(|rate| {
            !known.contains(rate.name) && (!rate.is_of_group || !self.asked.groups.is_empty())
        });
        let absent = absent.map(|rate| {
            NotAvailable::new(
                format!("{} ({})", rate.title, rate.name),
                format!("the kernel does not show it here ({})", rate.source),
                "",
            )
        });
        Run {
            tool_version: self.tool_version.clone(),
            command: self.command.clone(),
            drain: DrainPolicy::HighWater,
            start_ticks: start_ns,
            start_utc: format!("{:.6}", now.checked_sub(ago).unwrap_or(now)),
            end_ticks: start_ns,
            monitor: Some(self.asked.clone()),
            not_available: absent.collect(),
            ..Run::unmeasured(methods::RATES, self.clock.clone(), self.machine.clone())
        }
    }
}

impl Open {
    fn create(dir: &Path, run: Run) -> Result<Self, Problem> {
        let recorder = Recorder::create(dir, &run)?;
        let held = Recording::open(dir)?.hold()?; // nobody takes it for one that was cut off
        Ok(Self { recorder, run, _held: held })
    }

    /// Adds to the description what was saved, and until when counters were.
    fn note(&mut self, saved: &mut Vec<SavedFor>, end_ticks: u64) {
        self.run.end_ticks = end_ticks;
        if let Some(monitor) = &mut self.run.monitor {
            monitor.saved.append(saved);
        }
        let _ = self.recorder.describe(&self.run); // it is described again at the end
    }
}

/// A difference between the two clocks that is no rounding.
const LEAST_STEP: Duration = Duration::from_millis(500);

/// Returns that the system's clock was set during a run.
fn clock_was_set(run: &Run) -> Option<String> {
    let start: jiff::Timestamp = run.start_utc.parse().ok()?;
    let end: jiff::Timestamp = run.end_utc.as_ref()?.parse().ok()?;
    let by_system = end.duration_since(start).as_secs_f64();
    let by_clock = run.clock.seconds(run.end_ticks.saturating_sub(run.start_ticks));
    let step_s = by_system - by_clock;
    (step_s.abs() > LEAST_STEP.as_secs_f64()).then(|| {
        let direction = if step_s > 0.0 { "forward" } else { "back" };
        format!(
            "the system's clock was set {direction} by {:.1} s: times are those of the clock at the start",
            step_s.abs()
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_was_set_is_noted() {
        for (end_utc, passed_s, noted) in [
            ("2026-05-09T07:10:00.2Z", 600, None),
            ("2026-05-09T08:10:00Z", 600, Some("forward by 3600.0 s")),
            ("2026-05-09T07:09:58Z", 600, Some("back by 2.0 s")),
        ] {
            let machine = anechoic_lab::builders::machine();
            let run = Run {
                start_utc: "2026-05-09T07:00:00Z".into(),
                end_utc: Some(end_utc.into()),
                end_ticks: passed_s * 1_000_000_000,
                ..Run::unmeasured(methods::RATES, clock(), machine)
            };
            let note = clock_was_set(&run);
            assert_eq!(note.is_some(), noted.is_some(), "{note:?}");
            assert!(noted.is_none_or(|text| note.is_some_and(|note| note.contains(text))));
        }
    }
}
