//! Tests that `anechoic measure switch` measures switches: the token arrives, a hop with a switch costs more than one without, and
//! working sets that displace each other cost more still. And that its processes end with it.

use crate::tool::{self, Done, anechoic, arg};
use anechoic_analyze::{Switch, switch};
use anechoic_lab::note;
use anechoic_recording::run::RunState;
use anechoic_recording::switch::{PARTNER, Partners};
use anechoic_recording::{Recording, Series};
use anechoic_system::machine;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

const SHORT: [&str; 6] = ["measure", "switch", "--blocks", "3", "--point-time", "5ms"];

fn measured(dir: &Path, options: &[&str]) -> (Done, Switch) {
    let done = anechoic(&[&SHORT[..], options, &["-o", arg(dir)]].concat());
    assert!(matches!(done.code, Some(0 | 1)), "{:?}: {}", done.code, done.err);
    let found = switch(&Recording::open(dir).expect("a recording")).expect("a result");
    (done, found)
}

/// Returns the partners that are processes of `parent`.
fn partners_of(parent: u32) -> Vec<i32> {
    let processes = fs::read_dir("/proc").expect("a directory").flatten();
    let numbers = processes.filter_map(|process| process.file_name().to_str()?.parse::<i32>().ok());
    let is_partner = |pid: &i32| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let Some((_, rest)) = stat.split_once("(ring partner) ") else { return false };
        rest.split(' ').nth(1) == Some(&parent.to_string())
    };
    numbers.filter(is_partner).collect()
}

