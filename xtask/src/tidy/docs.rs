//! Paths that the documentation names must exist.

use super::Finding;
use crate::source::Source;
use std::fs;
use std::path::{Path, PathBuf};

/// Words in back quotes that begin like this are paths of the repository.
const PREFIXES: &[&str] =
    &["crates/", "xtask/", "fixtures/", "schema/", "fuzz/", "bare/", "docs/", ".ci/"];

pub(super) fn check(root: &Path, _sources: &[Source]) -> anyhow::Result<Vec<Finding>> {
    let mut findings = Vec::new();
    for path in pages(root) {
        let text = fs::read_to_string(&path)?;
        let words = text.split('`').skip(1).step_by(2);
        for word in words.filter(|word| PREFIXES.iter().any(|prefix| word.starts_with(prefix))) {
            let named = word.split(['*', '<', ' ']).next().unwrap_or_default();
            if !root.join(named).exists() {
                let file = path.strip_prefix(root)?.to_owned();
                findings
                    .push(Finding { file, what: format!("names {word}, which does not exist") });
            }
        }
    }
    Ok(findings)
}

/// The Markdown files of the repository that people read.
pub fn pages(root: &Path) -> Vec<PathBuf> {
    let dirs = ["", "docs", "docs/tutorials", "docs/howto", "docs/methods", "docs/reference"];
    dirs.iter().flat_map(|dir| markdown(&root.join(dir))).collect()
}

/// The Markdown files directly in a directory.
fn markdown(dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.path());
    entries.filter(|path| path.extension().is_some_and(|extension| extension == "md")).collect()
}
