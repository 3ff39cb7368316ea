//! Warnings that limit what the tables show.

use crate::results::measured::names::{Named, shown};
use crate::screen::{Fact, Screen};
use crate::style::Tone;
use crate::units::{count, counted, share};
use anechoic_analyze::samples::{Measured, SeriesResult};
use anechoic_recording::methods;
use anechoic_recording::run::{Ended, NotAvailable};
use std::cmp::Reverse;

/// Largest number of series named in one warning.
const NAMED: usize = 6;
/// A step that differs by a larger share from the calibrated one is noted.
const NOTED_CHANGE: f64 = 0.05;

/// Adds the warnings, each for all series that it applies to.
pub(crate) fn add(measured: &Measured, screen: &mut Screen) {
    let shown = shown(measured, true);
    for (tone, text) in
        ended(&shown).into_iter().chain(gone(&shown)).chain(changed(&shown)).chain(roamed(&shown))
    {
        match tone {
            Tone::Warning => screen.warning(&text),
            _ => screen.item(tone, &text),
        }
    }
}

/// Returns whether the work returned the correct results.
pub(crate) fn work(measured: &Measured) -> Fact {
    let facts = || measured.series.iter().map(|series| &series.facts);
    let wrong = facts().map(|facts| facts.wrong).fold(0, u64::saturating_add);
    let samples = facts().map(|facts| facts.samples).fold(0, u64::saturating_add);
    let (tone, text) = match (wrong, samples) {
        (0, 0) => (Tone::Quiet, "none was done".into()),
        (0, samples) => (
            Tone::Good,
            format!("all {} returned the correct value", counted(samples, "sample", "samples")),
        ),
        (wrong, samples) => {
            let (wrong, samples) = (count(wrong), count(samples));
            let what = "samples returned a wrong value: do not trust this machine";
            (Tone::Bad, format!("{wrong} of {samples} {what}"))
        }
    };
    Fact::new("work", tone, text)
}

/// Returns what was not available for the overhead of ticks and for the subtraction, without repetitions.
pub(crate) fn not_said(measured: &Measured) -> Vec<NotAvailable> {
    let mut distinct: Vec<NotAvailable> = vec![];
    for missing in measured.series.iter().flat_map(|series| unavailable(&measured.method, series)) {
        if !distinct.contains(missing) {
            distinct.push(missing.clone());
        }
    }
    distinct
}

/// Returns what was not available for a series of this method.
fn unavailable<'a>(method: &str, series: &'a SeriesResult) -> &'a [NotAvailable] {
    let list = match method {
        methods::TICK => series.ticks.as_ref().map(|ticks| &ticks.not_available),
        methods::LOOPS => series.subtraction.as_ref().map(|found| &found.not_available),
        _ => None,
    };
    list.map_or(&[], |list| &list[..])
}

