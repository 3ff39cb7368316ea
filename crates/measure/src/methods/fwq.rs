//! Fixed work quantum: the same work again and again, the duration of each stored.

use super::Method;
use anechoic_recording::{Fixed, methods};
use std::time::Duration;

pub(super) static METHOD: Method = Method {
    id: methods::FWQ,
    title: "fixed work quantum",
    source: "Sottile & Minnich 2004",
    fixed: Fixed::Work,
    kernels: &["intadd-chain"],
    grain: Duration::from_millis(1),
    samples: 10_000,
};
