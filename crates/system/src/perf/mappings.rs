//! Which files all processes map as code, from perf events: also those of processes that end at once.
//!
//! Layout of the records: `PERF_RECORD_*` in `include/uapi/linux/perf_event.h`.

use super::{open, software};
use crate::little_endian::{half, long, word};
use perf_event_open_sys::bindings::{
    PERF_COUNT_SW_DUMMY, PERF_RECORD_COMM, PERF_RECORD_EXIT, PERF_RECORD_FORK, PERF_RECORD_LOST,
    PERF_RECORD_MISC_COMM_EXEC, PERF_RECORD_MMAP2, PERF_SAMPLE_TIME, perf_event_mmap_page,
};
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use std::ffi::c_void;
use std::io;
use std::os::fd::OwnedFd;
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering};

/// Size of the records that one CPU keeps until they are read, in bytes: a power of two of whole pages.
const RING_BYTES: usize = 512 * 1024;
/// The header of a record: its type, flags and length.
const HEADER_BYTES: usize = 8;

/// A change of what a process maps as code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Change {
    /// When, on `CLOCK_MONOTONIC`.
    pub at_ns: u64,
    /// The process.
    pub process: u32,
    /// What happened.
    pub kind: ChangeKind,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ChangeKind {
    /// It mapped a part of a file, or memory without one.
    Mapped(Mapped),
    /// It began with everything that this process maps.
    Forked(u32),
    /// It executes another program, and maps nothing yet.
    Executed,
    /// Its first thread ended.
    Ended,
}

/// A part of a file that is mapped as code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mapped {
    /// Where it begins in memory.
    pub start: u64,
    /// Its length in bytes.
    pub length: u64,
    /// Where it begins in the file.
    pub offset: u64,
    /// The number of the file in its file system; 0 if it is none.
    pub inode: u64,
    /// Which file with that number it is; 0 if that is not known.
    pub generation: u64,
    /// The device of the file system: its larger and its smaller number.
    pub device: (u32, u32),
    /// The file's path, or what the kernel calls it.
    pub file: String,
}

/// Reads the changes of all processes.
pub(crate) struct Mappings {
    rings: Vec<Ring>,
}

impl Mappings {
    /// Begins to record them on these CPUs.
    ///
    /// # Errors
    /// Returns the kernel's error if this process may not do that.
    pub(crate) fn start(cpus: &[u32]) -> io::Result<Self> {
        Ok(Self { rings: cpus.iter().map(|&cpu| Ring::open(cpu)).collect::<io::Result<_>>()? })
    }

    /// Returns the changes since the last call, in the order of time, and how many records were lost.
    pub(crate) fn read(&mut self) -> (Vec<Change>, u64) {
        let (mut changes, mut lost) = (vec![], 0);
        for ring in &mut self.rings {
            let records = ring.take();
            let mut rest = &records[..];
            while let Some((kind, flags, body)) = next(&mut rest) {
                match kind {
                    PERF_RECORD_LOST => lost += long(body, 8),
                    _ => changes.extend(change(kind, flags, body)),
                }
            }
        }
        changes.sort_by_key(|change| change.at_ns);
        (changes, lost)
    }
}

/// Splits off the next record: its type, its flags, and what follows its header.
fn next<'a>(rest: &mut &'a [u8]) -> Option<(u32, u32, &'a [u8])> {
    let (kind, flags) = (word(rest, 0), u32::from(half(rest, 4)));
    let length = usize::from(half(rest, 6));
    let record = rest.get(..length.max(HEADER_BYTES))?;
    *rest = &rest[record.len()..];
    Some((kind, flags, &record[HEADER_BYTES..]))
}

fn change(kind: u32, flags: u32, body: &[u8]) -> Option<Change> {
    let process = word(body, 0);
    let last = |bytes: usize| body.len().checked_sub(bytes).map(|at| long(body, at));
    let (at_ns, kind) = match kind {
        PERF_RECORD_MMAP2 => {
            let name = body.get(64..body.len().checked_sub(8)?)?;
            let name = name.split(|&byte| byte == 0).next().unwrap_or_default();
            let mapped = Mapped {
                start: long(body, 8),
                length: long(body, 16),
                offset: long(body, 24),
                inode: long(body, 40),
                generation: long(body, 48),
                device: (word(body, 32), word(body, 36)),
                file: String::from_utf8_lossy(name).into_owned(),
            };
            (last(8)?, ChangeKind::Mapped(mapped))
        }
        // A thread of the same process maps what that maps.
        PERF_RECORD_FORK if process != word(body, 4) => {
            (long(body, 16), ChangeKind::Forked(word(body, 4)))
        }
        // Where its first thread ends before the others, what it maps is read again.
        PERF_RECORD_EXIT if process == word(body, 8) => (long(body, 16), ChangeKind::Ended),
        PERF_RECORD_COMM if flags & PERF_RECORD_MISC_COMM_EXEC != 0 => {
            (last(8)?, ChangeKind::Executed)
        }
        _ => return None,
    };
    Some(Change { at_ns, process, kind })
}

/// The records of one CPU.
struct Ring {
    start: *mut c_void,
    page: usize,
    _event: OwnedFd,
}

