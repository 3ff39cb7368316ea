//! Pictures for the terminal: axes with round ticks, and on them bands over time, histograms,
//! and curves. They take slices and know nothing of what is shown.
//!
//! Everything is told by shape; colour only helps. No line is wider than the view.

mod axis;
mod band;
mod bars;
mod canvas;
mod plot;
mod steps;
#[cfg(test)]
mod tests;
mod ticks;

pub(crate) use axis::{Axis, Quantity, Scale};
pub(crate) use band::Band;
pub(crate) use bars::{Bin, EIGHTHS, columns};
pub(crate) use plot::{Plot, ROWS};
pub(crate) use steps::Steps;
