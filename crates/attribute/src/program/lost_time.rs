//! When a CPU did not execute the program although the program wanted it, from the kernel's events.
//!
//! A thread of the program wants a CPU that it is current on, or was preempted on. While the CPU executes something else, that is
//! lost time, and such an interval is a detour: an interrupt on top of the thread, another thread, an idle CPU. The threads of
//! the program share its CPUs: while one of them executes, none of them loses time there.
//!
//! What the kernel does on behalf of the program in its context is its own execution: system calls, page faults, and softirqs
//! that it raised itself.
//!
//! Where a woken thread waits is known only when it is switched in: the scheduler chooses the CPU. The detour then began when
//! it was woken, or when the CPU last executed the program.

use super::cpu_state::{CpuState, Pauses, Span};
use super::holders::Holder;
use super::threads::{Left, Threads, Waking};
use super::timers::Timers;
use anechoic_recording::event::{Handler, Role};
use anechoic_recording::run::Program;
use anechoic_recording::who::SeenThread;
use anechoic_recording::{Clock, Detour, EventKind, KernelEvent, Loss, LossKind, Members};
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

/// The number of the idle thread of each CPU.
const IDLE: i32 = 0;
/// The states of `sched_switch` in which a thread has ended: X and Z.
const ENDED: u64 = 0x30;
/// All states in which a thread is not runnable.
const NOT_RUNNABLE: u64 = 0xff;

/// What a thread of the program does, as far as events show it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Thread {
    /// It is current on this CPU; it was woken meanwhile if it was about to sleep.
    Current { cpu: u32, woken: bool },
    /// It was switched out on this CPU and could have gone on.
    Preempted { cpu: u32 },
    /// It was woken, or begun, at this time, and has not been switched in since.
    Woken { since: u64 },
    /// It sleeps since this time; it was woken just before if the kernel was about to switch it out.
    Asleep { since: u64, woken: bool },
}

/// Derives the detours of a program from the events of all CPUs, which come in time order.
pub(crate) struct LostTime {
    members: Members,
    clock: Clock,
    threads: HashMap<i32, Thread>,
    cpus: BTreeMap<u32, CpuState>,
    /// The intervals in which events were lost, the next one last.
    losses: Vec<Loss>,
    /// The detours that are over, and were not taken yet.
    found: Vec<Detour>,
    /// What each thread does, if that is wanted too.
    by_thread: Option<Threads>,
    pauses: Pauses,
    timers: Timers,
    /// When the run began. What happened before only shows who does what then.
    start_ticks: u64,
    has_begun: bool,
}

/// What an interrupt leads to, its softirqs and a switch to another thread, begins within this time after its exit event. Of
/// 800 pauses between two detours of a busy program in a guest, 188 were of 2 to 5 µs, nearly all from a tick to a switch, 3 of
/// 5 to 20 µs, and the rest longer.
const PAUSE_NS: u64 = 10_000;

/// A shorter wait is the cost of a wake-up or a switch.
const LONG_WAIT_NS: u64 = 20_000;

/// The kernel runs the softirqs that are pending in one loop, each within this time after the one before.
const NEXT_SOFTIRQ_NS: u64 = 2_000;

impl LostTime {
    /// Begins with the threads of a program, of which nothing before `start_ticks` counts.
    #[must_use]
    pub fn new(members: Members, clock: &Clock, start_ticks: u64) -> Self {
        let pauses = Pauses {
            after_interrupt: clock.ticks(PAUSE_NS),
            after_softirq: clock.ticks(NEXT_SOFTIRQ_NS),
        };
        Self {
            members,
            clock: clock.clone(),
            threads: HashMap::new(),
            cpus: BTreeMap::new(),
            losses: Vec::new(),
            found: Vec::new(),
            by_thread: None,
            pauses,
            timers: Timers::default(),
            start_ticks,
            has_begun: false,
        }
    }

