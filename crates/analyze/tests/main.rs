//! Analyses of made-up recordings.

#![allow(clippy::expect_used, clippy::unwrap_used, reason = "a test stops at the first error")]

mod cluster;
mod detour_periods;
mod gate;
mod injection;
mod interference;
mod interrupted;
mod intervals;
mod iterations;
mod levels;
mod matrix;
mod memory;
mod one_after_the_other;
mod pace;
mod paging;
mod probed;
mod recording;
mod sampled;
mod samples;
mod series;
mod spectrum;
mod spectrum_recording;
mod subtraction;
mod switch;
mod tick_overhead;
mod wakeup;
