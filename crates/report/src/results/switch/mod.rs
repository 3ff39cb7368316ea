//! The screen of the context-switch ring: what a switch costs, directly and through the caches.

mod charts;
mod row;
mod tables;
pub(crate) mod words;

pub use row::SWITCH;

use crate::certainty;
use crate::heading;
use crate::names::causes;
use crate::screen::{Fact, Screen};
use crate::style::{Tone, View};
use crate::units::{count, counted, span, timestamp};
use anechoic_analyze::Switch;

/// Shows what context switches cost by number of members and working set.
#[must_use]
pub fn switch(found: &Switch, view: &View<'_>) -> Screen {
    let mut screen = heading::begun(&found.run, &what(found));
    // A page begins with these.
    screen.in_terminal(|terminal| {
        words::sentences(found).iter().for_each(|sentence| terminal.headline(sentence));
    });
    for (title, table) in tables::all(found) {
        screen.section(&title);
        screen.table(table);
    }
    screen.note(&words::columns(found));
    let chart = charts::costs(found);
    match found.sizes().len() {
        // A single working set is no curve.
        ..2 => screen.on_page(|page| page.picture(chart.0, chart.1)),
        _ => screen.picture(chart.0, chart.1),
    }
    screen.gap();
    screen.facts(facts(found));
    screen.path("recording", view);
    screen
}

/// Describes the measurement.
fn what(found: &Switch) -> String {
    let place = found.cpu.map_or(String::new(), |cpu| format!(" on CPU {cpu}"));
    let hops: u64 = found.points.iter().map(|point| point.hops).sum();
    format!(
        "switch: a token in a ring{place} · {} · {} · {} · {} hops in {} · {}",
        counted(found.rings().len() as u64, "ring", "rings"),
        counted(found.sizes().len() as u64, "working set", "working sets"),
        counted(found.blocks, "block", "blocks"),
        count(hops),
        span(found.run.wall_ns),
        timestamp(&found.run.start_utc),
    )
}

/// Returns facts on the tokens, the kernel events, the outliers, and what is missing.
fn facts(found: &Switch) -> Vec<Fact> {
    let [all, wrong] = found.tokens;
    let (tone, text) = match (all, wrong) {
        (0, _) => (Tone::Plain, "completed no round trip".to_owned()),
        (_, 0) => (Tone::Good, format!("passed every member in all {} round trips", count(all))),
        _ => {
            let trips = format!("{} of {} round trips", count(wrong), count(all));
            let what = "missed a member, or a member computed a wrong value";
            (Tone::Bad, format!("{what}, in {trips}"))
        }
    };
    let token = Fact::new("token", tone, text);
    let mut facts = vec![token];
    facts.extend(words::events(found).map(|text| Fact::new("events", Tone::Plain, text)));
    facts.push(outliers(found));
    facts.extend(certainty::not_available(&found.run.not_available));
    facts.extend(certainty::notes(&found.run));
    facts
}

/// States how many samples are outliers, and what lengthened them.
fn outliers(found: &Switch) -> Fact {
    let outliers = &found.outliers;
    let traced = if found.run.traced { " with events" } else { "" };
    let mut text = format!(
        "{}{traced} far longer than the others of their series",
        counted(outliers.count, "sample", "samples")
    );
    if let Some(causes) = causes(outliers, &found.run).filter(|_| outliers.explained > 0) {
        text += &format!("; kernel events explain {}: {causes}", count(outliers.explained));
    }
    Fact::new("outliers", Tone::Plain, text)
}
