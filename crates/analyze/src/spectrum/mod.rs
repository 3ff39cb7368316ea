//! Periodic noise: the lines of a spectrum above its local background.
//!
//! Noise is not white: a threshold for white noise would report hundreds of false lines. Here a line must exceed the
//! powers *beside* it (`background`) with a stated probability of a false alarm in the whole spectrum, and be coherent
//! over the whole time (`coherence`). Giants are limited first (`signal`).
//!
//! A train of interrupts makes a comb of lines. Combs are found one at a time: the strongest line, its base frequency
//! (`comb`), the excess at each phase (`fold`). The fold shows whether one train forms the comb or several whose rates
//! are multiples. The comb is then subtracted from the signal with all harmonics and images, and the rest is analysed
//! again.

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
mod regular;
mod search;
mod signal;
mod transform;

pub(crate) use activity::ActivityEvents;
pub use carriers::{Carrier, Durations, SourceEvents, carriers};
pub(crate) use collect::Collected;
pub use detours::CpuPeriods;
pub(crate) use detours::Periods;
pub use line::{FigurePoint, Line, Spectrum};
pub use regular::Regular;
pub(crate) use regular::regular;
pub use search::{Input, Options, lines};
