//! The screen of the longest detours: what happened in each, in order.

use crate::names::{role, sender, source_name};
use crate::screen::Screen;
use crate::style::plain;
use crate::table::Table;
use crate::units::{count, counted, cpu_list, instant, length};
use anechoic_analyze::facts::Facts;
use anechoic_analyze::{DetourStory, LongestDetours, StoryActivity, Victim};
use anechoic_recording::{ActivityKind, DelayKind};
use std::collections::BTreeMap;

/// Deeper activities are not indented further.
const DEEPEST: usize = 6;

/// Number of activities in a shortened table.
const SHOWN: usize = 8;

/// Adds what happened in a detour, in order: everything, or the first activities.
pub(crate) fn activities(story: &DetourStory, run: &Facts, all: bool, screen: &mut Screen) {
    if story.activities.is_empty() {
        screen.sentence("Its cause is unknown: no kernel events were recorded or attributed.");
        return;
    }
    screen.table(table(story, run).first(SHOWN, all, |more| format!("{more} more")));
    if story.more > 0 {
        let more = counted(story.more, "shorter activity", "shorter activities");
        screen.note(&format!("and {more} of {} together", length(story.more_ns)));
    }
}

/// Returns how long the longest detour was, and what took most of it.
pub(crate) fn headline(found: &LongestDetours) -> String {
    let Some(first) = found.detours.first() else { return none(found) };
    // A single chosen CPU is named already.
    let place = match found.cpus.as_deref() {
        Some([_]) => String::new(),
        _ => format!(" on CPU {}", first.cpu),
    };
    let mut text = format!(
        "The longest of {}{} took {}{place}",
        counted(found.total, "detour", "detours"),
        chosen(found),
        length(first.length_ns),
    );
    if let Some(most) = took_most(first, &found.run) {
        text += &format!("; {most}");
    }
    if let Some(victim) = &first.victim {
        text += &format!(". It {}", delayed(victim));
    }
    text + "."
}

/// States why there is no detour: none was recorded, or all were left out by the choice of sources.
fn none(found: &LongestDetours) -> String {
    let place = on(found);
    match found.left_out.unwrap_or(0) {
        0 => format!("No detour was recorded{place}."),
        number => {
            let all = counted(number, "detour", "detours");
            let verb = if number == 1 { "was" } else { "were" };
            let one_of = if found.without.len() == 1 { "" } else { "one of the sources " };
            format!("All {all}{place} {verb} left out: each contains {one_of}{}.", sources(found))
        }
    }
}

/// States the choice of CPUs and sources, and how many detours it leaves out; nothing if all count.
fn chosen(found: &LongestDetours) -> String {
    let left_out = found.left_out.map_or(String::new(), |number| {
        format!(" without {} ({} left out)", sources(found), count(number))
    });
    format!("{}{left_out}", on(found))
}

/// Names the chosen CPUs; nothing if all count.
fn on(found: &LongestDetours) -> String {
    let cpus = found.cpus.as_ref().map(|cpus| (if cpus.len() == 1 { "CPU" } else { "CPUs" }, cpus));
    cpus.map_or(String::new(), |(word, cpus)| format!(" on {word} {}", cpu_list(cpus)))
}

/// Names the sources of which detours were left out.
fn sources(found: &LongestDetours) -> String {
    found.without.join(", ")
}

/// Returns what took most of a detour, and how much of it; `None` if its cause is unknown.
pub(crate) fn took_most(story: &DetourStory, run: &Facts) -> Option<String> {
    let ((source, name), took) = most(story)?;
    Some(format!("{} took {} of it", source_name(source, name, run), length(took)))
}

/// Returns the source that took most of a detour, with its name and that time in ns; `None` if its cause is unknown.
pub(crate) fn most(story: &DetourStory) -> Option<((&str, &str), u64)> {
    let mut took: BTreeMap<(&str, &str), u64> = BTreeMap::new();
    for row in &story.activities {
        *took.entry((&row.source, &row.name)).or_default() += row.self_ns;
    }
    took.into_iter().max_by_key(|(_, took)| *took)
}

/// Returns length, CPU, start and steal of a detour.
pub(crate) fn heading(story: &DetourStory) -> String {
    let steal = match story.steal_ns {
        None => String::new(),
        Some(0) => " · no steal".into(),
        Some(steal) => format!(" · steal {}", length(steal)),
    };
    let (took, start) = (length(story.length_ns), instant(story.start_ns));
    format!("{took} on CPU {} at {start}{steal}", story.cpu)
}

/// States which thread of the program a detour delayed, and why that did not execute.
pub(super) fn delayed(victim: &Victim) -> String {
    let why = match victim.kind {
        None => "interrupted",
        Some(DelayKind::Preempted) => "preempted",
        Some(DelayKind::Begun) => "just begun",
        Some(DelayKind::Woken | DelayKind::Blocked) => "woken",
    };
    let others = match victim.others {
        0 => String::new(),
        others => format!(" and {}", counted(others, "other thread", "other threads")),
    };
    format!("delayed {} {} ({why}){others}", plain(&victim.name), victim.tid)
}

fn table(story: &DetourStory, run: &Facts) -> Table {
    Table::with_rows(&story.activities)
        .number("after", |row| length(row.start_ns))
        .number("took", |row| length(row.self_ns))
        .name("what happened", |row| what(row, run))
        .captioned("What happened, in order")
        .last_takes_rest()
}

/// Describes an activity: its source, its thread, who caused it, and its function.
fn what(row: &StoryActivity, run: &Facts) -> String {
    let source = source_name(&row.source, &row.name, run);
    let function = row.function.as_deref().map(plain).filter(|function| *function != row.name);
    let sent = sender(row.sent_by_cpu, row.sent_by_task.as_deref());
    let about = [
        row.pid.map(|tid| format!("thread {tid}")),
        sent.map(|sent| format!("from {sent}")),
        function.map(|function| format!("in {function}")),
    ];
    let first = match row.kind {
        ActivityKind::Activity | ActivityKind::OffCpu => source,
        ActivityKind::Unexplained | ActivityKind::NotAttributable => {
            format!("{source} ({})", role(row.kind))
        }
        gap => format!("{}, charged to {source}", role(gap)),
    };
    let parts: Vec<String> = [Some(first)].into_iter().chain(about).flatten().collect();
    let indent = "  ".repeat((row.depth as usize).min(DEEPEST));
    format!("{indent}{}", parts.join(" · "))
}
