//! `anechoic suite`: repeats all experiments of a paper and shows its published numbers beside the measured
//! ones.

use crate::ask::{self, CpuList};
use crate::exit;
use crate::progress::Busy;
use crate::setup::{default_dir, leave_one, plan, record};
use crate::{stop, terminal};
use anechoic_analyze::{Measured, Memory};
use anechoic_measure::experiment::{Cell, Experiment, Host, Sample, Samples};
use anechoic_measure::methods;
use anechoic_recording::run::RunState;
use anechoic_recording::{Problem, ProblemKind, Recording, find};
use anechoic_report::published::{
    CMT_KERNELS, CMT_LEAST_REPETITIONS, CMT_MAIV_PPM, CMT_SETS, LOOPS_GRAIN_NS, LOOPS_TICK_PARTS,
};
use anechoic_report::results::measured::MEASURED;
use anechoic_report::results::memory::MEMORY;
use anechoic_report::results::{AnyRow, Found, Input};
use anechoic_report::{Screen, View};
use anechoic_system::cpus;
use anechoic_system::machine;
use clap::{Args, Subcommand};
use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// The largest number of repetitions of a series that a stopping rule ends.
const MOST_REPETITIONS: u64 = 100;
/// The rate of the timer tick, if the kernel does not report it.
const USUAL_TICK_HZ: u64 = 250;
/// One in this many samples is taken at grains other than the paper's usual one.
const OTHER_GRAINS_PART: u64 = 10;

/// Repeat all experiments of a paper, and show its published numbers beside the measured ones
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  anechoic suite cmt -o cmt                      tick overhead of every CPU (Radojković 2008)\n  anechoic suite loops --samples 10000 -o loops  do-nothing loops with a tenth of the paper's samples (Tsafrir 2007)\n  anechoic suite loops --show loops              the tables of a suite that was measured earlier\n  anechoic suite memory -o memory                memory experiments (Wächtler & Sojka 2012), about an hour\n  anechoic suite memory -o memory --resume       the rest of it after an interruption"
)]
pub struct SuiteArgs {
    #[command(subcommand)]
    suite: Suite,
}

#[derive(Debug, Subcommand)]
enum Suite {
    Cmt(CmtArgs),
    Loops(LoopsArgs),
    Memory(MemoryArgs),
}

/// Tick overhead of additions, multiplications and divisions on each CPU in turn (Radojković 2008)
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  anechoic suite cmt --cpus 0-3 -o cmt")]
struct CmtArgs {
    #[command(flatten)]
    common: CommonArgs,
}

/// Do-nothing loops: how much they vary, and what accounts for it (Tsafrir 2007)
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  anechoic suite loops --samples 10000 --cpus 1 -o loops")]
struct LoopsArgs {
    /// Samples of each variant and policy at 1 ms; a tenth of them at half and at a third of the tick period
    #[arg(long, value_name = "N", default_value_t = 100_000, value_parser = clap::value_parser!(u64).range(1..))]
    samples: u64,
    /// Also measure every CPU of the machine under SCHED_FIFO, leaving none for anything else
    #[arg(long)]
    all_cpus: bool,
    #[command(flatten)]
    common: CommonArgs,
}

/// Memory experiments: time per access, preemption and migration delays, and their noise (Wächtler & Sojka 2012)
///
/// Each kind of access is a set of its own, about a quarter of an hour.
#[derive(Debug, Args)]
#[command(
    mut_arg("json", |arg| arg.help("Print JSON (schema/memory.schema.json), one document per set")),
    after_help = "Examples:\n  anechoic suite memory --quick -o first    a first look in under four minutes\n  anechoic suite memory -o memory --resume  what is left after an interruption"
)]
struct MemoryArgs {
    /// One working set per octave instead of 8, and an eighth of the repetitions
    #[arg(long)]
    quick: bool,
    #[command(flatten)]
    common: CommonArgs,
}

