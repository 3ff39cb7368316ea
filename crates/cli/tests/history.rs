//! Earlier runs of a host, and what they show about one run a side.

use crate::tool::{Done, anechoic, arg, command};
use anechoic_lab::two_cpus::{self, SECOND};
use serde_json::Value;
use std::path::Path;

/// Writes a run of CPU 1 that began on this day with this noise, in percent.
fn write(dir: &Path, day: usize, percent: f64, seconds: u64) {
    write_in(dir, (5, day + 1), percent, seconds);
}

/// Writes such a run that began on this day of a month.
fn write_in(dir: &Path, (month, day): (u32, usize), percent: f64, seconds: u64) {
    let mut run = two_cpus::run(seconds * SECOND);
    run.start_utc = format!("2026-{month:02}-{day:02}T03:00:00.000000Z");
    run.machine.host = "made-up".into();
    let ticks = (0..100 * seconds).map(|tick| (0.005 + tick as f64 / 100.0, percent / 1e4));
    let _ = two_cpus::record(dir, &run, &[("timer-tick", ticks.collect())]);
}

/// A directory with `count` earlier runs, whose noise varies by some percent, and some other ones.
fn nightly(count: usize) -> tempfile::TempDir {
    let dir = tempfile::tempdir().expect("a directory");
    for day in 0..count {
        let percent = 1.0 + 0.05 * ((day * 7) % 10) as f64;
        write(&dir.path().join(format!("nightly/{day:02}")), day, percent, 2);
    }
    write(&dir.path().join("nightly/long"), 0, 9.0, 10);
    write(&dir.path().join("before"), 27, 1.2, 2);
    write(&dir.path().join("alike"), 28, 1.3, 2);
    write(&dir.path().join("worse"), 28, 3.0, 2);
    dir
}

fn json(done: &Done) -> Value {
    serde_json::from_str(&done.out).unwrap_or_else(|e| panic!("{e}: {} {}", done.out, done.err))
}

#[test]
fn a_history_has_the_runs_that_were_measured_like_the_newest() {
    let dir = nightly(26);
    let place = dir.path().join("nightly");
    let done = anechoic(&["history", arg(&place), "--json"]);
    let found = json(&done);
    assert_eq!(done.code, Some(0), "{}", done.err);
    assert_eq!(found["runs"].as_array().map(Vec::len), Some(26));
    assert_eq!((&found["others"], &found["not_whole"]), (&1.into(), &0.into()));
    let deviation = found["between_runs"].as_f64().expect("a number");
    assert!((0.05..0.2).contains(&deviation), "{deviation}");
    let low = found["between_runs_interval"]["low"].as_f64().expect("a number");
    assert!(low > 0.0 && low < deviation, "{low} {deviation}");
    let text = anechoic(&["history", arg(&place)]).out;
    for shown in ["26 runs of made-up", "The noise of a run is", "1 run is left out: other hosts"] {
        assert!(text.contains(shown), "{shown}: {text}");
    }
    assert!(text.contains("11 earlier runs are not shown; --all shows all"), "{text}");
    let all = anechoic(&["history", arg(&place), "--all"]).out;
    assert!(all.contains("nightly/00") && !all.contains("not shown"), "{all}");
    let empty = tempfile::tempdir().expect("a directory");
    let none = anechoic(&["history", arg(empty.path())]);
    assert!(none.code == Some(66) && none.is_one_clear_line(), "{}", none.err);
}

#[test]
fn earlier_runs_make_a_verdict_of_one_run_a_side() {
    let dir = nightly(26);
    let at = |name: &str| dir.path().join(name).display().to_string();
    let nightly = at("nightly");
    let compare = |after: &str, more: &[&str]| {
        anechoic(&[&["compare", &at("before"), &at(after), "--json"][..], more].concat())
    };
    let history = ["--history", &nightly];
    let cases: [(&str, &[&str], i32, &[&str]); 4] = [
        ("worse", &[], 3, &["one_run", "one_run_differs"]),
        ("alike", &[], 3, &["one_run", "one_run_differs"]),
        ("worse", &history, 0, &["noisier"]),
        ("alike", &history, 0, &["not_shown"]),
    ];
    for (after, more, code, verdicts) in cases {
        let done = compare(after, more);
        let found = json(&done);
        let verdict = found["verdict"].as_str().expect("a word");
        assert!(verdicts.contains(&verdict), "{after} {more:?}: {found}");
        assert_eq!(done.code, Some(code), "{after} {more:?}: {found}");
        assert_eq!(found["history"]["runs"].as_u64(), (!more.is_empty()).then_some(26), "{after}");
    }
    let text = anechoic(&["compare", &at("before"), &at("worse"), "--history", &nightly]).out;
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("26 earlier runs of this host"), "{text}");
    assert!(!text.contains("more than all earlier ones lie apart"), "{text}");
    let (late, worse) = (dir.path().join("late"), dir.path().join("late-worse"));
    write_in(&late, (6, 29), 1.2, 2);
    write_in(&worse, (6, 30), 3.0, 2);
    let done = anechoic(&["compare", arg(&late), arg(&worse), "--history", &nightly]);
    let text = done.out.split_whitespace().collect::<Vec<_>>().join(" ");
    let far = "lies 34 days from these, which is more than all earlier ones lie apart";
    assert!(done.code == Some(0) && text.contains(far), "{:?} {text}", done.code);
}

#[test]
fn a_copy_of_a_run_is_no_earlier_run() {
    let dir = nightly(26);
    let at = |name: &str| dir.path().join(name).display().to_string();
    let copies = [("before", "saved"), ("worse", "saved-too"), ("nightly/03", "again")];
    for (original, name) in copies {
        let done = command("cp", &["-a", &at(original), &at(&format!("nightly/{name}"))]);
        assert_eq!(done.code, Some(0), "{}", done.err);
    }
    let history = at("nightly");
    let done = anechoic(&["compare", &at("before"), &at("worse"), "--history", &history, "--json"]);
    let found = json(&done);
    assert_eq!(found["history"]["runs"].as_u64(), Some(26), "{found}");
    assert_eq!(found["verdict"], "noisier", "{found}");
}

#[test]
fn earlier_runs_that_show_nothing_make_no_verdict_and_say_why() {
    let few = nightly(12);
    let at = |dir: &tempfile::TempDir, name: &str| dir.path().join(name).display().to_string();
    let enough = nightly(26);
    write(&enough.path().join("late"), 29, 1.2, 2);
    write(&enough.path().join("early"), 0, 1.2, 2);
    write(&enough.path().join("longer"), 28, 3.0, 10);
    let cases = [
        ("few", &few, "before", "worse", "20 earlier runs of this kind are needed"),
        ("another length", &enough, "before", "longer", "the sides differ in CPUs, length"),
        ("far apart", &enough, "early", "late", "farther apart in time"),
    ];
    for (name, dir, before, after, why) in cases {
        let history = at(dir, "nightly");
        let done = anechoic(&["compare", &at(dir, before), &at(dir, after), "--history", &history]);
        let text = done.out.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(done.code == Some(3) && text.contains(why), "case: {name}: {:?} {text}", done.code);
    }
}
