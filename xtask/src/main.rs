//! The repository's own checks and generators: `cargo run -p xtask -- tidy`, `-- assets`.

#![forbid(unsafe_code)]

mod assets;
mod tidy;

use std::process::ExitCode;

fn main() -> anyhow::Result<ExitCode> {
    match std::env::args().nth(1).as_deref() {
        Some("tidy") => tidy::run(),
        Some("assets") => assets::run(),
        other => anyhow::bail!("unknown task {other:?}; there are: tidy, assets"),
    }
}
