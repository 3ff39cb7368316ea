//! `anechoic compare`

use crate::ask;
use crate::history;
use crate::page::PageArgs;
use crate::progress::Busy;
use crate::show::ShowArgs;
use crate::sides::Sides;
use anechoic_analyze::compare::wakeups::{WakeupRun, compare_wakeups};
use anechoic_analyze::compare::{Beside, ComparedRun, Trials, compare};
use anechoic_analyze::history::History;
use anechoic_analyze::threads::in_order_at_most;
use anechoic_analyze::waits::releases;
use anechoic_analyze::{Summary, Wakeup, summarize, wakeup};
use anechoic_recording::{Problem, ProblemKind, Recording, methods};
use anechoic_report::results::Found;
use anechoic_report::results::compare::{COMPARE, job_costs};
use anechoic_report::results::compare_wakeups::COMPARE_WAKEUPS;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

/// Recordings that are read at the same time: each takes up to 50 MB.
const MOST_AT_ONCE: usize = 4;

/// Did the noise change? Compare runs before and after, with a verdict, its interval, and the sources that changed
///
/// Each side is a directory of repeated runs (`anechoic run --repeat 5 -o before`), or recordings separated by commas.
/// The verdict comes from the variation between runs. With only one run on either side there is no verdict, and the
/// result states only whether the recordings differ, unless earlier runs of the host show how much its runs differ
/// (--history). If the runs of both sides alternate in time, as those of `anechoic ab` do, neighbours are compared in
/// pairs, so that drift of the host does not look like a change. In a guest, time below the kernel is a control: if it
/// moved, the verdict is "unproven". It is also "unproven" if the runs of each side were measured together, and the two
/// sides more than ten minutes apart. Recordings of `anechoic measure wakeup` are compared by median, 99th percentile and
/// share of late wake-ups.
#[derive(Debug, clap::Args)]
#[command(
    mut_arg("json", |arg| arg.help("Print JSON (schema/compare.schema.json; of wake-ups compare-wakeups.schema.json)")),
    after_help = "Examples:\n  anechoic run --repeat 5 -d 5s -o before\n  sysctl kernel.numa_balancing=0\n  \
                  anechoic run --repeat 5 -d 5s -o after\n  anechoic compare before after --html change.html\n  \
                  anechoic compare wake1,wake2,wake3 wake4,wake5,wake6          # of `anechoic measure wakeup`\n  \
                  anechoic compare a1,a2,a3 b1,b2,b3 --ranks 1000 --grain 1ms   # and the cost for a job\n  \
                  anechoic compare today yesterday --history /data/nightly      # one run on each side\n\n\
                  Exits with 0 if there is a verdict, also that no change is shown, with 3 if there is none (one run on a \
                  side, or unproven), and with 1 if a recording is not complete."
)]
pub struct CompareArgs {
    /// Runs before the change
    #[arg(value_name = "BEFORE")]
    before: String,
    /// Runs after the change
    #[arg(value_name = "AFTER")]
    after: String,
    /// Directory with earlier runs of this host: twenty or more that were measured alike show how much single runs differ
    #[arg(long, value_name = "DIR")]
    history: Option<PathBuf>,
    #[command(flatten)]
    job: JobArgs,
    #[command(flatten)]
    page: PageArgs,
    #[command(flatten)]
    show: ShowArgs,
}

// The job whose cost is compared. No doc comment: clap would print it as the command's help.
#[derive(Debug, clap::Args)]
pub(crate) struct JobArgs {
    /// Predict the cost for a job of this many ranks from each run
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    ranks: Option<u64>,
    /// Undisturbed time between two synchronisations of that job
    #[arg(long, value_name = "TIME", value_parser = ask::duration, default_value = "1ms", requires = "ranks")]
    grain: Duration,
}

pub fn run(args: &CompareArgs) -> Result<ExitCode, Problem> {
    args.page.refuse(args.show.force)?;
    let mut printer = args.show.printer()?;
    let named = [args.before.clone(), args.after.clone()];
    let sides = Sides::open(&named)?;
    sides.refuse_overlap()?;
    let mut worst = sides.report_unread();
    let recordings = |at: usize| sides.inputs[at].recordings.iter().collect::<Vec<&Recording>>();
    let both = [recordings(0), recordings(1)];
    let earlier = match &args.history {
        Some(dir) => {
            let (history, code) = history::other_runs(dir, &both)?;
            worst = worst.max(code);
            history
        }
        None => None,
    };
    let names = <[String; 2]>::try_from(sides.names()).unwrap_or_default();
    let found = compared(names, both, &args.job, None, earlier.as_ref())?;
    let code = printer.print(&found, None)?;
    printer.finish()?;
    args.page.write(found, args.show.force)?;
    Ok(ExitCode::from(worst.max(code)))
}

