//! Interrupts that CPUs send to each other.

use super::{Claim, Source, function};
use crate::frame::{Frame, Vector, What};
use crate::label::Labels;
use anechoic_recording::EventKind;

pub(super) const SOURCE: Source = Source {
    id: "ipi",
    title: "IPI",
    what: "Another CPU (or this one) asked this CPU to do something at once: flush its TLB, run a function, look at its run queue.",
    reduce: &[
        "see who sent it: keep that process off shared memory maps, pin it elsewhere, or stop it",
        "TLB flushes: touch and lock memory before the run (mlockall), no munmap or module unloading while it runs",
        "khugepaged, compaction and NUMA balancing off (transparent_hugepage, vm.compaction_proactiveness=0, kernel.numa_balancing=0): more TLB misses and fragmentation",
    ],
    events: &[
        EventKind::RescheduleEntry,
        EventKind::CallFunctionEntry,
        EventKind::CallFunctionSingleEntry,
        EventKind::IrqWorkEntry,
        EventKind::PlatformIpiEntry,
        EventKind::ArmIpiEntry,
        EventKind::CsdQueue,
        EventKind::CsdEntry,
        EventKind::CsdExit,
        EventKind::IpiSendCpu,
        EventKind::IpiSendMask,
    ],
    claim,
};

fn claim(frame: &Frame, labels: &Labels) -> Option<Claim> {
    let (vector, address) = match frame.what {
        What::Vector(vector) => (vector, frame.function),
        // Requests are also served on the way out of another interrupt.
        What::Csd { function, vector, .. } => (vector.unwrap_or(Vector::CallFunction), function),
        _ => return None,
    };
    let name = match vector {
        Vector::Reschedule => "reschedule",
        Vector::CallFunctionSingle => "call function single",
        Vector::IrqWork => "irq work",
        Vector::PlatformIpi => "platform",
        Vector::ArmIpi => "arm",
        _ if matches!(frame.what, What::Csd { .. }) || vector == Vector::CallFunction => {
            "call function"
        }
        _ => return None,
    };
    Some(Claim { name: name.into(), function: function(labels, address) })
}
