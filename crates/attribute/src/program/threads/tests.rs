use super::*;
use crate::program::lost_time::LostTime;
use anechoic_lab::builders;
use anechoic_recording::run::Program;
use anechoic_recording::{EventKind, KernelEvent, Loss, LossKind, Members};
use std::collections::BTreeSet;

/// Threads of the program, from the start.
const A: i32 = 10;
const B: i32 = 11;
const C: i32 = 12;
/// Threads of other programs.
const X: i32 = 50;
const Y: i32 = 51;
const IDLE: i32 = 0;
const RUNNABLE: u64 = 0;
const SLEEPS: u64 = 1;
const ZOMBIE: u64 = 0x20;
/// Times are in µs, at 1 GHz.
const US: u64 = 1_000;
const END: u64 = 1_000_000 * US;

fn event(us: u64, cpu: u32, kind: EventKind, pid: i32, args: [u64; 3]) -> KernelEvent {
    KernelEvent { cpu, ticks: us * US, kind, pid, args }
}

fn switch(us: u64, cpu: u32, prev: i32, state: u64, next: i32) -> KernelEvent {
    event(us, cpu, EventKind::Switch, prev, [next as u64, state, 120])
}

fn waking(us: u64, cpu: u32, by: i32, tid: i32) -> KernelEvent {
    event(us, cpu, EventKind::Waking, by, [tid as u64, 0, 0])
}

fn timer(us: u64, cpu: u32, pid: i32, enters: bool) -> KernelEvent {
    let kind = if enters { EventKind::LocalTimerEntry } else { EventKind::LocalTimerExit };
    event(us, cpu, kind, pid, [0; 3])
}

fn play(events: &[KernelEvent], start: u64, losses: &[Loss]) -> (Vec<Wait>, Vec<Known>, LostTime) {
    let program = Program { threads: vec![A, B, C], ..Program::default() };
    let clock = builders::clock(1_000_000_000);
    let mut lost_time = LostTime::new(Members::new(&program), &clock, start).by_thread();
    lost_time.losses(losses.iter().cloned());
    events.iter().for_each(|event| lost_time.event(event));
    lost_time.finish(END);
    let threads = lost_time.by_number().1.expect("followed");
    let (waits, mut known) = (threads.take_waits(), threads.take_ended());
    known.sort_by_key(|known| known.number);
    (waits, known, lost_time)
}

/// Thread, kind, start, end, part behind own threads, holder and its part, in µs.
type Row = (i32, DelayKind, u64, u64, u64, Holder, u64);

fn rows(events: &[KernelEvent]) -> Vec<Row> {
    let (waits, known, _) = play(events, 0, &[]);
    let tid = |number: u32| known[number as usize].tid;
    let row = |wait: &Wait| {
        let holder = match wait.holder {
            Holder::Own(tid, _) => Holder::Own(tid, 0),
            holder => holder,
        };
        let [start, end, own, held] =
            [wait.start, wait.end, wait.own_ticks, wait.held_ticks].map(|ticks| ticks / US);
        (tid(wait.thread), wait.kind, start, end, own, holder, held)
    };
    waits.iter().map(row).collect()
}

