//! Sentences and numbers of a prediction.

use crate::names::known;
use crate::style::plain;
use crate::units::{asked, count, long, slowdown, time};
use anechoic_predict::phases::{Cell, GrainModel, PhaseModel, SourceCost};

/// What to call a source.
pub(crate) fn source(of: &SourceCost) -> String {
    let title = known(&of.source).map_or(of.source.as_str(), |known| known.title);
    if of.name.is_empty() { plain(title) } else { plain(&format!("{title} {}", of.name)) }
}

/// What the job costs with as many ranks as the recording can tell of, and whose that is.
pub(crate) fn grain(model: &PhaseModel, of: &GrainModel) -> Option<String> {
    if model.noise == 0.0 {
        return None; // a note says it
    }
    let known = of.cells.iter().filter(|cell| cell.supported);
    let cell = known.max_by_key(|cell| cell.ranks).or_else(|| of.cells.first())?;
    let (free, wall) = (cell.free_start.slowdown, cell.wall_start.slowdown);
    // Where they meet, either may be the larger by their own error.
    let (low, high) = (free.min(wall), free.max(wall));
    let mut text = format!(
        "{} with a grain of {}: the job takes {} times as long",
        ranks(cell.ranks),
        asked(of.grain_ns),
        slowdown(cell.slowdown()),
    );
    if slowdown(low) != slowdown(high) {
        text += &format!(" (independent ranks: {} to {})", slowdown(low), slowdown(high));
    }
    text += "; ";
    text += &match culprit(cell) {
        Some(most) => format!(
            "{} costs most of it (free start: {} with all, {} without it, {} if it were alone).",
            source(most),
            slowdown(free),
            slowdown(most.without),
            slowdown(most.alone),
        ),
        None => format!("{} if all were away at the same times.", slowdown(model.co_scheduled)),
    };
    Some(text)
}

fn culprit(cell: &Cell) -> Option<&SourceCost> {
    // Less than a thousandth of the slowdown is no reason to act.
    let worth = |source: &&SourceCost| {
        cell.free_start.slowdown - source.without > 1e-3 * (cell.free_start.slowdown - 1.0)
    };
    cell.sources.first().filter(worth)
}

fn ranks(number: u64) -> String {
    if number == 1 { "1 rank".into() } else { format!("{} ranks", count(number)) }
}

/// How many ranks the recording can tell of, and what more would need.
pub(crate) fn support(of: &GrainModel) -> Option<String> {
    let beyond = of.cells.iter().filter(|cell| !cell.supported);
    let most = beyond.max_by_key(|cell| cell.ranks)?;
    Some(format!(
        "* beyond the recording, which holds about {} windows of {}: the slowdown tends to {}, the worst that was seen; \
         {} need {} on every CPU",
        count(of.supported_ranks),
        asked(of.grain_ns),
        slowdown(of.limit),
        ranks(most.ranks),
        long(most.needed_window_ns),
    ))
}

/// Where the extrapolated figures come from.
pub(crate) fn tail(of: &GrainModel) -> Option<String> {
    let Some(tail) = &of.tail else {
        return of.no_tail.as_ref().map(|why| format!("no tail beyond it: {why}"));
    };
    let interval = tail
        .shape_interval
        .map_or(String::new(), |shape| format!(" ({:.2} to {:.2})", shape.low, shape.high));
    Some(format!(
        "with tail: extrapolated, by a generalised Pareto distribution with shape {:.2}{interval} over {}, fitted to {} \
         windows",
        tail.shape,
        time(tail.threshold_ns as f64),
        count(tail.exceedances),
    ))
}

fn times(ratio: f64) -> String {
    if ratio < 0.01 { "less than 0.01".into() } else { format!("{ratio:.2}") }
}

/// Tsafrir's p and D, and how far the closed form is off.
pub(crate) fn closed_form(of: &GrainModel) -> String {
    let form = &of.closed_form;
    let p = match form.p {
        0.0 => "0".into(),
        ..0.01 => format!("{:.1e}", form.p),
        p => format!("{p:.2}"),
    };
    let text = format!("Tsafrir: p = {p}, D = {}", time(form.delay_ns));
    let ratio = |cell: &Cell| (cell.closed_form - 1.0) / (cell.free_start.slowdown - 1.0);
    let off = |cell: &&Cell| ratio(cell).ln().abs();
    let comparable = of.cells.iter().filter(|cell| cell.free_start.slowdown > 1.0);
    let comparable = comparable.filter(|cell| ratio(cell).is_finite() && ratio(cell) > 0.0);
    match comparable.max_by(|a, b| off(a).total_cmp(&off(b))) {
        Some(worst) if off(&worst) > 0.05 => format!(
            "{text}: slowdown - 1 is {} times that of free start at {}",
            times(ratio(worst)),
            ranks(worst.ranks)
        ),
        Some(_) => format!("{text}: within 5 % of free start"),
        None => text,
    }
}

/// How it was computed.
pub(crate) fn how(model: &PhaseModel) -> String {
    format!(
        "free and wall start: closed laws of independent ranks, which bracket the recursion unless the CPUs of a \
         host are away together, exact to {:.1} % of slowdown - 1; 95 %: blocks of the recording drawn again, which does not cover what happened only a few times. \
         The recursion plays the recording, each host at a phase of its own (seed {}). All ranks away at the same times: \
         {}.",
        model.method.relative_error * 100.0,
        model.method.seed,
        slowdown(model.co_scheduled),
    )
}
