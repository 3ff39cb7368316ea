//! Noise in interrupts, from the kernel's own events: how exact a spin is, how long loading takes, what
//! counting adds to an interrupt.

#[allow(dead_code, reason = "the tests and the bench use different parts")]
#[path = "../tests/measuring/expired/mod.rs"]
mod expired;

use anechoic_measure::inject::{Injection, Injector, Timing};
use anechoic_recording::injection::InjectionKind;
use anechoic_system::perf::TimerInterrupts;
use expired::{Stage, median};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// The function of the timers of perf events.
const PERF: &str = "perf_swevent_hrtimer";

const SPELL: Duration = Duration::from_millis(500);
const PAIRS: usize = 9;
const NULL_PERIOD: Duration = Duration::from_micros(500);

fn injection(
    stage: &Stage,
    kind: InjectionKind,
    period: Duration,
    duration: Duration,
) -> Injection {
    Injection { kind, timing: Timing::Periodic { period }, duration, cpus: vec![stage.cpu] }
}

/// Returns the own times of one spell's expirations, in ns.
fn noise(stage: &Stage, injector: &mut Injector) -> Vec<u64> {
    let (timers, ()) = stage.expirations(PERF, || {
        injector.start().expect("noise");
        sleep(SPELL);
        injector.stop();
    });
    timers.nearest(injector.injected().spells[0].delivered.expect("BPF is needed")).1.own_ns
}

fn spins(stage: &Stage, null_ns: u64) {
    println!("asked µs   quartiles of own time − null − asked, ns   number   loading, ms");
    for us in [5, 20, 50, 100, 200, 500, 1000] {
        let duration = Duration::from_micros(us);
        let period = (10 * duration).max(NULL_PERIOD);
        let asked = injection(stage, InjectionKind::Kernel, period, duration);
        let start = Instant::now();
        let mut injector = Injector::prepare(&asked, &stage.clock).expect("an injector");
        let loading = start.elapsed();
        let mut own_ns = noise(stage, &mut injector);
        own_ns.sort_unstable();
        let at = |share: f64| own_ns[(own_ns.len() as f64 * share) as usize] as i64;
        let error = |share| at(share) - null_ns as i64 - 1_000 * us as i64;
        println!(
            "{us:8}   {:6} {:6} {:6}   {}   {:.1}",
            error(0.25),
            error(0.5),
            error(0.75),
            own_ns.len(),
            1e3 * loading.as_secs_f64()
        );
    }
}

/// Returns the median own times in ns of empty interrupts, and of those that are counted.
fn counting(stage: &Stage) -> (u64, u64) {
    let bare = || {
        let (timers, ()) = stage.expirations(PERF, || {
            let _timer = TimerInterrupts::start(stage.cpu, NULL_PERIOD.as_nanos() as u64);
            sleep(SPELL);
        });
        median(timers.nearest((SPELL.as_nanos() / NULL_PERIOD.as_nanos()) as u64).1.own_ns)
    };
    let counted = || {
        let asked = injection(stage, InjectionKind::Interrupt, NULL_PERIOD, Duration::ZERO);
        let mut injector = Injector::prepare(&asked, &stage.clock).expect("an injector");
        median(noise(stage, &mut injector))
    };
    let pairs: Vec<(u64, u64)> = (0..PAIRS).map(|_| (bare(), counted())).collect();
    println!("own time of null interrupts (bare, counted), ns: {pairs:?}");
    let (bare, counted): (Vec<u64>, Vec<u64>) = pairs.into_iter().unzip();
    (median(bare), median(counted))
}

fn main() {
    let Some(stage) = Stage::find() else { return };
    let (bare, counted) = counting(&stage);
    println!("counting costs {} ns an interrupt", counted as i64 - bare as i64);
    spins(&stage, bare);
}
