//! What each kernel event does to the detour that it happens in.

use crate::causes::Causes;
use crate::frame::{Vector, What};
use crate::names::Names;
use crate::scene::{self, Scene};
use anechoic_recording::{Clock, EventKind, KernelEvent};

/// Begin or end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Edge {
    Entry,
    Exit,
}

/// The interrupt vector that an event begins or ends, if it does.
pub(crate) fn vector_edge(kind: EventKind) -> Option<(Vector, Edge)> {
    use Edge::{Entry, Exit};
    Some(match kind {
        EventKind::LocalTimerEntry => (Vector::LocalTimer, Entry),
        EventKind::LocalTimerExit => (Vector::LocalTimer, Exit),
        EventKind::RescheduleEntry => (Vector::Reschedule, Entry),
        EventKind::RescheduleExit => (Vector::Reschedule, Exit),
        EventKind::CallFunctionEntry => (Vector::CallFunction, Entry),
        EventKind::CallFunctionExit => (Vector::CallFunction, Exit),
        EventKind::CallFunctionSingleEntry => (Vector::CallFunctionSingle, Entry),
        EventKind::CallFunctionSingleExit => (Vector::CallFunctionSingle, Exit),
        EventKind::IrqWorkEntry => (Vector::IrqWork, Entry),
        EventKind::IrqWorkExit => (Vector::IrqWork, Exit),
        EventKind::PlatformIpiEntry => (Vector::PlatformIpi, Entry),
        EventKind::PlatformIpiExit => (Vector::PlatformIpi, Exit),
        EventKind::ArmIpiEntry => (Vector::ArmIpi, Entry),
        EventKind::ArmIpiExit => (Vector::ArmIpi, Exit),
        EventKind::ThermalEntry => (Vector::Thermal, Entry),
        EventKind::ThermalExit => (Vector::Thermal, Exit),
        EventKind::ThresholdEntry => (Vector::Threshold, Entry),
        EventKind::ThresholdExit => (Vector::Threshold, Exit),
        EventKind::DeferredErrorEntry => (Vector::DeferredError, Entry),
        EventKind::DeferredErrorExit => (Vector::DeferredError, Exit),
        EventKind::ErrorEntry => (Vector::Error, Entry),
        EventKind::ErrorExit => (Vector::Error, Exit),
        EventKind::SpuriousEntry => (Vector::Spurious, Entry),
        EventKind::SpuriousExit => (Vector::Spurious, Exit),
        _ => return None,
    })
}

/// Does to `scene` what `event` says.
pub(crate) fn apply(
    scene: &mut Scene,
    event: &KernelEvent,
    causes: &mut Causes,
    names: &Names,
    clock: &Clock,
) {
    if tells_current(event.kind) {
        scene.expect(event.ticks, event.pid);
    }
    scene.see(event.ticks);
    if let Some((vector, edge)) = vector_edge(event.kind) {
        return match edge {
            Edge::Entry => enter_vector(scene, event, vector, causes),
            Edge::Exit => {
                let what = What::Vector(vector);
                scene.close(event.ticks, |open| open == what, Some(what));
            }
        };
    }
    let (ticks, [first, second, third]) = (event.ticks, event.args);
    match event.kind {
        EventKind::IrqEntry => scene.open(ticks, What::Irq(first as u32), None),
        EventKind::SoftirqEntry => scene.open(ticks, What::Softirq(first as u32), None),
        EventKind::TaskletEntry => scene.open(ticks, What::Tasklet { function: first }, None),
        EventKind::CsdEntry => {
            let what = What::Csd { function: first, csd: second, vector: scene.vector() };
            scene.open(ticks, what, causes.take_request(event.cpu, second));
        }
        EventKind::HrtimerEntry => {
            scene.expires(second, names.is_tick(second));
            scene.open(
                ticks,
                What::Hrtimer { timer: first, function: second },
                causes.armed(first),
            );
        }
        EventKind::TimerEntry => {
            scene.open(ticks, What::Timer { timer: first, function: second }, causes.armed(first));
        }
        EventKind::WorkStart => {
            let what = What::Work { pid: event.pid, work: first, function: second };
            scene.open(ticks, what, causes.take_queued(first));
        }
        EventKind::Nmi => scene.nmi(ticks, clock.ticks(second), What::Nmi { handler: first }),
        EventKind::PageFaultUser => scene.page_fault(ticks, true),
        EventKind::PageFaultKernel => scene.page_fault(ticks, false),
        EventKind::Switch => {
            let next = (first as i32, third as i32);
            let causes =
                scene::Causes { waker: causes.take_waker(next.0), stop: causes.stop_signal() };
            scene.switch(ticks, event.pid, second, next, causes);
        }
        _ => exit(scene, event),
    }
}

