//! What ended a run before its time, and what came before it.

use crate::results::longest;
use crate::results::longest::stories;
use crate::results::longest::stories::{activities, took_most};
use crate::screen::Screen;
use crate::table::Table;
use crate::units::{asked, count, instant, length, long, span};
use anechoic_analyze::facts::Facts;
use anechoic_analyze::longest::LongDetour;
use anechoic_analyze::{DetourStory, Stopped};
use anechoic_recording::stop::StopCondition;

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
        _ => String::new(),
    };
    format!(
        "{ended} Of the {all} that were watched, the last {} are kept{less}.{chosen}",
        span(run.wall_ns)
    )
}

fn how_it_ended(stopped: &Stopped, run: &Facts) -> String {
    let condition = stopped.condition;
    let Some(after) = stopped.after_ns.map(instant) else {
        return match condition {
            StopCondition::Longer(ns) if run.policy.is_fifo() => {
                format!("Apart from artefacts of --fifo, no detour was longer than {}.", asked(ns))
            }
            StopCondition::Longer(ns) => format!("No detour was longer than {}.", asked(ns)),
            StopCondition::Count(number) => {
                format!("The run ended before it had {} detours.", count(number))
            }
        };
    };
    match (condition, &stopped.detour) {
        (StopCondition::Count(number), _) => {
            format!("The run has its {} detours after {after}.", count(number))
        }
        (StopCondition::Longer(_), None) => {
            format!("A detour at {after} ended the run ({condition}), but it could not be saved.")
        }
        (StopCondition::Longer(_), Some(story)) => {
            let what = took_most(story, run).unwrap_or("its cause is unknown".into());
            let took = length(story.length_ns);
            let cpu = story.cpu;
            format!(
                "A detour of {took} on CPU {cpu} at {after} ended the run ({condition}); {what}."
            )
        }
    }
}

/// Adds what happened in the detour that was too long, and the detours before it.
pub(crate) fn add(stopped: Option<&Stopped>, run: &Facts, screen: &mut Screen) {
    let Some(stopped) = stopped else { return };
    let (StopCondition::Longer(_), Some(story)) = (stopped.condition, &stopped.detour) else {
        return;
    };
    screen.section(&format!("the detour that ended the run: {}", stories::heading(story)));
    activities(story, run, screen);
    if !stopped.before.is_empty() {
        screen.section("before it, on the same CPU");
        screen.table(earlier(&stopped.before, story, run));
    }
    screen.gap();
}

/// Returns the detours before the one that ended the run, a row each.
fn earlier(before: &[LongDetour], story: &DetourStory, run: &Facts) -> Table {
    Table::with_rows(before)
        .number("before", |detour| length(story.start_ns.saturating_sub(detour.start_ns)))
        .number("took", |detour| length(detour.length_ns))
        .name("what it was", |detour| longest::what(detour, run))
        .captioned("Detours before the one that ended the run")
        .last_takes_rest()
}
