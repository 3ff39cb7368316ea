//! How often detours of each length occurred on each CPU.

use crate::results::Input;
use crate::results::described::Grouping;
use crate::results::row::{Print, Row};
use anechoic_analyze::Histogram;
use anechoic_analyze::histogram::{Buckets, histogram};
use anechoic_recording::Problem;
use anechoic_recording::options::{OptionRow, Value};
use std::time::Duration;

/// The row of the result.
pub static HISTOGRAM: Row<Histogram> = Row {
    compute: Some(compute),
    facts: |found| Some(&found.run),
    print: Some(Print::with(super::histogram)),
    ..Row::new("histogram", "lengths of detours on each CPU", Grouping::Each)
};

/// The options of the result.
pub static OPTIONS: &[OptionRow] = &[
    OptionRow::new(
        "hist",
        Value::Flag,
        "",
        "Print a histogram instead: how many detours of each length each CPU had, as text that gnuplot reads",
    ),
    OptionRow::new(
        "bucket",
        Value::Duration,
        "TIME",
        "With --hist: width of a bucket, for example 1us [default: a tenth of a power of ten]",
    )
    .requires("hist"),
    OptionRow::new(
        "buckets",
        Value::Count { least: 1, most: 1_000_000 },
        "N",
        "With --bucket: number of buckets; longer detours are counted together",
    )
    .default("256")
    .requires("bucket"),
];

fn compute(input: &Input<'_>) -> Result<Histogram, Problem> {
    let answers = input.answers(OPTIONS)?;
    let number = usize::try_from(answers.one::<u64>("buckets")?).unwrap_or(usize::MAX);
    let width = answers.given::<Duration>("bucket").map(|width| width.as_nanos());
    let buckets = width.map_or(Buckets::Logarithmic, |ns| Buckets::Equal {
        width_ns: u64::try_from(ns).unwrap_or(u64::MAX),
        number,
    });
    histogram(input.one()?, buckets)
}
