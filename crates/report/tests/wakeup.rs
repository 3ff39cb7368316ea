//! The screen of wake-up latency: beside the one that was looked at and found good.

use crate::made;
use anechoic_analyze::Wakeup;
use anechoic_analyze::samples::figures::Point;
use anechoic_analyze::stats::Estimate;
use anechoic_analyze::stats::Interval;
use anechoic_analyze::wakeup::{
    Band, Causes, IdleLatency, Latencies, MeanParts, Parts, WakeSource, Worst,
};
use anechoic_recording::wakeup::{Waker, WakingCall};
use anechoic_report::{View, schemas};

fn latencies(interval_us: u64, shallow: bool, cpu: Option<u32>, samples: u64) -> Latencies {
    let us = |us: f64| Some(us * 1e3).filter(|_| samples > 0);
    let base = if shallow { 17.1 } else { 36.4 };
    let late = samples / 1_000;
    Latencies {
        interval_ns: interval_us * 1_000,
        shallow,
        call: None,
        cpu,
        waker_cpu: None,
        samples,
        lost: 0,
        overruns: late / 3,
        min_ns: us(base - 4.0),
        p50_ns: us(base),
        p99_ns: us(base * 2.0).filter(|_| samples >= 1_000),
        p999_ns: us(base * 3.0).filter(|_| samples >= 10_000),
        max_ns: us(base * 40.0 + f64::from(cpu.unwrap_or(9))),
        late,
        late_share: (samples > 0).then_some(Interval {
            low: if late > 0 { 0.000_8 } else { 0.0 },
            high: if late > 0 { 0.001_3 } else { 0.004 },
        }),
        late_dispersion: 1.5,
        p50_of_blocks_ns: us(base).into_iter().collect(),
        events_ns: (samples > 0).then_some(Estimate {
            value: 1_620.0,
            interval: Some(Interval { low: 1_210.0, high: 2_030.0 }),
        }),
        pass_ns: us(84.2),
        pass_again_ns: us(31.5),
        survival: vec![
            Point { value: base * 1e3, share: 1.0 },
            Point { value: base * 3e3, share: 0.001 },
        ],
    }
}

/// Parts whose latency is 30 times this, in µs.
fn parts(us: f64) -> Parts {
    Parts {
        timer_ns: us * 7e3,
        interrupt_ns: us * 1e3,
        call_ns: 0.0,
        scheduling_ns: us * 20e3,
        return_ns: us * 2e3,
    }
}

fn idle_state(state: Option<&str>, promised_ns: Option<f64>, wakeups: u64, ns: f64) -> IdleLatency {
    IdleLatency {
        state: state.map(str::to_owned),
        promised_ns,
        wakeups,
        timer_p50_ns: ns,
        timer_max_ns: ns * 3.0,
        p50_ns: ns + 15_000.0,
    }
}

fn causes() -> Causes {
    let sources = [
        ("thread", "stress-1", 61.2),
        ("late-timer", "after idle", 20.1),
        ("wake-up", "", 9.0),
        ("timer-tick", "", 5.2),
        ("timer", "hrtimer_wakeup", 3.3),
        ("softirq", "RCU", 1.2),
    ];
    let source = |(source, name, percent): (&str, &str, f64)| WakeSource {
        source: source.into(),
        name: name.into(),
        wakeups: (percent * 100.0) as u64,
        share: percent / 200.0,
        share_above_p99: Some(percent / 120.0),
        share_late: Some(percent / 100.0),
    };
    Causes {
        explained: 19_990,
        not_attributable: 10,
        unknown_share_late: 0.25,
        mean: Some(parts(1.2)),
        mean_above_p99: Some(parts(3.1)),
        mean_late: Some(parts(12.3)),
        stages: vec![],
        bands: vec![Band { above: 0.0, wakeups: 9, mean: parts(1.0) }],
        idle: vec![
            idle_state(Some("C1"), Some(2_000.0), 3_000, 3_400.0),
            idle_state(Some("C6"), Some(133_000.0), 500, 92_000.0),
            idle_state(None, None, 12, 95_000.0),
        ],
        by_call: vec![],
        sources: sources.map(source).to_vec(),
    }
}

