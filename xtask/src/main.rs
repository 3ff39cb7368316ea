//! The repository's own checks: `cargo run -p xtask -- tidy`, `-- measure`.

#![forbid(unsafe_code)]

mod measure;
mod modules;
mod source;
mod tidy;

use std::process::ExitCode;

fn main() -> anyhow::Result<ExitCode> {
    match std::env::args().nth(1).as_deref() {
        Some("measure") => measure::run(),
        Some("tidy") => tidy::run(),
        other => anyhow::bail!("unknown task {other:?}; there are: tidy, measure"),
    }
}
