//! Made-up recordings of the interference matrix, in which every interrupt has a known cost.

use anechoic_analyze::interference::{Interference, interference};
use anechoic_lab::two_cpus::{self, MICRO, SECOND};
use anechoic_recording::injection::{Injected, InjectionKind, InjectionTiming, Spell};
use anechoic_recording::machine::{Cache, Cpu};
use anechoic_recording::run::{CpuRun, Ended, Outcome};
use anechoic_recording::{
    Detour, EventKind, Fixed, KernelEvent, Loss, Name, NameKind, Parameters, Recorder, Recording,
    Run, Sample, Series,
};

/// Ticks of a microsecond.
pub const US: u64 = MICRO;
pub const KERNEL: &str = "intadd";
/// What a repetition takes undisturbed.
const WORK: u64 = 100 * US;
/// What a step of it takes.
const STEP: u64 = US / 2;
const PERIOD: u64 = 1_000 * US;
/// What a tick takes, every fourth period, just when an interrupt comes.
const TICK: u64 = 15 * US;
const PERF: u64 = 0xffff_0001;
const TICK_FUNCTION: u64 = 0xffff_0002;

/// What is planted. Times are ticks.
#[derive(Debug, Clone)]
pub struct Plan {
    pub repetitions: u64,
    /// What an interrupt costs the repetition that it falls into.
    pub cost_ticks: u64,
    /// Every repetition takes so much longer than the one before.
    pub drift_per_repetition: u64,
    /// The loop's CPU has ticks of its own.
    pub own_ticks: bool,
    /// The host takes 20 µs now and then, in one repetition of 30.
    pub holes: bool,
    /// Half of the cost is felt 5 µs after the interrupt, wherever that is.
    pub spill: bool,
    /// The cost shows as steps that take twice their time.
    pub slow_steps: bool,
}

impl Default for Plan {
    fn default() -> Self {
        Self {
            repetitions: 5_000,
            cost_ticks: 0,
            drift_per_repetition: 0,
            own_ticks: false,
            holes: false,
            spill: false,
            slow_steps: false,
        }
    }
}

/// The rows of a recording.
#[derive(Debug)]
pub struct Made {
    pub run: Run,
    pub series: Vec<Series>,
    pub samples: Vec<Sample>,
    pub detours: Vec<Detour>,
    pub events: Vec<KernelEvent>,
    pub names: Vec<Name>,
    pub losses: Vec<Loss>,
}

impl Made {
    /// One series for each pair (source, CPU), one after the other.
    pub fn new(plan: &Plan, pairs: &[(u32, u32)]) -> Self {
        let mut run = Run { method: "interference".into(), ..two_cpus::run(0) };
        run.machine.cpus = machine();
        let name =
            |key, name: &str| Name { kind: NameKind::Symbol, key, ticks: 0, name: name.into() };
        let names =
            vec![name(PERF, "perf_swevent_hrtimer"), name(TICK_FUNCTION, "tick_nohz_handler")];
        let (series, samples, detours, events) = Default::default();
        let mut made = Self { run, series, samples, detours, events, names, losses: vec![] };
        let mut now = SECOND;
        for (number, &(source, cpu)) in (0..).zip(pairs) {
            now = Maker::new(plan, number, (source, cpu), now).run(&mut made) + SECOND / 100;
        }
        let (first, last) = (SECOND, now);
        let cpu = |cpu| CpuRun { cpu, tid: 100 + cpu as i32, ..made.run.cpus[0].clone() };
        made.run.cpus = (0..8).map(cpu).collect();
        (made.run.start_ticks, made.run.end_ticks) = (first, last);
        made
    }

    /// The CPU of the first series.
    pub fn cpu(&self) -> u32 {
        self.series[0].cpu.expect("pinned")
    }

    /// From one share of the samples to another.
    pub fn part(&self, from: f64, to: f64) -> (u64, u64) {
        let at =
            |share: f64| self.samples[(share * self.samples.len() as f64) as usize].start_ticks;
        (at(from) + 1, at(to) - 1)
    }

    /// Puts an interrupt of the source into each repetition.
    pub fn interrupt_all(&mut self) {
        let source = self.run.injections[0].cpus[0];
        self.events.retain(|event| event.cpu != source);
        for sample in &self.samples {
            let middle = u64::midpoint(sample.start_ticks, sample.end_ticks);
            self.events.extend(interrupt(source, middle, PERF));
        }
    }

