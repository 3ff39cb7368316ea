//! A run of an ordinary user.

use super::{Check, everywhere};
use crate::lab::evidence::{Evidence, rows};
use anyhow::ensure;

pub(super) const CHECK: Check = Check {
    name: "unprivileged",
    tests: "an ordinary user gets detours and suspects, and each missing thing is listed with its remedy",
    script: "cd $(mktemp -d) && chown user . && to=$OLDPWD &&\n\
             su user -c 'anechoic run --allow-variant-tsc -d 2s -q -o rec --json' >$to/summary.json &&\n\
             cp -r rec $to",
    skipped: everywhere,
    judge,
};

fn judge(evidence: &Evidence<'_>) -> anyhow::Result<String> {
    evidence.succeeded()?;
    without_events(&evidence.json("summary.json")?)
}

/// Judges a run that could not record kernel events.
pub(super) fn without_events(summary: &serde_json::Value) -> anyhow::Result<String> {
    let detours = summary["total"]["detours"].as_u64().unwrap_or(0);
    ensure!(detours > 0 && summary["run"]["state"] == "complete", "{}", summary["run"]);
    ensure!(summary["run"]["traced"] == false, "kernel events were recorded");
    let missing = rows(summary, "/run/not_available");
    let events = missing.iter().filter(|row| row["what"] == "kernel events").count();
    ensure!(events == 1, "kernel events are not listed: {missing:?}");
    for row in missing {
        let remedy = row["remedy"].as_str().unwrap_or("");
        ensure!(!remedy.is_empty(), "no remedy: {row}");
    }
    ensure!(!summary["suspects"].is_null(), "no suspects");
    Ok(format!("{detours} detours, {} things not available", missing.len()))
}
