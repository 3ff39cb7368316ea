//! In which interrupt, or in the function of which timer, each CPU is: what wakes a thread there.

use crate::frame::What;
use crate::scene::ORDINARY;
use anechoic_recording::event::{Handler, Role};
use anechoic_recording::{Clock, EventKind, KernelEvent, Loss, LossKind};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// What an interrupt leads to begins within this time after its end, in ns; a further softirq within the second one.
const FOLLOWS_NS: [u64; 2] = [10_000, 2_000];
/// Number of handlers that are open on a CPU at once, at most: the end of an older one was not seen.
const NESTED: usize = 16;
/// The number of the idle thread of each CPU.
const IDLE: i32 = 0;

/// A handler that is open on top of a thread, or in it.
#[derive(Debug, Clone, Copy)]
struct Open {
    handler: Handler,
    /// The number that its entry and its exit have in common.
    key: u64,
    what: What,
    pid: i32,
    /// The thread raised it in a system call of its own, where it runs: a softirq.
    own: bool,
}

#[derive(Debug, Default)]
struct OnCpu {
    /// The innermost last.
    open: Vec<Open>,
    /// A softirq that begins up to then follows from an interrupt that is over.
    follows_until: u64,
}

/// Follows the handlers of all CPUs.
#[derive(Debug)]
pub(super) struct Contexts {
    follows: [u64; 2],
    /// The intervals in which events were lost, the next one last.
    losses: Vec<Loss>,
    cpus: BTreeMap<u32, OnCpu>,
}

impl Contexts {
    pub(super) fn new(clock: &Clock, mut losses: Vec<Loss>) -> Self {
        losses.retain(|loss| loss.what == LossKind::Events);
        losses.sort_by_key(|loss| Reverse(loss.start_ticks));
        Self { follows: FOLLOWS_NS.map(|ns| clock.ticks(ns)), losses, cpus: BTreeMap::new() }
    }

    /// Adds intervals in which events were lost, none of them before the last event.
    pub(super) fn lose(&mut self, losses: &[Loss]) {
        let events = losses.iter().filter(|loss| loss.what == LossKind::Events);
        self.losses.extend(events.cloned());
        self.losses.sort_by_key(|loss| Reverse(loss.start_ticks));
    }

    /// Processes the next event. Those of all CPUs come in time order.
    pub(super) fn event(&mut self, event: &KernelEvent) {
        while let Some(loss) = self.losses.pop_if(|loss| loss.start_ticks < event.ticks) {
            self.cpus.remove(&loss.cpu); // what ended in it is not known
        }
        let follows = self.follows;
        let on_cpu = self.cpus.entry(event.cpu).or_default();
        match (event.kind, event.kind.role()) {
            (_, Role::Enter(handler)) => on_cpu.enter(event, handler),
            (_, Role::Exit(handler)) => on_cpu.exit(event, handler, follows),
            // Kernels in which softirqs run in threads may preempt these.
            (EventKind::Switch, _) => {
                let first = on_cpu.open.iter().position(|open| is_hard(open.handler));
                first.into_iter().for_each(|first| on_cpu.open.truncate(first));
                on_cpu.follows_until = 0; // the next thread raises its softirqs itself
            }
            (EventKind::PageFaultUser, _) => on_cpu.open.retain(|open| open.pid != event.pid),
            _ => {}
        }
    }

    /// Returns what wakes a thread on a CPU while thread `pid` has it: that thread, an interrupt, or the function of a timer.
    pub(super) fn waker(&self, cpu: u32, pid: i32) -> What {
        let open = self.cpus.get(&cpu).and_then(|on_cpu| on_cpu.innermost(pid));
        match open.filter(|open| !open.own) {
            Some(open) => open.what,
            None if pid == IDLE => What::Dark, // an interrupt that has no events
            None => What::Thread { pid, priority: ORDINARY },
        }
    }
}

impl OnCpu {
    fn innermost(&self, pid: i32) -> Option<&Open> {
        self.open.iter().rev().find(|open| open.pid == pid)
    }

