//! Noise really injected by interrupts, compared with the kernel's own events.
//!
//! If perf events, BPF or tracefs are missing, each test prints that and passes.

use super::expired::{Came, Stage, injection, median, periodic, poisson};
use anechoic_lab::turn::alone;
use anechoic_measure::inject::{InjectError, Injector};
use anechoic_recording::injection::{InjectionKind, Spell};
use anechoic_system::cpus;
use rustix::thread::{CapabilitySet, CapabilitySets, set_capabilities};
use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// The function of the timers of perf events.
const PERF: &str = "perf_swevent_hrtimer";

const SPELL: Duration = Duration::from_millis(400);

/// The number requested for a spell.
fn asked(stage: &Stage, spell: &Spell, hz: u64) -> u64 {
    stage.clock.ns(spell.end_ticks - spell.start_ticks) * hz / 1_000_000_000
}

#[test]
fn a_spin_lasts_as_long_as_asked_and_each_is_counted() {
    let _alone = alone();
    let Some(stage) = Stage::find() else { return };
    let null = injection(InjectionKind::Interrupt, periodic(1_000), 0, stage.cpu);
    let Some(mut null) = stage.prepare(&null) else { return };
    let null_ns = median(stage.noise(PERF, &mut null, SPELL).own_ns);
    for (duration_us, hz) in [(5, 2_000), (50, 2_000), (500, 300), (1_000, 100)] {
        let kernel = injection(InjectionKind::Kernel, periodic(hz), duration_us, stage.cpu);
        kernel.check(false).expect("modest noise");
        let loading = Instant::now();
        let Some(mut injector) = stage.prepare(&kernel) else { return };
        let loading = loading.elapsed();
        let Came { spell, own_ns, .. } = stage.noise(PERF, &mut injector, SPELL);
        let spun_ns = median(own_ns.clone()).saturating_sub(null_ns);
        eprintln!(
            "{duration_us} us: {spun_ns} ns spun (null {null_ns} ns), loading {loading:.1?}, {spell:?}"
        );
        let spun = own_ns.iter().filter(|&&ns| ns >= 1_000 * duration_us).count() as u64;
        assert_eq!(spell.delivered, Some(spun), "{duration_us} us");
        assert_eq!((spell.cut_short, spell.overruns), (0, None), "{duration_us} us");
        let asked = asked(&stage, &spell, hz);
        let delivered = own_ns.len() as u64;
        assert!(spun > delivered * 9 / 10, "only {spun} of {delivered} spun");
        // The kernel skips what it is late for, and a host that takes this CPU makes it late.
        assert!((asked / 2..=asked + 1).contains(&delivered), "{delivered} of {asked}");
        let tolerance = 1_000 + 50 * duration_us;
        assert!(spun_ns.abs_diff(1_000 * duration_us) <= tolerance, "{duration_us} us: {spun_ns}");
    }
}

#[test]
fn bare_interrupts_are_counted_anew_in_each_spell() {
    let _alone = alone();
    let Some(stage) = Stage::find() else { return };
    let bare = injection(InjectionKind::Interrupt, periodic(1_000), 0, stage.cpu);
    let Some(mut injector) = stage.prepare(&bare) else { return };
    for _ in 0..2 {
        let Came { spell, own_ns, .. } = stage.noise(PERF, &mut injector, SPELL);
        let (counted, delivered) = (spell.delivered.expect("a count"), own_ns.len() as u64);
        // The few interrupts that find the CPU idle take no sample on some kernels.
        assert!((delivered * 9 / 10..=delivered).contains(&counted), "{counted} of {delivered}");
        let asked = asked(&stage, &spell, 1_000);
        assert!((asked / 2..=asked + 1).contains(&delivered), "{delivered} of {asked}");
    }
    assert_eq!(injector.injected().spells.len(), 2);
}

#[test]
fn what_is_dropped_while_on_is_over() {
    let _alone = alone();
    let Some(stage) = Stage::find() else { return };
    for (function, timing) in [(PERF, periodic(4_000)), ("bpf_timer_cb", poisson(4_000))] {
        let kernel = injection(InjectionKind::Kernel, timing, 10, stage.cpu);
        let Some(injector) = stage.prepare(&kernel) else { return };
        stage.gone_with(function, injector);
    }
}