    /// Returns the same, following each thread too.
    #[must_use]
    pub fn by_thread(self) -> Self {
        let threads = Threads::new(self.clock.ticks(LONG_WAIT_NS));
        Self { by_thread: Some(threads), ..self }
    }

    /// Returns the timers, so that their functions can be known.
    pub(crate) fn timers(&mut self) -> &mut Timers {
        &mut self.timers
    }

    /// Returns which threads belong to the program, and what is known of each, if they are followed.
    pub(super) fn by_number(&mut self) -> (&Members, Option<&mut Threads>) {
        (&self.members, self.by_thread.as_mut())
    }

    /// Adds intervals in which something was lost, in any order. They must be known before the events that follow them.
    pub fn losses(&mut self, losses: impl IntoIterator<Item = Loss>) {
        self.losses.extend(losses.into_iter().filter(|loss| loss.what == LossKind::Events));
        if !self.losses.is_empty() {
            self.members.lose_some();
        }
        self.losses.sort_by_key(|loss| Reverse(loss.start_ticks));
    }

    /// Processes the next event. Those of all CPUs come in time order.
    pub fn event(&mut self, event: &KernelEvent) {
        let (cpu, ticks) = (event.cpu, event.ticks);
        self.lose_until(ticks);
        if ticks >= self.start_ticks {
            self.begin();
        }
        self.members.event(event);
        if event.kind.has_current_thread() {
            self.expect(cpu, ticks, event.pid);
        }
        self.timers.event(event);
        if self.timers.is_tick(event) {
            self.cpu(cpu).clock_read = ticks;
        }
        let is_switch = event.kind == EventKind::Switch;
        let is_its_own =
            self.members.has(event.pid) || is_switch && self.members.has(event.args[0] as i32);
        if self.has_begun && is_its_own {
            let executed = &mut self.cpu(cpu).executed;
            executed.events += 1;
            executed.switches += u64::from(is_switch);
        }
        match event.kind.role() {
            // A work item is run by a thread of the kernel.
            Role::Enter(Handler::Work) | Role::Exit(Handler::Work) => {}
            Role::Enter(handler) => {
                let pauses = self.pauses;
                let follows = self.cpu(cpu).enter(handler, ticks, pauses);
                self.settle(cpu, ticks, follows);
            }
            Role::Exit(handler) => {
                self.cpu(cpu).exit(handler, ticks);
                self.settle(cpu, ticks, false);
            }
            Role::Instant | Role::Cause => self.happen(event),
        }
        self.cpu(cpu).seen = ticks;
    }

    /// Lets time count from the start on, once.
    fn begin(&mut self) {
        if !std::mem::replace(&mut self.has_begun, true) {
            self.cpus.values_mut().for_each(|state| state.begin(self.start_ticks));
            self.by_thread.iter_mut().for_each(|threads| threads.begin(self.start_ticks));
        }
    }

    fn happen(&mut self, event: &KernelEvent) {
        let (cpu, ticks, [first, second, third]) = (event.cpu, event.ticks, event.args);
        match event.kind {
            EventKind::Switch => {
                if self.members.has(first as i32)
                    && let Some(threads) = &mut self.by_thread
                {
                    threads.runs_at(first as i32, third as i32, ticks);
                }
                self.switch(cpu, ticks, (event.pid, second), first as i32);
            }
            EventKind::Nmi => {
                let length = self.clock.ticks(second);
                let over = self.cpu(cpu).interrupted(ticks, length);
                self.emit(cpu, over);
            }
            EventKind::PageFaultUser => {
                self.cpu(cpu).exit_all(); // the thread was in user mode, so that no interrupt goes on
                self.settle(cpu, ticks, false);
            }
            EventKind::Waking if self.members.has(first as i32) => {
                self.wake(first as i32, ticks);
                let by = (!self.cpu(cpu).is_interrupted()).then_some(event.pid);
                let waking = Waking { cpu: second as u32, by };
                if let Some(threads) = &mut self.by_thread {
                    threads.woken(first as i32, ticks, waking);
                }
            }
            EventKind::NewTask => {
                self.forget(first as i32, ticks); // of a thread that had the number before
                if self.members.has(first as i32) {
                    self.threads.insert(first as i32, Thread::Woken { since: ticks });
                    self.by_thread
                        .iter_mut()
                        .for_each(|threads| threads.born(first as i32, cpu, ticks));
                }
            }
            EventKind::CgroupAttach => self.move_threads(ticks),
            _ => {}
        }
    }

