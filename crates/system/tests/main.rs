//! This machine's tracefs, steal and settings, and pages of other machines.

#![allow(clippy::unwrap_used, reason = "a test stops at the first error")]

mod check;
mod measuring;
mod tracefs_decode;
mod tracefs_pages;
