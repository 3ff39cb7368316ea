//! A matrix × vector down the columns, on pages of each size that the CPU has (Radojković 2009). The same sizes, passes and
//! order as the command's, `crates/measure/src/methods/paging.rs`, which gives the reasons for the constants.

use super::lines::{OnMemory, Rows, Work};
use super::memory::pace;
use super::{Impossible, MOST_CLASSES, Measuring};
use crate::machine::data_tlb;
use crate::pages::{self, KINDS, Kind, Mapping};
use crate::parameters::Request;
use crate::seat::{Gate, Seat};
use crate::timed::{self, Buffers, Plan};
use anechoic_kernels::memory::{self, Line, MemoryKernel, Params};
use core::slice;

const SMALLEST_PART: u64 = 4;
const REACHES: [u64; 2] = [64, 16];
const LARGEST: u64 = 4 << 30;
const MOST_PASSES: u64 = 1024;
const USUAL_ENTRIES: u32 = 1536;
const BLOCKS: [u64; 2] = [5, 3];
/// The optimised build of the loop, and the one with every variable in memory.
const BUILDS: [&str; 2] = ["matrix", "matrix-memory"];

/// The memory of the walk: the same for all kinds of pages.
#[derive(Clone, Copy)]
struct Ground {
    tables: u64,
    start: u64,
    end: u64,
}

impl Ground {
    /// Divides the memory of a seat. If a page of 1 GiB fits and is wanted, the walk begins where one does.
    fn new(seat: &Seat, wants_gib: bool) -> Self {
        let (tables, end) = (seat.address(), seat.address() + seat.room());
        let start = tables + pages::tables_bytes(seat.room());
        let of_gib = start.next_multiple_of(1 << 30);
        let start = if wants_gib && of_gib + (1 << 30) <= end { of_gib } else { start };
        Ground { tables, start, end }
    }

    /// Returns how much of it lies on whole pages of this kind.
    fn room(&self, kind: &Kind) -> u64 {
        let is_aligned = self.start.is_multiple_of(kind.bytes);
        if is_aligned { (self.end & !(kind.bytes - 1)).saturating_sub(self.start) } else { 0 }
    }
}

impl Measuring {
    pub(super) fn paging(&mut self, request: &Request<'_>) -> Result<(), Impossible> {
        let quick = usize::from(request.quick);
        let ground =
            Ground::new(&self.seats[0], request.has_pages(&KINDS[2]) && pages::has(&KINDS[2]));
        let mut kinds = [None; KINDS.len()];
        let mut used = 0;
        for kind in KINDS.iter().filter(|kind| request.has_pages(kind)) {
            match ground.room(kind) {
                _ if !pages::has(kind) => self.absent(kind, "the CPU has no such pages"),
                0 => self.absent(kind, "the image's memory holds no whole page of this size"),
                _ => {
                    kinds[used] = Some(kind);
                    used += 1;
                }
            }
        }
        let kinds = &kinds[..used];
        let room = kinds.iter().flatten().map(|kind| ground.room(kind)).min().unwrap_or(0);
        let entries = data_tlb().map_or(USUAL_ENTRIES, |tlb| tlb.entries);
        let sizes = move || sizes(u64::from(entries) << 12, REACHES[quick], 2 << (quick as u32));
        for block in 0..request.blocks.unwrap_or(BLOCKS[quick]) as usize {
            for bytes in sizes().filter(|&bytes| bytes <= room) {
                for kind in in_order(kinds, block) {
                    for at in [block % 2, (block + 1) % 2] {
                        self.walk(request, ground, kind, BUILDS[at], bytes);
                    }
                }
            }
        }
        let too_large = sizes().find(|&bytes| bytes > room).filter(|_| used > 0);
        too_large.map_or(Ok(()), |bytes| Err(Impossible::Memory("matrix", bytes, 0)))
    }

    fn absent(&mut self, kind: &Kind, why: &str) {
        self.text.line(format_args!("absent {} {why}", kind.id));
    }

