//! How late timers woke threads, in words.

use crate::names::source_name;
use crate::style::Tone;
use crate::units::{asked, count, counted, micro, micros, number, percent_range, share};
use anechoic_analyze::Wakeup;
use anechoic_analyze::wakeup::{IdleLatency, Latencies, Parts, Worst};

/// A smaller part of the late time that is unknown is left out of a sentence.
const LITTLE: f64 = 0.01;

fn us(ns: f64) -> String {
    micro(ns / 1e3)
}

/// Returns what was found in sentences, of which the first is the headline.
pub(crate) fn sentences(found: &Wakeup) -> Vec<String> {
    let longest = |row: &&Latencies| row.max_ns.unwrap_or(-1.0);
    let worst = found.whole().max_by(|a, b| longest(a).total_cmp(&longest(b)));
    let Some(worst) = worst.filter(|row| row.samples > 0) else {
        return vec!["No wake-up was measured.".into()];
    };
    let mut sentences = vec![headline(found, worst)];
    sentences.extend(culprit(found));
    sentences.extend(overruns(found));
    sentences.extend(idle(found));
    sentences
}

fn headline(found: &Wakeup, row: &Latencies) -> String {
    let mut text = format!("Of {}", counted(row.samples, "wake-up", "wake-ups"));
    if found.whole().count() > 1 {
        text += &format!(" by a timer every {}{}", asked(row.interval_ns), kind(found, row));
    }
    text += &row.p50_ns.map_or(String::new(), |ns| format!(" half took up to {}", us(ns)));
    if let Some((name, ns)) = row.highest_quantile().filter(|(name, _)| *name != "median") {
        text += &format!(", {} up to {}", name.replace('p', "") + " %", us(ns));
    }
    text += &row.max_ns.map_or(String::new(), |ns| format!(" and the longest {}", us(ns)));
    let late = asked(found.late_ns);
    match row.late {
        0 => text + &format!("; none was later than {late}."),
        _ => text + &format!("; {} ({}) were later than {late}.", count(row.late), late_share(row)),
    }
}

/// Returns the kind of idle of a row, if several were measured.
fn kind(found: &Wakeup, row: &Latencies) -> &'static str {
    match super::compares_idle(found) {
        true if row.shallow => " without deep idle states",
        true => " with all idle states",
        false => "",
    }
}

/// Writes the bounds of the share of late wake-ups.
pub(super) fn late_share(row: &Latencies) -> String {
    let Some(within) = row.late_share else { return super::NOTHING.into() };
    match within.low {
        low if low > 0.0 => percent_range(low * 100.0, within.high * 100.0),
        _ => format!("< {} %", number(within.high * 100.0)),
    }
}

/// Names what took most of the late wake-ups, unless more of their time is unknown.
fn culprit(found: &Wakeup) -> Option<String> {
    let causes = found.causes.as_ref()?;
    let unknown = causes.unknown_share_late;
    let lost = "events of these wake-ups were lost or hidden";
    let known = causes.sources.first().and_then(|source| {
        let part = source.share_late? * (1.0 - unknown);
        let name = source_name(&source.source, &source.name, &found.run);
        (part > unknown)
            .then(|| format!("{} of the time of the late ones went to: {name}.", share(part)))
    });
    match known {
        Some(known) if unknown < LITTLE => Some(known),
        Some(known) => Some(format!("{known} Of {} it is not known: {lost}.", share(unknown))),
        None if unknown > 0.0 => Some(format!(
            "Where {} of the time of the late ones went is not known: {lost}.",
            share(unknown)
        )),
        None => None,
    }
}

/// Names what took most of a wake-up.
pub(super) fn cause(found: &Wakeup, wake: &Worst) -> Option<String> {
    let (source, name) = (wake.source.as_ref()?, wake.name.as_deref().unwrap_or_default());
    Some(source_name(source, name, &found.run))
}

