//! Memory on the NUMA node that was asked for, and on the CPU's own otherwise.

use super::{Check, everywhere};
use crate::lab::evidence::{Evidence, rows};
use anyhow::ensure;

pub(super) const CHECK: Check = Check {
    name: "memory-node",
    tests: "`measure paging --memory-node 1` has its memory on that node, and without the option on the CPU's own",
    script: "for node in near far; do \\
	anechoic measure paging --cpus 0 --pages base --quick --blocks 2 --point-time 5ms --allow-variant-tsc \\
	$(test $node = far && echo --memory-node 1) -q -o $node --json >$node.json || test $? = 3 || exit 1; \\
	cp $node/run.json $node-run.json; done",
    skipped: everywhere,
    judge,
};

fn judge(evidence: &Evidence<'_>) -> anyhow::Result<String> {
    evidence.succeeded()?;
    let mut seen = Vec::new();
    for (name, node) in [("near", 0), ("far", 1)] {
        let run = evidence.json(&format!("{name}-run.json"))?;
        let allocations = rows(&run, "/allocations");
        ensure!(!allocations.is_empty(), "{name}: no memory was allocated");
        for allocation in allocations {
            let found = allocation["memory_node"].as_u64();
            ensure!(found == Some(node), "{name}: on node {found:?} instead of {node}");
        }
        let notes = run["notes"].to_string();
        ensure!(notes.contains("CPU 0 on node 0") == (name == "far"), "{name}: {notes}");
        seen.push(format!("{} allocations on node {node}", allocations.len()));
    }
    Ok(seen.join(", "))
}
