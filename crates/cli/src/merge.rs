//! `anechoic merge`

use crate::exit;
use crate::inputs::{CLUSTER, InputArgs};
use crate::progress::Busy;
use crate::show::{ComputedResults, Printer};
use anechoic_recording::{Problem, ProblemKind, Recording, create_dir_all, methods, replace_file};
use anechoic_report::results::cluster::CLUSTER as RESULT;
use anechoic_report::results::wakeup_hosts::WAKEUP_HOSTS;
use anechoic_report::results::{AnyRow, Found, Job};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Merge the recordings of many hosts: rank hosts and CPUs, find outliers, write cluster.json
///
/// Reads all recordings (usually of a directory with one in each host=NAME), attributes those that are not
/// attributed yet, and writes cluster.json. Missing, damaged and inconsistent hosts are reported, and the exit
/// code is then 1 or more. `anechoic summary` shows the same and writes nothing. Hosts with recordings of `anechoic measure
/// wakeup` are ranked by their late wake-ups.
#[derive(Debug, clap::Args)]
#[command(
    mut_arg("recordings", |arg| arg.help("Recordings, or directories of recordings").required(true)),
    after_help = "Examples:\n  anechoic run -o data/host=a   # on each host\n  anechoic merge data\n  anechoic merge node-a node-b -o together"
)]
pub struct MergeArgs {
    #[command(flatten)]
    input: InputArgs,
    /// Directory for cluster.json [default: the directory of the recordings, if only one is named]
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// Print JSON (schema/cluster.schema.json; of wake-ups wakeup-hosts.schema.json)
    #[arg(long)]
    json: bool,
    /// Show every host, CPU and source, not only the first ones
    #[arg(long)]
    all: bool,
}

pub fn run(args: &MergeArgs) -> Result<ExitCode, Problem> {
    let busy = Busy::with("adding up", false);
    let mut inputs = args.input.open()?;
    let dir = args.output.as_deref().or(inputs.place()).map(Path::to_owned);
    let dir = dir.ok_or_else(|| {
        let why = "several recordings are named, and none of them is the place for cluster.json";
        ProblemKind::Usage.problem(why, "name a directory for it with -o")
    })?;
    let mut worst = attribute(&mut inputs.recordings)?;
    worst = worst.max(inputs.report_unread());
    let job = Job { row: row(&inputs.recordings), recordings: inputs.recordings.iter().collect() };
    let (found, code) = ComputedResults::default().compute(&job, &inputs.left_out());
    drop(busy);
    let found = found?;
    create_dir_all(&dir).map_err(|error| Problem::unwritable(&dir, &error))?;
    save(&found, &dir.join(CLUSTER))?;
    show(&found, worst.max(code), &dir, Printer::stdout(args.json, args.all))
}

/// Returns the result of many hosts: that of wake-ups, where all recordings are of such.
fn row(recordings: &[Recording]) -> &'static dyn AnyRow {
    let of_wakeups = |recording: &Recording| recording.run().method == methods::WAKEUP;
    match !recordings.is_empty() && recordings.iter().all(of_wakeups) {
        true => &WAKEUP_HOSTS,
        false => &RESULT,
    }
}

/// Attributes the recordings that are not attributed yet. A recording that cannot be attributed is still
/// merged; returns the exit code of that.
fn attribute(recordings: &mut [Recording]) -> Result<u8, Problem> {
    let mut worst = 0;
    for recording in recordings {
        if recording.run().trace.is_none() || !matches!(recording.attribution(), Ok(None)) {
            continue;
        }
        if let Err(error) = crate::attribute::attribute(recording) {
            worst = worst.max(exit::print_error(&error));
        }
        *recording = Recording::open(recording.dir())?;
    }
    Ok(worst)
}

/// Writes the merged result to a file of its data set, completely or not at all.
///
/// # Errors
/// Returns errors of writing.
pub(crate) fn save(found: &Found, file: &Path) -> Result<(), Problem> {
    let mut json = vec![];
    found.json(&mut json)?;
    Ok(replace_file(file, &json)?)
}

/// Prints the merged result and returns the larger of `worst` and the exit code of the result.
pub fn show(
    found: &Found,
    worst: u8,
    dir: &Path,
    mut printer: Printer,
) -> Result<ExitCode, Problem> {
    let code = printer.print(found, Some(dir))?;
    printer.finish()?;
    Ok(ExitCode::from(worst.max(code)))
}
