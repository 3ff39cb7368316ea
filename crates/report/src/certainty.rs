//! How sure the answer is: alignment, explained share, losses, audit, what was not available.

use crate::screen::Fact;
use crate::style::Tone;
use crate::units::{count, counted, length, share, time};
use anechoic_analyze::coverage::{AuditDifference, Coverage, LossSummary};
use anechoic_analyze::facts::Facts;
use anechoic_analyze::tracer::{Difference, TracerCost};
use anechoic_analyze::{Breakdown, Summary};
use anechoic_recording::LossKind;
use anechoic_recording::attribution::Alignment;
use anechoic_recording::run::{DrainPolicy, NotAvailable};

/// A larger part of the events outside all detours is an error, not a footnote.
const OUTSIDE_BAD: f64 = 0.001;
/// Every way into the kernel and back takes longer: with a threshold up to this each is a detour.
const SURELY_SEEN_NS: u64 = 500;
/// Differences of the audit that are listed.
const DIFFERENCES: usize = 3;

/// All there is to know of how sure a run is.
pub(crate) fn facts(summary: &Summary) -> Vec<Fact> {
    let run = &summary.run;
    let mut facts = vec![];
    if let Some(sources) = &summary.sources {
        facts.extend(breakdown(sources, run));
    }
    facts.extend(losses(&summary.losses));
    if let Some(cost) = &summary.tracer_cost {
        facts.push(Fact::new("tracing cost", Tone::Good, tracer_cost(cost)));
    }
    facts.extend(not_available(&run.not_available));
    facts.extend(not_available(&summary.not_available));
    facts.extend(notes(run));
    facts
}

/// What the reader should know of the run.
pub(crate) fn notes(run: &Facts) -> Vec<Fact> {
    let text =
        "buffers were written out during the run; what that took is source \"anechoic itself\"";
    let written = (run.drain == DrainPolicy::HighWater).then_some(text);
    let notes = run.notes.iter().map(String::as_str);
    written.into_iter().chain(notes).map(|note| Fact::new("note", Tone::Quiet, note)).collect()
}

/// Alignment, explained share, audit and steal.
pub(crate) fn breakdown(sources: &Breakdown, run: &Facts) -> Vec<Fact> {
    let (tone, text) = alignment(&sources.alignment, run.threshold_ns);
    let mut facts = vec![Fact::new("alignment", tone, text)];
    let text = match &sources.coverage {
        Some(coverage) => explained(coverage, run),
        None => "nothing to explain: no detours".into(),
    };
    facts.push(Fact::new("explained", Tone::Good, text));
    let (tone, text) = audit(sources, run);
    facts.push(Fact::new("audit", tone, text));
    if !sources.untraced.is_empty() {
        let untraced = format!("no event tells of: {}", sources.untraced.join(", "));
        facts.push(Fact::new("", Tone::Quiet, untraced));
    }
    if let (Some(read), Some(placed)) = (sources.steal_read_ns, sources.steal_placed_ns) {
        let text = match read {
            0 => "the hypervisor ran others for no time that it told of".to_owned(),
            _ => format!(
                "{} of {} that the hypervisor told of lie in the detours",
                length(placed),
                length(read)
            ),
        };
        facts.push(Fact::new("steal", Tone::Good, text));
    }
    facts
}

fn alignment(alignment: &Alignment, threshold_ns: u64) -> (Tone, String) {
    let Alignment { events, outside, .. } = *alignment;
    let all = counted(events, "kernel event", "kernel events");
    match (events, outside) {
        (0, _) => (Tone::Quiet, "no kernel events on the measured CPUs".into()),
        (_, 0) => (Tone::Good, format!("all of {all} lie inside a detour")),
        _ if threshold_ns > SURELY_SEEN_NS => {
            let text =
                format!("not checked: {} of {all} lie in gaps under the threshold", count(outside));
            (Tone::Quiet, text)
        }
        _ => {
            let bad = outside as f64 > OUTSIDE_BAD * events as f64;
            let text = format!("{} of {all} lie outside every detour", count(outside));
            let text = if bad { format!("{text}: do not trust the sources") } else { text };
            (if bad { Tone::Bad } else { Tone::Warning }, text)
        }
    }
}

