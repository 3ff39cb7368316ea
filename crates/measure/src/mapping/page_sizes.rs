//! Which sizes the pages of a mapping really have.

use super::{HUGE_PAGE, Mapping, Pages};
use anechoic_recording::paging::Verified;
use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// Bits of `/proc/kpageflags`: the first page of a larger one, and the others.
const HEAD: u64 = 1 << 15;
const TAIL: u64 = 1 << 16;
/// Bits of `/proc/self/pagemap`: a page is in memory, and the number of its frame.
const PRESENT: u64 = 1 << 63;
const FRAME: u64 = (1 << 55) - 1;
/// Number of entries that are read at once.
const BATCH: usize = 1 << 14;

/// Sizes of pages and how many bytes are on them, and how this was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PageSizes {
    /// Bytes on pages of each size, in bytes.
    pub(crate) bytes: BTreeMap<u64, u64>,
    pub(crate) verified: Verified,
}

impl Mapping {
    /// Returns the sizes of the pages that the kernel really gave.
    pub(crate) fn page_sizes(&self) -> PageSizes {
        let base = rustix::param::page_size() as u64;
        let all = self.bytes as u64;
        let with = |size: u64, found: u64, verified| {
            let both = [(size, found.min(all)), (base, all.saturating_sub(found))];
            let bytes = both.into_iter().filter(|(_, bytes)| *bytes > 0).collect();
            PageSizes { bytes, verified }
        };
        let listed = |size: u64| match self.listed_huge_bytes() {
            Some(found) => with(size, found, Verified::Smaps),
            None => with(size, 0, Verified::Not),
        };
        match self.asked {
            Pages::Explicit(size) => listed(size),
            // Only the list shows whether such a page has one entry in the page table.
            Pages::Only(HUGE_PAGE) | Pages::Transparent => listed(HUGE_PAGE),
            Pages::Base | Pages::Only(_) => match (self.by_page_flags(base), self.asked) {
                (Some(bytes), _) => PageSizes { bytes, verified: Verified::PageFlags },
                (None, Pages::Only(size)) => match self.formed {
                    Some(count) => with(size, count.saturating_mul(size), Verified::Counters),
                    None => with(size, 0, Verified::Not),
                },
                (None, _) => listed(HUGE_PAGE),
            },
        }
    }

    /// Returns which share of the memory has pages of the size that was asked for.
    pub(crate) fn share_as_asked(&self) -> f64 {
        let size = match self.asked {
            Pages::Base => rustix::param::page_size() as u64,
            Pages::Transparent => HUGE_PAGE,
            Pages::Only(size) | Pages::Explicit(size) => size,
        };
        let found = self.page_sizes().bytes.get(&size).copied().unwrap_or(0);
        found as f64 / self.bytes as f64
    }

    /// Returns the bytes on pages of each size by the flags of their frames; absent without the right to read them.
    fn by_page_flags(&self, base: u64) -> Option<BTreeMap<u64, u64>> {
        let first = self.start.addr().get() as u64 / base;
        let map = File::open("/proc/self/pagemap").ok()?;
        let flags = File::open("/proc/kpageflags").ok()?;
        let entries = read(&map, first, self.bytes / base as usize).ok()?;
        let frames: Vec<u64> = entries.iter().map(|entry| entry & FRAME).collect();
        if entries.iter().zip(&frames).any(|(entry, &frame)| entry & PRESENT == 0 || frame == 0) {
            return None; // numbers of frames are hidden
        }
        let mut of_frames = Vec::with_capacity(frames.len());
        for run in frames.chunk_by(|a, b| a + 1 == *b) {
            of_frames.extend(read(&flags, run[0], run.len()).ok()?);
        }
        Some(sizes(&frames, &of_frames, base))
    }
}

/// Reads `count` words of a file from this one on.
fn read(file: &File, first: u64, count: usize) -> io::Result<Vec<u64>> {
    let mut words = Vec::with_capacity(count);
    let mut buffer = vec![0_u8; BATCH.min(count) * 8];
    while words.len() < count {
        let part = &mut buffer[..BATCH.min(count - words.len()) * 8];
        file.read_exact_at(part, (first + words.len() as u64) * 8)?;
        let word = |bytes: &[u8]| u64::from_ne_bytes(bytes.try_into().unwrap_or([0; 8]));
        words.extend(part.chunks_exact(8).map(word));
    }
    Ok(words)
}

/// Adds up the pages of each size: a head and the tails behind it, in neighbouring frames, are one page.
fn sizes(frames: &[u64], flags: &[u64], base: u64) -> BTreeMap<u64, u64> {
    let mut sizes: BTreeMap<u64, u64> = BTreeMap::new();
    let pages: Vec<(u64, u64)> = frames.iter().copied().zip(flags.iter().copied()).collect();
    for page in pages.chunk_by(|a, b| a.0 + 1 == b.0 && b.1 & TAIL > 0) {
        let count = page.len() as u64;
        // Tails without their head are a part of a larger page; each has its own entry in the page table.
        let size = if page[0].1 & HEAD > 0 { count * base } else { base };
        *sizes.entry(size).or_default() += count * base;
    }
    sizes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_heads_with_the_tails_behind_them() {
        type Pairs<'a> = &'a [(u64, u64)];
        let cases: [(&str, Pairs<'_>, Pairs<'_>); 5] = [
            ("base pages in a row", &[(10, 0), (11, 0), (12, 0)], &[(4, 12)]),
            (
                "two of 16 and one of 4 KiB",
                &[
                    (20, HEAD),
                    (21, TAIL),
                    (22, TAIL),
                    (23, TAIL),
                    (24, HEAD),
                    (25, TAIL),
                    (26, TAIL),
                    (27, TAIL),
                    (9, 0),
                ],
                &[(4, 4), (16, 32)],
            ),
            ("frames apart", &[(20, HEAD), (31, TAIL)], &[(4, 8)]),
            ("a part of a page", &[(21, TAIL), (22, TAIL)], &[(4, 8)]),
            ("nothing", &[], &[]),
        ];
        for (name, pages, expected) in cases {
            let (frames, flags): (Vec<u64>, Vec<u64>) = pages.iter().copied().unzip();
            let found: Vec<(u64, u64)> = sizes(&frames, &flags, 4).into_iter().collect();
            assert_eq!(found, expected, "case: {name}");
        }
    }

    #[test]
    fn base_pages_are_verified_as_such() {
        let mapping = Mapping::new(4 << 20, Pages::Base).expect("4 MiB");
        let found = mapping.page_sizes();
        let base = rustix::param::page_size() as u64;
        assert_eq!(found.bytes, BTreeMap::from([(base, 4 << 20)]));
        assert_ne!(found.verified, Verified::Not);
    }
}
