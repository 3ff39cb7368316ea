//! Noise or wake-ups while a run is in progress: totals and the latest seconds, for a screen that is redrawn.

mod sums;
mod woken;

use crate::split::Split;
use crate::wakeup::Parts;
use anechoic_recording::run::CpuRun;
use anechoic_recording::{Activity, Detour, Run};
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use sums::{Bin, NOW, Sum};
pub use woken::LiveWoken;
use woken::{Woken, stages};

/// Length of a bin of the recent past, in ns.
const BIN_NS: u64 = 250_000_000;
/// Number of longest detours that are kept.
const LONGEST: usize = 20;

/// One measured CPU so far, or one that the recorded program uses. *Now* is the last complete second, in quarters of a second.
///
/// Shares are of the time of the CPU; where a program is recorded, of the time in which it executed or was kept from it. Where
/// threads are woken, their wake-ups stand in the place of detours.
#[derive(Debug, Clone, PartialEq)]
pub struct LiveCpu {
    /// The CPU.
    pub cpu: u32,
    /// Share of its time in detours since the start.
    pub noise: f64,
    /// Share of its time in detours now.
    pub noise_now: f64,
    /// Detours since the start.
    pub detours: u64,
    /// Detours per second now.
    pub rate_now_per_s: f64,
    /// Longest detour since the start in ns; 0 for none.
    pub worst_ns: u64,
    /// Longest detour now.
    pub worst_now_ns: u64,
    /// Noise of each second of the last minute, the newest last; fewer at the start. Of wake-ups, the longest in ns.
    pub history: Vec<f64>,
    /// Its wake-ups, where threads are woken.
    pub woken: LiveWoken,
}

/// One source on all measured CPUs so far.
#[derive(Debug, Clone, PartialEq)]
pub struct LiveSource {
    /// Identifier of the source, from the table of sources.
    pub source: Arc<str>,
    /// Name within the source; empty if there is only one.
    pub name: Arc<str>,
    /// Share of the time of all measured CPUs since the start.
    pub noise: f64,
    /// Share of the time of all measured CPUs now.
    pub noise_now: f64,
    /// Share of all time in detours since the start.
    pub share: f64,
    /// Share of the latency of all late wake-ups since the start.
    pub share_late: f64,
    /// Number of detours that contain it since the start.
    pub detours: u64,
    /// Detours per second that contain it now.
    pub rate_now_per_s: f64,
    /// Maximum of its time in one detour, in ns.
    pub worst_ns: u64,
    /// CPUs on which it occurred.
    pub cpus: BTreeSet<u32>,
}

/// A long detour with its sources.
#[derive(Debug, Clone, PartialEq)]
pub struct LiveDetour {
    /// The CPU.
    pub cpu: u32,
    /// Start in ns since the start of the run.
    pub start_ns: u64,
    /// Length in ns.
    pub length_ns: u64,
    /// Source, name, and time in ns, sorted by decreasing time.
    pub parts: Vec<(Arc<str>, Arc<str>, u64)>,
    /// Of a wake-up, how long it was in which stage; absent if that is not known.
    pub stages: Option<Parts>,
}

/// The content of a screen.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Snapshot {
    /// Time since the start, in ns.
    pub elapsed_ns: u64,
    /// The CPUs by number.
    pub cpus: Vec<LiveCpu>,
    /// The sources by decreasing time.
    pub sources: Vec<LiveSource>,
    /// The longest detours since the start, sorted by decreasing length.
    pub longest: Vec<LiveDetour>,
    /// Share of the time of all measured CPUs in detours since the start.
    pub noise: f64,
    /// Share of the time of all measured CPUs in detours now.
    pub noise_now: f64,
}

/// Source and name.
type Key = (Arc<str>, Arc<str>);
/// Ticks that a source took of one detour.
type Part = (Key, u64);

/// Adds up detours as they come.
#[derive(Debug)]
pub struct Live {
    run: Run,
    split: Split,
    now_ticks: u64,
    /// Number of the newest bin, which may be incomplete.
    bin: u64,
    cpus: Vec<Cpu>,
    sources: HashMap<Key, Source>,
    longest: Vec<LiveDetour>,
    /// Length below which detours are not among the longest.
    least: u64,
    /// Time between runs, which was not measured.
    between: u64,
    /// A wake-up that takes longer is late, in ticks; absent unless threads are woken.
    late: Option<u64>,
    /// Latency of all late wake-ups, in ticks.
    late_ticks: u64,
}

