//! Injected noise from the tables to the result: what was planted is found.

use anechoic_analyze::injection::{Detections, Missed, OwnTime, Verdict};
use anechoic_analyze::{Verification, verify};
use anechoic_lab::two_cpus::{self, MICRO, SECOND, SHORTEST};
use anechoic_recording::injection::{Injected, InjectionKind, InjectionTiming, Spell};
use anechoic_recording::run::RunState;
use anechoic_recording::{
    Detour, EventKind, KernelEvent, Loss, Name, NameKind, ProblemKind, Recorder, Recording, Run,
};
use tempfile::TempDir;

const PERF: u64 = 0xf000_0001;
const WAKE: u64 = 0xf000_0002;
const TICK: u64 = 0xf000_0003;
const BPF: u64 = 0xf000_0004;
const HRTIMER_SOFTIRQ: u64 = 8;
/// The injected timer, and one of somebody else.
const OURS: u64 = 0xa000;
const FOREIGN: u64 = 0xb000;
const VICTIM: i32 = 101;
const INJECTOR: i32 = 500;
/// 1,000 Hz for a second: noise is on from 0.5 s to 1.7 s, the loop runs from 0.6 s to 1.6 s.
const PERIOD: u64 = SECOND / 1000;
const ON: (u64, u64) = (SECOND / 2, SECOND * 17 / 10);
const LOOP: (u64, u64) = (SECOND * 6 / 10, SECOND * 16 / 10);

/// One CPU's tables, in any order.
#[derive(Default, Clone)]
struct Tables {
    detours: Vec<Detour>,
    events: Vec<KernelEvent>,
    losses: Vec<Loss>,
}

fn event(ticks: u64, kind: EventKind, pid: i32, args: [u64; 3]) -> KernelEvent {
    KernelEvent { cpu: 1, ticks, kind, pid, args }
}

fn detour(start_ticks: u64, length: u64) -> Detour {
    Detour { cpu: 1, start_ticks, end_ticks: start_ticks + length + SHORTEST }
}

impl Tables {
    /// An interrupt at `ticks` whose function runs for `own`; its timer was set to `due_ns`.
    fn interrupt(&mut self, ticks: u64, own: u64, due_ns: u64, timer: u64) {
        let end = ticks + MICRO + own;
        self.events.extend([
            event(ticks, EventKind::LocalTimerEntry, VICTIM, [0xec, 0, 0]),
            event(ticks + MICRO, EventKind::HrtimerEntry, VICTIM, [timer, PERF, 0]),
            event(end, EventKind::HrtimerExit, VICTIM, [timer, 0, 0]),
            event(end + 1, EventKind::HrtimerStart, VICTIM, [timer, PERF, due_ns + 1_000_000]),
            event(end + 2 * MICRO, EventKind::LocalTimerExit, VICTIM, [0xec, 0, 0]),
        ]);
    }

    /// A thread that is woken at `ticks` and has the CPU for `own`.
    fn thread(&mut self, ticks: u64, own: u64, due_ns: u64) {
        let (on, off) = (ticks + 5 * MICRO, ticks + 5 * MICRO + own);
        self.events.extend([
            event(ticks, EventKind::LocalTimerEntry, VICTIM, [0xec, 0, 0]),
            event(ticks + MICRO, EventKind::HrtimerEntry, VICTIM, [OURS, WAKE, 0]),
            event(ticks + 2 * MICRO, EventKind::HrtimerExit, VICTIM, [OURS, 0, 0]),
            event(ticks + 3 * MICRO, EventKind::LocalTimerExit, VICTIM, [0xec, 0, 0]),
            event(on, EventKind::Switch, VICTIM, [INJECTOR as u64, 0, 61]),
            event(off - 1, EventKind::HrtimerStart, INJECTOR, [OURS, WAKE, due_ns + 1_000_000]),
            event(off, EventKind::Switch, INJECTOR, [VICTIM as u64, 1, 120]),
        ]);
    }

