//! Noise of known number.

use super::{Check, everywhere};
use crate::lab::evidence::{Evidence, rows};
use anyhow::{Context, ensure};

/// The kinds of noise that every kernel can be given.
const KINDS: [&str; 3] = ["thread", "interrupt", "kernel"];

pub(super) const CHECK: Check = Check {
    name: "inject",
    tests: "of injected threads, interrupts and times in the kernel every delivered one is detected",
    script: "for kind in thread interrupt kernel; do
	length='--length 250us'
	test $kind != interrupt || length=
	# Durations are not judged; they alone can make it exit with 1.
	anechoic inject --kind $kind --rate 100hz $length --for 2s --cpus 0 --force --verify \\
		--allow-variant-tsc -q -o $kind --json >$kind.json || test $? = 1 || exit
done",
    skipped: everywhere,
    judge,
};

fn judge(evidence: &Evidence<'_>) -> anyhow::Result<String> {
    evidence.succeeded()?;
    let mut seen = Vec::new();
    for kind in KINDS {
        let verified = evidence.json(&format!("{kind}.json"))?;
        let cpu = rows(&verified, "/cpus").first().context("no CPU was verified")?;
        let count = |path| cpu.pointer(path).and_then(serde_json::Value::as_u64).unwrap_or(0);
        let delivered = count("/delivered");
        // One may lie on either side of the window's edge. On a busy host some are due while one still runs.
        let due = delivered + count("/overruns");
        ensure!(delivered > 0 && count("/asked").abs_diff(due) <= 1, "{kind}: {cpu}");
        ensure!(count("/seen/found") == delivered, "{kind}: detected: {}", cpu["seen"]);
        let counted = count("/own_count/injector").abs_diff(count("/own_count/kernel"));
        ensure!(counted <= 1, "{kind}: the kernel counted another number: {}", cpu["own_count"]);
        seen.push(format!("{kind} {delivered}"));
    }
    Ok(seen.join(", "))
}
