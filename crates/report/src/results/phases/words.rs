//! The prediction in sentences.

use crate::names::title_of;
use crate::units::{
    NO_BOUNDS, asked, between, count, counted, long, rough_share, slowdown, telling, time,
};
use anechoic_analyze::stats::Interval;
use anechoic_predict::phases::{Cell, GrainModel, PhaseModel, Slowdown, SourceCost};

/// States the slowdown for the largest number of ranks that the recording supports, and the costliest source.
pub(crate) fn grain(model: &PhaseModel, grain: &GrainModel) -> Option<String> {
    if model.noise == 0.0 {
        return None; // a note states it
    }
    let known = grain.cells.iter().filter(|cell| cell.supported);
    let cell = known.max_by_key(|cell| cell.ranks).or_else(|| grain.cells.first())?;
    let mut text = format!(
        "With {} and a grain of {} the job takes {} times as long as without noise{}.",
        ranks(cell.ranks),
        asked(grain.grain_ns),
        slowdown(cell.slowdown()),
        certainty(cell),
    );
    text += &match culprit(cell) {
        Some(most) => {
            let free = cell.free_start.slowdown;
            let shorter = rough_share((free - most.without) / (free - 1.0));
            let title = title_of(&most.source, &most.name, model.guest);
            match free == cell.slowdown() {
                true => format!(" Without {title} the noise would add {shorter} less."),
                false => format!(
                    " Without {title} the noise would add {shorter} less, by the lower model (free start, {} times).",
                    slowdown(free)
                ),
            }
        }
        None => {
            let together = slowdown(model.co_scheduled);
            format!(
                " If all ranks were delayed simultaneously it would take {together} times as long."
            )
        }
    };
    Some(text)
}

/// States the interval for independent ranks, from the lower end of the lower bracket to the upper end of the upper one,
/// if the best estimate lies in it; else the lower bound, else that there are too few events for either.
fn certainty(cell: &Cell) -> String {
    let (free, least) = near(&cell.free_start);
    let both = free.zip(near(&cell.wall_start).0);
    let ends = both.map(|(free, wall)| (free.low.min(wall.low), free.high.max(wall.high)));
    match (ends, least) {
        (Some((low, high)), _) if (low..=high).contains(&cell.slowdown()) => {
            format!(" (95 %: {})", between(&slowdown(low), &slowdown(high)))
        }
        (Some((low, high)), _) => format!(
            " (95 % if ranks are independent: {}; the CPUs of a host are delayed together)",
            between(&slowdown(low), &slowdown(high))
        ),
        (None, Some(least)) => format!(
            " (at least {} with 97.5 % confidence if ranks are independent{})",
            slowdown(least),
            match cell.supported {
                true => "",
                false => "; an underestimate, with more ranks than a tenth of the windows",
            }
        ),
        (None, None) if cell.free_start.at_least.is_some() => format!(" ({NO_BOUNDS})"),
        (None, None) => " (the recording is too short for an interval)".into(),
    }
}

/// Returns the interval of a slowdown and its lower bound, each if it says something about the delays: see [`telling`].
pub(super) fn near(found: &Slowdown) -> (Option<Interval>, Option<f64>) {
    let delay = |slowdown: f64| slowdown - 1.0;
    let delays = |ends: Interval| Interval { low: delay(ends.low), high: delay(ends.high) };
    let (interval, at_least) =
        telling(delay(found.slowdown), found.interval.map(delays), found.at_least.map(delay));
    (found.interval.filter(|_| interval.is_some()), found.at_least.filter(|_| at_least.is_some()))
}

fn culprit(cell: &Cell) -> Option<&SourceCost> {
    // A source that adds less than a thousandth of the slowdown is not worth acting on.
    let worth = |source: &&SourceCost| {
        cell.free_start.slowdown - source.without > 1e-3 * (cell.free_start.slowdown - 1.0)
    };
    cell.sources.first().filter(worth)
}

fn ranks(number: u64) -> String {
    counted(number, "rank", "ranks")
}