#[test]
fn a_delay_has_who_held_the_cpu() {
    use DelayKind::{Begun, Blocked, Preempted, Woken};
    let own = |tid| Holder::Own(tid, 0);
    let born = |us, by, tid: i32| event(us, 0, EventKind::NewTask, by, [tid as u64, 0, 0]);
    let cases: Vec<(&str, Vec<KernelEvent>, Vec<Row>)> = vec![
        ("nothing", vec![], vec![]),
        (
            "never waits",
            vec![switch(10, 0, IDLE, RUNNABLE, A), switch(90, 0, A, SLEEPS, IDLE)],
            vec![],
        ),
        (
            "its own logger has the CPU",
            vec![
                switch(0, 0, IDLE, RUNNABLE, B),
                waking(100, 0, X, A),
                switch(600, 0, B, SLEEPS, A),
                switch(700, 0, A, SLEEPS, IDLE),
            ],
            vec![(A, Woken, 100, 600, 500, own(B), 500)],
        ),
        (
            "another thread, then an own one",
            vec![
                switch(0, 0, IDLE, RUNNABLE, A),
                switch(100, 0, A, RUNNABLE, X),
                switch(300, 0, X, RUNNABLE, B),
                switch(350, 0, B, SLEEPS, A),
            ],
            vec![(A, Preempted, 100, 350, 50, Holder::Other(X), 200)],
        ),
        (
            "interrupts, on an idle CPU",
            vec![
                switch(0, 0, A, SLEEPS, IDLE),
                timer(100, 0, IDLE, true),
                waking(110, 0, IDLE, A),
                timer(400, 0, IDLE, false),
                switch(405, 0, IDLE, RUNNABLE, A),
            ],
            vec![(A, Woken, 110, 405, 0, Holder::Interrupts, 290)],
        ),
        (
            "two wait at the same time",
            vec![
                switch(0, 0, IDLE, RUNNABLE, X),
                waking(100, 0, X, A),
                waking(200, 0, X, B),
                switch(300, 0, X, RUNNABLE, A),
                switch(700, 0, A, SLEEPS, B),
            ],
            vec![
                (A, Woken, 100, 300, 0, Holder::Other(X), 200),
                (B, Woken, 200, 700, 400, own(A), 400),
            ],
        ),
        (
            "it waits on one CPU and is moved to another",
            vec![
                switch(0, 0, IDLE, RUNNABLE, X),
                switch(0, 1, IDLE, RUNNABLE, Y),
                waking(100, 0, X, A),
                switch(200, 1, Y, SLEEPS, A),
            ],
            vec![(A, Woken, 100, 200, 0, Holder::Other(Y), 100)],
        ),
        (
            "it begins, and never gets a CPU",
            vec![switch(0, 0, IDLE, RUNNABLE, A), born(500, A, C), switch(600, 0, A, SLEEPS, X)],
            vec![(C, Begun, 500, END / US, 100, Holder::Other(X), END / US - 600)],
        ),
        (
            "it sleeps until an own thread wakes it, which was preempted",
            vec![
                switch(0, 0, IDLE, RUNNABLE, B), // takes the lock
                switch(0, 1, IDLE, RUNNABLE, A),
                switch(100, 1, A, SLEEPS, IDLE), // waits for it
                switch(200, 0, B, RUNNABLE, X),
                switch(3_200, 0, X, SLEEPS, B),
                waking(3_300, 0, B, A),
                switch(3_305, 1, IDLE, RUNNABLE, A),
            ],
            vec![
                (B, Preempted, 200, 3_200, 0, Holder::Other(X), 3_000),
                (A, Blocked, 200, 3_200, 0, Holder::Other(X), 3_000),
                (A, Woken, 3_300, 3_305, 0, Holder::Other(IDLE), 5),
            ],
        ),
        (
            "the same, but a timer wakes it while that thread is current",
            vec![
                switch(0, 0, IDLE, RUNNABLE, B),
                switch(0, 1, A, SLEEPS, IDLE),
                switch(200, 0, B, RUNNABLE, X),
                switch(3_200, 0, X, SLEEPS, B),
                timer(3_300, 0, B, true),
                waking(3_301, 0, B, A),
                timer(3_302, 0, B, false),
                switch(3_305, 1, IDLE, RUNNABLE, A),
            ],
            vec![
                (B, Preempted, 200, 3_200, 0, Holder::Other(X), 3_000),
                (A, Woken, 3_301, 3_305, 0, Holder::Other(IDLE), 4),
            ],
        ),
    ];
    for (name, events, expected) in cases {
        assert_eq!(rows(&events), expected, "case: {name}");
    }
}

