//! The screen of one run.

pub(crate) mod cpus;
pub(crate) mod curve;
pub(crate) mod headline;
mod levels;
pub(crate) mod pace;
mod places;
pub(crate) mod reference;
mod releases;
mod row;
pub(crate) mod threads;
mod wakers;

pub(crate) use row::METHOD;
pub use row::SUMMARY;

use self::headline::sentences;
use crate::results::live::self_test;
use crate::results::longest;
use crate::results::longest::stopped;
use crate::results::sources::{self, owners, suspects};
use crate::screen::{Fact, InBrief, Screen};
use crate::style::{Tone, View};
use crate::{advice, certainty, heading};
use anechoic_analyze::Summary;

/// Number of lines of a screen.
const LINES: usize = 40;

/// Shows the noise of one run, its sources, how reliable the numbers are, and what would reduce the noise.
///
/// Without all rows it is a screen of about 40 lines.
#[must_use]
pub fn summary(summary: &Summary, view: &View<'_>) -> Screen {
    let mut screen = Screen::default();
    heading::all(&summary.run, view, &mut screen);
    screen.gap();
    screen.headline(&sentences(summary).join(" "));
    if view.all {
        reference::line(summary).iter().for_each(|line| screen.note(line));
    }
    stopped::add(summary.stopped.as_ref(), &summary.run, view.all, &mut screen);
    screen.gap();
    match view.all {
        true => add_all(summary, view, &mut screen),
        false if summary.run.program.is_some() => add_program(summary, view, &mut screen),
        false => add_briefly(summary, view, &mut screen),
    }
    screen.path_and_more(view);
    screen
}

/// Adds the noise of each CPU, the sources, who took the time, the checks, and advice, in a few lines each.
fn add_briefly(summary: &Summary, view: &View<'_>, screen: &mut Screen) {
    let run = &summary.run;
    cpus::add_briefly(summary, screen);
    screen.gap();
    if let Some(found) = &summary.sources {
        sources::add_briefly(found, run, view, screen);
        screen.gap();
    } else if let Some(found) = &summary.suspects {
        suspects::add(found, run, view, screen);
        screen.gap();
    }
    owners::add_briefly(summary, view, screen);
    screen.checked(facts(summary), false);
    if let Some(found) = &summary.sources {
        advice::add_briefly(found, run, view, screen);
    }
}

/// Adds what a screen has room for of a recorded program, what matters most first, and always the checks.
fn add_program(summary: &Summary, view: &View<'_>, screen: &mut Screen) {
    let is_remark = |fact: &Fact| fact.in_brief == InBrief::Whole && fact.tone == Tone::Quiet;
    let (remarks, checks): (Vec<Fact>, Vec<Fact>) = facts(summary).into_iter().partition(is_remark);
    let checks = Screen::from_fn(|screen| screen.checked(checks, false));
    let end = Screen::from_fn(|screen| screen.path_and_more(view));
    let lines = |screen: &Screen| screen.to_text(view).lines().count();
    let limits = summary.run.limits.as_ref();
    let is_held = limits.is_some_and(|limits| limits.throttled_ns.is_some_and(|ns| ns > 0));
    let is_marked = summary.run.program.as_ref().is_some_and(|program| program.marked.is_some());
    let room = match (is_held, is_marked) {
        // Which quotas held it back, who else took its time, and what to do: nothing of that can be left out.
        (true, _) => usize::MAX,
        // The screen of its iterations follows, with the sources of what they lost.
        (false, true) => 0,
        (false, false) => LINES.saturating_sub(lines(screen) + lines(&checks) + lines(&end) + 1),
    };
    let parts = |fewest| parts_in(room, (summary, &remarks, fewest), view);
    let is_shown = |part: &Screen| part.to_text(view).contains(sources::TITLE);
    let whole = Some(parts(false)).filter(|part| summary.sources.is_none() || is_shown(part));
    let parts = whole.unwrap_or_else(|| parts(true));
    if !parts.is_empty() {
        screen.append(parts);
        screen.gap();
    }
    screen.append(checks);
}

/// Returns the parts of a recorded program in brief that this many lines have room for.
fn parts_in(
    room: usize,
    (summary, remarks, fewest): (&Summary, &[Fact], bool),
    view: &View<'_>,
) -> Screen {
    let remarks = remarks.to_vec();
    Screen::from_fn(|screen| add_parts(summary, (remarks, fewest), view, screen))
        .in_lines(room, None, view)
}

/// Adds all parts of a recorded program in brief; of its sources the fewest if other tables need the room.
fn add_parts(
    summary: &Summary,
    (remarks, fewest): (Vec<Fact>, bool),
    view: &View<'_>,
    screen: &mut Screen,
) {
    let run = &summary.run;
    cpus::add_briefly(summary, screen);
    screen.gap();
    threads::add_briefly(summary, screen);
    releases::add_briefly(summary, view, screen);
    places::add_briefly(summary, screen);
    if let Some(found) = &summary.sources {
        let has_tables = !releases::shown(summary).is_empty() || summary.places.is_some();
        match (has_tables || fewest) && !found.rows.is_empty() {
            true => sources::add_fewest(found, run, view, screen),
            false => sources::add_briefly(found, run, view, screen),
        }
        screen.gap();
    } else if let Some(found) = &summary.suspects {
        suspects::add(found, run, view, screen);
        screen.gap();
    }
    owners::add_briefly(summary, view, screen);
    screen.gap();
    wakers::add_briefly(summary, view, screen);
    screen.facts(remarks);
    if let Some(found) = &summary.sources {
        advice::add_briefly(found, run, view, screen);
    }
    screen.gap();
}

/// Adds everything that is known.
fn add_all(summary: &Summary, view: &View<'_>, screen: &mut Screen) {
    let run = &summary.run;
    cpus::all(summary, view, screen);
    screen.gap();
    sources::part(summary, view, screen);
    threads::part(summary, view, screen);
    wakers::part(summary, view, screen);
    releases::part(summary, view, screen);
    places::part(summary, screen);
    pace::part(summary, view.all, screen);
    levels::part(summary, screen);
    if !summary.curve.is_empty() {
        curve::add(summary, view, screen);
        screen.gap();
    }
    if !summary.longest.is_empty() && summary.sources.is_some() {
        screen.table(longest::table(&summary.longest, run));
        screen.gap();
    }
    screen.facts(facts(summary));
    if let Some(found) = &summary.sources {
        advice::add(found, run, screen);
    }
}

/// Returns how reliable the results are, and what the last self-test found.
fn facts(summary: &Summary) -> Vec<Fact> {
    let mut facts = certainty::facts(summary);
    facts.extend(pace::fact(summary));
    facts.extend(self_test::last(&summary.run));
    facts
}
