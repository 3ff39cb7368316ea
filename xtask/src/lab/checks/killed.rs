//! A run that is killed.

use super::{Check, everywhere};
use crate::lab::evidence::{Evidence, rows};
use anyhow::ensure;

pub(super) const CHECK: Check = Check {
    name: "killed",
    tests: "after `kill -9` the next run removes what the kernel still has of the killed one, \
            whose recording is reported as cut off",
    script: "anechoic run --allow-variant-tsc -d 1000s -q -o rec &
until test -e rec/run.json; do sleep 1; done
sleep 2
kill -9 $!
wait $!
ls /sys/kernel/tracing/instances >left
anechoic check --json >check.json
anechoic run --allow-variant-tsc -d 1s -q --no-save --json >next.json || exit
ls /sys/kernel/tracing/instances >after
anechoic summary rec >summary 2>&1
echo $? >cut-off",
    skipped: everywhere,
    judge,
};

fn judge(evidence: &Evidence<'_>) -> anyhow::Result<String> {
    evidence.succeeded()?;
    let (left, after) = (evidence.text("left")?, evidence.text("after")?);
    ensure!(left.lines().count() == 1, "instances after kill -9: {left:?}");
    ensure!(after.is_empty(), "instances after the next run: {after:?}");
    let check = evidence.json("check.json")?;
    let named =
        rows(&check, "/findings").iter().any(|finding| finding.to_string().contains(left.trim()));
    ensure!(named, "`anechoic check` does not name {}", left.trim());
    let code = evidence.text("cut-off")?;
    let code = code.trim();
    ensure!(["1", "3"].contains(&code), "the cut-off recording's summary exits with {code}");
    Ok(format!("{} removed", left.trim()))
}