    /// Handles that threads were moved into or out of the control group that is recorded. What one that left did is
    /// forgotten, so that it counts anew if it comes back; one that has a CPU counts from now on, or no longer.
    fn move_threads(&mut self, ticks: u64) {
        let followed = self.by_thread.iter().flat_map(Threads::ids);
        let left = self.threads.keys().copied().chain(followed);
        let left: Vec<i32> = left.filter(|&tid| !self.members.has(tid)).collect();
        left.into_iter().for_each(|tid| self.forget(tid, ticks));
        let cpus: Vec<u32> = self.cpus.keys().copied().collect();
        cpus.into_iter().for_each(|cpu| self.settle(cpu, ticks, false));
    }

    /// Forgets what a thread did, and that it waited.
    fn forget(&mut self, tid: i32, ticks: u64) {
        if let Some(threads) = &mut self.by_thread {
            let counted = |cpu| self.cpus.get(&cpu).map(|state| state.counted(ticks));
            threads.forget(tid, ticks, |cpu| counted(cpu).unwrap_or_default());
        }
        if let Some(Thread::Preempted { cpu }) = self.threads.remove(&tid) {
            self.no_longer_waits(cpu, u32::MAX, ticks);
        }
    }

    /// Handles the losses that begin before `ticks`. One begins at the last event before it, which still counts.
    fn lose_until(&mut self, ticks: u64) {
        while let Some(loss) = self.losses.pop_if(|loss| loss.start_ticks < ticks) {
            self.lose(loss.cpu, loss.start_ticks, loss.end_ticks);
        }
    }

    /// Begins anew on a CPU after an interval in which events of it were lost: nothing counts in it. A thread that waits on
    /// another CPU, or wherever it was woken for, may have gone on here and ended.
    fn lose(&mut self, cpu: u32, start_ticks: u64, end_ticks: u64) {
        let waiting = |(&tid, thread): (&i32, &Thread)| {
            matches!(thread, Thread::Preempted { .. } | Thread::Woken { .. }).then_some(tid)
        };
        let mut waiting: Vec<i32> = self.threads.iter().filter_map(waiting).collect();
        waiting.sort_unstable();
        waiting.into_iter().for_each(|tid| self.forget(tid, start_ticks));
        self.threads
            .retain(|_, thread| !matches!(thread, Thread::Current { cpu: on, .. } if *on == cpu));
        let counts = self.cpu(cpu).counted(start_ticks);
        self.by_thread.iter_mut().for_each(|threads| threads.lose(cpu, start_ticks, counts));
        let state = self.cpu(cpu);
        (state.waiting, state.current) = (0, None);
        state.exit_all();
        self.settle(cpu, start_ticks, false);
        let over = self.cpu(cpu).forget_until(end_ticks);
        self.emit(cpu, over);
    }

    /// Ends all that goes on.
    pub fn finish(&mut self, end_ticks: u64) {
        self.begin();
        self.lose_until(end_ticks);
        let numbers: Vec<u32> = self.cpus.keys().copied().collect();
        for cpu in numbers {
            self.lose(cpu, end_ticks, end_ticks);
        }
        self.by_thread.iter_mut().for_each(|threads| threads.finish(end_ticks));
    }

