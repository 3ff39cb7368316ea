//! `anechoic ab`: trials of two commands in random order, and what they show.

mod commands;
mod order;
mod orphans;
mod session;
mod trial_args;

pub(crate) use trial_args::TrialArgs;

use crate::compare::compared;
use crate::files::is_used;
use crate::setup::Place;
use crate::show::Printer;
use crate::{exit, stop, terminal};
use anechoic_analyze::compare::{Trials, TriedSetting};
use anechoic_analyze::history::flaws;
use anechoic_measure::run::Plan;
use anechoic_recording::{
    Problem, ProblemKind, Recording, create_dir_all, methods, read_file, replace_file,
};
use anechoic_report::{counted, long_time};
use anechoic_system::changes::Undone;
use anechoic_system::tunables::Trial;
use commands::PutBack;
use session::{Ended, Measured, Session};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// The file with the plan, beside the recordings.
const PLAN: &str = "ab.json";
/// More bytes than a plan has.
const MOST_BYTES: u64 = 1 << 20;

/// Which of two settings has less noise? Measure both in turn, in random order, and compare them in pairs
///
/// Each COMMAND is run by the shell (sh -c) before each trial of its side. It changes a setting and ends; then the noise is
/// measured as `anechoic run` measures it. Each command must undo what the other one did; '' stands for no command. A
/// pair is one trial of each side. Which side comes first is random (Abedi & Brecht 2017), so that drift of the host, or a
/// rhythm of it, does not look like a difference. The result is that of `anechoic compare`. With --wakeup the latency of
/// wake-ups is measured and compared.
///
/// With --duet both sides are measured at the same time, each on one half of the CPUs, and the halves are swapped at random
/// (Bulej et al. 2020): what happens on the whole host meets both. A COMMAND finds the CPUs of its side in $CPUS. This
/// suits what belongs to a CPU: its governor, idle states and interrupts, and programs that are pinned to it. A setting
/// that holds for the whole system cannot be measured so, and is refused.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct AbArgs {
    /// Shell command that changes to the setting of side A, or runs its workload (--during)
    #[arg(value_name = "COMMAND_A", required_unless_present = "show")]
    a: Option<String>,
    /// The same for side B
    #[arg(value_name = "COMMAND_B", required_unless_present = "show")]
    b: Option<String>,
    /// Run this at the end, and on every signal that can be caught: it puts back what the commands changed
    #[arg(long, value_name = "COMMAND")]
    after: Option<String>,
    /// Each command is a workload: run it while its side is measured, and end it then
    #[arg(long)]
    during: bool,
    /// Each command is a program to compare: record it from its start to its end, as `anechoic record` does
    #[arg(long, conflicts_with_all = ["during", "duet", "duration", "threshold", "fifo", "no_trace", "ranks", methods::WAKEUP])]
    record: bool,
    /// Measure both sides at the same time, on two halves of the CPUs
    #[arg(long, conflicts_with_all = ["ranks", methods::WAKEUP])]
    duet: bool,
    /// Measure nothing; show the trials that were measured into this directory
    #[arg(long, value_name = "DIR", conflicts_with_all = ["a", "b"])]
    show: Option<PathBuf>,
    #[command(flatten)]
    trials: TrialArgs,
}

const EXAMPLES: &str = "Examples:
  sudo anechoic ab 'sysctl kernel.numa_balancing=1' 'sysctl kernel.numa_balancing=0' --after 'sysctl kernel.numa_balancing=1'
  sudo anechoic ab 'systemctl start irqbalance' 'systemctl stop irqbalance' --after 'systemctl start irqbalance' -d 5s
  anechoic ab --during '' 'while :; do ls -R /usr; done' --pairs 20   what a workload costs
  sudo anechoic ab --record './bench --old' './bench --new'           which is faster, apart from the noise?
  sudo anechoic ab --wakeup 'cpupower idle-set -E' 'cpupower idle-set -D 0'     what idle states cost a wake-up
  sudo anechoic ab --duet 'cpupower -c $CPUS idle-set -D 0' 'cpupower -c $CPUS idle-set -E' --cpus 2-3
  anechoic ab --show anechoic-2026... --html ab.html                  the same trials again, as a page

Exits with 0 if there is a verdict, also that no change is shown, with 3 if there is none, and with 1 if the trials
ended early; the pairs that are complete then count.";

