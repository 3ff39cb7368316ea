//! `max-wakeup`: the longest wake-up.

use super::{Judge, Rule, RuleRow, Scope, Unit, detour};
use crate::gate::counts::Counts;
use crate::gate::woken::Woken;
use crate::gate::{Doubt, Finding, JudgedWakeups, Outcome};
use anechoic_recording::options::duration;

/// The rule.
pub(super) static WAKEUP: RuleRow = RuleRow {
    id: "max-wakeup",
    value_name: "TIME",
    help: "Recordings of `measure wakeup` and of cyclictest: longest wake-up: 50us",
    scope: Scope::Limit,
    unit: Unit::Nanoseconds,
    limit: |text| duration(text).map(|time| time.as_nanos() as f64),
    judge: Judge::Wakeups { wakeups: judge, counts: judge_counts },
};

/// Judges the longest wake-up of the recording, as [`detour::judge`] does.
fn judge(rule: &Rule, woken: &Woken) -> Finding {
    let value = woken.longest_ns as f64;
    // One that was lost may have had any length.
    let at_most = (woken.lost == 0).then_some(value);
    Finding {
        outcome: Outcome::from_bounds(rule.limit, value, at_most),
        value,
        at_least: value,
        at_most,
        ..woken.finding()
    }
}

/// Judges the longest of the wake-ups that another tool counted on a CPU.
fn judge_counts(rule: &Rule, counts: &Counts<'_>) -> Result<Finding, Doubt> {
    let samples = counts.all();
    if samples == 0 {
        return Err(Doubt::NotMeasured { cpu: Some(counts.cpu) });
    }
    let wakeups = Some(JudgedWakeups { samples, kind: None });
    let found = Finding { wakeups, ..detour::judge_counts(rule, counts)? };
    if counts.lost == 0 {
        return Ok(found);
    }
    // One that was lost may have had any length.
    let outcome = Outcome::from_bounds(rule.limit, found.at_least, None);
    Ok(Finding {
        outcome,
        at_most: None,
        uncertain: found.uncertain.saturating_add(counts.lost),
        ..found
    })
}