#[test]
fn a_loss_ends_what_is_not_known_and_what_was_before_the_start_does_not_count() {
    let events = [
        switch(0, 0, IDLE, RUNNABLE, A),
        switch(100, 0, A, RUNNABLE, X),
        switch(300, 0, X, RUNNABLE, A),
        switch(400, 0, A, RUNNABLE, X),
        switch(900, 0, X, RUNNABLE, A),
        switch(1_000, 0, A, ZOMBIE, IDLE),
    ];
    let loss = Loss {
        what: LossKind::Events,
        cpu: 0,
        start_ticks: 500 * US,
        end_ticks: 800 * US,
        count: 1,
    };
    for (name, start, losses, expected, executed) in [
        ("all", 0, vec![], vec![(100, 300), (400, 900)], 300),
        ("a loss", 0, vec![loss], vec![(100, 300), (400, 500)], 300),
        ("a late start", 200, vec![], vec![(200, 300), (400, 900)], 200),
        ("it executes at the start", 350, vec![], vec![(400, 900)], 150),
    ] {
        let (waits, known, _) = play(&events, start * US, &losses);
        let found: Vec<_> = waits.iter().map(|wait| (wait.start / US, wait.end / US)).collect();
        assert_eq!(found, expected, "case: {name}");
        assert_eq!(known[0].counts.executed, executed * US.cast_signed(), "case: {name}");
    }
}

#[test]
fn who_was_woken_waits_at_most_until_a_loss() {
    let woken = [switch(0, 0, A, SLEEPS, IDLE), waking(100, 0, X, A)];
    let born = [
        switch(0, 0, IDLE, RUNNABLE, B),
        event(100, 0, EventKind::NewTask, B, [A as u64, 0, 0]),
        switch(110, 0, B, SLEEPS, IDLE),
    ];
    // It has gone on where events were lost, slept there, and was woken again.
    let after = [switch(900, 0, IDLE, RUNNABLE, X), switch(950, 0, X, SLEEPS, A)];
    for (name, before) in [("woken", &woken[..]), ("born", &born)] {
        for lost_on in [0, 1] {
            let loss = Loss {
                what: LossKind::Events,
                cpu: lost_on,
                start_ticks: 300 * US,
                end_ticks: 500 * US,
                count: 1,
            };
            let (waits, known, _) = play(&[before, &after].concat(), 0, &[loss]);
            let of_a = waits.iter().filter(|wait| known[wait.thread as usize].tid == A);
            let found: Vec<_> = of_a.map(|wait| (wait.start / US, wait.end / US)).collect();
            assert_eq!(found, [(100, 300)], "case: {name}, a loss on CPU {lost_on}");
        }
    }
}

#[test]
fn a_thread_that_executes_once_has_the_name_with_which_it_ends() {
    use anechoic_recording::{Name, NameKind};
    let begun = |us, by, tid: i32| event(us, 0, EventKind::NewTask, by, [tid as u64, 0, 0]);
    let once = [
        switch(0, 0, IDLE, RUNNABLE, A),
        begun(10, A, C),
        switch(20, 0, A, RUNNABLE, C),
        switch(90, 0, C, ZOMBIE, A),
    ];
    // The events that show its end were lost, and another thread has its id.
    let again = [&once[..3], &[switch(90, 0, C, SLEEPS, A), begun(200, A, C)]].concat();
    let name = |us: u64, name: &str| {
        let kind = NameKind::Task;
        Name { kind, key: C as u64, ticks: us * US, name: name.into() }
    };
    let names = crate::names::Names::new([name(10, "parent"), name(90, "worker")]);
    let next = crate::names::Names::new([name(10, "parent"), name(90, "own"), name(200, "parent")]);
    for (events, names, expected) in [(&once[..], &names, "worker"), (&again, &next, "own")] {
        let (_, known, _) = play(events, 0, &[]);
        let thread = |known| crate::program::by_thread::thread(known, names, END);
        let found: Vec<_> = known.iter().map(thread).filter(|thread| thread.tid == C).collect();
        assert_eq!(&*found[0].name, expected, "{found:?}");
    }
}

