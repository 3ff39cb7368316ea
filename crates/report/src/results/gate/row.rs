//! Limits on the noise: a gate for continuous integration and acceptance tests.

use crate::results::described::Grouping;
use crate::results::row::{Print, Row};
use anechoic_analyze::gate::{Gate, Outcome};
use anechoic_analyze::injection::Verdict;

/// The row of the result. Its limits come with the command, which computes it.
pub static GATE: Row<Gate> = Row {
    verdict: |found, _| match found.outcome {
        Outcome::Pass => Verdict::Good,
        Outcome::Fail => Verdict::Failed,
        Outcome::Undecided => Verdict::Nothing,
    },
    headline: |found| vec![super::headline(found)],
    states_doubts: true,
    print: Some(Print::with(super::gate)),
    ..Row::new("gate", "limits on the noise", Grouping::Live)
};
