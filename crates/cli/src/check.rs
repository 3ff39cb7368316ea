//! `anechoic check`

use crate::terminal;
use std::io::Write;
use std::process::ExitCode;

/// What can be measured on this machine, and what would enable the rest
///
/// Changes nothing and needs no privilege; run it as the user who will measure.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  anechoic check --json | jq '.findings[] | select(.verdict == \"missing\")'"
)]
pub struct CheckArgs {
    /// Print JSON (schema/check.schema.json)
    #[arg(long)]
    json: bool,
}

pub fn run(args: &CheckArgs) -> anyhow::Result<ExitCode> {
    let check = anechoic_measure::check::check();
    let mut out = terminal::stdout();
    if args.json {
        anechoic_report::json(&check, &mut out)?;
    } else {
        anechoic_report::check(&check, &terminal::view(None), &mut out)?;
    }
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}
