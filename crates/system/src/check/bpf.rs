//! Checks whether BPF programs can be loaded, and whether one can read steal time per detour.

use super::{Found, Scene};
use crate::{bpf, steal};

pub(super) fn programs(_: &Scene) -> Found {
    let error = match bpf::may_load() {
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
            format!("programs fail to load: {error}"),
            "use a kernel built with CONFIG_BPF_EVENTS",
        ),
    }
}

pub(super) fn steal(scene: &Scene) -> Found {
    match steal::supported() {
        Ok(()) => Found::good("read at every timer tick, in nanoseconds"),
        Err(_) if scene.machine.hypervisor.is_none() => {
            Found::fact("not needed: no hypervisor detected")
        }
        Err(error) => Found::refused(error.into()),
    }
}
