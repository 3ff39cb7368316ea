//! The screen of page sizes: time per access on each, what large pages save, and what was published.

pub(crate) mod charts;
mod row;
mod tables;
pub(crate) mod words;

pub use row::PAGING;

use crate::certainty;
use crate::heading;
use crate::results::memory::words::size;
use crate::screen::{Fact, Screen};
use crate::style::{Tone, View};
use crate::units::{count, counted, span, timestamp};
use anechoic_analyze::Paging;
use anechoic_recording::paging::BUILDS;

/// Shows the time per access on pages of each size; all sizes of the matrix if everything is wanted.
#[must_use]
pub fn paging(found: &Paging, view: &View<'_>) -> Screen {
    let mut screen = heading::begun(&found.run, &what(found));
    // A page begins with these.
    screen.in_terminal(|terminal| {
        words::sentences(found).iter().for_each(|sentence| terminal.headline(sentence));
    });
    if let Some(&largest) = found.sizes().last() {
        for build in BUILDS {
            screen.section(&format!("{} at {}", words::build(build), size(largest)));
            screen.table(tables::at(found, build, largest));
        }
        screen.note(&words::columns(found));
        if view.all {
            add_sizes(found, &mut screen);
        }
        add_charts(found, &mut screen);
    }
    if view.all {
        screen.section("published (Radojković 2009)");
        screen.table(tables::published(found));
        screen.note(words::PUBLISHED);
    }
    screen.warnings_or(facts(found), view.all);
    screen.path_and_more(view);
    screen.in_brief(view)
}

/// Adds the time per access by size of the matrix, for each build.
fn add_sizes(found: &Paging, screen: &mut Screen) {
    for build in BUILDS {
        screen.section(&format!(
            "time per access in ns by size of the matrix in MiB: {}",
            words::build(build)
        ));
        screen.table(tables::by_size(found, build, true));
    }
}

/// Adds the curves of each build, of which the terminal shows those of the optimised one, and both builds by page size.
fn add_charts(found: &Paging, screen: &mut Screen) {
    let several = found.sizes().len() > 1;
    for build in BUILDS {
        let Some((chart, caption)) = charts::by_size(found, build) else { continue };
        match several && build == BUILDS[0] {
            true => screen.picture(chart, caption),
            false => screen.on_page(|page| page.picture(chart, caption)),
        }
    }
    if let Some((chart, caption)) = charts::by_pages(found) {
        screen.on_page(|page| page.picture(chart, caption));
    }
}

/// Describes the measurement.
fn what(found: &Paging) -> String {
    let sizes = found.sizes();
    let ends = [sizes.first(), sizes.last()].map(|bytes| size(bytes.copied().unwrap_or(0)));
    let place = found.cpu.map_or(String::new(), |cpu| format!(" on CPU {cpu}"));
    let kinds = found.kinds.iter().filter(|kind| kind.absent.is_none()).count() as u64;
    let passes: u64 = found.points.iter().map(|point| point.passes).sum();
    format!(
        "paging: matrix × vector{place} · {} from {} to {} · {} · {} · {} passes in {} · {}",
        counted(sizes.len() as u64, "size", "sizes"),
        ends[0],
        ends[1],
        counted(kinds, "page size", "page sizes"),
        counted(found.blocks, "block", "blocks"),
        count(passes),
        span(found.run.wall_ns),
        timestamp(&found.run.start_utc),
    )
}

/// Returns facts on the TLB, the pages, and what is missing.
fn facts(found: &Paging) -> Vec<Fact> {
    let mut facts = vec![Fact::new("TLB", Tone::Plain, words::tlb(found))];
    if found.host_backing_unknown {
        facts.push(Fact::new("host", Tone::Plain, words::HOST));
    }
    facts.extend(words::verified(found).map(|text| Fact::new("pages", Tone::Good, text)));
    let left_out = words::left_out(found).into_iter();
    facts.extend(left_out.map(|text| Fact::new("left out", Tone::Warning, text)));
    facts.extend(certainty::not_available(&found.run.not_available));
    facts.extend(certainty::notes(&found.run));
    facts
}
