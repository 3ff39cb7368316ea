//! The fair server: an artefact of measuring with `--fifo`.

use super::{Claim, Source, named};
use crate::frame::{Frame, What};
use crate::label::Labels;
use anechoic_recording::EventKind;

pub(super) const SOURCE: Source = Source {
    id: "fair-server",
    title: "fair server",
    what: "An artefact of --fifo: the kernel gives ordinary threads a share of a CPU that real-time threads occupy (50 ms a second by default).",
    reduce: &[
        "measure without --fifo",
        "/sys/kernel/debug/sched/fair_server/cpuN/runtime = 0: ordinary threads on that CPU starve",
    ],
    events: &[EventKind::Switch],
    claim,
};

/// Lowest kernel priority of threads that are not real-time.
const FAIR_PRIORITY: i32 = 100;

fn claim(frame: &Frame, labels: &Labels) -> Option<Claim> {
    match frame.what {
        What::Thread { pid, priority } if frame.fifo && priority >= FAIR_PRIORITY => {
            named(labels.names().task(pid, frame.start))
        }
        _ => None,
    }
}
