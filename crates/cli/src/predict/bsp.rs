//! `anechoic predict bsp`

use crate::progress::Busy;
use crate::{exit, terminal};
use anechoic_predict::bsp::{Bsp, read};
use anechoic_report::View;
use std::io::Write;
use std::path::{Path, PathBuf};
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
    let mut out = terminal::stdout();
    let code = show(&args.recording, args.json, args.all, &mut out)?;
    out.flush()?;
    Ok(ExitCode::from(code))
}

/// Shows the job whose recordings lie at `path`; gives the exit code.
///
/// # Errors
/// Those of [`anechoic_predict::bsp::bsp`], and those of `out`.
pub fn show(path: &Path, json: bool, all: bool, out: &mut dyn Write) -> anyhow::Result<u8> {
    let busy = Busy::with("comparing", false);
    let found = read(path)?;
    drop(busy);
    if json {
        anechoic_report::json(&found, out)?;
    } else {
        let view = View { all, ..terminal::view(Some(path)) };
        anechoic_report::bsp(&found, &view).write(&view, out)?;
    }
    Ok(verdict(&found))
}

/// The exit code of what was found.
fn verdict(found: &Bsp) -> u8 {
    let predicted = found.cells.iter().any(|cell| cell.predicted.is_some());
    let left_out = found.cells.iter().any(|cell| cell.left_out > 0);
    match (predicted, left_out || !found.notes.is_empty()) {
        (false, _) => exit::NO_VERDICT,
        (true, true) => exit::WARNING,
        (true, false) => 0,
    }
}