    fn enter(&mut self, event: &KernelEvent, handler: Handler) {
        let Some((what, key)) = opened(event, handler) else { return };
        let around = self.innermost(event.pid);
        let own = match (handler, around) {
            (Handler::Softirq, None) => event.pid != IDLE && event.ticks > self.follows_until,
            (Handler::Softirq | Handler::Tasklet, Some(around)) => around.own,
            _ => false,
        };
        if self.open.len() == NESTED {
            self.open.remove(0);
        }
        self.open.push(Open { handler, key, what, pid: event.pid, own });
    }

    fn exit(&mut self, event: &KernelEvent, handler: Handler, [after, after_softirq]: [u64; 2]) {
        let Some(key) = key(event, handler) else { return };
        let is_it = |open: &Open| open.handler == handler && open.key == key;
        let place = self.open.iter().rposition(is_it);
        let own = place.is_some_and(|place| self.open[place].own);
        place.into_iter().for_each(|place| self.open.truncate(place));
        if is_hard(handler) {
            self.follows_until = event.ticks.saturating_add(after);
        } else if handler == Handler::Softirq && !own {
            self.follows_until = event.ticks.saturating_add(after_softirq);
        }
    }
}

fn is_hard(handler: Handler) -> bool {
    matches!(handler, Handler::Vector(_) | Handler::Irq)
}

/// Returns what an entry event begins, and the number that its exit has too. Work items are threads' own.
fn opened(event: &KernelEvent, handler: Handler) -> Option<(What, u64)> {
    let [first, second, _] = event.args;
    let what = match handler {
        Handler::Vector(vector) => What::Vector(vector),
        Handler::Irq => What::Irq(first as u32),
        Handler::Softirq => What::Softirq(first as u32),
        Handler::Tasklet => What::Tasklet { function: first },
        Handler::Request => What::Csd { function: first, csd: second, vector: None },
        Handler::Hrtimer => What::Hrtimer { timer: first, function: second },
        Handler::Timer => What::Timer { timer: first, function: second },
        Handler::Work => return None,
    };
    Some((what, key(event, handler)?))
}

