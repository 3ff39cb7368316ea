//! Fixed time quantum: the work done in each of a series of equal windows on a fixed grid.

use super::Method;
use anechoic_recording::{Fixed, methods};
use std::time::Duration;

pub(super) static METHOD: Method = Method {
    id: methods::FTQ,
    title: "fixed time quantum",
    source: "Sottile & Minnich 2004",
    fixed: Fixed::Time,
    kernels: &["counter-reg"],
    grain: Duration::from_millis(1),
    samples: 10_000,
};
