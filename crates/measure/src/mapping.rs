//! Memory from the kernel with pages of a chosen size: touched, and locked if the limit on locked memory allows it.

mod page_sizes;

pub(crate) use page_sizes::PageSizes;

use anechoic_kernels::memory::Line;
use anechoic_recording::{Parameters, Problem, ProblemKind};
use anechoic_system::huge_pages::{self, Change};
use anechoic_system::machine::Root;
use anechoic_system::memory_nodes;
use rustix::io::Errno;
use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mlock, mmap_anonymous, munmap};
use std::fs;
use std::ptr::{self, NonNull};

/// Size of a huge page, in bytes.
pub(crate) const HUGE_PAGE: u64 = 2 << 20;
/// The same as a length.
const HUGE: usize = HUGE_PAGE as usize;
/// The smallest page, in bytes.
const SMALL_PAGE: usize = 4096;

/// The pages of a mapping.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Pages {
    /// Transparent huge pages where the kernel gives them.
    #[default]
    Transparent,
    /// Base pages only.
    Base,
    /// Transparent huge pages of this size in bytes, and no larger ones. Settings of the kernel are changed for this while the
    /// memory is touched, if need be.
    Only(u64),
    /// Explicit huge pages of this size in bytes. Their pool is made larger as long as the memory is used, if need be.
    Explicit(u64),
}

/// Memory that the kernel of a cell has for itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OwnMemory {
    /// Its pages.
    pub pages: Pages,
    /// Whether it is allocated anew; otherwise that of the cell before is used, if it has the same size and pages.
    pub fresh: bool,
}

/// The pages that a mapping really has.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Obtained {
    /// Size of the mapping in bytes.
    pub(crate) bytes: u64,
    /// Bytes of it on huge pages.
    pub(crate) huge_bytes: u64,
    /// Whether it is locked; if not (limit on locked memory), it is at least touched.
    pub(crate) locked: bool,
    /// Its NUMA node, if all of it is on one.
    pub(crate) node: Option<u32>,
}

/// Memory of zeros that nobody else uses.
#[derive(Debug)]
pub(crate) struct Mapping {
    start: NonNull<u8>,
    bytes: usize,
    /// What was mapped, from which the aligned part above is used.
    whole: (NonNull<u8>, usize),
    /// Whether it is locked.
    pub(crate) locked: bool,
    /// The pages that were asked for.
    asked: Pages,
    /// Number of transparent pages of the size that was asked for, which the kernel gave to any program in the meantime.
    formed: Option<u64>,
    /// What the pool of explicit pages got for this memory; it is given back after the memory.
    pool: Change,
}

// SAFETY: the mapping belongs to its owner alone, like a vector.
unsafe impl Send for Mapping {}

impl Mapping {
    /// Maps at least this many bytes, and changes the settings of the kernel if that is needed for the pages.
    ///
    /// # Errors
    /// Fails if the kernel gives no such memory.
    pub(crate) fn obtain(bytes: usize, pages: Pages) -> Result<Self, Problem> {
        let root = Root::live();
        let change = match pages {
            Pages::Base | Pages::Transparent => Change::default(),
            Pages::Only(size) => huge_pages::only_transparent(&root, size)?,
            Pages::Explicit(size) => {
                huge_pages::reserve(&root, size, (bytes as u64).div_ceil(size))?
            }
        };
        let count = || match pages {
            Pages::Only(size) => huge_pages::transparent_count(&root, size),
            _ => None,
        };
        let before = count();
        let mapped = Mapping::new(bytes, pages);
        let mut mapping = mapped.map_err(|error| no_memory(bytes, pages, error))?;
        mapping.formed = count().zip(before).map(|(now, then)| now.saturating_sub(then));
        if matches!(pages, Pages::Explicit(_)) {
            mapping.pool = change;
        }
        Ok(mapping)
    }