    /// Walks one matrix on one kind of pages.
    fn walk(
        &mut self,
        request: &Request<'_>,
        ground: Ground,
        kind: &'static Kind,
        build: &str,
        bytes: u64,
    ) {
        let Some(kernel) = memory::find(build) else { return };
        let (counter, within) = (self.counter(), self.clock.ticks(request.duration_ns));
        let group = &self.cpus[..1];
        self.in_turn::<()>(group, &mut [None; MOST_CLASSES], |seat, _| {
            // SAFETY: the tables and the memory are parts of this seat's, which nothing else uses now.
            let mapping = unsafe {
                let tables = (ground.start - ground.tables) / 4096;
                let tables = slice::from_raw_parts_mut(ground.tables as *mut _, tables as usize);
                Mapping::begin(kind, ground.start, bytes, tables)
            };
            let params = Params { bytes };
            // SAFETY: the mapping leads to that memory.
            let own =
                unsafe { slice::from_raw_parts_mut(mapping.address as *mut Line, params.lines()) };
            let mut own = (kernel.prepare)(&params, own);
            seat.pages = [kind.bytes, mapping.bytes_on(kind.bytes, bytes)];
            pace(seat, counter, &mut own, kernel);
            seat.plan = Plan { samples: MOST_PASSES, within: Some((within, 1)), ..seat.plan };
            let plan = seat.plan;
            let mut take = |plan: &Plan, buffers: &mut Buffers<'_>| {
                let mut body = |iterations| (kernel.run)(&mut own, iterations);
                timed::fixed_work::<false>(plan, &mut body, &mut || {}, buffers)
            };
            seat.timed(&Gate::new(1), |buffers| take(&plan, buffers));
            None
        });
        self.wrote(1, &walk_work(request, kernel, kind, bytes));
    }
}

fn walk_work<'r>(
    request: &'r Request<'r>,
    kernel: &MemoryKernel,
    kind: &Kind,
    bytes: u64,
) -> Work<'r> {
    let memory = OnMemory { experiment: kind.id, bytes, other: None, counts_pages: true };
    Work {
        request,
        kernel: kernel.id,
        instructions: kernel.instructions,
        memory: Some(memory),
        rows: Rows::Samples,
    }
}

/// Returns the sizes of the matrix with its vectors in bytes.
fn sizes(reach: u64, most: u64, factor: u64) -> impl Iterator<Item = u64> {
    let all =
        core::iter::successors(Some(reach / SMALLEST_PART), move |bytes| bytes.checked_mul(factor));
    all.take_while(move |&bytes| bytes <= reach.saturating_mul(most).min(LARGEST))
}

/// Returns the kinds in the order of a block: each block begins with another one, and every second block is backwards.
fn in_order(kinds: &[Option<&'static Kind>], block: usize) -> impl Iterator<Item = &'static Kind> {
    let (count, first) = (kinds.len(), block / 2);
    let at = move |place: usize| match block % 2 {
        0 => (place + first) % count,
        _ => (count - 1 - place + first) % count,
    };
    (0..count).filter_map(move |place| kinds[at(place)])
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::vec::Vec;

    #[test]
    fn sizes_and_order_are_those_of_the_command() {
        let mib = |most, factor| {
            sizes(12 << 20, most, factor).map(|bytes| bytes >> 20).collect::<Vec<_>>()
        };
        assert_eq!(mib(64, 2), [3, 6, 12, 24, 48, 96, 192, 384, 768]);
        assert_eq!(mib(16, 4), [3, 12, 48, 192]);
        let kinds = [Some(&KINDS[0]), Some(&KINDS[1]), Some(&KINDS[2])];
        let ids = |block| in_order(&kinds, block).map(|kind| kind.id).collect::<Vec<_>>();
        assert_eq!(ids(0), ["base", "huge-2m", "huge-1g"]);
        assert_eq!(ids(1), ["huge-1g", "huge-2m", "base"]);
        assert_eq!(ids(2), ["huge-2m", "huge-1g", "base"]);
    }
}