    fn tick(&mut self, ticks: u64) {
        self.events.extend([
            event(ticks, EventKind::LocalTimerEntry, VICTIM, [0xec, 0, 0]),
            event(ticks + 1, EventKind::HrtimerEntry, VICTIM, [7, TICK, 0]),
            event(ticks + 2, EventKind::HrtimerExit, VICTIM, [7, 0, 0]),
            event(ticks + 3, EventKind::LocalTimerExit, VICTIM, [0xec, 0, 0]),
        ]);
    }
}

/// Interrupts every millisecond from `ON` to its end, one detour each of `cost` and `own`.
fn interrupts(own: u64, cost: u64, keep: impl Fn(u64) -> bool) -> Tables {
    let mut tables = Tables::default();
    tables.events.push(event(ON.0, EventKind::HrtimerStart, 1, [OURS, PERF, 501_000_000]));
    for number in (1..1_200).filter(|&number| keep(number)) {
        let ticks = ON.0 + number * PERIOD + 10 * MICRO;
        tables.interrupt(ticks, own, (500 + number) * 1_000_000, OURS);
        // Half of them a little longer.
        let length = cost + own + number % 2 * 100;
        tables.detours.push(detour(ticks - 4 * MICRO, length));
    }
    tables
}

fn threads(own: u64, cost: u64) -> Tables {
    let mut tables = Tables::default();
    let begin = event(ON.0, EventKind::HrtimerStart, INJECTOR, [OURS, WAKE, 501_000_000]);
    tables.events.push(begin);
    for number in 1..1_200 {
        let ticks = ON.0 + number * PERIOD;
        tables.thread(ticks, own, (500 + number) * 1_000_000);
        tables.detours.push(detour(ticks - MICRO, cost + own));
    }
    tables
}

fn injected(kind: InjectionKind, duration_ns: u64, delivered: Option<u64>) -> Injected {
    let (start_ticks, end_ticks) = ON;
    let spell =
        Spell { cpu: 1, start_ticks, end_ticks, delivered, cut_short: 0, overruns: Some(0) };
    Injected {
        kind,
        timing: InjectionTiming::Periodic,
        period_ns: 1_000_000,
        duration_ns,
        cpus: vec![1],
        tids: if kind == InjectionKind::Thread { vec![INJECTOR] } else { vec![] },
        spells: vec![spell],
        starts: None,
    }
}

fn run(injected: Injected) -> Run {
    let mut run = two_cpus::run(2 * SECOND);
    run.injections = vec![injected];
    run.cpus.remove(0);
    (run.cpus[0].first_ticks, run.cpus[0].last_ticks) = LOOP;
    run
}

fn recording(run: &Run, mut tables: Tables) -> (TempDir, Recording) {
    let dir = tempfile::tempdir().expect("a place for it");
    let mut recorder = Recorder::create(dir.path(), run).expect("a new directory");
    tables.detours.sort_by_key(|detour| detour.start_ticks);
    tables.events.sort_by_key(|event| event.ticks);
    let symbol =
        |key, name: &str| Name { kind: NameKind::Symbol, key, ticks: 0, name: name.into() };
    let names = [
        symbol(PERF, "perf_swevent_hrtimer"),
        symbol(WAKE, "hrtimer_wakeup"),
        symbol(TICK, "tick_nohz_handler"),
        symbol(BPF, "bpf_timer_cb"),
    ];
    recorder.append(&names).expect("in order");
    recorder.append(&tables.detours).expect("in order");
    recorder.append(&tables.events).expect("in order");
    recorder.append(&tables.losses).expect("in order");
    recorder.finish(run).expect("there is space");
    let recording = Recording::open(dir.path()).expect("just written");
    (dir, recording)
}

fn verified(run: &Run, tables: Tables) -> Verification {
    let (_dir, recording) = recording(run, tables);
    verify(&recording, None).expect("a sound recording")
}

/// When the interrupt of that number comes.
fn at(number: u64) -> u64 {
    ON.0 + number * PERIOD + 10 * MICRO
}

