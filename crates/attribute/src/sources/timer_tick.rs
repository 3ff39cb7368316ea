//! The scheduler's tick.

use super::{Claim, Source, function};
use crate::frame::{Frame, Vector, What};
use crate::label::Labels;
use anechoic_recording::EventKind;

pub(super) const SOURCE: Source = Source {
    id: "timer-tick",
    title: "timer tick",
    what: "The kernel's periodic timer interrupt (CONFIG_HZ times a second on a busy CPU): accounting, scheduling, timekeeping.",
    reduce: &[
        "nohz_full=CPUS on the kernel command line: no tick while one thread runs; costs dearer system calls, needs a housekeeping CPU, never the boot CPU",
        "a kernel with a lower CONFIG_HZ: fewer ticks, coarser time slices",
        "skew_tick=1: ticks of different CPUs no longer at one moment; less lock contention, but costs power, and a bulk-synchronous job can suffer more from unaligned ticks",
    ],
    events: &[
        EventKind::LocalTimerEntry,
        EventKind::LocalTimerExit,
        EventKind::HrtimerEntry,
        EventKind::HrtimerExit,
    ],
    claim,
};

/// A timer interrupt is the tick's if the tick's timer expired in it. Only what expired has the function.
fn claim(frame: &Frame, labels: &Labels) -> Option<Claim> {
    let (expired, function) = match frame.what {
        What::Vector(Vector::LocalTimer) | What::Irq(_) => (frame.function, None),
        What::Hrtimer { function: expired, .. } => (expired, function(labels, expired)),
        _ => return None,
    };
    labels.names().is_tick(expired).then(|| Claim { name: labels.names().none(), function })
}
