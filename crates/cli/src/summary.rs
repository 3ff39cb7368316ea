//! `anechoic summary`

use crate::exit;
use crate::progress::Busy;
use crate::run::verdict;
use crate::terminal;
use anechoic_recording::find;
use anechoic_report::View;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

/// Show a recording: noise per CPU, what took the time, how sure that is
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  anechoic summary anechoic-20261121T080000 --json | jq .total.noise"
)]
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
    let mut summaries = Vec::new();
    for recording in find(&args.recording)? {
        let summary = {
            let _busy = Busy::with("adding up", false);
            anechoic_analyze::summarize(&recording)
        };
        let summary = match summary {
            Ok(summary) => summary,
            Err(error) => {
                worst = worst.max(exit::tell(&error.into())); // the others are still worth seeing
                continue;
            }
        };
        if args.json {
            anechoic_report::json(&summary, &mut out)?;
        } else {
            let view = View { all: args.all, ..terminal::view(Some(recording.dir())) };
            anechoic_report::summary(&summary, &view, &mut out)?;
        }
        worst = worst.max(verdict(&summary));
        summaries.push(summary);
    }
    let repeated = summaries.len() > 1 && summaries.iter().all(|s| s.run.repetition.is_some());
    let repeat = anechoic_analyze::summarize_many(&summaries).filter(|_| repeated && !args.json);
    if let Some(repeat) = repeat {
        anechoic_report::repeat(&repeat, &terminal::view(Some(&args.recording)), &mut out)?;
    }
    out.flush()?;
    Ok(ExitCode::from(worst))
}