#[test]
fn all_that_came_is_found() {
    let interrupts = interrupts(MICRO, 9 * MICRO, |_| true);
    let found = verified(&run(injected(InjectionKind::Interrupt, 0, None)), interrupts);
    assert_eq!((found.rate_hz, found.not_available.len()), (1000.0, 0));
    let cpu = &found.cpus[0];
    assert_eq!((cpu.cpu, cpu.window_ns), (1, 1_000_000_000));
    assert_eq!((cpu.asked, cpu.delivered, cpu.overruns), (1_000, Some(1_000), Some(0)));
    assert_eq!((cpu.delivered_hz, cpu.own_count), (Some(1000.0), None));
    let seen = cpu.seen.as_ref().expect("there were events");
    assert_eq!((seen.found, seen.missing, seen.extra, seen.shared), (1_000, 0, 0, 0));
    assert_eq!(seen.detours, 1_000, "those before and after the loop do not count");
    let recall = cpu.recall.expect("1 µs is over two thresholds of 60 ns");
    assert!(recall.share == 1.0 && (recall.interval.low - 0.996).abs() < 0.001, "{recall:?}");
    let own = cpu.own_time.expect("entries and exits");
    assert_eq!((own.all.median_ns, own.error_ns, own.within), (1_000.0, None, None));
    let time = cpu.detour_time.expect("nothing else was in them");
    assert_eq!((time.all.count, time.all.q1_ns, time.all.q3_ns), (1_000, 10_000.0, 10_040.0));
    assert_eq!((time.bare, time.error), (None, None));
}

/// A timer interrupt and, after it, the soft one in which the timer of a BPF program expires.
fn soft_interrupt(tables: &mut Tables, ticks: u64, own: u64, next: u64) {
    let end = ticks + 4 * MICRO + own;
    tables.events.extend([
        event(ticks, EventKind::LocalTimerEntry, VICTIM, [0xec, 0, 0]),
        event(ticks + MICRO, EventKind::LocalTimerExit, VICTIM, [0xec, 0, 0]),
        event(ticks + 2 * MICRO, EventKind::SoftirqEntry, VICTIM, [HRTIMER_SOFTIRQ, 0, 0]),
        event(ticks + 4 * MICRO, EventKind::HrtimerEntry, VICTIM, [OURS, BPF, 0]),
        event(end - 1, EventKind::HrtimerStart, VICTIM, [OURS, BPF, next]),
        event(end, EventKind::HrtimerExit, VICTIM, [OURS, 0, 0]),
        event(end + MICRO, EventKind::SoftirqExit, VICTIM, [HRTIMER_SOFTIRQ, 0, 0]),
    ]);
}

/// Interrupts at random times are those of a BPF program; its soft interrupt is no other activity.
#[test]
fn random_interrupts_are_told_by_their_own_timer() {
    let mut tables = Tables::default();
    let begin = event(ON.0, EventKind::HrtimerStart, 1, [OURS, BPF, 501_000_000]);
    tables.events.push(begin);
    // Of somebody else, who had it before.
    tables.events.push(event(ON.0 - 1, EventKind::HrtimerStart, 1, [FOREIGN, BPF, 0]));
    for number in 1..1_200_u64 {
        let ticks = ON.0 + number * PERIOD + number % 7 * 11 * MICRO;
        soft_interrupt(&mut tables, ticks, 5 * MICRO, ticks + PERIOD);
        tables.detours.push(detour(ticks - 4 * MICRO, 19 * MICRO));
        // One of a perf event, which is none of ours.
        let other = ticks + 300 * MICRO;
        tables.interrupt(other, MICRO, 0, FOREIGN);
    }
    let mut injected = injected(InjectionKind::Kernel, 5_000, Some(1_199));
    injected.timing = InjectionTiming::Poisson { seed: 1 };
    let found = verified(&run(injected), tables);
    let cpu = &found.cpus[0];
    assert_eq!((cpu.asked, cpu.delivered, cpu.overruns), (1_000, Some(1_000), Some(0)));
    let count = cpu.own_count.expect("both counted");
    assert_eq!((count.injector, count.agree()), (1_199, Some(true)));
    let seen = cpu.seen.as_ref().expect("there were events");
    assert_eq!((seen.found, seen.missing, seen.extra), (1_000, 0, 0));
    let own = cpu.own_time.expect("entries and exits");
    assert_eq!((own.all.median_ns, own.error_ns), (5_000.0, Some(0.0)));
    let time = cpu.detour_time.expect("nothing but its soft interrupt was in them");
    assert_eq!((time.all.count, time.all.median_ns), (1_000, 19_000.0));
    assert_eq!(found.verdict(), Verdict::Good);
}

