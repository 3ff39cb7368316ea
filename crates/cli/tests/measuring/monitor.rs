//! A service on the live machine, beside the kernel's own counters and what really happens.

use crate::tool::{self, anechoic, arg, command, may_trace, signal, start, wait};
use anechoic_lab::note;
use anechoic_recording::{Growth, Recording};
use serde_json::Value;
use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::time::{Duration, Instant};

/// Begins a service that keeps and saves in `dir`.
fn service(dir: &Path, options: &[&str]) -> Child {
    let child = start(&[&["monitor", "--save-every", "2s", "-o", arg(dir)], options].concat());
    until("the service has begun", || dir.is_dir());
    child
}

fn until(what: &str, is_so: impl Fn() -> bool) {
    let begin = Instant::now();
    while !is_so() {
        assert!(begin.elapsed() < Duration::from_secs(60), "not within a minute: {what}");
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// Returns the recordings of this kind, in order.
fn recordings(dir: &Path, kind: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.path());
    let is_kind = |path: &PathBuf| {
        let name = path.file_name().expect("a name").to_string_lossy();
        name.starts_with(kind)
    };
    let mut found: Vec<PathBuf> = entries.filter(is_kind).collect();
    found.sort();
    found
}

/// Returns what was monitored. Exit code 1 is that a recording knows of a doubt, as of one that was killed.
fn history(dir: &Path) -> Value {
    let done = anechoic(&["history", "--json", arg(dir)]);
    assert!(matches!(done.code, Some(0 | 1)), "{done:?}");
    serde_json::from_str(&done.out).expect("JSON")
}

/// Returns a total of /proc/stat.
fn total(key: &str) -> u64 {
    let text = fs::read_to_string("/proc/stat").expect("readable");
    let line = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(' '));
    line.and_then(|rest| rest.split(' ').next()?.parse().ok()).expect("a number")
}

/// Starts as many processes in a second as a shell can, for so many seconds.
fn start_processes(seconds: u32) {
    let script = format!(
        "end=$(($(date +%s) + {seconds})); while [ $(date +%s) -lt $end ]; do /bin/true; done"
    );
    assert_eq!(command("sh", &["-c", &script]).code, Some(0));
}

#[test]
fn counters_grow_as_the_kernel_says_and_a_limit_saves_what_ran() {
    let _alone = tool::alone();
    if !may_trace() {
        return;
    }
    let place = tempfile::tempdir().expect("a directory");
    let dir = place.path().join("monitor");
    let before = total("processes");
    let options = ["--save-on", "forks>150", "--keep", "3s", "--metrics", "127.0.0.1:19440"];
    let service = service(&dir, &options);
    until("events are recorded", || recordings(&dir, ".waiting").len() == 1);
    std::thread::sleep(Duration::from_secs(4));
    let inner = total("processes");
    start_processes(5);
    until("something is saved", || !recordings(&dir, "saved").is_empty());
    let metrics = metrics();
    let inner = total("processes") - inner;
    std::thread::sleep(Duration::from_millis(1_200));
    signal(&service, "TERM");
    let done = wait(service);
    let all = total("processes") - before;
    assert_eq!(done.code, Some(0), "{done:?}");

    let found = history(&dir);
    let forks = |unusual: &&Value| unusual["name"] == "forks";
    let first = found["unusual"].as_array().expect("a list").iter().find(forks);
    let first = first.unwrap_or_else(|| panic!("no burst of forks: {found}"));
    assert_eq!(first["why"]["limit"]["most"], 150.0);
    assert_eq!(first["saved"], 0, "{found}");
    let saved = &found["saved"][0];
    let [began, since] = [&saved["start_utc"], &first["since_utc"]]
        .map(|utc| utc.as_str().expect("a time").parse::<jiff::Timestamp>().expect("a time"));
    let before_s = since.duration_since(began).as_secs_f64();
    assert!(before_s >= 2.5, "3 s before it were asked for: {before_s}");
    assert!(saved["reasons"][0].as_str().is_some_and(|why| why.starts_with("forks ")), "{saved}");
    let begun_by = saved["forked"][0]["name"].as_str().expect("a name");
    assert!(begun_by == "sh" || executed_by_others(saved), "{saved}");
    let executed = found["saved"][0]["executed"].as_array().expect("a list");
    let named = |name: &str| {
        executed.iter().any(|row| row["name"].as_str().is_some_and(|it| it.starts_with(name)))
    };
    assert!(named("sh") || named("true") || named("date"), "{executed:?}");
    // All growth together is the kernel's own total.
    let rows = tool::run(std::process::Command::new(env!("CARGO_BIN_EXE_anechoic")).args([
        "export",
        "csv",
        "--table",
        "growth",
        arg(&recordings(&dir, "counters")[0]),
    ]));
    let grown: u64 = rows
        .out
        .lines()
        .filter(|line| line.starts_with("forks,"))
        .map(|line| line.rsplit(',').next().expect("a value").parse::<u64>().expect("a number"))
        .sum();
    assert!(grown >= inner && grown <= all, "{inner} to {all} were started, and {grown} counted");
    assert!(metrics.contains("anechoic_monitor_unusual_total{rate=\"forks\"}"), "{metrics}");
    let kept = recordings(&dir, "saved").len();
    let in_place = recordings(&dir, ".waiting").len();
    assert!(kept >= 1 && in_place == 0, "what waited is dropped");
}