#[test]
fn what_cannot_be_is_refused_with_its_remedy() {
    let Some(&cpu) = cpus::allowed().last() else { return };
    let limit = fs::read_to_string("/proc/sys/kernel/perf_event_max_sample_rate").ok();
    let limit = limit.and_then(|text| text.trim().parse::<u64>().ok()).unwrap_or(100_000);
    let (interrupt, kernel) = (InjectionKind::Interrupt, InjectionKind::Kernel);
    let mut cases = vec![
        ("under the floor", injection(interrupt, periodic(250_000), 0, cpu), "at most 100000 Hz"),
        (
            "too long",
            injection(kernel, periodic(10), 1_001, cpu),
            "at most 1000000 ns, not 1001000 ns",
        ),
        ("too long, what else", injection(kernel, periodic(10), 2_000, cpu), "use --kind thread"),
        (
            "longer than the period",
            injection(kernel, periodic(2_000), 500, cpu),
            "a longer --period",
        ),
    ];
    if limit < 100_000 {
        let over = injection(interrupt, periodic(limit + 1), 0, cpu);
        cases.push(("over the limit", over, "sysctl -w kernel.perf_event_max_sample_rate"));
    }
    for (name, asked, expected) in cases {
        let error = asked.check(true).expect_err(name).to_string();
        assert!(error.contains(expected), "case: {name}: {error}");
    }
}

/// Runs `body` in a thread that keeps at most the capabilities in `kept`.
fn with_rights<T: Send>(kept: CapabilitySet, body: impl FnOnce() -> T + Send) -> T {
    let restricted = || {
        let sets = CapabilitySets {
            effective: kept,
            permitted: kept,
            inheritable: CapabilitySet::empty(),
        };
        set_capabilities(None, sets).expect("giving up rights");
        body()
    };
    thread::scope(|scope| scope.spawn(restricted).join().expect("no panic"))
}

#[test]
fn without_privilege_the_remedy_is_named() {
    let _alone = alone();
    let Some(stage) = Stage::find() else { return };
    let kernel = injection(InjectionKind::Kernel, periodic(1_000), 10, stage.cpu);
    if stage.prepare(&kernel).is_none() {
        return;
    }
    let cases = [
        (CapabilitySet::empty(), "a CPU-wide timer event", "kernel.perf_event_paranoid=0"),
        (CapabilitySet::PERFMON, "a BPF", "--cap-add BPF --cap-add PERFMON"),
    ];
    for (rights, refused, remedy) in cases {
        let prepared = with_rights(rights, || Injector::prepare(&kernel, &stage.clock));
        let Err(error) = prepared else { panic!("{rights:?} is enough") };
        assert!(matches!(error, InjectError::NotPermitted(_)), "{error}");
        let error = error.to_string();
        assert!(error.contains(refused) && error.contains(remedy), "{error}");
    }
}

#[test]
fn bare_interrupts_need_no_bpf() {
    let _alone = alone();
    let Some(stage) = Stage::find() else { return };
    let bare = injection(InjectionKind::Interrupt, periodic(1_000), 0, stage.cpu);
    if stage.prepare(&bare).is_none() {
        return;
    }
    let spell = with_rights(CapabilitySet::PERFMON, || {
        let mut injector = Injector::prepare(&bare, &stage.clock).expect("perf events are allowed");
        injector.start().expect("noise");
        thread::sleep(Duration::from_millis(10));
        injector.stop();
        injector.injected().spells[0]
    });
    assert_eq!(spell.delivered, None);
}

/// Run by the test below in its own process.
#[test]
#[ignore = "a part of the next test: it waits to be killed"]
fn injects_until_killed() {
    let stage = Stage::find().expect("as its parent");
    let kernel = injection(InjectionKind::Kernel, periodic(4_000), 10, stage.cpu);
    let mut injector = Injector::prepare(&kernel, &stage.clock).expect("as its parent");
    injector.start().expect("noise");
    println!("\nready");
    thread::sleep(Duration::from_secs(60));
}

/// A child that is killed if the test fails.
struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn nothing_outlives_a_kill() {
    let _alone = alone();
    let Some(stage) = Stage::find() else { return };
    let kernel = injection(InjectionKind::Kernel, periodic(4_000), 10, stage.cpu);
    if stage.prepare(&kernel).is_none() {
        return;
    }
    let child = Command::new(std::env::current_exe().expect("this test"))
        .args(["--ignored", "--exact", "--nocapture", "measuring::inject::injects_until_killed"])
        .stdout(Stdio::piped())
        .spawn();
    let mut child = Killed(child.expect("this test again"));
    let lines = BufReader::new(child.0.stdout.take().expect("a pipe")).lines();
    assert!(lines.map_while(Result::ok).any(|line| line == "ready"), "the child injects");
    let wait = || thread::sleep(Duration::from_millis(200));
    let (during, ()) = stage.expirations(PERF, wait);
    drop(child);
    let (after, ()) = stage.expirations(PERF, wait);
    let (timer, expirations) = during.nearest(800);
    assert!(expirations.at_ticks.len() > 400);
    assert!(!after.0.contains_key(&timer), "{} more", after.0[&timer].at_ticks.len());
}
