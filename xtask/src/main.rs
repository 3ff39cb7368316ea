//! The repository's own checks: `cargo run -p xtask -- tidy`.

#![forbid(unsafe_code)]

mod tidy;

use std::process::ExitCode;

fn main() -> anyhow::Result<ExitCode> {
    match std::env::args().nth(1).as_deref() {
        Some("tidy") => tidy::run(),
        other => anyhow::bail!("unknown task {other:?}; there is: tidy"),
    }
}
