//! What is kept of the recording of a program that waits for its condition: all of it, or its last part.

use super::stolen::Stolen;
use super::{KernelSide, Plan, Store, Subject};
use crate::run::window::BeforeProgram;
use anechoic_kernels::counter;
use anechoic_recording::run::{CpuTime, Run};
use anechoic_system::counters::Snapshot;

/// Begins the next part, with which the recording may begin: all events have been read. `start` is what the kernel had counted at
/// the start.
pub(super) fn begin(
    (plan, start): (&Plan, &Snapshot),
    subject: &dyn Subject,
    kernel: &mut KernelSide,
    stolen: &mut Stolen,
    run: &mut Run,
    store: &mut Store,
) {
    let now = Snapshot::take(&plan.program_cpus, counter::ordered);
    let cpu_time = subject.cpu_time().map(|time| stolen.beside(time, [start, &now]));
    let program = store.members().map(|members| BeforeProgram { members, cpu_time });
    kernel.begin_part(&plan.program_cpus, program, run, store);
}

/// Reads the rest of the events, decides what ended the recording, and describes in `run` the program as it was where the kept part
/// begins. Returns the part of its CPU time that is since then; `None` if that is not known.
pub(super) fn close(
    kernel: &mut KernelSide,
    run: &mut Run,
    store: &mut Store,
    cpu_time: Option<CpuTime>,
) -> Option<CpuTime> {
    if run.stop_on.is_none() {
        return cpu_time;
    }
    kernel.close(run, store);
    store.look_at_end(run.end_ticks, run);
    run.stop_on.iter_mut().for_each(|stop| stop.met = store.stopped_by());
    let Some(mut before) = store.close_window(run.end_ticks) else { return cpu_time };
    let known = before.program.take();
    kernel.begin_with(before);
    let (known, program) = (known?, run.program.as_mut()?);
    let mut members = known.members;
    for event in store.events_before_part() {
        members.event(&event);
        members.forget_ended(&event);
    }
    program.threads = members.threads();
    Some(since(cpu_time?, known.cpu_time?))
}

fn since(all: CpuTime, before: CpuTime) -> CpuTime {
    CpuTime {
        ns: all.ns.saturating_sub(before.ns),
        resolution_ns: all.resolution_ns.max(before.resolution_ns),
        steal_ns: all.steal_ns.saturating_sub(before.steal_ns),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_of_a_part_is_that_since_its_begin_as_exact_as_the_coarser_of_both() {
        let time = |ns, resolution_ns, steal_ns| CpuTime { ns, resolution_ns, steal_ns };
        assert_eq!(since(time(900, 5, 70), time(400, 20, 50)), time(500, 20, 20));
    }
}
