//! The measured thread's own time in the kernel.

use super::{Claim, Source, named};
use crate::frame::{Frame, What};
use crate::label::Labels;
use anechoic_recording::EventKind;

pub(super) const SOURCE: Source = Source {
    id: "victim-kernel",
    title: "own kernel work",
    what: "The measured thread was itself in the kernel: handling a signal, or on its way in or out, with no handler that has events of its own.",
    reduce: &["send the program no signals while it runs"],
    events: &[EventKind::Signal, EventKind::Waking],
    claim,
};

fn claim(frame: &Frame, labels: &Labels) -> Option<Claim> {
    match frame.what {
        What::Kernel => named(labels.names().none()),
        _ => None,
    }
}
