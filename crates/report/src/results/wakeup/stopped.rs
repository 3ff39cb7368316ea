//! What ended a measurement of wake-ups before its time.

use crate::results::longest::stopped::last_part;
use crate::results::longest::stories;
use crate::screen::Screen;
use crate::units::{asked, instant, length, micros};
use anechoic_analyze::facts::Facts;
use anechoic_analyze::wakeup::{LongWakeup, StoppedWakeup};
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
            let cause = stories::took_most(story, run).unwrap_or("its cause is unknown".into());
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

/// Returns the parts of a wake-up, if they are known.
pub(crate) fn parts(wakeup: &LongWakeup) -> Option<String> {
    let parts = wakeup.parts?;
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
