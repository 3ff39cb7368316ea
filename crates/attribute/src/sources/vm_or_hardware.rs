//! What the kernel knows nothing of.

use super::{Claim, Source, named};
use crate::frame::{Frame, What};
use crate::label::Labels;

/// Its identifier; gaps that the hypervisor took most of get it too.
pub(crate) const ID: &str = "vm-or-hardware";

pub(super) const SOURCE: Source = Source {
    id: ID,
    title: "VM exit or hardware",
    what: "No kernel event fell into the detour: the hypervisor ran, or something below the operating system (a system management interrupt, a frequency change, a stalled bus).",
    reduce: &[
        "in a guest: virtual CPUs that are pinned to their own cores, another instance type, the host's kvm settings (halt_poll_ns, ple_gap); outside the guest's power",
        "system management interrupts: the firmware's performance profile; never disable thermal ones",
        "on the host or on bare metal: fixed frequency and shallow C-states, at the price of power and heat",
    ],
    events: &[],
    claim,
};

/// What to call it where no hypervisor is.
pub(super) const TITLE_ON_BARE_METAL: &str = "hardware";

fn claim(frame: &Frame, labels: &Labels) -> Option<Claim> {
    match frame.what {
        What::NoEvent => named(labels.names().none()),
        _ => None,
    }
}