/// Sums of one CPU, in ticks.
#[derive(Debug)]
struct Cpu {
    cpu: u32,
    first_ticks: u64,
    shortest_gap_ticks: u64,
    sum: Sum,
    /// For how long the recorded program executed.
    executed: Sum,
    /// The part of it in earlier runs, in ticks.
    executed_before: u64,
    /// Since when the recorded program waits for it, if it does.
    waits_since: Option<u64>,
    woken: Woken,
}

/// Sums of one source.
#[derive(Debug, Default)]
struct Source {
    sum: Sum,
    cpus: BTreeSet<u32>,
    /// Its part of late wake-ups, in ticks.
    late_ticks: u64,
}

impl Cpu {
    fn new(measured: &CpuRun, run: &Run) -> Self {
        Self {
            first_ticks: measured.first_ticks,
            shortest_gap_ticks: measured.iteration_ticks(run),
            ..Self::used(measured.cpu)
        }
    }

    /// Returns one that the recorded program uses.
    fn used(cpu: u32) -> Self {
        let (sum, executed) = (Sum::default(), Sum::default());
        Self {
            cpu,
            first_ticks: 0,
            shortest_gap_ticks: 0,
            sum,
            executed,
            executed_before: 0,
            waits_since: None,
            woken: Woken::default(),
        }
    }
}

impl Live {
    /// Returns empty sums for a run that has begun.
    #[must_use]
    pub fn new(run: Run) -> Self {
        let mut cpus: Vec<Cpu> = run.cpus.iter().map(|cpu| Cpu::new(cpu, &run)).collect();
        cpus.sort_by_key(|cpu| cpu.cpu);
        let now_ticks = run.start_ticks;
        let (sources, longest) = (HashMap::new(), Vec::new());
        let split = Split::default();
        let (late, late_ticks) = (None, 0);
        Live {
            run,
            split,
            now_ticks,
            bin: 0,
            cpus,
            sources,
            longest,
            least: 0,
            between: 0,
            late,
            late_ticks,
        }
    }

    /// Returns empty sums for a run of threads that are woken, late ones after this time.
    #[must_use]
    pub fn waking(run: Run, late_ns: u64) -> Self {
        let mut live = Self::new(run);
        live.late = Some(live.run.clock.ticks(late_ns));
        live.cpus.iter_mut().for_each(|cpu| cpu.shortest_gap_ticks = 0); // there is no loop
        live
    }

    /// Declares how many expiries have passed on a CPU while its thread was late.
    pub fn overrun(&mut self, cpu: u32, expiries: u64) {
        if let Some(place) = self.place(cpu) {
            self.cpus[place].woken.overrun(expiries);
        }
    }

    /// Continues with another run of the same CPUs and counter.
    pub fn resume(&mut self, run: &Run) {
        let pause = run.start_ticks.saturating_sub(self.now_ticks);
        self.between = self.between.saturating_add(pause);
        self.until(run.start_ticks);
        self.cpus.iter_mut().for_each(|cpu| cpu.executed_before = cpu.executed.all.ticks);
    }

    /// Declares that all detours that ended before this time have been added.
    pub fn until(&mut self, ticks: u64) {
        self.now_ticks = self.now_ticks.max(ticks);
        self.bin = self.bin_of(self.now_ticks);
        let sums = self.sources.values_mut().map(|source| &mut source.sum);
        let bin = self.bin;
        let cpus = self.cpus.iter_mut().flat_map(|cpu| [&mut cpu.sum, &mut cpu.executed]);
        cpus.chain(sums).for_each(|sum| sum.turn_to(bin));
        self.cpus.iter_mut().for_each(|cpu| cpu.woken.settle());
    }

    /// Declares for how long the recorded program has executed on a CPU since the start of this run, in ticks.
    pub fn executed(&mut self, cpu: u32, ticks: u64) {
        let bin = self.bin;
        if let Some(place) = self.place(cpu) {
            let known = &mut self.cpus[place];
            let all = known.executed_before.saturating_add(ticks);
            known.executed.add(all.saturating_sub(known.executed.all.ticks), bin);
        }
    }

    /// Declares which CPUs the recorded program waits for now, with the time since when.
    pub fn waiting(&mut self, cpus: impl IntoIterator<Item = (u32, u64)>) {
        self.cpus.iter_mut().for_each(|cpu| cpu.waits_since = None);
        for (cpu, since) in cpus {
            if let Some(place) = self.place(cpu) {
                self.cpus[place].waits_since = Some(since);
            }
        }
    }

