//! What injecting timers did on one busy CPU, from the kernel's own events.

use anechoic_lab::note;
use anechoic_measure::inject::{InjectError, Injection, Injector, Timing};
use anechoic_recording::injection::{InjectionKind, Spell};
use anechoic_recording::{Clock, EventKind, NameKind};
use anechoic_system::tracefs::{Collector, Config, TraceError, Tracefs};
use anechoic_system::{clock, cpus};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

/// Returns noise on one CPU.
pub fn injection(kind: InjectionKind, timing: Timing, duration_us: u64, cpu: u32) -> Injection {
    Injection { kind, timing, duration: Duration::from_micros(duration_us), cpus: vec![cpu] }
}

/// Returns this rate as even distances.
pub fn periodic(hz: u64) -> Timing {
    Timing::Periodic { period: Duration::from_nanos(1_000_000_000 / hz) }
}

/// Returns this mean rate as random distances.
pub fn poisson(hz: u64) -> Timing {
    Timing::Poisson { period: Duration::from_nanos(1_000_000_000 / hz), seed: 7 }
}

/// One spell of noise: the duration of each expiration in ns, and its time in ticks.
pub struct Came {
    pub spell: Spell,
    pub own_ns: Vec<u64>,
    pub at_ticks: Vec<u64>,
}

/// A CPU to disturb, its clock, and a collector of the events on it.
pub struct Stage {
    pub cpu: u32,
    pub clock: Clock,
}

/// Stops the spinning thread even if the test fails.
struct StopOnDrop<'a>(&'a AtomicBool);

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl Stage {
    /// Returns the last of several CPUs; prints the reason and returns `None` if noise would not be visible.
    pub fn find() -> Option<Stage> {
        let all = cpus::allowed();
        let (Some(&cpu), true) = (all.last(), all.len() > 1) else {
            note::skipped("one CPU only");
            return None;
        };
        match Tracefs::open() {
            Ok(_) => {}
            Err(error @ TraceError::Unusable(_)) => {
                note::skipped(error);
                return None;
            }
            Err(error) => panic!("{error}"),
        }
        let clock = clock::calibrate(&[cpu], true).expect("a counter");
        Some(Stage { cpu, clock })
    }

    /// Returns the timers with that function that expired while `body` ran, and the result of `body`. A
    /// thread keeps the CPU from being idle, because some kernels take no samples of perf events and run no
    /// programs on idle CPUs.
    pub fn expirations<T>(&self, function: &str, body: impl FnOnce() -> T) -> (Timers, T) {
        let tracefs = Tracefs::open().expect("tracefs");
        let mut collector =
            Collector::prepare(tracefs, Config::default(), &[self.cpu]).expect("a collector");
        collector.on(anechoic_kernels::counter::now()).expect("tracing");
        let (runs, stop) = (AtomicBool::new(false), AtomicBool::new(false));
        let returned = thread::scope(|scope| {
            scope.spawn(|| {
                cpus::pin(&[self.cpu]).expect("an allowed CPU");
                runs.store(true, Ordering::Relaxed);
                while !stop.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
            let _stop = StopOnDrop(&stop);
            while !runs.load(Ordering::Relaxed) {
                thread::yield_now();
            }
            body()
        });
        collector.off().expect("tracing");
        (self.timers(&mut collector, function), returned)
    }

    /// Prepares noise. Prints the reason and returns `None` if it is not permitted or this kernel is too old. A
    /// program that the verifier rejects is not a reason: then the program is wrong.
    pub fn prepare(&self, asked: &Injection) -> Option<Injector> {
        match Injector::prepare(asked, &self.clock) {
            Ok(injector) => Some(injector),
            Err(reason @ (InjectError::NotPermitted(_) | InjectError::NotOffered(_))) => {
                note::skipped(reason);
                None
            }
            Err(error) => panic!("{error}"),
        }
    }

    /// Makes one spell of noise with a timer of that function.
    pub fn noise(&self, function: &str, injector: &mut Injector, time: Duration) -> Came {
        let (timers, spell) = self.expirations(function, || {
            injector.start().expect("noise");
            thread::sleep(time);
            injector.stop();
            *injector.injected().spells.last().expect("a spell")
        });
        let Expirations { own_ns, at_ticks } = timers.nearest(spell.delivered.expect("a count")).1;
        Came { spell, own_ns, at_ticks }
    }

    /// Checks that timers with that function expire while `injector` is on, and are gone once it is dropped.
    pub fn gone_with(&self, function: &str, mut injector: Injector) {
        let wait = || thread::sleep(Duration::from_millis(200));
        injector.start().expect("noise");
        let (during, ()) = self.expirations(function, wait);
        drop(injector);
        let (after, ()) = self.expirations(function, wait);
        let (timer, expirations) = during.nearest(800);
        assert!(expirations.at_ticks.len() > 400);
        assert!(!after.0.contains_key(&timer), "{} more", after.0[&timer].at_ticks.len());
    }

    fn timers(&self, collector: &mut Collector, function: &str) -> Timers {
        let batches = collector.drain().expect("events");
        assert!(batches.iter().all(|batch| batch.losses.is_empty()), "events were lost");
        let names = collector.late_names();
        assert_eq!(names.symbols_missing, None);
        let functions: Vec<u64> = names
            .names
            .iter()
            .filter(|name| name.kind == NameKind::Symbol && name.name == function)
            .map(|name| name.key)
            .collect();
        let mut entered = None;
        let mut timers = Timers::default();
        for event in batches.iter().flat_map(|batch| &batch.events) {
            match event.kind {
                _ if event.cpu != self.cpu => {}
                EventKind::HrtimerEntry if functions.contains(&event.args[1]) => {
                    entered = Some((event.args[0], event.ticks));
                }
                // Another timer may expire in between if interrupts are enabled.
                EventKind::HrtimerExit => {
                    let ended = entered.take_if(|(timer, _)| *timer == event.args[0]);
                    let Some((timer, entry)) = ended else { continue };
                    let length_ns = self.clock.ns(event.ticks - entry);
                    let expirations = timers.0.entry(timer).or_default();
                    expirations.own_ns.push(length_ns);
                    expirations.at_ticks.push(entry);
                }
                _ => {}
            }
        }
        timers
    }
}

/// Expirations of one timer: the duration of each in the kernel, and its start.
#[derive(Debug, Default, Clone)]
pub struct Expirations {
    pub own_ns: Vec<u64>,
    pub at_ticks: Vec<u64>,
}

/// Groups them by the address of the timer.
#[derive(Debug, Default)]
pub struct Timers(pub BTreeMap<u64, Expirations>);

impl Timers {
    /// Returns the timer whose number of expirations is closest to `count`, with its expirations, because
    /// other programs on this machine may also use such timers.
    pub fn nearest(&self, count: u64) -> (u64, Expirations) {
        let off = |expirations: &Expirations| count.abs_diff(expirations.at_ticks.len() as u64);
        let nearest = self.0.iter().min_by_key(|(_, expirations)| off(expirations));
        nearest.map(|(&timer, expirations)| (timer, expirations.clone())).unwrap_or_default()
    }
}

/// Returns the median of `values`.
pub fn median(mut values: Vec<u64>) -> u64 {
    values.sort_unstable();
    values[values.len() / 2]
}
