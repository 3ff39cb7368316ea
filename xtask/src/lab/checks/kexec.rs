//! A kernel without services, started by kexec.

use super::{Check, everywhere, run::aligned};
use crate::lab::debian::run;
use crate::lab::evidence::{Evidence, RECORDING};
use anyhow::{Context, ensure};
use serde_json::Value;
use std::process::Command;

pub(super) const CHECK: Check = Check {
    name: "kexec",
    tests: "kexec starts the same kernel with the initramfs of `anechoic minimal`, and the recording that its only process \
            sends is whole and the same on another machine",
    // init.sh starts what was loaded after it has sent the results. The command is the one that the tool prints.
    script: "anechoic minimal --initramfs initramfs --kernel /lab/vmlinuz --send /dev/ttyS2 --at-end power-off \\
	run --allow-variant-tsc -d 2s --quiet >explained || exit
sed -n '/^  sudo kexec/,/[^\\\\]$/{s/sudo//;p}' explained >load
sh load
test $(cat /sys/kernel/kexec_loaded) = 1 && rm initramfs",
    skipped: everywhere,
    judge,
};

fn judge(evidence: &Evidence<'_>) -> anyhow::Result<String> {
    evidence.succeeded()?;
    let archive = evidence.dir.with_file_name(RECORDING);
    run(Command::new("tar").arg("-xf").arg(&archive).current_dir(&evidence.dir))?;
    let log = evidence.text("minimal.log").context("nothing was measured")?;
    let mut found = std::fs::read_dir(&evidence.dir)?.flatten().map(|entry| entry.path());
    let recording = found.find(|path| path.join("run.json").exists());
    let recording = recording.with_context(|| format!("no recording: {log}"))?;
    let name = recording.file_name().context("a name")?.to_string_lossy().into_owned();
    let summary = evidence.summary_here(&evidence.dir, &["--json", &name])?;
    let summary: Value = serde_json::from_str(&summary)?;
    ensure!(summary["run"]["state"] == "complete", "{}", summary["run"]);
    let events = aligned(&summary)?;
    let run: Value = serde_json::from_slice(&std::fs::read(recording.join("run.json"))?)?;
    let kernel = run["machine"]["kernel"].as_str().unwrap_or_default();
    ensure!(kernel.contains(&evidence.image.release), "another kernel: {kernel}");
    Ok(format!("{events} events in a kernel that kexec started"))
}
