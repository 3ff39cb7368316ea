//! The `anechoic` command.

#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    anechoic_cli::anechoic()
}