    /// What the recording of these rows says.
    pub fn analyze(&mut self) -> Interference {
        let place = tempfile::tempdir().expect("a place for it");
        let dir = place.path().join("recording");
        self.samples.sort_by_key(|sample| (sample.series, sample.index));
        self.detours.sort_by_key(|detour| (detour.cpu, detour.start_ticks));
        self.events.sort_by_key(|event| (event.cpu, event.ticks));
        let mut recorder = Recorder::create(&dir, &self.run).expect("a new directory");
        recorder.append(&self.series).expect("in order");
        recorder.append(&self.samples).expect("in order");
        recorder.append(&self.detours).expect("in order");
        recorder.append(&self.events).expect("in order");
        recorder.append(&self.names).expect("in order");
        recorder.append(&self.losses).expect("in order");
        recorder.finish(&self.run).expect("there is space");
        interference(&Recording::open(&dir).expect("just written")).expect("a sound recording")
    }
}

/// Makes one series.
struct Maker<'a> {
    plan: &'a Plan,
    number: u32,
    source: u32,
    cpu: u32,
    first: u64,
    now: u64,
    next_interrupt: u64,
    next_tick: u64,
    /// What is still to be felt of an interrupt: when, and how much.
    later: Option<(u64, u64)>,
    chance: u64,
}

impl<'a> Maker<'a> {
    fn new(plan: &'a Plan, number: u32, (source, cpu): (u32, u32), first: u64) -> Self {
        let next_interrupt = first + 333 * US;
        let (later, chance, now, next_tick) = (None, 7, first, next_interrupt);
        Self { plan, number, source, cpu, first, now, next_interrupt, next_tick, later, chance }
    }

    /// Numbers that look random and are always the same, below `bound`.
    fn below(&mut self, bound: u64) -> u64 {
        self.chance = self
            .chance
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.chance >> 33) % bound
    }

    /// Adds all its rows; returns its end.
    fn run(mut self, made: &mut Made) -> u64 {
        for index in 0..self.plan.repetitions {
            self.sample(index, made);
        }
        self.describe(made);
        self.now
    }

    fn sample(&mut self, index: u64, made: &mut Made) {
        let start_ticks = self.now;
        let jitter = self.below(250);
        let work = WORK + jitter + index * self.plan.drift_per_repetition;
        let mut left = work;
        if self.plan.holes && self.below(30) == 0 {
            self.detour(20 * US, made);
        }
        loop {
            let next = self.next_event();
            if next >= self.now + left {
                break;
            }
            left -= next.saturating_sub(self.now);
            self.now = self.now.max(next);
            self.event(next, made);
        }
        self.now += left;
        let (series, cpu, end_ticks) = (self.number, self.cpu, self.now);
        made.samples.push(Sample { series, index, cpu, start_ticks, end_ticks, count: 1 });
    }

    /// When the next thing happens that the loop feels.
    fn next_event(&self) -> u64 {
        let later = self.later.map_or(u64::MAX, |(at, _)| at);
        let tick = if self.plan.own_ticks { self.next_tick } else { u64::MAX };
        later.min(tick).min(self.next_interrupt)
    }

    fn event(&mut self, at: u64, made: &mut Made) {
        if self.later.is_some_and(|(later, _)| later <= at) {
            let (_, cost) = self.later.take().expect("just seen");
            self.now += cost;
            return;
        }
        if self.next_interrupt <= at {
            self.next_interrupt += PERIOD;
            self.interrupt(made);
            return;
        }
        self.next_tick += 4 * PERIOD;
        let events = interrupt(self.cpu, self.now + 5 * US, TICK_FUNCTION);
        made.events.extend(events);
        self.detour(TICK, made);
    }

    fn interrupt(&mut self, made: &mut Made) {
        let cost = self.plan.cost_ticks;
        if self.source == self.cpu {
            made.events.extend(interrupt(self.cpu, self.now + cost / 2, PERF));
            self.detour(cost, made);
            return;
        }
        made.events.extend(interrupt(self.source, self.now, PERF));
        let now = if self.plan.spill { cost / 2 } else { cost };
        if self.plan.spill {
            self.later = Some((self.now + now + 5 * US, cost - now));
        }
        if self.plan.slow_steps {
            (0..now / STEP).for_each(|_| self.detour(STEP, made));
        } else {
            self.now += now;
        }
    }

    /// The loop is away for so long, in the middle of a step.
    fn detour(&mut self, ticks: u64, made: &mut Made) {
        let start_ticks = self.now;
        self.now += ticks;
        // The step itself is part of the work: what follows is shorter by it.
        let end_ticks = self.now + 1;
        made.detours.push(Detour { cpu: self.cpu, start_ticks, end_ticks });
        self.now += 1;
    }

    /// Series, outcome and injection.
    fn describe(&self, made: &mut Made) {
        let (number, cpu, injection) = (self.number, self.cpu, self.injection(made));
        made.series.push(Series {
            series: number,
            method: "interference".into(),
            variant: KERNEL.into(),
            cpu: Some(cpu),
            tid: 100 + cpu as i32,
            policy: "other".into(),
            grain_ticks: WORK,
            fixed: Fixed::Work,
            asked: self.plan.repetitions,
            round: number,
            parameters: Parameters {
                iterations: 100,
                calibrated_ticks: WORK,
                instructions: 512,
                megaiteration_ticks: 512 * 1_500_000,
                megacycle_ticks: 1_000_000,
                step_iterations: Some(1),
                step_ticks: Some(STEP),
                threshold_ticks: Some(STEP * 3 / 2),
                copies: 1,
                injection: Some(injection as u32),
                ..Parameters::default()
            },
        });
        made.run.outcomes.push(Outcome {
            series: number,
            first_ticks: self.first,
            last_ticks: self.now,
            samples: self.plan.repetitions,
            lost: 0,
            wrong: 0,
            ended: Ended::Complete,
            ..Outcome::default()
        });
        let (start_ticks, end_ticks) = (self.first - US, self.now + US);
        let (delivered, cut_short, overruns) = (None, 0, None);
        let cpu = self.source;
        let spell = Spell { cpu, start_ticks, end_ticks, delivered, cut_short, overruns };
        made.run.injections[injection].spells.push(spell);
    }

    /// The number of the source's injection.
    fn injection(&self, made: &mut Made) -> usize {
        let all = &mut made.run.injections;
        all.iter().position(|injected| injected.cpus == [self.source]).unwrap_or_else(|| {
            all.push(Injected {
                kind: InjectionKind::Interrupt,
                timing: InjectionTiming::Periodic,
                period_ns: 1_000_000,
                duration_ns: 0,
                cpus: vec![self.source],
                tids: vec![],
                spells: vec![],
                starts: None,
            });
            all.len() - 1
        })
    }
}

