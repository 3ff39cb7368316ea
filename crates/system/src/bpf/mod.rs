//! The bpf(2) system call, as far as we need it: maps, programs, tracepoints.
//!
//! Structures, numbers and names are those of `include/uapi/linux/bpf.h`; each structure is the leading part
//! of `union bpf_attr` that the command reads. Everything created in the kernel belongs to file descriptors
//! and ends with them.

mod assembler;
mod map;
mod types;

use bytemuck::NoUninit;
use std::ffi::{CStr, c_long};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

pub(crate) use assembler::KERNEL_SYMBOL;
pub use assembler::{
    Assembler, Instruction, KTIME_GET_NS, MAP, R0, R1, R2, R3, R4, Register, STACK, link,
};
pub use map::{Array, PerCpu};
pub(crate) use map::{MapKind, create_map};
use types::FunctionInfo;
pub use types::{TIMER_WORDS, Types};

const BPF_PROG_LOAD: c_long = 5;
const BPF_PROG_TEST_RUN: c_long = 10;
const BPF_RAW_TRACEPOINT_OPEN: c_long = 17;

const BPF_PROG_TYPE_PERF_EVENT: u32 = 7;
const BPF_PROG_TYPE_RAW_TRACEPOINT: u32 = 17;
const BPF_PROG_TYPE_TRACING: u32 = 26;
const BPF_PROG_TYPE_SYSCALL: u32 = 31;
const BPF_TRACE_RAW_TP: u32 = 23;
/// The kernel requires this flag for programs of type `BPF_PROG_TYPE_SYSCALL`.
const BPF_F_SLEEPABLE: u32 = 1 << 4;

/// The kernel does not accept "MIT" or "Apache-2.0" for programs that read its structures or the time; it
/// accepts our MIT licence under this name.
const LICENSE: &CStr = c"Dual MIT/GPL";

/// `BPF_LOG_STATS`: log what is wrong with a program and some statistics, without a line for each verified
/// instruction.
const LOG_LEVEL: u32 = 4;
const LOG_BYTES: usize = 16 << 10;

/// What triggers a program.
#[derive(Debug, Clone, Copy)]
pub enum ProgramKind {
    /// A sample of the perf event that it is attached to.
    PerfEvent,
    /// Any tracepoint; needs no knowledge of the kernel's types.
    RawTracepoint,
    /// The tracepoint whose typedef `btf_trace_NAME` has this type id.
    Tracing {
        /// The type id.
        tracepoint: u32,
    },
    /// A call of [`run`].
    SystemCall,
}

#[repr(C)]
#[derive(Default, Clone, Copy, NoUninit)]
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
    types: u32,
    function_info_size: u32,
    function_info: u64,
    function_count: u32,
    /// The fields from `line_info_rec_size` to `line_info_cnt`; we have no source lines.
    unused: [u32; 4],
    attach_btf_id: u32,
    attach_btf_object: u32,
    padding: u32,
}

#[repr(C)]
#[derive(Default, Clone, Copy, NoUninit)]
struct RawTracepointOpen {
    name: u64,
    program_fd: u32,
    padding: u32,
}

#[repr(C)]
#[derive(Default, Clone, Copy, NoUninit)]
struct TestRun {
    program_fd: u32,
    returned: u32,
    data_size_in: u32,
    data_size_out: u32,
    data_in: u64,
    data_out: u64,
    repeat: u32,
    duration: u32,
    context_size_in: u32,
    context_size_out: u32,
    context_in: u64,
    context_out: u64,
}

