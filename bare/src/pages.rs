//! Memory on pages of a chosen size: the image's own page tables map the same memory anew at addresses of their own.

use crate::cpu::{self, ADDRESS, FIVE_LEVELS};
use core::arch::asm;
use core::slice;

/// A kind of pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kind {
    /// Its name, as the command has it.
    pub id: &'static str,
    /// Size of a page in bytes.
    pub bytes: u64,
}

/// All kinds, from the smallest pages on.
pub static KINDS: [Kind; 3] = [
    Kind { id: "base", bytes: 4 << 10 },
    Kind { id: "huge-2m", bytes: 2 << 20 },
    Kind { id: "huge-1g", bytes: 1 << 30 },
];

/// Bits of an entry: present, writable, accessed, and what it maps was modified, so that no access changes it; a large page.
const TABLE: u64 = 0x23;
const PAGE: u64 = 0x63;
const LARGE: u64 = 0x80;
/// The first entry of the topmost table that is tried for the addresses.
const FIRST_ENTRY: usize = 100;

type Table = [u64; 512];

/// A mapping of some memory, in use on this CPU while this value lives.
#[derive(Debug)]
pub struct Mapping {
    before: u64,
    /// The address of the memory.
    pub address: u64,
}

/// Returns whether the CPU has pages of this kind.
#[must_use]
pub fn has(kind: &Kind) -> bool {
    kind.bytes < 1 << 30 || cpu::cpuid(0x8000_0001, 0).edx >> 26 & 1 == 1
}

/// Returns how much memory the tables need, at most, to map this many bytes with the smallest pages.
#[must_use]
pub const fn tables_bytes(bytes: u64) -> u64 {
    (bytes / 512 + (8 << 12) + bytes / (512 * 512)).next_multiple_of(2 << 20)
}

/// Tables that are taken one after the other from zeroed memory.
struct Tables<'m> {
    free: slice::IterMut<'m, Table>,
}

impl Tables<'_> {
    fn next(&mut self) -> &'static mut Table {
        let table = self.free.next().expect("there is memory for the tables");
        table.fill(0);
        // SAFETY: it was given away once; the caller of `Mapping::begin` keeps the memory for the tables.
        unsafe { &mut *core::ptr::from_mut(table) }
    }

    /// Maps `[virtual, end)`, whose memory is `distance` below, by the entries of a table whose entry covers `1 << shift` bytes.
    fn fill(&mut self, table: &mut Table, shift: u32, page: u64, span: [u64; 2], distance: u64) {
        let [mut at, end] = span;
        while at < end {
            let next = ((at >> shift) + 1) << shift;
            let entry = &mut table[(at >> shift & 511) as usize];
            let size = 1 << shift;
            if size == page {
                *entry = (at - distance) | PAGE | if shift > 12 { LARGE } else { 0 };
            } else {
                let below = self.next();
                self.fill(below, shift - 9, page, [at, next.min(end)], distance);
                *entry = core::ptr::from_mut(below).addr() as u64 | TABLE;
            }
            at = next;
        }
    }
}

impl Mapping {
    /// Maps the `bytes` from `start` on with such pages, and uses the new tables on this CPU. All other memory stays mapped as it
    /// was.
    ///
    /// # Safety
    /// The pages that hold the memory must be the caller's, and `tables` stay as they are as long as this value lives.
    #[must_use]
    pub unsafe fn begin(kind: &Kind, start: u64, bytes: u64, tables: &mut [Table]) -> Self {
        let [_, before, cr4] = cpu::control();
        let shift = if cr4 & FIVE_LEVELS == 0 { 39 } else { 48 };
        let mut tables = Tables { free: tables.iter_mut() };
        let top = tables.next();
        // SAFETY: page tables are mapped at their own addresses.
        *top = unsafe { *((before & ADDRESS) as *const Table) };
        let free = (FIRST_ENTRY..256).find(|&entry| top[entry] == 0).expect("a free entry");
        let distance = (free as u64) << shift;
        let first = start & !(kind.bytes - 1);
        let end = (start + bytes).next_multiple_of(kind.bytes);
        let span = [distance + first, distance + end];
        assert!(end <= 1 << shift, "the memory lies in the first entry's reach");
        tables.fill(top, shift, kind.bytes, span, distance);
        // SAFETY: the tables map all that the ones before mapped, at the same addresses.
        unsafe { asm!("mov cr3, {}", in(reg) core::ptr::from_mut(top).addr(), options(nostack)) };
        Mapping { before, address: distance + start }
    }

    /// Returns how many of these bytes lie on pages of this size, as the tables in use have them.
    #[must_use]
    pub fn bytes_on(&self, page: u64, bytes: u64) -> u64 {
        let pages = (self.address..self.address + bytes).step_by(4096);
        let on = pages.filter(|&at| cpu::page_bytes(at) == page).count() as u64;
        (on << 12).min(bytes)
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the tables that were in use before.
        unsafe { asm!("mov cr3, {}", in(reg) self.before, options(nostack)) };
    }
}