/// The events of a timer interrupt in which `function` expires.
fn interrupt(cpu: u32, ticks: u64, function: u64) -> [KernelEvent; 4] {
    let event = |after, kind, args| KernelEvent { cpu, ticks: ticks + after, kind, pid: 0, args };
    let timer = function + u64::from(cpu) * 64;
    [
        event(0, EventKind::LocalTimerEntry, [236, 0, 0]),
        event(0, EventKind::HrtimerEntry, [timer, function, 0]),
        event(1, EventKind::HrtimerExit, [timer, 0, 0]),
        event(1, EventKind::LocalTimerExit, [236, 0, 0]),
    ]
}

/// Two packages: cores of the threads 0 and 4, 1 and 5, 2 and 3; in the other one 6 and 7. The first two
/// cores share a second-level cache.
fn machine() -> Vec<Cpu> {
    let cpu = |cpu: u32| {
        let (package, siblings, l2) = match cpu {
            0 | 4 => (0, "0,4", "0-1,4-5"),
            1 | 5 => (0, "1,5", "0-1,4-5"),
            2 | 3 => (0, "2-3", "2-3"),
            _ => (1, "6-7", "6-7"),
        };
        let l3 = if package == 0 { "0-5" } else { "6-7" };
        let cache = |(level, shared_cpus): (u32, &str)| Cache {
            level,
            kind: "Unified".into(),
            size_bytes: 1 << 20,
            line_bytes: 64,
            ways: 8,
            shared_cpus: shared_cpus.into(),
        };
        Cpu {
            cpu,
            class: "synthetic".into(),
            package: Some(package),
            core: None,
            node: None,
            siblings: siblings.into(),
            caches: [(1, siblings), (2, l2), (3, l3)].into_iter().map(cache).collect(),
            governor: None,
        }
    };
    (0..8).map(cpu).collect()
}
