//! `anechoic summary`

use crate::hist::HistArgs;
use crate::inputs::InputArgs;
use crate::show::{ShowArgs, summaries};
use crate::suite;
use anechoic_recording::Problem;
use anechoic_report::results::{Methods, RESULTS};
use std::process::ExitCode;

/// Show a recording: noise per CPU or the distribution of samples, what took the time, how certain that is
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  anechoic summary anechoic-20261121T080000 --json | jq .total.noise\n  \
                  anechoic summary anechoic-20261121T080000 --hist --bucket 1us > hist.txt",
    mut_arg("json", |arg| arg.help(json_help())),
    mut_arg("all", |arg| arg.help("Show every source and every CPU, not only the first ones"))
)]
pub struct SummaryArgs {
    #[command(flatten)]
    input: InputArgs,
    #[command(flatten)]
    hist: HistArgs,
    #[command(flatten)]
    show: ShowArgs,
}

pub fn run(args: &SummaryArgs) -> Result<ExitCode, Problem> {
    let (inputs, mut printer) = (args.input.open()?, args.show.printer()?);
    if args.hist.asked() {
        return args.hist.print(&inputs, printer);
    }
    if let Some(code) = suite::summary(&inputs, &mut printer)? {
        printer.finish()?;
        return Ok(ExitCode::from(code));
    }
    summaries(&inputs, printer, false).map(ExitCode::from)
}

/// Lists the schemas that the JSON output follows.
fn json_help() -> String {
    let shown = RESULTS.iter().filter(|row| row.in_summary() != Methods::None);
    let schemas = shown.filter(|row| row.in_json());
    let schemas: Vec<String> = schemas.map(|row| format!("{}.schema.json", row.id())).collect();
    format!(
        "Print JSON, one document per recording or job; its schema is one of schema/{}",
        schemas.join(", ")
    )
}
