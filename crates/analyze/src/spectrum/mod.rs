//! Periodic noise: the lines of a spectrum over its local background.
//!
//! Noise is not white: under a threshold for white noise hundreds of lines would be found that are
//! none. Here a line must stand out of the powers *beside* it (`background`), at a stated chance of
//! a false alarm in the whole spectrum, and be in step over the whole time (`coherence`). Giants
//! are cut first (`signal`).
//!
//! A train of interrupts makes a comb of lines. They are found one comb at a time: the strongest
//! line, its base frequency (`comb`), the excess at each phase of it (`fold`). The fold tells
//! whether one train makes the comb or several whose rates are multiples; then it is taken off
//! the signal with all its harmonics and mirror images, and the rest is looked at again.

mod activity;
mod background;
mod carriers;
mod coherence;
mod collect;
mod comb;
mod detours;
mod fold;
mod hunt;
mod left_over;
mod line;
mod search;
mod signal;
mod transform;

pub(crate) use activity::ActivityEvents;
pub use carriers::{Carrier, Durations, EventsOf, carriers};
pub(crate) use collect::Collected;
pub use detours::CpuPeriods;
pub(crate) use detours::Periods;
pub use line::{FigurePoint, Line, Spectrum};
pub use search::{Input, Options, lines};
