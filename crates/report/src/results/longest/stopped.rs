//! What ended a run before its time, and what came before it.

use crate::results::longest;
use crate::results::longest::stories;
use crate::results::longest::stories::{activities, took_most};
use crate::screen::Screen;
use crate::table::Table;
use crate::units::{asked, count, instant, length, long, noise, span};
use anechoic_analyze::facts::Facts;
use anechoic_analyze::longest::LongDetour;
use anechoic_analyze::{DetourStory, Stopped, StoppedSecond};
use anechoic_recording::stop::{LEAST_WANTED, StopCondition};

/// Returns what a condition ends: a run of loops, or the recording of a program.
fn what_ends(run: &Facts) -> &'static str {
    if run.program.is_some() { "recording" } else { "run" }
}

/// Returns how a run ended that a condition was to end before its time, and how much of it is kept.
pub(crate) fn sentence(stopped: &Stopped, run: &Facts) -> String {
    let ended = how_it_ended(stopped, run);
    let Some(kept) = stopped.kept.filter(|kept| kept.dropped_ns > 0) else { return ended };
    let all = long(kept.dropped_ns.saturating_add(run.wall_ns));
    let less = match run.wall_ns < kept.asked_ns / 10 * 9 {
        true => format!(", not {}: there was no memory for more", asked(kept.asked_ns)),
        false => String::new(),
    };
    let chosen = match stopped.condition {
        StopCondition::Longer(ns) if stopped.found() => format!(
            " The detour is the first over {}{} in {all}; shorter ones and their shares are known of the kept part alone, which \
             ends with it by construction.",
            asked(ns),
            if run.policy.is_fifo() { " that is no artefact of --fifo" } else { "" }
        ),
        StopCondition::Lost(_) if stopped.found() => {
            " Shares and rates are those of the kept part alone, which ends with that second by construction.".into()
        }
        _ => String::new(),
    };
    format!(
        "{ended} Of the {all} that were watched, the last {} are kept{less}.{chosen}",
        span(run.wall_ns)
    )
}

fn how_it_ended(stopped: &Stopped, run: &Facts) -> String {
    let (condition, what) = (stopped.condition, what_ends(run));
    let Some(after) = stopped.after_ns.map(instant) else {
        return match condition {
            StopCondition::Longer(ns) if run.policy.is_fifo() => {
                format!("Apart from artefacts of --fifo, no detour was longer than {}.", asked(ns))
            }
            StopCondition::Longer(ns) => format!("No detour was longer than {}.", asked(ns)),
            StopCondition::Count(number) => {
                format!("The {} ended before it had {} detours.", what_ends(run), count(number))
            }
            StopCondition::Lost(ppm) => format!(
                "In no second of at least {} in which the program wanted its CPUs, more than {} % of that was lost.",
                asked(LEAST_WANTED.as_nanos() as u64),
                f64::from(ppm) / 1e4
            ),
        };
    };
    match (condition, &stopped.detour) {
        (StopCondition::Count(number), _) => {
            format!("The {what} has its {} detours after {after}.", count(number))
        }
        (StopCondition::Longer(_), None) => {
            format!(
                "A detour at {after} ended the {what} ({condition}), but it could not be saved."
            )
        }
        (StopCondition::Longer(_), Some(story)) => {
            let cause = took_most(story, run).unwrap_or("its cause is unknown".into());
            let took = length(story.length_ns);
            let cpu = story.cpu;
            format!(
                "A detour of {took} on CPU {cpu} at {after} ended the {what} ({condition}); {cause}."
            )
        }
        (StopCondition::Lost(_), story) => {
            let lost = stopped.second.map_or("Too much was lost, which".into(), in_second);
            let longest = story.as_ref().map_or(String::new(), |story| {
                let cause = took_most(story, run).unwrap_or("its cause is unknown".into());
                let (took, cpu) = (length(story.length_ns), story.cpu);
                format!(" The longest detour of it took {took} on CPU {cpu} at {after}; {cause}.")
            });
            format!("{lost} ended the {what} ({condition}).{longest}")
        }
    }
}

/// Returns how much was lost in the second that ended a recording.
fn in_second(second: StoppedSecond) -> String {
    format!(
        "In the second from {} on, the program lost {} of the {} in which it wanted its CPUs, which",
        instant(second.start_ns),
        noise(second.lost_ns as f64 / second.wanted_ns.max(1) as f64),
        span(second.wanted_ns),
    )
}

/// Number of detours before it in a shortened table.
const BEFORE: usize = 3;

/// Adds what happened in the detour that was too long, and the detours before it.
pub(crate) fn add(stopped: Option<&Stopped>, run: &Facts, all: bool, screen: &mut Screen) {
    let Some(stopped) = stopped else { return };
    let Some(story) = stopped.detour.as_ref().filter(|_| stopped.found()) else { return };
    let which = match stopped.second {
        Some(_) => "the longest detour of that second".to_owned(),
        None => format!("the detour that ended the {}", what_ends(run)),
    };
    screen.section(&format!("{which}: {}", stories::heading(story)));
    activities(story, run, all, screen);
    if !stopped.before.is_empty() {
        screen.section("before it, on the same CPU");
        let shown = if all { usize::MAX } else { BEFORE };
        let table = earlier(&stopped.before, story, run);
        screen.table(table.first(shown, all, |more| format!("{more} more")));
    }
    screen.gap();
}

/// Returns the detours before the one that met the condition, a row each.
fn earlier(before: &[LongDetour], story: &DetourStory, run: &Facts) -> Table {
    Table::with_rows(before)
        .number("before", |detour| length(story.start_ns.saturating_sub(detour.start_ns)))
        .number("took", |detour| length(detour.length_ns))
        .name("what it was", |detour| longest::what(detour, run))
        .captioned("Detours before the one that met the condition")
        .last_takes_rest()
}
