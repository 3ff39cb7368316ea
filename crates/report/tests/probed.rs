//! The screen of the probes of the pace.

use crate::made;
use anechoic_analyze::Probed;
use anechoic_analyze::probed::{ProbeTimes, ProbedCpu, Short, Shortage};
use anechoic_analyze::stats::Interval;
use anechoic_recording::run::Ended;
use anechoic_report::{View, probed};

fn cpu(cpu: u32, short: Vec<Short>) -> ProbedCpu {
    let probes = [
        ("chain", 0.231, 0.012, 0.038),
        ("additions", 0.043, 0.014, 0.041),
        ("code", 0.455, 0.021, 0.06),
        ("first level", 0.92, 0.011, 0.036),
        ("second level", 3.24, 0.012, 0.04),
        ("last level", 24.6, 0.91, 3.1),
        ("memory", 188.0, 0.27, 0.72),
        ("stream", 1.76, 0.21, 1.43),
    ];
    let times = |&(name, calm_ns, slower, p99_slower): &(&str, f64, f64, f64)| ProbeTimes {
        name: name.into(),
        calm_ns,
        slower,
        p99_slower,
    };
    let probes = probes.iter().map(times).collect();
    let (ended, samples, lost) = (Ended::Complete, 125_000, 0);
    ProbedCpu {
        cpu,
        ended,
        samples,
        lost,
        windows: 600,
        windows_seen: 601,
        turn_ns: 3.83e6,
        probes,
        short,
    }
}

fn short(what: Shortage, probe: &str, share: f64, slower: f64) -> Short {
    let low_and_high = Interval { low: 0.5 * share, high: 1.8 * share };
    Short {
        what,
        share,
        interval: (share > 0.1).then_some(low_and_high),
        probe: probe.into(),
        slower,
        on_all: Some(if what == Shortage::Clock { 0.8 } else { 0.1 }),
        by_time: (0..60)
            .map(|step| {
                (step < 55).then(|| if step % 7 < 2 { share * f64::from(step % 4) } else { 0.0 })
            })
            .collect(),
    }
}

fn found(cpus: Vec<ProbedCpu>) -> Probed {
    let run = anechoic_analyze::facts::Facts { method: "pace".into(), ..made::facts() };
    Probed { run, cpus, window_s: 0.1, step_s: 1.0, wrong: 0, strays: 0 }
}

fn screen(found: &Probed) -> String {
    let view = View::default();
    let text = probed(found, &view).to_text(&view);
    let widest = text.lines().map(|line| line.chars().count()).max();
    assert!(widest <= Some(80), "a line of {widest:?} columns:\n{text}");
    text
}

#[test]
fn what_was_short_comes_first() {
    let several = vec![
        short(Shortage::Bandwidth, "stream", 0.329, 1.223),
        short(Shortage::Cache, "last level", 0.19, 2.99),
        short(Shortage::Unclear, "memory", 0.01, 0.6),
    ];
    let clock = vec![
        short(Shortage::Clock, "chain", 0.4, 0.12),
        short(Shortage::Core, "second level", 0.02, 0.4),
    ];
    let some = found(vec![cpu(0, several), cpu(1, clock)]);
    insta::assert_snapshot!(screen(&some));
}

#[test]
fn where_nothing_was_short_that_is_said() {
    insta::assert_snapshot!(screen(&found(vec![cpu(0, vec![]), cpu(1, vec![])])));
    let rarely = vec![short(Shortage::Clock, "chain", 0.005, 0.07)];
    insta::assert_snapshot!(screen(&found(vec![cpu(0, rarely)])));
    let none = ProbedCpu {
        ended: Ended::Offline,
        lost: 500,
        windows: 0,
        turn_ns: 4e7,
        probes: vec![],
        ..cpu(3, vec![])
    };
    let unknown = Probed { wrong: 2, strays: 7, ..found(vec![none]) };
    insta::assert_snapshot!(screen(&unknown));
}