    /// Returns for how long the recorded program has waited for a CPU that it still waits for, in ticks: all of it, and the part of
    /// it that is *now*.
    fn waited(&self, cpu: &Cpu) -> [u64; 2] {
        let all = self.now_ticks.saturating_sub(cpu.waits_since.unwrap_or(self.now_ticks));
        [all, all.min(self.run.clock.ticks(NOW as u64 * BIN_NS))]
    }

    /// Returns for how long it was in detours, in ticks, that which goes on included: all of it, and the part of it that is *now*.
    fn lost(&self, cpu: &Cpu) -> [u64; 2] {
        let [waited, waited_now] = self.waited(cpu);
        let [all, now] = [cpu.sum.all, cpu.sum.now(self.bin)].map(|sum| sum.ticks);
        [all.saturating_add(waited), now.saturating_add(waited_now)]
    }

    /// Returns the place of a CPU among those that are measured. A program may begin to use one.
    fn place(&mut self, cpu: u32) -> Option<usize> {
        match self.cpus.binary_search_by_key(&cpu, |known| known.cpu) {
            Ok(place) => Some(place),
            Err(place) => {
                let program = self.run.program.as_ref()?;
                let counts = program.counted_cpus.is_empty() || program.counted_cpus.contains(&cpu);
                counts.then(|| self.cpus.insert(place, Cpu::used(cpu)))?;
                Some(place)
            }
        }
    }

    /// Adds a detour or a wake-up with its sources; gaps carry the source that they are charged to.
    pub fn add(&mut self, detour: &Detour, rows: &[Activity]) {
        let bin = self.bin_of(detour.start_ticks);
        let last = self.bin_of(detour.end_ticks.saturating_sub(1)).max(bin);
        let Some(place) = self.place(detour.cpu) else { return };
        let cpu = &mut self.cpus[place];
        let length = (detour.end_ticks.saturating_sub(detour.start_ticks))
            .saturating_sub(cpu.shortest_gap_ticks);
        cpu.sum.add_over(length, bin..=last);
        let is_late = self.late.is_some_and(|late| length > late);
        if self.late.is_some() {
            cpu.woken.add(length, is_late);
        }
        self.late_ticks += if is_late { length } else { 0 };
        let mut split = std::mem::take(&mut self.split);
        let named = |(key, ticks): (&Key, u64)| (key.clone(), ticks);
        let parts: Vec<Part> = split.add_up(rows).map(named).collect();
        self.split = split;
        for (key, ticks) in &parts {
            let source = self.sources.entry(key.clone()).or_default();
            source.sum.add_over(*ticks, bin..=last);
            source.cpus.insert(detour.cpu);
            source.late_ticks += if is_late { *ticks } else { 0 };
        }
        if length > self.least {
            self.keep(detour, length, parts, rows);
        }
    }

    fn keep(&mut self, detour: &Detour, length: u64, parts: Vec<Part>, rows: &[Activity]) {
        let clock = &self.run.clock;
        let ns = |ticks: u64| clock.ns(ticks);
        let mut parts: Vec<_> =
            parts.into_iter().map(|((source, name), ticks)| (source, name, ns(ticks))).collect();
        parts.sort_by_key(|part| std::cmp::Reverse(part.2));
        self.longest.push(LiveDetour {
            cpu: detour.cpu,
            start_ns: ns(detour.start_ticks.saturating_sub(self.run.start_ticks)),
            length_ns: ns(length),
            parts,
            stages: self.late.and_then(|_| stages(detour, rows, clock)),
        });
        self.longest.sort_by_key(|kept| std::cmp::Reverse(kept.length_ns));
        self.longest.truncate(LONGEST);
        if let (LONGEST, Some(last)) = (self.longest.len(), self.longest.last()) {
            self.least = clock.ticks(last.length_ns);
        }
    }

