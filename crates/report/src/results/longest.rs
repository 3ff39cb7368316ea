//! What happened in the longest detours of a recording.

use super::Input;
use super::described::Grouping;
use super::row::{Print, Row};
use crate::stories::headline;
use anechoic_analyze::{LongestDetours, longest_detours};
use anechoic_recording::Problem;
use anechoic_recording::options::{OptionRow, Value};

/// The row of the result.
pub static LONGEST: Row<LongestDetours> = Row {
    compute: Some(compute),
    headline: |found| vec![headline(found)],
    facts: |found| Some(&found.run),
    print: Some(Print::with(crate::stories::longest)),
    ..Row::new("longest", "what happened in the longest detours", Grouping::Each)
};

/// The options of the result.
pub static OPTIONS: &[OptionRow] = &[
    OptionRow::new("number", Value::Count { least: 1, most: 1_000 }, "N", "How many detours")
        .short('n')
        .default("10"),
    OptionRow::new("cpus", Value::Cpus, "LIST", "Only detours of these CPUs, for example 2-5")
        .short('c'),
    OptionRow::new(
        "activities",
        Value::Count { least: 1, most: 10_000 },
        "N",
        "How many activities of each, those that took most",
    )
    .default("16"),
];

fn compute(input: &Input<'_>) -> Result<LongestDetours, Problem> {
    let answers = input.answers(OPTIONS)?;
    let count = |name| -> Result<usize, Problem> {
        Ok(usize::try_from(answers.one::<u64>(name)?).unwrap_or(usize::MAX))
    };
    let cpus = answers.given::<Vec<u32>>("cpus");
    longest_detours(input.one()?, count("number")?, count("activities")?, cpus.as_deref())
}