/// States the mean parts of all wake-ups, and of the late ones.
pub(super) fn parts(found: &Wakeup) -> Option<String> {
    let causes = found.causes.as_ref()?;
    let late = causes.mean_late.map(|late| format!("; late ones {}", sum(late)));
    let all = sum(causes.mean?);
    let late = late.unwrap_or_default();
    Some(format!("timer + interrupt + scheduling + return: {all} µs{late}"))
}

/// Returns the name of an idle state.
pub(super) fn idle_state(idle: &IdleLatency) -> &str {
    idle.state.as_deref().unwrap_or("not known")
}

fn sum(parts: Parts) -> String {
    let parts = [parts.timer_ns, parts.interrupt_ns, parts.scheduling_ns, parts.return_ns];
    parts.map(micros).join(" + ")
}

/// States of how many wake-ups all parts are known.
pub(super) fn explained(found: &Wakeup) -> Option<(Tone, String)> {
    let causes = found.causes.as_ref()?;
    if causes.explained + causes.not_attributable == 0 {
        return None;
    }
    let all = counted(causes.explained, "wake-up", "wake-ups");
    Some(match causes.not_attributable {
        0 => (Tone::Good, format!("the parts of all {all} add up to their latencies")),
        unknown => (
            Tone::Warning,
            format!(
                "{all}; of {} events were lost or hidden, and nothing is said about them",
                count(unknown)
            ),
        ),
    })
}

fn overruns(found: &Wakeup) -> Option<String> {
    let overruns: u64 = found.whole().map(|row| row.overruns).sum();
    let passed = counted(overruns, "further expiry", "further expiries");
    (overruns > 0).then(|| format!("{passed} passed before a thread could sleep again."))
}

/// Compares the kinds of idle at the shortest interval that has both.
fn idle(found: &Wakeup) -> Option<String> {
    found.whole().filter(|row| row.shallow).find_map(|shallow| {
        let same = |row: &&Latencies| !row.shallow && row.interval_ns == shallow.interval_ns;
        let (any_ns, shallow_ns) = (found.whole().find(same)?.p50_ns?, shallow.p50_ns?);
        Some(format!(
            "Without deep idle states the median is {} instead of {} (every {}).",
            us(shallow_ns),
            us(any_ns),
            asked(shallow.interval_ns)
        ))
    })
}

/// States the scheduling policy, and the timer slack of ordinary threads.
pub(super) fn policy(found: &Wakeup) -> String {
    if !found.policy.is_other() {
        return format!("SCHED_FIFO ({})", found.policy);
    }
    let slack = asked(found.slack_ns);
    format!(
        "ordinary; the kernel may let its timers expire up to {slack} late (timer slack), which is part of the latency"
    )
}

/// States what recording kernel events costs.
pub(super) fn events(found: &Wakeup) -> Option<String> {
    let row = found.whole().find(|row| row.events_ns.is_some())?;
    let cost = row.events_ns?;
    let whose = match found.whole().count() {
        1 => String::new(),
        _ => format!(" of the wake-ups every {}{}", asked(row.interval_ns), kind(found, row)),
    };
    let bounds = cost.interval.map(|within| [within.low, within.high].map(|ns| number(ns / 1e3)));
    Some(match bounds {
        None => format!("recorded; they add {} to the median{whose}", us(cost.value)),
        Some([low, high]) if cost.value > 0.0 => {
            format!(
                "recorded; they add {} (95 %: {low} to {high}) to the median{whose}",
                us(cost.value)
            )
        }
        Some([low, high]) => format!(
            "recorded; what they add to the median{whose} was too little to measure (95 %: {low} to {high} µs)"
        ),
    })
}

/// Explains the columns.
pub(super) fn columns(found: &Wakeup) -> String {
    let events =
        if found.whole().any(|row| row.events_ns.is_some()) { ", with kernel events" } else { "" };
    format!(
        "From the programmed expiry of a timer until the thread that it woke read the counter{events}. p99 needs 1,000 wake-ups, p99.9 \
         10,000. Share: of late ones in %, from the smallest to the largest that agree with their number (95 % each)."
    )
}
