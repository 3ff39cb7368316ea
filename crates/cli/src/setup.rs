//! What all measuring commands share: the options for CPUs, tracing and output; measuring; attributing.

use crate::ask::{self, CpuList};
use crate::files::Scratch;
use crate::progress::{Busy, Progress};
use anechoic_measure::experiment::{Experiment, Host};
use anechoic_measure::methods::find;
use anechoic_measure::run::Plan;
use anechoic_recording::options::Answers;
use anechoic_recording::{Problem, ProblemKind, Recording, create_own_dir, methods};
use anechoic_system::{cpus, machine};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// Options of all measuring commands.
#[derive(Debug, clap::Args)]
pub(crate) struct SetupArgs {
    /// CPUs to measure: 0-3,8, 0-15:2 (every second), all, isolated, nohz_full or node:0 [default: all that
    /// this process inherited]
    #[arg(long, short, value_parser = ask::cpu_list, value_name = "LIST")]
    cpus: Option<CpuList>,
    /// Do not record kernel events; the result then has no causes
    #[arg(long)]
    pub no_trace: bool,
    /// Measure even if the counter's rate may change
    #[arg(long)]
    pub allow_variant_tsc: bool,
    /// Directory for the recording, new or empty [default: anechoic-TIME]
    #[arg(long, short, value_name = "DIR")]
    output: Option<PathBuf>,
    /// Show the result and keep no recording
    #[arg(long, conflicts_with = "output")]
    pub no_save: bool,
    /// Show no progress, and the result as one line
    #[arg(long, short)]
    pub quiet: bool,
}

impl SetupArgs {
    /// Returns the CPUs asked for, or else all that this process may use.
    pub fn cpus(&self) -> Vec<u32> {
        self.cpus.as_ref().map_or_else(cpus::allowed, |list| list.0.clone())
    }

    /// Returns the CPUs asked for, if any.
    pub(crate) fn asked_cpus(&self) -> Option<&[u32]> {
        self.cpus.as_ref().map(|list| &list.0[..])
    }

    /// Returns the CPUs that are left out unless the user names them.
    pub(crate) fn left_out(&self) -> Vec<u32> {
        if self.cpus.is_none() { cpus::not_inherited() } else { Vec::new() }
    }

    /// Returns the plan of an experiment with these options.
    pub fn plan(&self, experiment: Experiment) -> Plan {
        let (trace, allow_variant_tsc) = (!self.no_trace, self.allow_variant_tsc);
        Plan { trace, allow_variant_tsc, ..plan(experiment) }
    }

    /// Returns the directory of a recording that is kept.
    pub fn dir(&self) -> PathBuf {
        self.output.clone().unwrap_or_else(|| free(default_name()))
    }

    /// Returns where the recording goes.
    ///
    /// # Errors
    /// Fails if it is not kept and no directory for it can be made.
    pub fn place(&self) -> Result<Place, Problem> {
        Place::choose(self.output.as_deref(), self.no_save)
    }
}

/// Where a recording goes. If nobody asked to keep it, it is removed when this is dropped.
#[derive(Debug)]
pub(crate) struct Place {
    dir: PathBuf,
    /// Whether this command made it: under the default name, or by [`Place::make`].
    made: bool,
    _scratch: Option<Scratch>,
}

impl Place {
    /// Returns `output`, or a directory named by the time; or with `no_save` one that is removed.
    ///
    /// # Errors
    /// Fails if a directory to remove cannot be made.
    pub(crate) fn choose(output: Option<&Path>, no_save: bool) -> Result<Self, Problem> {
        let scratch = no_save.then(Scratch::for_recording).transpose()?;
        let dir = match &scratch {
            Some(scratch) => scratch.path().join("recording"),
            None => output.map_or_else(|| free(default_name()), Path::to_owned),
        };
        Ok(Self { dir, made: output.is_none() && !no_save, _scratch: scratch })
    }

    /// Returns the directory.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Makes the directory unless it exists; returns whether this command made it.
    ///
    /// # Errors
    /// Fails if it cannot be made, or is something else than a directory.
    pub fn make(&mut self) -> Result<bool, Problem> {
        let made = create_own_dir(&self.dir);
        let made = made.map_err(|error| Problem::cannot_write_to(&self.dir, &error))?;
        self.made |= made;
        Ok(self.made)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if self.made {
            let _ = std::fs::remove_dir(&self.dir); // fails unless nothing was recorded
        }
    }
}

/// Returns the plan of an experiment by this process alone, with kernel events.
pub fn plan(experiment: Experiment) -> Plan {
    Plan::new(experiment, env!("CARGO_PKG_VERSION"))
}

/// Returns how to measure wake-ups for so long with these options of `measure wakeup`; the others are as by default.
pub fn wakeups(
    duration: Duration,
    given: &[(&str, &str)],
    cpus: Vec<u32>,
) -> Result<Experiment, Problem> {
    let method = find(methods::WAKEUP).ok_or_else(Problem::called_off)?;
    let duration = format!("{}ns", duration.as_nanos());
    let given = [&[("duration", &*duration)], given].concat();
    let answers = Answers::read(&method.all_options(), &given)?;
    (method.experiment)(&answers, &Host { cpus, machine: machine::describe() })
}

