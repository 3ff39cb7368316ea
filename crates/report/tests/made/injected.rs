//! Hand-made results of injected noise.

use super::facts;
use anechoic_analyze::injection::{
    CpuVerification, Detections, DetourTime, Deviation, Missed, OwnCount, OwnTime, Quartiles,
    Recall,
};
use anechoic_analyze::stats::Interval;
use anechoic_analyze::{SelfTestResult, Verification};
use anechoic_recording::injection::{
    Injected, InjectionKind, InjectionTiming, SelfTest, SelfTestKind, Spell,
};
use anechoic_recording::run::NotAvailable;

pub fn quartiles(count: u64, median_ns: f64) -> Quartiles {
    Quartiles { count, q1_ns: median_ns - 41.3, median_ns, q3_ns: median_ns + 212.9 }
}

fn injected(kind: InjectionKind, rate_hz: u64, duration_ns: u64, cpus: &[u32]) -> Injected {
    let spell = |&cpu: &u32| Spell {
        cpu,
        start_ticks: 1,
        end_ticks: 4_000_000_000,
        delivered: Some(340),
        cut_short: 0,
        overruns: None,
    };
    Injected {
        kind,
        timing: InjectionTiming::Periodic,
        period_ns: 1_000_000_000 / rate_hz,
        duration_ns,
        cpus: cpus.to_vec(),
        tids: vec![],
        spells: cpus.iter().map(spell).collect(),
        starts: None,
    }
}

fn cpu(cpu: u32, delivered: u64, own_ns: f64) -> CpuVerification {
    CpuVerification {
        cpu,
        window_ns: 1_500_000_000,
        asked: delivered,
        delivered: Some(delivered),
        delivered_hz: Some(delivered as f64 / 1.5),
        overruns: Some(0),
        cut_short: 0,
        too_short: Some(0),
        own_count: Some(OwnCount { injector: 340, kernel: Some(340) }),
        seen: Some(Detections {
            found: delivered,
            missing: 0,
            missed: vec![],
            not_judged: 0,
            detours: delivered + 972,
            shared: 0,
            extra: 972,
            extra_per_s: 648.0,
            detours_not_judged: 0,
        }),
        recall: Some(Recall { share: 1.0, interval: Interval { low: 0.987_357, high: 1.0 } }),
        own_time: Some(OwnTime {
            all: quartiles(delivered, own_ns),
            bare_median_ns: None,
            error_ns: None,
            within: None,
        }),
        detour_time: Some(DetourTime {
            all: quartiles(delivered - 9, own_ns + 13_400.0),
            bare: None,
            error: None,
        }),
    }
}

/// 200 times a second 50 µs in an interrupt of one CPU, against bare ones.
pub fn kernel() -> Verification {
    let mut cpu = cpu(1, 300, 50_850.0);
    let own = cpu.own_time.as_mut().expect("made so");
    own.bare_median_ns = Some(590.0);
    (own.error_ns, own.within) = (Some(850.0), Some(true));
    let detour = cpu.detour_time.as_mut().expect("made so");
    detour.bare = Some(quartiles(991, 14_060.0));
    let interval = Some(Interval { low: 112.5, high: 268.8 });
    detour.error = Some(Deviation { ns: 190.0, interval });
    Verification {
        run: facts(),
        injected: injected(InjectionKind::Kernel, 200, 50_000, &[1]),
        rate_hz: 200.0,
        cpus: vec![cpu],
        bare_duration_ns: Some(0),
        not_available: vec![],
    }
}

/// 1,000 interrupts a second.
pub fn interrupts() -> Verification {
    let mut cpu = cpu(1, 1_000, 590.0);
    cpu.own_count = None;
    Verification {
        run: facts(),
        injected: injected(InjectionKind::Interrupt, 1_000, 0, &[1]),
        rate_hz: 1_000.0,
        cpus: vec![cpu],
        bare_duration_ns: None,
        not_available: vec![],
    }
}

/// Threads on two CPUs, with all that can go wrong.
pub fn trouble() -> Verification {
    let mut first = cpu(0, 14_000, 258_300.0);
    first.asked = 14_990;
    first.overruns = Some(990);
    first.own_count = Some(OwnCount { injector: 14_021, kernel: Some(14_019) });
    (first.cut_short, first.too_short) = (12, Some(15));
    let seen = first.seen.as_mut().expect("made so");
    (seen.found, seen.missing, seen.shared, seen.not_judged) = (13_988, 9, 41, 3);
    seen.missed = (0..5).map(|n| Missed { at_ns: 212_345_678 + n * 1_000_400 }).collect();
    first.recall =
        Some(Recall { share: 0.999_36, interval: Interval { low: 0.998_8, high: 0.999_7 } });
    let own = first.own_time.as_mut().expect("made so");
    (own.error_ns, own.within) = (Some(58_300.0), Some(false));
    let mut second = cpu(1, 15_000, 203_100.0);
    second.own_time.as_mut().expect("made so").error_ns = Some(3_100.0);
    second.overruns = None;
    second.detour_time = None;
    let lost = NotAvailable {
        what: "all events of CPU 1".into(),
        why: "some were lost or switched off: more may have been delivered and seen than shown"
            .into(),
        remedy: "inject less noise".into(),
    };
    Verification {
        injected: injected(InjectionKind::Thread, 10_000, 200_000, &[0, 1]),
        rate_hz: 10_000.0,
        cpus: vec![first, second],
        not_available: vec![lost],
        ..interrupts()
    }
}

/// Without kernel events.
pub fn untraced() -> Verification {
    let mut cpu = cpu(1, 340, 1.0);
    (cpu.seen, cpu.recall, cpu.own_time, cpu.detour_time) = (None, None, None, None);
    let missing = NotAvailable {
        what: "what the loop of CPU 1 saw of it".into(),
        why: "no kernel events were recorded".into(),
        remedy: "verify as root; `anechoic check` shows what is missing".into(),
    };
    Verification { cpus: vec![cpu], not_available: vec![missing], ..kernel() }
}

pub fn self_test() -> SelfTest {
    let row = |verification: Verification| verification.self_test_kind();
    SelfTest {
        utc: "2026-11-21T12:26:02Z".into(),
        tool_version: "0.1.0".into(),
        model: "AMD EPYC 7B13".into(),
        kernel: "6.18.5 #1 SMP PREEMPT_DYNAMIC".into(),
        cpu: 1,
        threshold_ns: 71.0,
        kinds: [interrupts(), kernel()].into_iter().filter_map(row).collect::<Vec<SelfTestKind>>(),
    }
}

pub fn self_tested() -> SelfTestResult {
    SelfTestResult {
        self_test: Some(self_test()),
        kinds: vec![interrupts(), kernel()],
        not_available: vec![refused("thread")],
        stored: Some("/root/.local/state/anechoic/self-test.json".into()),
        not_stored: None,
    }
}

fn refused(kind: &str) -> NotAvailable {
    NotAvailable {
        what: format!("noise of kind {kind}"),
        why: "not permitted to run a thread under SCHED_FIFO (Operation not permitted)".into(),
        remedy: "run as root, with CAP_SYS_NICE, or raise RLIMIT_RTPRIO".into(),
    }
}

pub fn nothing_tested() -> SelfTestResult {
    SelfTestResult {
        self_test: None,
        kinds: vec![],
        not_available: ["interrupt", "kernel", "thread"].map(refused).to_vec(),
        stored: None,
        not_stored: None,
    }
}