    /// Maps at least this many bytes, aligned to a huge page if there is room for one.
    ///
    /// # Errors
    /// Returns the kernel's error if it gives no such memory.
    pub(crate) fn new(bytes: usize, pages: Pages) -> rustix::io::Result<Self> {
        let (unit, slack, flags) = match pages {
            // A mapping of explicit pages is aligned to them.
            Pages::Explicit(size) => (size as usize, 0, MapFlags::PRIVATE | flags_of_pages(size)),
            // Pages of one size only where all of the memory consists of them.
            Pages::Only(size) => (size as usize, size as usize, MapFlags::PRIVATE),
            _ if bytes < HUGE => (SMALL_PAGE, 0, MapFlags::PRIVATE),
            _ => (HUGE, HUGE, MapFlags::PRIVATE),
        };
        let bytes = bytes.max(1).next_multiple_of(unit);
        let access = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new private mapping at an address that the kernel chooses.
        let mapped = unsafe { mmap_anonymous(ptr::null_mut(), bytes + slack, access, flags) }?;
        let whole = NonNull::new(mapped.cast::<u8>()).ok_or(rustix::io::Errno::NOMEM)?;
        // SAFETY: the offset is at most the slack.
        let start = unsafe { whole.add(whole.align_offset(unit).min(slack)) };
        let whole = (whole, bytes + slack);
        let (pool, asked) = (Change::default(), pages);
        let mut made = Mapping { start, bytes, whole, locked: false, asked, formed: None, pool };
        made.advise(match pages {
            Pages::Base => Some(Advice::LinuxNoHugepage),
            Pages::Transparent | Pages::Only(_) => Some(Advice::LinuxHugepage),
            Pages::Explicit(_) => None,
        });
        // A process that is forked would make each first write a page fault.
        made.advise(Some(Advice::LinuxDontFork));
        made.touch()?;
        // The pages stay as they are, but the kernel does not join them to larger ones later.
        made.advise(matches!(pages, Pages::Only(_)).then_some(Advice::LinuxNoHugepage));
        // SAFETY: inside the mapping made above; unmapping unlocks it.
        made.locked = unsafe { mlock(start.as_ptr().cast(), bytes) }.is_ok();
        Ok(made)
    }

    fn advise(&self, advice: Option<Advice>) {
        if let Some(advice) = advice {
            // SAFETY: inside the mapping, of which it changes no content. Refused advice changes nothing; `obtained` shows the
            // pages.
            let _ = unsafe { madvise(self.start.as_ptr().cast(), self.bytes, advice) };
        }
    }

    /// Makes the kernel give all pages. Explicit pages beyond the limit of a control group are an error here; the first write to
    /// them would be a SIGBUS.
    fn touch(&mut self) -> rustix::io::Result<()> {
        // SAFETY: inside the mapping, which nobody else uses yet; the content of its pages stays.
        let populated =
            unsafe { madvise(self.start.as_ptr().cast(), self.bytes, Advice::LinuxPopulateWrite) };
        match populated {
            Ok(()) => return Ok(()),
            Err(Errno::INVAL) => {} // a kernel before 5.14
            Err(error) if matches!(self.asked, Pages::Explicit(_)) => return Err(error),
            Err(_) => {}
        }
        for page in (0..self.bytes).step_by(SMALL_PAGE) {
            // SAFETY: inside the mapping, which nobody else uses yet.
            unsafe { self.start.add(page).write_volatile(0) };
        }
        Ok(())
    }

    /// Returns the first byte.
    pub(crate) fn start(&self) -> NonNull<u8> {
        self.start
    }

    /// Returns the size in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns it as cache lines.
    pub(crate) fn lines(&mut self) -> &mut [Line] {
        let count = self.bytes() / size_of::<Line>();
        // SAFETY: the mapping is aligned to pages, any bytes are a valid line, and it is borrowed as long as the lines.
        unsafe { std::slice::from_raw_parts_mut(self.start().cast().as_ptr(), count) }
    }

    /// Returns which pages the kernel really gave, according to its own list.
    pub(crate) fn obtained(&self) -> Obtained {
        let huge_bytes = self.listed_huge_bytes().unwrap_or(0);
        let (bytes, locked, node) = (self.bytes as u64, self.locked, self.node());
        Obtained { bytes, huge_bytes, locked, node }
    }

    /// Returns the NUMA node of all its pages, if it is the same.
    pub(crate) fn node(&self) -> Option<u32> {
        memory_nodes::node_of(self.start, self.bytes)
    }

    /// Returns the bytes on huge pages in the kernel's own list.
    fn listed_huge_bytes(&self) -> Option<u64> {
        let from = self.start.addr().get() as u64;
        let list = fs::read_to_string("/proc/self/smaps").ok()?;
        Some(huge_bytes(&list, from, from + self.bytes as u64))
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        let (start, bytes) = self.whole;
        // SAFETY: the mapping made in `new`; nothing borrows from it any more.
        let _ = unsafe { munmap(start.as_ptr().cast(), bytes) };
    }
}

impl Obtained {
    /// Returns whether some of its pages have another size than was asked for.
    pub(crate) fn differs(self, asked: Pages) -> bool {
        match asked {
            Pages::Base | Pages::Only(_) => self.huge_bytes > 0,
            Pages::Transparent | Pages::Explicit(_) => self.huge_bytes < self.bytes,
        }
    }

