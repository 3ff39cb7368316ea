//! Counts of a thread: misses of the caches and of the data TLB, cycles of page walks, page faults.

use super::open;
use anechoic_recording::paging::counts::{
    FAULTS, FAULTS_IN, FIRST_LEVEL, LAST_LEVEL, TLB_MISSES, WALK_CYCLES,
};
use anechoic_recording::run::NotAvailable;
use perf_event_open_sys::bindings::{
    PERF_COUNT_HW_CACHE_DTLB, PERF_COUNT_HW_CACHE_L1D, PERF_COUNT_HW_CACHE_MISSES,
    PERF_COUNT_HW_CACHE_OP_READ, PERF_COUNT_HW_CACHE_RESULT_MISS, PERF_COUNT_HW_CPU_CYCLES,
    PERF_COUNT_SW_PAGE_FAULTS, PERF_FORMAT_TOTAL_TIME_ENABLED, PERF_FORMAT_TOTAL_TIME_RUNNING,
    PERF_TYPE_HARDWARE, PERF_TYPE_HW_CACHE, PERF_TYPE_RAW, PERF_TYPE_SOFTWARE, perf_event_attr,
};
use rustix::io::read;
use std::io;
use std::os::fd::OwnedFd;

/// What is counted.
struct Event {
    name: &'static str,
    /// What it is called in a note. Of several events with one name only the first reason why they cannot be counted is
    /// noted.
    what: &'static str,
    /// The event's type and number; none if the CPU has no such event.
    event: Option<(u32, u64)>,
    mode: Mode,
}

/// Where the thread is while events are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    User,
    Kernel,
}

/// A set of events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counted {
    /// Misses of the data TLB, cycles of page walks and page faults of the program.
    PageWalks,
    /// Misses of caches and page faults, of the program and of the kernel.
    Caches,
}

impl Counted {
    fn events(self) -> Vec<Event> {
        let faults = Some((PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS.into()));
        let miss = PERF_COUNT_HW_CACHE_RESULT_MISS;
        match self {
            Counted::PageWalks => [
                (TLB_MISSES, "data-TLB misses", cache_reads(PERF_COUNT_HW_CACHE_DTLB, miss)),
                (
                    WALK_CYCLES,
                    "page-walk cycles",
                    walk_cycles().map(|event| (PERF_TYPE_RAW, event)),
                ),
                (FAULTS, "page faults", faults),
            ]
            .map(|(name, what, event)| Event { name, what, event, mode: Mode::User })
            .into(),
            Counted::Caches => [
                (FIRST_LEVEL, "cache misses", cache_reads(PERF_COUNT_HW_CACHE_L1D, miss)),
                (
                    LAST_LEVEL,
                    "cache misses",
                    Some((PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES.into())),
                ),
                (FAULTS_IN, "page faults", faults),
            ]
            .into_iter()
            .flat_map(|([user, kernel], what, event)| {
                let both = [(user, Mode::User), (kernel, Mode::Kernel)];
                both.map(|(name, mode)| Event { name, what, event, mode })
            })
            .collect(),
        }
    }
}

/// The counts of the calling thread.
#[derive(Debug)]
pub struct Counts {
    open: Vec<(&'static str, OwnedFd)>,
    /// What cannot be counted.
    pub not_available: Vec<NotAvailable>,
}

impl Counts {
    /// Begins to count for the calling thread. What cannot be counted is noted.
    #[must_use]
    pub fn open(counted: Counted, is_guest: bool) -> Self {
        let mut counts = Counts { open: Vec::new(), not_available: Vec::new() };
        for Event { name, what, event, mode } in counted.events() {
            let found = event.ok_or(None).and_then(|event| count(event, mode).map_err(Some));
            match found {
                Ok(open) => counts.open.push((name, open)),
                Err(error) => {
                    // Without any counters it does not matter which events this CPU would have.
                    let any = (PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES.into());
                    let error = error.or_else(|| count(any, Mode::User).err());
                    let missing = &mut counts.not_available;
                    if missing.iter().all(|known| known.what != what) {
                        missing.push(reason(what, error.as_ref(), is_guest));
                    }
                }
            }
        }
        counts
    }

