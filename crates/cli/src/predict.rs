//! `anechoic predict`: from what was measured to what was not.

mod bsp;
mod phases;

use crate::exit;
use crate::progress::Busy;
use crate::show::Printer;
use anechoic_predict::ticks::{model, read_files, table_of};
use anechoic_recording::Recording;
use anechoic_report::results::Found;
use anechoic_report::results::ticks::TICKS;
use clap::{ArgGroup, Args, Subcommand};
use std::path::PathBuf;
use std::process::ExitCode;

/// Predict what noise costs where it was not measured
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  anechoic predict phases anechoic-20261121T080000\n  anechoic predict bsp anechoic-20261121T080000\n  anechoic predict ticks anechoic-20261121T080000\n  anechoic predict ticks --times times.csv --costs costs.csv"
)]
pub struct PredictArgs {
    #[command(subcommand)]
    model: Of,
}

#[derive(Debug, Subcommand)]
enum Of {
    Bsp(bsp::BspArgs),
    Phases(phases::PhasesArgs),
    Ticks(TicksArgs),
}

/// What ticks cost one program at any rate: the serial tick model (Tsafrir 2007)
///
/// From a recording of `anechoic measure serial`, or from two tables of kernels that were built for several tick
/// rates. Direct and indirect cost of an interrupt, what ticks take of a CPU, the time without them, and whether
/// the times agree with that.
#[derive(Debug, Args)]
#[command(after_help = TICKS_EXAMPLES, group(ArgGroup::new("from").required(true).args(["recording", "times"])))]
struct TicksArgs {
    /// A recording of `anechoic measure serial`
    recording: Option<PathBuf>,
    /// Times of the work: CSV with the columns processor,copies,rate_hz,milliseconds
    #[arg(long, value_name = "FILE", requires = "costs")]
    times: Option<PathBuf>,
    /// Costs of an interrupt: CSV with the columns processor,trap_us,handler_us
    #[arg(long, value_name = "FILE", requires = "times")]
    costs: Option<PathBuf>,
    /// Print JSON (schema/ticks.schema.json)
    #[arg(long)]
    json: bool,
    /// Show every point and every anomaly, not only the first
    #[arg(long)]
    all: bool,
}

const TICKS_EXAMPLES: &str = "Examples:
  anechoic measure serial -o serial && anechoic predict ticks serial
  anechoic predict ticks --times times.csv --costs costs.csv --json | jq '.processors[].cost'

The two tables, for one processor measured at 100 Hz and 10 kHz:
  processor,copies,rate_hz,milliseconds        processor,trap_us,handler_us
  P-IV,1,100,12.675                            P-IV,0.52,0.49
  P-IV,1,10000,13.397

Exits 1 where the model does not hold, and 3 where the times cannot tell what an interrupt costs.";

pub fn run(args: &PredictArgs) -> anyhow::Result<ExitCode> {
    match &args.model {
        Of::Bsp(args) => bsp::run(args),
        Of::Phases(args) => phases::run(args),
        Of::Ticks(args) => ticks(args),
    }
}

fn ticks(args: &TicksArgs) -> anyhow::Result<ExitCode> {
    let busy = Busy::with("adding up", false);
    let table = match (&args.recording, &args.times, &args.costs) {
        (Some(recording), ..) => table_of(&Recording::open(recording)?)?,
        (None, Some(times), Some(costs)) => read_files(times, costs)?,
        _ => return Err(exit::Usage("name a recording, or --times and --costs".into()).into()),
    };
    let model = model(&table);
    drop(busy);
    let mut printer = Printer::stdout(args.json, args.all);
    let code = printer.print(&Found::of(&TICKS, model, &[]), args.recording.as_deref())?;
    printer.finish()?;
    Ok(ExitCode::from(code))
}
