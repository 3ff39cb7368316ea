//! Kernel events from a private tracefs instance, read as binary ring-buffer pages.
//!
//! `mount` finds tracefs → `instance` makes our own buffers in it and switches events on →
//! `collector` reads their pages, a `pipe` per CPU → `page` cuts those into records → `decode` makes each a
//! [`anechoic_recording::KernelEvent`], by what `format` learnt from the kernel's own descriptions.

mod collector;
mod decode;
mod error;
mod format;
mod instance;
mod mount;
mod page;
mod pipe;
mod stats;
mod symbols;

pub(crate) use collector::DEFAULT_CLOCK;
pub use collector::{Collector, Config, LateNames};
pub use decode::{EventDecoder, ToTicks};
pub use error::TraceError;
pub use format::{Format, FormatField, Storage, page_layout};
pub use instance::{EnabledEvent, Instance};
pub use mount::Tracefs;
pub use page::{Missed, Page, PageError, PageLayout, Record, Records};
pub use pipe::Batch;
pub use stats::Stats;
