//! The screen of page sizes as a suite: that of the recording, which has the published numbers, and what has changed.

use super::begin;
use crate::published::{
    LARGE_PAGES, OPTIMISED, PAGING, RADOJKOVIC_THESIS, SPEEDUP, UNOPTIMISED, find,
};
use crate::screen::Screen;
use crate::style::View;
use crate::units::percent;
use anechoic_analyze::Paging;
use anechoic_recording::paging::BUILDS;

/// Pages that stand for the larger pages of the paper, the first that were measured.
const LARGE: [&str; 2] = ["huge-2m", "thp-2m"];

/// Shows what large pages save, beside the speed-ups and misses of Radojković 2009.
#[must_use]
pub fn suite_paging(sets: &[Paging], view: &View<'_>) -> Screen {
    let mut screen =
        begin("page sizes and the TLB", &RADOJKOVIC_THESIS, sets.first().map(|set| &set.run));
    for set in sets {
        screen.gap();
        screen.append(crate::paging(set, view));
        screen.section("what has changed since");
        screen.sentence(&changed(set));
    }
    screen
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
    let certain = saved.interval.map_or(String::new(), |of| {
        format!(" (95 %: {} to {})", percent(of.low * 100.0), percent(of.high * 100.0))
    });
    Some(format!("{}{certain}", percent(saved.value * 100.0)))
}
