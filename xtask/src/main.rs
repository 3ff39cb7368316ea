//! The repository's own checks: `cargo run -p xtask -- tidy`, `-- measure`, `-- test`, `-- lab`.

#![forbid(unsafe_code)]

mod lab;
mod measure;
mod modules;
mod source;
mod test;
mod tidy;

use std::process::ExitCode;

fn main() -> anyhow::Result<ExitCode> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.first().map(String::as_str) {
        Some("lab") => lab::run(&arguments[1..]),
        Some("measure") => measure::run(&arguments[1..]),
        Some("test") => test::run(&arguments[1..]),
        Some("tidy") => tidy::run(),
        other => anyhow::bail!("unknown task {other:?}; there are: lab, measure, test, tidy"),
    }
}
