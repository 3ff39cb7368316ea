//! The interference matrix: interrupts on one CPU, a tick kernel on another, for all pairs.

use super::Method;
use anechoic_recording::{Fixed, methods};
use std::time::Duration;

pub(super) static METHOD: Method = Method {
    id: methods::INTERFERENCE,
    title: "interference of interrupts",
    source: "Radojković 2008",
    fixed: Fixed::Work,
    kernels: &["intadd", "intmul", "intdiv"],
    grain: Duration::from_micros(100),
    samples: 10_000,
};
