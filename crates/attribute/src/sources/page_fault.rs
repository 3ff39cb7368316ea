//! Page faults of the measured thread.

use super::{Claim, Source, named};
use crate::frame::{Away, Frame, What};
use crate::label::Labels;
use anechoic_recording::EventKind;

pub(super) const SOURCE: Source = Source {
    id: "page-fault",
    title: "page fault",
    what: "The measured thread touched a page that was not mapped, with the wait for it. In anechoic's own loop this is a bug.",
    reduce: &[
        "touch and lock memory before the run (mlockall)",
        "kernel.numa_balancing=0: no hinting faults; for threads that are bound to their memory",
        "transparent_hugepage=madvise or never: no compaction in a fault, but more TLB misses",
    ],
    events: &[EventKind::PageFaultUser, EventKind::PageFaultKernel],
    claim,
};

fn claim(frame: &Frame, _: &Labels) -> Option<Claim> {
    match frame.what {
        What::PageFault { user } | What::Away(Away::Fault { user }) => {
            named(if user { "user" } else { "kernel" }.into())
        }
        _ => None,
    }
}
