//! The figures of wake-ups: tails of all, tails by stage, stages by band of latency, and the longest one.

use super::{compares_idle, has_calls, idle, place, stage_name, words};
use crate::names::source_name;
use crate::palette;
use crate::picture::{Axis, Chart, Curve, Draw, Place, Quantity};
use crate::results::measured::survival;
use crate::style::listed;
use crate::units::{asked, count, length};
use anechoic_analyze::Wakeup;
use anechoic_analyze::samples::figures::Point;
use anechoic_analyze::wakeup::stages::{STAGES, Stage};
use anechoic_analyze::wakeup::{Band, Causes, Latencies, Worst};

/// Half of the width of a bar.
const HALF: f64 = 0.4;

/// Returns the tails of all latencies: a curve for each interval and kind of idle, or for each CPU if there is one of these.
pub(super) fn tails(found: &Wakeup) -> (Chart, String) {
    let whole: Vec<&Latencies> = found.whole().collect();
    let rows = if whole.len() > 1 { whole } else { found.rows.iter().collect() };
    let named = rows.iter().map(|row| match rows.len() {
        1 => "all wake-ups".into(),
        _ if found.whole().count() == 1 => format!("CPU {}", place(row.cpu)),
        _ => {
            let call = has_calls(found).then(|| format!(", {}", words::name(row.call)));
            let idle = compares_idle(found).then(|| format!(", idle {}", idle(row.shallow)));
            asked(row.interval_ns) + &idle.unwrap_or_default() + &call.unwrap_or_default()
        }
    });
    let chart = by_length(named.zip(rows.iter().map(|row| &row.survival[..])));
    (chart.named("tails"), "Share of the wake-ups that took at least this long.".into())
}

/// Returns the tails of the stages.
pub(super) fn stages(causes: &Causes) -> Option<(Chart, String)> {
    let known: Vec<_> = causes.stages.iter().filter(|tail| tail.survival.len() > 1).collect();
    let curves = known.iter().map(|tail| (stage_name(tail.stage).to_owned(), &tail.survival[..]));
    let chart = by_length(curves).named("stages");
    let caption = "Share of the wake-ups in which a stage took at least this long: from the expiry to the timer's interrupt, \
                   until that woke the thread, until the CPU switched to it, and until it ran.";
    (!known.is_empty()).then(|| (chart, caption.into()))
}

/// Returns a chart of tails with these names.
fn by_length<'a>(tails: impl Iterator<Item = (String, &'a [Point])>) -> Chart {
    let (names, tails): (Vec<String>, Vec<&[Point]>) = tails.unzip();
    let tail = |points: &&[Point]| points.iter().map(|at| (at.value, at.share)).collect();
    let points = survival::from_all(tails.iter().map(tail).collect());
    let curves = names.into_iter().zip(points).enumerate();
    let curves =
        curves.map(|(number, (name, points))| Curve::numbered(number, name, Draw::Line, &points));
    Chart::new(
        Axis::log("time", Quantity::Time),
        Axis::log("share of the wake-ups", Quantity::Share),
        curves.collect(),
    )
}

/// Returns the mean parts of wake-ups by band of latency, stacked to the whole of each band.
pub(super) fn bands(causes: &Causes) -> Option<(Chart, String)> {
    let bands = (1..).map(f64::from).zip(&causes.bands);
    let bands: Vec<(f64, &Band)> = bands.filter(|(_, band)| band.mean.sum_ns() > 0.0).collect();
    let names = bands.iter().map(|(at, band)| Place { at: *at, name: band_name(band) });
    // The last stage reaches to the top, and each earlier one is drawn over it.
    let occurs = |stage: &Stage| bands.iter().any(|(_, band)| band.mean.stage_ns(*stage) > 0.0);
    let all = STAGES.iter().enumerate().rev().filter(|(_, stage)| occurs(stage));
    let stacked = all.map(|(number, stage)| {
        let points = bands.iter().map(|(at, band)| (*at, share_below(band, number)));
        let points: Vec<(f64, f64)> = points.collect();
        let spans = points.iter().map(|(at, _)| (at - HALF, at + HALF)).collect();
        Curve::numbered(number, stage_name(*stage).into(), Draw::Bars, &points)
            .recolored(palette::curve_color(number))
            .spanning(spans)
    });
    let y = Axis::linear("share of the latency", Quantity::Share).over([0.0, 1.0]);
    let chart =
        Chart::new(Axis::named("wake-ups by latency", names.collect()), y, stacked.collect());
    let means: Vec<String> =
        bands.iter().map(|(_, band)| length(band.mean.sum_ns() as u64)).collect();
    let caption = format!(
        "Parts of the mean latency, for the shorter half of the wake-ups and for longer ones: {}.",
        listed(&means)
    );
    (!bands.is_empty()).then(|| (chart.named("parts"), caption))
}

/// Returns the share of a band's latency that the stages up to this one take.
fn share_below(band: &Band, number: usize) -> f64 {
    let below = STAGES[..=number].iter().map(|stage| band.mean.stage_ns(*stage));
    below.sum::<f64>() / band.mean.sum_ns()
}

/// Names a band by its quantile.
fn band_name(band: &Band) -> String {
    match band.above {
        0.0 => "up to p50".into(),
        above => format!("over p{}", above * 100.0),
    }
}

/// Returns what went on in the longest wake-up, a row for each part and for each activity.
pub(super) fn longest(found: &Wakeup) -> Option<(Chart, String)> {
    let worst = found.worst.iter().find(|worst| !worst.chain.is_empty())?;
    let mut rows: Vec<(String, f64, f64)> = parts(worst);
    let number_of_parts = rows.len();
    rows.extend(worst.chain.iter().map(|link| {
        (source_name(&link.source, &link.name, &found.run), link.start_ns, link.end_ns)
    }));
    let heights: Vec<f64> = (1..=rows.len()).rev().map(|height| height as f64).collect();
    let (parts, activities) = rows.split_at(number_of_parts);
    let (upper, lower) = heights.split_at(number_of_parts);
    let curves = [("part", ends(parts, upper)), ("activity", ends(activities, lower))];
    let curves = curves
        .into_iter()
        .enumerate()
        .map(|(number, (name, ends))| Curve::numbered(number, name.into(), Draw::Segments, &ends));
    let names = rows.iter().zip(&heights).rev();
    let names = names.map(|((name, ..), at)| Place { at: *at, name: name.clone() }).collect();
    let x = Axis::linear("time since the programmed expiry", Quantity::Time);
    let chart = Chart::new(x, Axis::named("", names), curves.collect()).named("longest");
    let caption = format!(
        "The longest wake-up with known parts: {} on CPU {}. Its parts, and the activities in it that took most.",
        length(worst.latency_ns as u64),
        count(u64::from(worst.cpu))
    );
    Some((chart, caption))
}

/// Returns both ends of each row at its height.
fn ends(rows: &[(String, f64, f64)], heights: &[f64]) -> Vec<(f64, f64)> {
    let rows = rows.iter().zip(heights);
    rows.flat_map(|((_, start, end), y)| [(*start, *y), (*end, *y)]).collect()
}

/// Returns name, start and end of each part of a wake-up.
fn parts(worst: &Worst) -> Vec<(String, f64, f64)> {
    let Some(parts) = worst.parts else { return vec![] };
    let mut reached = 0.0;
    let row = |stage: &Stage| {
        let start = reached;
        reached += parts.stage_ns(*stage);
        (stage_name(*stage).to_owned(), start, reached)
    };
    STAGES.iter().map(row).filter(|(_, start, end)| end > start).collect()
}