#[test]
fn a_wait_long_ago_keeps_who_had_the_cpu() {
    // B waits behind X, and then the CPU changes hands 200 times before it wakes A.
    for (name, sleeps_at, start, held) in [("whole", 50, 200, 3_000), ("cut", 1_200, 1_200, 2_000)]
    {
        let mut events = vec![
            switch(0, 0, IDLE, RUNNABLE, B),
            switch(0, 1, IDLE, RUNNABLE, A),
            switch(sleeps_at, 1, A, SLEEPS, IDLE),
            switch(200, 0, B, RUNNABLE, X),
            switch(3_200, 0, X, SLEEPS, B),
        ];
        for turn in 0..100 {
            let us = 3_205 + 10 * turn;
            events.push(switch(us, 0, B, RUNNABLE, Y));
            events.push(switch(us + 5, 0, Y, SLEEPS, B));
        }
        events.push(waking(4_300, 0, B, A));
        events.sort_by_key(|event| event.ticks);
        let blocked = rows(&events).into_iter().find(|row| row.1 == DelayKind::Blocked);
        let expected = (A, DelayKind::Blocked, start, 3_200, 0, Holder::Other(X), held);
        assert_eq!(blocked, Some(expected), "case: {name}");
    }
}

/// A scheduler of two CPUs that keeps its own account.
#[derive(Default)]
struct Scheduler {
    seed: u64,
    now: u64,
    events: Vec<KernelEvent>,
    current: [i32; 2],
    queues: [Vec<i32>; 2],
    /// Since when each thread of a queue waits.
    since: HashMap<i32, u64>,
    /// Who had each CPU from when to when.
    had: [Vec<(i32, u64, u64)>; 2],
    since_on: [u64; 2],
    /// Thread, CPU, start and end of all waits of the program.
    waits: Vec<(i32, u32, u64, u64)>,
}

impl Scheduler {
    fn random(&mut self, below: u64) -> u64 {
        self.seed = self.seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (self.seed >> 33) % below
    }

    fn switch(&mut self, cpu: usize, runnable: bool) {
        let prev = self.current[cpu];
        let place = self.random(self.queues[cpu].len().max(1) as u64) as usize;
        let next = match self.queues[cpu].is_empty() {
            true if runnable || prev == IDLE => return,
            true => IDLE,
            false => self.queues[cpu].remove(place),
        };
        let state = if runnable { RUNNABLE } else { SLEEPS };
        self.events.push(switch(self.now, cpu as u32, prev, state, next));
        self.had[cpu].push((prev, self.since_on[cpu], self.now));
        (self.current[cpu], self.since_on[cpu]) = (next, self.now);
        if runnable && prev != IDLE {
            self.queues[cpu].push(prev);
            self.since.insert(prev, self.now);
        }
        if let Some(since) = self.since.remove(&next).filter(|_| (A..=C).contains(&next)) {
            self.waits.push((next, cpu as u32, since, self.now));
        }
    }

    fn wake(&mut self, cpu: usize) {
        let awake: BTreeSet<i32> =
            self.queues.iter().flatten().chain(&self.current).copied().collect();
        let asleep: Vec<i32> = [A, B, C, X, Y].into_iter().filter(|t| !awake.contains(t)).collect();
        if asleep.is_empty() {
            return;
        }
        let tid = asleep[self.random(asleep.len() as u64) as usize];
        let to = self.random(2) as usize; // the kernel chooses a CPU
        self.events.push(waking(self.now, cpu as u32, self.current[cpu], tid));
        self.queues[to].push(tid);
        self.since.insert(tid, self.now);
    }