fn usual(rows: Vec<Latencies>) -> Wakeup {
    let worst = |(number, us): (u64, f64)| Worst {
        cpu: 1,
        at_ns: 1_234_567_890 * number,
        interval_ns: 1_000_000,
        shallow: false,
        waker: None,
        latency_ns: us * 1e3,
        overruns: 2 / number,
        parts: Some(parts(us / 30.0)),
        source: Some("thread".into()),
        name: Some(format!("stress-{number}")),
        chain: vec![],
    };
    let listed = if rows.iter().any(|row| row.samples > 0) { 5 } else { 0 };
    Wakeup {
        run: anechoic_analyze::facts::Facts { method: "wakeup".into(), ..made::facts() },
        tick_ns: 0.385,
        policy: "fifo 80".into(),
        slack_ns: 0,
        late_ns: 100_000,
        working_set_bytes: None,
        rows,
        worst: (1..=listed).map(|number| worst((number, 2_345.6 / number as f64))).collect(),
        causes: (listed > 0).then(causes),
        stopped: None,
    }
}

/// Looks at a screen: as it was, never over 80 columns and 40 lines, and as the schema says.
fn golden(name: &str, found: &Wakeup) {
    let view = View::default();
    let text = anechoic_report::wakeup(found, &view).to_text(&view);
    let widest = text.lines().map(|line| line.chars().count()).max();
    assert!(widest <= Some(80), "{name} has a line of {widest:?} columns:\n{text}");
    assert!(text.lines().count() <= 40, "{name} has {} lines", text.lines().count());
    insta::assert_snapshot!(name, text);
    let (_, schema) =
        schemas().into_iter().find(|(name, _)| *name == "wakeup.schema.json").expect("listed");
    let schema = serde_json::from_str(&schema).expect("a schema is JSON");
    let mut json = vec![];
    anechoic_report::json(found, &mut json).expect("a vector takes all");
    let printed = serde_json::from_slice(&json).expect("JSON reads back");
    assert!(jsonschema::is_valid(&schema, &printed), "{name}");
}

#[test]
fn one_interval_on_two_cpus() {
    let rows = [Some(0), Some(1), None].map(|cpu| latencies(1_000, false, cpu, 20_000));
    golden("wakeup", &usual(rows.to_vec()));
}

#[test]
fn intervals_and_kinds_of_idle_on_many_cpus() {
    let mut rows = vec![];
    for interval_us in [100, 1_000] {
        for shallow in [false, true] {
            let cpus = (0..16).map(Some).chain([None]);
            rows.extend(cpus.map(|cpu| latencies(interval_us, shallow, cpu, 2_500)));
        }
    }
    golden("wakeup_many", &usual(rows));
}

#[test]
fn few_wake_ups_under_the_ordinary_policy_and_none() {
    let row = Latencies { overruns: 0, events_ns: None, ..latencies(1_000, false, Some(3), 700) };
    let few = usual(vec![row]);
    golden("wakeup_few", &Wakeup { policy: "other".into(), slack_ns: 50_000, causes: None, ..few });
    golden("wakeup_nothing", &usual(vec![latencies(1_000, false, Some(3), 0)]));
    golden("wakeup_cut_off", &usual(vec![]));
}

#[test]
fn timers_and_calls_from_another_cpu() {
    let called = |call: Option<WakingCall>| Latencies {
        call,
        waker_cpu: call.map(|_| 0),
        ..latencies(1_000, false, Some(1), 2_000)
    };
    let calls = [None, Some(WakingCall::Futex), Some(WakingCall::Pipe)];
    let mut found = usual(calls.map(called).to_vec());
    found.working_set_bytes = Some(1 << 20);
    found.worst[0].waker = Some(Waker { call: WakingCall::Futex, cpu: 0 });
    let by_call = Parts { timer_ns: 0.0, interrupt_ns: 0.0, call_ns: 1_400.0, ..parts(1.2) };
    let mean = |call: Option<WakingCall>| MeanParts {
        call,
        mean: if call.is_some() { by_call } else { parts(1.2) },
    };
    let causes = found.causes.as_mut().expect("some");
    causes.by_call = calls.map(mean).to_vec();
    golden("wakeup_calls", &found);
}
