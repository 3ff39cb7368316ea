//! Fetches the chart library of the HTML report anew: `cargo run -p xtask -- assets`.

use anyhow::{Context, ensure};
use std::fs;
use std::path::Path;
use std::process::{Command, ExitCode};

/// The library, as npm calls it; within this range nothing changes that the report's scripts use.
const PACKAGE: &str = "uplot@1.6";
/// What the report carries of it, from the package's root.
const FILES: [&str; 3] = ["dist/uPlot.iife.min.js", "dist/uPlot.min.css", "LICENSE"];
/// Where the files go, from the repository's root.
const TO: &str = "crates/report/assets/uplot";

/// Fetches the package with npm, which checks what it gets, and puts the files where the report takes them from.
pub fn run() -> anyhow::Result<ExitCode> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().context("xtask has a parent")?;
    let dir = std::env::temp_dir().join(format!("anechoic-assets-{}", std::process::id()));
    fs::create_dir_all(&dir).with_context(|| dir.display().to_string())?;
    let done = fetch(&dir, &root.join(TO));
    fs::remove_dir_all(&dir).with_context(|| dir.display().to_string())?;
    done.map(|()| ExitCode::SUCCESS)
}

fn fetch(dir: &Path, to: &Path) -> anyhow::Result<()> {
    let packed = Command::new("npm")
        .args(["pack", "--silent", PACKAGE])
        .current_dir(dir)
        .output()
        .context("npm; install it (apt-get install npm)")?;
    let error = String::from_utf8_lossy(&packed.stderr);
    ensure!(packed.status.success(), "npm pack {PACKAGE}: {error}");
    let archive = String::from_utf8(packed.stdout)?;
    let archive = archive.lines().last().context("npm pack names no file")?;
    let unpacked = Command::new("tar").args(["-xzf", archive]).current_dir(dir).status()?;
    ensure!(unpacked.success(), "tar -xzf {archive}");
    for file in FILES {
        let from = dir.join("package").join(file);
        let name = Path::new(file).file_name().context("a file has a name")?;
        fs::copy(&from, to.join(name)).with_context(|| from.display().to_string())?;
    }
    println!("{archive}: {} files in {TO}", FILES.len());
    Ok(())
}
