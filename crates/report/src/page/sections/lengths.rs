//! The section on lengths: histogram and survival of all detours and of each source's part in them.

use super::{Part, Section};
use crate::page::looks;
use crate::page::state::Page;
use crate::palette;
use crate::picture::{Axis, Chart, Curve, Draw, Look, Quantity};
use crate::results::measured::cumulative;
use crate::units::length;
use anechoic_analyze::timeline::{Durations, Timeline};
use maud::{Markup, html};

pub(super) const SECTION: Section = Section {
    id: "lengths",
    title: "How long detours are",
    short: "Lengths",
    has: |part| part.get::<Timeline>().is_some_and(|timeline| timeline.lengths.count > 0),
    render,
};

/// Largest number of sources with a curve: more could not be distinguished.
const CURVES: usize = 6;

fn render(part: &Part, page: &mut Page) -> Markup {
    let Some(timeline) = part.get::<Timeline>() else { return html! {} };
    let looks = looks::from_part(part);
    let first = first(timeline, &looks);
    let wall_s = timeline.cpus.iter().map(|cpu| cpu.wall_ns as f64).sum::<f64>() / 1e9;
    let histogram = Chart::new(
        Axis::log("length of the detour", Quantity::Time),
        Axis::log("detours per bin", Quantity::Count),
        curves(timeline, &looks, |durations| histogram(durations, first)),
    )
    .named("histogram");
    let survival = Chart::new(
        Axis::log("length of the detour", Quantity::Time),
        Axis::log("per second and CPU", Quantity::Number),
        curves(timeline, &looks, |durations| survival(durations, first, wall_s)),
    )
    .named("survival");
    let cumulative = Chart::new(
        Axis::log("length of the detour", Quantity::Time),
        Axis::linear("share of the detours", Quantity::Share).over([0.0, 1.0]),
        curves(timeline, &looks, |durations| cumulative::length_points(durations, first)),
    )
    .named("cumulative");
    let strays = drawn(timeline, &looks)
        .any(|durations| durations.counts.iter().take(first).any(|n| *n > 0));
    let left_out = match strays {
        true => format!(
            " Values below {}, less than 0.1 % of all, are not drawn.",
            length(Durations::from_ns(first) as u64)
        ),
        false => String::new(),
    };
    let counts = format!(
        "Number of detours by length, with 20 bins per factor of ten, and of each source's time in a detour.{left_out}"
    );
    html! {
        div.pair {
            (histogram.figure(&counts, page))
            (survival.figure("Rate per CPU of detours, and of sources in a detour, that take at least this long.", page))
        }
        (cumulative.figure("Share of the detours, and of each source's times in a detour, that take at most this long.", page))
    }
}

/// Returns the sources that have a curve.
fn known(looks: &[Look]) -> impl Iterator<Item = &Look> {
    looks.iter().filter(|look| !look.source.is_empty()).take(CURVES)
}

/// Returns the lengths behind all curves: those of detours, and of each source's time in them.
fn drawn<'a>(timeline: &'a Timeline, looks: &'a [Look]) -> impl Iterator<Item = &'a Durations> {
    let charged = known(looks).map(|look| &timeline.charged[look.number]);
    std::iter::once(&timeline.lengths).chain(charged)
}

/// Returns the bin in which the figures begin: less than a thousandth of all that the curves show lies below it. Otherwise a
/// stray value, also one of a rare source, would stretch the axis by factors of ten.
fn first(timeline: &Timeline, looks: &[Look]) -> usize {
    let all: u64 = drawn(timeline, looks).map(|durations| durations.count).sum();
    let in_bin = |bin: usize| -> u64 {
        drawn(timeline, looks).filter_map(|durations| durations.counts.get(bin)).sum()
    };
    let bins = drawn(timeline, looks).map(|durations| durations.counts.len()).max().unwrap_or(0);
    let mut below = 0;
    let begins = (0..bins).find(|&bin| {
        below += in_bin(bin);
        below > all / 1_000
    });
    begins.unwrap_or(0)
}

fn curves(
    timeline: &Timeline,
    looks: &[Look],
    points: impl Fn(&Durations) -> Vec<(f64, f64)>,
) -> Vec<Curve> {
    let by_source = known(looks).map(|look| {
        let points = points(&timeline.charged[look.number]);
        Curve::colored(look.color, look.shape, look.label.clone(), Draw::Steps, &points)
    });
    let all = points(&timeline.lengths);
    let all = Curve {
        area: true,
        ..Curve::colored(palette::source_color(""), 0, "all detours".into(), Draw::Steps, &all)
    };
    std::iter::once(all).chain(by_source).collect()
}

/// Returns the count of each bin from the first that is not empty, and one bin more that gives the last its width.
fn histogram(durations: &Durations, first: usize) -> Vec<(f64, f64)> {
    let filled = durations.counts.iter().skip(first).position(|&count| count > 0).unwrap_or(0);
    let bins = (first + filled..durations.counts.len())
        .map(|bin| (Durations::from_ns(bin), durations.counts[bin] as f64));
    let end = (Durations::from_ns(durations.counts.len()), 0.0);
    bins.chain([end]).collect()
}

/// Returns the rate of values at least as long as each bin, down to the longest.
fn survival(durations: &Durations, first: usize, wall_s: f64) -> Vec<(f64, f64)> {
    if durations.count == 0 || wall_s <= 0.0 {
        return vec![];
    }
    let mut longer = durations.count;
    let mut points = vec![];
    for (bin, &count) in durations.counts.iter().enumerate() {
        if bin >= first && (longer < durations.count || count > 0) {
            points.push((
                Durations::from_ns(bin).min(durations.max_ns as f64),
                longer as f64 / wall_s,
            ));
        }
        longer -= count;
    }
    points.push((durations.max_ns as f64, 1.0 / wall_s));
    points.dedup_by(|after, before| after.0 <= before.0);
    points
}
