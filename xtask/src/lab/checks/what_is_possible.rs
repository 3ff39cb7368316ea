//! `anechoic check` lists what can be measured, and what would enable the rest.

use super::{Check, everywhere};
use crate::lab::evidence::{Evidence, rows};
use anyhow::{Context, ensure};

pub(super) const CHECK: Check = Check {
    name: "check",
    tests: "`anechoic check` finds the kernel's events, and has a remedy for whatever is limited",
    script: "anechoic check --json >check.json",
    skipped: everywhere,
    judge,
};

fn judge(evidence: &Evidence<'_>) -> anyhow::Result<String> {
    evidence.succeeded()?;
    let check = evidence.json("check.json")?;
    let findings = rows(&check, "/findings");
    for finding in findings {
        let advised = finding["remedy"].is_string();
        let good = ["good", "fact"].iter().any(|verdict| finding["verdict"] == *verdict);
        ensure!(good || advised, "no remedy: {finding}");
    }
    let events = findings.iter().find(|finding| finding["what"] == "kernel events");
    let events = events.context("no row of kernel events")?;
    // Older kernels lack some of them.
    let missing = events["verdict"] == "missing";
    ensure!(missing == evidence.boot.command_line.is_locked(), "kernel events: {events}");
    let why = events["found"].as_str().unwrap_or("");
    ensure!(!missing || why.contains("locked down"), "not the reason: {events}");
    Ok(format!("{} findings", findings.len()))
}
