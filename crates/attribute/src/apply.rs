//! Applies each kernel event to the detour in which it happens.

use crate::causes::Causes;
use crate::frame::What;
use crate::names::Names;
use crate::scene::{self, Scene};
use crate::victims::Victims;
use anechoic_recording::event::{Handler, Role, Vector};
use anechoic_recording::{Clock, EventKind, KernelEvent};

/// Applies `event` to `scene`, in which `victims` lose time.
pub(crate) fn apply(
    scene: &mut Scene,
    event: &KernelEvent,
    victims: Victims<'_>,
    causes: &mut Causes,
    names: &Names,
    clock: &Clock,
) {
    if event.kind.has_current_thread() {
        scene.expect(event.ticks, event.pid, victims);
    }
    scene.see(event.ticks);
    match event.kind.role() {
        Role::Enter(handler) => enter(scene, event, handler, causes, names),
        Role::Exit(handler) => exit(scene, event, handler),
        Role::Instant => happen(scene, event, victims, causes, clock),
        Role::Cause => {}
    }
}

/// Opens what an entry event begins.
fn enter(
    scene: &mut Scene,
    event: &KernelEvent,
    handler: Handler,
    causes: &mut Causes,
    names: &Names,
) {
    let (ticks, [first, second, _]) = (event.ticks, event.args);
    match handler {
        Handler::Vector(vector) => enter_vector(scene, event, vector, causes),
        Handler::Irq => scene.open(ticks, What::Irq(first as u32), None),
        Handler::Softirq => scene.open(ticks, What::Softirq(first as u32), None),
        Handler::Tasklet => scene.open(ticks, What::Tasklet { function: first }, None),
        Handler::Request => {
            let what = What::Csd { function: first, csd: second, vector: scene.vector() };
            scene.open(ticks, what, causes.take_request(event.cpu, second));
        }
        Handler::Hrtimer => {
            scene.expires(second, names.is_tick(second));
            let what = What::Hrtimer { timer: first, function: second };
            scene.open(ticks, what, causes.armed(first));
        }
        Handler::Timer => {
            scene.open(ticks, What::Timer { timer: first, function: second }, causes.armed(first));
        }
        Handler::Work => {
            let what = What::Work { pid: event.pid, work: first, function: second };
            scene.open(ticks, what, causes.take_queued(first));
        }
    }
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

/// Closes what an exit event ends.
fn exit(scene: &mut Scene, event: &KernelEvent, handler: Handler) {
    let (ticks, [first, second, _]) = (event.ticks, event.args);
    let ended = match handler {
        Handler::Vector(vector) => Some(What::Vector(vector)),
        Handler::Irq => Some(What::Irq(first as u32)),
        Handler::Softirq => Some(What::Softirq(first as u32)),
        Handler::Tasklet => Some(What::Tasklet { function: first }),
        Handler::Request => Some(What::Csd { function: first, csd: second, vector: None }),
        // These exits do not name the function that ran, or cannot be the first event of a detour.
        Handler::Hrtimer | Handler::Timer | Handler::Work => None,
    };
    let is_ended = |open| match (handler, open) {
        (Handler::Request, What::Csd { csd, .. }) => csd == second,
        (Handler::Hrtimer, What::Hrtimer { timer, .. })
        | (Handler::Timer, What::Timer { timer, .. }) => timer == first,
        (Handler::Work, What::Work { work, .. }) => work == first,
        _ => ended == Some(open),
    };
    scene.close(ticks, is_ended, ended);
}

/// Applies an event that is neither an entry nor an exit.
fn happen(
    scene: &mut Scene,
    event: &KernelEvent,
    victims: Victims<'_>,
    causes: &mut Causes,
    clock: &Clock,
) {
    let (ticks, [first, second, third]) = (event.ticks, event.args);
    match event.kind {
        EventKind::Nmi => scene.nmi(ticks, clock.ticks(second), What::Nmi { handler: first }),
        // The faults of a program are its own work.
        EventKind::PageFaultUser | EventKind::PageFaultKernel if victims.are_of_program() => {}
        EventKind::PageFaultUser => scene.page_fault(ticks, true),
        EventKind::PageFaultKernel => scene.page_fault(ticks, false),
        EventKind::Switch => {
            let next = (first as i32, third as i32);
            let causes = scene::Causes { waker: causes.take_waker(next.0), stop: causes.stop };
            scene.switch(ticks, (event.pid, second), next, causes, victims);
        }
        EventKind::CpuIdle => scene.idles(first),
        _ => {}
    }
}
