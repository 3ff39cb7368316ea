//! Whether BPF programs may be loaded, and whether one can tell steal of single detours.

use super::{Found, Scene};
use crate::steal;
use std::io;
use std::os::fd::{FromRawFd, OwnedFd};

pub(super) fn programs(_: &Scene) -> Found {
    let error = match load() {
        Ok(()) => return Found::good("programs can be loaded"),
        Err(error) => error,
    };
    match error.raw_os_error() {
        Some(libc::EPERM | libc::EACCES) => Found::missing(
            "not permitted to load programs",
            "run as root or with: setcap cap_bpf,cap_perfmon+ep ANECHOIC",
        ),
        Some(libc::ENOSYS) => {
            Found::missing("not in this kernel", "use a kernel built with CONFIG_BPF_SYSCALL")
        }
        _ => Found::missing(
            format!("programs cannot be loaded: {error}"),
            "use a kernel built with CONFIG_BPF_EVENTS",
        ),
    }
}

pub(super) fn steal(scene: &Scene) -> Found {
    match steal::supported() {
        Ok(()) => Found::good("read at every tick, in nanoseconds"),
        Err(_) if scene.machine.hypervisor.is_none() => {
            Found::fact("not needed: no hypervisor is seen")
        }
        Err(error) => Found::refused(&error),
    }
}

const BPF_PROG_LOAD: libc::c_long = 5;
const BPF_PROG_TYPE_RAW_TRACEPOINT: u32 = 17;

/// The leading part of `union bpf_attr` that `BPF_PROG_LOAD` reads.
#[repr(C)]
struct Load {
    kind: u32,
    instruction_count: u32,
    instructions: u64,
    license: u64,
    log_level: u32,
    log_size: u32,
    log: u64,
    kernel_version: u32,
    flags: u32,
}

/// Loads a program that returns 0, of the kind that tracing uses, and drops it.
fn load() -> io::Result<()> {
    // Each is one byte of code, one of registers, and the operands: r0 = 0; exit.
    let code: [[u8; 8]; 2] = [[0xb7, 0, 0, 0, 0, 0, 0, 0], [0x95, 0, 0, 0, 0, 0, 0, 0]];
    let attributes = Load {
        kind: BPF_PROG_TYPE_RAW_TRACEPOINT,
        instruction_count: 2,
        instructions: code.as_ptr() as u64,
        license: c"Dual MIT/GPL".as_ptr() as u64,
        log_level: 0,
        log_size: 0,
        log: 0,
        kernel_version: 0,
        flags: 0,
    };
    // SAFETY: the attributes and what they point to live through the call, which only reads them.
    let fd = unsafe {
        libc::syscall(libc::SYS_bpf, BPF_PROG_LOAD, &raw const attributes, size_of::<Load>())
    };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel just gave us this descriptor.
    drop(unsafe { OwnedFd::from_raw_fd(fd as i32) });
    Ok(())
}
