//! The house rules as checks, a file a rule family. ARCHITECTURE.md says why they are there.

mod arrows;
mod docs;
mod shape;
mod tables;

use anyhow::Context;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// One broken rule: where, and what to do.
pub struct Finding {
    /// File, relative to the repository.
    pub file: PathBuf,
    /// What is wrong and what would mend it.
    pub what: String,
}

/// One Rust file of the repository.
pub struct Source {
    /// Path relative to the repository.
    pub path: PathBuf,
    /// Its text.
    pub text: String,
}

impl Source {
    /// Name of its crate's directory: `measure`, `xtask`.
    pub fn crate_name(&self) -> &str {
        let mut parts = self.path.iter().filter_map(|part| part.to_str());
        let first = parts.next().unwrap_or_default();
        if first == "crates" { parts.next().unwrap_or_default() } else { first }
    }

    /// Whether it is part of what ships, not of tests, benches or examples.
    pub fn ships(&self) -> bool {
        let has = |name: &str| self.path.iter().any(|part| part == name);
        has("src") && !has("tests") && !has("tests.rs")
    }

    /// Its lines before the unit tests.
    pub fn shipped_lines(&self) -> impl Iterator<Item = &str> {
        self.text.lines().take_while(|line| !line.starts_with("#[cfg(test)]"))
    }
}

/// Runs every rule; fails if one is broken.
pub fn run() -> anyhow::Result<ExitCode> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().context("xtask has a parent")?;
    let sources = rust_files(root)?;
    let rules = [arrows::check, shape::check, docs::check, tables::check];
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

fn rust_files(root: &Path) -> anyhow::Result<Vec<Source>> {
    let mut sources = Vec::new();
    let mut open = vec![root.join("crates"), root.join("xtask")];
    while let Some(dir) = open.pop() {
        for entry in fs::read_dir(&dir).with_context(|| dir.display().to_string())? {
            let path = entry?.path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
                sources.push(Source { path: path.strip_prefix(root)?.to_owned(), text });
            }
        }
    }
    sources.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(sources)
}
