//! How much may grow, against closed forms.

use anechoic_predict::phases::{Noise, culprits};
use anechoic_recording::options::Answers;
use anechoic_simulate::{Ask, Grown, OPTIONS, Simulation, run};
use std::path::PathBuf;

fn simulated(given: &[(&str, &str)], noise: &[PathBuf]) -> Simulation {
    let answers = Answers::read(OPTIONS, given).expect("options");
    let ask = Ask::read(&answers).expect("a request");
    run(&ask, noise, &|_, _| true).expect("simulated")
}

/// Checks that this factor is found: from below, within 4.4 % of what is added, and up to `off` of it.
fn check(found: &Simulation, what: &Grown, factor: f64, off: f64) {
    let tolerance = found.tolerance.as_ref().expect("asked for");
    let growth = tolerance.growth.iter().find(|growth| growth.what == *what).expect("it grows");
    let most = 1.0 + (growth.tolerated - 1.0) * 1.045;
    let range = growth.tolerated - off * factor..most + off * factor;
    assert!(range.contains(&factor), "{factor} {growth:?}");
}

/// A barrier of 8 ranks has three latencies of 28 µs after the computation.
#[test]
fn latency_of_a_barrier() {
    let given = [("pattern", "barrier"), ("ranks", "8"), ("iterations", "1"), ("network", "aws")];
    for (share, percent) in [(0.001, "0.1%"), (0.01, "1%"), (0.5, "50%")] {
        let found = simulated(&[&given[..], &[("tolerate", percent)]].concat(), &[]);
        assert!((found.quiet_ns - 1_084_000.0).abs() < 10.0, "{}", found.quiet_ns);
        let factor = 1.0 + share * found.quiet_ns / 84_000.0;
        check(&found, &Grown::Parameter { parameter: "L" }, factor, 1e-5);
    }
}

/// A single delay on top of recorded noise is noise as well: with next to none recorded, it grows as without a recording.
#[test]
fn a_delay_on_recorded_noise() {
    let mut file = tempfile::NamedTempFile::with_suffix(".txt").expect("a file");
    std::io::Write::write_all(&mut file, b"500000000 1\n").expect("written");
    let given = [
        ("pattern", "chain"),
        ("ranks", "16"),
        ("law", "once"),
        ("on-rank", "8"),
        ("delay", "10ms"),
        ("length", "1s"),
        ("tolerate", "1%"),
    ];
    for noise in [vec![], vec![file.path().to_owned()]] {
        let found = simulated(&given, &noise);
        let end_ns = found.quiet_ns * found.slowdown.as_ref().expect("noise").median;
        check(&found, &Grown::Noise, 1.0 + 0.01 * end_ns / 1e7, 1e-3);
    }
}

/// What is never sent may be as slow as it likes: no byte follows the first.
#[test]
fn bytes_that_are_not_sent() {
    let given = [("pattern", "barrier"), ("ranks", "8"), ("tolerate", "1%")];
    let found = simulated(&given, &[]);
    let growth = &found.tolerance.expect("asked for").growth;
    let bytes = growth.iter().find(|one| one.what == Grown::Parameter { parameter: "G" });
    let bytes = bytes.expect("it grows");
    assert_eq!((bytes.tolerated, bytes.interval), (1_025.0, None));
}

/// One rank computes for 1,000 s: it takes 1 / (1 − s) times as long under noise of share s.
#[test]
fn periodic_noise_of_one_rank() {
    for (delay, share) in [("10us", 0.01), ("100us", 0.1), ("500us", 0.5)] {
        let given = [
            ("pattern", "barrier"),
            ("ranks", "1"),
            ("iterations", "1"),
            ("grain", "1000s"),
            ("law", "periodic"),
            ("delay", delay),
            ("tolerate", "1%"),
        ];
        let factor = (1.0 - (1.0 - share) / 1.01) / share;
        check(&simulated(&given, &[]), &Grown::Noise, factor, 1e-3);
    }
}

/// One rank computes for many times as long as was recorded: its time is inversely proportional to the free time of the
/// recording, which each source takes its part of.
#[test]
fn sources_of_a_recording() {
    let place = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/examples/before"));
    let noise = Noise::read(std::slice::from_ref(&place), None).expect("a recording");
    let (names, facts) = culprits(&noise);
    let given = [
        ("pattern", "barrier"),
        ("ranks", "1"),
        ("iterations", "1"),
        ("grain", "1000s"),
        ("replicas", "1"),
        ("tolerate", "0.1%"),
    ];
    let found = simulated(&given, &[place]);
    // The first rank has the first recorded CPU.
    let (_, timeline) = &noise.hosts[0].cpus()[0];
    let free_ns = timeline.free_ns() as f64;
    let factor = |taken_ns: u64| 1.0 + free_ns * (1.0 - 1.0 / 1.001) / taken_ns as f64;
    check(&found, &Grown::Noise, factor(timeline.lost_ns()), 0.02);
    let mut checked = 0;
    for (name, facts) in names.iter().zip(facts) {
        let without = timeline.without(name).expect("readable");
        let taken_ns = timeline.lost_ns() - without.lost_ns();
        let what = Grown::Source { source: facts.source, name: facts.name };
        let growth = &found.tolerance.as_ref().expect("asked for").growth;
        if taken_ns > 0 && factor(taken_ns) < 500.0 && growth.iter().any(|one| one.what == what) {
            check(&found, &what, factor(taken_ns), 0.02);
            checked += 1;
        }
    }
    assert!(checked >= 2, "{checked}");
}