/// What is planted: (name, how, expected asked, delivered, overruns, found, missing, extra, shared).
#[test]
fn what_is_planted_is_counted() {
    type Plant = fn(&mut Tables);
    let cases: [(&str, Plant, [u64; 7]); 8] = [
        ("nothing", |_| {}, [1_000, 1_000, 0, 1_000, 0, 0, 0]),
        (
            "three not seen, one of them outside the loop's time",
            |t| {
                t.detours
                    .retain(|d| ![at(50), at(200), at(900)].contains(&(d.start_ticks + 4 * MICRO)))
            },
            [1_000, 1_000, 0, 998, 2, 0, 0],
        ),
        (
            "detours of the machine's own",
            |t| {
                t.detours.extend((300..310).map(|n| detour(at(n) + 400 * MICRO, 7 * MICRO)));
                (300..305).for_each(|n| t.tick(at(n) + 401 * MICRO));
            },
            [1_000, 1_000, 0, 1_000, 0, 10, 0],
        ),
        (
            "a long detour over two of them",
            |t| {
                t.detours.retain(|d| {
                    !(at(400) - 5 * MICRO..at(402) - 5 * MICRO).contains(&d.start_ticks)
                });
                t.detours.push(detour(at(400) - 5 * MICRO, PERIOD + 20 * MICRO));
            },
            [1_000, 1_000, 0, 1_000, 0, 0, 1],
        ),
        (
            "a tick in the same detour",
            |t| t.tick(at(500) + 5 * MICRO),
            [1_000, 1_000, 0, 1_000, 0, 0, 0],
        ),
        (
            "another user of the same kind of timer",
            |t| {
                t.interrupt(ON.0 / 2, MICRO, 0, FOREIGN);
                for n in 600..620 {
                    t.interrupt(at(n) + 300 * MICRO, MICRO, 0, FOREIGN);
                    t.detours.push(detour(at(n) + 298 * MICRO, 9 * MICRO));
                }
            },
            [1_000, 1_000, 0, 1_000, 0, 20, 0],
        ),
        (
            "detours lost around two of them",
            |t| {
                t.detours.retain(|d| ![at(700), at(701)].contains(&(d.start_ticks + 4 * MICRO)));
                t.losses.push(loss("detours", at(699) + MICRO, at(702)));
            },
            [1_000, 1_000, 0, 998, 0, 0, 0],
        ),
        (
            "events lost",
            |t| {
                let lost = at(800) - 5 * MICRO..at(810) - 5 * MICRO;
                t.events.retain(|e| !lost.contains(&e.ticks));
                t.losses.push(loss("events", lost.start, lost.end));
            },
            // The injector's own count of overruns stands in; nothing is called the machine's own.
            [1_000, 990, 0, 990, 0, 0, 0],
        ),
    ];
    let asked = injected(InjectionKind::Interrupt, 0, Some(1_199));
    for (name, plant, expected) in cases {
        let mut tables = interrupts(MICRO, 9 * MICRO, |_| true);
        plant(&mut tables);
        let found = verified(&run(asked.clone()), tables);
        let cpu = &found.cpus[0];
        let seen = cpu.seen.as_ref().expect("there were events");
        let numbers = [cpu.delivered, cpu.overruns].map(|n| n.expect("known"));
        let [delivered, overruns] = numbers;
        let got =
            [cpu.asked, delivered, overruns, seen.found, seen.missing, seen.extra, seen.shared];
        assert_eq!(got, expected, "case: {name}");
        let judged = seen.found + seen.missing + seen.not_judged;
        assert_eq!(judged, delivered, "case: {name}");
        let agree = cpu.own_count.and_then(|own| own.agree());
        let lost = name == "events lost";
        assert_eq!(agree, (!lost).then_some(true), "case: {name}");
        assert_eq!(found.not_available.len(), usize::from(lost), "case: {name}");
        let alone = cpu.detour_time.expect("most were alone").all.count;
        let mixed = u64::from(name == "a tick in the same detour") + 2 * seen.shared;
        assert_eq!(alone, seen.found - mixed, "case: {name}");
    }
}