#[derive(Debug, Args)]
struct CommonArgs {
    /// CPUs to measure, for example 0-3,8 [default: cmt: all that this process may use; others: the last of
    /// them]
    #[arg(long, short, value_parser = ask::cpu_list, value_name = "LIST")]
    cpus: Option<CpuList>,
    /// Directory for the recordings, new or empty [default: anechoic-TIME]
    #[arg(long, short, value_name = "DIR", conflicts_with = "show")]
    output: Option<PathBuf>,
    /// Keep the sets that are complete in the output directory and measure the others
    #[arg(long, requires = "output")]
    resume: bool,
    /// Measure nothing; show the suite that was measured into this directory
    #[arg(long, value_name = "DIR")]
    show: Option<PathBuf>,
    /// Print JSON (schema/measured.schema.json), one document per set
    #[arg(long)]
    json: bool,
    /// Do not show progress on stderr
    #[arg(long, short)]
    quiet: bool,
}

/// A suite: the method of its sets, the result of each, and its tables.
struct SuiteSpec {
    method: &'static str,
    row: &'static dyn AnyRow,
    tables: fn(&[Found], &View<'_>) -> Screen,
}

/// Returns the results of this type.
fn of_type<T: Clone + 'static>(found: &[Found]) -> Vec<T> {
    found.iter().filter_map(Found::get).cloned().collect()
}

pub fn run(args: &SuiteArgs) -> Result<ExitCode, Problem> {
    match &args.suite {
        Suite::Cmt(args) => {
            let of = SuiteSpec {
                method: anechoic_recording::methods::TICK,
                row: &MEASURED,
                tables: |found, view| anechoic_report::suite_cmt(&of_type::<Measured>(found), view),
            };
            suite(&args.common, cpus::allowed(), &of, cmt)
        }
        Suite::Loops(args) => {
            let last = last_cpu();
            let measured = args.common.cpus.as_ref().map_or(&last, |list| &list.0);
            if args.common.show.is_none() {
                leave_one(measured, args.all_cpus, "the part under SCHED_FIFO")?;
            }
            let of = SuiteSpec {
                method: anechoic_recording::methods::LOOPS,
                row: &MEASURED,
                tables: |found, view| {
                    anechoic_report::suite_loops(&of_type::<Measured>(found), view)
                },
            };
            suite(&args.common, last, &of, || loops(args.samples))
        }
        Suite::Memory(args) => {
            let of = SuiteSpec {
                method: anechoic_recording::methods::MEMORY,
                row: &MEMORY,
                tables: |found, view| {
                    anechoic_report::suite_memory(&of_type::<Memory>(found), view)
                },
            };
            suite(&args.common, last_cpu(), &of, || memory(args.quick))
        }
    }
}

/// Returns the last CPU that this process may use.
fn last_cpu() -> Vec<u32> {
    cpus::allowed().pop().into_iter().collect()
}

