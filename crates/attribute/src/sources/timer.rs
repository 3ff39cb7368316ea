//! Timers other than the tick.

use super::{Claim, Source, function, named};
use crate::frame::{Frame, Vector, What};
use crate::label::Labels;
use anechoic_recording::EventKind;

pub(super) const SOURCE: Source = Source {
    id: "timer",
    title: "timer",
    what: "A kernel timer other than the tick that expired on this CPU, named by its function.",
    reduce: &[
        "find who armed it (sent by) and stop or move that: a sampling profiler, a watchdog, a sleeping daemon",
        "kernel.watchdog_cpumask without these CPUs, or nosoftlockup: no watchdog timers; lock-ups there go unseen",
        "kernel.timer_migration: 0 keeps others' timers on their CPUs, 1 lets idle CPUs hand them on; authorities disagree, so measure both",
        "tsc=nowatchdog: no clocksource watchdog; masks a drifting TSC",
    ],
    events: &[
        EventKind::LocalTimerEntry,
        EventKind::LocalTimerExit,
        EventKind::HrtimerEntry,
        EventKind::HrtimerExit,
        EventKind::HrtimerStart,
        EventKind::TimerEntry,
        EventKind::TimerExit,
        EventKind::TimerStart,
    ],
    claim,
};

/// The tick's own have been claimed before. The interrupt around an expired timer has that timer's
/// name, but only what expired has its function: rows with a function are expirations.
fn claim(frame: &Frame, labels: &Labels) -> Option<Claim> {
    let name = |expired| labels.names().function(expired);
    match frame.what {
        What::Vector(Vector::LocalTimer) if frame.function == 0 => named("nothing expired".into()),
        What::Irq(_) if frame.function == 0 => None,
        What::Vector(Vector::LocalTimer) | What::Irq(_) => named(name(frame.function)),
        What::Hrtimer { function: expired, .. } | What::Timer { function: expired, .. } => {
            Some(Claim { name: name(expired), function: function(labels, expired) })
        }
        _ => None,
    }
}
