//! `anechoic check`

use crate::ask::{self, CpuList};
use crate::{self_test, terminal};
use std::io::Write;
use std::process::ExitCode;

/// What can be measured on this machine, and what would enable the rest
///
/// Changes nothing and needs no privilege; run it as the user who will measure. With --self-test noise
/// of known rate and duration is made on one CPU for some seconds, and it is looked how much of it is
/// seen and how exactly. Recordings that follow carry the result.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct CheckArgs {
    /// Make known noise and look whether it is seen: exits 1 where some of it is not, 3 where none can be made
    #[arg(long)]
    self_test: bool,
    /// With --self-test: on this CPU [default: the last that this process may use]
    #[arg(long, short, value_parser = ask::cpu_list, value_name = "CPU", requires = "self_test")]
    cpus: Option<CpuList>,
    /// Print JSON (schema/check.schema.json; of --self-test schema/self-test.schema.json)
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "Examples:
  anechoic check --json | jq '.findings[] | select(.verdict == \"missing\")'
  sudo anechoic check --self-test --cpus 3";

pub fn run(args: &CheckArgs) -> anyhow::Result<ExitCode> {
    if args.self_test {
        return self_test::run(args.cpus.as_ref().map(|list| &list.0[..]), args.json);
    }
    let check = anechoic_system::check::check();
    let mut out = terminal::stdout();
    if args.json {
        anechoic_report::json(&check, &mut out)?;
    } else {
        let view = terminal::view(None);
        anechoic_report::check(&check, &view).write(&view, &mut out)?;
    }
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}
