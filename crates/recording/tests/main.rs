//! Recordings written, read back, damaged and cut off.

#![allow(clippy::unwrap_used, reason = "a test stops at the first error")]

mod foreign;
mod format;
mod hostile;
mod import;
mod import_bare;
mod import_counts;
mod import_trace;
mod joined;
mod opened;
mod redacted;
mod round_trip;
mod weather;
