//! The house rules as checks, a file a rule family. ARCHITECTURE.md gives the reasons.

mod arrows;
mod circles;
pub mod docs;
pub mod methods;
pub mod names;
pub mod public;
mod shape;
mod tables;

use crate::source::rust_files;
use anyhow::Context;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// One broken rule: where, and what to do.
pub struct Finding {
    /// File, relative to the repository.
    pub file: PathBuf,
    /// What is wrong and what would mend it.
    pub what: String,
}

/// Runs every rule; fails if one is broken.
pub fn run() -> anyhow::Result<ExitCode> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().context("xtask has a parent")?;
    let sources = rust_files(root)?;
    let rules = [
        arrows::check,
        circles::check,
        docs::check,
        methods::check,
        names::check,
        public::check,
        shape::check,
        tables::check,
    ];
    let mut findings = Vec::new();
    for rule in rules {
        findings.extend(rule(root, &sources)?);
    }
    for finding in &findings {
        println!("{}: {}", finding.file.display(), finding.what);
    }
    println!("tidy: {} Rust files, {} findings", sources.len(), findings.len());
    Ok(ExitCode::from(u8::from(!findings.is_empty())))
}
