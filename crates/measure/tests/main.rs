//! Experiments and injected noise on this machine.

#![allow(clippy::unwrap_used, reason = "a test stops at the first error")]

mod measuring;