/// Whether the thread of such an event surely is the one switched in last.
///
/// Between `sched_switch` and the end of the switch, with interrupts off, events still have the old thread.
fn tells_current(kind: EventKind) -> bool {
    use EventKind::{
        HrtimerEntry, IrqEntry, PageFaultUser, SoftirqEntry, Switch, TimerEntry, WorkStart,
    };
    matches!(
        kind,
        IrqEntry | SoftirqEntry | HrtimerEntry | TimerEntry | PageFaultUser | WorkStart | Switch
    ) || matches!(vector_edge(kind), Some((_, Edge::Entry)))
}

fn enter_vector(scene: &mut Scene, event: &KernelEvent, vector: Vector, causes: &mut Causes) {
    let (function, sender) = match vector {
        Vector::Reschedule => (0, causes.take_reschedule(event.cpu)),
        Vector::CallFunction | Vector::CallFunctionSingle | Vector::ArmIpi => causes
            .take_call(event.cpu)
            .map_or((0, None), |(function, sender)| (function, Some(sender))),
        _ => (0, None),
    };
    scene.open(event.ticks, What::Vector(vector), sender);
    scene.asked_for(function);
}

/// Ends what the event says has ended; events that neither begin nor end anything do nothing.
fn exit(scene: &mut Scene, event: &KernelEvent) {
    let (ticks, [first, second, _]) = (event.ticks, event.args);
    match event.kind {
        EventKind::IrqExit => {
            let what = What::Irq(first as u32);
            scene.close(ticks, |open| open == what, Some(what));
        }
        EventKind::SoftirqExit => {
            let what = What::Softirq(first as u32);
            scene.close(ticks, |open| open == what, Some(what));
        }
        EventKind::TaskletExit => {
            let what = What::Tasklet { function: first };
            scene.close(ticks, |open| open == what, Some(what));
        }
        EventKind::CsdExit => {
            let is = |open| matches!(open, What::Csd { csd, .. } if csd == second);
            scene.close(ticks, is, Some(What::Csd { function: first, csd: second, vector: None }));
        }
        // These ends do not say which function ran, or happen where no detour can begin with them.
        EventKind::HrtimerExit => {
            scene.close(
                ticks,
                |open| matches!(open, What::Hrtimer { timer, .. } if timer == first),
                None,
            );
        }
        EventKind::TimerExit => {
            scene.close(
                ticks,
                |open| matches!(open, What::Timer { timer, .. } if timer == first),
                None,
            );
        }
        EventKind::WorkEnd => {
            scene.close(
                ticks,
                |open| matches!(open, What::Work { work, .. } if work == first),
                None,
            );
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use anechoic_recording::EVENTS;

    #[test]
    fn every_vector_event_of_the_table_has_its_edge() {
        for spec in EVENTS
            .iter()
            .filter(|spec| spec.system == "irq_vectors" || spec.name.starts_with("ipi_e"))
        {
            let (_, edge) =
                vector_edge(spec.kind).unwrap_or_else(|| panic!("{} has no edge", spec.name));
            assert_eq!(edge == Edge::Entry, spec.name.ends_with("_entry"), "{}", spec.name);
        }
    }
}
