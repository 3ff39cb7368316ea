//! What makes the tables less than they seem.

use crate::measured::names::{Named, shown};
use crate::screen::{Fact, Screen};
use crate::style::Tone;
use crate::units::{count, counted, share};
use anechoic_analyze::samples::{Measured, SeriesResult};
use anechoic_recording::methods;
use anechoic_recording::run::{Ended, NotAvailable};

/// Series that are named in one warning.
const NAMED: usize = 6;

/// Adds the warnings, each for all series that it is true of.
pub(crate) fn add(measured: &Measured, screen: &mut Screen) {
    let shown = shown(measured, true);
    for (tone, text) in ended(&shown).into_iter().chain(gone(&shown)).chain(roamed(&shown)) {
        match tone {
            Tone::Warning => screen.warning(&text),
            _ => screen.item(tone, &text),
        }
    }
}

/// Whether the work returned what it must.
pub(crate) fn work(measured: &Measured) -> Fact {
    let facts = || measured.series.iter().map(|series| &series.facts);
    let wrong = facts().map(|facts| facts.wrong).fold(0, u64::saturating_add);
    let samples = facts().map(|facts| facts.samples).fold(0, u64::saturating_add);
    let (tone, text) = match (wrong, samples) {
        (0, 0) => (Tone::Quiet, "none was done".into()),
        (0, samples) => (
            Tone::Good,
            format!("all of {} returned the right value", counted(samples, "sample", "samples")),
        ),
        (wrong, samples) => {
            let (wrong, samples) = (count(wrong), count(samples));
            let what = "samples returned a wrong value: this machine cannot be trusted";
            (Tone::Bad, format!("{wrong} of {samples} {what}"))
        }
    };
    Fact::new("work", tone, text)
}

/// What could not be said of series, each thing once: of the overheads of ticks and of subtraction, where these are shown.
pub(crate) fn not_said(measured: &Measured) -> Vec<NotAvailable> {
    let of = |series: &SeriesResult| match measured.method.as_str() {
        methods::TICK => series.ticks.as_ref().map(|ticks| ticks.not_available.clone()),
        methods::LOOPS => {
            series.subtraction.as_ref().map(|subtraction| subtraction.not_available.clone())
        }
        _ => None,
    };
    let mut missing: Vec<NotAvailable> = vec![];
    for one in measured.series.iter().filter_map(of).flatten() {
        if !missing.contains(&one) {
            missing.push(one);
        }
    }
    missing
}

/// The series of which something is true, by name; nothing where it is true of none.
fn of_which(shown: &[Named<'_>], is: impl Fn(&SeriesResult) -> bool) -> Option<String> {
    let names: Vec<String> =
        shown.iter().filter(|named| is(named.result)).map(Named::short).collect();
    let more = names.len().saturating_sub(NAMED);
    let listed = names.iter().take(NAMED).cloned().collect::<Vec<_>>().join(", ");
    match (names.len(), more) {
        (0, _) => None,
        (_, 0) => Some(listed),
        _ => Some(format!("{listed} and {more} more")),
    }
}

/// Series that ended otherwise than with all samples taken.
fn ended(shown: &[Named<'_>]) -> Vec<(Tone, String)> {
    let so = |ended: Ended| of_which(shown, |series| series.facts.ended == ended);
    let early = |series: &SeriesResult| {
        series.facts.ended == Ended::Steady && series.facts.samples < series.facts.asked
    };
    let stopped = [
        (Ended::Interrupted, "interrupted before all samples were taken"),
        (Ended::Offline, "ended when the CPU went offline"),
        (Ended::Clock, "ended when the counter jumped back"),
        (Ended::CutOff, "cut off: these are the samples that had been saved"),
    ];
    let line = |tone, which: Option<String>, text: &str| {
        which.map(|which| (tone, format!("{which}: {text}")))
    };
    let early = line(Tone::Quiet, of_which(shown, early), "ended early: the mean had come to rest");
    let stopped = stopped.map(|(ended, text)| line(Tone::Warning, so(ended), text));
    early.into_iter().chain(unsteady(shown)).chain(stopped.into_iter().flatten()).collect()
}

/// Series whose mean had to come to rest and did not, as their samples tell.
fn unsteady(shown: &[Named<'_>]) -> impl Iterator<Item = (Tone, String)> {
    let allowed = shown.iter().find_map(|named| named.result.steadiness).map(|s| share(s.maiv));
    let allowed = allowed.map_or(String::new(), |allowed| format!(" ({allowed} is allowed)"));
    let cases = [
        (
            Some(false),
            Tone::Warning,
            format!("the mean had not come to rest at the end{allowed}; take more samples"),
        ),
        (
            None,
            Tone::Warning,
            format!("too few samples to tell whether the mean came to rest{allowed}; take more"),
        ),
        (
            Some(true),
            Tone::Quiet,
            format!("the mean came to rest only with the last samples{allowed}"),
        ),
    ];
    let line = |(steady, tone, text): (Option<bool>, Tone, String)| {
        let so = |series: &SeriesResult| {
            series.facts.ended == Ended::Unsteady
                && series.steadiness.and_then(|steadiness| steadiness.steady) == steady
        };
        of_which(shown, so).map(|which| (tone, format!("{which}: {text}")))
    };
    cases.map(line).into_iter().flatten()
}

/// Samples that are not there.
fn gone(shown: &[Named<'_>]) -> Option<(Tone, String)> {
    let gone = |series: &SeriesResult| series.facts.missing.max(series.facts.lost);
    let which = of_which(shown, |series| gone(series) > 0)?;
    let sum = shown.iter().fold(0u64, |sum, named| sum.saturating_add(gone(named.result)));
    Some((
        Tone::Warning,
        format!(
            "{which}: {} are missing; all numbers are of those that are there",
            counted(sum, "sample", "samples")
        ),
    ))
}

/// Where series ran that no CPU was chosen for.
fn roamed(shown: &[Named<'_>]) -> Vec<(Tone, String)> {
    let line = |named: &Named<'_>| {
        let facts = &named.result.facts;
        if facts.cpu.is_some() || facts.samples == 0 {
            return None;
        }
        let on = |seen: &anechoic_analyze::samples::CpuSamples| {
            format!("{} on CPU {}", share(seen.samples as f64 / facts.samples as f64), seen.cpu)
        };
        let mut cpus = facts.cpus_seen.clone();
        cpus.sort_by_key(|seen| std::cmp::Reverse(seen.samples));
        let on: Vec<String> = cpus.iter().take(NAMED).map(on).collect();
        let moves = counted(facts.migrations, "migration", "migrations");
        let on = if on.is_empty() {
            String::new()
        } else {
            format!("; {} of the samples", on.join(", "))
        };
        Some((Tone::Quiet, format!("{}: unpinned, {moves}{on}", named.short())))
    };
    shown.iter().filter_map(line).collect()
}