fn loss(what: &str, start_ticks: u64, end_ticks: u64) -> Loss {
    Loss { what: what.into(), cpu: 1, start_ticks, end_ticks, count: 1 }
}

#[test]
fn the_first_misses_are_named_with_their_times() {
    let mut tables = interrupts(MICRO, 9 * MICRO, |_| true);
    tables.detours.retain(|d| !(at(300) - 5 * MICRO..at(310) - 5 * MICRO).contains(&d.start_ticks));
    let found = verified(&run(injected(InjectionKind::Interrupt, 0, None)), tables);
    let seen = found.cpus[0].seen.as_ref().expect("there were events");
    // 0.8 s and 10 µs, and 1 µs to the timer's function.
    let times: Vec<u64> = (0..5).map(|n| 800_011_000 + n * 1_000_000).collect();
    assert_eq!(seen.missing, 10);
    let missed: Vec<u64> = seen.missed.iter().map(|&Missed { at_ns }| at_ns).collect();
    assert_eq!(missed, times);
    assert_eq!(found.verdict(), Verdict::Warning);
}

#[test]
fn overruns_are_counted_by_the_times_that_the_timer_was_set_to() {
    let left_out = |number: u64| !(250..253).contains(&number) && number != 60 && number != 700;
    let found = verified(
        &run(injected(InjectionKind::Interrupt, 0, None)),
        interrupts(MICRO, 9 * MICRO, left_out),
    );
    let cpu = &found.cpus[0];
    assert_eq!((cpu.asked, cpu.delivered, cpu.overruns), (1_000, Some(996), Some(4)));
    assert_eq!(cpu.seen.as_ref().map(|seen| (seen.found, seen.missing)), Some((996, 0)));
}

#[test]
fn durations_are_those_asked_and_what_a_bare_one_costs_is_apart() {
    let bare_run = run(injected(InjectionKind::Interrupt, 0, None));
    let (_bare_dir, bare) = recording(&bare_run, interrupts(MICRO, 9 * MICRO, |_| true));
    // 50 µs asked; the program begins 0.5 µs late, and the loop sees 0.2 µs more than the kernel.
    let kernel_run = run(injected(InjectionKind::Kernel, 50_000, Some(1_199)));
    let spun = interrupts(51 * MICRO + MICRO / 2, 9 * MICRO + MICRO / 5, |_| true);
    let (_dir, kernel) = recording(&kernel_run, spun);
    let found = verify(&kernel, Some(&bare)).expect("both are sound");
    assert_eq!(found.bare_duration_ns, Some(0));
    assert_eq!(found.cpus[0].too_short, Some(0));
    let own = found.cpus[0].own_time.expect("entries and exits");
    assert_eq!((own.all.median_ns, own.bare_median_ns), (51_500.0, Some(1_000.0)));
    assert_eq!((own.error_ns, own.within), (Some(1_500.0), Some(true)), "5 % and 1 µs are 3.5 µs");
    let time = found.cpus[0].detour_time.expect("nothing else was in them");
    assert_eq!(time.bare.map(|bare| (bare.count, bare.q1_ns)), Some((1_000, 10_000.0)));
    let error = time.error.expect("both are known");
    let interval = error.interval.expect("a thousand each");
    assert!((error.ns - 700.0).abs() <= 40.0, "{error:?}");
    assert!(interval.low <= 700.0 && 700.0 <= interval.high, "{error:?}");
    let row = found.self_test_kind().expect("it came");
    assert_eq!((row.delivered, row.found, row.error_ns), (1_000, 1_000, Some(error.ns)));

    let alone = verify(&kernel, None).expect("sound");
    assert_eq!(alone.cpus[0].own_time.and_then(|own| own.within), Some(true), "needs no other");
    assert_eq!(alone.cpus[0].detour_time.and_then(|time| time.error), None);
}

#[test]
fn those_that_hardly_had_the_cpu_are_counted() {
    let mut tables = interrupts(51 * MICRO, 9 * MICRO, |_| true);
    let exits = tables.events.iter_mut().filter(|event| event.kind == EventKind::HrtimerExit);
    exits.skip(400).take(7).for_each(|exit| exit.ticks -= 40 * MICRO);
    let found = verified(&run(injected(InjectionKind::Kernel, 50_000, Some(1_192))), tables);
    assert_eq!(found.cpus[0].too_short, Some(7));
    assert_eq!(found.cpus[0].own_count.and_then(|own| own.agree()), Some(false));
}

