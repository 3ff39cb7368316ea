//! The options of the serial tick model.

use anechoic_recording::options::{OptionRow, Value};

/// The options.
pub static OPTIONS: &[OptionRow] = &[
    OptionRow::new(
        "times",
        Value::Path,
        "FILE",
        "Times of the work: CSV with the columns processor,copies,rate_hz,milliseconds",
    )
    .requires("costs"),
    OptionRow::new(
        "costs",
        Value::Path,
        "FILE",
        "Costs of an interrupt: CSV with the columns processor,trap_us,handler_us",
    )
    .requires("times"),
];
