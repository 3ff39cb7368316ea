//! The flight recorder: a process that records events into memory until something is to be saved.
//!
//! It is `anechoic record --keep`, so that what is saved is a recording like any other, and so that neither its memory nor its
//! end is a matter of the service.

use super::place::{MonitorPlace, SAVED, WAITING};
use anechoic_recording::stop::StopCondition;
use anechoic_report::long_time;
use anechoic_system::counters::run_times;
use rustix::process::{Pid, Signal, kill_process};
use std::collections::VecDeque;
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// After a recorder that failed, the next one is started.
const AGAIN: Duration = Duration::from_secs(60);
/// A recorder records before this time, or not at all.
const LONGEST_START: Duration = Duration::from_secs(3);
/// A recorder that does not save within this time is ended.
const LONGEST_SAVE: Duration = Duration::from_secs(300);
/// How long the end of the service waits for recordings that are being saved.
const LONGEST_END: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(3_600);
/// Exit codes of a recording that exists: a warning, or its condition was met.
const SAVED_CODES: std::ops::RangeInclusive<i32> = 0..=3;

/// What is recorded, and when it is saved.
pub(super) struct FlightPlan {
    /// Options of `anechoic record` that name what runs; none for the whole machine.
    pub(super) target: Vec<String>,
    /// A condition of the program that saves it.
    pub(super) condition: Option<StopCondition>,
    pub(super) keep: Duration,
    /// For how long after its start something unusual is recorded at most, before it is saved.
    pub(super) known_after: Duration,
    pub(super) most_per_hour: u32,
}

/// Recorders: one that flies, and those that are saving.
pub(super) struct Flight {
    plan: FlightPlan,
    flying: Option<Recorder>,
    saving: Vec<(Recorder, Vec<String>, Instant)>,
    /// When the last ones were saved.
    saved: VecDeque<Instant>,
    /// No recorder is started before.
    not_before: Instant,
    /// Why none flies, if that was reported.
    reported: bool,
    /// CPU time of recorders that have ended, and for how long they flew.
    cost: (Duration, Duration),
}

struct Recorder {
    child: Child,
    dir: PathBuf,
    since: Instant,
    /// CPU time when it was last looked at.
    ran: Duration,
}

/// A recording that was saved, and why; or why it was not.
pub(super) type Outcome = Result<(PathBuf, Vec<String>), String>;

impl Flight {
    pub(super) fn new(plan: FlightPlan) -> Self {
        Self {
            plan,
            flying: None,
            saving: vec![],
            saved: VecDeque::new(),
            not_before: Instant::now(),
            reported: false,
            cost: (Duration::ZERO, Duration::ZERO),
        }
    }

    /// Returns what it does, in a sentence.
    pub(super) fn describe(&self) -> String {
        let whose = match self.plan.target.is_empty() {
            true => "all programs".to_owned(),
            false => self.plan.target.join(" "),
        };
        format!(
            "keeps the events of the last {} in memory ({whose}), and saves them at most {} times an hour",
            long_time(u64::try_from(self.plan.keep.as_nanos()).unwrap_or(u64::MAX)),
            self.plan.most_per_hour
        )
    }

    /// Returns whether events are recorded.
    pub(super) fn flies(&self) -> bool {
        self.flying.is_some()
    }

    /// Returns whether the recorder has only just begun: a signal could meet it before it can save.
    pub(super) fn is_young(&self) -> bool {
        self.flying.as_ref().is_none_or(|it| it.since.elapsed() < LONGEST_START)
    }

    /// Starts a recorder where none flies.
    pub(super) fn keep_flying(&mut self, place: &mut MonitorPlace) {
        if self.flying.is_some() || Instant::now() < self.not_before {
            return;
        }
        self.not_before = Instant::now() + AGAIN;
        match self.start(place) {
            Ok(recorder) => self.flying = Some(recorder),
            Err(why) => self.report(&why),
        }
    }

