//! Detours of which nothing can be said.

use super::{Claim, Source, named};
use crate::frame::{Frame, What};
use crate::label::Labels;

pub(super) const SOURCE: Source = Source {
    id: "not-attributable",
    title: "not attributable",
    what: "Kernel events were lost, not recorded on purpose, or hidden by the kernel, so it may have been anything.",
    reduce: &[
        "nothing to reduce: where events were lost, larger trace buffers or fewer measured CPUs lose less",
    ],
    events: &[],
    claim,
};

fn claim(frame: &Frame, labels: &Labels) -> Option<Claim> {
    match frame.what {
        What::Dark => named(labels.names().none()),
        What::Unseen => named("unseen switch".into()),
        _ => None,
    }
}
