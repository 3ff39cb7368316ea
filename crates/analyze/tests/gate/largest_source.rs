//! A failed rule names the source that took most.

use super::{judge, usual};

#[test]
fn a_failure_names_the_source_that_took_most() {
    let dir = tempfile::tempdir().expect("a directory");
    let recording = usual(&dir.path().join("usual"));
    let largest = |text: &str| {
        let found = judge(&recording, text);
        let largest = found.findings[1].largest_source.clone();
        largest.map(|source| (source.source, (source.share * 1e3).round() / 1e3))
    };
    // 7,500 ticks of 20 µs beside 15 times 300 µs.
    let cases = [
        ("max-noise 0.1%", Some(("timer-tick", 0.971))),
        ("max-rate 10/s", Some(("timer-tick", 0.971))),
        ("max-detour 100us", Some(("thread", 1.0))),
        ("max-rate >100us=0.1/s", Some(("thread", 1.0))),
        ("max-noise thread=0.001%", Some(("thread", 1.0))),
        ("max-noise 60%", None),
        ("max-rate >400us=1/h", None),
    ];
    for (text, expected) in cases {
        let expected = expected.map(|(source, share)| (source.to_owned(), share));
        assert_eq!(largest(text), expected, "case: {text}");
    }
}
