//! Recordings of older versions.

use super::{Check, everywhere};
use crate::lab::evidence::Evidence;
use anyhow::ensure;
use std::fs;

pub(super) const CHECK: Check = Check {
    name: "old-recordings",
    tests: "recordings of every released format read as they do here",
    script: "to=$(pwd)
cd /fixtures
for of in format-*; do
	# Losses, which one has, make it exit with 1.
	test ! -d $of || anechoic summary --color never $of >$to/$of || test $? = 1 || exit 2
done",
    skipped: everywhere,
    judge,
};

fn judge(evidence: &Evidence<'_>) -> anyhow::Result<String> {
    evidence.succeeded()?;
    let fixtures = evidence.repository.join("fixtures");
    let mut compared = 0;
    for entry in fs::read_dir(&fixtures)?.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.starts_with("format-") && entry.path().is_dir() {
            let here = evidence.summary_here(&fixtures, &["--color", "never", &name])?;
            ensure!(evidence.text(&name)? == here, "{name} reads differently on this machine");
            compared += 1;
        }
    }
    Ok(format!("{compared} recordings"))
}
