//! `anechoic sources`

use crate::inputs::InputArgs;
use crate::show::{ShowArgs, each};
use anechoic_recording::Problem;
use anechoic_report::results::sources::SOURCES;
use std::process::ExitCode;

/// Show every noise source of a recording: what it took, who caused it, how to reduce it
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  anechoic sources anechoic-20261121T080000",
    mut_arg("json", |arg| arg.help("Print JSON (schema/sources.schema.json), one document per recording")),
    mut_arg("all", |arg| arg.help("Show every source, what it is, and all that reduces it"))
)]
pub struct SourcesArgs {
    #[command(flatten)]
    input: InputArgs,
    #[command(flatten)]
    show: ShowArgs,
}

pub fn run(args: &SourcesArgs) -> Result<ExitCode, Problem> {
    let printer = args.show.printer()?;
    each(&SOURCES, None, &args.input.open()?, printer)
}
