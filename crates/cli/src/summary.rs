//! `anechoic summary`

use crate::progress::Busy;
use crate::run::verdict;
use crate::terminal;
use anechoic_recording::find;
use anechoic_report::View;
use std::path::PathBuf;
use std::process::ExitCode;

/// Show a recording: noise per CPU, what took the time, how sure that is
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  anechoic summary anechoic-20261121T080000 --json | jq .noise")]
pub struct SummaryArgs {
    /// A recording, or a directory of recordings
    recording: PathBuf,
    /// Print JSON (schema/summary.schema.json), one document a recording
    #[arg(long)]
    json: bool,
    /// Show every source and every CPU, not only the first
    #[arg(long)]
    all: bool,
}

pub fn run(args: &SummaryArgs) -> anyhow::Result<ExitCode> {
    let mut out = terminal::stdout();
    let mut worst = 0;
    for recording in find(&args.recording)? {
        let busy = Busy::with("adding up", false);
        let summary = anechoic_analyze::summarize(&recording)?;
        drop(busy);
        if args.json {
            anechoic_report::json(&summary, &mut out)?;
        } else {
            let view = View { all: args.all, ..terminal::view(Some(recording.dir())) };
            anechoic_report::summary(&summary, &view, &mut out)?;
        }
        worst = worst.max(verdict(&summary));
    }
    Ok(ExitCode::from(worst))
}
