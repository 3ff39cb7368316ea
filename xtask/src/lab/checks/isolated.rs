//! CPUs that the kernel keeps free.

use super::{
    Check, everywhere,
    run::{agreeing, aligned},
};
use crate::lab::evidence::{Evidence, rows};
use anyhow::ensure;
use serde_json::json;

pub(super) const CHECK: Check = Check {
    name: "isolated",
    tests: "isolated CPUs are named when they are not measured, and measured when asked, \
            nearly without ticks where the kernel stops these",
    script: "anechoic run --allow-variant-tsc -d 2s -q -o unasked --json >unasked.json &&\n\
             anechoic run --allow-variant-tsc -d 2s -q -o asked --cpus isolated --json >asked.json",
    skipped: everywhere,
    judge,
};

fn judge(evidence: &Evidence<'_>) -> anyhow::Result<String> {
    evidence.succeeded()?;
    let (unasked, asked) = (evidence.json("unasked.json")?, evidence.json("asked.json")?);
    ensure!(unasked["run"]["cpus"] == json!([0]), "measured unasked: {}", unasked["run"]["cpus"]);
    let named = rows(&unasked, "/run/notes").iter().filter_map(|note| note.as_str());
    let named = named.filter(|note| note.starts_with("CPUs 1 were not measured")).count();
    ensure!(named == 1, "not named: {}", unasked["run"]["notes"]);
    ensure!(asked["run"]["cpus"] == json!([1]), "measured when asked: {}", asked["run"]["cpus"]);
    aligned(&unasked)?;
    // None may have happened there.
    let events = agreeing(&asked)?;
    let tick = rows(&asked, "/sources/rows").iter().find(|row| row["source"] == "timer-tick");
    let ticks = tick.and_then(|row| row["activities"].as_u64()).unwrap_or(0);
    ensure!(ticks < evidence.image.hertz / 10, "{ticks} ticks in 2 s on the isolated CPU");
    Ok(format!("{events} events and {ticks} ticks on the isolated CPU"))
}
