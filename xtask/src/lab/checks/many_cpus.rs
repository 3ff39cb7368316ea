//! CPUs whose numbers do not fit into a byte.

use super::{Check, everywhere, run::aligned};
use crate::lab::evidence::Evidence;
use anyhow::ensure;
use serde_json::json;

pub(super) const CHECK: Check = Check {
    name: "many-cpus",
    tests: "of a machine with more than 255 CPUs some are measured, those with higher numbers too",
    script: "anechoic run --cpus 0,1,256,299 --allow-variant-tsc -d 2s -q -o rec --json >summary.json",
    skipped: everywhere,
    judge,
};

fn judge(evidence: &Evidence<'_>) -> anyhow::Result<String> {
    evidence.succeeded()?;
    let summary = evidence.json("summary.json")?;
    let cpus = &summary["run"]["cpus"];
    ensure!(*cpus == json!([0, 1, 256, 299]), "measured: {cpus}");
    let events = aligned(&summary)?;
    Ok(format!("{events} events on CPUs 0, 1, 256 and 299"))
}
