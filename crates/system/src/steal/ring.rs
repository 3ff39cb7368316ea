//! Reads a BPF ring buffer through shared memory, without a system call per read.
//!
//! Layout (`kernel/bpf/ringbuf.c`): one page with the reader's position, which we write; one page with the
//! writer's position; then the data, mapped twice in a row, so that a record that wraps around is contiguous.
//! A record is a header of 8 bytes (its length in the first 32 bits, with two flags on top) and the data,
//! padded to 8 bytes.

use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use std::ffi::c_void;
use std::io;
use std::os::fd::OwnedFd;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

const HEADER_BYTES: usize = 8;
/// Flag of a record that is still being written.
const BUSY: u32 = 1 << 31;
/// Flag of a record that the writer discarded.
const DISCARDED: u32 = 1 << 30;

/// Returns the size of a ring buffer for `cpus` CPUs, in bytes.
///
/// A record of five words and its header are 48 bytes, so 1 MiB per CPU holds 21,845 of them: 21 s between
/// two drains at 1000 ticks per second if every tick has steal, 87 s at 250. (Ten minutes at the former rate
/// would need 28 MiB per CPU.) At most 64 MiB in total; the program counts what does not fit.
pub(super) fn size(cpus: usize) -> u32 {
    let mebibytes = cpus.clamp(1, 64).next_power_of_two();
    (mebibytes << 20) as u32
}

/// A mapping of shared memory that is unmapped on drop.
struct Mapping {
    start: *mut c_void,
    length: usize,
}

impl Mapping {
    fn new(fd: &OwnedFd, offset: usize, length: usize, access: ProtFlags) -> io::Result<Mapping> {
        // SAFETY: the kernel chooses the address, so no memory in use is replaced.
        let start =
            unsafe { mmap(null_mut(), length, access, MapFlags::SHARED, fd, offset as u64)? };
        Ok(Mapping { start, length })
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours, and nothing borrowed from it outlives its owner, the ring. It can only
        // fail for a range that was never mapped.
        let _ = unsafe { munmap(self.start, self.length) };
    }
}

/// A ring buffer of `bytes` (a power of two), with this as its only reader.
pub(super) struct Ring {
    reader: Mapping,
    writer: Mapping,
    page: usize,
    bytes: usize,
}

// SAFETY: the memory belongs to the kernel's map, not to a thread, and all reading is by `&mut self`.
unsafe impl Send for Ring {}

impl Ring {
    pub(super) fn open(fd: &OwnedFd, bytes: u32) -> io::Result<Ring> {
        let (page, bytes) = (rustix::param::page_size(), bytes as usize);
        let reader = Mapping::new(fd, 0, page, ProtFlags::READ | ProtFlags::WRITE)?;
        let writer = Mapping::new(fd, page, page + 2 * bytes, ProtFlags::READ)?;
        Ok(Ring { reader, writer, page, bytes })
    }

    /// Takes out all complete records of `WORDS` 64-bit words, oldest first.
    pub(super) fn drain<const WORDS: usize>(&mut self) -> Vec<[u64; WORDS]> {
        // SAFETY: both mappings start with an aligned `unsigned long` and live as long as `self`;
        // the other side changes them atomically.
        let (reader, writer) = unsafe {
            (&*self.reader.start.cast::<AtomicUsize>(), &*self.writer.start.cast::<AtomicUsize>())
        };
        let mut records = Vec::new();
        let mut position = reader.load(Ordering::Relaxed); // only we write it
        let written = writer.load(Ordering::Acquire);
        // Positions count bytes for ever and may wrap around.
        while written.wrapping_sub(position) >= HEADER_BYTES {
            let start = self.page + (position & (self.bytes - 1));
            // SAFETY: a position is a multiple of 8 and its remainder is less than `bytes`, so the header
            // lies in the mapping; the writer sets it atomically.
            let header = unsafe { &*self.writer.start.byte_add(start).cast::<AtomicU32>() };
            let header = header.load(Ordering::Acquire);
            if header & BUSY != 0 {
                break;
            }
            let length = (header & !(BUSY | DISCARDED)) as usize;
            if header & DISCARDED == 0 && length == 8 * WORDS && length <= self.bytes {
                // SAFETY: reads at most `bytes` from an address in the first copy of the data; the second
                // copy follows. The writer does not touch a record that is complete and not yet taken.
                let record = unsafe {
                    self.writer.start.byte_add(start + HEADER_BYTES).cast::<[u64; WORDS]>().read()
                };
                records.push(record);
            }
            position = position.wrapping_add(HEADER_BYTES + length.next_multiple_of(8));
            reader.store(position, Ordering::Release);
        }
        records
    }
}

#[cfg(test)]
mod tests {
    use super::size;

    #[test]
    fn sizes_are_powers_of_two_within_bounds() {
        for (cpus, mebibytes) in [(0, 1), (1, 1), (2, 2), (3, 4), (48, 64), (4096, 64)] {
            assert_eq!(size(cpus), mebibytes << 20, "{cpus} CPUs");
        }
    }
}
