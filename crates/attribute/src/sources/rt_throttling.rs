//! Real-time throttling: an artefact of measuring with `--fifo`.

use super::{Claim, Source, named};
use crate::frame::{Frame, What};
use crate::label::Labels;
use anechoic_recording::EventKind;

pub(super) const SOURCE: Source = Source {
    id: "rt-throttling",
    title: "RT throttling",
    what: "An artefact of --fifo: the CPU idled although the real-time loop could run, because real-time threads may not have all of a CPU.",
    reduce: &[
        "measure without --fifo",
        "kernel.sched_rt_runtime_us=-1, only for proven FIFO programs: a runaway thread then locks the machine up",
    ],
    events: &[EventKind::Switch],
    claim,
};

fn claim(frame: &Frame, labels: &Labels) -> Option<Claim> {
    match frame.what {
        What::Thread { pid: 0, .. } if frame.fifo => named(labels.names().none()),
        _ => None,
    }
}