/// Measures as planned into `dir`, and attributes the detours.
pub fn record(
    plan: &Plan,
    dir: &Path,
    stop: &AtomicBool,
    quiet: bool,
) -> Result<Recording, Problem> {
    measure(plan, dir, stop, quiet)?;
    explained(dir, quiet)
}

/// Measures as planned into `dir`.
pub fn measure(plan: &Plan, dir: &Path, stop: &AtomicBool, quiet: bool) -> Result<(), Problem> {
    let cpus = match &plan.experiment.cpus()[..] {
        [cpu] => format!("CPU {cpu}"),
        cpus => format!("CPUs {}", cpus::list(cpus)),
    };
    let what = match plan.repetition {
        Some((number, total)) => format!("{cpus}, run {number} of {total},"),
        None => cpus,
    };
    measure_as(what, plan, dir, stop, quiet)
}

/// Measures as planned into `dir`; progress states what.
pub(crate) fn measure_as(
    what: String,
    plan: &Plan,
    dir: &Path,
    stop: &AtomicBool,
    quiet: bool,
) -> Result<(), Problem> {
    let mut progress = Progress::new(what, quiet);
    anechoic_measure::run::run(plan, dir, stop, &mut |stage| progress.stage(stage))?;
    Ok(())
}

/// Opens the recording in `dir` and attributes its detours.
pub fn explained(dir: &Path, quiet: bool) -> Result<Recording, Problem> {
    let recording = Recording::open(dir)?;
    if recording.run().trace.is_some() {
        let _busy = Busy::with("attributing", quiet);
        crate::attribute::attribute(&recording)?;
    }
    Ok(recording)
}

/// Returns a name for a directory; names sort by time.
pub(crate) fn default_name() -> PathBuf {
    format!("anechoic-{}", jiff::Zoned::now().strftime("%Y%m%dT%H%M%S")).into()
}

/// Makes the directory `dir`, or if that exists the first of `dir.2`, `dir.3`, … that does not, so that no other process
/// can take it. Where none can be made, what writes there reports why.
pub(crate) fn free(dir: PathBuf) -> PathBuf {
    let numbered = (2..).map(|number: u32| {
        let mut name = dir.clone().into_os_string();
        name.push(format!(".{number}"));
        PathBuf::from(name)
    });
    let mut places = std::iter::once(dir.clone()).chain(numbered);
    let is_free = |place: &PathBuf| {
        create_own_dir(place).unwrap_or_else(|_| place.symlink_metadata().is_err())
    };
    places.find(is_free).unwrap_or(dir)
}

/// Refuses to run under SCHED_FIFO on every CPU of the machine, unless the user asked for that explicitly.
pub(crate) fn leave_one(cpus: &[u32], all_cpus: bool, option: &str) -> Result<(), Problem> {
    let online = cpus::online();
    if !all_cpus && online.iter().all(|cpu| cpus.contains(cpu)) {
        let why =
            format!("{option} would take every CPU of this machine and nothing else could run");
        return Err(ProblemKind::Usage.problem(why, "leave one out with --cpus, or use --all-cpus"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn starts_at_the_same_time_get_places_of_their_own() {
        let above = tempfile::tempdir().expect("a directory");
        let name = above.path().join("anechoic-20261125T210000");
        let start = || {
            std::thread::spawn({
                let name = name.clone();
                move || free(name)
            })
        };
        let threads: Vec<_> = (0..16).map(|_| start()).collect();
        let taken = threads.into_iter().map(|thread| thread.join().expect("a place"));
        let taken: std::collections::BTreeSet<PathBuf> = taken.collect();
        assert_eq!(taken.len(), 16, "{taken:?}");
        assert!(taken.iter().all(|place| place.is_dir()), "{taken:?}");
        let nowhere = PathBuf::from("/proc/anechoic");
        assert_eq!(free(nowhere.clone()), nowhere, "what writes there reports why");
    }

    #[test]
    fn names_that_others_have_taken_are_skipped() {
        let above = tempfile::tempdir().expect("a directory");
        let at = |name: &str| above.path().join(name);
        std::fs::write(at("r"), "a file").expect("written");
        std::os::unix::fs::symlink(at("absent"), at("r.2")).expect("a link");
        assert_eq!(free(at("r")), at("r.3"));
    }

    #[test]
    fn a_place_under_the_default_name_stays_only_with_a_recording() {
        for (recorded, expected) in [(false, false), (true, true)] {
            let above = tempfile::tempdir().expect("a directory");
            let dir = free(above.path().join("r"));
            if recorded {
                std::fs::write(dir.join("run.json"), "").expect("written");
            }
            drop(Place { dir: dir.clone(), made: true, _scratch: None });
            assert_eq!(dir.exists(), expected);
        }
    }
}
