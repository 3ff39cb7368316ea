//! What ended a measurement of wake-ups before its time.

use crate::results::longest::stopped::last_part;
use crate::results::longest::stories;
use crate::screen::Screen;
use crate::units::{asked, instant, length, micros};
use anechoic_analyze::facts::Facts;
use anechoic_analyze::wakeup::{LongWakeup, StoppedWakeup};
use anechoic_analyze::{DetourStory, StoryActivity};
use anechoic_recording::ActivityKind;
use anechoic_recording::stop::StopCondition;

/// Returns how a measurement ended that a condition was to end before its time, and how much of it is kept.
pub(crate) fn sentence(stopped: &StoppedWakeup, run: &Facts) -> String {
    let StopCondition::Wakeup(late_ns) = stopped.condition else { return String::new() };
    let (condition, late) = (stopped.condition, asked(late_ns));
    let ended = match (stopped.after_ns.map(instant), &stopped.wakeup) {
        (None, _) => format!("No wake-up was later than {late}."),
        (Some(after), None) => format!(
            "A wake-up at {after} ended the measurement ({condition}), but it could not be saved."
        ),
        (Some(after), Some(wakeup)) => {
            let story = &wakeup.story;
            let cause = cause(story, run).unwrap_or("its cause is unknown".into());
            let (took, cpu) = (length(story.length_ns), story.cpu);
            format!(
                "A wake-up of {took} on CPU {cpu} at {after} ended the measurement ({condition}); {cause}."
            )
        }
    };
    let Some((all, which)) = last_part(stopped.kept, run) else { return ended };
    let first = match stopped.after_ns {
        None => String::new(),
        Some(_) => format!(
            " It is the first over {late} in {all}; quantiles and shares are those of the kept part alone, which ends with it by \
             construction."
        ),
    };
    format!("{ended} {which}{first}")
}

/// Adds what happened in the wake-up that ended the measurement.
pub(crate) fn add(stopped: Option<&StoppedWakeup>, run: &Facts, all: bool, screen: &mut Screen) {
    let Some(wakeup) = stopped.and_then(|stopped| stopped.wakeup.as_ref()) else { return };
    let heading = stories::heading(&wakeup.story);
    screen.section(&format!("the wake-up that ended the measurement: {heading}"));
    screen.in_terminal(|terminal| {
        parts(wakeup).iter().for_each(|line| terminal.sentence(line));
    });
    stories::activities(&wakeup.story, run, all, screen);
}

/// Returns what took most of a wake-up, or how much of it is not known if that is more; nothing without activities.
pub(crate) fn cause(story: &DetourStory, run: &Facts) -> Option<String> {
    let mut known = story.clone();
    known.activities.retain(is_known);
    let most_ns = stories::most(&known).map_or(0, |(_, most_ns)| most_ns);
    match unknown(story) {
        Some((unknown_ns, text)) if unknown_ns > most_ns => Some(text),
        _ => stories::took_most(&known, run),
    }
}

fn is_known(row: &StoryActivity) -> bool {
    row.kind != ActivityKind::NotAttributable
}

/// Returns how much of a wake-up its activities do not explain, if it has any.
fn unknown(story: &DetourStory) -> Option<(u64, String)> {
    let known = story.activities.iter().filter(|row| is_known(row)).map(|row| row.self_ns);
    let known_ns = known.fold(story.more_ns, u64::saturating_add);
    let unknown_ns = story.length_ns.saturating_sub(known_ns);
    let is_partial = !story.activities.is_empty() && unknown_ns > 0;
    is_partial.then(|| (unknown_ns, format!("{} of it is not known", length(unknown_ns))))
}

/// Returns the parts of a wake-up, or how much of it is not known.
pub(crate) fn parts(wakeup: &LongWakeup) -> Option<String> {
    let Some(parts) = wakeup.parts else { return unknown(&wakeup.story).map(|(_, text)| text) };
    let first = match wakeup.kind.call {
        Some(_) => format!("call {}", micros(parts.call_ns)),
        None => {
            format!("timer {} + interrupt {}", micros(parts.timer_ns), micros(parts.interrupt_ns))
        }
    };
    Some(format!(
        "{first} + scheduling {} + return {} µs",
        micros(parts.scheduling_ns),
        micros(parts.return_ns)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use anechoic_lab::builders::{clock, run};

    /// A wake-up of 10 µs: a known activity of 2 µs, one of this kind and time, and shorter ones of 1 µs.
    fn story(kind: &str, self_ns: u64) -> DetourStory {
        let row = |kind: &str, self_ns: u64| {
            serde_json::json!({
                "start_ns": 0, "self_ns": self_ns, "depth": 0, "kind": kind, "source": "timer-tick", "name": "",
                "pid": null, "function": null, "sent_by_cpu": null, "sent_by_task": null,
            })
        };
        let story = serde_json::json!({
            "cpu": 0, "index": 0, "start_ns": 0, "length_ns": 10_000, "steal_ns": null,
            "activities": [row("activity", 2_000), row(kind, self_ns)], "more": 1, "more_ns": 1_000,
        });
        serde_json::from_value(story).expect("a story")
    }

    #[test]
    fn a_wake_up_is_blamed_on_what_is_known_only_if_that_is_the_largest_part() {
        let run = Facts::new(&run("wakeup", clock(1_000_000_000), vec![]), 0);
        let mut without = story("activity", 1);
        without.activities.clear();
        // What is not known, and what is said to have taken most, in ns.
        let cases = [
            ("all is known", story("activity", 7_000), None, Some(9_000)),
            ("events were lost", story("not_attributable", 7_000), Some(7_000), None),
            ("a gap without a row", story("activity", 500), Some(6_500), None),
            ("a short gap", story("activity", 6_000), Some(1_000), Some(8_000)),
            ("nothing was attributed", without, None, None),
        ];
        for (name, story, not_known, blamed) in cases {
            let text = not_known.map(|ns| format!("{} of it is not known", length(ns)));
            assert_eq!(unknown(&story).map(|(_, text)| text), text, "case: {name}");
            let blamed = blamed.map(|ns| format!("timer tick took {} of it", length(ns)));
            assert_eq!(cause(&story, &run), blamed.or(text), "case: {name}");
        }
    }
}