    fn run(seed: u64) -> Self {
        let mut all = Self { seed, queues: [vec![], vec![]], ..Self::default() };
        all.queues[0].extend([X, A]);
        all.queues[1].extend([Y, B, C]);
        (0..2).for_each(|cpu| all.switch(cpu, true));
        for _ in 0..2_000 {
            all.now += 1 + all.random(200);
            let cpu = all.random(2) as usize;
            match all.random(4) {
                0 => all.wake(cpu),
                1 => all.switch(cpu, false),
                _ => all.switch(cpu, true),
            }
        }
        all
    }

    /// Returns for how long each thread had a CPU in this time.
    fn had(&self, cpu: u32, from: u64, to: u64) -> BTreeMap<i32, u64> {
        let mut sums = BTreeMap::new();
        let cpu = cpu as usize;
        let last = (self.current[cpu], self.since_on[cpu], self.now);
        for (tid, start, end) in self.had[cpu].iter().copied().chain([last]) {
            let part = end.min(to).saturating_sub(start.max(from));
            *sums.entry(tid).or_default() += part;
        }
        sums
    }
}

#[test]
fn delays_are_those_of_a_scheduler_that_keeps_its_own_account() {
    for seed in 1..40 {
        let truth = Scheduler::run(seed);
        let (waits, known, lost_time) = play(&truth.events, 0, &[]);
        let is_wait = |wait: &&Wait| wait.kind != DelayKind::Blocked && wait.end < END;
        let found: Vec<&Wait> = waits.iter().filter(is_wait).collect();
        // The first time that each of them has a CPU, no event shows since when it has waited.
        let seen = |&&(tid, _, since, _): &&(i32, u32, u64, u64)| {
            truth.events.iter().any(|event| {
                let woken = event.kind == EventKind::Waking && event.args[0] == tid as u64;
                event.ticks == since * US && (woken || event.pid == tid)
            })
        };
        let expected: Vec<_> = truth.waits.iter().filter(seen).collect();
        assert_eq!(found.len(), expected.len(), "seed {seed}");
        for (wait, &&(tid, cpu, start, end)) in found.into_iter().zip(&expected) {
            let got = (known[wait.thread as usize].tid, wait.cpu, wait.start / US, wait.end / US);
            assert_eq!(got, (tid, cpu, start, end), "seed {seed}");
            let had = truth.had(cpu, start, end);
            let own: u64 = had.range(A..=C).map(|(_, us)| us).sum();
            assert_eq!(wait.own_ticks, own * US, "seed {seed}: {wait:?}");
            let most = had.values().max().copied().unwrap_or(0);
            assert_eq!(wait.held_ticks, most * US, "seed {seed}: {wait:?}");
        }
        for known in &known {
            let all = (0..2).map(|cpu| {
                let last = if truth.current[cpu] == known.tid { END - truth.now * US } else { 0 };
                let had = truth.had(cpu as u32, 0, truth.now);
                had.get(&known.tid).copied().unwrap_or(0) * US + last
            });
            let all: u64 = all.sum();
            assert_eq!(known.counts.executed, all.cast_signed(), "seed {seed}: {known:?}");
        }
        let ran: u64 = lost_time.ran().map(|ran| ran.ticks).sum();
        let executed: i64 = known.iter().map(|known| known.counts.executed).sum();
        assert_eq!(executed, ran.cast_signed(), "the threads together, seed {seed}");
    }
}