pub fn run(args: &AbArgs) -> Result<ExitCode, Problem> {
    args.trials.page.refuse(false)?;
    if let Some(dir) = &args.show {
        return show(&args.trials, dir, read(dir)?).map(ExitCode::from);
    }
    let commands = [&args.a, &args.b].map(|command| command.clone().unwrap_or_default());
    let cpus = args.trials.setup.cpus();
    let duet = args.duet.then(|| order::duet(args.trials.pairs, &commands, &cpus)).transpose()?;
    let (during, record, after) = (args.during, args.record, args.after.clone());
    let trials = Trials {
        during,
        record,
        after,
        duet,
        ..order::plan(args.trials.pairs, args.trials.seed, commands)
    };
    let prepared = Prepared::make(&args.trials, &trials)?;
    let put_back = PutBack::armed(args.after.clone());
    let ended = prepared.session(&args.trials, &trials, None).all();
    let back = put_back.now().map_or_else(|problem| exit::print_error(&problem), |()| 0);
    prepared.finish(&args.trials, trials, ended, back)
}

/// Measures trials of settings as they are and as they are tried, puts them back, and shows the result.
///
/// # Errors
/// Those of a measurement, or of a setting that cannot be switched.
pub(crate) fn try_settings(
    args: &TrialArgs,
    command: Option<&str>,
    trial: &mut Trial,
    settings: Vec<TriedSetting>,
) -> Result<ExitCode, Problem> {
    args.page.refuse(false)?;
    let (commands, record) =
        ([(); 2].map(|()| command.unwrap_or_default().to_owned()), command.is_some());
    let mut trials = Trials { settings, record, ..order::plan(args.pairs, args.seed, commands) };
    trial.begin()?;
    let prepared = Prepared::make(args, &trials)?;
    let ended = prepared.session(args, &trials, Some(trial)).all();
    let mut back = 0;
    for undone in trial.put_back().into_iter().filter(Undone::is_left) {
        terminal::print_note(format_args!("anechoic: {undone}"));
        back = exit::WARNING;
    }
    for (step, value) in trial.rounded() {
        if let Some(tried) = trials.settings.iter_mut().find(|tried| tried.name == step.name) {
            tried.in_effect = Some(value.to_owned());
        }
    }
    prepared.write_plan(&trials)?;
    prepared.finish(args, trials, ended, back)
}

/// Where trials go, and how they are measured.
struct Prepared {
    plan: Plan,
    place: Place,
    stop: Arc<AtomicBool>,
}

impl Prepared {
    /// Makes the directory, with the plan, and announces the trials.
    ///
    /// # Errors
    /// The directory is used, or cannot be written.
    fn make(args: &TrialArgs, trials: &Trials) -> Result<Self, Problem> {
        let plan = args.plan(trials.record)?;
        let stop = stop::flag()?;
        let place = args.setup.place()?;
        refuse_used(place.dir())?;
        create_dir_all(place.dir())?;
        let prepared = Self { plan, place, stop };
        prepared.write_plan(trials)?;
        announce(args, trials);
        Ok(prepared)
    }

    fn write_plan(&self, trials: &Trials) -> Result<(), Problem> {
        let text = serde_json::to_vec_pretty(trials).unwrap_or_default();
        Ok(replace_file(&self.place.dir().join(PLAN), &text)?)
    }

    fn session<'a>(
        &'a self,
        args: &'a TrialArgs,
        trials: &'a Trials,
        settings: Option<&'a mut Trial>,
    ) -> Session<'a> {
        let (plan, dir, stop) = (&self.plan, self.place.dir(), &*self.stop);
        Session::new(args, trials, Measured { plan, dir, stop }, settings)
    }

    /// Shows what the trials show. `back` is the exit code of putting things back.
    ///
    /// # Errors
    /// The trials failed, or no pair is complete.
    fn finish(
        &self,
        args: &TrialArgs,
        trials: Trials,
        ended: Result<Ended, Problem>,
        back: u8,
    ) -> Result<ExitCode, Problem> {
        let dir = self.place.dir();
        if ended? == Ended::Early && complete(&trials, dir).is_empty() {
            return Err(Problem::called_off());
        }
        Ok(ExitCode::from(show(args, dir, trials)?.max(back)))
    }
}

