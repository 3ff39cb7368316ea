//! A made-up recording of the serial experiment on CPU 1, at 2.5 GHz.

use anechoic_lab::builders;
use anechoic_recording::attribution::Attribution;
use anechoic_recording::injection::{Injected, InjectionKind, InjectionTiming, Spell};
use anechoic_recording::run::{Ended, Outcome, Run};
use anechoic_recording::{
    Activity, ActivityKind, EventKind, Fixed, KernelEvent, Loss, Name, NameKind, Parameters,
    Recorder, Recording, Sample, Series,
};
use std::path::Path;

/// Ticks of a microsecond.
pub const MICRO: u64 = 2_500;
/// The CPU.
pub const CPU: u32 = 1;
/// Address of the function that added interrupts run.
pub const ADDED: u64 = 0xffff_ffff_8123_4560;
/// Address and name of the tick's function.
const TICK: u64 = 0xffff_ffff_8143_52e0;
const TICK_FUNCTION: &str = "tick_nohz_handler";
/// That of another timer.
const OTHER: u64 = 0xffff_ffff_8123_9990;
/// Copies that are made.
pub const COPIES: [u32; 2] = [1, 2];
/// Periods of the injections that are made.
pub const PERIODS_NS: [u64; 2] = [1_000_000, 100_000];

/// What a sort takes without added interrupts, in ticks.
pub const SORT: u64 = 5_000 * MICRO;
/// Sorts of each copy in a round.
const SORTS: u64 = 40;
/// What an added interrupt costs in all, in ticks.
pub const COST: u64 = 20 * MICRO;

/// A recording in the making.
#[derive(Debug)]
pub struct Made {
    pub run: Run,
    pub series: Vec<Series>,
    pub samples: Vec<Sample>,
    pub events: Vec<KernelEvent>,
    pub names: Vec<Name>,
    pub losses: Vec<Loss>,
    pub activities: Vec<Activity>,
    pub attributed: bool,
    now: u64,
    detours: u64,
    round: u32,
}

impl Made {
    /// Three blocks of all copies and injections, system calls, and the watched loop.
    pub fn whole() -> Self {
        let mut made = Self::nothing();
        for block in 0..3 {
            for copies in COPIES {
                for injection in [None, Some(0), Some(1)] {
                    made.sorts(copies, injection, block);
                }
            }
        }
        made.traps();
        for injection in [None, Some(0), Some(1)] {
            made.watched(injection);
        }
        made
    }

    pub fn nothing() -> Self {
        let injected = |period_ns| Injected {
            kind: InjectionKind::Interrupt,
            timing: InjectionTiming::Periodic,
            period_ns,
            duration_ns: 0,
            cpus: vec![CPU],
            tids: vec![],
            spells: vec![],
            starts: None,
        };
        let mut run = run();
        run.injections = PERIODS_NS.map(injected).to_vec();
        let name =
            |key, name: &str| Name { kind: NameKind::Symbol, key, ticks: 0, name: name.into() };
        Self {
            run,
            series: vec![],
            samples: vec![],
            events: vec![],
            names: vec![
                name(ADDED, "perf_swevent_hrtimer"),
                name(OTHER, "hrtimer_wakeup"),
                name(TICK, TICK_FUNCTION),
            ],
            losses: vec![],
            activities: vec![],
            attributed: true,
            now: 1_000_000,
            detours: 0,
            round: 0,
        }
    }

    /// A series that begins now, with its outcome at the end.
    fn series(&mut self, variant: &str, copies: u32, injection: Option<u32>, samples: u64) -> u32 {
        let number = self.series.len() as u32;
        let watched = variant == "intadd-chain";
        self.series.push(Series {
            series: number,
            method: "serial".into(),
            variant: variant.into(),
            cpu: Some(CPU),
            tid: 100 + number as i32,
            policy: "other".into(),
            grain_ticks: SORT,
            fixed: Fixed::Work,
            asked: samples,
            round: self.round,
            parameters: Parameters {
                iterations: if variant == "trap" { 1_000 } else { 1 },
                calibrated_ticks: SORT,
                step_iterations: watched.then_some(1),
                step_ticks: watched.then_some(MICRO / 2),
                threshold_ticks: watched.then_some(MICRO),
                copies,
                injection,
                ..Parameters::default()
            },
        });
        number
    }

