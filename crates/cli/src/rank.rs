//! `anechoic rank`

use crate::page::PageArgs;
use crate::progress::Busy;
use crate::show::ShowArgs;
use crate::sides::Sides;
use anechoic_analyze::rank::{Configuration, rank};
use anechoic_recording::{Problem, Recording};
use anechoic_report::results::Found;
use anechoic_report::results::rank::RANK;
use std::process::ExitCode;

/// Rank kernels, settings or machines: whose noise is lowest, how often, and which differences exceed the variation
///
/// Each argument is a configuration: a recording, or repeated runs separated by commas, or a directory that holds them.
/// All must be measured with the same method and options: fwq, ftq, tick, loops, memory or paging. Noise is the variance of
/// the samples divided by their mean (Wächtler & Sojka 2012). The time of the same work is compared with the first
/// configuration: name the run without an operating system first, and its time is the baseline.
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
    let mut printer = args.show.printer()?;
    let sides = Sides::open(&args.configurations)?;
    sides.refuse_overlap()?;
    let worst = sides.report_unread();
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
    let code = printer.print(&found, None)?;
    printer.finish()?;
    args.page.write(found, args.show.force)?;
    Ok(ExitCode::from(worst.max(code)))
}