fn until_partners(parent: u32) -> Vec<i32> {
    let until = Instant::now() + Duration::from_secs(60);
    loop {
        let partners = partners_of(parent);
        if partners.len() > 1 {
            return partners;
        }
        assert!(Instant::now() < until, "no partners");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_switch_costs_more_than_none_and_displaced_working_sets_more_still() {
    let _alone = tool::alone();
    let caches = machine::describe().cpus.into_iter().next_back().map(|cpu| cpu.caches);
    let second =
        caches.iter().flatten().find(|cache| cache.level == 2).map(|cache| cache.size_bytes);
    let bytes = 4 * second.unwrap_or(1 << 20);
    let sizes = format!("0,{}k", bytes >> 10);
    let options = ["--members", "2,4", "--working-set", &sizes, "--partners", "processes,threads"];
    let dir = tempfile::tempdir().expect("a directory");
    let (done, found) = measured(dir.path(), &options);
    assert!(done.out.contains("A switch between 2 processes"), "{}", done.out);
    let [ways, wrong] = found.tokens;
    assert!(ways > 0 && wrong == 0, "{:?}", found.tokens);
    assert_eq!((found.blocks, found.sizes()), (3, vec![0, bytes]));
    assert_eq!(found.points.len(), 8, "{:?}", found.rings());
    let without: Vec<f64> = found.without.iter().map(|point| point.hop_ns.value).collect();
    for partners in Partners::ALL {
        for members in [2, 4] {
            let hop =
                |bytes| found.point((partners, members), bytes).expect("a point").hop_ns.value;
            assert!(hop(0) > without[0], "{partners:?} {members}: {} {without:?}", hop(0));
            assert!(hop(bytes) > hop(0), "{partners:?} {members}: {}", hop(bytes));
        }
    }
    let recording = Recording::open(dir.path()).expect("a recording");
    let series = recording.series().expect("readable").into_iter();
    every_series_is_there(
        &series.map(|(series, _)| series).collect::<Vec<_>>(),
        found.events_compared,
    );
    let partners = recording.run().own_threads.iter().filter(|thread| thread.role == PARTNER);
    assert_eq!(partners.count(), 6, "three of each kind");
    if !found.events_compared {
        return note::skipped("there are no kernel events here");
    }
    let events = found.points.iter().filter_map(|point| point.events_ns);
    assert_eq!(events.count(), found.points.len());
}

/// Without events nothing is measured twice.
#[test]
fn without_events_each_block_is_measured_once() {
    let _alone = tool::alone();
    let dir = tempfile::tempdir().expect("a directory");
    let (_, found) = measured(dir.path(), &["--no-trace", "--members", "2", "--working-set", "0"]);
    assert_eq!((found.blocks, found.events_compared), (3, false));
    let series = Recording::open(dir.path()).and_then(|recording| recording.series());
    let series = series.expect("a recording");
    assert_eq!(series.len(), 3 * 2, "a ring, and the hop without a switch");
    assert!(series.iter().all(|(series, _)| series.parameters.events_off));
}

/// Each block has each ring and the hop without a switch, for both working sets, without events and, where there are any,
/// with them.
fn every_series_is_there(all: &[Series], events: bool) {
    let series_count = |switches: bool, off: bool| {
        let alike = |series: &&Series| {
            series.parameters.ring.is_some_and(|ring| ring.switches == switches)
                && series.parameters.events_off == off
        };
        all.iter().filter(alike).count()
    };
    for off in [false, true] {
        let blocks = if off || events { 3 } else { 0 };
        assert_eq!(
            (series_count(true, off), series_count(false, off)),
            (blocks * 8, blocks * 2),
            "off: {off}"
        );
    }
}

#[test]
fn no_process_outlives_the_run_whatever_ends_it() {
    let _alone = tool::alone();
    let dir = tempfile::tempdir().expect("a directory");
    for (number, signal) in (0..).zip(["INT", "KILL"]) {
        let place = dir.path().join(format!("{number}"));
        let long = ["--blocks", "500", "--members", "4", "-o", arg(&place)];
        let child = tool::start(&[&["measure", "switch", "-q"][..], &long].concat());
        let partners = until_partners(child.id());
        tool::signal(&child, signal);
        let ended = tool::wait(child);
        // 3 where it came before the first sample.
        let code = matches!(ended.code, Some(1 | 3));
        assert!(signal == "KILL" || code, "{:?}: {}", ended.code, ended.err);
        let until = Instant::now() + Duration::from_secs(10);
        let lives = |pid: &i32| {
            let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            stat.contains("(ring partner) ") && !stat.contains("(ring partner) Z")
        };
        while partners.iter().any(lives) {
            assert!(Instant::now() < until, "after SIG{signal}: {partners:?}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

#[test]
fn a_partner_that_is_killed_ends_the_run_which_says_so() {
    let _alone = tool::alone();
    let place = tempfile::tempdir().expect("a directory");
    let dir = place.path().join("killed");
    let long = ["--blocks", "500", "--members", "4", "-o", arg(&dir)];
    let child = tool::start(&[&["measure", "switch", "-q"][..], &long].concat());
    let partner = until_partners(child.id())[0];
    // Not before something is measured, which is then the result.
    tool::until_running(&dir);
    std::thread::sleep(Duration::from_secs(3));
    let partner = rustix::process::Pid::from_raw(partner).expect("a process");
    rustix::process::kill_process(partner, rustix::process::Signal::KILL).expect("it lives");
    let ended = tool::wait(child);
    assert_eq!(ended.code, Some(1), "{}", ended.err);
    let recording = Recording::open(&dir).expect("a recording");
    let state = &recording.run().state;
    let said = matches!(state, RunState::Interrupted(why) if why.contains("token") && why.contains("did not come back"));
    assert!(said, "{state:?}");
}

#[test]
fn what_makes_no_ring_is_refused_in_one_line() {
    let cases: [(&[&str], &str); 5] = [
        (&["--members", "1"], "--members"),
        (&["--working-set", "much"], "is not a size"),
        (&["--partners", "fibres"], "--partners"),
        (&["--cpus", "0,1"], "this method measures only one CPU"),
        (&["--blocks", "1"], "--blocks"),
    ];
    for (options, expected) in cases {
        let done = anechoic(&[&["measure", "switch"][..], options].concat());
        assert_eq!(done.code, Some(64), "{options:?}: {}", done.err);
        assert!(done.err.contains(expected), "{options:?}: {}", done.err);
    }
}