    fn done(&mut self, series: u32, first_ticks: u64, last_ticks: u64, samples: u64) {
        let (lost, wrong, ended) = (0, 0, Ended::Complete);
        self.run.outcomes.push(Outcome {
            series,
            first_ticks,
            last_ticks,
            samples,
            lost,
            wrong,
            ended,
            ..Outcome::default()
        });
    }

    /// A round of sorts under an injection that skips each 500th interrupt. Blocks differ by 0.1 %.
    pub fn sorts(&mut self, copies: u32, injection: Option<u32>, block: u64) {
        let delivered_hz =
            injection.map_or(0.0, |at| 1e9 / PERIODS_NS[at as usize] as f64 * (1.0 - 1.0 / 500.0));
        let share = COST as f64 / MICRO as f64 / 1e6 * delivered_hz;
        let sort = SORT as f64 * (1.0 + 0.001 * (block as f64 - 1.0)) / (1.0 - share);
        let all = (sort * (SORTS * u64::from(copies)) as f64) as u64;
        let (start, end) = (self.now, self.now + all);
        for copy in 0..u64::from(copies) {
            let number = self.series("sort", copies, injection, SORTS);
            // The copies take turns: each of their sorts lasts longer, the last ends last.
            let (first, last) =
                (start + copy * 1_000, end - (u64::from(copies) - 1 - copy) * 1_000);
            let each = (last - first) / SORTS;
            self.samples.extend((0..SORTS).map(|index| Sample {
                series: number,
                index,
                cpu: CPU,
                start_ticks: first + index * each,
                end_ticks: first + (index + 1) * each,
                count: 1,
            }));
            self.done(number, first, last, SORTS);
        }
        if injection.is_none() {
            self.ticks(copies, block, (start, end));
        }
        if let Some(at) = injection {
            let period = PERIODS_NS[at as usize] * MICRO / 1_000;
            let all = (end - start) / period;
            for n in (0..all).filter(|n| n % 500 != 250) {
                self.expires(start + n * period, ADDED);
                if n % 10 == 0 {
                    self.expires(start + n * period + 100, OTHER);
                }
            }
            let (start_ticks, end_ticks) = (start - 500, end + 500);
            let delivered = Some(all - all / 500);
            let spell =
                Spell { cpu: CPU, start_ticks, end_ticks, delivered, cut_short: 0, overruns: None };
            self.run.injections[at as usize].spells.push(spell);
        }
        self.now = end + 1_000_000;
        self.round += 1;
    }

    /// The kernel's own ticks in a round without added interrupts, as `TICK_COST` says, each with a switch to the
    /// next copy. Each tenth is not alone, and each seventh meets a host that takes the CPU away.
    fn ticks(&mut self, copies: u32, block: u64, (start, end): (u64, u64)) {
        let last = self.series.len() as i32;
        let tid = |n: u64| 100 + last - 1 - (n % u64::from(copies)) as i32;
        let cost = tick_cost(copies, block);
        for n in 0..(end - start) / (4_000 * MICRO) {
            let at = start + n * 4_000 * MICRO + 1_000 * MICRO;
            let stolen = if n % 7 == 3 { 900 * MICRO } else { 0 };
            let exit = at + cost.tick + stolen;
            let mut add = |ticks, kind, args| {
                self.events.push(KernelEvent { cpu: CPU, ticks, kind, pid: tid(n), args });
            };
            let entry = at + MICRO;
            add(at, EventKind::LocalTimerEntry, [236, 0, 0]);
            add(entry, EventKind::HrtimerEntry, [77, TICK, 0]);
            if n % 10 == 4 {
                add(entry + 100, EventKind::Waking, [5, 0, 0]);
            }
            add(entry + cost.function + stolen, EventKind::HrtimerExit, [77, 0, 0]);
            add(exit, EventKind::LocalTimerExit, [236, 0, 0]);
            // A softirq before the switch makes it another; a thread that is no copy does too.
            let softirq = if n % 10 == 6 { 20 * MICRO } else { 0 };
            if softirq > 0 {
                add(exit + 10, EventKind::SoftirqEntry, [7, 0, 0]);
                add(exit + softirq, EventKind::SoftirqExit, [7, 0, 0]);
            }
            let next = if n % 10 == 8 || copies == 1 { 9 } else { tid(n + 1) as u64 };
            add(exit + softirq + cost.choice, EventKind::Switch, [next, 0, 120]);
        }
    }

