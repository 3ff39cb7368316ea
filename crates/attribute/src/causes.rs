//! Who sent what: context from events on one CPU for events on another.

use crate::frame::Sender;
use anechoic_recording::{EventKind, KernelEvent};
use std::collections::HashMap;
use std::hash::Hash;

/// Number of entries in one generation of [`Recent`]; both generations together stay under 200,000.
const GENERATION: usize = 1 << 16;

/// A map that forgets entries which were not set for a long time, so that its memory is bounded.
///
/// It is deterministic: what it forgets depends only on the calls.
#[derive(Debug)]
pub(crate) struct Recent<K, V> {
    young: HashMap<K, V>,
    old: HashMap<K, V>,
}

impl<K: Eq + Hash, V: Copy> Recent<K, V> {
    pub(crate) fn new() -> Self {
        Self { young: HashMap::new(), old: HashMap::new() }
    }

    pub(crate) fn set(&mut self, key: K, value: V) {
        if self.young.len() >= GENERATION {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(key, value);
    }

    pub(crate) fn get(&self, key: &K) -> Option<V> {
        self.young.get(key).or_else(|| self.old.get(key)).copied()
    }

    pub(crate) fn take(&mut self, key: &K) -> Option<V> {
        let old = self.old.remove(key);
        self.young.remove(key).or(old)
    }
}

/// Everything sent, queued, armed or woken that has not taken effect yet.
#[derive(Debug)]
pub(crate) struct Causes {
    /// Requests to call a function, by CPU and address of the request.
    requests: Recent<(u32, u64), Sender>,
    /// The last call interrupt sent to a CPU: the function and the sender.
    calls: HashMap<u32, (u64, Sender)>,
    /// The last reschedule interrupt sent to a CPU.
    reschedules: HashMap<u32, Sender>,
    timers: Recent<u64, Sender>,
    works: Recent<u64, Sender>,
    wakers: Recent<i32, Sender>,
    pub(crate) stop: Option<(u8, Sender)>,
    /// The threads of the victims' process: stopping one of them stops the victims.
    process: Vec<i32>,
}

impl Causes {
    /// `process` are the threads of the tool itself: a signal to one of them may stop all.
    pub(crate) fn new(process: Vec<i32>) -> Self {
        Self {
            requests: Recent::new(),
            calls: HashMap::new(),
            reschedules: HashMap::new(),
            timers: Recent::new(),
            works: Recent::new(),
            wakers: Recent::new(),
            stop: None,
            process,
        }
    }

    /// Records what `event`, caused by `sender`, will cause elsewhere.
    pub(crate) fn note(&mut self, event: &KernelEvent, sender: Sender) {
        let [first, second, third] = event.args;
        match event.kind {
            EventKind::CsdQueue => {
                let cpu = first as u32;
                self.requests.set((cpu, third), sender);
                self.calls.insert(cpu, (second, sender));
            }
            // A reschedule interrupt has no function to call.
            EventKind::IpiSendCpu | EventKind::IpiSendMask if third == 0 => {
                self.reschedules.insert(first as u32, sender);
            }
            EventKind::IpiSendCpu | EventKind::IpiSendMask => {
                self.calls.insert(first as u32, (third, sender));
            }
            EventKind::HrtimerStart | EventKind::TimerStart => self.timers.set(first, sender),
            EventKind::WorkQueue => self.works.set(first, sender),
            EventKind::Waking => self.wakers.set(first as i32, sender),
            EventKind::Signal if is_stop(second) && self.process.contains(&(first as i32)) => {
                self.stop = Some((second as u8, sender));
            }
            _ => {}
        }
    }

    /// Returns who asked `cpu` for the request at `csd`.
    pub(crate) fn take_request(&mut self, cpu: u32, csd: u64) -> Option<Sender> {
        self.requests.take(&(cpu, csd))
    }

    /// Returns the function and the sender of the last call interrupt to `cpu`.
    pub(crate) fn take_call(&mut self, cpu: u32) -> Option<(u64, Sender)> {
        self.calls.remove(&cpu)
    }

    /// Returns the sender of the last reschedule interrupt to `cpu`.
    pub(crate) fn take_reschedule(&mut self, cpu: u32) -> Option<Sender> {
        self.reschedules.remove(&cpu)
    }

    /// Returns who armed the timer at this address. A periodic timer stays armed.
    pub(crate) fn armed(&self, timer: u64) -> Option<Sender> {
        self.timers.get(&timer)
    }

    /// Returns who queued the work item at this address.
    pub(crate) fn take_queued(&mut self, work: u64) -> Option<Sender> {
        self.works.take(&work)
    }

