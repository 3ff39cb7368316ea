//! The experiments of a paper: published values beside measured ones.

use super::described::Grouping;
use super::row::{Print, Row};
use crate::suite::Study;

/// The row of the result. The sets of a suite are results of their own, so its command computes it.
pub static SUITE: Row<Study> = Row {
    verdict: |study, _| study.verdict(),
    headline: |study| study.changed.clone(),
    print: Some(Print::with(Study::screen)),
    ..Row::new("suite", "the experiments of a paper", Grouping::Live)
};
