//! `anechoic sweep`

use crate::inputs::{InputArgs, Inputs};
use crate::progress::Busy;
use crate::show::ShowArgs;
use crate::sides::{PageArgs, refuse_overlap};
use anechoic_analyze::sweep::By;
use anechoic_recording::{Problem, Recording};
use anechoic_report::results::Found;
use anechoic_report::results::sweep::{SWEEP, sweep};
use std::process::ExitCode;

/// Join measurements of several sizes or tick rates: mean and deviation against ranks, CPUs, hosts or the rate
///
/// Recordings with the same number are repeated measurements. Recordings of the hosts of one job (JOB/host=NAME) are one
/// measurement. What is joined: of `run` the noise, of `measure bsp` the delay of a phase, of `measure fwq`, `ftq`, `tick`
/// and `loops` the noise of each series and its cumulative distribution.
#[derive(Debug, clap::Args)]
#[command(
    mut_arg("json", |arg| arg.help("Print JSON (schema/sweep.schema.json)")),
    mut_arg("recordings", |arg| arg.required(true).help("Recordings, or directories of recordings")),
    after_help = "Examples:\n  anechoic measure loops -o 250hz; anechoic inject --rate 750hz -- anechoic measure loops -o 1000hz\n  \
                  anechoic sweep 250hz 1000hz --figures figures\n  \
                  anechoic sweep ranks-2 ranks-4 ranks-8               `measure bsp`: delay of a phase by the number of ranks\n  \
                  anechoic sweep jobs --html jobs.html                 jobs of several sizes, repeated: noise by the number of CPUs"
)]
pub struct SweepArgs {
    #[command(flatten)]
    input: InputArgs,
    /// The number in which they differ [default: rate for samples, ranks for bsp, cpus for run]
    #[arg(long, value_enum)]
    by: Option<Number>,
    #[command(flatten)]
    page: PageArgs,
    #[command(flatten)]
    show: ShowArgs,
}

/// The number in which recordings differ.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum Number {
    /// Timer interrupts per second: the kernel's tick, and injected interrupts in addition
    Rate,
    /// Ranks of the job
    Ranks,
    /// Measured CPUs of all hosts
    Cpus,
    /// Hosts of the job
    Hosts,
}

pub fn run(args: &SweepArgs) -> Result<ExitCode, Problem> {
    args.page.refuse(args.show.force)?;
    let mut printer = args.show.printer()?;
    let inputs: Inputs = args.input.open()?;
    refuse_overlap([&inputs].into_iter())?;
    let worst = inputs.report_unread();
    let recordings: Vec<&Recording> = inputs.recordings.iter().collect();
    let by = args.by.map(|by| match by {
        Number::Rate => By::Rate,
        Number::Ranks => By::Ranks,
        Number::Cpus => By::Cpus,
        Number::Hosts => By::Hosts,
    });
    let busy = Busy::with("joining", false);
    let joined = sweep(&recordings, by)?;
    drop(busy);
    let found = Found::of(&SWEEP, joined, &recordings);
    let code = printer.print(&found, None)?;
    printer.finish()?;
    args.page.write(found, args.show.force)?;
    Ok(ExitCode::from(worst.max(code)))
}
