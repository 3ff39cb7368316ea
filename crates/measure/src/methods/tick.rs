//! Tick kernels: 512 instructions of one type, again and again, to see what one tick costs each.

use super::Method;
use anechoic_recording::{Fixed, methods};
use std::time::Duration;

pub(super) static METHOD: Method = Method {
    id: methods::TICK,
    title: "tick kernels",
    source: "Radojković 2008",
    fixed: Fixed::Work,
    kernels: &["intadd", "intmul", "intdiv"],
    grain: Duration::from_micros(100),
    samples: 50_000,
};
