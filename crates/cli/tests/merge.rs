//! Recordings of several hosts that are merged: what is written, shown, and refused.

use crate::tool::{self, Done, alone, anechoic, arg};
use anechoic_lab::two_cpus::{self, SECOND};
use anechoic_lab::wakeups::{self, Block};
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
    let kinds = findings.iter().map(|finding| finding["kind"].clone());
    // On a busy machine other programs may have had the CPU, which is a finding too.
    let kinds: Vec<_> = kinds.filter(|kind| kind != "doubtful").collect();
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

/// Writes eight hosts with the same detours on CPU 1, `usual` each (start and length in seconds), and these more on host 2.
fn eight_hosts(data: &Path, usual: &[(f64, f64)], more: &[(f64, f64)]) {
    for host in 0..8 {
        let mut run = two_cpus::run(10 * SECOND);
        run.start_utc = format!("2026-05-09T07:31:17.{host:06}Z");
        run.end_utc = Some("2026-05-09T07:31:27Z".into());
        let more = if host == 2 { more } else { &[] };
        let detours = [usual, more].concat();
        let dir = data.join(format!("host=n{host}"));
        let _ = two_cpus::record(&dir, &run, &[("timer-tick", detours)]);
    }
}

/// The hosts of a truth that is known: one long detour makes no noisy host, and eight of them do.
#[test]
fn an_outlier_stands_on_events_and_not_on_one_of_them() {
    let ticks: Vec<(f64, f64)> = (0..2_500).map(|at| (0.004 * f64::from(at), 4e-6)).collect();
    let rare: Vec<(f64, f64)> = (0..50).map(|at| (0.2 * f64::from(at) + 0.01, 3e-7)).collect();
    let stalls = |count: u32, length: f64| -> Vec<(f64, f64)> {
        (0..count).map(|at| (1.2 * f64::from(at) + 0.101, length)).collect()
    };
    type Case<'a> = (&'a str, &'a [(f64, f64)], Vec<(f64, f64)>, &'a [&'a str]);
    let cases: [Case<'_>; 6] = [
        ("equal hosts", &ticks, vec![], &[]),
        ("one detour of 60 ms", &ticks, stalls(1, 0.06), &[]),
        ("one of 1 ms on quiet hosts", &rare, stalls(1, 1e-3), &[]),
        ("one of 60 ms across two blocks of the run", &ticks, vec![(0.19, 0.06)], &[]),
        ("eight stalls", &ticks, stalls(8, 0.06), &["n2"]),
        (
            "ten times the noise",
            &ticks,
            ticks.iter().map(|tick| (tick.0 + 1e-4, 4e-5)).collect(),
            &["n2"],
        ),
    ];
    for (name, usual, more, expected) in cases {
        let place = tempfile::tempdir().expect("a directory");
        eight_hosts(place.path(), usual, &more);
        let merged = merge(place.path());
        assert_eq!(merged.code, Some(0), "case: {name}: {}{}", merged.out, merged.err);
        let found = cluster(place.path());
        let names = |outliers: &str| -> Vec<String> {
            let found = found[outliers]["found"].as_array().cloned().unwrap_or_default();
            found.iter().map(|one| one["host"].as_str().unwrap_or_default().to_owned()).collect()
        };
        assert_eq!(names("host_outliers"), expected, "case: {name}");
        // The class of all CPUs has CPU 0 of each host as well, which is silent.
        assert!(
            names("cpu_outliers").iter().all(|host| expected.contains(&&**host)),
            "case: {name}"
        );
        assert_eq!(merged.out.contains("× the median,"), !expected.is_empty(), "{}", merged.out);
    }
}

/// The truth is the list of wake-ups from which each recording was made: one host has eight late ones, the others none.
#[test]
fn hosts_are_ranked_by_their_late_wake_ups() {
    let place = tempfile::tempdir().expect("a directory");
    let data = place.path();
    for number in 0..9_u64 {
        let late = |at: u64| number == 4 && at % 250 == 249;
        let latency = |at: u64| if late(at) { 150_000 } else { 10_000 + number * 100 + at % 50 };
        let block = Block::new(0, (0..2_000).map(latency).collect());
        let _ = wakeups::record(&data.join(format!("host=n{number}")), &[block]);
    }
    let done = merge(data);
    assert_eq!(done.code, Some(0), "{}{}", done.out, done.err);
    let words = done.out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("9 hosts with 9 CPUs"), "{}", done.out);
    assert!(
        words.contains("One host stands out: n4: 8 wake-ups later than 100 µs (0.40 %)"),
        "{}",
        done.out
    );
    let found = cluster(data);
    let kind = &found["kinds"][0];
    let first = &kind["hosts"][0];
    assert_eq!(
        (&first["host"], &first["late"], &first["max_ns"]),
        (&"n4".into(), &8.into(), &150_000.into())
    );
    assert_eq!((&kind["total"]["samples"], &kind["total"]["late"]), (&18_000.into(), &8.into()));
    let named = found["late_hosts"]["found"].as_array().expect("a list");
    assert_eq!(named.len(), 1, "{named:?}");
    let shown = anechoic(&["summary", arg(data)]);
    assert_eq!(shown.out, done.out, "{}", shown.err);
    let ranked = anechoic(&["rank", arg(&data.join("host=n1")), arg(&data.join("host=n2"))]);
    // One run on a side makes no verdict, but 10.2 µs are less than 10.3 in each block.
    assert!(ranked.code == Some(3) && ranked.out.contains("host=n1"), "{ranked:?}");
}

/// The truth is the list of wake-ups from which the recording was made: the longest is one without deep idle states.
#[test]
fn the_headline_of_wake_ups_names_the_kind_of_idle() {
    let place = tempfile::tempdir().expect("a directory");
    let block = |longest| Block::new(0, (0..200_u64).map(|at| 10_000 + at + longest).collect());
    let blocks = [block(0), Block { shallow: true, ..block(5_000) }];
    let _ = wakeups::record(&place.path().join("host=n1"), &blocks);
    let done = merge(place.path());
    let words = done.out.split_whitespace().collect::<Vec<_>>().join(" ");
    let named = "Of 200 wake-ups by a timer every 1 ms without deep idle states half took up to";
    assert!(words.contains(named), "{}{}", done.out, done.err);
}
