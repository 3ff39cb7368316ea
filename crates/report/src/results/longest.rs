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
];

fn compute(input: &Input<'_>) -> Result<LongestDetours, Problem> {
    let answers = input.answers(OPTIONS)?;
    let (number, cpus) = (answers.one::<u64>("number")?, answers.given::<Vec<u32>>("cpus"));
    longest_detours(input.one()?, usize::try_from(number).unwrap_or(usize::MAX), cpus.as_deref())
}
