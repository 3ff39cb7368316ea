//! Paths that the documentation names must exist.

use super::Finding;
use crate::source::Source;
use anyhow::Context;
use std::fs;
use std::path::Path;

/// Words in back quotes that begin like this are paths of the repository.
const PREFIXES: &[&str] = &["crates/", "xtask/", "fixtures/", "schema/", "fuzz/", "bare/", ".ci/"];

pub(super) fn check(root: &Path, _sources: &[Source]) -> anyhow::Result<Vec<Finding>> {
    let mut findings = Vec::new();
    for entry in fs::read_dir(root).context("the repository")? {
        let path = entry?.path();
        if path.extension().is_none_or(|extension| extension != "md") {
            continue;
        }
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
