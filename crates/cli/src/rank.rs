//! `anechoic rank`

use crate::compare::wakeups_of_each;
use crate::inputs::Inputs;
use crate::page::PageArgs;
use crate::progress::Busy;
use crate::show::{Printer, ShowArgs};
use crate::sides::Sides;
use anechoic_analyze::compare::wakeups::WakeupRun;
use anechoic_analyze::rank::wakeups::rank_wakeups;
use anechoic_analyze::rank::{Configuration, rank};
use anechoic_recording::{Problem, Recording, methods};
use anechoic_report::results::Found;
use anechoic_report::results::rank::RANK;
use anechoic_report::results::rank_wakeups::RANK_WAKEUPS;
use std::process::ExitCode;

/// Rank kernels, settings or machines: whose noise is lowest, how often, and which differences exceed the variation
///
/// Each argument is a configuration: a recording, or repeated runs separated by commas, or a directory that holds them.
/// All must be measured with the same method and options: fwq, ftq, tick, loops, memory or paging. Noise is the variance of
/// the samples divided by their mean (Wächtler & Sojka 2012). The time of the same work is compared with the first
/// configuration: name the run without an operating system first, and its time is the baseline. Recordings of
/// `measure wakeup` are ranked by their latencies: median, 99th percentile and share of late wake-ups.
#[derive(Debug, clap::Args)]
#[command(
    mut_arg("json", |arg| arg.help("Print JSON (schema/rank.schema.json)")),
    after_help = "Examples:\n  anechoic measure fwq -o before; anechoic measure fwq -o after\n  anechoic rank before after\n  \
                  anechoic rank before after --html rank.html --figures figures\n  \
                  anechoic rank bare/fwq minimal linux            # what each system adds to the image without one\n  \
                  anechoic rank quiet1,quiet2,quiet3 loaded1,loaded2,loaded3   # includes what differs from run to run"
)]
pub struct RankArgs {
    /// Configurations: recordings, separated by commas if they are repeated runs
    #[arg(required = true, value_name = "RECORDINGS")]
    configurations: Vec<String>,
    #[command(flatten)]
    page: PageArgs,
    #[command(flatten)]
    show: ShowArgs,
}

pub fn run(args: &RankArgs) -> Result<ExitCode, Problem> {
    args.page.refuse(args.show.force)?;
    let printer = args.show.printer()?;
    let sides = Sides::open(&args.configurations)?;
    sides.refuse_overlap()?;
    let worst = sides.report_unread();
    let is_wakeup = |inputs: &Inputs| {
        inputs.recordings.iter().all(|recording| recording.run().method == methods::WAKEUP)
    };
    if sides.inputs.iter().all(is_wakeup) {
        let found = ranked_wakeups(&sides)?;
        return finish(args, printer, found, worst);
    }
    let busy = Busy::with("ranking", false);
    let configurations: Vec<Configuration<'_>> = sides
        .inputs
        .iter()
        .zip(sides.names())
        .map(|(inputs, name)| Configuration {
            name,
            recordings: inputs.recordings.iter().collect(),
        })
        .collect();
    let ranking = rank(&configurations)?;
    let recordings: Vec<&Recording> = configurations
        .iter()
        .flat_map(|configuration| configuration.recordings.iter().copied())
        .collect();
    drop(busy);
    let found = Found::from_value(&RANK, ranking, &recordings);
    finish(args, printer, found, worst)
}

/// Prints the result, and writes its page and figures.
fn finish(
    args: &RankArgs,
    mut printer: Printer,
    found: Found,
    worst: u8,
) -> Result<ExitCode, Problem> {
    let code = printer.print(&found, None)?;
    printer.finish()?;
    args.page.write(found, args.show.force)?;
    Ok(ExitCode::from(worst.max(code)))
}

/// Ranks recordings of wake-ups.
fn ranked_wakeups(sides: &Sides<'_>) -> Result<Found, Problem> {
    let all: Vec<&Recording> = sides.inputs.iter().flat_map(|inputs| &inputs.recordings).collect();
    let results = wakeups_of_each(&all, "ranking")?;
    let mut runs = all
        .iter()
        .zip(&results)
        .map(|(recording, found)| WakeupRun { run: recording.run(), found });
    let configurations: Vec<(String, Vec<WakeupRun<'_>>)> = sides
        .names()
        .into_iter()
        .zip(&sides.inputs)
        .map(|(name, inputs)| (name, runs.by_ref().take(inputs.recordings.len()).collect()))
        .collect();
    Ok(Found::from_value(&RANK_WAKEUPS, rank_wakeups(&configurations)?, &all))
}
