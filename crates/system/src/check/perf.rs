//! Checks perf events: hardware counters, and the software clock that makes interrupts.

use super::{RowResult, Scene};
use crate::perf::open;
use crate::rights::perf_remedy;
use anechoic_recording::in_words;
use perf_event_open_sys::bindings::{
    PERF_COUNT_HW_CPU_CYCLES, PERF_COUNT_SW_CPU_CLOCK, PERF_TYPE_HARDWARE, PERF_TYPE_SOFTWARE,
    perf_event_attr,
};
use std::io;

pub(super) fn hardware(scene: &Scene) -> RowResult {
    let cycles = |user_only| event(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, user_only, OWN);
    if cycles(false).is_ok() {
        return RowResult::good("cycles, in user and kernel mode");
    }
    match cycles(true).err().map(|error| error.raw_os_error().unwrap_or(0)) {
        None => RowResult::limited(format!("user mode only ({})", paranoid(scene)), perf_remedy(1)),
        Some(libc::EACCES | libc::EPERM) => {
            RowResult::missing(format!("not permitted ({})", paranoid(scene)), perf_remedy(2))
        }
        Some(libc::ENOSYS) => no_perf_events(),
        Some(_) if scene.machine.hypervisor.is_some() => RowResult::missing(
            "the hypervisor provides none",
            "ask the host for a virtual PMU (an instance type that has one, or bare metal)",
        ),
        Some(_) => RowResult::missing(
            "the kernel can use none",
            "use a kernel built with CONFIG_PERF_EVENTS and this CPU's PMU driver",
        ),
    }
}

pub(super) fn software(scene: &Scene) -> RowResult {
    let Some(&cpu) = scene.allowed.first() else {
        return RowResult::missing("no CPU is allowed", "see the row 'allowed CPUs'");
    };
    let clock =
        |user_only, place| event(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK, user_only, place);
    if clock(false, (-1, i32::try_from(cpu).unwrap_or(0))).is_ok() {
        return RowResult::good(format!("whole CPUs ({})", paranoid(scene)));
    }
    match clock(true, OWN) {
        Ok(()) => {
            RowResult::limited(format!("own threads only ({})", paranoid(scene)), perf_remedy(0))
        }
        Err(error) if error.raw_os_error() == Some(libc::ENOSYS) => no_perf_events(),
        Err(error) => RowResult::missing(
            format!("{} ({})", in_words(&error), paranoid(scene)),
            perf_remedy(2),
        ),
    }
}

/// Returns whether this process may open the least privileged perf event.
pub(super) fn is_permitted() -> bool {
    event(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK, true, OWN).is_ok()
}

fn no_perf_events() -> RowResult {
    RowResult::missing(
        "this kernel has no perf events, or this container may not use them",
        "use a kernel built with CONFIG_PERF_EVENTS; in a container, allow the perf_event_open call",
    )
}

/// The calling thread, on any CPU.
const OWN: (i32, i32) = (0, -1);

/// Opens and closes an event for a (thread, CPU).
fn event(kind: u32, config: u32, user_only: bool, (pid, cpu): (i32, i32)) -> io::Result<()> {
    let mut attributes = perf_event_attr::default();
    attributes.type_ = kind;
    attributes.config = config.into();
    attributes.set_disabled(1);
    attributes.set_exclude_kernel(user_only.into());
    attributes.set_exclude_hv(user_only.into());
    open(&mut attributes, pid, cpu).map(drop)
}

fn paranoid(scene: &Scene) -> String {
    let value = scene.setting("kernel.perf_event_paranoid").unwrap_or("not readable");
    format!("perf_event_paranoid {value}")
}
