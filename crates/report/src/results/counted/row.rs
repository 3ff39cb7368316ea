//! What another tool counted by length.

use crate::results::described::{Grouping, Methods};
use crate::results::row::{Print, Row};
use anechoic_analyze::Counted;
use anechoic_recording::methods;

/// The row of the result.
pub static COUNTED: Row<Counted> = Row {
    in_summary: Methods::Only(methods::COUNTED),
    in_report: Methods::Only(methods::COUNTED),
    compute: Some(|input| anechoic_analyze::counted(input.one()?)),
    headline: |found| vec![super::headline(found)],
    facts: |found| Some(&found.run),
    print: Some(Print::with(super::counted)),
    ..Row::new("counted", "lengths that another tool counted", Grouping::Each)
};
