//! `anechoic attribute`

use crate::progress::Busy;
use anechoic_recording::{Problem, find, methods};
use std::path::PathBuf;
use std::process::ExitCode;

/// Name the causes of a recording's detours again, from its stored kernel events
///
/// Needs no privileges and can run on any machine, for example with a later version or on a laptop.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  anechoic attribute anechoic-20261121T080000 && anechoic sources anechoic-20261121T080000"
)]
pub struct AttributeArgs {
    /// A recording, or a directory of recordings
    recording: PathBuf,
}

pub fn run(args: &AttributeArgs) -> Result<ExitCode, Problem> {
    for recording in find(&args.recording)? {
        let shown = recording.dir().display();
        if recording.run().trace.is_none() {
            println!("{shown}: no kernel events were recorded, so there is nothing to attribute");
            continue;
        }
        let busy = Busy::with("attributing", false);
        let attribution = anechoic_attribute::attribute(&recording)?;
        drop(busy);
        let alignment = attribution.alignment;
        if alignment.events == 0 && recording.run().method != methods::DETOURS {
            println!(
                "{shown}: kernel events attributed to whole samples, because gaps inside them were not recorded"
            );
            continue;
        }
        println!(
            "{shown}: {} kernel events attributed, {} outside detours",
            alignment.events, alignment.outside
        );
    }
    Ok(ExitCode::SUCCESS)
}
