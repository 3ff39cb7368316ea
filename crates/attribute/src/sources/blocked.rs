//! The measured thread waited in the kernel.

use super::{Claim, Source, named};
use crate::frame::{Away, Frame, What};
use crate::label::Labels;
use anechoic_recording::EventKind;

pub(super) const SOURCE: Source = Source {
    id: "blocked",
    title: "blocked",
    what: "The measured thread waited in the kernel for something other than a page; the loop itself never sleeps.",
    reduce: &["a freezer or suspend does this: cgroup.freeze, system sleep, checkpointing"],
    events: &[EventKind::Switch, EventKind::Waking],
    claim,
};

fn claim(frame: &Frame, labels: &Labels) -> Option<Claim> {
    match frame.what {
        What::Away(Away::Blocked) => named(labels.names().none()),
        _ => None,
    }
}