/// States how many ranks the recording supports, and what more ranks would need.
pub(crate) fn support(grain: &GrainModel) -> Option<String> {
    let beyond = grain.cells.iter().filter(|cell| !cell.supported);
    let most = beyond.max_by_key(|cell| cell.ranks)?;
    Some(format!(
        "* more ranks than a tenth of the {} independent windows of {} in the recording: the slowdowns are too low and tend to {}, \
         the worst observed, so only a lower bound is known; {} need a recording of {} on every CPU",
        count(grain.windows),
        asked(grain.grain_ns),
        slowdown(grain.limit),
        ranks(most.ranks),
        long(most.needed_window_ns),
    ))
}

/// States how the extrapolated slowdowns were computed.
pub(crate) fn tail(grain: &GrainModel) -> Option<String> {
    let extrapolated = grain.cells.iter().any(|cell| cell.extrapolated.is_some());
    let Some(tail) = grain.tail.as_ref().filter(|_| extrapolated) else {
        return grain.no_tail.as_ref().map(|why| format!("not extrapolated: {why}"));
    };
    let why = grain.no_tail.as_ref().map_or(String::new(), |why| format!("; in part not: {why}"));
    let interval = tail
        .shape_interval
        .map_or(String::new(), |shape| format!(" ({:.2} to {:.2})", shape.low, shape.high));
    Some(format!(
        "with tail: extrapolated with a generalised Pareto distribution (shape {:.2}{interval}, threshold {}, fitted to \
         {} windows), in two digits of slowdown - 1{why}",
        tail.shape,
        time(tail.threshold_ns as f64),
        count(tail.exceedances),
    ))
}

fn times(ratio: f64) -> String {
    if ratio < 0.01 { "less than 0.01".into() } else { format!("{ratio:.2}") }
}

/// States Tsafrir's p and D, and how far the closed form is off.
pub(crate) fn closed_form(grain: &GrainModel) -> String {
    let form = &grain.closed_form;
    let p = match form.p {
        0.0 => "0".into(),
        ..0.01 => format!("{:.1e}", form.p),
        p => format!("{p:.2}"),
    };
    let Some(from_ns) = form.from_ns else { return "Tsafrir: no delay".into() };
    let text = format!(
        "Tsafrir, for delays of {} or more, which fit best: p = {p}, D = {}",
        time(from_ns),
        time(form.delay_ns)
    );
    let ratio = |cell: &Cell| (cell.closed_form - 1.0) / (cell.free_start.slowdown - 1.0);
    let off = |cell: &&Cell| ratio(cell).ln().abs();
    let comparable = grain.cells.iter().filter(|cell| cell.free_start.slowdown > 1.0);
    let comparable = comparable.filter(|cell| ratio(cell).is_finite() && ratio(cell) > 0.0);
    match comparable.max_by(|a, b| off(a).total_cmp(&off(b))) {
        Some(worst) if off(&worst) > 0.05 => format!(
            "{text}; at {1} its slowdown - 1 is {0} times that of free start",
            times(ratio(worst)),
            ranks(worst.ranks)
        ),
        Some(_) => format!("{text}; within 5 % of free start"),
        None => text,
    }
}

/// Explains the columns and how they were computed.
pub(crate) fn how(model: &PhaseModel) -> String {
    format!(
        "free start, wall start: closed forms for independent ranks whose phases begin at random in their undisturbed \
         time (lower bracket) or in all time (upper bracket), accurate to {:.1} % of slowdown - 1; recursion: replay of \
         the recorded detours, each host from a random offset (seed {}), which lies between the brackets unless the \
         CPUs of a host are delayed together; 95 %: spread of blocks of time, widened by their correlation; ≥: lower bound (97.5 %) \
         where a few events decide, or with more ranks than a tenth of the windows; –: too few events for either. If all ranks \
         were delayed simultaneously, the slowdown would be {}.",
        model.method.relative_error * 100.0,
        model.method.seed,
        slowdown(model.co_scheduled),
    )
}
