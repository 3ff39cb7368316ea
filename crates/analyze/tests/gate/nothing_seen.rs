//! Where nothing was seen, the noise is limited only beside a rule on lengths.

use super::{SECOND, SECONDS, judge, judged, usual};
use anechoic_analyze::gate::{Outcome, Requirements};
use anechoic_lab::two_cpus;
use anechoic_recording::Recording;

#[test]
fn nothing_seen_limits_no_noise_without_a_longest_detour() {
    let dir = tempfile::tempdir().expect("a directory");
    let run = two_cpus::run(SECONDS * SECOND);
    let silent = two_cpus::record(&dir.path().join("silent"), &run, &[]);
    let usual = usual(&dir.path().join("usual"));
    use Outcome::{Fail, Pass, Undecided};
    // Three unseen detours of 1 ms in 30 s take 0.01 % of the time.
    type Case<'a> = (&'a str, &'a Recording, &'a [&'a str], Outcome, Option<f64>);
    let cases: [Case<'_>; 9] = [
        ("no length", &silent, &["max-noise 90%"], Undecided, None),
        ("no length of threads", &silent, &["max-noise thread=90%"], Undecided, None),
        ("1 ms", &silent, &["max-noise 0.0101%", "max-detour 1ms"], Pass, Some(1e-4)),
        (
            "over the limit",
            &silent,
            &["max-noise 0.0099%", "max-detour 1ms"],
            Undecided,
            Some(1e-4),
        ),
        (
            "the shorter",
            &silent,
            &["max-noise 1%", "max-detour 1ms", "max-detour 1us"],
            Pass,
            Some(1e-7),
        ),
        ("of others", &silent, &["max-noise nmi=90%", "max-detour thread=1ms"], Undecided, None),
        ("of the same", &silent, &["max-noise nmi=1%", "max-detour nmi=1ms"], Pass, Some(1e-4)),
        ("of some", &silent, &["max-noise 90%", "max-detour thread=1ms"], Undecided, None),
        ("another CPU is noisy", &usual, &["max-noise 0.1%"], Fail, None),
    ];
    for (name, recording, rules, expected, at_most) in cases {
        let found = judged(recording, rules, Requirements::default()).rules.remove(0);
        assert_eq!(found.outcome, expected, "case: {name}: {found:?}");
        let close = match (found.findings[0].at_most, at_most) {
            (Some(found), Some(expected)) => (found / expected - 1.0).abs() < 0.01,
            (found, expected) => found == expected,
        };
        assert!(close, "case: {name}: {:?}", found.findings[0]);
    }
    // CPU 1 has seen 300 µs: an unseen source takes up to three times as long.
    let unseen = judge(&usual, "max-noise nmi=1%").findings[1].at_most.expect("a bound");
    assert!((unseen / (3.0 * 900e-6 / 30.0) - 1.0).abs() < 0.01, "{unseen}");
}

#[test]
fn a_pass_states_the_bound_that_holds_for_every_cpu() {
    let dir = tempfile::tempdir().expect("a directory");
    let run = two_cpus::run(SECONDS * SECOND);
    // CPU 1 has one detour of 5 us; CPU 0 none, so that three unseen ones of 10 ms each may take 0.1 %.
    let recording =
        two_cpus::record(&dir.path().join("one"), &run, &[("thread", vec![(3.0, 5e-6)])]);
    let rules = ["max-noise 1%", "max-detour 10ms"];
    let found = judged(&recording, &rules, Requirements::default()).rules.remove(0);
    assert_eq!(found.outcome, Outcome::Pass);
    let stated = found.decisive().and_then(|finding| finding.at_most).expect("a bound");
    for finding in &found.findings {
        assert!(finding.at_most.is_some_and(|most| most <= stated), "{stated}: {finding:?}");
    }
    assert!((stated / 1e-3 - 1.0).abs() < 0.01, "{stated}");
}
