//! Device interrupts.

use super::{Claim, Source, named};
use crate::frame::{Frame, What};
use crate::label::Labels;
use anechoic_recording::EventKind;

pub(super) const SOURCE: Source = Source {
    id: "device-irq",
    title: "device interrupt",
    what: "A device's interrupt handler, named as in /proc/interrupts.",
    reduce: &[
        "write housekeeping CPUs to /proc/irq/N/smp_affinity_list, irqaffinity= for new ones, and ban the CPUs in irqbalance: fewer CPUs are left for input and output",
        "isolcpus=managed_irq,CPUS for queues that the kernel places itself: best effort",
    ],
    events: &[EventKind::IrqEntry, EventKind::IrqExit],
    claim,
};

fn claim(frame: &Frame, labels: &Labels) -> Option<Claim> {
    match frame.what {
        What::Irq(irq) => named(labels.names().irq(irq)),
        _ => None,
    }
}
