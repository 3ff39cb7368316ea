//! One trial after the other.

use super::commands::{ShellCommand, Workload};
use super::{TrialArgs, orphans, places, unfinished};
use crate::progress::Busy;
use crate::record::started::Started;
use crate::setup::{explained, measure_as};
use crate::stop;
use crate::terminal;
use anechoic_analyze::compare::Trials;
use anechoic_measure::run::Plan;
use anechoic_recording::machine::Machine;
use anechoic_recording::run::RunState;
use anechoic_recording::{Problem, ProblemKind};
use anechoic_report::long_time;
use anechoic_system::machine;
use anechoic_system::tunables::Trial;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Time within which a signal that ended a command has also reached this process.
const LATE: Duration = Duration::from_millis(200);

/// How the trials ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ended {
    /// All pairs are complete.
    Complete,
    /// A signal came before that.
    Early,
}

/// How trials are measured, and where they go.
#[derive(Clone, Copy)]
pub(super) struct Measured<'a> {
    pub(super) plan: &'a Plan,
    pub(super) dir: &'a Path,
    pub(super) stop: &'a AtomicBool,
}

/// What all trials have in common.
pub(super) struct Session<'a> {
    args: &'a TrialArgs,
    trials: &'a Trials,
    plan: &'a Plan,
    dir: &'a Path,
    stop: &'a AtomicBool,
    commands: [ShellCommand; 2],
    /// The settings that side B has and side A has not, if these are tried.
    settings: Option<RefCell<&'a mut Trial>>,
    begun: Instant,
    /// Whether the command of each side is known to leave processes running.
    left_some: [Cell<bool>; 2],
}

/// Names of the sides.
const SIDES: [&str; 2] = ["A", "B"];

impl<'a> Session<'a> {
    pub(super) fn new(
        args: &'a TrialArgs,
        trials: &'a Trials,
        measured: Measured<'a>,
        settings: Option<&'a mut Trial>,
    ) -> Self {
        let Measured { plan, dir, stop } = measured;
        let settings = settings.map(RefCell::new);
        let [a, b] = trials.commands.clone();
        let commands =
            [("command A", a), ("command B", b)].map(|(name, text)| ShellCommand { name, text });
        if trials.record {
            orphans::adopt();
        }
        let (begun, left_some) = (Instant::now(), Default::default());
        Self { args, trials, plan, dir, stop, commands, settings, begun, left_some }
    }

    /// Measures all pairs. A pair that does not become complete is removed.
    ///
    /// # Errors
    /// A command fails, or a measurement does.
    pub(super) fn all(&self) -> Result<Ended, Problem> {
        let signal = stop::newest()?;
        for (pair, swapped) in (1..).zip(self.trials.swapped.iter().copied()) {
            if self.stopped() {
                return Ok(Ended::Early);
            }
            let done = match &self.trials.duet {
                Some(sets) => self.duet(pair, swapped, sets, &signal),
                None => self.in_turn(pair, swapped, &signal),
            };
            if let Err(problem) = done {
                let early = self.stopped_now();
                self.remove(pair)?;
                return match early {
                    true => Ok(Ended::Early),
                    false => Err(self.with_what_is_kept(problem, pair - 1)),
                };
            }
        }
        Ok(Ended::Complete)
    }

    fn stopped(&self) -> bool {
        self.stop.load(Ordering::Acquire)
    }

    /// Returns whether a signal ends the trials that may just have ended a command too, before this process got it.
    fn stopped_now(&self) -> bool {
        let until = Instant::now() + LATE;
        while !self.stopped() && Instant::now() < until {
            std::thread::sleep(LATE / 10);
        }
        self.stopped()
    }

    /// Removes the recordings of a pair.
    fn remove(&self, pair: u32) -> Result<(), Problem> {
        let places = places(self.trials, self.dir, pair);
        let all = places.iter().flat_map(|place| [place.clone(), unfinished(place)]);
        for path in all.filter(|path| path.exists()) {
            fs::remove_dir_all(&path).map_err(|error| Problem::unwritable(&path, &error))?;
        }
        Ok(())
    }

    /// Adds to a problem where the pairs before it are.
    fn with_what_is_kept(&self, problem: Problem, pairs: u32) -> Problem {
        if pairs == 0 || self.args.setup.no_save {
            return problem;
        }
        let dir = self.dir.display();
        let kept =
            format!("`anechoic ab --show {dir}` compares the {pairs} complete pairs before it");
        let remedy = match &*problem.remedy {
            "" => kept,
            remedy => format!("{remedy}; {kept}"),
        };
        Problem { remedy, ..problem }
    }

