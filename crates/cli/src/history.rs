//! `anechoic history`

use crate::exit;
use crate::inputs::Inputs;
use crate::page::PageArgs;
use crate::progress::Busy;
use crate::show::ShowArgs;
use anechoic_analyze::history::{
    History, Kind, LeftOut, MOST, PastRun, PastWakeups, WakeupHistory, flaws,
};
use anechoic_analyze::monitor::{Monitored, Saved};
use anechoic_analyze::threads::in_order_at_most;
use anechoic_analyze::{summarize, wakeup};
use anechoic_recording::{Problem, ProblemKind, Recording, methods};
use anechoic_report::results::Found;
use anechoic_report::results::history::HISTORY;
use anechoic_report::results::monitored::MONITORED;
use anechoic_report::results::wakeup_history::WAKEUP_HISTORY;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The largest number of recordings that are read at a time; each needs memory.
const MOST_AT_ONCE: usize = 4;

/// How much do runs of this host differ? The noise of its earlier runs, and what a single run must show
///
/// The newest recording of `anechoic run` or `anechoic record` decides which runs count: those of its host that measured the
/// same CPUs for about as long, with the same threshold, policy and kernel events, or that recorded a program of its name. Keep runs of one configuration in a directory of their own:
/// what was changed between them counts as variation. Of recordings of `anechoic measure wakeup` it shows the quantiles and the
/// share of late wake-ups. Of a directory of `anechoic monitor` it shows the rates over time, and what ran when one was
/// unusual. With twenty runs or more, `anechoic compare BEFORE AFTER --history
/// DIR` makes a verdict of one run on each side.
#[derive(Debug, clap::Args)]
#[command(
    mut_arg("json", |arg| arg.help("Print JSON (schema/history.schema.json; of wake-ups wakeup-history.schema.json, of a monitor monitored.schema.json)")),
    after_help = "Examples:\n  anechoic run --repeat 20 -d 5s -o nightly    # or one run a night, each into nightly/DATE\n  \
                  anechoic history nightly --html history.html\n  anechoic compare before after --history nightly"
)]
pub struct HistoryArgs {
    /// Directories with recordings [default: this directory]
    #[arg(value_name = "DIR")]
    dirs: Vec<PathBuf>,
    #[command(flatten)]
    page: PageArgs,
    #[command(flatten)]
    show: ShowArgs,
}

pub fn run(args: &HistoryArgs) -> Result<ExitCode, Problem> {
    args.page.refuse(args.show.force)?;
    let mut printer = args.show.printer()?;
    let here = [PathBuf::from(".")];
    let dirs = if args.dirs.is_empty() { &here[..] } else { &args.dirs };
    let (mut recordings, mut worst) = (vec![], 0);
    for dir in dirs {
        let inputs = Inputs::below(dir)?;
        worst = worst.max(inputs.report_unread());
        recordings.extend(inputs.recordings);
    }
    if recordings.iter().any(|recording| recording.run().method == methods::RATES) {
        let (monitored, code) = monitored(&recordings)?;
        let found = Found::from_value(&MONITORED, monitored, &[]);
        worst = worst.max(code).max(printer.print(&found, dirs.first().map(PathBuf::as_path))?);
        printer.finish()?;
        args.page.write(found, args.show.force)?;
        return Ok(ExitCode::from(worst));
    }
    let with_history =
        recordings.iter().filter(|recording| Kind::from_run(recording.run()).has_history());
    let whole_and_new = |recording: &&Recording| {
        (flaws(recording.run()).is_empty(), recording.run().start_utc.clone())
    };
    let newest = with_history.max_by_key(whole_and_new).ok_or_else(|| {
        let why =
            "there is no recording of `anechoic run`, `anechoic record` or `anechoic measure wakeup`";
        ProblemKind::NoInput.problem(why, "measure some: `anechoic run --repeat 20 -o nightly`")
    })?;
    let kind = Kind::from_run(newest.run());
    let all: Vec<&Recording> = recordings.iter().collect();
    let (found, code) = match kind.is_of_wakeups() {
        true => {
            let (history, code) = history_of_wakeups(kind, &all);
            (Found::from_value(&WAKEUP_HISTORY, history, &[]), code)
        }
        false => {
            let (history, code) = history_of_kind(kind, &all);
            (Found::from_value(&HISTORY, history, &[]), code)
        }
    };
    let place = dirs.first().filter(|_| dirs.len() == 1);
    worst = worst.max(code).max(printer.print(&found, place.map(PathBuf::as_path))?);
    printer.finish()?;
    args.page.write(found, args.show.force)?;
    Ok(ExitCode::from(worst))
}

/// Returns whether a service saved a recording: it is beside its counters, under the name that it gives.
fn is_saved(recording: &Recording, counters: &[&Recording]) -> bool {
    let named = recording.dir().file_name().is_some_and(|name| {
        let name = name.to_string_lossy();
        name.strip_prefix("saved-").is_some_and(|number| number.parse::<u64>().is_ok())
    });
    let beside = counters.iter().any(|one| one.dir().parent() == recording.dir().parent());
    named && beside && recording.run().program.is_some()
}

