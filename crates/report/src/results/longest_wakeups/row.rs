//! What happened in the longest wake-ups of a recording.

use super::sentences;
use crate::results::Input;
use crate::results::described::Grouping;
use crate::results::longest::OPTIONS;
use crate::results::row::{Print, Row};
use anechoic_analyze::wakeup::longest::{Chosen, LongestWakeups, longest_wakeups};
use anechoic_recording::Problem;

/// The row of the result. Its options are those of the longest detours.
pub static LONGEST_WAKEUPS: Row<LongestWakeups> = Row {
    compute: Some(compute),
    headline: sentences,
    facts: |found| Some(&found.run),
    print: Some(Print::with(super::longest_wakeups)),
    ..Row::new("longest-wakeups", "what happened in the longest wake-ups", Grouping::Each)
};

fn compute(input: &Input<'_>) -> Result<LongestWakeups, Problem> {
    let answers = input.answers(OPTIONS)?;
    let count = |name| -> Result<usize, Problem> {
        Ok(usize::try_from(answers.one::<u64>(name)?).unwrap_or(usize::MAX))
    };
    let cpus = answers.given::<Vec<u32>>("cpus");
    let without: Vec<&'static str> =
        answers.all::<Vec<&'static str>>("without").into_iter().flatten().collect();
    let chosen = Chosen {
        most: count("number")?,
        activities: count("activities")?,
        cpus: cpus.as_deref(),
        without: &without,
    };
    longest_wakeups(input.one()?, &chosen)
}