/// Reads the metrics of a service.
fn metrics() -> String {
    let mut client = TcpStream::connect("127.0.0.1:19440").expect("a server");
    client.write_all(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n").expect("sent");
    let mut text = String::new();
    client.read_to_string(&mut text).expect("text");
    text
}

/// Returns whether other programs of this machine began as many processes as the test's own shell.
fn executed_by_others(saved: &Value) -> bool {
    let forked = saved["forked"].as_array().expect("a list");
    forked.iter().any(|row| row["name"] == "sh" && row["share"].as_f64() > Some(0.2))
}

#[test]
fn signals_save_and_begin_a_recording_and_a_kill_leaves_what_was_saved() {
    let _alone = tool::alone();
    if !may_trace() {
        return;
    }
    let place = tempfile::tempdir().expect("a directory");
    let dir = place.path().join("monitor");
    let first =
        service(&dir, &["--save-on", "steal>10000%", "--keep", "2s", "--most-per-hour", "1"]);
    let second = anechoic(&["monitor", "-d", "1s", "-o", arg(&dir)]);
    assert!(second.code >= Some(64) && second.is_one_clear_line(), "{second:?}");
    until("events are recorded", || recordings(&dir, ".waiting").len() == 1);
    std::thread::sleep(Duration::from_secs(3));
    signal(&first, "USR1");
    until("the last seconds are saved", || recordings(&dir, "saved").len() == 1);
    std::thread::sleep(Duration::from_secs(4)); // until the next recorder can save
    signal(&first, "USR1");
    std::thread::sleep(Duration::from_secs(2));
    assert_eq!(recordings(&dir, "saved").len(), 1, "one an hour");
    signal(&first, "HUP");
    std::thread::sleep(Duration::from_secs(4));
    until("another recording of counters", || recordings(&dir, "counters").len() == 2);
    signal(&first, "KILL");
    wait(first);
    for counters in recordings(&dir, "counters") {
        let counted = Recording::open(&counters).expect("a recording");
        let (run, rows) = (counted.run(), counted.rows::<Growth>().each());
        let last = rows.map(|row| row.expect("readable").end_ticks).max().expect("rows");
        assert!((0..1_000_000_000).contains(&(run.end_ticks - last)), "{counters:?}: until {last}");
    }
    let found = history(&dir);
    assert_eq!(found["unusual"].as_array().map(Vec::len), Some(0));
    assert_eq!(found["saved"].as_array().map(Vec::len), Some(1));
    assert_eq!(found["saved"][0]["reasons"][0], "SIGUSR1");
    let read_s = found["read_s"].as_f64().expect("a number");
    assert!(read_s >= 4.0, "what was saved before the kill: {read_s} s");
    // Its recorder ends with it, and the next service removes what that kept.
    until("the recorder has ended", || command("pgrep", &["-f", arg(&dir)]).code == Some(1));
    let third = anechoic(&["monitor", "-d", "3s", "--no-events", "-o", arg(&dir)]);
    assert_eq!(third.code, Some(0), "{third:?}");
    assert_eq!(recordings(&dir, ".waiting").len(), 0);
    assert_eq!(recordings(&dir, "counters").len(), 3);
}

#[test]
fn on_a_full_disk_counters_wait_in_memory() {
    let _alone = tool::alone();
    let place = tempfile::tempdir().expect("a directory");
    let tool = env!("CARGO_BIN_EXE_anechoic");
    // The disk is full from the beginning; later there is room again.
    let script = format!(
        "mount -t tmpfs -o size=8m none {at} || exit 100; mkdir {at}/m; head -c 8m /dev/zero > {at}/fill 2>/dev/null
         {tool} monitor --no-events --save-every 1s -d 9s -o {at}/m & sleep 4.5; rm {at}/fill; wait $!; echo code $?
         {tool} history --json {at}/m",
        at = place.path().display()
    );
    let done = command("unshare", &["-m", "bash", "-c", &script]);
    if matches!(done.code, Some(100)) || done.err.contains("unshare:") {
        note::skipped("a file system cannot be mounted here");
        return;
    }
    let (first, json) = done.out.split_once('\n').expect("two outputs");
    assert_eq!(first, "code 0", "{done:?}");
    assert!(
        done.err.contains("counters are not saved") && done.err.contains("saved again"),
        "{done:?}"
    );
    let found: Value = serde_json::from_str(json).expect("JSON");
    let read_s = found["read_s"].as_f64().expect("a number");
    assert!(read_s > 7.0, "nothing was dropped: {read_s} s");
    assert_eq!(found["missing"]["times"], 0, "{found}");
}
