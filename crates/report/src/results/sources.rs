//! All sources of noise of a recording.

use super::Input;
use super::described::Grouping;
use super::row::{Print, Row};
use anechoic_analyze::Sources;
use anechoic_recording::Problem;

/// The row of the result.
pub static SOURCES: Row<Sources> = Row {
    compute: Some(compute),
    facts: |sources| Some(&sources.run),
    print: Some(Print::with(crate::sources)),
    ..Row::new("sources", "sources of noise", Grouping::Each)
};

fn compute(input: &Input<'_>) -> Result<Sources, Problem> {
    anechoic_analyze::sources(input.one()?)
}