    /// Measures one side after the other.
    ///
    /// # Errors
    /// Returns why the pair is not complete.
    fn in_turn(&self, pair: u32, swapped: bool, signal: &Arc<Signal>) -> Result<(), Problem> {
        let places = places(self.trials, self.dir, pair);
        let cpus = self.plan.experiment.cpus();
        let order = if swapped { [1, 0] } else { [0, 1] };
        for (before, side) in order.into_iter().enumerate() {
            let done = 2 * (pair as usize - 1) + before;
            let what = format!("{}, trial {} of {}", SIDES[side], done + 1, 2 * self.pairs());
            self.switch(side)?;
            if self.trials.record {
                self.record(&what, done, side, &places[side], signal)?;
            } else {
                let workload = self.begin(side, &cpus, signal)?;
                self.measure(&what, done, 2 * self.pairs(), &places[side], vec![workload])?;
            }
            if let Some(settings) = &self.settings {
                settings.borrow().still_holds()?;
            }
        }
        Ok(())
    }

    /// Measures both sides at the same time.
    ///
    /// # Errors
    /// Returns why the pair is not complete.
    fn duet(
        &self,
        pair: u32,
        swapped: bool,
        sets: &[Vec<u32>; 2],
        signal: &Signal,
    ) -> Result<(), Problem> {
        let [place, _] = places(self.trials, self.dir, pair);
        let cpus = |side: usize| &sets[(side + usize::from(swapped)) % 2];
        let watched = pair == 1 && !self.trials.during;
        let mut settings = watched.then(|| system_settings(machine::describe()));
        let mut workloads = vec![];
        for (side, name) in SIDES.iter().enumerate() {
            workloads.push(self.begin(side, cpus(side), signal)?);
            if let Some(before) = &settings {
                let after = system_settings(machine::describe());
                refuse_change(before, &after, name)?;
                settings = Some(after);
            }
        }
        let what = format!("both sides, pair {pair} of {}", self.pairs());
        self.measure(&what, pair as usize - 1, self.pairs(), &place, workloads)
    }

    fn pairs(&self) -> usize {
        self.trials.swapped.len()
    }

    /// Switches the settings that are tried to those of a side.
    fn switch(&self, side: usize) -> Result<(), Problem> {
        self.settings.as_ref().map_or(Ok(()), |settings| settings.borrow_mut().switch(side == 1))
    }

    /// Runs the command of a side, or starts its workload.
    fn begin(
        &self,
        side: usize,
        cpus: &[u32],
        signal: &Signal,
    ) -> Result<Option<Workload>, Problem> {
        let command = &self.commands[side];
        if self.trials.during {
            return command.start(cpus);
        }
        if self.settings.is_none() {
            command.run(cpus, signal)?;
        }
        Ok(None)
    }

    /// Records the command of a side, without standard input, and without what it prints to its standard output.
    ///
    /// # Errors
    /// It fails, or the recording is not complete.
    fn record(
        &self,
        what: &str,
        done: usize,
        side: usize,
        dir: &Path,
        signal: &Arc<Signal>,
    ) -> Result<(), Problem> {
        self.settle()?;
        let _busy = Busy::with(self.titled(what, done, 2 * self.pairs()), self.args.setup.quiet);
        let command = &self.commands[side];
        let text = format!("exec </dev/null >/dev/null\n{}", command.text);
        let words = ["sh", "-c", &text].map(str::to_owned);
        let part = unfinished(dir);
        let others_run = orphans::run();
        let program = Started::new(&words, Arc::clone(signal), Some(stop::newest()?));
        let recorded = program.record(self.plan, &part, self.args.setup.asked_cpus());
        let status = recorded?.ok_or_else(|| ended_early("its command was lost"))?;
        if !status.success() {
            return Err(command.failed(status, None));
        }
        if !others_run && orphans::run() && !self.left_some[side].replace(true) {
            terminal::print_note(format_args!(
                "anechoic: {} leaves processes running, which run beside the trials that follow; let it end them",
                command.name
            ));
        }
        self.keep(&part, dir)
    }

