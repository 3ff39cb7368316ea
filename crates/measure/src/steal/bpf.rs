//! The bpf(2) system call, as far as it is needed here: maps, one program, one tracepoint.
//!
//! Structures, numbers and names are those of `include/uapi/linux/bpf.h`; each structure is the
//! leading part of `union bpf_attr` that the command reads.

use std::ffi::{CStr, c_long};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

const BPF_MAP_CREATE: c_long = 0;
const BPF_MAP_LOOKUP_ELEM: c_long = 1;
const BPF_MAP_UPDATE_ELEM: c_long = 2;
const BPF_PROG_LOAD: c_long = 5;
const BPF_RAW_TRACEPOINT_OPEN: c_long = 17;

const BPF_PROG_TYPE_RAW_TRACEPOINT: u32 = 17;
const BPF_PROG_TYPE_TRACING: u32 = 26;
/// Instruction codes: put an immediate value into a register, end the program.
const MOVE_IMMEDIATE: u8 = 0xb7;
const EXIT: u8 = 0x95;
const BPF_TRACE_RAW_TP: u32 = 23;

/// Kinds of map.
#[derive(Debug, Clone, Copy)]
pub(super) enum MapKind {
    /// One array per CPU.
    PerCpuArray = 6,
    /// Records of any length, written by the kernel and read through shared memory.
    RingBuffer = 27,
}

/// Enough for what the verifier says of a program of some fifty instructions.
const LOG_BYTES: usize = 64 << 10;

/// One eBPF instruction, as the kernel takes it.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Instruction {
    pub(super) code: u8,
    /// Destination in the lower four bits, source in the upper (little-endian machines).
    pub(super) registers: u8,
    pub(super) offset: i16,
    pub(super) immediate: i32,
}

#[repr(C)]
#[derive(Default)]
struct MapCreate {
    kind: u32,
    key_size: u32,
    value_size: u32,
    max_entries: u32,
    flags: u32,
    inner_map_fd: u32,
    numa_node: u32,
    name: [u8; 16],
}

#[repr(C)]
#[derive(Default)]
struct MapElement {
    map_fd: u32,
    padding: u32,
    key: u64,
    value: u64,
    flags: u64,
}

#[repr(C)]
#[derive(Default)]
struct ProgramLoad {
    kind: u32,
    instruction_count: u32,
    instructions: u64,
    license: u64,
    log_level: u32,
    log_size: u32,
    log: u64,
    kernel_version: u32,
    flags: u32,
    name: [u8; 16],
    interface: u32,
    attach_type: u32,
    /// `prog_btf_fd` up to `line_info_cnt`: describes the program's own types; it has none.
    unused: [u32; 9],
    attach_btf_id: u32,
    attach_btf_object: u32,
}

#[repr(C)]
#[derive(Default)]
struct RawTracepointOpen {
    name: u64,
    program_fd: u32,
    padding: u32,
}