#[test]
fn the_switch_and_its_timer_are_taken_off_a_thread() {
    let thread = |duration_ns| run(injected(InjectionKind::Thread, duration_ns, Some(1_199)));
    let (_bare_dir, bare) = recording(&thread(1_000), threads(4 * MICRO, 16 * MICRO));
    let (_dir, spun) = recording(&thread(50_000), threads(53 * MICRO, 16 * MICRO));
    let found = verify(&spun, Some(&bare)).expect("both are sound");
    let cpu = &found.cpus[0];
    assert_eq!((cpu.asked, cpu.delivered, cpu.overruns), (1_000, Some(1_000), Some(0)));
    assert_eq!(cpu.own_count.and_then(|own| own.agree()), Some(true));
    let own = cpu.own_time.expect("switches");
    // 53 − 50 that it takes more, less 4 − 1 that the bare one does.
    assert_eq!((own.all.median_ns, own.error_ns, own.within), (53_000.0, Some(0.0), Some(true)));
    let error = cpu.detour_time.and_then(|time| time.error).expect("both are known");
    assert_eq!(error.ns, 0.0);

    let alone = verify(&spun, None).expect("sound");
    let own = alone.cpus[0].own_time.expect("switches");
    assert_eq!(
        (own.error_ns, own.within),
        (Some(3_000.0), None),
        "no judgement without a bare one"
    );
}

#[test]
fn a_thread_that_is_woken_otherwise_or_interrupted_is_not_counted_twice() {
    let mut tables = threads(53 * MICRO, 16 * MICRO);
    // Woken by somebody in the middle of its sleep.
    let odd = at(300) + 400 * MICRO;
    tables.detours.push(detour(odd - MICRO, 9 * MICRO));
    tables.events.extend([
        event(odd, EventKind::Switch, VICTIM, [INJECTOR as u64, 0, 61]),
        event(odd + MICRO, EventKind::Switch, INJECTOR, [VICTIM as u64, 1, 120]),
    ]);
    // Another thread comes while it spins.
    let on = ON.0 + 500 * PERIOD + 20 * MICRO;
    tables.events.extend([
        event(on, EventKind::Switch, INJECTOR, [99, 0, 0]),
        event(on + MICRO, EventKind::Switch, 99, [INJECTOR as u64, 1, 61]),
    ]);
    let found = verified(&run(injected(InjectionKind::Thread, 50_000, Some(1_199))), tables);
    let cpu = &found.cpus[0];
    assert_eq!(cpu.delivered, Some(1_000));
    let seen = cpu.seen.as_ref().expect("there were events");
    assert_eq!((seen.found, seen.extra), (1_000, 1));
    assert_eq!(cpu.own_time.map(|own| own.all.count), Some(999));
    // The first detour began before the loop's time.
    assert_eq!(cpu.detour_time.map(|time| time.all.count), Some(998));
}

#[test]
fn without_events_the_injectors_own_count_is_all() {
    let mut run = run(injected(InjectionKind::Kernel, 50_000, Some(1_190)));
    run.injections[0].spells[0].overruns = None;
    run.trace = None;
    let found = verified(&run, Tables::default());
    let cpu = &found.cpus[0];
    assert_eq!((cpu.asked, cpu.delivered, cpu.overruns), (1_200, Some(1_190), Some(10)));
    assert_eq!(cpu.own_count.map(|own| (own.injector, own.kernel)), Some((1_190, None)));
    assert_eq!((&cpu.seen, cpu.recall, cpu.own_time), (&None, None, None));
    assert!(found.not_available[0].why.contains("no kernel events"), "{:?}", found.not_available);
    assert_eq!(found.self_test_kind(), None);
}