/// Says how many trials there are and how long they take at least.
fn announce(args: &TrialArgs, trials: &Trials) {
    if args.setup.quiet {
        return;
    }
    let pairs = trials.swapped.len();
    let number = if trials.duet.is_some() { pairs } else { 2 * pairs };
    let least = args.least(trials.record, number);
    let least = u64::try_from(least.as_nanos()).unwrap_or(u64::MAX);
    let number = counted(number as u64, "trial", "trials");
    let least = if least > 0 { format!(", at least {}", long_time(least)) } else { String::new() };
    let tried = trials.tried().map(|tried| format!(", {tried} in every other one"));
    terminal::print_note(format_args!(
        "{number}{least}{}; Ctrl-C ends early and keeps complete pairs",
        tried.unwrap_or_default()
    ));
}

/// Refuses a directory that has something in it.
fn refuse_used(dir: &Path) -> Result<(), Problem> {
    if is_used(dir) {
        let why = format!("{} is not empty", dir.display());
        let remedy = "name a new directory with -o, or show the trials in it with --show";
        return Err(ProblemKind::Usage.problem(why, remedy));
    }
    Ok(())
}

/// Reads the plan of trials that were measured into this directory.
fn read(dir: &Path) -> Result<Trials, Problem> {
    let file = dir.join(PLAN);
    let text = read_file(&file, MOST_BYTES).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => {
            let why = format!("{} has no trials ({PLAN})", dir.display());
            ProblemKind::NoInput.problem(why, "name the directory that `anechoic ab` wrote")
        }
        _ => Problem::unreadable(&file, &error),
    })?;
    let trials: Trials =
        serde_json::from_slice(&text).map_err(|error| Problem::damaged(&file, error))?;
    order::verify(&trials).map_err(|why| Problem::damaged(&file, why))?;
    Ok(trials)
}

/// Returns where the recordings of a pair are, that of A first; in a duet both are one.
fn places(trials: &Trials, dir: &Path, pair: u32) -> [PathBuf; 2] {
    match trials.duet {
        Some(_) => [(); 2].map(|()| dir.join(format!("{pair:03}"))),
        None => ["a", "b"].map(|side| dir.join(side).join(format!("{pair:03}"))),
    }
}

/// Returns where the recording of a trial is while it is being made, so that nothing takes it for one that counts.
fn unfinished(place: &Path) -> PathBuf {
    let name = place.file_name().unwrap_or_default().to_string_lossy();
    place.with_file_name(format!(".{name}.part"))
}

/// Returns the numbers of the pairs of which both recordings are complete.
fn complete(trials: &Trials, dir: &Path) -> Vec<u32> {
    let is_complete = |path: &PathBuf| {
        Recording::open(path)
            .is_ok_and(|recording| !flaws(recording.run()).contains(&"ended early"))
    };
    let pairs = (1..).zip(&trials.swapped).map(|(pair, _)| pair);
    pairs.filter(|pair| places(trials, dir, *pair).iter().all(is_complete)).collect()
}

/// Compares the complete pairs, shows the result and returns its exit code.
fn show(args: &TrialArgs, dir: &Path, mut trials: Trials) -> Result<u8, Problem> {
    trials.complete = complete(&trials, dir);
    if trials.complete.is_empty() {
        let why = format!("{} has no complete pair of trials", dir.display());
        return Err(ProblemKind::NoVerdict.problem(why, "measure again"));
    }
    let mut sides = [vec![], vec![]];
    for &pair in &trials.complete {
        let swapped = usize::from(trials.swapped[pair as usize - 1]);
        for (side, path) in places(&trials, dir, pair).iter().enumerate() {
            let recording = Recording::open(path)?;
            sides[side].push(match &trials.duet {
                Some(sets) => recording.on_cpus(&sets[(side + swapped) % 2]),
                None => recording,
            });
        }
    }
    let recordings = sides.each_ref().map(|side| side.iter().collect::<Vec<&Recording>>());
    let names = ["A".to_owned(), "B".to_owned()];
    let found = compared(names, recordings, &args.job, Some(&trials), None)?;
    let mut printer =
        Printer::stdout(args.json, args.all).unsaved(args.setup.no_save).quiet(args.setup.quiet);
    let code = printer.print(&found, Some(dir))?;
    printer.finish()?;
    args.page.write(found, false)?;
    Ok(code)
}
