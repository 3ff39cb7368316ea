//! The experiments of a paper: published values beside measured ones.

use super::Study;
use crate::results::described::Grouping;
use crate::results::row::{Print, Row};

/// The row of the result. The sets of a suite are results of their own, so its command computes it.
pub static SUITE: Row<Study> = Row {
    verdict: |study, _| study.verdict(),
    headline: |study| study.changed.clone(),
    print: Some(Print::with(Study::screen)),
    ..Row::new("suite", "the experiments of a paper", Grouping::Live)
};