    /// Adds pages and place to the parameters of a series.
    pub(crate) fn describe(self, parameters: &mut Parameters) {
        parameters.page_bytes = Some(self.page_bytes());
        parameters.memory_node = self.node;
    }

    /// Returns the size of the smallest pages of the mapping, in bytes.
    pub(crate) fn page_bytes(self) -> u64 {
        if self.huge_bytes >= self.bytes { HUGE_PAGE } else { rustix::param::page_size() as u64 }
    }
}

/// The lines of a `smaps` file that list huge pages. Linux lists pages of 1 GiB that one process alone has sometimes as
/// private and sometimes as shared.
const LISTED: [&str; 3] = ["AnonHugePages", "Private_Hugetlb", "Shared_Hugetlb"];

/// Returns the bytes on huge pages of the mappings between two addresses, from the text of a `smaps` file.
fn huge_bytes(list: &str, from: u64, to: u64) -> u64 {
    let (mut inside, mut sum) = (false, 0);
    for line in list.lines() {
        let (name, rest) = line.split_once([' ', ':']).unwrap_or((line, ""));
        if let Some((start, end)) = name.split_once('-')
            && let (Ok(start), Ok(end)) =
                (u64::from_str_radix(start, 16), u64::from_str_radix(end, 16))
        {
            inside = start < to && end > from;
        } else if inside && LISTED.contains(&name) {
            let kib = rest.trim().trim_end_matches("kB").trim().parse().unwrap_or(0);
            sum += kib * 1024_u64;
        }
    }
    sum.min(to - from)
}

/// Returns the flags of a mapping with explicit pages of this size.
fn flags_of_pages(page_bytes: u64) -> MapFlags {
    /// The place of the size's logarithm in the flags.
    const SHIFT: u32 = 26;
    MapFlags::HUGETLB | MapFlags::from_bits_retain(page_bytes.ilog2() << SHIFT)
}

/// Explains why there is no such memory, and what would help.
pub(crate) fn no_memory(bytes: usize, pages: Pages, error: rustix::io::Errno) -> Problem {
    let mib = bytes.div_ceil(1 << 20);
    match pages {
        Pages::Explicit(_) => {
            let why = format!("no explicit huge pages for {mib} MiB: {error}");
            let remedy =
                "raise the limit of the control group (hugetlb.*.max), or use other --pages";
            ProblemKind::Unavailable.problem(why, remedy)
        }
        Pages::Base | Pages::Transparent | Pages::Only(_) => {
            let why = format!("no memory for {mib} MiB: {error}");
            ProblemKind::Unavailable
                .problem(why, "free some memory, or measure fewer CPUs with --cpus")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIST: &str = "7f0000000000-7f0000400000 rw-p 00000000 00:00 0 \n\
        Size:               4096 kB\nAnonHugePages:      2048 kB\nPrivate_Hugetlb:       0 kB\nVmFlags: rd wr\n\
        7f0000400000-7f0000600000 rw-p 00000000 00:00 0 \nAnonHugePages:         0 kB\nPrivate_Hugetlb:    2048 kB\n\
        7f0040000000-7f0080000000 rw-p 00000000 00:00 0 \nShared_Hugetlb:  1048576 kB\nPrivate_Hugetlb:       0 kB\n";

    #[test]
    fn huge_pages_are_counted_where_they_are_asked_for() {
        let cases = [
            (0x7f00_0000_0000, 0x7f00_0040_0000, 2 << 20),
            (0x7f00_0040_0000, 0x7f00_0060_0000, 2 << 20),
            (0x7f00_0000_0000, 0x7f00_0060_0000, 4 << 20),
            (0x7f00_0060_0000, 0x7f00_0080_0000, 0),
            (0x7f00_4000_0000, 0x7f00_8000_0000, 1 << 30),
        ];
        for (from, to, expected) in cases {
            assert_eq!(huge_bytes(LIST, from, to), expected, "{from:x}");
        }
        assert_eq!(huge_bytes("hostile\n-\nAnonHugePages: x kB", 0, u64::MAX), 0);
    }

    #[test]
    fn base_pages_are_what_was_asked_for() {
        let mapping = Mapping::new(4 << 20, Pages::Base).expect("4 MiB");
        let obtained = mapping.obtained();
        assert_eq!((obtained.bytes, obtained.huge_bytes), (4 << 20, 0));
        assert_eq!(obtained.page_bytes(), rustix::param::page_size() as u64);
        assert_eq!(mapping.start().addr().get() % HUGE, 0);
    }
}