    /// Returns who woke the thread, if it was woken since it last ran.
    pub(crate) fn take_waker(&mut self, pid: i32) -> Option<Sender> {
        self.wakers.take(&pid)
    }
}

/// Recognises SIGSTOP, SIGTSTP, SIGTTIN and SIGTTOU, which have the same numbers on all supported
/// architectures.
fn is_stop(signal: u64) -> bool {
    (19..=22).contains(&signal)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sender(ticks: u64) -> Sender {
        Sender { cpu: 0, pid: 1, ticks, within: None }
    }

    #[test]
    fn recent_keeps_one_to_two_generations() {
        let generation = GENERATION as u64;
        let filled = |sets: u64| {
            let mut recent = Recent::new();
            (0..sets).for_each(|key| recent.set(key, key));
            recent
        };
        // Number of sets, and the oldest key that is still known.
        for (sets, oldest) in [
            (generation, 0),
            (generation + 1, 0),
            (2 * generation, 0),
            (2 * generation + 1, generation),
            (3 * generation, generation),
            (3 * generation + 1, 2 * generation),
        ] {
            let recent = filled(sets);
            assert_eq!(recent.get(&oldest), Some(oldest), "{sets} sets");
            assert_eq!(oldest.checked_sub(1).and_then(|key| recent.get(&key)), None, "{sets} sets");
            assert_eq!(recent.get(&(sets - 1)), Some(sets - 1), "{sets} sets");
        }
    }

    #[test]
    fn recent_returns_the_last_value_of_a_key_and_takes_all_of_them() {
        let mut recent = Recent::new();
        recent.set(7, "earlier");
        (1_000..1_000 + GENERATION as u64).for_each(|key| recent.set(key, "other"));
        assert_eq!(recent.get(&7), Some("earlier"), "from the older generation");
        recent.set(7, "later");
        assert_eq!(recent.get(&7), Some("later"));
        assert_eq!(recent.take(&7), Some("later"));
        assert_eq!(recent.get(&7), None, "the earlier value does not come back");
    }

    fn event(kind: EventKind, args: [u64; 3]) -> KernelEvent {
        KernelEvent { cpu: 0, ticks: 5, kind, pid: 1, args }
    }

    /// What each event is remembered as: call, reschedule, timer, signal.
    #[test]
    fn an_event_is_remembered_as_what_it_causes() {
        let by = Some(sender(5));
        let call = Some((0xf, sender(5)));
        let stop = |signal| Some((signal, sender(5)));
        type Row = (&'static str, EventKind, [u64; 3], [bool; 3], Option<u8>);
        let rows: [Row; 14] = [
            ("call of one CPU", EventKind::IpiSendCpu, [3, 0, 0xf], [true, false, false], None),
            ("call of several", EventKind::IpiSendMask, [3, 0, 0xf], [true, false, false], None),
            ("reschedule of one", EventKind::IpiSendCpu, [3, 0, 0], [false, true, false], None),
            (
                "reschedule of several",
                EventKind::IpiSendMask,
                [3, 0, 0],
                [false, true, false],
                None,
            ),
            ("call of another CPU", EventKind::IpiSendCpu, [2, 0, 0xf], [false; 3], None),
            (
                "high-resolution timer",
                EventKind::HrtimerStart,
                [3, 0, 0],
                [false, false, true],
                None,
            ),
            ("timer", EventKind::TimerStart, [3, 0, 0], [false, false, true], None),
            ("a thread that is woken", EventKind::Waking, [3, 0, 0], [false; 3], None),
            ("SIGSTOP", EventKind::Signal, [77, 19, 0], [false; 3], Some(19)),
            ("SIGTTOU", EventKind::Signal, [78, 22, 0], [false; 3], Some(22)),
            ("SIGCONT", EventKind::Signal, [77, 18, 0], [false; 3], None),
            ("SIGURG", EventKind::Signal, [77, 23, 0], [false; 3], None),
            ("SIGSTOP of others", EventKind::Signal, [79, 19, 0], [false; 3], None),
            ("an interrupt", EventKind::LocalTimerEntry, [3, 0, 0xf], [false; 3], None),
        ];
        for (name, kind, args, [calls, reschedules, arms], stops) in rows {
            let mut causes = Causes::new(vec![77, 78]);
            causes.note(&event(kind, args), sender(5));
            assert_eq!(causes.armed(3), by.filter(|_| arms), "case: {name}");
            assert_eq!(causes.take_call(3), call.filter(|_| calls), "case: {name}");
            assert_eq!(causes.take_reschedule(3), by.filter(|_| reschedules), "case: {name}");
            assert_eq!(causes.stop, stops.and_then(stop), "case: {name}");
        }
    }

    #[test]
    fn events_are_kept_until_their_effect() {
        let mut causes = Causes::new(vec![77]);
        for (kind, args) in [
            (EventKind::CsdQueue, [3, 0xf, 0xc5d]),
            (EventKind::WorkQueue, [0xa, 0xb, 3]),
            (EventKind::Waking, [42, 3, 0]),
        ] {
            causes.note(&event(kind, args), sender(5));
        }
        let by = Some(sender(5));
        assert_eq!(causes.take_call(3), Some((0xf, sender(5))));
        assert_eq!(causes.take_request(2, 0xc5d), None, "another CPU");
        for (times, expected) in [("once", by), ("a second time", None)] {
            assert_eq!(causes.take_request(3, 0xc5d), expected, "{times}");
            assert_eq!(causes.take_queued(0xa), expected, "{times}");
            assert_eq!(causes.take_waker(42), expected, "{times}");
        }
    }
}
