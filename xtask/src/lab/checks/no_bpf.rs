//! A run that may trace, and may not load programs into the kernel.

use super::{Check, everywhere, run::aligned};
use crate::lab::evidence::{Evidence, rows};
use anyhow::ensure;

pub(super) const CHECK: Check = Check {
    name: "no-bpf",
    tests: "root without CAP_BPF and CAP_SYS_ADMIN gets all events, without steal, which is listed",
    // By its path: the shell has a program of this name of its own.
    script: "/bin/setpriv --bounding-set=-bpf,-sys_admin \\
	anechoic run --allow-variant-tsc -d 2s -q -o rec --json >summary.json",
    skipped: everywhere,
    judge,
};

fn judge(evidence: &Evidence<'_>) -> anyhow::Result<String> {
    evidence.succeeded()?;
    let summary = evidence.json("summary.json")?;
    let events = aligned(&summary)?;
    let missing = rows(&summary, "/run/not_available");
    let steal = missing.iter().filter(|row| row.to_string().contains("steal")).count();
    ensure!(steal == 1, "steal is not listed: {missing:?}");
    Ok(format!("{events} events without BPF"))
}