/// At random times and of a recording, what is due is known in the mean only, and what the injector left out
/// of the whole time on only.
#[test]
fn what_is_due_is_of_the_same_time_as_what_came() {
    let replay = || InjectionTiming::Replay { recording: "there".into() };
    for (timing, on_overruns, expected) in [
        (InjectionTiming::Poisson { seed: 1 }, Some(240), (1_000, Some(1_000), Some(200))),
        (InjectionTiming::Poisson { seed: 1 }, None, (1_000, Some(1_000), None)),
        (replay(), Some(7), (1_000, Some(1_000), Some(6))),
        (InjectionTiming::Periodic, Some(240), (1_000, Some(1_000), Some(0))),
    ] {
        let mut asked = injected(InjectionKind::Thread, 50_000, Some(1_199));
        (asked.timing, asked.spells[0].overruns) = (timing, on_overruns);
        let name = format!("{:?}, {on_overruns:?}", asked.timing);
        let found = verified(&run(asked.clone()), threads(50 * MICRO, 16 * MICRO));
        let cpu = &found.cpus[0];
        assert_eq!((cpu.asked, cpu.delivered, cpu.overruns), expected, "case: {name}");
        let mut untraced = run(asked);
        untraced.trace = None;
        let found = verified(&untraced, Tables::default());
        let cpu = &found.cpus[0];
        let periodic = found.injected.timing == InjectionTiming::Periodic;
        let due = if periodic { 1_199 + 240 } else { 1_200 };
        let all = (due, Some(1_199), on_overruns);
        assert_eq!((cpu.asked, cpu.delivered, cpu.overruns), all, "case: {name}, untraced");
    }
}

/// From a good one of 50 µs in the kernel: what makes it doubtful, and what makes it no verification at all.
#[test]
fn what_a_verification_comes_to() {
    type Change = fn(&mut Verification);
    let cases: [(&str, Change, Verdict); 15] = [
        ("nothing", |_| {}, Verdict::Good),
        ("one missing", |v| seen(v).missing = 1, Verdict::Warning),
        ("own time is off", |v| own(v).within = Some(false), Verdict::Warning),
        ("own time is not judged", |v| own(v).within = None, Verdict::Good),
        ("0.8 % too short", |v| v.cpus[0].too_short = Some(8), Verdict::Good),
        ("2 % too short", |v| v.cpus[0].too_short = Some(20), Verdict::Warning),
        ("more too short than came", |v| v.cpus[0].too_short = Some(u64::MAX), Verdict::Warning),
        ("one cut short", |v| v.cpus[0].cut_short = 1, Verdict::Warning),
        (
            "one thread cut short by the end",
            |v| (v.cpus[0].cut_short, v.injected.kind) = (1, InjectionKind::Thread),
            Verdict::Good,
        ),
        (
            "two threads cut short",
            |v| (v.cpus[0].cut_short, v.injected.kind) = (2, InjectionKind::Thread),
            Verdict::Warning,
        ),
        ("a signal", |v| v.run.state = RunState::Interrupted("by SIGINT".into()), Verdict::Warning),
        (
            "one CPU of two not looked at",
            |v| {
                v.cpus.push(v.cpus[0].clone());
                v.cpus[0].seen = None;
            },
            Verdict::Warning,
        ),
        ("nothing seen", |v| v.cpus[0].seen = None, Verdict::Nothing),
        ("nothing came", |v| v.cpus[0].delivered = Some(0), Verdict::Nothing),
        ("no CPU", |v| v.cpus.clear(), Verdict::Nothing),
    ];
    let spun = interrupts(50 * MICRO, 9 * MICRO, |_| true);
    let good = verified(&run(injected(InjectionKind::Kernel, 50_000, Some(1_199))), spun);
    for (name, change, expected) in cases {
        let mut found = good.clone();
        change(&mut found);
        assert_eq!(found.verdict(), expected, "case: {name}");
    }
}

fn seen(found: &mut Verification) -> &mut Detections {
    found.cpus[0].seen.as_mut().expect("there were events")
}

fn own(found: &mut Verification) -> &mut OwnTime {
    found.cpus[0].own_time.as_mut().expect("entries and exits")
}