/// Compares the recordings of both sides, which may be trials, or have earlier runs beside them.
///
/// # Errors
/// A recording cannot be read or compared, or is too short for the job.
pub(crate) fn compared(
    names: [String; 2],
    [before, after]: [Vec<&Recording>; 2],
    job_args: &JobArgs,
    trials: Option<&Trials>,
    history: Option<&History>,
) -> Result<Found, Problem> {
    before.iter().chain(&after).try_for_each(|recording| refuse_counts(recording))?;
    let is_of_wakeups = |recording: &&Recording| recording.run().method == methods::WAKEUP;
    if before.iter().chain(&after).all(is_of_wakeups) {
        if job_args.ranks.is_some() || history.is_some() {
            let why =
                "--ranks and --history are for the noise of recordings, and these are of wake-ups";
            return Err(ProblemKind::Usage.problem(why, "leave them out"));
        }
        return compared_wakeups(names, [before, after], trials);
    }
    let all = [&before[..], &after].concat();
    let busy = Busy::steps("comparing", all.len() as u64, false);
    let read = in_order_at_most(MOST_AT_ONCE, all.len(), |at| {
        let summary = with_releases(all[at]);
        busy.step();
        summary
    });
    let mut summaries_before = read.into_iter().collect::<Result<Vec<Summary>, Problem>>()?;
    let summaries_after = summaries_before.split_off(before.len());
    let summaries = [summaries_before, summaries_after];
    let grain_ns = u64::try_from(job_args.grain.as_nanos()).unwrap_or(u64::MAX);
    let job =
        job_args.ranks.map(|ranks| job_costs([&before, &after], ranks, grain_ns)).transpose()?;
    let compared = compare(
        names,
        [&runs(&before, &summaries[0]), &runs(&after, &summaries[1])],
        Beside { job: job.as_ref(), trials, history },
    )?;
    Ok(Found::from_value(&COMPARE, compared, &all))
}

/// Summarises a recording, with the releases of its program.
fn with_releases(recording: &Recording) -> Result<Summary, Problem> {
    Ok(Summary { releases: releases(recording)?, ..summarize(recording)? })
}

/// Compares recordings of wake-ups.
fn compared_wakeups(
    names: [String; 2],
    sides: [Vec<&Recording>; 2],
    trials: Option<&Trials>,
) -> Result<Found, Problem> {
    let all = sides.concat();
    let results = wakeups_of_each(&all, "comparing")?;
    let pairs = all.iter().zip(&results);
    let runs: Vec<WakeupRun<'_>> =
        pairs.map(|(recording, found)| WakeupRun { run: recording.run(), found }).collect();
    let (before, after) = runs.split_at(sides[0].len());
    let found = compare_wakeups(names, [before, after], trials)?;
    Ok(Found::from_value(&COMPARE_WAKEUPS, found, &all))
}

/// Reads the wake-ups of several recordings.
pub(crate) fn wakeups_of_each(all: &[&Recording], what: &str) -> Result<Vec<Wakeup>, Problem> {
    let busy = Busy::steps(what, all.len() as u64, false);
    let read = in_order_at_most(MOST_AT_ONCE, all.len(), |at| {
        let found = wakeup(all[at]);
        busy.step();
        found
    });
    read.into_iter().collect()
}

/// Refuses what another tool counted by length: it has neither causes nor the times that intervals come from.
fn refuse_counts(recording: &Recording) -> Result<(), Problem> {
    if !methods::COUNTED.contains(&&*recording.run().method) {
        return Ok(());
    }
    let why = "it has only counts by length, which show neither causes nor how the noise varies within a run";
    let measured = match &*recording.run().method {
        methods::LATENCIES => "anechoic measure wakeup",
        _ => "anechoic run",
    };
    let remedy = format!(
        "`anechoic summary` shows the counts of both, and `anechoic gate` holds each to limits; \
         compare recordings of `{measured}`"
    );
    Err(ProblemKind::NoVerdict.problem(why, remedy).about(recording.dir().display()))
}

/// Pairs recordings with their summaries.
pub(crate) fn runs<'a>(
    recordings: &[&'a Recording],
    summaries: &'a [Summary],
) -> Vec<ComparedRun<'a>> {
    let pairs = recordings.iter().zip(summaries);
    pairs.map(|(recording, summary)| ComparedRun { run: recording.run(), summary }).collect()
}
