//! Injected noise: requested, delivered by the kernel, and seen by the loop (Ferreira et al. 2008).
//!
//! Known noise calibrates the measurement: [`verify`] compares each injection in the kernel's events with the detours
//! of the loop on the same CPU.

pub(crate) mod delivered;
mod due;
mod durations;
mod read;
mod result;
mod times;
mod verdict;
mod verify;
pub(crate) mod watch;

pub use durations::{Deviation, Quartiles};
pub use result::{
    CpuVerification, Detections, DetourTime, Missed, OwnCount, OwnTime, Recall, SelfTestResult,
    Verification,
};
pub use verdict::Verdict;
pub use verify::verify;