fn explained(coverage: &Coverage, run: &Facts) -> String {
    let mut text = format!(
        "{} of the lost time ({} without the gaps)",
        share(coverage.explained),
        share(coverage.explained_without_gaps)
    );
    text += &format!("; {} had no kernel event", share(coverage.unexplained));
    if coverage.not_attributable > 0.0 {
        let why = if run.alternate_ns.is_some() {
            "events were off on purpose"
        } else {
            "events were lost or hidden"
        };
        text += &format!("; {} is not attributable ({why})", share(coverage.not_attributable));
    }
    if coverage.unattributed > 0.0 {
        text += &format!("; {} has no activity recorded", share(coverage.unattributed));
    }
    text
}

fn audit(sources: &Breakdown, run: &Facts) -> (Tone, String) {
    let differ = &sources.audit_differences;
    if run.alternate_ns.is_some() {
        return (Tone::Quiet, "not available (events were off half of the time on purpose)".into());
    }
    if sources.audited == 0 {
        return (Tone::Quiet, "not available (no counters of the kernel were read)".into());
    }
    if differ.is_empty() {
        let counters = counted(sources.audited, "counter", "counters");
        return (Tone::Good, format!("{counters} of the kernel agree with the events seen"));
    }
    let named: Vec<String> = differ.iter().take(DIFFERENCES).map(difference).collect();
    let text =
        format!("{} of {} counters differ: {}", differ.len(), sources.audited, named.join("; "));
    let more = differ.len().saturating_sub(DIFFERENCES);
    (Tone::Warning, if more > 0 { format!("{text}; {more} more") } else { text })
}

fn difference(difference: &AuditDifference) -> String {
    format!(
        "{} on CPU {}: {} counted, {} seen",
        difference.counter,
        difference.cpu,
        count(difference.counted),
        count(difference.seen)
    )
}

/// What was lost; tracing that was off on purpose is no loss.
pub(crate) fn losses(losses: &[LossSummary]) -> Vec<Fact> {
    let lost = losses.iter().filter(|loss| loss.what != LossKind::Untraced);
    let facts: Vec<Fact> = lost
        .map(|loss| {
            let number =
                if loss.count > 0 { count(loss.count) } else { "an unknown number of".into() };
            let text = format!(
                "{number} {} in {}, {} of the time, on {}",
                loss.what,
                counted(loss.intervals, "interval", "intervals"),
                share(loss.time_share),
                counted(loss.cpus.len() as u64, "CPU", "CPUs"),
            );
            Fact::new("losses", Tone::Warning, text)
        })
        .collect();
    if facts.is_empty() { vec![Fact::new("losses", Tone::Good, "none")] } else { facts }
}

fn tracer_cost(cost: &TracerCost) -> String {
    let difference = |difference: &Difference| {
        format!(
            "{} (95 %: {} to {}; {} would have been found)",
            time(difference.difference_ns),
            time(difference.interval.low),
            time(difference.interval.high),
            time(difference.smallest_effect_ns),
        )
    };
    format!(
        "a tick takes longer with events by {} in the median, {} in the mean; {} pairs of windows",
        difference(&cost.median),
        difference(&cost.mean),
        count(cost.pairs),
    )
}

/// What could not be had, why, and what would enable it.
pub(crate) fn not_available(missing: &[NotAvailable]) -> Vec<Fact> {
    let fact = |NotAvailable { what, why, remedy }: &NotAvailable| {
        let remedy = if remedy.is_empty() { String::new() } else { format!(": {remedy}") };
        Fact::new("not available", Tone::Warning, format!("{what} ({why}){remedy}"))
    };
    missing.iter().map(fact).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_outside_are_an_error_where_they_are_many() {
        let cases = [
            ("none", 0, 0, 70, Tone::Quiet),
            ("all inside", 380_000, 0, 70, Tone::Good),
            ("one", 380_000, 1, 70, Tone::Warning),
            ("many", 1_000, 2, 70, Tone::Bad),
            ("many under a high threshold", 1_000, 500, 1_000_000, Tone::Quiet),
        ];
        for (name, events, outside, threshold_ns, expected) in cases {
            let found =
                alignment(&Alignment { events, outside, ..Alignment::default() }, threshold_ns);
            assert_eq!(found.0, expected, "case: {name}: {}", found.1);
        }
    }
}
