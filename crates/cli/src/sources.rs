//! `anechoic sources`

use crate::progress::Busy;
use crate::terminal;
use anechoic_recording::find;
use anechoic_report::View;
use std::path::PathBuf;
use std::process::ExitCode;

/// Show every source of noise in a recording: what it took, who caused it, what reduces it
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  anechoic sources anechoic-20261121T080000")]
pub struct SourcesArgs {
    /// A recording, or a directory of recordings
    recording: PathBuf,
    /// Print JSON (schema/sources.schema.json), one document a recording
    #[arg(long)]
    json: bool,
}

pub fn run(args: &SourcesArgs) -> anyhow::Result<ExitCode> {
    let mut out = terminal::stdout();
    for recording in find(&args.recording)? {
        let busy = Busy::with("adding up", false);
        let sources = anechoic_analyze::sources(&recording)?;
        drop(busy);
        if args.json {
            anechoic_report::json(&sources, &mut out)?;
        } else {
            anechoic_report::sources(
                &sources,
                &View { all: true, ..terminal::view(Some(recording.dir())) },
                &mut out,
            )?;
        }
    }
    Ok(ExitCode::SUCCESS)
}
