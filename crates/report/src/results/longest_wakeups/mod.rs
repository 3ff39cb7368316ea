//! The screen of the longest wake-ups: what happened in each, in order.

mod row;

pub use row::LONGEST_WAKEUPS;

use crate::heading;
use crate::results::longest::stories;
use crate::results::wakeup::{kinds, stopped};
use crate::screen::Screen;
use crate::style::{Tone, View};
use crate::units::{count, counted, cpu_list, length, long, timestamp};
use anechoic_analyze::wakeup::longest::LongestWakeups;
use anechoic_analyze::wakeup::{Kind, LongWakeup};

/// Number of wake-ups that a short screen shows as a whole.
const FEW: usize = 2;
/// Number of further ones that it shows in one line each.
const LINES: usize = 10;

/// Shows each wake-up with its activities: when they began, what they took, who caused them.
#[must_use]
pub fn longest_wakeups(found: &LongestWakeups, view: &View<'_>) -> Screen {
    let cpus = counted(found.run.cpus.len() as u64, "CPU", "CPUs");
    let what = format!(
        "longest wake-ups · {cpus} ({}) for {} · {} · {}",
        cpu_list(&found.run.cpus),
        long(found.run.wall_ns),
        found.run.policy,
        timestamp(&found.run.start_utc)
    );
    let mut screen = heading::begun(&found.run, &what);
    screen.headline(&sentences(found).join(" "));
    stopped::add(found.stopped.as_ref(), &found.run, view.all, &mut screen);
    let whole = if view.all { found.wakeups.len() } else { FEW };
    let mut wakeups = (1_u64..).zip(&found.wakeups);
    for (number, wakeup) in wakeups.by_ref().take(whole) {
        screen.section(&format!("{}. {}", count(number), title(wakeup, found)));
        screen.in_terminal(|terminal| {
            stopped::parts(wakeup).iter().for_each(|line| terminal.sentence(line));
        });
        stories::activities(&wakeup.story, &found.run, view.all, &mut screen);
    }
    let mut others = wakeups.map(|(number, wakeup)| {
        let most = stopped::cause(&wakeup.story, &found.run);
        let most = most.map_or(String::new(), |most| format!(" · {most}"));
        format!("{}. {}{most}", count(number), title(wakeup, found))
    });
    let mut others = others.by_ref().peekable();
    if others.peek().is_some() {
        screen.gap();
        others.by_ref().take(LINES).for_each(|line| screen.clipped(Tone::Plain, &line));
    }
    if found.without_events > 0 {
        screen.note(&format!(
            "left out: {} measured without kernel events, to show what the events cost",
            counted(found.without_events, "wake-up", "wake-ups")
        ));
    }
    screen.path("recording", view);
    if whole < found.wakeups.len() {
        screen.note("--all shows what happened in each");
    }
    screen
}

/// Returns length, CPU, start and kind of a wake-up.
fn title(wakeup: &LongWakeup, found: &LongestWakeups) -> String {
    let all: Vec<Kind> = found.wakeups.iter().map(|wakeup| wakeup.kind).collect();
    let kind = kinds::name(wakeup.kind, &all).map_or(String::new(), |name| format!(" · {name}"));
    let overruns = match wakeup.overruns {
        0 => String::new(),
        number => format!(" · {}", counted(number, "overrun", "overruns")),
    };
    format!("{}{kind}{overruns}", stories::heading(&wakeup.story))
}

/// Returns how the measurement ended, if a condition was to end it, how long the longest wake-up was, and what took most of it.
fn sentences(found: &LongestWakeups) -> Vec<String> {
    let ended = found.stopped.iter().map(|stopped| stopped::sentence(stopped, &found.run));
    ended.chain([longest(found)]).collect()
}

fn longest(found: &LongestWakeups) -> String {
    let place = found.cpus.as_ref().map_or(String::new(), |cpus| {
        format!(" on {} {}", if cpus.len() == 1 { "CPU" } else { "CPUs" }, cpu_list(cpus))
    });
    let without = match found.left_out {
        0 => String::new(),
        number => format!(" without {} ({} left out)", found.without.join(", "), count(number)),
    };
    let Some(first) = found.wakeups.first() else {
        return format!("There is no wake-up{place}{without}.");
    };
    let text = format!(
        "The longest of {}{place}{without} took {} on CPU {}",
        counted(found.total, "wake-up", "wake-ups"),
        length(first.story.length_ns),
        first.story.cpu,
    );
    let most = stopped::cause(&first.story, &found.run);
    most.map_or(format!("{text}."), |most| format!("{text}; {most}."))
}
