//! Modules that stand beside each other do not take from each other in a circle.

use super::Finding;
use crate::modules::crates;
use crate::source::Source;
use std::path::{Path, PathBuf};

pub(super) fn check(_root: &Path, sources: &[Source]) -> anyhow::Result<Vec<Finding>> {
    let mut findings = Vec::new();
    for (name, of_crate) in crates(sources)? {
        for circle in of_crate.circles() {
            let file = PathBuf::from("crates").join(&name).join("src");
            let what = format!("{} need each other; let one of them go without", circle.join(", "));
            findings.push(Finding { file, what });
        }
    }
    Ok(findings)
}
