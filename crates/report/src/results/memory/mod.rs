//! The screen of the memory experiments: time per access in the regions of the caches, its noise, and where the caches
//! end.

pub(crate) mod charts;
mod own;
mod row;
pub(crate) mod tables;
pub(crate) mod words;

pub use row::MEMORY;

use crate::certainty;
use crate::heading;
use crate::names::causes;
use crate::screen::{Fact, Screen};
use crate::style::{Tone, View};
use crate::units::{count, counted, share, span, timestamp};
use anechoic_analyze::Memory;

/// Shows the time per access and its noise in the regions of the caches; all experiments if everything is wanted.
#[must_use]
pub fn memory(found: &Memory, view: &View<'_>) -> Screen {
    if let Some(own) = &found.own {
        return own::screen(found, own, view);
    }
    let mut screen = heading::begun(&found.run, &what(found));
    // A page begins with these.
    screen.in_terminal(|terminal| {
        sentences(found).iter().for_each(|sentence| terminal.headline(sentence));
    });
    screen.section("where the caches end");
    match found.borders.is_empty() {
        true => screen.sentence(words::NO_CACHES),
        false => {
            screen.table(tables::borders(found));
            screen.note(&words::borders(found));
        }
    }
    add_charts(found, &mut screen);
    screen.section("time per access, ns");
    screen.table(tables::times(found, view.all));
    screen.note(&words::times(found));
    if view.all {
        screen.on_page(|page| page.heading("Noise"));
        screen.picture(tables::heat(found), HEAT);
        screen.note(words::NOISE);
    }
    if !view.all && found.measured().count() > tables::FEW {
        screen.note("--all lists every experiment.");
    }
    if view.all
        && found
            .measured()
            .flat_map(|experiment| experiment.regions.iter().flatten())
            .any(|region| region.os_share.is_some())
    {
        screen.section("the operating system's part of the variance");
        screen.table(tables::os_share(found));
        screen.note(words::OS_SHARE);
    }
    screen.warnings_or(facts(found), view.all);
    if view.all {
        screen.note(&words::published());
    }
    screen.path_and_more(view);
    screen.in_brief(view)
}

/// States what was found: of reads and writes, or of a user's own function.
fn sentences(found: &Memory) -> Vec<String> {
    found.own.as_ref().map_or_else(|| words::sentences(found), |own| own::sentences(found, own))
}

/// Describes the shaded table.
const HEAT: &str = "Variance of the ticks per access divided by their mean, median over the working sets of each region, of all experiments.";

/// Adds the curves, of which the terminal shows the time per access of one pair, and one preemption beside its prediction.
fn add_charts(found: &Memory, screen: &mut Screen) {
    let measured = charts::measured(found);
    let briefly = charts::briefly(&measured);
    for (number, (chart, caption)) in measured.into_iter().enumerate() {
        match briefly == Some(number) {
            true => screen.picture(chart, caption),
            false => screen.on_page(|page| page.picture(chart, caption)),
        }
    }
    for (number, (chart, caption)) in charts::predictions(found).enumerate() {
        match number {
            0 => screen.picture(chart, caption),
            _ => screen.on_page(|page| page.picture(chart, caption)),
        }
    }
}

/// Describes the measurement.
fn what(found: &Memory) -> String {
    let (done, all) = (found.measured().count(), found.experiments.len());
    let points = || found.measured().flat_map(|experiment| &experiment.points);
    let mut sizes: Vec<u64> = points().map(|point| point.bytes).collect();
    sizes.sort_unstable();
    sizes.dedup();
    let samples: u64 = points().map(|point| point.samples).sum();
    let ends = [sizes.first(), sizes.last()].map(|bytes| words::size(bytes.copied().unwrap_or(0)));
    let place = found.cpu.map_or(String::new(), |cpu| format!(" on CPU {cpu}"));
    let pages: Vec<String> = found.page_bytes.iter().map(|&bytes| words::size(bytes)).collect();
    format!(
        "memory: {done} of {all} experiments{place} · {} from {} to {} · pages of {} · {} passes in {} · {}",
        counted(sizes.len() as u64, "working set", "working sets"),
        ends[0],
        ends[1],
        if pages.is_empty() { "unknown size".into() } else { pages.join(" and ") },
        count(samples),
        span(found.run.wall_ns),
        timestamp(&found.run.start_utc),
    )
}

/// Returns facts on the outliers, on what is missing, and notes.
fn facts(found: &Memory) -> Vec<Fact> {
    let mut facts = vec![outliers(found)];
    if found.wrong > 0 {
        let wrong = counted(found.wrong, "pass", "passes");
        let text = match found.own {
            Some(_) => format!("{wrong} returned a value that the function's own check refuses"),
            None => format!("{wrong} returned a wrong value: do not trust this machine"),
        };
        facts.insert(0, Fact::new("work", Tone::Bad, text));
    }
    facts.extend(
        words::absent(found).into_iter().map(|text| Fact::new("absent", Tone::Plain, text)),
    );
    let mut others = found.run.not_available.clone();
    others.retain(|missing| !missing.is_experiment());
    facts.push(Fact::new("scheduling", Tone::Plain, words::scheduling(found)));
    facts.extend(certainty::not_available(&others));
    facts.extend(certainty::notes(&found.run));
    facts
}

/// States how many outliers there are, and what lengthened them.
fn outliers(found: &Memory) -> Fact {
    let outliers = &found.outliers;
    let part =
        |part: u64, whole: u64| share(if whole == 0 { 0.0 } else { part as f64 / whole as f64 });
    let mut text = format!(
        "{} of {} passes ({}) are far longer than the others of their working set",
        count(outliers.count),
        count(outliers.samples),
        part(outliers.count, outliers.samples)
    );
    if outliers.examined > 0 {
        let named = part(outliers.explained, outliers.examined);
        text += &format!(
            "; kernel events account for {named} of the {} with events",
            count(outliers.examined)
        );
    }
    if let Some(causes) = causes(outliers, &found.run) {
        text += &format!(": {causes}");
    }
    Fact::new("outliers", Tone::Plain, text)
}
