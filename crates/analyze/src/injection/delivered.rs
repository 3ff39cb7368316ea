//! Finds injected noise in kernel events: each delivery, and how long it had the CPU.

use anechoic_recording::injection::{Injected, InjectionKind, InjectionTiming, Spell};
use anechoic_recording::{EventKind, KernelEvent, Name, NameKind, Run};

/// Name of the function of the timer behind a `cpu-clock` event.
const PERF_TIMER: &str = "perf_swevent_hrtimer";
/// Name of the function of BPF timers, which the kernel runs in this soft interrupt.
const BPF_TIMER: &str = "bpf_timer_cb";
const HRTIMER_SOFTIRQ: u64 = 8;
/// Name of the function of the timer that wakes a thread.
const WAKE_UP: &str = "hrtimer_wakeup";
/// Largest number of other timers with that function that are tracked.
const MOST_OTHERS: usize = 16;

/// A step in the life of an injection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Came {
    /// The timer of a thread expired; the injection begins once the thread has the CPU.
    Expired,
    /// It was delivered.
    Began {
        /// Time to which the timer had been set (`CLOCK_MONOTONIC`, ns), if recorded.
        due_ns: Option<u64>,
        /// Whether this is its first observation.
        first: bool,
    },
    /// It ended, and had the CPU for this long.
    Ended { own_ticks: u64 },
}

/// Follows the events of one CPU.
#[derive(Debug)]
pub(crate) enum Follower {
    Timer(Timer),
    Thread(Thread),
}

/// Kernel functions of interest, by address.
#[derive(Debug, Default)]
pub(crate) struct Functions {
    perf_timer: Vec<u64>,
    bpf_timer: Vec<u64>,
    wake_up: Vec<u64>,
}

impl Functions {
    pub(crate) fn note(&mut self, name: &Name) {
        if name.kind != NameKind::Symbol {
            return;
        }
        // A compiler may have cloned it: `function.constprop.0`.
        match name.name.split('.').next() {
            Some(PERF_TIMER) => self.perf_timer.push(name.key),
            Some(BPF_TIMER) => self.bpf_timer.push(name.key),
            Some(WAKE_UP) => self.wake_up.push(name.key),
            _ => {}
        }
    }
}

impl Follower {
    /// Returns the state for one CPU, or why its events do not contain the injection.
    pub(crate) fn new(
        run: &Run,
        injected: &Injected,
        spell: &Spell,
        functions: &Functions,
    ) -> Result<Self, &'static str> {
        let Some(trace) = &run.trace else { return Err("no kernel events were recorded") };
        if injected.kind != InjectionKind::Thread {
            let soft = injected.timing != InjectionTiming::Periodic;
            let functions = match (soft, &functions.bpf_timer[..], &functions.perf_timer[..]) {
                (true, [], _) => {
                    return Err("no event names bpf_timer_cb: it never expired, or the names of \
                                kernel functions are hidden (kernel.kptr_restrict)");
                }
                (false, _, []) => {
                    return Err(
                        "no event names perf_swevent_hrtimer: it never expired, or the names of \
                                kernel functions are hidden (kernel.kptr_restrict)",
                    );
                }
                (true, bpf, _) => bpf,
                (false, _, perf) => perf,
            };
            return Ok(Follower::Timer(Timer {
                functions: functions.to_vec(),
                soft,
                on_from_ticks: spell.start_ticks,
                others: Vec::new(),
                own: None,
                due_ns: None,
                since: None,
            }));
        }
        let place = injected.cpus.iter().position(|&cpu| cpu == spell.cpu);
        let tid = place.and_then(|place| injected.tids.get(place));
        let &tid = tid.ok_or("the recording does not contain the thread")?;
        let armed_unseen = trace.missing.iter().any(|name| name == "timer:hrtimer_start");
        Ok(Follower::Thread(Thread {
            tid,
            functions: if armed_unseen { Vec::new() } else { functions.wake_up.clone() },
            armed: None,
            fired: None,
            since: None,
        }))
    }

    /// Processes the CPU's next event.
    pub(crate) fn take(&mut self, event: &KernelEvent) -> Option<Came> {
        match self {
            Follower::Timer(timer) => timer.take(event),
            Follower::Thread(thread) => thread.take(event),
        }
    }

    /// Returns whether the event belongs to the injected noise; to be called before it is processed. `victim` is the
    /// disturbed thread.
    pub(crate) fn owns(&self, event: &KernelEvent, victim: i32) -> bool {
        let address = event.args[0];
        match (self, event.kind) {
            (Follower::Timer(timer), EventKind::HrtimerEntry) => timer.own == Some(address),
            // What else expires in it is seen by itself.
            (Follower::Timer(timer), EventKind::SoftirqEntry) => {
                timer.soft && address == HRTIMER_SOFTIRQ
            }
            (Follower::Thread(thread), EventKind::HrtimerEntry) => {
                thread.armed.is_some_and(|(armed, _)| armed == address)
            }
            (Follower::Thread(thread), EventKind::Switch) => {
                let next = pid(event.args[0]);
                next == thread.tid || event.pid == thread.tid && next == victim
            }
            _ => false,
        }
    }
}

