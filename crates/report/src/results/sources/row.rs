//! All sources of noise of a recording.

use crate::results::Input;
use crate::results::described::Grouping;
use crate::results::row::{Print, Row};
use anechoic_analyze::Sources;
use anechoic_recording::Problem;

/// The row of the result.
pub static SOURCES: Row<Sources> = Row {
    compute: Some(compute),
    facts: |sources| Some(&sources.run),
    print: Some(Print::with(super::sources)),
    ..Row::new("sources", "sources of noise", Grouping::Each)
};

fn compute(input: &Input<'_>) -> Result<Sources, Problem> {
    anechoic_analyze::sources(input.one()?)
}
