//! The section on the series of a method: samples over time, their distribution, and the slow tail.

use super::{Part, Section};
use crate::cumulative;
use crate::html::page::Page;
use crate::measured::counted as counted_events;
use crate::measured::loss::Loss;
use crate::measured::names::{Named, noise, shown};
use crate::measured::scatter::{self, Drawn};
use crate::measured::{histogram, series, tail};
use crate::results::measured::MEASURED;
use crate::screen::Screen;
use crate::style::plain;
use crate::units::{asked, count, counted};
use anechoic_analyze::samples::{Fixed, Measured};
use maud::{Markup, html};

pub(super) const SECTION: Section = Section {
    id: "samples",
    title: "The samples",
    short: "Samples",
    of: &[&MEASURED],
    has: |part| part.get::<Measured>().is_some_and(|measured| !measured.series.is_empty()),
    render,
};

/// Largest number of kernels whose series are drawn together.
const MOST: usize = 4;
/// Largest number of curves in one figure.
const CURVES: usize = 6;

fn render(part: &Part, page: &mut Page) -> Markup {
    let Some(measured) = part.get::<Measured>() else { return html! {} };
    let all = shown(measured, true);
    let mut noisiest: Vec<Named<'_>> = all.clone();
    noisiest.retain(|named| named.result.distribution.is_some());
    noisiest.sort_by(|a, b| noise(b.result).total_cmp(&noise(a.result)));
    let most = page.most_series();
    let more = noisiest.len().saturating_sub(most);
    html! {
        (Screen::of(|screen| series::add(measured, true, screen)))
        p.note { (what(measured)) }
        div.pair { (tails(&noisiest, page)) (distributions(&noisiest, page)) }
        @let groups = together(&all);
        @for group in groups.iter().take(MOST) { (group_figures(group, page)) }
        @if let Some(more @ 1..) = groups.len().checked_sub(MOST) { p.note { (counted(more as u64, "more kernel has", "more kernels have")) " several series; they are not drawn together here." } }
        @for named in noisiest.iter().take(most) {
            @if let Some(distribution) = &named.result.distribution {
                @let loss = Loss::of(&named.result.facts, distribution);
                @if loss.ns(loss.worst(distribution)) > 0.0 {
                    h3 { (named.title()) }
                    div.pair { (alone(named, page)) (histogram(named, page)) }
                }
            }
        }
        (Screen::of(|screen| counted_events::add(measured, true, screen)))
        @if more > 0 { p.note { (noisiest_of(most)) " of " (count(noisiest.len() as u64)) " series; the others are in the text below." (page.more_alone()) } }
    }
}

/// Begins the note on how many series are drawn.
pub(super) fn noisiest_of(most: usize) -> String {
    if most == 1 { "This is the noisiest".into() } else { format!("These are the {most} noisiest") }
}

/// Returns the groups of at least two alike series.
fn together<'a>(all: &[Named<'a>]) -> Vec<Vec<Named<'a>>> {
    let mut groups = scatter::alike(all);
    groups.retain(|group| group.len() > 1);
    groups
}

/// Returns series of the same work on one axis: over time, and as distributions.
fn group_figures(group: &[Named<'_>], page: &mut Page) -> Markup {
    let facts = &group[0].result.facts;
    let title = format!("{}, {}, all together", plain(&facts.variant), asked(facts.grain_ns));
    html! {
        h3 { (title) }
        (pair(&title, &scatter::drawn(group), page))
        @if group.len() > scatter::CURVES { p.note { "These are the first " (scatter::CURVES) " of " (group.len()) " series." } }
    }
}

/// Returns the samples of several series over time, and their distributions.
pub(super) fn pair(title: &str, series: &[Drawn<'_>], page: &mut Page) -> Markup {
    let over_time = scatter::over_time(series).named(format!("{title} over time"));
    let distributions = scatter::distributions(series).named(format!("{title} distribution"));
    html! {
        div.pair {
            (over_time.in_pair(&scatter::caption(series), page))
            (distributions.in_pair(scatter::caption_of_distributions(series), page))
        }
    }
}

/// Returns the samples of a series over time.
fn alone(named: &Named<'_>, page: &mut Page) -> Markup {
    let series = scatter::drawn(&[*named]);
    let chart = scatter::over_time(&series).named(format!("{} over time", named.title()));
    chart.in_pair(&scatter::caption(&series), page)
}

fn what(measured: &Measured) -> &'static str {
    let time = measured.series.iter().any(|series| series.facts.fixed == Fixed::Time);
    if time {
        "Histograms and tails show the time lost per window relative to the best one."
    } else {
        "Histograms and tails show the time of a sample over the shortest one."
    }
}

/// Returns the histogram of the main body of the samples.
fn histogram(named: &Named<'_>, page: &mut Page) -> Markup {
    let drawn = histogram::of_body(named);
    html! { @if let Some((chart, caption)) = drawn { (chart.in_pair(&caption, page)) } }
}

/// Returns the cumulative distributions of all series in one figure.
fn distributions(series: &[Named<'_>], page: &mut Page) -> Markup {
    let curve = |named: &Named<'_>| Some((named.title(), cumulative::of_series(named.result)?));
    let curves = series.iter().take(CURVES).filter_map(curve).collect();
    let chart = cumulative::chart("time lost", "share of the samples", curves).named("cumulative");
    chart.in_pair("Share of the samples that lost at most this much.", page)
}

/// Returns the slow tails of all series in one figure.
fn tails(series: &[Named<'_>], page: &mut Page) -> Markup {
    let chart = tail::survival(&series[..series.len().min(CURVES)]).named("survival");
    chart.in_pair(tail::SURVIVAL, page)
}