    /// Waits until things have settled, and measures.
    ///
    /// # Errors
    /// Returns why the recording is not complete.
    fn measure(
        &self,
        what: &str,
        done: usize,
        total: usize,
        dir: &Path,
        workloads: Vec<Option<Workload>>,
    ) -> Result<(), Problem> {
        self.settle()?;
        let mut workloads: Vec<Workload> = workloads.into_iter().flatten().collect();
        workloads.iter_mut().try_for_each(Workload::still_runs)?;
        let part = unfinished(dir);
        measure_as(
            self.titled(what, done, total),
            self.plan,
            &part,
            self.stop,
            self.args.setup.quiet,
        )?;
        workloads.iter_mut().try_for_each(Workload::still_runs)?;
        drop(workloads);
        self.keep(&part, dir)
    }

    /// Waits until things have settled.
    fn settle(&self) -> Result<(), Problem> {
        let until = Instant::now() + self.args.settle;
        while !self.stopped() && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(20).min(until - Instant::now()));
        }
        if self.stopped() { Err(Problem::called_off()) } else { Ok(()) }
    }

    /// Returns what a trial is, and how long it and those after it take.
    fn titled(&self, what: &str, done: usize, total: usize) -> String {
        match done {
            0 if self.trials.record => what.to_owned(), // it takes as long as its command does
            _ => format!("{what} ({} left in all)", self.left(done, total)),
        }
    }

    /// Gives a complete recording its name.
    fn keep(&self, part: &Path, dir: &Path) -> Result<(), Problem> {
        match &explained(part, self.args.setup.quiet)?.run().state {
            RunState::Complete => {
                fs::rename(part, dir).map_err(|error| Problem::unwritable(dir, &error))
            }
            RunState::Interrupted(why) => Err(ended_early(why)),
            RunState::Running => Err(ended_early("its recording was not closed")),
        }
    }

    /// Returns how long the trials that are left take, if they take as long as those before.
    fn left(&self, done: usize, total: usize) -> String {
        let each = match done {
            0 => self.args.settle + self.args.watch.duration,
            done => self.begun.elapsed() / u32::try_from(done).unwrap_or(u32::MAX),
        };
        let left = each.saturating_mul(u32::try_from(total - done).unwrap_or(u32::MAX));
        long_time(u64::try_from(left.as_nanos()).unwrap_or(u64::MAX))
    }
}

/// Returns the problem of a trial whose recording is not complete.
fn ended_early(why: &str) -> Problem {
    let why = format!("a trial ended early: {why}");
    ProblemKind::NoVerdict.problem(why, "mend this, and start the trials again")
}

/// The latest signal that arrived.
type Signal = std::sync::atomic::AtomicUsize;

/// Settings and their values.
type Settings = BTreeMap<String, Option<String>>;

/// Parts of the names of files whose settings are of single CPUs, or say which CPUs are meant.
const OF_CPUS: [&str; 6] = ["cpu*", "machinecheck*", "mask", "affinity", "cpuset", "isolated"];

/// Returns the settings that hold for all CPUs.
fn system_settings(machine: Machine) -> Settings {
    let is_per_cpu = |file: &str| OF_CPUS.iter().any(|part| file.contains(part));
    let settings = machine.settings.into_iter().filter(|setting| !is_per_cpu(&setting.file));
    settings.map(|setting| (setting.name, setting.effective)).collect()
}

/// Refuses a command that changed a setting of the whole system, which both sides of a duet have.
fn refuse_change(before: &Settings, after: &Settings, side: &str) -> Result<(), Problem> {
    let differs = after.iter().find(|(name, value)| before.get(*name) != Some(*value));
    let Some((name, _)) = differs else { return Ok(()) };
    let why = format!(
        "command {side} changed {name}, which holds for the whole system, so both sides of a duet would have it"
    );
    Err(ProblemKind::Usage.problem(why, "leave --duet out"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setting_of_the_whole_system_is_no_duet() {
        let settings = |value: &str| {
            Settings::from([("x.y".to_owned(), Some(value.to_owned())), ("z".to_owned(), None)])
        };
        assert!(refuse_change(&settings("1"), &settings("1"), "A").is_ok());
        let here = system_settings(machine::describe());
        assert!(here.contains_key("kernel.numa_balancing") && here.contains_key("irqbalance"));
        for per_cpu in ["cpufreq governor", "C-states", "irqaffinity", "kernel.watchdog_cpumask"] {
            assert!(!here.contains_key(per_cpu), "{per_cpu}");
        }
        let problem = refuse_change(&settings("1"), &settings("0"), "B").expect_err("changed");
        assert!(problem.why.starts_with("command B changed x.y"), "{problem}");
    }
}
