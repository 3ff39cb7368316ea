//! The image's memory: one region from the loader, divided once.

use crate::text::Text;
use crate::timed::{Buffers, Rows};
use anechoic_kernels::memory::Line;
use core::slice;

/// Alignment of the region's use, so that workspaces lie in as few pages as possible.
const ALIGNMENT: u64 = 2 << 20;
/// The smallest region that the image can work with.
pub const LEAST_BYTES: u64 = 16 << 20;
/// The largest number of bytes for each of the rows and the text.
const MOST_ROWS: u64 = 1 << 30;

/// The parts of the region.
#[derive(Debug)]
pub struct Arena {
    /// Memory for what the loops store.
    pub buffers: Buffers<'static>,
    /// Memory for the result.
    pub text: Text<'static>,
    /// Memory that kernels work on.
    pub workspace: &'static mut [Line],
}

impl Arena {
    /// Divides the region `[start, end)`, or returns `None` if it is too small.
    ///
    /// # Safety
    /// The region must be mapped memory that nothing else uses.
    #[must_use]
    pub unsafe fn divide(start: u64, end: u64) -> Option<Self> {
        let start = start.next_multiple_of(ALIGNMENT);
        let bytes = end.checked_sub(start).filter(|&bytes| bytes >= LEAST_BYTES)?;
        let eighth = (bytes / 8).min(MOST_ROWS) & !4095;
        let workspace = (bytes - 4 * eighth) & !4095;
        let samples = start + workspace;
        let (gaps, text) = (samples + eighth, samples + 2 * eighth);
        // SAFETY: the parts do not overlap and fill the region at most; any bytes are valid in all of them.
        unsafe {
            let rows =
                |at: u64| Rows::new(slice::from_raw_parts_mut(at as *mut _, eighth as usize / 16));
            Some(Arena {
                buffers: Buffers { samples: rows(samples), gaps: rows(gaps) },
                text: Text::new(slice::from_raw_parts_mut(text as *mut u8, 2 * eighth as usize)),
                workspace: slice::from_raw_parts_mut(
                    start as *mut Line,
                    workspace as usize / size_of::<Line>(),
                ),
            })
        }
    }
}
