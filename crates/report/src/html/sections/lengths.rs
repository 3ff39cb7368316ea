//! How long: histogram and survival, of all detours and of what each source took of them.

use super::{Part, Section};
use crate::html::chart::{Axis, Chart, Curve, Draw, Quantity};
use crate::html::looks::{self, Look};
use crate::html::page::Page;
use crate::palette;
use anechoic_analyze::timeline::{Durations, Timeline};
use maud::{Markup, html};

pub(super) const SECTION: Section = Section {
    id: "lengths",
    title: "How long detours are",
    short: "Lengths",
    has: |part| part.get::<Timeline>().is_some_and(|timeline| timeline.lengths.count > 0),
    render,
};

/// Sources with a curve of their own: more cannot be told apart.
const CURVES: usize = 6;

fn render(part: &Part, page: &mut Page) -> Markup {
    let Some(timeline) = part.get::<Timeline>() else { return html! {} };
    let looks = looks::of(part);
    let wall_s = timeline.cpus.iter().map(|cpu| cpu.wall_ns as f64).sum::<f64>() / 1e9;
    let histogram = Chart::of(
        Axis::log("time", Quantity::Time),
        Axis::log("count in a bin", Quantity::Count),
        curves(timeline, &looks, histogram),
    )
    .named("histogram");
    let survival = Chart::of(
        Axis::log("time", Quantity::Time),
        Axis::log("a second, on each CPU", Quantity::Number),
        curves(timeline, &looks, |of| survival(of, wall_s)),
    )
    .named("survival");
    html! {
        div.pair {
            (histogram.figure("How many detours are how long, in 20 bins for each factor of ten; and how much of a detour each source took.", page))
            (survival.figure("How often a second of one CPU a detour, or a source in one, takes that long or longer.", page))
        }
    }
}

fn curves(
    timeline: &Timeline,
    looks: &[Look],
    points: impl Fn(&Durations) -> Vec<(f64, f64)>,
) -> Vec<Curve> {
    let known = looks.iter().filter(|look| !look.source.is_empty()).take(CURVES);
    let of_source = known.map(|look| {
        let points = points(&timeline.charged[look.number]);
        Curve::colored(look.color, look.shape, look.label.clone(), Draw::Steps, &points)
    });
    let all = points(&timeline.lengths);
    let all = Curve {
        area: true,
        ..Curve::colored(palette::of_source(""), 0, "all detours".into(), Draw::Steps, &all)
    };
    std::iter::once(all).chain(of_source).collect()
}

/// The count of each bin, from the first that has any; a bin more, so that the last has a width.
fn histogram(of: &Durations) -> Vec<(f64, f64)> {
    let first = of.counts.iter().position(|&count| count > 0).unwrap_or(0);
    let bins = (first..of.counts.len()).map(|bin| (Durations::from_ns(bin), of.counts[bin] as f64));
    let end = (Durations::from_ns(of.counts.len()), 0.0);
    bins.chain([end]).collect()
}

/// The rate of those that are at least so long, down to the longest.
fn survival(of: &Durations, wall_s: f64) -> Vec<(f64, f64)> {
    if of.count == 0 || wall_s <= 0.0 {
        return vec![];
    }
    let mut longer = of.count;
    let mut points = vec![];
    for (bin, &count) in of.counts.iter().enumerate() {
        if longer < of.count || count > 0 {
            points.push((Durations::from_ns(bin).min(of.max_ns as f64), longer as f64 / wall_s));
        }
        longer -= count;
    }
    points.push((of.max_ns as f64, 1.0 / wall_s));
    points.dedup_by(|after, before| after.0 <= before.0);
    points
}