/// Returns what a service monitored, with what ran in the recordings that it saved. What cannot be read is reported, and
/// returned as an exit code.
fn monitored(recordings: &[Recording]) -> Result<(Monitored, u8), Problem> {
    let is_of_counters = |recording: &&Recording| recording.run().method == methods::RATES;
    let counters: Vec<&Recording> = recordings.iter().filter(is_of_counters).collect();
    let programs: Vec<&Recording> =
        recordings.iter().filter(|recording| is_saved(recording, &counters)).collect();
    let busy = Busy::steps("reading", programs.len() as u64, false);
    let read = in_order_at_most(MOST_AT_ONCE, programs.len(), |at| {
        let saved = Saved::read(programs[at].dir().display().to_string(), programs[at]);
        busy.step();
        saved
    });
    drop(busy);
    let (mut saved, mut worst) = (vec![], 0);
    for one in read {
        match one {
            Ok(one) => saved.push(one),
            Err(problem) => worst = worst.max(exit::print_error(&problem)),
        }
    }
    Ok((anechoic_analyze::monitor::monitored(&counters, saved)?, worst))
}

/// Returns the runs in a directory that were measured like the first run of these sides and belong to neither, nor are
/// copies of one that does; absent if a side has no run. With the exit code of what could not be read.
///
/// # Errors
/// There is no recording in the directory.
pub(crate) fn other_runs(
    dir: &Path,
    sides: &[Vec<&Recording>; 2],
) -> Result<(Option<History>, u8), Problem> {
    let inputs = Inputs::below(dir)?;
    let worst = inputs.report_unread();
    let compared: BTreeSet<_> =
        sides.iter().flatten().map(|recording| identity(recording)).collect();
    let others =
        inputs.recordings.iter().filter(|recording| !compared.contains(&identity(recording)));
    let Some(first) = sides[0].first() else { return Ok((None, worst)) };
    let (history, code) = history_of_kind(Kind::from_run(first.run()), &others.collect::<Vec<_>>());
    Ok((Some(history), worst.max(code)))
}

/// Returns what a run shares with its copies alone, wherever they are: when it began, by two clocks, and when it ended.
fn identity(recording: &Recording) -> (&str, u64, u64) {
    let run = recording.run();
    (&run.start_utc, run.start_ticks, run.end_ticks)
}

/// Reads the runs of this kind, each once. What cannot be read is reported and left out, and returned as an exit code.
fn history_of_kind(kind: Kind, recordings: &[&Recording]) -> (History, u8) {
    let (past, left_out, worst) = read_alike(&kind, recordings, |path, recording| {
        let summary = summarize(recording)?;
        Ok(PastRun::new(path, recording.run(), &summary))
    });
    (History::new(kind, past, left_out), worst)
}

/// Does the same for runs of wake-ups.
fn history_of_wakeups(kind: Kind, recordings: &[&Recording]) -> (WakeupHistory, u8) {
    let (past, left_out, worst) = read_alike(&kind, recordings, |path, recording| {
        let found = wakeup(recording)?;
        Ok(PastWakeups::new(path, recording.run(), &found))
    });
    (WakeupHistory::new(kind, past, left_out), worst)
}

/// Reads the runs of this kind, each once, by `read`. What cannot be read is reported, and returned as an exit code.
fn read_alike<T: Send>(
    kind: &Kind,
    recordings: &[&Recording],
    read: impl Fn(String, &Recording) -> Result<T, Problem> + Sync,
) -> (Vec<T>, LeftOut, u8) {
    let alike = recordings.iter().filter(|recording| {
        let other = Kind::from_run(recording.run());
        other.has_history() && other.is_like(kind)
    });
    let mut runs: Vec<&Recording> = alike.copied().collect();
    let others = recordings.len() - runs.len();
    let count = runs.len();
    runs.retain(|recording| flaws(recording.run()).is_empty());
    let not_whole = count - runs.len();
    runs.sort_by_key(|recording| identity(recording));
    runs.dedup_by_key(|recording| identity(recording));
    let older = runs.len().saturating_sub(MOST);
    let runs = &runs[older..];
    let busy = Busy::steps("reading", runs.len() as u64, false);
    let read = in_order_at_most(MOST_AT_ONCE, runs.len(), |at| {
        let path = runs[at].dir();
        let path = path.strip_prefix(".").unwrap_or(path).display().to_string();
        let past = read(path, runs[at]);
        busy.step();
        past
    });
    drop(busy);
    let (mut past, mut worst) = (vec![], 0);
    for run in read {
        match run {
            Ok(run) => past.push(run),
            Err(problem) => worst = worst.max(exit::print_error(&problem)),
        }
    }
    let [not_whole, older, others] = [not_whole, older, others].map(|number| number as u64);
    (past, LeftOut { not_whole, older, others }, worst)
}
