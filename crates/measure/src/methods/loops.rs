//! Do-nothing loops: loops that do nothing for a millisecond, and vary all the same.

use super::Method;
use anechoic_recording::{Fixed, methods};
use std::time::Duration;

pub(super) static METHOD: Method = Method {
    id: methods::LOOPS,
    title: "do-nothing loops",
    source: "Tsafrir 2007",
    fixed: Fixed::Work,
    kernels: &["counter", "sum", "fibonacci", "call"],
    grain: Duration::from_millis(1),
    samples: 10_000,
};