    /// Returns the counts so far. An event that had to share its counter with others was not counted all the time, and is left
    /// out.
    #[must_use]
    pub fn read(&self) -> Vec<(&'static str, u64)> {
        self.open.iter().filter_map(|(name, open)| Some((*name, value(open)?))).collect()
    }
}

/// Describes the event of reads of a cache with this result.
fn cache_reads(cache: u32, result: u32) -> Option<(u32, u64)> {
    let event = cache | PERF_COUNT_HW_CACHE_OP_READ << 8 | result << 16;
    Some((PERF_TYPE_HW_CACHE, event.into()))
}

/// Reads an event; none unless it was counted all the time.
fn value(open: &OwnedFd) -> Option<u64> {
    let mut buffer = [0_u8; 24];
    let length = read(open, &mut buffer).ok()?;
    let word = |at: usize| u64::from_ne_bytes(buffer[at * 8..][..8].try_into().unwrap_or([0; 8]));
    let [value, enabled, running] = [0, 1, 2].map(word);
    (length == buffer.len() && running > 0 && enabled == running).then_some(value)
}

fn count((kind, event): (u32, u64), mode: Mode) -> io::Result<OwnedFd> {
    let mut attributes = perf_event_attr::default();
    attributes.type_ = kind;
    attributes.config = event;
    attributes.read_format =
        (PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING).into();
    match mode {
        Mode::User => attributes.set_exclude_kernel(1),
        Mode::Kernel => attributes.set_exclude_user(1),
    }
    attributes.set_exclude_hv(1);
    open(&mut attributes, 0, -1)
}

fn reason(what: &str, error: Option<&io::Error>, is_guest: bool) -> NotAvailable {
    let (why, remedy) = match error.map(|error| error.raw_os_error().unwrap_or(0)) {
        None => ("this CPU has no event for it that is known here", "measure another CPU model"),
        Some(libc::EACCES | libc::EPERM) => {
            ("not permitted", "run as root, or: sysctl kernel.perf_event_paranoid=2")
        }
        Some(libc::ENOSYS) => {
            ("this kernel has no perf events", "use a kernel built with CONFIG_PERF_EVENTS")
        }
        Some(_) if is_guest => (
            "the hypervisor provides no hardware counters",
            "ask the host for a virtual PMU (an instance type that has one, or bare metal)",
        ),
        Some(_) => ("the kernel cannot count it", "use a kernel with this CPU's PMU driver"),
    };
    NotAvailable { what: what.to_owned(), why: why.to_owned(), remedy: remedy.to_owned() }
}

/// Returns the raw event of cycles in which a page walk for a load is in progress.
fn walk_cycles() -> Option<u64> {
    #[cfg(target_arch = "x86_64")]
    {
        let id = raw_cpuid::CpuId::new();
        let vendor = id.get_vendor_info()?;
        let features = id.get_feature_info()?;
        walk_cycles_of(vendor.as_str(), features.family_id(), features.model_id())
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        None
    }
}

/// Returns the event of a CPU model: DTLB_LOAD_MISSES.WALK_ACTIVE, before Skylake WALK_DURATION (event 08h, umask 10h; event 12h
/// since Golden Cove). AMD has none.
#[cfg_attr(
    not(any(target_arch = "x86_64", test)),
    expect(dead_code, reason = "only x86-64 has CPUID")
)]
fn walk_cycles_of(vendor: &str, family: u8, model: u8) -> Option<u64> {
    /// From Haswell to Tiger Lake and Rocket Lake.
    const EVENT_08: [u8; 24] = [
        0x3c, 0x3d, 0x3f, 0x45, 0x46, 0x47, 0x4e, 0x4f, 0x55, 0x56, 0x5e, 0x66, 0x6a, 0x6c, 0x7d,
        0x7e, 0x8c, 0x8d, 0x8e, 0x9d, 0x9e, 0xa5, 0xa6, 0xa7,
    ];
    /// Sapphire Rapids, Emerald Rapids, Granite Rapids, Alder Lake and Raptor Lake.
    const EVENT_12: [u8; 8] = [0x8f, 0xcf, 0xad, 0x97, 0x9a, 0xb7, 0xba, 0xbf];
    /// Haswell and Broadwell, whose event needs no counter mask.
    const ONE_WALK: [u8; 8] = [0x3c, 0x3f, 0x45, 0x46, 0x3d, 0x47, 0x4f, 0x56];
    /// Counts a cycle once, however many walks are in progress.
    const ONCE: u64 = 1 << 24;
    match (vendor, family) {
        ("GenuineIntel", 6) if EVENT_12.contains(&model) => Some(ONCE | 0x1012),
        ("GenuineIntel", 6) if ONE_WALK.contains(&model) => Some(0x1008),
        ("GenuineIntel", 6) if EVENT_08.contains(&model) => Some(ONCE | 0x1008),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_event_of_page_walks_is_that_of_the_model() {
        for (name, vendor, family, model, expected) in [
            ("Sapphire Rapids", "GenuineIntel", 6, 0x8f, Some(0x0100_1012)),
            ("Ice Lake server", "GenuineIntel", 6, 0x6a, Some(0x0100_1008)),
            ("EPYC 9004", "AuthenticAMD", 25, 17, None),
            ("an unknown model", "GenuineIntel", 6, 0xff, None),
        ] {
            assert_eq!(walk_cycles_of(vendor, family, model), expected, "case: {name}");
        }
    }

    const PAGES: u64 = 64;

    /// Maps [`PAGES`] base pages that nobody has touched, and passes them to the function.
    fn with_new_pages(touch: impl FnOnce(&mut [u8])) {
        use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};
        let bytes = PAGES as usize * rustix::param::page_size();
        let access = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping of this size at an address that the kernel chooses, given back below.
        let memory =
            unsafe { mmap_anonymous(std::ptr::null_mut(), bytes, access, MapFlags::PRIVATE) };
        let memory = memory.expect("some pages");
        // SAFETY: advice changes no content.
        unsafe { madvise(memory, bytes, Advice::LinuxNoHugepage) }.expect("base pages");
        // SAFETY: nobody else uses the mapping; the pages begin with zeros.
        touch(unsafe { std::slice::from_raw_parts_mut(memory.cast::<u8>(), bytes) });
        // SAFETY: nothing borrows from it any more.
        unsafe { munmap(memory, bytes) }.expect("it was mapped");
    }

    fn write_every_page(slice: &mut [u8]) {
        slice.iter_mut().step_by(rustix::param::page_size()).for_each(|byte| *byte = 1);
        std::hint::black_box(slice);
    }

    #[test]
    fn page_faults_of_the_thread_are_counted_and_what_is_not_has_a_reason() {
        let counts = Counts::open(Counted::PageWalks, true);
        let faults =
            || counts.read().iter().find(|(name, _)| *name == FAULTS).map(|(_, count)| *count);
        let Some(before) = faults() else {
            return anechoic_lab::note::skipped("perf events are not permitted");
        };
        with_new_pages(write_every_page);
        let counted = faults().expect("counted") - before;
        assert!(counted >= PAGES, "{counted}");
        for missing in &counts.not_available {
            assert!(!missing.why.is_empty() && !missing.remedy.is_empty(), "{missing:?}");
        }
        assert_eq!(counts.open.len() + counts.not_available.len(), 3);
    }

    #[test]
    fn faults_of_the_program_and_of_the_kernel_are_told_apart() {
        let counts = Counts::open(Counted::Caches, true);
        let faults = || {
            let found = counts.read();
            let count = |name: &str| {
                found.iter().find(|(counted, _)| *counted == name).map(|(_, count)| *count)
            };
            Some(FAULTS_IN.map(count)).and_then(|[user, kernel]| user.zip(kernel))
        };
        if faults().is_none() {
            return anechoic_lab::note::skipped("perf events of the kernel are not permitted");
        }
        // Returns by how much both counts grow when all pages of new memory are touched.
        let grown = |touch: &dyn Fn(&mut [u8])| {
            let mut grown = (0, 0);
            with_new_pages(|slice| {
                let before = faults().expect("counted");
                touch(slice);
                let after = faults().expect("counted");
                grown = (after.0 - before.0, after.1 - before.1);
            });
            grown
        };
        let (user, kernel) = grown(&write_every_page);
        assert!(user >= PAGES && kernel < PAGES / 2, "touched by the program: {user}, {kernel}");
        let zero = std::fs::File::open("/dev/zero").expect("a device");
        let (user, kernel) = grown(&|slice| {
            let bytes = slice.len();
            assert_eq!(read(&zero, slice).expect("zeros"), bytes);
        });
        assert!(kernel >= PAGES && user < PAGES / 2, "touched by the kernel: {user}, {kernel}");
    }
}