#[test]
fn nothing_came_at_all() {
    let mut tables = interrupts(MICRO, 9 * MICRO, |_| false);
    tables.detours.push(detour(at(500), 5 * MICRO));
    let found = verified(&run(injected(InjectionKind::Interrupt, 0, None)), tables);
    let cpu = &found.cpus[0];
    assert_eq!((cpu.asked, cpu.delivered, cpu.overruns), (1_000, Some(0), Some(1_000)));
    assert_eq!((cpu.recall, cpu.own_time, cpu.detour_time), (None, None, None));
    assert_eq!(found.self_test_kind(), None);
}

#[test]
fn recordings_that_cannot_be_verified_say_so() {
    let kernel = || run(injected(InjectionKind::Kernel, 50_000, None));
    let refused = |run: &Run| {
        let (_dir, recording) = recording(run, Tables::default());
        verify(&recording, None).expect_err("refused").to_string()
    };
    let mut none = kernel();
    none.injections.clear();
    assert!(refused(&none).contains("no noise was injected"));
    let mut work = kernel();
    work.method = "fwq".into();
    assert!(refused(&work).contains("its loops did work"));
    let mut two = kernel();
    two.injections.push(two.injections[0].clone());
    assert!(refused(&two).contains("several kinds"));
    let (_dir, thread) =
        recording(&run(injected(InjectionKind::Thread, 1_000, None)), Tables::default());
    let (_other, spun) = recording(&kernel(), Tables::default());
    let error = verify(&spun, Some(&thread)).expect_err("another kind");
    assert_eq!(error.kind, ProblemKind::NoVerdict, "{error}");
    assert!(error.why.contains("of another kind"), "{error}");
}

/// `run.json` and tables may hold anything.
#[test]
fn content_that_makes_no_sense_gives_no_panic() {
    let spells = |spells: Vec<Spell>| {
        let mut run = run(injected(InjectionKind::Thread, u64::MAX, Some(u64::MAX)));
        run.injections[0].spells = spells;
        run
    };
    let spell = |start_ticks, end_ticks| Spell {
        start_ticks,
        end_ticks,
        ..injected(InjectionKind::Thread, 1, Some(u64::MAX)).spells[0]
    };
    let mut backwards = spells(vec![spell(u64::MAX, 0)]);
    (backwards.cpus[0].first_ticks, backwards.cpus[0].last_ticks) = (u64::MAX, 0);
    let mut fast = spells(vec![spell(0, u64::MAX)]);
    fast.injections[0].period_ns = 0;
    let mut slow = spells(vec![spell(0, u64::MAX)]);
    slow.injections[0].period_ns = u64::MAX;
    let mut nowhere = spells(vec![]);
    nowhere.injections[0].cpus = vec![1, 77];
    nowhere.injections[0].tids = vec![];
    let mut no_thread = spells(vec![spell(0, u64::MAX)]);
    no_thread.injections[0].tids = vec![];
    let odd = [
        event(1, EventKind::Switch, INJECTOR, [u64::MAX, u64::MAX, u64::MAX]),
        event(2, EventKind::HrtimerStart, INJECTOR, [5, WAKE, u64::MAX]),
        event(3, EventKind::HrtimerEntry, 0, [5, WAKE, 0]),
        event(4, EventKind::Switch, 0, [INJECTOR as u64, 0, 0]),
        event(5, EventKind::HrtimerStart, INJECTOR, [5, WAKE, 0]),
        event(u64::MAX - 1, EventKind::HrtimerEntry, 0, [5, WAKE, 0]),
        event(u64::MAX - 1, EventKind::Switch, 0, [INJECTOR as u64, 0, 0]),
        event(u64::MAX, EventKind::Switch, INJECTOR, [0, 1, 0]),
    ];
    let whole = Detour { cpu: 1, start_ticks: 0, end_ticks: u64::MAX };
    let tables = Tables {
        detours: vec![whole],
        events: odd.to_vec(),
        losses: vec![loss("events", 3, u64::MAX)],
    };
    for (name, run) in [
        ("an end before the start", backwards),
        ("no period", fast),
        ("a period without end", slow),
        ("no spell, an unknown CPU", nowhere),
        ("no thread", no_thread),
    ] {
        let (_dir, recording) = recording(&run, tables.clone());
        let found = verify(&recording, Some(&recording)).expect(name);
        assert!(found.cpus.len() <= 1, "case: {name}");
    }
}