fn key(event: &KernelEvent, handler: Handler) -> Option<u64> {
    match handler {
        Handler::Vector(_) => Some(0),
        Handler::Request => Some(event.args[1]),
        Handler::Work => None,
        _ => Some(event.args[0]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use anechoic_lab::builders;
    use anechoic_recording::event::Vector;

    /// What wakes a thread at 100,000 ns while thread 7 has the CPU, after these events.
    #[test]
    fn what_wakes_is_the_innermost_handler_or_the_thread() {
        use EventKind as E;
        let thread = What::Thread { pid: 7, priority: ORDINARY };
        let timer = What::Hrtimer { timer: 5, function: 9 };
        let wheel = What::Timer { timer: 6, function: 8 };
        let of_7 = |ticks, kind, args: [u64; 3]| (ticks, kind, 7, args);
        let entry = of_7(10_000, E::LocalTimerEntry, [236, 0, 0]);
        let exit = of_7(20_000, E::LocalTimerExit, [236, 0, 0]);
        let expires = of_7(12_000, E::HrtimerEntry, [5, 9, 0]);
        let expired = of_7(13_000, E::HrtimerExit, [5, 0, 0]);
        let soft = |ticks| of_7(ticks, E::SoftirqEntry, [3, 0, 0]);
        let softs_end = |ticks| of_7(ticks, E::SoftirqExit, [3, 0, 0]);
        type Case<'a> = (&'a str, &'a [(u64, EventKind, i32, [u64; 3])], What);
        let request = of_7(11_000, E::CsdEntry, [9, 5, 0]);
        let cases: [Case<'_>; 20] = [
            (
                "the end of another timer",
                &[entry, expires, of_7(13_000, E::HrtimerExit, [4, 0, 0])],
                timer,
            ),
            (
                "another request of the same function is over",
                &[entry, request, of_7(13_000, E::CsdExit, [9, 4, 0])],
                What::Csd { function: 9, csd: 5, vector: None },
            ),
            ("nothing is open", &[], thread),
            ("an interrupt", &[entry], What::Vector(Vector::LocalTimer)),
            ("a timer in an interrupt", &[entry, expires], timer),
            ("the timer is over", &[entry, expires, expired], What::Vector(Vector::LocalTimer)),
            ("the interrupt is over", &[entry, expires, expired, exit], thread),
            ("the end of the timer was lost", &[entry, expires, exit], thread),
            ("a softirq after an interrupt", &[entry, exit, soft(25_000)], What::Softirq(3)),
            ("10 µs after the interrupt", &[entry, exit, soft(30_000)], What::Softirq(3)),
            ("a softirq of its own", &[entry, exit, soft(30_001)], thread),
            (
                "after a softirq of its own",
                &[soft(50_000), softs_end(51_000), soft(51_500)],
                thread,
            ),
            (
                "after a softirq of an interrupt",
                &[entry, exit, soft(29_000), softs_end(31_500), soft(33_500)],
                What::Softirq(3),
            ),
            (
                "longer after it",
                &[entry, exit, soft(29_000), softs_end(31_500), soft(33_501)],
                thread,
            ),
            (
                "a timer in a softirq of its own",
                &[soft(95_000), of_7(96_000, E::TimerEntry, [6, 8, 0])],
                wheel,
            ),
            (
                "a device interrupt in the function of a timer",
                &[soft(95_000), expires, of_7(96_000, E::IrqEntry, [30, 0, 0])],
                What::Irq(30),
            ),
            (
                "the device's interrupt is over",
                &[
                    soft(95_000),
                    expires,
                    of_7(96_000, E::IrqEntry, [30, 0, 0]),
                    of_7(97_000, E::IrqExit, [30, 1, 0]),
                ],
                timer,
            ),
            ("in another thread", &[(95_000, E::SoftirqEntry, 8, [1, 0, 0])], thread),
            ("a switch ends interrupts", &[entry, (15_000, E::Switch, 7, [8, 1, 120])], thread),
            ("user mode", &[soft(25_000), expires, of_7(30_000, E::PageFaultUser, [0; 3])], thread),
        ];
        for (name, before, expected) in cases {
            let mut contexts = Contexts::new(&builders::clock(1_000_000_000), vec![]);
            for &(ticks, kind, pid, args) in before {
                contexts.event(&KernelEvent { cpu: 0, ticks, kind, pid, args });
            }
            assert_eq!(contexts.waker(0, 7), expected, "case: {name}");
            assert_eq!(contexts.waker(1, 7), thread, "case: {name}, on another CPU");
        }
        let idle = Contexts::new(&builders::clock(1_000_000_000), vec![]);
        assert_eq!(idle.waker(0, IDLE), What::Dark);
    }

    /// A loss on one CPU, after which an event of another comes.
    #[test]
    fn nothing_is_open_after_a_loss_on_that_cpu() {
        let loss = |cpu| Loss {
            what: LossKind::Events,
            cpu,
            start_ticks: 50_000,
            end_ticks: 60_000,
            count: 0,
        };
        let vector = What::Vector(Vector::LocalTimer);
        let thread = What::Thread { pid: 7, priority: ORDINARY };
        for (lost, expected) in [(0, thread), (1, vector)] {
            let mut contexts = Contexts::new(&builders::clock(1_000_000_000), vec![loss(lost)]);
            let event = |cpu, ticks, kind| KernelEvent { cpu, ticks, kind, pid: 7, args: [0; 3] };
            contexts.event(&event(0, 40_000, EventKind::LocalTimerEntry));
            contexts.event(&event(2, 70_000, EventKind::LocalTimerEntry));
            assert_eq!(contexts.waker(0, 7), expected, "lost on CPU {lost}");
        }
    }
}
