//! The table of the places in its code where a program lost a CPU.

use crate::names::calls;
use crate::screen::{Screen, Section};
use crate::style::{clip, plain};
use crate::table::Table;
use crate::units::{count, length, time};
use anechoic_analyze::Summary;
use anechoic_analyze::waits::{WaitPlace, WaitPlaces};
use anechoic_recording::DelayKind;
use std::collections::BTreeSet;

/// Number of places in a brief table, and of their calls.
const FEW: usize = 3;
/// Delays at unknown places are stated if they are more than one part in this many.
const UNKNOWN: u64 = 10;
/// Number of calls in the full table.
const CALLS: usize = 8;

/// Its section on a page.
const SECTION: Section =
    Section { anchor: "places", title: "Where the program lost its CPUs", short: "Places" };

/// Adds the places with the longest delays.
pub(crate) fn add_briefly(summary: &Summary, screen: &mut Screen) {
    let Some(places) = found(summary) else { return };
    let left = places.places.len().saturating_sub(FEW);
    screen.table(table(places, FEW).first(FEW, false, |_| format!("{left} more")));
    let all = places.places.iter().map(|place| place.delayed_ns).sum::<u64>();
    let all = all.saturating_add(places.others_ns).saturating_add(places.unknown_ns);
    note_cut_short(places, screen);
    if places.unknown_ns > all / UNKNOWN {
        let (unknown, all) = (time(places.unknown_ns as f64), time(all as f64));
        screen.note(&format!("{unknown} of {all} were delays at places that are not known."));
    }
    screen.gap();
}

/// Adds all places.
pub(crate) fn part(summary: &Summary, screen: &mut Screen) {
    let Some(places) = found(summary) else { return };
    screen.part(SECTION, |part| {
        part.table(table(places, CALLS));
        part.note(
            "delayed: by others, added up over all threads. where: the calls in which a thread lost its CPU, or in which it had slept before it waited for one; the innermost first. \
             Calls of a program end where it has no frame pointers. thread: which lost most there.",
        );
        let rest = [(places.others_ns, "at other places"), (places.unknown_ns, "at unknown places")];
        let rest = rest.iter().filter(|(ns, _)| *ns > 0);
        let rest: Vec<String> = rest.map(|(ns, place)| format!("{} {place}", time(*ns as f64))).collect();
        if !rest.is_empty() {
            part.note(&format!("delayed: {}", rest.join(", ")));
        }
        note_cut_short(places, part);
        part.gap();
    });
}

fn found(summary: &Summary) -> Option<&WaitPlaces> {
    summary.places.as_ref().filter(|places| !places.places.is_empty())
}

/// States for how much of the lost time the calls are not whole.
fn note_cut_short(places: &WaitPlaces, screen: &mut Screen) {
    if places.cut_short_ns > 0 {
        let cut_short = time(places.cut_short_ns as f64);
        screen.note(&format!(
            "In {cut_short} of it the program's calls end early: code without frame pointers (build with -fno-omit-frame-pointer)."
        ));
    }
}

fn table(places: &WaitPlaces, most: usize) -> Table {
    let names = places.places.iter().filter_map(|place| place.thread.as_deref());
    let are_several = names.collect::<BTreeSet<_>>().len() > 1;
    let table = Table::with_rows(&places.places)
        .number("delayed", |place| time(place.delayed_ns as f64))
        .number("waits", |place| count(place.waits))
        .number("longest", |place| length(place.longest_ns));
    let table = if are_several { table.name("thread", thread) } else { table };
    table
        .name("where", move |place| place_name(place, most))
        .captioned("Where the threads of the program lost their CPUs, the longest delay first")
        .last_takes_rest()
}

/// Returns which threads lost most at a place, and how many others did.
fn thread(place: &WaitPlace) -> String {
    let name = clip(&plain(place.thread.as_deref().unwrap_or("")), 16);
    match place.other_threads {
        0 => name,
        others => format!("{name} + {others}"),
    }
}

fn place_name(place: &WaitPlace, most: usize) -> String {
    let word = if place.kind == DelayKind::Preempted { "preempted in" } else { "slept in" };
    format!("{word} {}", calls(&place.calls, most))
}
