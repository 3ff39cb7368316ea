//! What ended a run before its time, and what came before it.

use crate::names::holder;
use crate::results::longest;
use crate::results::longest::stories;
use crate::results::longest::stories::{activities, took_most};
use crate::screen::Screen;
use crate::style::plain;
use crate::table::Table;
use crate::units::{asked, count, instant, length, long, noise, span};
use anechoic_analyze::facts::Facts;
use anechoic_analyze::longest::LongDetour;
use anechoic_analyze::waits::{HolderKind, LongWait};
use anechoic_analyze::{DetourStory, Stopped, StoppedSecond};
use anechoic_recording::DelayKind;
use anechoic_recording::stop::{Kept, LEAST_WANTED, StopCondition};

/// Returns what a condition ends: a run of loops, or the recording of a program.
fn what_ends(run: &Facts) -> &'static str {
    if run.program.is_some() { "recording" } else { "run" }
}

/// Returns how a run ended that a condition was to end before its time, and how much of it is kept.
pub(crate) fn sentence(stopped: &Stopped, run: &Facts) -> String {
    let ended = how_it_ended(stopped, run);
    let Some((all, which)) = last_part(stopped.kept, run) else { return ended };
    if stopped.condition == StopCondition::End {
        return which;
    }
    let chosen = match stopped.condition {
        StopCondition::Longer(ns) if stopped.found() => format!(
            " The detour is the first over {}{} in {all}; shorter ones and their shares are known of the kept part alone, which \
             ends with it by construction.",
            asked(ns),
            if run.policy.is_fifo() { " that is no artefact of --fifo" } else { "" }
        ),
        StopCondition::Wait(ns) if stopped.found() => format!(
            " The wait is the first over {} in {all}; all else is known of the kept part alone, which ends with it by \
             construction.",
            asked(ns)
        ),
        StopCondition::Release(ns) if stopped.found() => format!(
            " The release is the first over {} in {all}; all else is known of the kept part alone, which ends with it by \
             construction.",
            asked(ns)
        ),
        StopCondition::Lost(_) if stopped.found() => {
            " Shares and rates are those of the kept part alone, which ends with that second by construction.".into()
        }
        _ => String::new(),
    };
    format!("{ended} {which}{chosen}")
}

/// Returns for how long a run watched of which only the last part is kept, and a sentence on that part; `None` if all is kept.
pub(crate) fn last_part(kept: Option<Kept>, run: &Facts) -> Option<(String, String)> {
    let kept = kept.filter(|kept| kept.dropped_ns > 0)?;
    let all = long(kept.dropped_ns.saturating_add(run.wall_ns));
    let less = match run.wall_ns < kept.asked_ns / 10 * 9 {
        true => format!(", not {}: there was no memory for more", asked(kept.asked_ns)),
        false => String::new(),
    };
    let last = span(run.wall_ns);
    let sentence = format!("Of the {all} that were watched, the last {last} are kept{less}.");
    Some((all, sentence))
}

fn how_it_ended(stopped: &Stopped, run: &Facts) -> String {
    let (condition, what) = (stopped.condition, what_ends(run));
    let Some(after) = stopped.after_ns.map(instant) else { return not_met(condition, run) };
    match (condition, &stopped.detour) {
        (StopCondition::Count(number), _) => {
            format!("The {what} has its {} detours after {after}.", count(number))
        }
        (StopCondition::End, _) => String::new(),
        (StopCondition::Wakeup(_), _) => {
            format!("A wake-up at {after} ended the {what} ({condition}).")
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
        (StopCondition::Release(_), _) => match &stopped.wait {
            None => format!(
                "A thread executed too late after its timer of {after}. That ended the {what} ({condition})."
            ),
            Some(wait) => format!(
                "{}; its timer was set for {after}. That ended the {what} ({condition}).",
                waited(wait)
            ),
        },
        (StopCondition::Wait(_), _) => match &stopped.wait {
            None => format!(
                "A wait at {after} ended the {what} ({condition}), but it could not be saved."
            ),
            Some(wait) => format!("{}. That ended the {what} ({condition}).", waited(wait)),
        },
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

/// Returns that nothing met the condition of a run.
fn not_met(condition: StopCondition, run: &Facts) -> String {
    let what = what_ends(run);
    match condition {
        StopCondition::Longer(ns) if run.policy.is_fifo() => {
            format!("Apart from artefacts of --fifo, no detour was longer than {}.", asked(ns))
        }
        StopCondition::Longer(ns) => format!("No detour was longer than {}.", asked(ns)),
        StopCondition::Wait(ns) => {
            format!("No thread waited longer than {} for a CPU that others had.", asked(ns))
        }
        StopCondition::Wakeup(ns) => format!("No wake-up was later than {}.", asked(ns)),
        StopCondition::Count(number) => {
            format!("The {what} ended before it had {} detours.", count(number))
        }
        StopCondition::Release(ns) => {
            format!("No thread was released later than {} by a timer.", asked(ns))
        }
        StopCondition::End => String::new(),
        StopCondition::Lost(ppm) => format!(
            "In no second of at least {} in which the program wanted its CPUs, more than {} % of that was lost.",
            asked(LEAST_WANTED.as_nanos() as u64),
            f64::from(ppm) / 1e4
        ),
    }
}

/// Returns which thread waited, for how long, and behind whom.
fn waited(wait: &LongWait) -> String {
    let why = match (wait.kind, &wait.woken_by) {
        (DelayKind::Preempted, _) => "was preempted".to_owned(),
        (DelayKind::Begun, _) => "began".to_owned(),
        (_, Some(by)) => format!("was woken by {}", plain(by)),
        (_, None) => "was woken".to_owned(),
    };
    let part = match wait.held_ns < wait.length_ns / 10 * 9 {
        true => format!(", {} of it", length(wait.held_ns)),
        false => String::new(),
    };
    let behind = match (wait.behind.kind, wait.behind_tid) {
        (HolderKind::Idle, _) => "while that was idle".to_owned(),
        (HolderKind::WakeUp, _) => "(the cost of a wake-up)".to_owned(),
        (HolderKind::Unknown, _) => "and it is not known why".to_owned(),
        (_, Some(tid)) => format!("behind {} ({tid})", holder(&wait.behind)),
        (_, None) => format!("behind {}", holder(&wait.behind)),
    };
    let own = match wait.own_ns {
        0 => String::new(),
        own_ns => format!(" and {} behind threads of the program", length(own_ns)),
    };
    format!(
        "Thread {} ({}) {why} at {} and waited {} for CPU {}{part} {behind}{own}",
        plain(&wait.name),
        wait.tid,
        instant(wait.start_ns),
        length(wait.length_ns),
        wait.cpu,
    )
}

/// Returns how much was lost in the second that ended a recording.
fn in_second(second: StoppedSecond) -> String {
    let which = match u64::try_from(second.start_ns) {
        Ok(start_ns) => format!("from {} on", instant(start_ns)),
        Err(_) => {
            format!(
                "that began {} before the part that is kept",
                length(second.start_ns.unsigned_abs())
            )
        }
    };
    format!(
        "In the second {which}, the program lost {} of the {} in which it wanted its CPUs, which",
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
    let which = match (stopped.second, &stopped.wait) {
        (Some(_), _) => "the longest detour of that second".to_owned(),
        (None, Some(_)) => "the detour of its CPU in that wait".to_owned(),
        (None, None) => format!("the detour that ended the {}", what_ends(run)),
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
