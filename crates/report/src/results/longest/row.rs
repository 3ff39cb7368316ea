//! What happened in the longest detours of a recording.

use super::stopped;
use super::{releases, stories, waits};
use crate::heading;
use crate::results::Input;
use crate::results::described::Grouping;
use crate::results::row::{Print, Row};
use crate::screen::Screen;
use crate::style::{Tone, View, plain};
use crate::units::count;
use anechoic_analyze::facts::Facts;
use anechoic_analyze::{DetourStory, LongestDetours, longest_detours};
use anechoic_recording::Problem;
use anechoic_recording::options::{OptionRow, Value};
use anechoic_recording::sources::SOURCES;

/// The row of the result.
pub static LONGEST: Row<LongestDetours> = Row {
    compute: Some(compute),
    headline: sentences,
    facts: |found| Some(&found.run),
    print: Some(Print::with(screen)),
    ..Row::new("longest", "what happened in the longest detours", Grouping::Each)
};

/// The options of the result.
pub static OPTIONS: &[OptionRow] = &[
    OptionRow::new("number", Value::Count { least: 1, most: 1_000 }, "N", "How many detours or wake-ups; for a program, also how many waits and releases of its threads")
        .short('n')
        .default("10"),
    OptionRow::new("cpus", Value::Cpus, "LIST", "Only detours, wake-ups, waits and releases on these CPUs, for example 2-5")
        .short('c'),
    OptionRow::new(
        "without",
        Value::Matching(sources_by_id),
        "SOURCES",
        "Leave out detours and wake-ups with these sources, not waits and releases: identifiers of the catalogue (docs/reference/sources.md), or patterns such as 'softirq*'",
    )
    .many(),
    OptionRow::new(
        "activities",
        Value::Count { least: 1, most: 10_000 },
        "N",
        "How many activities of each, those that took most",
    )
    .default("16"),
];

/// Lists the identifiers of all sources with what they are called in results.
fn sources_by_id() -> Vec<(&'static str, &'static str)> {
    SOURCES.iter().map(|source| (source.id, source.title)).collect()
}

/// Returns how the run ended, if a condition was to end it, and how long the longest detour was.
fn sentences(found: &LongestDetours) -> Vec<String> {
    let ended = found.stopped.iter().map(|stopped| stopped::sentence(stopped, &found.run));
    ended.chain([stories::headline(found)]).collect()
}

/// Shows each detour with its activities: when they began, what they took, who caused them. A detour that ended the run
/// comes first, however short.
fn screen(found: &LongestDetours, view: &View<'_>) -> Screen {
    let mut screen = Screen::default();
    heading::all(&found.run, view, &mut screen);
    screen.gap();
    screen.headline(&sentences(found).join(" "));
    stopped::add(found.stopped.as_ref(), &found.run, view.all, &mut screen);
    let whole = match found.detours.len() {
        all if view.all || all <= FEW => all,
        _ => FEW - 1,
    };
    let mut stories = (1_u64..).zip(&found.detours);
    for (number, story) in stories.by_ref().take(whole) {
        let victim = story.victim.as_ref().map(stories::delayed);
        let victim = victim.map_or(String::new(), |delayed| format!(" · {delayed}"));
        screen.section(&format!("{}. {}{victim}", count(number), stories::heading(story)));
        stories::activities(story, &found.run, view.all, &mut screen);
    }
    let mut others =
        stories.map(|(number, story)| in_one_line(number, story, &found.run)).peekable();
    if others.peek().is_some() {
        screen.gap();
        others.by_ref().take(LINES).for_each(|line| screen.clipped(Tone::Plain, &line));
    }
    waits::add(found, view, &mut screen);
    releases::add(found, view, &mut screen);
    screen.path("recording", view);
    if whole < found.detours.len() {
        screen.note("--all shows what happened in each");
    }
    screen
}

/// Returns a detour in one line, with what took most of it.
fn in_one_line(number: u64, story: &DetourStory, run: &Facts) -> String {
    let most = stories::took_most(story, run).map_or(String::new(), |most| format!(" · {most}"));
    let line = format!(
        "{}. {}{}",
        count(number),
        stories::heading(story),
        most.trim_end_matches(" of it")
    );
    match &story.victim {
        None => line,
        Some(victim) => {
            format!("{} · delayed {}", line.replace(" took ", " "), plain(&victim.name))
        }
    }
}

/// Without all rows, at most this many detours are shown with their activities.
const FEW: usize = 3;
/// Number of further detours, each in a line.
const LINES: usize = 10;

fn compute(input: &Input<'_>) -> Result<LongestDetours, Problem> {
    let answers = input.answers(OPTIONS)?;
    let count = |name| -> Result<usize, Problem> {
        Ok(usize::try_from(answers.one::<u64>(name)?).unwrap_or(usize::MAX))
    };
    let cpus = answers.given::<Vec<u32>>("cpus");
    let without: Vec<&'static str> =
        answers.all::<Vec<&'static str>>("without").into_iter().flatten().collect();
    let (most, activities) = (count("number")?, count("activities")?);
    longest_detours(input.one()?, most, activities, cpus.as_deref(), &without)
}
