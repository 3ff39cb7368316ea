//! `anechoic check`

use crate::ask::{self, CpuList};
use crate::show::Printer;
use crate::{files, self_test};
use anechoic_recording::Problem;
use anechoic_report::results::Found;
use anechoic_report::results::live::CHECK;
use std::process::ExitCode;

/// Show what can be measured on this machine and what would enable the rest
///
/// Changes nothing, except that it puts back what a killed anechoic left, and needs no privileges; run it as the user
/// who will measure. --self-test injects noise of
/// known rate and duration on one CPU for a few seconds and reports how much of it was detected, and how
/// exactly. Later recordings include that result.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct CheckArgs {
    /// Inject known noise and check that it is detected: exits 1 if some was missed, 3 if none could be
    /// injected
    #[arg(long)]
    self_test: bool,
    /// With --self-test: the CPU to test [default: the last one that this process may use]
    #[arg(long, short, value_parser = ask::cpu_list, value_name = "CPU", requires = "self_test")]
    cpus: Option<CpuList>,
    /// With --self-test: measure even if the counter's rate may change
    #[arg(long, requires = "self_test")]
    allow_variant_tsc: bool,
    /// Print JSON (schema/check.schema.json; with --self-test: schema/self-test.schema.json)
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "Examples:
  anechoic check --json | jq '.findings[] | select(.verdict == \"missing\")'
  sudo anechoic check --self-test --cpus 3";

pub fn run(args: &CheckArgs) -> Result<ExitCode, Problem> {
    if args.self_test {
        let asked = args.cpus.as_ref().map(|list| &list.0[..]);
        return self_test::run(asked, args.allow_variant_tsc, args.json);
    }
    files::remove_leftovers(self_test::PREFIX, &std::env::temp_dir());
    let check = anechoic_system::check::check();
    Printer::stdout(args.json, false).print_one(&Found::from_value(&CHECK, check, &[]), None)
}
