//! `anechoic predict bsp`

use crate::progress::Busy;
use crate::show::Printer;
use anechoic_predict::bsp::read;
use anechoic_report::results::Found;
use anechoic_report::results::bsp::BSP;
use std::path::PathBuf;
use std::process::ExitCode;

/// What noise cost a job that was measured, beside what the detours of the same phases predict
///
/// From a recording of `anechoic measure bsp`, or a directory with those of all hosts of the job: for each grain and kind
/// of meeting the measured slowdown, the one that the recursion says, their ratio, and where the two part.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct BspArgs {
    /// A recording, or a directory with one a host
    recording: PathBuf,
    /// Print JSON (schema/bsp.schema.json)
    #[arg(long)]
    json: bool,
    /// Show every case, rank and source, not only the first
    #[arg(long)]
    all: bool,
}

const EXAMPLES: &str = "Examples:
  anechoic measure bsp -o job && anechoic predict bsp job
  anechoic predict bsp job --json | jq '.cells[] | {grain_ns, meeting, ratio}'

Exits 3 where nothing could be compared.";

pub(super) fn run(args: &BspArgs) -> anyhow::Result<ExitCode> {
    let busy = Busy::with("comparing", false);
    let found = read(&args.recording)?;
    drop(busy);
    let mut printer = Printer::stdout(args.json, args.all);
    let code = printer.print(&Found::of(&BSP, found, &[]), Some(&args.recording))?;
    printer.finish()?;
    Ok(ExitCode::from(code))
}
