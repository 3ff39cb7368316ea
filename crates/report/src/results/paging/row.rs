//! Page sizes and the TLB: time per access of a matrix × vector on pages of each size.

use super::words::sentences;
use crate::results::Input;
use crate::results::described::{Grouping, Methods, Section};
use crate::results::row::{Print, Row, samples_verdict};
use anechoic_analyze::Paging;
use anechoic_analyze::injection::Verdict;
use anechoic_recording::{Problem, Recording, methods};

/// The method whose recordings it is computed from.
const METHOD: &[&str] = &[methods::PAGING];

/// The row of the result.
pub static PAGING: Row<Paging> = Row {
    in_summary: Methods::Only(METHOD),
    in_report: Methods::Only(METHOD),
    section: Some(Section {
        anchor: methods::PAGING,
        title: "Page sizes and the TLB",
        short: "Page sizes",
    }),
    compute: Some(compute),
    verdict,
    headline: sentences,
    facts: |found| Some(&found.run),
    print: Some(Print::with(super::paging)),
    ..Row::new(methods::PAGING, "page sizes and the TLB", Grouping::Each)
};

fn compute(input: &Input<'_>) -> Result<Paging, Problem> {
    anechoic_analyze::paging(input.one()?)
}

fn verdict(found: &Paging, recordings: &[&Recording]) -> Verdict {
    samples_verdict(!found.points.is_empty(), recordings)
}
