//! Injected noise: asked, delivered by the kernel, and seen by the loop (Ferreira et al. 2008).
//!
//! What was made on purpose is known, so it calibrates what measures it: [`verify`] compares each that the
//! kernel's own events tell of with the detours of the loop on the same CPU.

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
    CpuVerification, DetourTime, Missed, OwnCount, OwnTime, Recall, Seen, SelfTestResult,
    Verification,
};
pub use verdict::Verdict;
pub use verify::verify;
