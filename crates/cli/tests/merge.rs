//! Recordings of several hosts that are merged: what is written, shown, and refused.

use crate::tool::{self, Done, alone, anechoic, arg};
use std::fs;
use std::path::Path;

/// A short recording of one CPU that stands for a host.
fn record(data: &Path, host: &str) {
    let dir = data.join(format!("host={host}"));
    let done = anechoic(&["run", "--cpus", "0", "-d", "300ms", "-q", "-o", arg(&dir)]);
    assert!(matches!(done.code, Some(0 | 1)), "{}", done.err);
}

fn merge(data: &Path) -> Done {
    anechoic(&["merge", arg(data)])
}

fn cluster(data: &Path) -> serde_json::Value {
    let text = fs::read(data.join("cluster.json")).expect("cluster.json is there");
    serde_json::from_slice(&text).expect("it is JSON")
}

#[test]
fn two_hosts_and_what_can_go_wrong_with_one() {
    let _alone = alone();
    let place = tempfile::tempdir().expect("a directory");
    let data = place.path();
    record(data, "a");
    record(data, "b");

    // The same is shown without merging, which writes nothing.
    let shown = anechoic(&["summary", arg(data)]);
    assert!(shown.out.contains("2 hosts with 2 CPUs"), "{}{}", shown.out, shown.err);
    assert!(!data.join("cluster.json").exists());
    let merged = merge(data);
    assert_eq!((merged.out, merged.code), (shown.out, shown.code), "{}", merged.err);
    let whole = cluster(data);
    assert_eq!(whole["total"]["hosts"], 2);
    let printed = anechoic(&["merge", "--json", arg(data)]);
    assert_eq!(serde_json::from_str::<serde_json::Value>(&printed.out).ok(), Some(whole));

    // A changed host, and one without a recording: the others are still merged.
    let run = data.join("host=b/run.json");
    let sound = fs::read(&run).expect("run.json");
    fs::write(&run, [&sound[..sound.len() / 2], b"{"].concat()).expect("writable");
    fs::create_dir(data.join("host=c")).expect("writable");
    let damaged = merge(data);
    assert_eq!(damaged.code, Some(66), "{}", damaged.err);
    assert!(damaged.out.contains("1 host with 1 CPU"), "{}", damaged.out);
    assert_eq!(damaged.err.lines().count(), 2, "{}", damaged.err);
    let findings = cluster(data)["findings"].as_array().cloned().unwrap_or_default();
    let kinds: Vec<_> = findings.iter().map(|finding| finding["kind"].clone()).collect();
    assert_eq!(kinds, ["left_out", "left_out"]);

    fs::write(&run, &sound).expect("writable");
    fs::remove_dir(data.join("host=c")).expect("it is empty");
    let before = fs::read(data.join("cluster.json")).expect("cluster.json");
    // The same host twice, at the same time.
    fs::create_dir(data.join("more")).expect("writable");
    let twin = data.join("more/host=a");
    let cp = tool::command("cp", &["-r", arg(&data.join("host=a")), arg(&twin)]);
    assert_eq!(cp.code, Some(0), "{}", cp.err);
    let twice = merge(data);
    assert_eq!(twice.code, Some(65), "{}", twice.err);
    assert!(twice.is_one_clear_line() && twice.err.contains("host a"), "{}", twice.err);
    assert_eq!(fs::read(data.join("cluster.json")).ok(), Some(before), "the old one stays");
}

#[test]
fn nothing_to_merge() {
    let place = tempfile::tempdir().expect("a directory");
    let empty = place.path().join("empty");
    fs::create_dir_all(empty.join("no recording")).expect("writable");
    let cases = [
        ("not there", place.path().join("none")),
        ("empty", empty.join("no recording")),
        ("without recordings", empty.clone()),
        ("a file", "/etc/hostname".into()),
    ];
    for (name, dir) in cases {
        let done = merge(&dir);
        assert_eq!(done.code, Some(66), "case: {name}: {}", done.err);
        assert!(done.is_one_clear_line() && done.out.is_empty(), "case: {name}: {}", done.err);
    }
}
