//! Kernel events from a private tracefs instance, read as binary ring-buffer pages.
//!
//! `mount` finds tracefs → `instance` creates our own buffers in it and enables events → `collector` reads
//! their pages, with a `pipe` per CPU → `page` splits those into records → `decode` converts each to a
//! [`anechoic_recording::KernelEvent`], as `format` describes it from the kernel's own text.

mod collector;
mod decode;
mod error;
mod format;
mod instance;
mod leftovers;
mod marks;
mod mount;
mod page;
mod pipe;
mod stats;
pub(crate) mod symbols;

pub(crate) use collector::DEFAULT_CLOCK;
pub use collector::{Collector, Config, LateNames};
pub use decode::{EventDecoder, ToTicks};
pub use error::TraceError;
pub use format::{Format, FormatField, Storage, page_layout};
pub use instance::{EnabledEvent, Instance};
pub(crate) use leftovers::list as leftovers;
pub use leftovers::{end_own, remove_leftovers};
pub(crate) use leftovers::{is_leftover, own_name};
pub use marks::Marker;
pub(crate) use marks::numbers_are_global;
pub use mount::Tracefs;
pub use page::{Missed, Page, PageError, PageLayout, Record, Records};
pub use pipe::Batch;
pub use stats::Stats;
