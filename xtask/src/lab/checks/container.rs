//! Namespaces, as container runtimes make them.

use super::{Check, everywhere, run::aligned, unprivileged::without_events};
use crate::lab::evidence::Evidence;
use anyhow::Context;

pub(super) const CHECK: Check = Check {
    name: "container",
    tests: "in PID and mount namespaces of its own the loops are found in the kernel's events; \
            in a user namespace of an ordinary user there are neither events nor BPF, and these are listed",
    script: "run='anechoic run --allow-variant-tsc -d 2s -q --json'
unshare -p -m -f sh -c \"mount -t proc proc /proc && $run -o own\" >own.json || exit
to=$PWD
cd $(mktemp -d) && chown user . &&
su user -c \"unshare -U -r -p -m -f sh -c 'mount -t proc proc /proc && $run -o user'\" >$to/user.json &&
cp -r user $to",
    skipped: everywhere,
    judge,
};

fn judge(evidence: &Evidence<'_>) -> anyhow::Result<String> {
    evidence.succeeded()?;
    let events = aligned(&evidence.json("own.json")?).context("PID and mount namespaces")?;
    let without = without_events(&evidence.json("user.json")?).context("user namespace")?;
    Ok(format!("{events} events in PID and mount namespaces; in a user namespace {without}"))
}