/// The kernel refuses attributes with unknown bytes set, so padding is an explicit field and `T` has no
/// uninitialised bytes.
///
/// # Safety
/// Every address in `attributes` must be valid for what `command` does with it.
unsafe fn bpf<T: NoUninit>(command: c_long, attributes: &mut T) -> io::Result<c_long> {
    let pointer: *mut T = attributes;
    // SAFETY: the kernel reads exactly this size; the caller guarantees the rest.
    let result = unsafe { libc::syscall(libc::SYS_bpf, command, pointer, size_of::<T>()) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// # Safety
/// The conditions of [`bpf`] apply, and `command` must return a new file descriptor.
unsafe fn bpf_open<T: NoUninit>(command: c_long, attributes: &mut T) -> io::Result<OwnedFd> {
    // SAFETY: guaranteed by the caller.
    let fd = unsafe { bpf(command, attributes)? };
    // SAFETY: the kernel has just created the descriptor for us alone.
    Ok(unsafe { OwnedFd::from_raw_fd(fd as i32) })
}

/// Returns the byte offset of a 64-bit word.
#[must_use]
pub const fn byte(word: usize) -> i16 {
    8 * word as i16
}

fn fd_number(fd: &OwnedFd) -> u32 {
    fd.as_raw_fd() as u32 // never negative
}

/// Returns a name for `bpftool`: the first 15 letters, digits and `_`.
fn name_bytes(name: &str) -> [u8; 16] {
    let mut bytes = [0; 16];
    bytes.iter_mut().zip(name.bytes().take(15)).for_each(|(to, from)| *to = from);
    bytes
}

/// Why the kernel rejected a program.
#[derive(Debug)]
pub struct LoadError {
    /// The error of the system call.
    pub error: io::Error,
    /// The last line of the verifier's log, or that there is none.
    pub verdict: String,
}

/// Loads a program. It runs once it is attached to the trigger of its kind. A program of several functions has types
/// with their names, and the instructions at which they begin.
pub fn load(
    name: &str,
    kind: ProgramKind,
    code: &[Instruction],
    typed: Option<(&Types, &[u32])>,
) -> Result<OwnedFd, LoadError> {
    let functions = typed.map_or(Vec::new(), |(_, starts)| Types::functions(starts));
    let mut log = vec![0_u8; LOG_BYTES];
    let mut attributes = ProgramLoad {
        instruction_count: code.len() as u32,
        instructions: code.as_ptr() as u64,
        license: LICENSE.as_ptr() as u64,
        log_level: LOG_LEVEL,
        log_size: LOG_BYTES as u32,
        log: log.as_mut_ptr() as u64,
        name: name_bytes(name),
        ..Default::default()
    };
    if let Some((types, _)) = typed {
        attributes.types = types.number();
        attributes.function_info_size = size_of::<FunctionInfo>() as u32;
        attributes.function_info = functions.as_ptr() as u64;
        attributes.function_count = functions.len() as u32;
    }
    match kind {
        ProgramKind::PerfEvent => attributes.kind = BPF_PROG_TYPE_PERF_EVENT,
        ProgramKind::RawTracepoint => attributes.kind = BPF_PROG_TYPE_RAW_TRACEPOINT,
        ProgramKind::Tracing { tracepoint } => {
            attributes.kind = BPF_PROG_TYPE_TRACING;
            attributes.attach_type = BPF_TRACE_RAW_TP;
            attributes.attach_btf_id = tracepoint;
        }
        ProgramKind::SystemCall => {
            attributes.kind = BPF_PROG_TYPE_SYSCALL;
            attributes.flags = BPF_F_SLEEPABLE;
        }
    }
    // SAFETY: instructions, license, functions and log have the given sizes and live until the call returns.
    unsafe { bpf_open(BPF_PROG_LOAD, &mut attributes) }
        .map_err(|error| LoadError { error, verdict: verdict(&log) })
}

/// Returns the last line of a verifier log that is not a statistic.
fn verdict(log: &[u8]) -> String {
    const STATISTICS: [&str; 3] = ["processed ", "verification time ", "stack depth "];
    let text = log.split(|&byte| byte == 0).next().unwrap_or_default();
    let text = String::from_utf8_lossy(text);
    let is_message = |line: &&str| {
        !line.trim().is_empty() && !STATISTICS.iter().any(|start| line.starts_with(start))
    };
    text.lines().rfind(is_message).map_or("no reason given", str::trim).to_owned()
}

/// Checks whether this process may load programs at all.
///
/// # Errors
/// Returns the kernel's error.
pub(crate) fn may_load() -> io::Result<()> {
    let nothing = Assembler::default().end();
    let loaded = load("anechoic_probe", ProgramKind::RawTracepoint, &nothing, None);
    loaded.map(drop).map_err(|refused| refused.error)
}

/// Runs a [`ProgramKind::Tracing`] program at its tracepoint until the returned descriptor is closed.
pub(crate) fn attach(program: &OwnedFd) -> io::Result<OwnedFd> {
    // The program was loaded for one tracepoint, so it needs no name.
    let mut attributes = RawTracepointOpen { program_fd: fd_number(program), ..Default::default() };
    // SAFETY: the attributes contain no addresses, and the command returns a descriptor.
    unsafe { bpf_open(BPF_RAW_TRACEPOINT_OPEN, &mut attributes) }
}

/// Runs a [`ProgramKind::SystemCall`] program once on this CPU, with words that it can read; returns its
/// result.
pub fn run<const WORDS: usize>(program: &OwnedFd, context: [u64; WORDS]) -> io::Result<i32> {
    let mut attributes = TestRun {
        program_fd: fd_number(program),
        context_size_in: size_of_val(&context) as u32,
        context_in: context.as_ptr() as u64,
        ..Default::default()
    };
    // SAFETY: the context has the given size and lives until the call returns.
    unsafe { bpf(BPF_PROG_TEST_RUN, &mut attributes)? };
    Ok(attributes.returned.cast_signed())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_verdict_is_the_last_line_that_says_something() {
        let cases: &[(&str, &[u8], &str)] = &[
            ("none", b"\0\0", "no reason given"),
            ("not even a terminator", b"", "no reason given"),
            (
                "usual",
                b"0: (79) r1\nR1 invalid mem access\nprocessed 3 insns\n\0",
                "R1 invalid mem access",
            ),
            (
                "with statistics",
                b"infinite loop detected\nverification time 9 usec\nstack depth 8\nprocessed 3 insns\n\0",
                "infinite loop detected",
            ),
            ("statistics only", b"processed 3 insns (limit 1000000)\n\0", "no reason given"),
            ("no text", b"\xff\n\0rest", "\u{fffd}"),
        ];
        for (name, log, expected) in cases {
            assert_eq!(verdict(log), *expected, "case: {name}");
        }
    }

    #[test]
    fn names_are_cut_to_what_the_kernel_takes() {
        assert_eq!(name_bytes("spin"), *b"spin\0\0\0\0\0\0\0\0\0\0\0\0");
        assert_eq!(name_bytes("a_name_that_is_too_long"), *b"a_name_that_is_\0");
    }

    /// The verifier really rejects a program, and its message is returned.
    #[test]
    fn the_verifier_is_quoted() {
        if let Err(reason) = may_load() {
            anechoic_lab::note::skipped(reason);
            return;
        }
        let mut wrong = Assembler::default();
        wrong.load(R1, R2, 0); // r2 was never set
        let refused =
            load("wrong", ProgramKind::PerfEvent, &wrong.end(), None).expect_err("a bad program");
        assert_eq!(refused.verdict, "R2 !read_ok");
    }
}
