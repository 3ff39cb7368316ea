//! `anechoic run` on every CPU.

use super::unprivileged::without_events;
use super::{Check, everywhere};
use crate::lab::evidence::{Evidence, rows};
use anyhow::ensure;
use serde_json::Value;

pub(super) const CHECK: Check = Check {
    name: "run",
    tests: "all kernel events lie inside detours, the kernel's counters agree with them, \
            the tick is found at the kernel's rate, and the recording reads the same on another machine; \
            where the kernel is locked down, what is missing is listed",
    script: "anechoic run --allow-variant-tsc --duration 2s --quiet -o rec --json >summary.json",
    skipped: everywhere,
    judge,
};

/// Duration of the run, in seconds.
const SECONDS: u64 = 2;

fn judge(evidence: &Evidence<'_>) -> anyhow::Result<String> {
    evidence.succeeded()?;
    let summary = evidence.json("summary.json")?;
    if evidence.boot.command_line.is_locked() {
        return without_events(&summary);
    }
    let events = aligned(&summary)?;
    let cpus = rows(&summary, "/cpus").len();
    ensure!(cpus == evidence.boot.machine.cpus as usize, "{cpus} CPUs were measured");
    let tick = rows(&summary, "/sources/rows").iter().find(|row| row["source"] == "timer-tick");
    let ticks = tick.and_then(|row| row["activities"].as_u64()).unwrap_or(0);
    if evidence.boot.machine.exact {
        let expected = evidence.image.hertz * SECONDS;
        ensure!(ticks.abs_diff(expected) <= 1, "{ticks} ticks in {SECONDS} s, not {expected}");
    }
    ensure!(ticks > 0, "no timer tick among the sources");
    let here: Value =
        serde_json::from_str(&evidence.summary_here(&evidence.dir, &["--json", "rec"])?)?;
    ensure!(here == summary, "the recording's summary is another one on this machine");
    Ok(format!("{events} events inside detours, {ticks} ticks on {cpus} CPUs"))
}

/// Returns the number of kernel events; there are some, of which [`agreeing`] holds.
pub(super) fn aligned(summary: &Value) -> anyhow::Result<u64> {
    let events = agreeing(summary)?;
    ensure!(events > 0, "no kernel events were recorded: {}", summary["run"]["not_available"]);
    Ok(events)
}

/// Returns the number of kernel events, all of which lie inside detours and agree with the kernel's counters.
pub(super) fn agreeing(summary: &Value) -> anyhow::Result<u64> {
    ensure!(summary["run"]["traced"] == true, "no events: {}", summary["run"]["not_available"]);
    let sources = &summary["sources"];
    let events = sources["alignment"]["events"].as_u64().unwrap_or(0);
    ensure!(
        sources["alignment"]["outside"] == 0,
        "events outside detours: {}",
        sources["alignment"]
    );
    let differences = rows(summary, "/sources/audit_differences");
    ensure!(differences.is_empty(), "the kernel's counters differ: {differences:?}");
    let losses = rows(summary, "/losses");
    ensure!(losses.is_empty(), "losses: {losses:?}");
    Ok(events)
}