/// # Safety
/// Every address inside `attributes` must be valid for what `command` does with it.
unsafe fn bpf<T>(command: c_long, attributes: &mut T) -> io::Result<c_long> {
    let pointer: *mut T = attributes;
    // SAFETY: the kernel reads exactly the size given; the rest is the caller's promise.
    let result = unsafe { libc::syscall(libc::SYS_bpf, command, pointer, size_of::<T>()) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// # Safety
/// As [`bpf`]; and `command` must be one that returns a new file descriptor.
unsafe fn bpf_open<T>(command: c_long, attributes: &mut T) -> io::Result<OwnedFd> {
    // SAFETY: passed on to the caller.
    let fd = unsafe { bpf(command, attributes)? };
    // SAFETY: the kernel just made it for us alone.
    Ok(unsafe { OwnedFd::from_raw_fd(fd as i32) })
}

fn fd_number(fd: &OwnedFd) -> u32 {
    fd.as_raw_fd() as u32 // never negative
}

/// What `bpftool` shows; at most 15 characters.
const NAME: [u8; 16] = *b"anechoic_steal\0\0";

/// Makes a map. A ring buffer has no keys and values; its `max_entries` are bytes.
pub(super) fn create_map(
    kind: MapKind,
    key_size: u32,
    value_size: u32,
    max_entries: u32,
) -> io::Result<OwnedFd> {
    let kind = kind as u32;
    let mut attributes =
        MapCreate { kind, key_size, value_size, max_entries, name: NAME, ..Default::default() };
    // SAFETY: no addresses inside; the command returns a descriptor.
    unsafe { bpf_open(BPF_MAP_CREATE, &mut attributes) }
}

/// An array that has one element per possible CPU, each of `WORDS` 64-bit words.
pub(super) struct PerCpu<const WORDS: usize> {
    fd: OwnedFd,
    cpus: usize,
}

impl<const WORDS: usize> PerCpu<WORDS> {
    /// `possible_cpus` must not be less than the kernel's count, or reads would write beyond.
    pub(super) fn new(possible_cpus: usize) -> io::Result<Self> {
        let fd = create_map(MapKind::PerCpuArray, 4, 8 * WORDS as u32, 1)?;
        Ok(PerCpu { fd, cpus: possible_cpus })
    }

    pub(super) fn fd(&self) -> &OwnedFd {
        &self.fd
    }

    /// The element of every possible CPU, in the order of the kernel's list of possible CPUs.
    pub(super) fn read(&self) -> io::Result<Vec<[u64; WORDS]>> {
        let mut values = vec![[0; WORDS]; self.cpus];
        self.element(BPF_MAP_LOOKUP_ELEM, &mut values)?;
        Ok(values)
    }

    /// Sets the element of every possible CPU.
    pub(super) fn write(&self, mut values: Vec<[u64; WORDS]>) -> io::Result<()> {
        values.resize(self.cpus, [0; WORDS]);
        self.element(BPF_MAP_UPDATE_ELEM, &mut values)
    }

    fn element(&self, command: c_long, values: &mut [[u64; WORDS]]) -> io::Result<()> {
        let key = 0_u32;
        let mut attributes = MapElement {
            map_fd: fd_number(&self.fd),
            key: (&raw const key) as u64,
            value: values.as_mut_ptr() as u64,
            ..Default::default()
        };
        // SAFETY: the key is 4 bytes; the values are 8 × WORDS bytes for each possible CPU.
        unsafe { bpf(command, &mut attributes).map(drop) }
    }
}

/// Why the kernel did not take a program.
#[derive(Debug)]
pub(super) struct LoadError {
    pub(super) error: io::Error,
    /// The verifier's last words; empty if it said nothing.
    pub(super) verdict: String,
}

/// Loads a program for the tracepoint whose `btf_trace_NAME` typedef has number `tracepoint`.
///
/// `license` decides which parts of the kernel it may use.
pub(super) fn load(
    code: &[Instruction],
    license: &CStr,
    tracepoint: u32,
) -> Result<OwnedFd, LoadError> {
    let mut log = vec![0_u8; LOG_BYTES];
    let mut attributes = ProgramLoad {
        kind: BPF_PROG_TYPE_TRACING,
        instruction_count: code.len() as u32,
        instructions: code.as_ptr() as u64,
        license: license.as_ptr() as u64,
        log_level: 1,
        log_size: LOG_BYTES as u32,
        log: log.as_mut_ptr() as u64,
        name: NAME,
        attach_type: BPF_TRACE_RAW_TP,
        attach_btf_id: tracepoint,
        ..Default::default()
    };
    // SAFETY: instructions, license and log live until the call returns, with the sizes given.
    unsafe { bpf_open(BPF_PROG_LOAD, &mut attributes) }
        .map_err(|error| LoadError { error, verdict: verdict(&log) })
}

/// Loads a program that does nothing, of the kind that needs no knowledge of the kernel's types.
pub(super) fn load_nothing(license: &CStr) -> io::Result<OwnedFd> {
    let instruction = |code| Instruction { code, registers: 0, offset: 0, immediate: 0 };
    let code = [instruction(MOVE_IMMEDIATE), instruction(EXIT)]; // r0 = 0; exit
    let mut attributes = ProgramLoad {
        kind: BPF_PROG_TYPE_RAW_TRACEPOINT,
        instruction_count: code.len() as u32,
        instructions: code.as_ptr() as u64,
        license: license.as_ptr() as u64,
        ..Default::default()
    };
    // SAFETY: instructions and license live until the call returns, with the sizes given.
    unsafe { bpf_open(BPF_PROG_LOAD, &mut attributes) }
}

/// The last line of a verifier log that is no statistic.
fn verdict(log: &[u8]) -> String {
    let text = log.split(|&byte| byte == 0).next().unwrap_or_default();
    let text = String::from_utf8_lossy(text);
    let said = |line: &&str| !line.trim().is_empty() && !line.starts_with("processed ");
    text.lines().rfind(said).unwrap_or_default().trim().to_owned()
}

/// Runs a loaded program at its tracepoint from now until the returned descriptor is closed.
pub(super) fn attach(program: &OwnedFd) -> io::Result<OwnedFd> {
    // The program was loaded for one tracepoint, so no name is given.
    let mut attributes = RawTracepointOpen { program_fd: fd_number(program), ..Default::default() };
    // SAFETY: no addresses inside; the command returns a descriptor.
    unsafe { bpf_open(BPF_RAW_TRACEPOINT_OPEN, &mut attributes) }
}

#[cfg(test)]
mod tests {
    use super::verdict;

    #[test]
    fn the_verdict_is_the_last_line_that_says_something() {
        let cases: &[(&str, &[u8], &str)] = &[
            ("none", b"\0\0", ""),
            ("not even a terminator", b"", ""),
            (
                "usual",
                b"0: (79) r1\nR1 invalid mem access\nprocessed 3 insns\n\0",
                "R1 invalid mem access",
            ),
            ("statistics only", b"processed 3 insns (limit 1000000)\n\0", ""),
            ("no text", b"\xff\n\0rest", "\u{fffd}"),
        ];
        for (name, log, expected) in cases {
            assert_eq!(verdict(log), *expected, "case: {name}");
        }
    }
}