    fn expires(&mut self, ticks: u64, function: u64) {
        let args = [function, 0, 0];
        let kind = EventKind::HrtimerEntry;
        self.events.push(KernelEvent { cpu: CPU, ticks, kind, pid: 0, args });
    }

    /// System calls of 0.2 µs; each tenth sample is hit by something.
    pub fn traps(&mut self) {
        let number = self.series("trap", 1, None, 100);
        let first = self.now;
        for index in 0..100 {
            let start_ticks = self.now;
            self.now += 200 * MICRO + if index % 10 == 0 { 100 * MICRO } else { 0 };
            let end_ticks = self.now;
            let series = number;
            self.samples.push(Sample { series, index, cpu: CPU, start_ticks, end_ticks, count: 1 });
        }
        self.done(number, first, self.now, 100);
        self.now += 1_000_000;
        self.round += 1;
    }

    /// The watched loop: ticks, added interrupts, both in one, and some that the host disturbed.
    pub fn watched(&mut self, injection: Option<u32>) {
        let number = self.series("intadd-chain", 1, injection, 1);
        let first = self.now;
        for n in 0..100 {
            self.detour(&[tick(n % 2)], &[9 * MICRO, 5 * MICRO], "timer-tick");
            if n % 4 == 0 {
                self.detour(&[tick(0), soft()], &[9 * MICRO, MICRO], "timer-tick");
            }
            if injection.is_some() {
                for _ in 0..PERIODS_NS[0] / PERIODS_NS[injection.unwrap_or(0) as usize] {
                    self.detour(&[added(n % 2)], &[10 * MICRO, 5 * MICRO], "timer");
                }
                let both = [Piece { within: true, ..added(0) }];
                self.detour(&[&[tick(0)], &both[..]].concat(), &[40 * MICRO, MICRO], "timer-tick");
                self.detour(&[added(0)], &[900 * MICRO, MICRO], "vm-or-hardware");
            }
        }
        let (last, kind) = (self.now, ActivityKind::Unexplained);
        self.detour(&[], &[], "");
        self.activities.push(activity(self.detours, kind, "vm-or-hardware", "", self.now, MICRO));
        self.now += 10 * MICRO;
        self.detours += 1;
        self.done(number, first, last + MICRO, 1);
        // After its end: not of the series.
        self.detour(&[added(0)], &[999 * MICRO, 999 * MICRO], "timer");
        self.now += 1_000_000;
        self.round += 1;
    }

    /// A detour of pieces with gaps before and after.
    fn detour(&mut self, pieces: &[Piece], gaps: &[u64], gaps_of: &str) {
        let Some(first) = pieces.first() else { return };
        let name = if gaps_of == "timer" { first.name } else { "" };
        let mut rows = vec![];
        let mut at = self.now;
        let mut push = |kind, source: &str, name: &str, ticks, parent| {
            let row = activity(self.detours, kind, source, name, at, ticks);
            at += ticks;
            rows.push(Activity { parent, ..row });
        };
        push(ActivityKind::EntryGap, gaps_of, name, gaps[0], None);
        for (n, piece) in pieces.iter().enumerate() {
            let kind = ActivityKind::Activity;
            let parent = piece.within.then_some(n as u32);
            push(kind, piece.source, piece.name, piece.own, parent);
            push(kind, piece.source, piece.name, piece.nested, Some(n as u32 + 1));
        }
        push(ActivityKind::ExitGap, gaps_of, name, gaps[1], None);
        // Only what expired in the interrupt has the function.
        for row in rows.iter_mut().filter(|row| &*row.source == "timer-tick") {
            row.function = row.parent.map(|_| TICK_FUNCTION.into());
        }
        self.activities.extend(rows);
        self.detours += 1;
        self.now = at + 100 * MICRO;
    }