impl Ring {
    fn open(cpu: u32) -> io::Result<Self> {
        let mut attr = software(PERF_COUNT_SW_DUMMY);
        attr.set_mmap(1);
        attr.set_mmap2(1);
        attr.set_task(1);
        attr.set_comm(1);
        attr.set_comm_exec(1);
        attr.set_sample_id_all(1);
        attr.sample_type = PERF_SAMPLE_TIME.into();
        attr.set_use_clockid(1);
        attr.clockid = libc::CLOCK_MONOTONIC;
        let cpu = i32::try_from(cpu).map_err(|_| io::ErrorKind::InvalidInput)?;
        let event = open(&mut attr, -1, cpu)?;
        let page = rustix::param::page_size();
        let access = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: the kernel chooses the address, so no memory in use is replaced.
        let start = unsafe {
            mmap(ptr::null_mut(), page + RING_BYTES, access, MapFlags::SHARED, &event, 0)?
        };
        Ok(Self { start, page, _event: event })
    }

    /// Takes out all records so far.
    fn take(&mut self) -> Vec<u8> {
        let control = self.start.cast::<perf_event_mmap_page>();
        // SAFETY: the kernel keeps this page at the start of the mapping, which lives as long as `self`; the positions in
        // it are aligned, and both sides change them atomically.
        let (head, tail) = unsafe {
            (
                AtomicU64::from_ptr(&raw mut (*control).data_head),
                AtomicU64::from_ptr(&raw mut (*control).data_tail),
            )
        };
        let (from, to) = (tail.load(Ordering::Relaxed), head.load(Ordering::Acquire));
        let length = (to.wrapping_sub(from) as usize).min(RING_BYTES);
        let begin = from as usize & (RING_BYTES - 1);
        let first = length.min(RING_BYTES - begin);
        let mut records = vec![0; length];
        // SAFETY: both parts lie in the data, `RING_BYTES` behind the control page, and in `records`. The kernel does not
        // write between the positions.
        unsafe {
            let data = self.start.byte_add(self.page).cast::<u8>();
            ptr::copy_nonoverlapping(data.add(begin), records.as_mut_ptr(), first);
            ptr::copy_nonoverlapping(data, records.as_mut_ptr().add(first), length - first);
        }
        tail.store(to, Ordering::Release);
        records
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours, and nothing borrowed from it outlives it.
        let _ = unsafe { munmap(self.start, self.page + RING_BYTES) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(kind: u32, flags: u16, body: &[u8]) -> Vec<u8> {
        let length = (HEADER_BYTES + body.len()) as u16;
        [&kind.to_le_bytes()[..], &flags.to_le_bytes(), &length.to_le_bytes(), body].concat()
    }

    fn words(words: &[u32]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    #[test]
    fn records_are_read_and_damage_ends_them() {
        let exec = PERF_RECORD_MISC_COMM_EXEC as u16;
        let mapped = [
            words(&[7, 8, 0x1000, 0, 0x2000, 0, 0x3000, 0, 1, 2, 99, 0, 0, 0, 5, 2]),
            b"/bin/true\0\0\0\0\0\0\0".to_vec(),
            words(&[500, 0]),
        ];
        let thread = words(&[7, 7, 9, 7, 400, 0]);
        let child = words(&[9, 7, 9, 7, 400, 0]);
        let named = [&words(&[7, 7])[..], b"true\0\0\0\0", &words(&[450, 0])].concat();
        let all = [
            record(PERF_RECORD_FORK, 0, &thread),
            record(PERF_RECORD_FORK, 0, &child),
            record(PERF_RECORD_COMM, 0, &named),
            record(PERF_RECORD_COMM, exec, &named),
            record(PERF_RECORD_MMAP2, 0, &mapped.concat()),
            record(PERF_RECORD_EXIT, 0, &child),
            record(PERF_RECORD_EXIT, 0, &words(&[7, 6, 8, 6, 400, 0])),
            record(PERF_RECORD_MMAP2, 0, &[]),
            record(PERF_RECORD_COMM, exec, &[]),
            record(77, 0, &[]),
        ];
        let bytes = all.concat();
        let mut rest = &bytes[..];
        let mut found = vec![];
        while let Some((kind, flags, body)) = next(&mut rest) {
            found.extend(change(kind, flags, body));
        }
        let file = Mapped {
            start: 0x1000,
            length: 0x2000,
            offset: 0x3000,
            inode: 99,
            generation: 0,
            device: (1, 2),
            file: "/bin/true".into(),
        };
        let expected = [
            (400, 9, ChangeKind::Forked(7)),
            (450, 7, ChangeKind::Executed),
            (500, 7, ChangeKind::Mapped(file)),
            (400, 9, ChangeKind::Ended),
        ];
        let expected = expected.map(|(at_ns, process, kind)| Change { at_ns, process, kind });
        assert_eq!(found, expected);
        assert!(rest.is_empty());
        for length in 0..bytes.len() {
            let mut rest = &bytes[..length];
            while next(&mut rest).is_some() {} // ends
        }
    }

    #[test]
    fn a_process_that_ends_at_once_is_seen() {
        let cpus = crate::cpus::online();
        let mut mappings = match Mappings::start(&cpus) {
            Ok(mappings) => mappings,
            Err(error) => return println!("not tested: {error}"),
        };
        let mut child = std::process::Command::new("/bin/true").spawn().expect("it starts");
        child.wait().expect("it ends");
        let (changes, _) = mappings.read();
        let mut own = changes.iter().filter(|change| change.process == child.id());
        let is_program = |change: &Change| matches!(&change.kind, ChangeKind::Mapped(it) if it.file.ends_with("/true"));
        assert!(own.clone().any(|change| change.kind == ChangeKind::Executed), "{changes:?}");
        assert!(own.any(is_program), "{changes:?}");
    }
}