/// Names the series that satisfy a condition; nothing if there are none.
fn names_where(shown: &[Named<'_>], is: impl Fn(&SeriesResult) -> bool) -> Option<String> {
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

/// Returns a warning for all series that satisfy a condition; nothing if there are none.
fn doubt(
    shown: &[Named<'_>],
    tone: Tone,
    text: &str,
    is: impl Fn(&SeriesResult) -> bool,
) -> Option<(Tone, String)> {
    names_where(shown, is).map(|which| (tone, format!("{which}: {text}")))
}

/// Returns warnings for series that ended before all samples were taken.
fn ended(shown: &[Named<'_>]) -> Vec<(Tone, String)> {
    const STOPPED: [(Ended, &str); 4] = [
        (Ended::Interrupted, "interrupted before all samples were taken"),
        (Ended::Offline, "ended because the CPU went offline"),
        (Ended::Clock, "ended because the counter jumped back"),
        (Ended::CutOff, "cut off: only the samples saved by then are included"),
    ];
    let early = doubt(shown, Tone::Quiet, "ended early because the mean was steady", |series| {
        series.facts.ended == Ended::Steady && series.facts.samples < series.facts.asked
    });
    let stopped = STOPPED.into_iter().filter_map(|(ended, text)| {
        doubt(shown, Tone::Warning, text, |series| series.facts.ended == ended)
    });
    early.into_iter().chain(unsteady(shown)).chain(stopped).collect()
}

/// Returns warnings for series that had to reach a steady mean and did not.
fn unsteady(shown: &[Named<'_>]) -> Vec<(Tone, String)> {
    const CASES: [(Option<bool>, Tone, &str, &str); 3] = [
        (Some(false), Tone::Warning, "the mean was not steady at the end", "; take more samples"),
        (
            None,
            Tone::Warning,
            "too few samples to decide whether the mean was steady",
            "; take more",
        ),
        (Some(true), Tone::Quiet, "the mean became steady only with the last samples", ""),
    ];
    let steadiness = shown.iter().find_map(|named| named.result.steadiness);
    let allowed = steadiness
        .map_or(String::new(), |known| format!(" (a change of {} is allowed)", share(known.maiv)));
    let cases = CASES.into_iter().filter_map(|(steady, tone, what, remedy)| {
        doubt(shown, tone, &format!("{what}{allowed}{remedy}"), |series| {
            series.facts.ended == Ended::Unsteady
                && series.steadiness.and_then(|steadiness| steadiness.steady) == steady
        })
    });
    cases.collect()
}

/// Returns a warning about missing samples.
fn gone(shown: &[Named<'_>]) -> Option<(Tone, String)> {
    let missing = shown.iter().map(|named| lacking(named.result)).fold(0, u64::saturating_add);
    let missing = counted(missing, "sample", "samples");
    let text = format!("{missing} are missing; all numbers describe the remaining ones");
    doubt(shown, Tone::Warning, &text, |series| lacking(series) > 0)
}

/// Returns notes and warnings about series whose steps differ from the calibrated ones.
fn changed(shown: &[Named<'_>]) -> Vec<(Tone, String)> {
    let change = |series: &SeriesResult| series.facts.step_change.unwrap_or(0.0).abs();
    let most = |holds: &dyn Fn(&SeriesResult) -> bool| {
        let those = shown.iter().map(|named| named.result).filter(|series| holds(series));
        share(those.map(change).fold(0.0, f64::max))
    };
    let wrong = |series: &SeriesResult| !series.facts.is_calibrated();
    let noted = |series: &SeriesResult| !wrong(series) && change(series) > NOTED_CHANGE;
    let what = "a step of the work differs from its calibration by up to";
    let why = "CPUs that share a core, its power or its caches slow each other down";
    let texts = [
        doubt(
            shown,
            Tone::Warning,
            &format!(
                "{what} {}: no verdict on its detours ({why}); measure such CPUs one by one",
                most(&wrong)
            ),
            wrong,
        ),
        doubt(
            shown,
            Tone::Quiet,
            &format!(
                "{what} {} ({why}); the step of the series itself is subtracted",
                most(&noted)
            ),
            noted,
        ),
    ];
    texts.into_iter().flatten().collect()
}

fn lacking(series: &SeriesResult) -> u64 {
    series.facts.missing.max(series.facts.lost)
}

/// Returns where unpinned series ran.
fn roamed(shown: &[Named<'_>]) -> Vec<(Tone, String)> {
    let unpinned = shown.iter().filter(|named| named.result.facts.cpu.is_none());
    let unpinned = unpinned.filter(|named| named.result.facts.samples > 0);
    unpinned.map(|named| (Tone::Quiet, roams(named))).collect()
}

fn roams(named: &Named<'_>) -> String {
    let facts = &named.result.facts;
    let mut cpus = facts.cpus_seen.clone();
    cpus.sort_by_key(|seen| Reverse(seen.samples));
    let on = cpus.iter().take(NAMED).map(|seen| {
        format!("{} on CPU {}", share(seen.samples as f64 / facts.samples as f64), seen.cpu)
    });
    let on = on.collect::<Vec<_>>().join(", ");
    let on = if on.is_empty() { on } else { format!("; {on} of the samples") };
    let moves = counted(facts.migrations, "migration", "migrations");
    format!("{}: unpinned, {moves}{on}", named.short())
}
