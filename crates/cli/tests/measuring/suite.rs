//! Tests that a suite is measured by one process at a time, resumed, and shown with what lacks.

use crate::tool::{self, anechoic, arg};
use anechoic_system::cpus;
use std::fs;

#[test]
fn a_suite_is_resumed_and_what_lacks_or_does_not_belong_is_named() {
    let _alone = tool::alone();
    let place = tempfile::tempdir().expect("a directory");
    let dir = place.path().join("loops");
    let cpu = cpus::allowed().last().copied().unwrap_or_default().to_string();
    let suite = |more: &[&str]| -> Vec<String> {
        let own = ["suite", "loops", "--samples", "100", "--cpus", &cpu, "-q", "-o", arg(&dir)];
        own.iter().chain(more).map(|word| (*word).to_owned()).collect()
    };
    let run = |words: &[String]| anechoic(&words.iter().map(String::as_str).collect::<Vec<_>>());

    let first = suite(&[]);
    let first = tool::start(&first.iter().map(String::as_str).collect::<Vec<_>>());
    tool::until_running(&dir.join("1ms"));
    let second = run(&suite(&["--resume"]));
    assert_eq!(second.code, Some(64), "{}", second.err);
    assert!(second.err.contains("another suite is being measured into"), "{}", second.err);
    tool::signal(&first, "INT");
    tool::wait(first);

    let resumed = run(&suite(&["--resume"]));
    assert!(matches!(resumed.code, Some(0 | 1)), "{:?}: {}", resumed.code, resumed.err);
    let show = || anechoic(&["suite", "loops", "--show", arg(&dir)]);
    let shown = show();
    assert!(matches!(shown.code, Some(0 | 1)) && !shown.err.contains("missing"), "{}", shown.err);

    let whole: Vec<_> = ["1ms", "tick-by-2", "tick-by-3"].map(|set| dir.join(set)).into();
    assert!(whole.iter().all(|set| set.is_dir()), "{whole:?}");
    fs::rename(&whole[2], place.path().join("away")).expect("it can be moved");
    let shown = show();
    let missing = "1 of 3 sets is missing: tick-by-3; measure with the same options";
    assert!(shown.code == Some(1) && shown.err.contains(missing), "{:?} {}", shown.code, shown.err);

    fs::rename(place.path().join("away"), dir.join("another")).expect("it can be moved");
    let shown = show();
    assert!(
        shown.code == Some(65) && shown.err.contains("this suite has no such set"),
        "{}",
        shown.err
    );

    fs::remove_dir_all(dir.join("another")).expect("it can be removed");
    let other = ["measure", "loops", "-q", "--samples", "50", "--cpus", &cpu, "-o"];
    let other = anechoic(&[&other[..], &[arg(&dir.join("tick-by-3"))]].concat());
    assert!(matches!(other.code, Some(0 | 1)), "{}", other.err);
    let shown = show();
    assert!(shown.code == Some(65) && shown.err.contains("with other options"), "{}", shown.err);
    assert!(!shown.out.is_empty(), "the other sets are shown");
}
