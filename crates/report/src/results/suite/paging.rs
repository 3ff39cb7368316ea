//! The screen of page sizes as a suite: that of the recording, which has the published numbers, and what has changed.

use super::{NOTHING, Study};
use crate::picture::{Chart, Estimated, Quantity, ROWS, Series};
use crate::published::{
    HUGE_PAGES, LARGE_PAGES, OPTIMISED, PAGING, RADOJKOVIC_THESIS, SPEEDUP, UNOPTIMISED, find,
};
use crate::results::paging::charts;
use crate::results::paging::words::{build, kind};
use crate::style::View;
use crate::units::{percent, percent_range};
use anechoic_analyze::Paging;
use anechoic_analyze::paging::Kind;
use anechoic_recording::paging::BUILDS;

/// The pages that all others are compared with.
const BASE: &str = "base";
/// The larger pages of the paper.
const PUBLISHED_PAGES: [&str; 2] = [LARGE_PAGES, HUGE_PAGES];
/// Pages that stand for the larger pages of the paper, the first that were measured.
const LARGE: [&str; 2] = ["huge-2m", "thp-2m"];

/// Shows what large pages save, beside the speed-ups and misses of Radojković 2009.
#[must_use]
pub fn suite_paging(sets: &[Paging], view: &View<'_>) -> Study {
    let mut study = Study::new("page sizes and the TLB", &RADOJKOVIC_THESIS);
    if sets.is_empty() {
        study.shown.sentence(NOTHING);
    }
    for set in sets {
        study.changed.push(changed(set));
        study
            .shown
            .append(crate::results::paging::paging(set, &View { path: None, ..*view }).quoted());
        // The curves by size are those of the recording, which the page shows below.
        if let Some((chart, caption)) = charts::by_pages(set) {
            let caption = format!("As Figure 6.8 of the thesis. {caption}");
            study.shown.pictured(chart.named("figure 6.8"), caption);
        }
        if let Some(chart) = speedups(set) {
            study.shown.pictured(chart, SPEEDUPS);
        }
    }
    study
}

/// Describes the figure of speed-ups.
const SPEEDUPS: &str = "Section 6.2.3 of the thesis: the time that larger pages save, in per cent of that on base pages (there 64 KB), published and \
                        measured on the largest matrix, with 95 % intervals.";

/// Draws what each size of pages saves in each build, published and here.
fn speedups(found: &Paging) -> Option<Chart> {
    let &largest = found.sizes().last()?;
    let kinds: Vec<&Kind> = found.kinds.iter().filter(|pages| pages.id != BASE).collect();
    let names = PUBLISHED_PAGES.iter().map(|&name| format!("paper, {name}"));
    let names = names.chain(kinds.iter().map(|pages| kind(pages))).collect();
    let mut series = vec![];
    for ((id, column), letter) in BUILDS.into_iter().zip([OPTIMISED, UNOPTIMISED]).zip('a'..='z') {
        let there = PUBLISHED_PAGES.iter().map(|row| {
            let saved = find(&PAGING, SPEEDUP, row, column)?.value.number()?;
            Some(Estimated { value: saved / 100.0, ends: None })
        });
        let here = kinds
            .iter()
            .map(|pages| Some(charts::estimated(&found.point(&pages.id, id, largest)?.speedup?)));
        let values = there.chain(here).collect();
        series.push(Series { name: build(id).to_owned(), letter: Some(letter), values });
    }
    let chart = Chart::by_name(names, &series, ("time saved", Quantity::Share), charts::INTERVAL);
    let titled = chart.titled("time saved by larger pages", ROWS).named("saved");
    (!kinds.is_empty()).then_some(titled)
}

/// States in one sentence what large pages save here and in the paper.
fn changed(found: &Paging) -> String {
    let published = |column| {
        find(&PAGING, SPEEDUP, LARGE_PAGES, column).map_or("–".into(), |cell| cell.text())
    };
    let there = format!(
        "{} without optimisation and {} with it",
        published(UNOPTIMISED),
        published(OPTIMISED)
    );
    let [optimised, unoptimised] = BUILDS.map(|build| speedup(found, build));
    match (unoptimised, optimised) {
        (Some(unoptimised), Some(optimised)) => format!(
            "Larger pages saved {there} (base pages of 64 KiB, large ones of 4 MiB); here those of 2 MiB save {unoptimised} and \
             {optimised} on the largest matrix."
        ),
        _ => format!("Larger pages saved {there}; here no pages of 2 MiB were measured."),
    }
}

/// Returns how much less time large pages take on the largest matrix, with its 95 % interval.
fn speedup(found: &Paging, build: &str) -> Option<String> {
    let &largest = found.sizes().last()?;
    let point = LARGE.iter().find_map(|id| found.point(id, build, largest))?;
    let saved = point.speedup?;
    let certain = saved.interval.map_or(String::new(), |interval| {
        format!(" (95 %: {})", percent_range(interval.low * 100.0, interval.high * 100.0))
    });
    Some(format!("{}{certain}", percent(saved.value * 100.0)))
}
