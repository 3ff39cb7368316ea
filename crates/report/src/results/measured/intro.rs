//! What was measured, in two lines.

use crate::results::measured::names::same;
use crate::style::clip;
use crate::units::{asked, counted, cpu_list, fine, fine_range, span, timestamp};
use anechoic_analyze::samples::{Fixed, Measured, SeriesFacts};
use anechoic_recording::methods;

/// Returns the method, the work, and how it was measured.
pub(super) fn parts(measured: &Measured) -> String {
    let facts = || measured.series.iter().map(|series| &series.facts);
    let mut parts = vec![method(measured)];
    parts.push(where_and_how_long(measured));
    if let Some(samples) = same(facts().map(|facts| facts.samples)) {
        let windows = facts().all(|facts| facts.fixed == Fixed::Time);
        let (one, more) = if windows { ("window", "windows") } else { ("sample", "samples") };
        let each = if measured.series.len() > 1 { " each" } else { "" };
        parts.push(format!("{}{each}", counted(samples, one, more)));
    }
    parts.extend(
        same(facts().map(|facts| facts.policy.as_str()))
            .filter(|p| *p != "other")
            .map(str::to_owned),
    );
    parts.extend(watching(facts()));
    if let Some((number, total)) = measured.run.repetition {
        parts.push(format!("run {number} of {total}"));
    }
    parts.push(timestamp(&measured.run.start_utc));
    parts.join(" · ")
}

/// Returns method and work: `fixed work (FWQ): 1 ms of intadd`.
fn method(measured: &Measured) -> String {
    let title = match measured.method.as_str() {
        methods::FWQ => "fixed work (FWQ)",
        methods::FTQ => "fixed time (FTQ)",
        methods::TICK => "tick kernels",
        methods::LOOPS => "do-nothing loops",
        other => other,
    };
    let facts = || measured.series.iter().map(|series| &series.facts);
    let grain = same(facts().map(|facts| facts.grain_ns)).map(asked);
    let work = same(facts().map(|facts| facts.variant.as_str()));
    let fixed = facts().next().map(|facts| facts.fixed);
    let what = match (grain, work, fixed) {
        (Some(grain), Some(work), Some(Fixed::Time)) => format!(": windows of {grain}, {work}"),
        (Some(grain), None, Some(Fixed::Time)) => format!(": windows of {grain}"),
        (Some(grain), Some(work), _) => format!(": {grain} of {work}"),
        (Some(grain), None, _) => format!(": {grain} each"),
        (None, Some(work), _) => format!(": {work}"),
        (None, None, _) => String::new(),
    };
    format!("{title}{what}")
}

fn where_and_how_long(measured: &Measured) -> String {
    let cpus = &measured.run.cpus;
    let number = counted(cpus.len() as u64, "CPU", "CPUs");
    let unpinned = measured.series.iter().filter(|series| series.facts.cpu.is_none()).count();
    let and = if unpinned > 0 && !cpus.is_empty() { " and unpinned" } else { "" };
    let on = match cpus.as_slice() {
        [] => "unpinned".to_owned(),
        [one] => format!("CPU {one}{and}"),
        many => format!("{number} ({}){and}", clip(&cpu_list(many), 24)),
    };
    let wall_ns = measured.run.wall_ns;
    let wall = if wall_ns < 10_000_000 { fine(wall_ns as f64) } else { span(wall_ns) };
    format!("{on} for {wall}")
}

/// Returns whether gaps inside samples were watched, and how closely; nothing if the series differ.
fn watching<'a>(facts: impl Iterator<Item = &'a SeriesFacts> + Clone) -> Option<String> {
    if !same(facts.clone().map(|facts| facts.watched))? {
        return Some("not watched inside samples".into());
    }
    let steps =
        || facts.clone().filter(|f| f.fixed == Fixed::Work).filter_map(|facts| facts.step_ns);
    let (low, high) = (steps().fold(f64::MAX, f64::min), steps().fold(0.0, f64::max));
    Some(match high {
        0.0 => "watched".into(),
        _ if fine(low) == fine(high) => format!("watched in steps of {}", fine(high)),
        _ => format!("watched in steps of {}", fine_range(low, high)),
    })
}
