//! What a check left behind.

use super::boots::Boot;
use super::debian::Image;
use anyhow::{Context, ensure};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The file beside the checks' directories with what a kernel sent that the machine's first kernel had started.
pub const RECORDING: &str = "recording.tar";

/// The files that a check wrote in its machine, and what is known of that machine.
pub struct Evidence<'a> {
    /// The check's directory.
    pub dir: PathBuf,
    /// What was booted.
    pub boot: &'a Boot,
    /// The kernel's release and tick rate.
    pub image: &'a Image,
    /// The tool, which runs here as it did there.
    pub tool: &'a Path,
    /// The repository.
    pub repository: &'a Path,
}

impl Evidence<'_> {
    /// Returns the exit code of the check's script.
    ///
    /// # Errors
    /// The script did not end.
    pub fn code(&self) -> anyhow::Result<i32> {
        Ok(self.text("code").context("the check did not end")?.trim().parse()?)
    }

    /// Fails if the script did not exit with 0; the reason is what it wrote to stderr.
    ///
    /// # Errors
    /// It did not.
    pub fn succeeded(&self) -> anyhow::Result<()> {
        let code = self.code()?;
        let stderr = self.text("stderr")?;
        let last = stderr.lines().last().unwrap_or("and wrote nothing to stderr");
        ensure!(code == 0, "exited with {code}: {last}");
        Ok(())
    }

    /// Returns a file's text.
    ///
    /// # Errors
    /// There is no such file.
    pub fn text(&self, name: &str) -> anyhow::Result<String> {
        let bytes = fs::read(self.dir.join(name)).with_context(|| format!("no file {name}"))?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Returns a file as JSON.
    ///
    /// # Errors
    /// There is no such file, or it is no JSON.
    pub fn json(&self, name: &str) -> anyhow::Result<Value> {
        serde_json::from_str(&self.text(name)?).with_context(|| format!("{name} is no JSON"))
    }

    /// Returns what the tool prints here about a recording in `dir`, whatever its exit code.
    ///
    /// # Errors
    /// It cannot be started, or prints nothing.
    pub fn summary_here(&self, dir: &Path, arguments: &[&str]) -> anyhow::Result<String> {
        let mut command = Command::new(self.tool);
        let output = command.arg("summary").args(arguments).current_dir(dir).output()?;
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        ensure!(!output.stdout.is_empty(), "it cannot be read on this machine: {error}");
        Ok(String::from_utf8(output.stdout)?)
    }
}

/// Returns the rows of an array, none if it is missing.
#[must_use]
pub fn rows<'v>(value: &'v Value, path: &str) -> &'v [Value] {
    value.pointer(path).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}
