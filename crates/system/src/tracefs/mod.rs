//! Kernel events from a private tracefs instance, read as binary ring-buffer pages.
//!
//! `mount` finds tracefs → `instance` creates our own buffers in it and enables events → `collector` reads
//! their pages, with a `pipe` per CPU → [`anechoic_recording::trace`] decodes them.

mod collector;
mod error;
mod instance;
mod leftovers;
mod marks;
mod mount;
mod pipe;
mod probe;
mod stats;
pub(crate) mod symbols;

pub use anechoic_recording::trace::{
    EnabledEvent, EventDecoder, Format, FormatField, Missed, Page, PageError, PageLayout, Record,
    Records, Storage, ToTicks, page_layout,
};
pub(crate) use collector::DEFAULT_CLOCK;
pub use collector::{Collector, Config, LateNames, MarkEvent};
pub use error::TraceError;
pub use instance::Instance;
pub(crate) use leftovers::list as leftovers;
pub(crate) use leftovers::{PREFIX, is_leftover, own_name};
pub use leftovers::{end_own, remove_leftovers};
pub use marks::Marker;
pub(crate) use marks::numbers_are_global;
pub use mount::Tracefs;
pub(crate) use mount::is_empty;
pub use pipe::Batch;
pub use stats::Stats;
pub use symbols::function_address;