    /// Returns the current content of the screen.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot {
        let clock = &self.run.clock;
        let cpus: Vec<LiveCpu> = self.cpus.iter().map(|cpu| self.cpu(cpu)).collect();
        let wall: u64 = self.cpus.iter().map(|cpu| self.wall(cpu)).sum();
        let taken: u64 = self.cpus.iter().map(|cpu| self.lost(cpu)[0]).sum();
        let taken_now: u64 = self.cpus.iter().map(|cpu| self.lost(cpu)[1]).sum();
        let second: f64 = self.cpus.iter().map(|cpu| self.now_of_cpu_s(cpu)).sum();
        let mut sources: Vec<LiveSource> = self
            .sources
            .iter()
            .map(|((source, name), tally)| {
                let now = tally.sum.now(self.bin);
                LiveSource {
                    source: Arc::clone(source),
                    name: Arc::clone(name),
                    noise: crate::share(tally.sum.all.ticks, wall),
                    noise_now: per(clock.seconds(now.ticks), second),
                    share: crate::share(tally.sum.all.ticks, taken),
                    share_late: crate::share(tally.late_ticks, self.late_ticks),
                    detours: tally.sum.all.count,
                    rate_now_per_s: per(now.count as f64, self.now_s()),
                    worst_ns: clock.ns(tally.sum.all.most),
                    cpus: tally.cpus.clone(),
                }
            })
            .collect();
        sources.sort_by(|a, b| {
            let names = || (&a.source, &a.name).cmp(&(&b.source, &b.name));
            b.noise.total_cmp(&a.noise).then_with(names)
        });
        Snapshot {
            elapsed_ns: clock.ns(self
                .now_ticks
                .saturating_sub(self.run.start_ticks)
                .saturating_sub(self.between)),
            noise: crate::share(taken, wall),
            noise_now: per(clock.seconds(taken_now), second),
            cpus,
            sources,
            longest: self.longest.clone(),
        }
    }

    fn cpu(&self, cpu: &Cpu) -> LiveCpu {
        let clock = &self.run.clock;
        let (all, now) = (cpu.sum.all, cpu.sum.now(self.bin));
        let bins: Vec<Bin> = cpu.sum.before(self.bin).collect();
        let executed: Vec<Bin> = cpu.executed.before(self.bin).collect();
        let ticks = |bins: &[Bin]| bins.iter().map(|bin| bin.ticks).fold(0, u64::saturating_add);
        let second = |(lost, executed): (&[Bin], &[Bin])| match self.run.program {
            Some(_) => crate::share(ticks(lost), ticks(lost).saturating_add(ticks(executed))),
            None if self.late.is_some() => {
                clock.ns(lost.iter().map(|bin| bin.most).max().unwrap_or(0)) as f64
            }
            None => clock.seconds(ticks(lost)) / (NOW as f64 * BIN_NS as f64 / 1e9),
        };
        let seconds = bins.rchunks_exact(NOW).zip(executed.rchunks_exact(NOW));
        let mut history: Vec<f64> = seconds.map(second).collect();
        history.reverse();
        LiveCpu {
            cpu: cpu.cpu,
            noise: crate::share(self.lost(cpu)[0], self.wall(cpu)),
            noise_now: per(clock.seconds(self.lost(cpu)[1]), self.now_of_cpu_s(cpu)),
            detours: all.count,
            rate_now_per_s: per(now.count as f64, self.now_s()),
            worst_ns: clock.ns(all.most),
            worst_now_ns: clock.ns(now.most),
            history,
            woken: cpu.woken.seen(clock),
        }
    }

    /// Returns how long the CPU was measured, or for how long the recorded program wanted it.
    fn wall(&self, cpu: &Cpu) -> u64 {
        if self.run.program.is_some() {
            return self.lost(cpu)[0].saturating_add(cpu.executed.all.ticks);
        }
        self.now_ticks.saturating_sub(cpu.first_ticks).saturating_sub(self.between)
    }

    /// Returns the part of it in seconds that is *now*.
    fn now_of_cpu_s(&self, cpu: &Cpu) -> f64 {
        if self.run.program.is_none() {
            return self.now_s();
        }
        let executed = cpu.executed.now(self.bin).ticks;
        self.run.clock.seconds(self.lost(cpu)[1].saturating_add(executed))
    }

    /// Returns the time in seconds that *now* covers: less than one at the start.
    fn now_s(&self) -> f64 {
        self.bin.min(NOW as u64) as f64 * BIN_NS as f64 / 1e9
    }

    fn bin_of(&self, ticks: u64) -> u64 {
        self.run.clock.ns(ticks.saturating_sub(self.run.start_ticks)) / BIN_NS
    }
}

