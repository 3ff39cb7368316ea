//! What page sizes come to, in words.

use crate::results::memory::words::size;
use crate::units::{counted, number, number_range, percent, percent_range};
use anechoic_analyze::Paging;
use anechoic_analyze::paging::{Kind, Saved};
use anechoic_analyze::stats::Estimate;
use anechoic_recording::paging::{BUILDS, Backing, Verified};

/// What a guest does not know.
pub(crate) const HOST: &str = "host backing unknown: this is a guest, so a TLB miss walks the page tables of guest and host, and the page size of the \
host, which the guest cannot see, limits what large pages of the guest can save";

/// What the published numbers are of.
pub(crate) const PUBLISHED: &str = "UltraSPARC T1 at 1 GHz; the overheads are over the same program without an operating system (Netra DPS, pages of \
256 MB). Here: explicit 2 MiB pages (else transparent ones) for 4 MB, 1 GiB pages for 256 MB, and base pages for the default, on the largest \
matrix. There is no run without an operating system here.";

/// Savings of both builds are the same if their difference is surely at most this part of their mean.
const CLOSE: f64 = 0.25;

/// Names a build.
pub(crate) fn build(id: &str) -> &'static str {
    if id == BUILDS[0] { "optimised build" } else { "unoptimised build" }
}

/// Names a page size.
pub(crate) fn kind(pages: &Kind) -> String {
    let what = match pages.backing {
        Backing::Base => "base",
        Backing::Transparent => "transparent",
        Backing::Explicit => "explicit",
    };
    format!("{what} {}", size(pages.page_bytes))
}

/// Names a page size by its identifier.
fn named(found: &Paging, id: &str) -> String {
    found.kinds.iter().find(|kind| kind.id == id).map_or_else(|| id.to_owned(), kind)
}

/// Writes an estimate with its interval: `45.1 % (44.8 to 45.4)`.
fn share(estimate: &Estimate) -> String {
    let value = percent(estimate.value * 100.0);
    match estimate.interval {
        Some(i) => {
            format!("{value} (95 %: {})", percent_range(i.low * 100.0, i.high * 100.0))
        }
        None => value,
    }
}

/// States what the best pages save in both builds, and whether that depends on the build.
pub(crate) fn sentences(found: &Paging) -> Vec<String> {
    let Some(saved) = &found.saved else {
        let text = match found.points.is_empty() {
            true => "No page size was measured.",
            false => "Page sizes cannot be compared: base pages and another size are needed.",
        };
        return vec![text.into()];
    };
    let speedup = |build: &str| found.point(&saved.pages, build, saved.bytes)?.speedup;
    let [optimised, other] = BUILDS.map(|build| speedup(build).as_ref().map(share));
    let at = size(saved.bytes);
    let pages = named(found, &saved.pages);
    let (optimised, other) = (optimised.unwrap_or_default(), other.unwrap_or_default());
    let significant = saved.saved_ns.iter().any(|saved| saved.differs() && saved.value > 0.0);
    let first = match significant {
        true => format!(
            "At {at}, {pages} pages take {optimised} less time than base pages in the optimised build, and {other} in the unoptimised one."
        ),
        false => format!(
            "At {at}, {pages} pages are the fastest, but the measurement does not show that they are faster than base pages. They take {optimised} less time in the optimised build, and {other} in the unoptimised one."
        ),
    };
    vec![first, dependence(saved)]
}

/// States whether the saving depends on the build.
fn dependence(saved: &Saved) -> String {
    let [optimised, other] = saved.saved_ns.map(|estimate| number(estimate.value));
    let mean = saved.saved_ns.iter().map(|estimate| estimate.value).sum::<f64>() / 2.0;
    let difference = saved.difference_ns;
    let by = difference.interval.map_or(String::new(), |interval| {
        format!(
            " (difference {}, 95 %: {})",
            number(difference.value),
            number_range(interval.low, interval.high)
        )
    });
    let what = match (saved.depends_on_build, difference.interval) {
        (true, _) => "it depends on the build",
        (false, Some(interval)) if interval.low.abs().max(interval.high.abs()) <= CLOSE * mean => {
            "it does not depend on the build, as in the thesis"
        }
        (false, Some(_)) => "this is too uncertain to show whether it depends on the build",
        (false, None) => "one block does not show whether it depends on the build",
    };
    format!("They save {optimised} and {other} ns per access{by}: {what}.")
}

/// Explains the columns.
pub(crate) fn columns(found: &Paging) -> String {
    format!(
        "An access is one element of the matrix; ns: mean over the blocks of the median pass, with 95 % intervals over blocks. Speed-up: time saved \
         relative to base pages; over best: time beyond the fastest pages; both from pairs in the same block. The cost of a counter read, {} ticks, is \
         subtracted from each pass.",
        found.read_ticks
    )
}

/// Describes the TLB.
pub(crate) fn tlb(found: &Paging) -> String {
    let (entries, page) = (found.tlb_entries, size(found.base_page_bytes));
    let how = if found.tlb_assumed { " (assumed: the CPU does not describe it)" } else { "" };
    let reach = size(found.reach_bytes());
    format!("{entries} entries for data{how}: {reach} with pages of {page}")
}

/// States how the pages were verified, and where fewer were obtained than asked for.
pub(crate) fn verified(found: &Paging) -> Option<String> {
    let ways = [
        (Verified::PageFlags, "by the flags of each page"),
        (Verified::Smaps, "by the list of mappings"),
        (Verified::Counters, "by the kernel's counters, which include other programs"),
        (Verified::PageTables, "by the page tables"),
        (Verified::Not, "not at all"),
    ];
    let texts: Vec<String> = ways
        .iter()
        .filter_map(|&(how, words)| {
            let names = verified_so(found, how);
            (!names.is_empty()).then(|| format!("{words}: {}", names.join(", ")))
        })
        .collect();
    (!texts.is_empty()).then(|| format!("verified {}", texts.join("; ")))
}

/// Names the page sizes that were verified in this way.
fn verified_so(found: &Paging, how: Verified) -> Vec<String> {
    let kinds = found.kinds.iter().filter(|kind| kind.verified == Some(how));
    kinds.map(kind).collect()
}

/// States which blocks do not count, and why; those of one page size and reason together.
pub(crate) fn left_out(found: &Paging) -> Vec<String> {
    let mut all: Vec<(String, &str, u64)> = Vec::new();
    for point in found.points.iter().filter(|point| point.left_out > 0) {
        let why = point.why_left_out.as_deref().unwrap_or_default();
        let pages = named(found, &point.pages);
        match all.iter_mut().find(|(known, reason, _)| *known == pages && *reason == why) {
            Some((.., count)) => *count += point.left_out,
            None => all.push((pages, why, point.left_out)),
        }
    }
    let text = |(pages, why, count): (String, &str, u64)| {
        format!("{} on {pages} pages: {why}", counted(count, "series", "series"))
    };
    all.into_iter().map(text).collect()
}