    fn start(&self, place: &mut MonitorPlace) -> Result<Recorder, String> {
        let dir = place.next(WAITING);
        let program = std::env::current_exe().map_err(|error| error.to_string())?;
        // What is unusual is known some seconds after it has begun.
        let keep = format!("{}ns", (self.plan.keep + self.plan.known_after).as_nanos());
        let mut command = Command::new(program);
        command.args(["record", "--quiet", "--keep", &keep, "--output"]).arg(&dir);
        command.args(["--with-parent", &std::process::id().to_string()]);
        command.process_group(0); // Ctrl-C is for the service
        match &self.plan.target[..] {
            [] => command.args(["--cgroup", "/"]),
            target => command.args(target),
        };
        if let Some(condition) = self.plan.condition {
            command.args(["--stop-on", &condition.to_string()]);
        }
        if self.reported {
            command.stderr(Stdio::null()); // it would repeat why it cannot record
        }
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).spawn();
        let child = child.map_err(|error| format!("no events are recorded: {error}"))?;
        Ok(Recorder { child, dir, since: Instant::now(), ran: Duration::ZERO })
    }

    /// Reports why no events are recorded, once.
    fn report(&mut self, why: &str) {
        if !std::mem::replace(&mut self.reported, true) {
            crate::terminal::print_note(format_args!(
                "anechoic: {why}; counters are still kept, and it is tried again each minute"
            ));
        }
    }

    /// Has the last seconds saved for these reasons, and starts the next recorder.
    ///
    /// # Errors
    /// Returns why they are not saved.
    pub(super) fn save(
        &mut self,
        place: &mut MonitorPlace,
        reasons: Vec<String>,
    ) -> Result<(), String> {
        let all = reasons.join("; ");
        self.saved.retain(|at| at.elapsed() < HOUR);
        if self.saved.len() + self.saving.len() >= self.plan.most_per_hour as usize {
            return Err(format!("{all}: {} recordings in the last hour", self.saved.len()));
        }
        let Some(mut recorder) = self.flying.take() else {
            return Err(format!("{all}: no events were recorded"));
        };
        recorder.look();
        if let Some(pid) = Pid::from_raw(recorder.child.id().cast_signed()) {
            let _ = kill_process(pid, Signal::INT); // fails if it has just ended, which is seen later
        }
        self.saving.push((recorder, reasons, Instant::now()));
        self.not_before = Instant::now();
        self.keep_flying(place);
        Ok(())
    }

    /// Returns the recordings that are complete since the last call.
    pub(super) fn reap(&mut self, place: &mut MonitorPlace) -> Vec<Outcome> {
        let mut outcomes = vec![];
        if let Some(flying) = &mut self.flying {
            flying.look();
            if let Ok(Some(status)) = flying.child.try_wait() {
                outcomes.extend(self.has_ended(status, place));
            } else if flying.since.elapsed() > AGAIN {
                self.reported = false;
            }
        }
        let (done, saving): (Vec<_>, Vec<_>) = std::mem::take(&mut self.saving)
            .into_iter()
            .map(|(mut recorder, reasons, since)| {
                let ended = recorder.child.try_wait().ok().flatten();
                if ended.is_none() && since.elapsed() > LONGEST_SAVE {
                    let _ = recorder.child.kill();
                }
                (ended, recorder, reasons, since)
            })
            .partition(|(ended, ..)| ended.is_some());
        self.saving = saving
            .into_iter()
            .map(|(_, recorder, reasons, since)| (recorder, reasons, since))
            .collect();
        for (status, recorder, reasons, _) in done {
            outcomes.push(self.keep(place, recorder, status, reasons));
        }
        outcomes
    }

    /// Takes a recorder that ended by itself: because its condition was met, because the program is gone, or because it failed.
    fn has_ended(&mut self, status: ExitStatus, place: &mut MonitorPlace) -> Option<Outcome> {
        let recorder = self.flying.take()?;
        let condition = self.plan.condition.filter(|_| status.code() == Some(2));
        let lived = recorder.since.elapsed();
        let outcome = match condition {
            Some(condition) => {
                self.not_before = Instant::now();
                self.saved.retain(|at| at.elapsed() < HOUR);
                let kept = self.keep(place, recorder, Some(status), vec![condition.to_string()]);
                // No recorder is started for what could not be saved.
                if self.saved.len() >= self.plan.most_per_hour as usize
                    && let Some(oldest) = self.saved.front()
                {
                    self.not_before = *oldest + HOUR;
                    crate::terminal::print_note(format_args!(
                        "anechoic: saved {} times in the last hour: events are recorded again in {}",
                        self.saved.len(),
                        long_time(
                            u64::try_from(HOUR.saturating_sub(oldest.elapsed()).as_nanos())
                                .unwrap_or(u64::MAX)
                        ),
                    ));
                }
                Some(kept)
            }
            None => {
                self.count(&recorder);
                let _ = fs::remove_dir_all(&recorder.dir);
                self.report(match lived < LONGEST_START {
                    true => "no events are recorded, for that reason",
                    false => "the recording of events has ended",
                });
                None
            }
        };
        if lived > AGAIN {
            self.not_before = Instant::now();
        }
        self.keep_flying(place);
        outcome
    }

    /// Keeps what a recorder saved.
    fn keep(
        &mut self,
        place: &mut MonitorPlace,
        recorder: Recorder,
        status: Option<ExitStatus>,
        reasons: Vec<String>,
    ) -> Outcome {
        self.count(&recorder);
        let code = status.and_then(|status| status.code());
        let kept = place.next(SAVED);
        match code {
            Some(code) if SAVED_CODES.contains(&code) => match fs::rename(&recorder.dir, &kept) {
                Ok(()) => {
                    self.saved.push_back(Instant::now());
                    Ok((kept, reasons))
                }
                Err(error) => Err(format!("not saved: {}: {error}", reasons.join("; "))),
            },
            _ => {
                let _ = fs::remove_dir_all(&recorder.dir);
                let how = status.map_or_else(|| "?".into(), |status| status.to_string());
                Err(format!("not saved: {}: the recorder ended with {how}", reasons.join("; ")))
            }
        }
    }

    /// Ends all recorders: what is being saved is completed, and what waits is dropped.
    pub(super) fn land(&mut self, place: &mut MonitorPlace) -> Vec<Outcome> {
        if let Some(mut recorder) = self.flying.take() {
            recorder.look();
            self.count(&recorder);
            let _ = recorder.child.kill();
            let _ = recorder.child.wait();
            let _ = fs::remove_dir_all(&recorder.dir);
        }
        self.not_before = Instant::now() + HOUR;
        let (mut outcomes, begin) = (vec![], Instant::now());
        while !self.saving.is_empty() && begin.elapsed() < LONGEST_END {
            outcomes.extend(self.reap(place));
            std::thread::sleep(Duration::from_millis(50));
        }
        let late = self.saving.drain(..).map(|(_, reasons, _)| {
            Err(format!("not saved: {}: it took longer than a minute", reasons.join("; ")))
        });
        outcomes.extend(late);
        outcomes
    }

    fn count(&mut self, recorder: &Recorder) {
        if recorder.since.elapsed() > LONGEST_START {
            self.cost.0 += recorder.ran;
            self.cost.1 += recorder.since.elapsed();
        }
    }

    /// Returns the CPU time of all recorders while they flew, and for how long they did.
    pub(super) fn cost(&self) -> (Duration, Duration) {
        let flying = self.flying.as_ref().map(|it| (it.ran, it.since.elapsed()));
        let (ran, flew) = flying.unwrap_or_default();
        (self.cost.0 + ran, self.cost.1 + flew)
    }
}

impl Recorder {
    /// Looks at its CPU time.
    fn look(&mut self) {
        if let Some(times) = run_times(self.child.id().cast_signed()) {
            self.ran = Duration::from_nanos(times.ran_ns);
        }
    }
}
