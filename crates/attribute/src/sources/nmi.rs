//! Non-maskable interrupts.

use super::{Claim, Source, function};
use crate::frame::{Frame, What};
use crate::label::Labels;
use anechoic_recording::EventKind;

pub(super) const SOURCE: Source = Source {
    id: "nmi",
    title: "NMI",
    what: "A non-maskable interrupt: hardware counters of a profiler or the lock-up watchdog, or a backtrace request.",
    reduce: &[
        "kernel.nmi_watchdog=0: hard lock-ups go unseen; frees a hardware counter",
        "stop profilers, or kernel.perf_event_max_sample_rate=1 while measuring: breaks profilers until it is reset",
    ],
    events: &[EventKind::Nmi],
    claim,
};

fn claim(frame: &Frame, labels: &Labels) -> Option<Claim> {
    match frame.what {
        What::Nmi { handler } => {
            Some(Claim { name: labels.names().none(), function: function(labels, handler) })
        }
        _ => None,
    }
}
