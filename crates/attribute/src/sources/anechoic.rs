//! The tool itself.

use super::{Claim, Source, named};
use crate::frame::{Frame, What};
use crate::label::Labels;
use anechoic_recording::EventKind;

pub(super) const SOURCE: Source = Source {
    id: "anechoic",
    title: "anechoic itself",
    what: "A thread of this tool ran on a measured CPU: reading events, writing the recording.",
    reduce: &[
        "leave a CPU unmeasured (--cpus): the tool's own threads go there",
        "a shorter run stays in memory until its end and writes nothing meanwhile",
    ],
    events: &[EventKind::Switch],
    claim,
};

fn claim(frame: &Frame, labels: &Labels) -> Option<Claim> {
    match frame.what {
        What::Thread { pid, .. } => named(labels.own(pid)?),
        _ => None,
    }
}
