//! The image's memory: one region from the loader, divided once.

use crate::crew::Member;
use crate::seat::Seat;
use crate::text::Text;
use crate::timed::{Buffers, Rows};
use anechoic_kernels::memory::Line;
use core::mem::MaybeUninit;
use core::slice;

/// Alignment of the region's use, so that workspaces lie in as few pages as possible.
const ALIGNMENT: u64 = 2 << 20;
/// The smallest region that the image can work with.
pub const LEAST_BYTES: u64 = 16 << 20;
/// The largest number of bytes for the rows of samples, for those of gaps, and for half of the text.
const MOST_ROWS: u64 = 128 << 20;

/// A region of memory, from whose end parts are taken.
#[derive(Debug)]
pub struct Region {
    start: u64,
    end: u64,
}

impl Region {
    /// Takes over the region `[start, end)`, or returns `None` if it is too small.
    ///
    /// # Safety
    /// The region must be mapped memory that nothing else uses.
    #[must_use]
    pub unsafe fn new(start: u64, end: u64) -> Option<Self> {
        let start = start.next_multiple_of(ALIGNMENT);
        let bytes = end.checked_sub(start)?;
        (bytes >= LEAST_BYTES).then_some(Region { start, end })
    }

    /// Takes memory for this number of values from the end of the region.
    fn take<T>(&mut self, count: usize) -> Option<&'static mut [MaybeUninit<T>]> {
        let bytes = count.checked_mul(size_of::<T>())? as u64;
        let align = align_of::<T>().max(4096) as u64;
        let at = self.end.checked_sub(bytes)? & !(align - 1);
        if at < self.start {
            return None;
        }
        self.end = at;
        // SAFETY: the region is memory that nothing else uses, and this part of it is given away once.
        Some(unsafe { slice::from_raw_parts_mut(at as *mut MaybeUninit<T>, count) })
    }

    /// Takes memory for this number of values, of which any bytes are valid.
    fn take_numbers<T: Number>(&mut self, count: usize) -> Option<&'static mut [T]> {
        let memory = self.take::<T>(count)?;
        // SAFETY: the memory was taken, and any bytes are valid.
        Some(unsafe { slice::from_raw_parts_mut(memory.as_mut_ptr().cast(), count) })
    }

    /// Takes memory for the descriptions of this number of CPUs.
    pub(crate) fn members(&mut self, cpus: usize) -> Option<&'static mut [MaybeUninit<Member>]> {
        self.take(cpus)
    }

    /// Takes memory for numbers of CPUs.
    pub(crate) fn numbers(&mut self, cpus: usize) -> Option<&'static mut [usize]> {
        self.take_numbers(cpus)
    }
}

/// Values of which any bytes are valid.
trait Number {}
impl Number for u8 {}
impl Number for usize {}
impl Number for Line {}
impl Number for [u64; 2] {}

/// The parts of the region.
pub struct Arena {
    /// Memory for the result.
    pub text: Text<'static>,
    /// The seats of the CPUs that measure at the same time, each with memory for what the loops store and work on.
    pub seats: &'static mut [Seat],
}

impl Arena {
    /// Divides the rest of the region among this number of seats, or returns `None` if it is too small.
    #[must_use]
    pub fn divide(mut region: Region, seats: usize) -> Option<Self> {
        let memory: &mut [MaybeUninit<Seat>] = region.take(seats)?;
        let eighth = ((region.end - region.start) / 8).min(MOST_ROWS) as usize;
        let text = Text::new(region.take_numbers(2 * eighth)?);
        let of_seat = eighth / 16 / seats;
        let mut rows = || Some(Rows::new(region.take_numbers(of_seat)?));
        for seat in memory.iter_mut() {
            seat.write(Seat::new(Buffers { samples: rows()?, gaps: rows()? }));
        }
        // SAFETY: all were written above.
        let seats = unsafe { &mut *(core::ptr::from_mut(memory) as *mut [Seat]) };
        let room = (region.end - region.start) / seats.len() as u64;
        let room = if room >= 2 * ALIGNMENT { room & !(ALIGNMENT - 1) } else { room & !4095 };
        region.end = region.start + room * seats.len() as u64;
        for seat in seats.iter_mut().rev() {
            seat.give(region.take_numbers((room / Line::BYTES) as usize)?);
        }
        Some(Arena { text, seats })
    }
}