/// Options of the method for each set, as a user would type them, with the name of its recording.
type Sets = Vec<(String, Vec<(&'static str, String)>)>;

fn cmt() -> Sets {
    let set = |set: &anechoic_report::published::CmtSet| {
        let mut options = vec![
            ("kernel", CMT_KERNELS.join(",")),
            ("repetition", format!("{}ns", set.repetition_ns)),
            ("repetitions", set.repetitions.unwrap_or(MOST_REPETITIONS).to_string()),
            ("one-by-one", String::new()),
            ("unpinned", String::new()),
        ];
        if set.repetitions.is_none() {
            options.push(("maiv", format!("{}%", f64::from(CMT_MAIV_PPM) / 1e4)));
        }
        let count = set.repetitions.map_or(String::new(), |count| format!("-{count}"));
        (format!("{}{count}", set.view), options)
    };
    CMT_SETS.iter().map(set).collect()
}

fn loops(samples: u64) -> Sets {
    let grain = |grain_ns: u64, samples: u64, policies: &str| {
        vec![
            ("variants", "all".to_owned()),
            ("grain", format!("{grain_ns}ns")),
            ("samples", samples.to_string()),
            ("policy", policies.to_owned()),
            ("all-cpus", String::new()), // already checked that a CPU is left
        ]
    };
    let usual = grain(LOOPS_GRAIN_NS, samples, "other,fifo");
    let tick_ns =
        1_000_000_000 / machine::describe().tick_hz.map_or(USUAL_TICK_HZ, u64::from).max(1);
    let fewer = (samples / OTHER_GRAINS_PART).max(1);
    let parts = LOOPS_TICK_PARTS
        .iter()
        .map(|&part| (format!("tick-by-{part}"), grain(tick_ns / part, fewer, "other")));
    [("1ms".to_owned(), usual)].into_iter().chain(parts).collect()
}

/// Returns a set for each kind of access. Each has its warm curve, from which its preemptions are predicted.
fn memory(quick: bool) -> Sets {
    let set = |access: &str| {
        let mut options = vec![("experiments", format!("*-{access}-*"))];
        options.extend(quick.then(|| ("quick", String::new())));
        (access.to_owned(), options)
    };
    ["read-random", "write-random", "read-sequential", "write-sequential"].map(set).to_vec()
}

/// Measures all sets, or reads them, and shows the results.
fn suite(
    args: &CommonArgs,
    usual_cpus: Vec<u32>,
    of: &SuiteSpec,
    sets: impl FnOnce() -> Sets,
) -> Result<ExitCode, Problem> {
    let (dir, SuiteResults { found, worst }) = match &args.show {
        Some(dir) => (dir.clone(), read_sets(args, of, dir)?),
        None => {
            let cpus = args.cpus.as_ref().map_or(usual_cpus, |list| list.0.clone());
            let dir = args.output.clone().unwrap_or_else(default_dir);
            let shown = measure_sets(args, of, &experiments(of.method, cpus, &sets())?, &dir)?;
            (dir, shown)
        }
    };
    let mut out = terminal::stdout();
    if args.json {
        found.iter().try_for_each(|one| one.json(&mut out))?;
    } else if !found.is_empty() {
        let view = terminal::view(Some(&dir));
        (of.tables)(&found, &view).write(&view, &mut out)?;
    }
    out.flush()?;
    let verdict = found.iter().map(|found| exit::verdict_code(found.verdict())).max();
    let verdict = verdict.unwrap_or(exit::NO_VERDICT);
    Ok(ExitCode::from(worst.max(verdict)))
}

/// The sets that exist, and the exit code of what prevented the others.
struct SuiteResults {
    found: Vec<Found>,
    worst: u8,
}

/// Computes the result of a set.
fn add_up(of: &SuiteSpec, recording: &Recording, quiet: bool) -> Result<Found, Problem> {
    let _busy = Busy::with("adding up", quiet);
    of.row.compute(&Input::of(&[recording]))
}

/// Reads the sets of a suite that was measured before.
fn read_sets(args: &CommonArgs, of: &SuiteSpec, dir: &Path) -> Result<SuiteResults, Problem> {
    let mut shown = SuiteResults { found: Vec::new(), worst: 0 };
    for recording in find(dir)?.iter().filter(|recording| recording.run().method == of.method) {
        match add_up(of, recording, args.quiet) {
            Ok(found) => shown.found.push(found),
            Err(error) => shown.worst = shown.worst.max(exit::print_error(&error)),
        }
    }
    if shown.found.is_empty() && shown.worst == 0 {
        let why = format!("{} has no recording of `{}`", dir.display(), of.method);
        return Err(ProblemKind::Usage.problem(why, "name the directory of that suite"));
    }
    Ok(shown)
}

/// Returns the experiment of each set.
fn experiments(
    method: &str,
    cpus: Vec<u32>,
    sets: &Sets,
) -> Result<Vec<(String, Experiment)>, Problem> {
    let method = methods::find(method).ok_or_else(|| {
        let why = format!("there is no method '{method}'");
        ProblemKind::Usage.problem(why, "`anechoic measure --help` lists the methods")
    })?;
    let host = Host { cpus, machine: machine::describe() };
    let experiment = |(name, options): &(String, Vec<(&'static str, String)>)| {
        let options: Vec<_> = options.iter().map(|(name, text)| (*name, &text[..])).collect();
        Ok((name.clone(), method.with(&options, &host)?))
    };
    sets.iter().map(experiment).collect()
}

/// Measures one set after the other; if one fails, the sets before it are still shown.
fn measure_sets(
    args: &CommonArgs,
    of: &SuiteSpec,
    sets: &[(String, Experiment)],
    dir: &Path,
) -> Result<SuiteResults, Problem> {
    if !args.resume && dir.read_dir().is_ok_and(|mut entries| entries.next().is_some()) {
        let why = format!("{} is not empty", dir.display());
        let remedy = "name a new directory with -o, measure what is missing with --resume, or show what is in it with --show";
        return Err(ProblemKind::Usage.problem(why, remedy));
    }
    let mut done = complete(args, sets, dir)?;
    if !args.quiet {
        let left = || sets.iter().filter(|(name, _)| !done.contains_key(name));
        let seconds = left().map(|(_, set)| least_seconds(set)).fold(0, u64::saturating_add);
        let (left, seconds) = (left().count(), Duration::from_secs(seconds));
        let kept = if done.is_empty() { String::new() } else { format!(", {} kept", done.len()) };
        let time = anechoic_report::long_time(seconds.as_nanos() as u64);
        let sets = anechoic_report::counted(left as u64, "set", "sets");
        eprintln!("{sets}, at least {time}{kept}");
    }
    let stop = stop::flag()?;
    let mut shown = SuiteResults { found: Vec::new(), worst: 0 };
    for (name, experiment) in sets {
        let recorded = match done.remove(name) {
            Some(recording) => Ok(recording),
            None => record(&plan(experiment.clone()), &dir.join(name), &stop, args.quiet),
        };
        match recorded.and_then(|recording| add_up(of, &recording, args.quiet)) {
            Ok(found) => shown.found.push(found),
            Err(error) => {
                shown.worst = exit::print_error(&error);
                break;
            }
        }
        if stop.load(Ordering::Acquire) {
            shown.worst = shown.worst.max(exit::WARNING);
            break;
        }
    }
    Ok(shown)
}

/// Returns the complete sets of an earlier attempt, and removes those that were interrupted.
fn complete(
    args: &CommonArgs,
    sets: &[(String, Experiment)],
    dir: &Path,
) -> Result<BTreeMap<String, Recording>, Problem> {
    let (mut done, mut interrupted) = (BTreeMap::new(), vec![]);
    for (name, experiment) in sets.iter().filter(|_| args.resume) {
        let dir = dir.join(name);
        if dir.read_dir().map_or(true, |mut entries| entries.next().is_none()) {
            continue;
        }
        let recording = Recording::open(&dir)?;
        let run = recording.run();
        let cpus: Vec<u32> = run.cpus.iter().map(|cpu| cpu.cpu).collect();
        let loops = |cell: &Cell| cell.on.cpus().len().max(1) * cell.copies as usize;
        let series = experiment.cells.iter().map(loops).sum::<usize>() * experiment.blocks as usize;
        let alike = (&*run.method, cpus, recording.series()?.len())
            == (experiment.method, experiment.cpus(), series);
        if !alike {
            let why = format!("{} was measured with other options", dir.display());
            return Err(ProblemKind::Usage.problem(why, "name a new directory with -o"));
        }
        match run.state {
            RunState::Complete => drop(done.insert(name.clone(), recording)),
            _ => interrupted.push(dir),
        }
    }
    for dir in interrupted {
        fs::remove_dir_all(&dir).map_err(|error| Problem::unwritable(&dir, &error))?;
    }
    Ok(done)
}

/// Returns how long a set lasts without noise; with a stopping rule, the shortest time.
fn least_seconds(set: &Experiment) -> u64 {
    let of_sample = |sample: &Sample| {
        let count = match sample.samples {
            _ if sample.maiv_ppm.is_some() => CMT_LEAST_REPETITIONS,
            Samples::Count(count) => count,
            Samples::Within { least, .. } => least,
            Samples::Fill(_) => 1,
        };
        match sample.samples {
            Samples::Within { time, .. } => time.as_secs_f64(),
            _ => sample.amount.length().unwrap_or_default().as_secs_f64() * count as f64,
        }
    };
    let cells = set.cells.iter().filter_map(|cell| cell.sample());
    cells.map(of_sample).sum::<f64>().ceil() as u64
}