    /// Writes and opens it.
    pub fn record(&self, dir: &Path) -> Recording {
        let mut recorder = Recorder::create(dir, &self.run).expect("a new directory");
        recorder.append(&self.series).expect("in order");
        recorder.append(&self.samples).expect("in order");
        recorder.append(&self.events).expect("in order");
        recorder.append(&self.names).expect("in order");
        recorder.append(&self.losses).expect("in order");
        recorder.finish(&self.run).expect("there is space");
        let recording = Recording::open(dir).expect("just written");
        if self.attributed {
            let mut writer = recording.derive::<Activity>().expect("writable");
            writer.append(&self.activities).expect("in order");
            writer.finish().expect("there is space");
            recording.write_attribution(&Attribution::default()).expect("writable");
        }
        Recording::open(dir).expect("just written")
    }
}

/// What a tick and the switch after it take, in ticks of the counter.
#[derive(Debug, Clone, Copy)]
pub struct TickCost {
    /// From the interrupt's entry to its exit.
    pub tick: u64,
    /// Of it the tick's function.
    pub function: u64,
    /// From the exit to the switch.
    pub choice: u64,
}

/// A tick of 6 µs and 0.4 µs a copy, of it 2.4 µs and 0.4 µs a copy in its function, and 2 µs to the switch. Blocks
/// differ by 1 µs a tick.
pub fn tick_cost(copies: u32, block: u64) -> TickCost {
    let more = u64::from(copies) * MICRO * 2 / 5;
    let function = MICRO * 12 / 5 + more;
    TickCost { tick: (6 + block) * MICRO + more, function, choice: 2 * MICRO }
}

/// An interrupt, and what expired in it.
#[derive(Debug, Clone, Copy)]
struct Piece {
    source: &'static str,
    name: &'static str,
    own: u64,
    nested: u64,
    within: bool,
}

/// A tick of 2 µs, give or take `more` half ones.
fn tick(more: u64) -> Piece {
    let (own, nested) = (MICRO / 2, 3 * MICRO / 2 + more * MICRO);
    Piece { source: "timer-tick", name: "", own, nested, within: false }
}

/// An added interrupt of 1 µs, or half a µs more.
fn added(more: u64) -> Piece {
    let (own, nested) = (MICRO / 4, 3 * MICRO / 4 + more * MICRO / 2);
    Piece { source: "timer", name: "perf_swevent_hrtimer", own, nested, within: false }
}

fn soft() -> Piece {
    Piece { source: "softirq", name: "RCU", own: 4 * MICRO, nested: 0, within: false }
}

fn activity(
    detour: u64,
    kind: ActivityKind,
    source: &str,
    name: &str,
    start_ticks: u64,
    self_ticks: u64,
) -> Activity {
    let row = builders::activity((CPU, detour), kind, source, start_ticks, self_ticks);
    Activity { name: name.into(), ..row }
}

fn run() -> Run {
    let mut run = builders::run("serial", builders::clock(1_000_000 * MICRO), vec![]);
    run.cpus = vec![builders::cpu_run(CPU, (0, 0), 0)];
    run.end_ticks = u64::MAX / 2;
    run.trace = Some(builders::trace());
    run.machine.model = "AMD EPYC 7B13".into();
    run.machine.tick_hz = Some(250);
    run
}
