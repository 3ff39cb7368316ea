//! What interrupts do to other CPUs, by their distance.

use super::{Check, everywhere};
use crate::lab::evidence::{Evidence, rows};
use anyhow::ensure;
use std::collections::BTreeSet;

pub(super) const CHECK: Check = Check {
    name: "interference",
    tests: "`measure interference` finds the distances of the machine's CPUs and measures a pair of each",
    script: "anechoic measure interference --pairs classes --kernel intadd --repetition 1ms \\
	--repetitions 500 --allow-variant-tsc -q -o rec --json >interference.json || test $? = 3",
    skipped: everywhere,
    judge,
};

fn judge(evidence: &Evidence<'_>) -> anyhow::Result<String> {
    evidence.succeeded()?;
    let measured = evidence.json("interference.json")?;
    let pairs = rows(&measured, "/pairs");
    for pair in pairs {
        let known = pair["interrupts"].as_u64().unwrap_or(0) > 0;
        ensure!(known, "no interrupt on CPU {}: {pair}", pair["source"]);
    }
    let places: BTreeSet<_> = pairs.iter().filter_map(|pair| pair["place"].as_str()).collect();
    for place in ["smt_sibling", "other_socket"] {
        ensure!(places.contains(place), "no pair at the distance {place}: {places:?}");
    }
    Ok(format!("{} pairs: {}", pairs.len(), Vec::from_iter(places).join(", ")))
}
