//! Traces of the kernel: pages of its ring buffer, its descriptions of events, and what they decode to.
//!
//! `page` splits a page into records → `decode` converts each to a [`crate::KernelEvent`], as `format` describes it from
//! the kernel's own text. `symbols` names addresses. Nothing here touches the live system: `tracefs` of the crate `system`
//! and the import of `trace.dat` use it.

pub(crate) mod decode;
mod format;
mod marks;
mod page;
mod passed;
mod stacks;
mod symbols;

pub use decode::{EnabledEvent, EventDecoder, ToTicks};
pub use format::{Format, FormatField, Storage, page_layout};
pub use marks::MARK;
pub use page::{Missed, Page, PageError, PageLayout, Record, Records};
pub use passed::MarkText;
pub use stacks::RawStack;
pub use symbols::{resolve_from, split_symbol, unreadable};