/// The timer of a `cpu-clock` event or of a BPF program. Those of others (`perf record`) run the same function: ours is
/// the first that was started after the injection was switched on and not before.
#[derive(Debug)]
pub(crate) struct Timer {
    functions: Vec<u64>,
    /// Whether it expires in a soft interrupt.
    soft: bool,
    on_from_ticks: u64,
    others: Vec<u64>,
    own: Option<u64>,
    due_ns: Option<u64>,
    since: Option<u64>,
}

impl Timer {
    fn take(&mut self, event: &KernelEvent) -> Option<Came> {
        let [timer, function, expires_ns] = event.args;
        match event.kind {
            EventKind::HrtimerStart if self.is_own(timer, function, event.ticks) => {
                self.due_ns = Some(expires_ns);
                None
            }
            EventKind::HrtimerEntry if self.is_own(timer, function, event.ticks) => {
                self.since = Some(event.ticks);
                Some(Came::Began { due_ns: self.due_ns.take(), first: true })
            }
            EventKind::HrtimerExit if self.own == Some(timer) => {
                let since = self.since.take()?;
                Some(Came::Ended { own_ticks: event.ticks.saturating_sub(since) })
            }
            _ => None,
        }
    }

    fn is_own(&mut self, timer: u64, function: u64, ticks: u64) -> bool {
        if !self.functions.contains(&function) {
            return false;
        }
        if ticks < self.on_from_ticks {
            if self.others.len() < MOST_OTHERS && !self.others.contains(&timer) {
                self.others.push(timer);
            }
            return false;
        }
        if self.own.is_none() && !self.others.contains(&timer) {
            self.own = Some(timer);
        }
        self.own == Some(timer)
    }
}

/// A thread that sleeps by timers and spins. It is also woken to start and to stop; only wake-ups by its timer are
/// requested noise.
#[derive(Debug)]
pub(crate) struct Thread {
    tid: i32,
    /// Tracked timers; empty if the recording does not contain who starts timers.
    functions: Vec<u64>,
    /// The last timer that it started, and when that is due.
    armed: Option<(u64, u64)>,
    /// Whether that has expired, and when it was due.
    fired: Option<u64>,
    since: Option<u64>,
}

impl Thread {
    fn take(&mut self, event: &KernelEvent) -> Option<Came> {
        let [first, function, expires_ns] = event.args;
        match event.kind {
            EventKind::HrtimerStart if event.pid == self.tid => {
                if self.functions.contains(&function) {
                    self.armed = Some((first, expires_ns));
                }
                None
            }
            EventKind::HrtimerEntry => {
                let (_, due_ns) = self.armed.take_if(|(timer, _)| *timer == first)?;
                self.fired = Some(due_ns);
                Some(Came::Expired)
            }
            EventKind::Switch if pid(first) == self.tid => self.switched_in(event.ticks),
            EventKind::Switch if event.pid == self.tid => {
                let since = self.since.take()?;
                let [_, prev_state, _] = event.args;
                // A thread that could go on was interrupted itself: it has not had its time yet.
                let done = prev_state & 0xff != 0;
                done.then(|| Came::Ended { own_ticks: event.ticks.saturating_sub(since) })
            }
            _ => None,
        }
    }

    fn switched_in(&mut self, ticks: u64) -> Option<Came> {
        let due_ns = self.fired.take();
        if due_ns.is_none() && !self.functions.is_empty() {
            return None;
        }
        self.since = Some(ticks);
        Some(Came::Began { due_ns, first: due_ns.is_none() })
    }
}

/// Returns a thread's number in an argument of an event.
fn pid(arg: u64) -> i32 {
    i32::try_from(arg).unwrap_or(-1)
}
