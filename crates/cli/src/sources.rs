//! `anechoic sources`

use crate::exit;
use crate::progress::Busy;
use crate::terminal;
use anechoic_recording::find;
use anechoic_report::View;
use std::io::Write;
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
    let mut worst = 0;
    for recording in find(&args.recording)? {
        let sources = {
            let _busy = Busy::with("adding up", false);
            anechoic_analyze::sources(&recording)
        };
        match sources {
            Ok(sources) if args.json => anechoic_report::json(&sources, &mut out)?,
            Ok(sources) => {
                let view = View { all: true, ..terminal::view(Some(recording.dir())) };
                anechoic_report::sources(&sources, &view).write(&view, &mut out)?;
            }
            // The others are still worth seeing.
            Err(error) => worst = worst.max(exit::tell(&error.into())),
        }
    }
    out.flush()?;
    Ok(ExitCode::from(worst))
}
