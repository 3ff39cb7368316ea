//! How late threads were woken, in words.

use super::stopped;
use crate::names::source_name;
use crate::results::memory::words::size;
use crate::style::Tone;
use crate::units::{asked, count, counted, micro, micros, number, percent_range, share};
use anechoic_analyze::Wakeup;
use anechoic_analyze::stats::Interval;
use anechoic_analyze::wakeup::{Causes, IdleLatency, Latencies, Parts, Worst};
use anechoic_recording::wakeup::{Waker, WakingCall};

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
    let ended = found.stopped.iter().map(|stopped| stopped::sentence(stopped, &found.run));
    let mut sentences: Vec<String> = ended.chain([headline(found, worst)]).collect();
    sentences.extend(culprit(found));
    sentences.extend(overruns(found));
    sentences.extend(idle(found));
    sentences
}

fn headline(found: &Wakeup, row: &Latencies) -> String {
    let mut text = format!("Of {}", counted(row.samples, "wake-up", "wake-ups"));
    if found.whole().count() > 1 {
        let by = by(row.call);
        text += &format!(" by {by} every {}{}", asked(row.interval_ns), kind(found, row));
    }
    text += &row.p50_ns.map_or(String::new(), |ns| format!(" half took up to {}", us(ns)));
    if let Some((name, ns)) = row.highest_quantile().filter(|(name, _)| *name != "median") {
        text += &format!(", {} up to {}", name.replace('p', "") + " %", us(ns));
    }
    text += &row.max_ns.map_or(String::new(), |ns| format!(" and the longest {}", us(ns)));
    let late = asked(found.late_ns);
    match row.late {
        0 => text + &format!("; none was later than {late}."),
        _ => {
            text + &format!(
                "; {} ({}) were later than {late}.",
                count(row.late),
                late_share(row.late_share)
            )
        }
    }
}

/// Returns the kind of idle of a row, if several were measured.
fn kind(found: &Wakeup, row: &Latencies) -> &'static str {
    match super::compares_idle(found) {
        true => idle_kind(row.shallow),
        false => "",
    }
}

/// Names a kind of idle, in a sentence.
pub(crate) fn idle_kind(shallow: bool) -> &'static str {
    match shallow {
        true => " without deep idle states",
        false => " with all idle states",
    }
}

/// Writes the bounds of the share of late wake-ups.
pub(crate) fn late_share(share: Option<Interval>) -> String {
    let Some(within) = share else { return super::NOTHING.into() };
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

/// Names what wakes, in a sentence.
pub(crate) fn by(call: Option<WakingCall>) -> &'static str {
    call.map_or("a timer", WakingCall::name)
}

/// Returns the name of an idle state.
pub(super) fn idle_state(idle: &IdleLatency) -> &str {
    idle.state.as_deref().unwrap_or("not known")
}

/// Names what wakes.
pub(super) fn name(call: Option<WakingCall>) -> &'static str {
    call.map_or("timer", WakingCall::name)
}

/// Names what woke a thread, and from where.
pub(super) fn waker(waker: Option<Waker>) -> String {
    waker.map_or_else(
        || name(None).into(),
        |Waker { call, cpu }| format!("{}, CPU {cpu}", call.name()),
    )
}

/// Returns the mean parts of all wake-ups, those by each of several things that wake, those above p99, and the late ones.
pub(super) fn classes(causes: &Causes) -> Vec<(String, Parts)> {
    let rare = [("above p99", causes.mean_above_p99), ("late", causes.mean_late)];
    let rare = rare.into_iter().filter_map(|(name, parts)| Some((name.to_owned(), parts?)));
    let each = causes.by_call.iter().map(|one| (format!("by {}", by(one.call)), one.mean));
    causes.mean.map(|all| ("all".to_owned(), all)).into_iter().chain(each).chain(rare).collect()
}

/// States the mean parts of all wake-ups and of the late ones, or those of each of several things that wake.
pub(super) fn parts(found: &Wakeup) -> Option<String> {
    let causes = found.causes.as_ref()?;
    let call = found.rows.first().is_some_and(|row| row.call.is_some());
    if causes.by_call.is_empty() {
        let late = causes.mean_late.map(|late| format!("; late ones {}", sum(late, call)));
        let all = sum(causes.mean?, call);
        return Some(format!("{}: {all} µs{}", stages(call), late.unwrap_or_default()));
    }
    let each = causes.by_call.iter().map(|one| {
        let call = one.call.is_some();
        format!("{}, {}: {}", name(one.call), stages(call), sum(one.mean, call))
    });
    Some(each.collect::<Vec<_>>().join("; ") + " µs")
}

fn stages(by_call: bool) -> &'static str {
    if by_call { "call + scheduling + return" } else { "timer + interrupt + scheduling + return" }
}

fn sum(parts: Parts, by_call: bool) -> String {
    let first = [parts.timer_ns, parts.interrupt_ns];
    let first = if by_call { vec![parts.call_ns] } else { first.to_vec() };
    let parts = first.into_iter().chain([parts.scheduling_ns, parts.return_ns]);
    parts.map(micros).collect::<Vec<_>>().join(" + ")
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
    let how = match super::has_calls(found) {
        true => "without a wake-up",
        false => "before a thread could sleep again",
    };
    (overruns > 0).then(|| format!("{passed} passed {how}."))
}

/// Compares the kinds of idle at the shortest interval that has both.
fn idle(found: &Wakeup) -> Option<String> {
    found.whole().filter(|row| row.shallow).find_map(|shallow| {
        let same = |row: &&Latencies| {
            !row.shallow && (row.interval_ns, row.call) == (shallow.interval_ns, shallow.call)
        };
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
    if found.policy.is_deadline() {
        return "SCHED_DEADLINE, with the interval as period and deadline".into();
    }
    if !found.policy.is_other() {
        return format!("SCHED_FIFO ({})", found.policy);
    }
    if found.slack_ns == 0 {
        return "ordinary".into();
    }
    let slack = asked(found.slack_ns);
    format!(
        "ordinary; the kernel may let its timers expire up to {slack} late (timer slack), which is part of the latency"
    )
}

/// States how long a pass over the working set takes after a wake-up, and at once again.
pub(super) fn working_set(found: &Wakeup) -> Option<String> {
    let memory = size(found.working_set_bytes?);
    let several = found.whole().count() > 1;
    let each = found.whole().filter_map(|row| {
        let [woken_ns, again_ns] = [row.pass_ns?, row.pass_again_ns?];
        let whose = several.then(|| {
            let by = super::has_calls(found).then(|| format!(" by {}", by(row.call)));
            let by = by.unwrap_or_default();
            format!("{by} every {}{}", asked(row.interval_ns), kind(found, row))
        });
        let whose = whose.unwrap_or_default();
        Some(format!("{} after a wake-up{whose}, {} at once again", us(woken_ns), us(again_ns)))
    });
    let each: Vec<String> = each.collect();
    (!each.is_empty()).then(|| format!("{memory} read in {} (medians)", each.join("; ")))
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
        "From the programmed expiry of a timer, or from the waking call of another thread, until the thread that it woke read the \
         counter{events}. p99 needs 1,000 wake-ups, p99.9 \
         10,000. Share: of late ones in %, from the smallest to the largest that agree with their number (95 % each)."
    )
}
