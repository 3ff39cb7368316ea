//! Fixed time.

use super::{Check, everywhere};
use crate::lab::evidence::{Evidence, rows};
use anyhow::{Context, ensure};
use serde_json::Value;

pub(super) const CHECK: Check = Check {
    name: "ftq",
    tests: "every window of `measure ftq` has its sample, and no work is lost or wrong; \
            in exact time the spectrum has a line at the kernel's tick rate, whose source is the tick",
    // Without a verdict it exits with 3: an emulated loop takes as long for its own instructions as for its work.
    script: "anechoic measure ftq --window 500us -d 2s --allow-variant-tsc -q -o rec --json >ftq.json || test $? = 3",
    skipped: everywhere,
    judge,
};

fn judge(evidence: &Evidence<'_>) -> anyhow::Result<String> {
    evidence.succeeded()?;
    let ftq = evidence.json("ftq.json")?;
    let series = rows(&ftq, "/series");
    let cpus = evidence.boot.machine.cpus as usize;
    ensure!(series.len() == cpus, "{} series on {cpus} CPUs", series.len());
    for measured in series {
        let facts = &measured["facts"];
        ensure!(facts["ended"] == "complete" && facts["samples"] == 4_000, "{facts}");
        let faultless = ["lost", "missing", "wrong"].iter().all(|count| facts[count] == 0);
        ensure!(faultless, "{facts}");
    }
    if evidence.boot.machine.exact {
        // There may be others: at multiples, and of noise that is not periodic.
        let hertz = evidence.image.hertz as f64;
        let at_rate = |line: &&Value| (line["hz"].as_f64().unwrap_or(0.0) - hertz).abs() < 1.0;
        let ticks = |line: &Value| {
            rows(line, "/carriers").iter().any(|source| source["source"] == "timer-tick")
        };
        let lines = rows(&series[0], "/spectrum/lines");
        let line = lines.iter().find(at_rate);
        let line = line.with_context(|| format!("no line at {hertz} Hz: {lines:?}"))?;
        ensure!(ticks(line), "the line at {hertz} Hz is not from the tick: {line}");
    }
    Ok(format!("{} samples on {cpus} CPUs", 4_000 * cpus))
}
