//! `anechoic completions`

use crate::terminal;
use anechoic_recording::Problem;
use clap::{Arg, Command, ValueHint};
use clap_complete::{Shell, generate};
use std::io::Write;
use std::process::ExitCode;

/// Print completions of commands and options for a shell
///
/// Write them to where the shell looks for completions, and start a new shell.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct CompletionsArgs {
    /// Shell that reads them
    #[arg(value_name = "SHELL")]
    shell: Shell,
}

const EXAMPLES: &str = "Examples:
  source <(anechoic completions bash)        in this shell alone
  anechoic completions bash > ~/.local/share/bash-completion/completions/anechoic
  anechoic completions zsh > ~/.zfunc/_anechoic
  anechoic completions fish > ~/.config/fish/completions/anechoic.fish";

pub fn run(args: &CompletionsArgs) -> Result<ExitCode, Problem> {
    // Into memory first, because the generator panics where it cannot write.
    let mut script = vec![];
    let mut command = hinted(crate::command_line());
    let name = command.get_name().to_owned();
    generate(args.shell, &mut command, name, &mut script);
    let mut out = terminal::stdout();
    out.write_all(&script)?;
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

/// Returns the command with hints that options without a path take no name of a file.
fn hinted(command: Command) -> Command {
    command.mut_args(with_hint).mut_subcommands(hinted)
}

fn with_hint(arg: Arg) -> Arg {
    match arg.get_value_hint() {
        ValueHint::Unknown if !arg.is_positional() => arg.value_hint(ValueHint::Other),
        _ => arg,
    }
}
