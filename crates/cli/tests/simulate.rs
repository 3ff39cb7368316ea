//! Simulations that end early.

use crate::tool;
use std::fs;
use std::process::Child;
use std::thread;
use std::time::{Duration, Instant};

/// Far longer than anything here takes.
const LONGEST: Duration = Duration::from_secs(60);

/// A child that is killed where its test ends without waiting for it.
struct Killed(Option<Child>);

impl Drop for Killed {
    fn drop(&mut self) {
        if let Some(mut child) = self.0.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Waits until a process catches SIGINT.
fn until_it_catches(child: &Child) {
    let (begun, file) = (Instant::now(), format!("/proc/{}/status", child.id()));
    loop {
        let status = fs::read_to_string(&file).expect("it runs");
        let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
        let caught = caught.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
        if caught.is_some_and(|mask| mask >> 1 & 1 == 1) {
            return;
        }
        assert!(begun.elapsed() < LONGEST, "it never catches signals");
        thread::sleep(Duration::from_millis(5));
    }
}

/// Starts a simulation of hours, interrupts it once it has had time for some replicas, and waits for its end.
fn interrupted(more: &[&str]) -> tool::Done {
    let job = ["simulate", "--pattern", "barrier", "--ranks", "64", "--iterations", "10"];
    let noise = ["--law", "exponential", "--replicas", "100000", "--tolerate", "1%"];
    let mut running = Killed(Some(tool::start(&[&job[..], &noise[..], more].concat())));
    let child = running.0.as_mut().expect("it was started");
    until_it_catches(child);
    thread::sleep(Duration::from_millis(500));
    tool::signal(child, "INT");
    let begun = Instant::now();
    while child.try_wait().expect("it is a child").is_none() {
        assert!(begun.elapsed() < LONGEST, "it does not end");
        thread::sleep(Duration::from_millis(5));
    }
    tool::wait(running.0.take().expect("it is still there"))
}

#[test]
fn an_interrupted_simulation_has_the_replicas_that_are_complete() {
    let place = tempfile::tempdir().expect("room");
    let file = place.path().join("found.json");
    let done = interrupted(&["--json", "-o", tool::arg(&file)]);
    assert_eq!(done.code, Some(1), "{}", done.err);
    let found = fs::read_to_string(file).expect("it was written");
    let found: serde_json::Value = serde_json::from_str(&found).expect("JSON");
    let replicas = found["replicas"].as_array().expect("a list");
    assert!((1..100_000).contains(&replicas.len()), "{}", replicas.len());
    assert_eq!(found["ended_early"], true);
    let note = format!("ended early: {} of 100000 simulations", replicas.len());
    assert!(
        found["notes"].as_array().expect("a list").contains(&note.into()),
        "{}",
        found["notes"]
    );
    // A replica has the seed after that of the one before, and is that of a shorter simulation.
    let last = replicas.last().expect("one at least");
    let seed = last["seed"].to_string();
    let one =
        ["--pattern", "barrier", "--ranks", "64", "--iterations", "10", "--law", "exponential"];
    let rest = ["--replicas", "1", "--json", "--seed", &seed];
    let again = tool::anechoic(&[&["simulate"][..], &one, &rest].concat());
    let again: serde_json::Value = serde_json::from_str(&again.out).expect(&again.err);
    assert_eq!((&again["replicas"][0], &again["ended_early"]), (last, &false.into()));
}

#[test]
fn the_screen_of_an_interrupted_simulation_shows_that() {
    let done = interrupted(&[]);
    assert_eq!(done.code, Some(1), "{}", done.err);
    assert!(done.out.contains(" of 100000 simulations"), "{}", done.out);
}
