//! Checks whether BPF programs can be loaded, and whether one can read steal time per detour.

use super::{RowResult, Scene};
use crate::{bpf, rights, steal};
use anechoic_recording::in_words;

pub(super) fn programs(_: &Scene) -> RowResult {
    let error = match bpf::may_load() {
        Ok(()) => return RowResult::good("programs can be loaded"),
        Err(error) => error,
    };
    match error.raw_os_error() {
        Some(libc::EPERM | libc::EACCES) => RowResult::missing(
            "not permitted to load programs",
            rights::remedy("cap_bpf,cap_perfmon"),
        ),
        Some(libc::ENOSYS) => {
            RowResult::missing("not in this kernel", "use a kernel built with CONFIG_BPF_SYSCALL")
        }
        _ => RowResult::missing(
            format!("programs fail to load: {}", in_words(&error)),
            "use a kernel built with CONFIG_BPF_EVENTS",
        ),
    }
}

pub(super) fn steal(scene: &Scene) -> RowResult {
    match steal::supported() {
        Ok(()) => RowResult::good("read at every timer tick, in nanoseconds"),
        Err(_) if scene.machine.hypervisor.is_none() => {
            RowResult::fact("not needed: no hypervisor detected")
        }
        Err(error) => RowResult::refused(error.into()),
    }
}
