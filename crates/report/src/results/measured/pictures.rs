//! The figures of the samples: the slow tails and distributions of all series, alike series together, and each series alone.

use crate::picture::ROWS;
use crate::results::measured::cumulative;
use crate::results::measured::histogram;
use crate::results::measured::loss::Loss;
use crate::results::measured::names::{Named, noise, shown};
use crate::results::measured::{scatter, tail};
use crate::screen::Screen;
use crate::style::{View, plain};
use crate::units::{asked, counted};
use anechoic_analyze::samples::{Fixed, Measured};
use anechoic_recording::methods;

/// Largest number of kernels whose series are drawn together.
const MOST: usize = 4;
/// Largest number of curves in one figure.
const CURVES: usize = 6;

/// Adds the figures. A short screen has those that the method calls for, of the noisiest series.
pub(super) fn add(measured: &Measured, view: &View<'_>, screen: &mut Screen) {
    let all = shown(measured, true);
    let mut noisiest: Vec<Named<'_>> = all.clone();
    noisiest.retain(|named| named.result.distribution.is_some());
    noisiest.sort_by(|a, b| noise(b.result).total_cmp(&noise(a.result)));
    screen.on_page(|page| page.note(what(measured)));
    add_all(measured, &noisiest[..noisiest.len().min(CURVES)], view, screen);
    let groups = together(&all);
    screen.on_page(|page| {
        groups.iter().take(MOST).for_each(|group| add_group(group, page));
        if let Some(more @ 1..) = groups.len().checked_sub(MOST) {
            let more = counted(more as u64, "more kernel has", "more kernels have");
            page.note(&format!("{more} several series; they are not drawn together here."));
        }
    });
    let most = if view.all { noisiest.len() } else { 1 };
    let alone = noisiest.iter().take(most).map(|named| alone(named, measured, view));
    screen.noisiest(alone.collect());
}

fn what(measured: &Measured) -> &'static str {
    let time = measured.series.iter().any(|series| series.facts.fixed == Fixed::Time);
    if time {
        "Histograms and tails show the time lost per window relative to the best one."
    } else {
        "Histograms and tails show the time of a sample over the shortest one."
    }
}

/// Adds the slow tails and the distributions of all series; the terminal shows the tails of do-nothing loops.
fn add_all(measured: &Measured, series: &[Named<'_>], view: &View<'_>, screen: &mut Screen) {
    let title = "share of the samples that lost at least this much";
    let tails = tail::survival(series).named("survival").titled(title, ROWS + 2);
    let curve = |named: &Named<'_>| Some((named.title(), cumulative::series_losses(named.result)?));
    let curves = series.iter().filter_map(curve).collect();
    let distributions = cumulative::chart("time lost", "share of the samples", curves);
    screen.pair(|pair| {
        match view.all || measured.method == methods::LOOPS {
            true => pair.picture(tails, tail::SURVIVAL),
            false => pair.on_page(|page| page.picture(tails, tail::SURVIVAL)),
        }
        let distributions = distributions.named("cumulative");
        pair.on_page(|page| {
            page.picture(distributions, "Share of the samples that lost at most this much.");
        });
    });
}

/// Returns the groups of at least two alike series.
fn together<'a>(all: &[Named<'a>]) -> Vec<Vec<Named<'a>>> {
    let mut groups = scatter::alike(all);
    groups.retain(|group| group.len() > 1);
    groups
}

/// Adds series of the same work on one axis: over time, and as distributions.
fn add_group(group: &[Named<'_>], screen: &mut Screen) {
    let facts = &group[0].result.facts;
    let title = format!("{}, {}, all together", plain(&facts.variant), asked(facts.grain_ns));
    screen.heading(&title);
    scatter::add_pair(&title, &scatter::drawn(group), false, screen);
    if group.len() > scatter::CURVES {
        let (first, all) = (scatter::CURVES, group.len());
        screen.note(&format!("These are the first {first} of {all} series."));
    }
}

/// Returns the samples of a series over time and the histogram of their main body; nothing without variation, where the
/// headline suffices.
fn alone(named: &Named<'_>, measured: &Measured, view: &View<'_>) -> Screen {
    let Some(distribution) = &named.result.distribution else { return Screen::default() };
    let loss = Loss::new(&named.result.facts, distribution);
    if loss.ns(loss.worst(distribution)) <= 0.0 {
        return Screen::default();
    }
    let (title, method) = (named.title(), measured.method.as_str());
    let series = scatter::drawn(&[*named]);
    let over_time = scatter::over_time(&series).named(format!("{title} over time"));
    let over_time = over_time.titled(format!("{} · {title}", scatter::what(&series)), ROWS + 2);
    Screen::from_fn(|screen| {
        screen.on_page(|page| page.heading(&title));
        screen.pair(|pair| {
            match view.all || method != methods::LOOPS {
                true => pair.picture(over_time, scatter::caption(&series)),
                false => pair.on_page(|page| page.picture(over_time, scatter::caption(&series))),
            }
            let Some((chart, caption)) = histogram::body_chart(named) else { return };
            let chart = chart.titled(format!("samples by the time that they lost · {title}"), ROWS);
            match view.all || matches!(method, methods::FWQ | methods::TICK) {
                true => pair.picture(chart, caption),
                false => pair.on_page(|page| page.picture(chart, caption)),
            }
        });
    })
}