fn per(count: f64, whole: f64) -> f64 {
    if whole > 0.0 { count / whole } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use anechoic_lab::builders;
    use anechoic_recording::ActivityKind;

    /// A run of CPUs 1 and 2 from tick 1,000 on, of a nanosecond a tick, with a shortest gap of 10.
    fn live() -> Live {
        let cpus = [1, 2].map(|cpu| builders::cpu_run(cpu, (1_000, 1_000), 10));
        let run = builders::run("detours", builders::clock(1_000_000_000), cpus.to_vec());
        Live::new(Run { threshold_ticks: 100, ..run })
    }

    fn detour(cpu: u32, start_ms: u64, length_us: u64) -> Detour {
        let start_ticks = 1_000 + start_ms * 1_000_000;
        Detour { cpu, start_ticks, end_ticks: start_ticks + length_us * 1_000 + 10 }
    }

    fn row(cpu: u32, source: &str, name: &str, us: u64) -> Activity {
        let row = builders::activity((cpu, 0), ActivityKind::Activity, source, 0, us * 1_000);
        Activity { name: name.into(), ..row }
    }

    #[test]
    fn the_iteration_of_a_loop_whose_shortest_gap_is_not_known_is_a_plain_read() {
        let run = builders::run(
            "detours",
            builders::clock(1_000_000_000),
            vec![builders::cpu_run(1, (1_000, 1_000), 0)],
        );
        let read = run.clock.read_min_ticks;
        assert_eq!((read > 0, Live::new(run).cpus[0].shortest_gap_ticks), (true, read));
    }

    #[test]
    fn now_is_the_last_second_and_the_rest_is_all() {
        let mut live = live();
        // A millisecond each tenth of a second on CPU 1 for three seconds, then none.
        for tenth in 0..30 {
            let rows = [row(1, "timer-tick", "", 900), row(1, "thread", "sshd", 100)];
            live.add(&detour(1, 100 * tenth, 1_000), &rows);
        }
        live.add(&detour(2, 3_100, 5_000), &[row(2, "thread", "sshd", 5_000)]);
        let second = |live: &mut Live, s: u64| {
            live.until(1_000 + s * 1_000_000_000);
            live.snapshot()
        };
        let at = second(&mut live, 4);
        let [first, other] = &at.cpus[..] else { panic!("two CPUs") };
        assert_eq!((first.cpu, first.detours, first.worst_ns), (1, 30, 1_000_000));
        assert!((first.noise - 0.03 / 4.0).abs() < 1e-9, "{}", first.noise);
        assert_eq!((first.noise_now, first.rate_now_per_s, first.worst_now_ns), (0.0, 0.0, 0));
        assert!((other.noise_now - 0.005).abs() < 1e-9, "{}", other.noise_now);
        let shown: Vec<i64> =
            first.history.iter().map(|noise| (noise * 1e4).round() as i64).collect();
        assert_eq!(shown, [100, 100, 100, 0]);
        let [tick, thread] = &at.sources[..] else { panic!("two sources") };
        assert_eq!((&*tick.source, tick.detours), ("timer-tick", 30));
        assert_eq!((&*thread.name, thread.detours, thread.worst_ns), ("sshd", 31, 5_000_000));
        assert_eq!(thread.cpus, BTreeSet::from([1, 2]));
        assert!((tick.share - 27.0 / 35.0).abs() < 1e-9, "{}", tick.share);
        assert!((thread.noise_now - 0.0025).abs() < 1e-9, "{}", thread.noise_now);
        assert_eq!(at.longest.len(), 20);
        assert_eq!((at.longest[0].cpu, at.longest[0].length_ns), (2, 5_000_000));
        assert_eq!(at.longest[0].start_ns, 3_100_000_000);
        // A minute later nothing of it is recent, and all of it is known.
        let later = second(&mut live, 90);
        assert_eq!(later.cpus[0].history, [0.0; 60]);
        assert!((later.noise - 0.035 / 180.0).abs() < 1e-9, "{}", later.noise);
    }

    /// Of 2,000 wake-ups of 1 to 2,000 µs, 15 of each thousand wait for a thread; the truth is their closed form.
    #[test]
    fn wake_ups_have_quantiles_and_those_of_late_ones_have_causes() {
        let cpus = vec![builders::cpu_run(1, (1_000, 1_000), 10)];
        let run = builders::run("wakeup", builders::clock(1_000_000_000), cpus);
        let mut live = Live::waking(run, 1_970_000);
        let none = live.snapshot();
        assert_eq!((none.cpus[0].woken, none.cpus[0].detours), (LiveWoken::default(), 0));
        for number in 1..=2_000 {
            let us = (number * 7) % 2_000 + 1; // each length once
            let start_ticks = 1_000 + number * 5_000_000;
            let woken = Detour { cpu: 1, start_ticks, end_ticks: start_ticks + us * 1_000 };
            let hog = us.saturating_sub(1_970);
            let rows = [row(1, "wake-up", "", us - hog), row(1, "thread", "hog", hog)];
            live.add(&woken, &rows[..if hog > 0 { 2 } else { 1 }]);
            live.overrun(1, u64::from(hog > 0) * 3);
            live.until(woken.end_ticks);
            if number == 5 {
                let few = live.snapshot().cpus[0].woken;
                assert_eq!((few.p50_ns, few.p99_ns), (Some(22_000), None), "8, 15, 22, 29 and 36");
            }
        }
        let at = live.snapshot();
        let expected =
            LiveWoken { p50_ns: Some(1_000_000), p99_ns: Some(1_980_000), late: 30, overruns: 90 };
        assert_eq!((at.cpus[0].woken, at.cpus[0].detours), (expected, 2_000));
        assert_eq!(at.cpus[0].worst_ns, 2_000_000);
        // The longest of each second, in ns.
        assert_eq!(at.cpus[0].history.iter().copied().fold(0.0, f64::max), 2e6);
        let hog = at.sources.iter().find(|source| &*source.name == "hog").expect("it was there");
        let (of_hog, late, all) =
            ((1..=30).sum::<u64>(), (1_971..=2_000).sum::<u64>(), (1..=2_000).sum::<u64>());
        let share = |part: u64, whole: u64| part as f64 / whole as f64;
        assert!((hog.share_late - share(of_hog, late)).abs() < 1e-9, "{hog:?}");
        assert!((hog.share - share(of_hog, all)).abs() < 1e-9, "{hog:?}");
        assert_eq!((hog.detours, hog.worst_ns), (30, 30_000));
        assert_eq!(at.longest[0].length_ns, 2_000_000);
    }

    #[test]
    fn time_between_runs_is_nobodys() {
        let mut live = live();
        live.add(&detour(1, 500, 10_000), &[]);
        live.until(1_000 + 1_000_000_000);
        let next = Run { start_ticks: 1_000 + 3_000_000_000, ..live.run.clone() };
        live.resume(&next);
        live.until(1_000 + 4_000_000_000);
        let at = live.snapshot();
        assert_eq!(at.elapsed_ns, 2_000_000_000);
        assert!((at.cpus[0].noise - 0.005).abs() < 1e-9, "{}", at.cpus[0].noise);
    }

    /// It executes for 2 s, waits for 6 s, and executes for another 1 s.
    #[test]
    fn what_a_program_waits_for_is_lost_while_it_waits_and_afterwards() {
        const S: u64 = 1_000_000_000;
        let program = Some(anechoic_recording::run::Program::default());
        let run = builders::run("program", builders::clock(S), vec![]);
        let mut live = Live::new(Run { program, ..run });
        for quarter in 1..=36 {
            let now = quarter * S / 4;
            if quarter == 32 {
                live.add(&Detour { cpu: 1, start_ticks: 2 * S, end_ticks: 8 * S }, &[]);
            }
            live.until(now);
            live.waiting((8..32).contains(&quarter).then_some((1, 2 * S)));
            live.executed(1, now.min(2 * S) + now.saturating_sub(8 * S));
            let shown = live.snapshot();
            let [cpu] = &shown.cpus[..] else { panic!("one CPU") };
            assert!((cpu.noise - shown.noise).abs() < 1e-9, "the only CPU is all");
            let (lost, lost_now, detours) = match quarter {
                8 => (0.0, 0.0, 0),
                24 => (4.0 / 6.0, 1.0, 0), // the wait goes on
                36 => (6.0 / 9.0, 0.0, 1),
                _ => continue,
            };
            assert!((shown.noise - lost).abs() < 1e-6, "{quarter}: {}", shown.noise);
            assert!((shown.noise_now - lost_now).abs() < 1e-6, "{quarter}: {}", shown.noise_now);
            assert_eq!(cpu.detours, detours, "{quarter}");
        }
        let history = &live.snapshot().cpus[0].history;
        assert_eq!(history.len(), 9);
        assert!(history[3..8].iter().all(|share| *share > 0.99), "the wait: {history:?}");
    }
}
