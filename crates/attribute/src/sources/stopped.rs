//! The measured thread was stopped.

use super::{Claim, Source, named};
use crate::frame::{Away, Frame, What};
use crate::label::Labels;
use anechoic_recording::EventKind;

pub(super) const SOURCE: Source = Source {
    id: "stopped",
    title: "stopped",
    what: "The measured thread was stopped by a signal or a debugger, so whatever ran meanwhile took nothing from it.",
    reduce: &["do not stop or debug the program while it is measured: see who sent the signal"],
    events: &[EventKind::Switch, EventKind::Signal, EventKind::Waking],
    claim,
};

fn claim(frame: &Frame, _: &Labels) -> Option<Claim> {
    let name = match frame.what {
        What::Away(Away::Traced) => "by a debugger",
        What::Away(Away::Stopped { signal }) => match signal {
            19 => "SIGSTOP",
            20 => "SIGTSTP",
            21 => "SIGTTIN",
            22 => "SIGTTOU",
            _ => "by a signal",
        },
        _ => return None,
    };
    named(name.into())
}
