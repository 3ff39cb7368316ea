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
struct Recent<K, V> {
    young: HashMap<K, V>,
    old: HashMap<K, V>,
}

impl<K: Eq + Hash, V: Copy> Recent<K, V> {
    fn new() -> Self {
        Self { young: HashMap::new(), old: HashMap::new() }
    }

    fn set(&mut self, key: K, value: V) {
        if self.young.len() >= GENERATION {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(key, value);
    }

    fn get(&self, key: &K) -> Option<V> {
        self.young.get(key).or_else(|| self.old.get(key)).copied()
    }

    fn take(&mut self, key: &K) -> Option<V> {
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
    fn recent_forgets_the_oldest_and_keeps_the_last() {
        let mut recent = Recent::new();
        for key in 0..3 * GENERATION as u64 {
            recent.set(key, key);
        }
        assert_eq!(recent.get(&0), None);
        assert_eq!(recent.get(&(3 * GENERATION as u64 - 1)), Some(3 * GENERATION as u64 - 1));
        assert!(recent.young.len() + recent.old.len() <= 2 * GENERATION);
        assert_eq!(recent.take(&(3 * GENERATION as u64 - 1)), Some(3 * GENERATION as u64 - 1));
        assert_eq!(recent.get(&(3 * GENERATION as u64 - 1)), None);
    }

    #[test]
    fn events_are_kept_until_their_effect() {
        let mut causes = Causes::new(vec![77]);
        let event = |kind, args| KernelEvent { cpu: 0, ticks: 5, kind, pid: 1, args };
        for (kind, args) in [
            (EventKind::CsdQueue, [3, 0xf, 0xc5d]),
            (EventKind::IpiSendCpu, [3, 0, 0]),
            (EventKind::WorkQueue, [0xa, 0xb, 3]),
            (EventKind::Waking, [42, 3, 0]),
            (EventKind::Signal, [77, 19, 0]),
            (EventKind::Signal, [78, 20, 0]), // another process
        ] {
            causes.note(&event(kind, args), sender(5));
        }
        assert_eq!(causes.take_call(3), Some((0xf, sender(5))));
        assert_eq!(causes.take_request(3, 0xc5d), Some(sender(5)));
        assert_eq!(causes.take_request(3, 0xc5d), None, "taken once");
        assert_eq!(causes.take_request(2, 0xc5d), None, "another CPU");
        assert_eq!(causes.take_reschedule(3), Some(sender(5)));
        assert_eq!(causes.take_queued(0xa), Some(sender(5)));
        assert_eq!(causes.take_waker(42), Some(sender(5)));
        assert_eq!(causes.stop, Some((19, sender(5))));
    }
}