/// B holds what A waits for, and has the CPU while A waits; both change their priorities afterwards.
#[test]
fn priorities_are_those_at_the_time_of_the_wait() {
    let at = |priority: u64, event: KernelEvent| {
        let [next, state, _] = event.args;
        KernelEvent { args: [next, state, priority], ..event }
    };
    let events = [
        at(89, switch(0, 0, IDLE, RUNNABLE, A)),
        at(110, switch(100, 0, A, SLEEPS, B)),
        at(120, switch(200, 0, B, RUNNABLE, X)),
        at(110, switch(300, 0, X, RUNNABLE, B)), // waits for 100 µs, and then wakes A
        waking(400, 0, B, A),
        at(89, switch(500, 0, B, RUNNABLE, A)),
        at(10, switch(600, 0, A, RUNNABLE, B)),
        at(130, switch(700, 0, B, SLEEPS, A)),
    ];
    let (waits, ..) = play(&events, 0, &[]);
    let found: Vec<_> = waits
        .iter()
        .map(|wait| (wait.tid, wait.kind, wait.priority, wait.other_priority))
        .collect();
    let expected = [
        (B, DelayKind::Preempted, Some(110), None),
        (A, DelayKind::Blocked, Some(89), Some(110)),
        (A, DelayKind::Woken, Some(89), Some(110)),
        (B, DelayKind::Preempted, Some(10), Some(89)),
        (A, DelayKind::Preempted, Some(130), Some(10)),
    ];
    assert_eq!(found, expected);
}

#[test]
fn who_was_about_to_sleep_waits_since_then() {
    let woken = |kind, rows: Vec<Row>| -> Vec<(i32, u64, u64)> {
        let of_kind = rows.into_iter().filter(|row| row.1 == kind);
        of_kind.map(|row| (row.0, row.2, row.3)).collect()
    };
    // Woken before it is switched out, which it then is at once.
    let events = [
        switch(10, 0, IDLE, SLEEPS, A),
        waking(15, 0, X, A),
        switch(20, 0, A, SLEEPS, X),
        switch(50, 0, X, SLEEPS, A),
    ];
    assert_eq!(woken(DelayKind::Woken, rows(&events)), [(A, 20, 50)]);
    // Preempted when it was about to sleep: it waits on when it is woken.
    let events = [
        switch(10, 0, IDLE, SLEEPS, A),
        switch(20, 0, A, RUNNABLE, X),
        waking(30, 0, X, A),
        switch(50, 0, X, SLEEPS, A),
    ];
    assert_eq!(woken(DelayKind::Preempted, rows(&events)), [(A, 20, 50)]);
    assert_eq!(woken(DelayKind::Woken, rows(&events)), []);
}

#[test]
fn delays_and_threads_that_are_over_are_counted() {
    let program = Program { threads: vec![A, B, C], ..Program::default() };
    let clock = builders::clock(1_000_000_000);
    let mut lost_time = LostTime::new(Members::new(&program), &clock, 0).by_thread();
    let mut after = |events: &[KernelEvent]| {
        events.iter().for_each(|event| lost_time.event(event));
        lost_time.by_number().1.expect("followed").found()
    };
    assert_eq!(after(&[switch(10, 0, IDLE, SLEEPS, A), switch(20, 0, A, RUNNABLE, X)]), 0);
    assert_eq!(after(&[switch(30, 0, X, SLEEPS, A), switch(40, 0, A, RUNNABLE, X)]), 1);
    assert_eq!(after(&[switch(50, 0, X, SLEEPS, A)]), 2);
}

/// B waits twelve times before it wakes A, which has slept all the while: the last eight are remembered.
#[test]
fn a_thread_is_known_by_its_last_waits_when_it_wakes_another() {
    let waits = |turn: u64| {
        let at = 200 + 100 * turn;
        [switch(at, 0, B, RUNNABLE, X), switch(at + 50, 0, X, RUNNABLE, B)]
    };
    let mut events = vec![switch(10, 0, IDLE, RUNNABLE, A), switch(100, 0, A, SLEEPS, B)];
    events.extend((0..12).flat_map(waits));
    events.push(waking(2_000, 0, B, A));
    let blocked = rows(&events).into_iter().filter(|row| row.1 == DelayKind::Blocked);
    let mut starts: Vec<u64> = blocked.map(|row| row.2).collect();
    starts.sort_unstable();
    assert_eq!(starts, (4..12).map(|turn| 200 + 100 * turn).collect::<Vec<_>>());
}