    /// Takes the detours that were found since the last call, those of one CPU in time order.
    ///
    /// A detour is found once it is known that nothing extends it.
    pub fn found(&mut self) -> std::vec::Drain<'_, Detour> {
        self.found.drain(..)
    }

    /// Returns which threads belong to the program.
    #[must_use]
    pub fn members(&self) -> &Members {
        &self.members
    }

    /// Forgets the thread of the program that ended with this event, if one did, once the event was processed.
    pub fn forget_ended(&mut self, event: &KernelEvent) {
        self.members.forget_ended(event);
    }

    /// Lets more be known of the threads of the machine and of the program.
    pub fn know(&mut self, program: &Program, threads: &[SeenThread]) {
        self.members.know(program, threads);
    }

    fn cpu(&mut self, cpu: u32) -> &mut CpuState {
        self.cpus.entry(cpu).or_insert_with(|| CpuState::since(self.start_ticks))
    }

    fn emit(&mut self, cpu: u32, over: Option<Span>) {
        if let Some((start_ticks, end_ticks)) = over.filter(|_| self.has_begun) {
            self.found.push(Detour { cpu, start_ticks, end_ticks });
        }
    }

    /// Counts what the CPU did up to now. `follows` is whether what begins now may follow from an interrupt that is over.
    fn settle(&mut self, cpu: u32, ticks: u64, follows: bool) {
        let pause = if follows { self.pauses.after_interrupt } else { 0 };
        let current = self.cpu(cpu).current;
        let own = current.is_some_and(|tid| self.members.has(tid));
        let over = self.cpu(cpu).settle(ticks, own, pause);
        self.emit(cpu, over);
        if let Some(threads) = &mut self.by_thread {
            let state = &self.cpus[&cpu];
            let holder = match current {
                None => Holder::Unknown,
                Some(IDLE) if state.is_interrupted() => Holder::Interrupts,
                Some(_) if own && state.is_interrupted() => Holder::Interrupts,
                Some(tid) if own => Holder::Own(tid, 0),
                Some(tid) => Holder::Other(tid),
            };
            threads.settled((cpu, ticks), holder, current.filter(|_| own), state.counted(ticks));
        }
    }

    /// Handles an event of thread `tid`. If that is not the thread switched in last, a switch was missed.
    ///
    /// Some kernels do not report the switches from a CPU's idle thread, or from some others. A thread of the program came or left
    /// between the last event of the CPU and this one: that time counts as executed and is stated apart. An idle CPU may be
    /// without events for long, so that a thread which was preempted before begins there only now: unless a quota had held it
    /// back, and its group got new time meanwhile. Then it began after that.
    fn expect(&mut self, cpu: u32, ticks: u64, tid: i32) {
        let before = self.cpu(cpu).current;
        if before == Some(tid) {
            return;
        }
        let seen = self.cpu(cpu).seen.max(self.cpu(cpu).counted_from).min(ticks);
        let mut begun = ticks;
        let left = before.and_then(|gone| self.threads.get(&gone));
        if matches!(left, Some(Thread::Current { cpu: on, .. }) if *on == cpu) {
            before.into_iter().for_each(|gone| self.forget(gone, ticks));
            self.cpu(cpu).executed.unseen += ticks - seen;
        } else if self.members.has(tid) && before.is_some_and(|gone| gone != IDLE) {
            begun = seen;
        }
        self.cpu(cpu).exit_all();
        self.cpu(cpu).current = Some(tid);
        if self.members.has(tid) {
            let waited = matches!(self.threads.get(&tid), Some(Thread::Preempted { .. }));
            let idle_since = self.cpu(cpu).switched;
            let refilled =
                self.timers.last_refill_ticks().filter(|&at| at > idle_since && at < ticks);
            if let Some(at) = refilled.filter(|_| waited && before == Some(IDLE)) {
                begun = at.max(seen); // the interrupt that ends its idle state is still an event of the idle task
            }
            let woken = self.arrive(tid, cpu, ticks);
            if let Some(since) = woken.filter(|_| before == Some(IDLE) || begun < ticks) {
                begun = seen.max(since).min(ticks);
                self.cpu(cpu).switch(begun, woken);
                let over = self.cpu(cpu).waited(since, begun);
                self.emit(cpu, over);
            }
            self.cpu(cpu).executed.unseen += ticks - begun;
        }
        self.settle(cpu, begun, false);
    }

    fn switch(&mut self, cpu: u32, ticks: u64, (prev, prev_state): (i32, u64), next: i32) {
        let (runnable, pauses) = (prev_state & NOT_RUNNABLE == 0, self.pauses);
        let follows = runnable && self.cpu(cpu).follows_interrupt(ticks, pauses);
        self.cpu(cpu).exit_all();
        if self.members.has(prev) {
            let woken =
                matches!(self.threads.get(&prev), Some(Thread::Current { woken: true, .. }));
            let (thread, waiting) = match runnable {
                true => (Thread::Preempted { cpu }, 1),
                false => (Thread::Asleep { since: ticks, woken }, 0),
            };
            self.cpu(cpu).waiting += waiting;
            self.threads.insert(prev, thread);
            let mut how = if runnable { Left::Preempted } else { Left::Asleep };
            if prev_state & ENDED != 0 {
                self.threads.remove(&prev);
                how = Left::Ended;
            }
            let counts = self.cpu(cpu).counted(ticks);
            if let Some(threads) = &mut self.by_thread {
                threads.leave(prev, (cpu, ticks), counts, how);
            }
        }
        self.cpu(cpu).current = Some(next);
        // A thread that a quota held back is put on the CPU's queue when its group has new time, as if it had been woken.
        let held = matches!(self.threads.get(&next), Some(Thread::Preempted { .. }));
        let of_own = self.members.has(prev);
        let refilled = self.timers.last_refill_ticks().filter(|_| held && prev == IDLE);
        let woken = if self.members.has(next) { self.arrive(next, cpu, ticks) } else { None };
        // The kernel counts each moment for one of two threads of the program.
        self.cpu(cpu).switch(ticks, woken.or(refilled).filter(|_| !of_own));
        if let Some(since) = woken {
            let over = self.cpu(cpu).waited(since, ticks);
            self.emit(cpu, over);
        }
        self.settle(cpu, ticks, follows);
    }

    /// Makes a thread current; returns since when it waited, if it had been woken.
    fn arrive(&mut self, tid: i32, cpu: u32, ticks: u64) -> Option<u64> {
        let before = self.threads.insert(tid, Thread::Current { cpu, woken: false })?;
        match before {
            Thread::Preempted { cpu: there } => {
                self.no_longer_waits(there, cpu, ticks);
                None
            }
            // It cannot go on without being woken: that was just before it was switched out.
            Thread::Woken { since } | Thread::Asleep { since, woken: true } => Some(since),
            Thread::Asleep { .. } | Thread::Current { .. } => None, // events were lost
        }
    }

    /// A thread that was preempted on CPU `there` does not wait there any more; `here` is counted by the caller.
    fn no_longer_waits(&mut self, there: u32, here: u32, ticks: u64) {
        let state = self.cpu(there);
        state.waiting = state.waiting.saturating_sub(1);
        if there != here {
            self.settle(there, ticks, false);
        }
    }

    fn wake(&mut self, tid: i32, ticks: u64) {
        let thread = match self.threads.get(&tid).copied() {
            Some(Thread::Current { cpu, .. }) => Thread::Current { cpu, woken: true },
            // It had gone to sleep unseen.
            Some(Thread::Preempted { cpu }) => {
                self.no_longer_waits(cpu, u32::MAX, ticks);
                Thread::Woken { since: ticks }
            }
            Some(Thread::Woken { .. } | Thread::Asleep { .. }) | None => {
                Thread::Woken { since: ticks }
            }
        };
        self.threads.insert(tid, thread);
    }
}

mod so_far;
#[cfg(test)]
mod tests;
