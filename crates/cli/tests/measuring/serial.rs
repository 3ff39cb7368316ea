//! Tests that `anechoic measure serial` really does what the model relies on.

use crate::tool::{self, Done, anechoic, arg, command, noisy, signal, start, until_running, wait};
use anechoic_recording::run::{Ended, Outcome, RunState};
use anechoic_recording::{EventKind, KernelEvent, Recording, Sample, Series};
use anechoic_system::cpus;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

/// A small measurement: 0 and 5,000 Hz, one and three copies, twice.
const SHORT: &[&str] =
    &["--rates", "none,5khz", "--copies", "1,3", "--blocks", "2", "--sort-time", "60ms"];

/// What a recording reports about its series.
type Known = Vec<(Series, Outcome)>;

fn samples(recording: &Recording, series: u32) -> Vec<Sample> {
    let all = recording.rows::<Sample>().flat_map(|rows| rows.expect("readable"));
    all.filter(|sample| sample.series == series).collect()
}

#[test]
fn every_rate_meets_every_number_of_copies() {
    let _alone = tool::alone();
    if noisy().is_none() {
        return;
    }
    let dir = tempfile::tempdir().expect("a directory");
    let done = anechoic(&[&["measure", "serial"], SHORT, &["-o", arg(dir.path())]].concat());
    // The quality of a model from so few sorts does not matter here.
    assert!(matches!(done.code, Some(0 | 1 | 3)), "{:?} {}", done.code, done.err);
    assert!(done.out.contains("serial tick model"), "{}", done.out);
    let recording = Recording::open(dir.path()).expect("a recording");
    let run = recording.run();
    assert_eq!((run.method.as_str(), &run.state), ("serial", &RunState::Complete));
    let [cpu] = &run.cpus[..] else { panic!("one CPU: {:?}", run.cpus) };
    assert_eq!(Some(&cpu.cpu), cpus::allowed().last());

    let known = recording.series().expect("readable");
    let mut kinds = BTreeMap::new();
    for (series, outcome) in &known {
        let copies = series.parameters.copies;
        *kinds
            .entry((series.variant.as_str(), copies, series.parameters.injection))
            .or_insert(0) += 1;
        assert_eq!((outcome.wrong, outcome.lost), (0, 0), "{series:?}");
        assert_eq!(outcome.ended, Ended::Complete, "{series:?}");
        assert_eq!(series.parameters.step_ticks.is_some(), series.variant == "intadd-chain");
        let samples = samples(&recording, series.series);
        assert_eq!(samples.len() as u64, series.asked, "{series:?}");
        assert!(samples.windows(2).all(|pair| pair[0].end_ticks == pair[1].start_ticks));
    }
    let beside = [("trap", 1, None), ("intadd-chain", 1, None), ("intadd-chain", 1, Some(0))];
    let sorts = [None, Some(0)].map(|rate| [("sort", 1, rate), ("sort", 3, rate)]);
    let expected = beside.into_iter().chain(sorts.concat());
    let twice = |kind: (&'static str, u32, Option<u32>)| (kind, 2 * kind.1);
    assert_eq!(kinds, expected.map(twice).collect());
    copies_run_together(&known, &recording);
    interrupts_came_in_their_rounds(&known, &recording);

    let alignment = recording.attribution().expect("readable").expect("there").alignment;
    assert!(alignment.events > 2_000, "{alignment:?}");
    assert!(alignment.outside * 1_000 < alignment.events, "{alignment:?}");

    // The watched series show what else interrupted; the sorts beside them do not.
    let sources = anechoic(&["sources", arg(dir.path())]);
    assert_eq!(sources.code, Some(0), "{}", sources.err);
    assert!(sources.out.contains("timer perf_swevent_hrtimer"), "{}", sources.out);
}

/// Each copy has its own thread, does as much work as the others, and runs at the same time.
fn copies_run_together(known: &Known, recording: &Recording) {
    let run = recording.run();
    let mut rounds: BTreeMap<u32, Vec<&(Series, Outcome)>> = BTreeMap::new();
    for one in known.iter().filter(|(series, _)| series.parameters.copies > 1) {
        rounds.entry(one.0.round).or_default().push(one);
    }
    assert_eq!(rounds.len(), 4);
    for round in rounds.values() {
        let tids: BTreeSet<i32> = round.iter().map(|(series, _)| series.tid).collect();
        assert_eq!(tids.len(), 3, "{tids:?}");
        let own = run.own_threads.iter().map(|thread| thread.tid);
        let own: BTreeSet<i32> = own.chain([run.cpus[0].tid]).collect();
        assert!(tids.is_subset(&own), "{tids:?} of {own:?}");
        let asked: BTreeSet<u64> = round.iter().map(|(series, _)| series.asked).collect();
        assert_eq!(asked.len(), 1, "{asked:?}");
        let latest_start = round.iter().map(|(_, outcome)| outcome.first_ticks).max();
        let first_end = round.iter().map(|(_, outcome)| outcome.last_ticks).min();
        assert!(latest_start < first_end, "one after the other: {round:?}");
    }
}

/// Counted from the kernel's events: none if none were requested, otherwise nearly all.
fn interrupts_came_in_their_rounds(known: &Known, recording: &Recording) {
    let run = recording.run();
    let names = recording.rows::<anechoic_recording::Name>().flat_map(|rows| rows.expect("names"));
    let injected: BTreeSet<u64> =
        names.filter(|name| name.name.starts_with("perf_swevent_hrtimer")).map(|n| n.key).collect();
    assert!(!injected.is_empty(), "the function of the interrupts has no name");
    let events: Vec<KernelEvent> = recording
        .rows_of_cpu::<KernelEvent>(run.cpus[0].cpu)
        .flat_map(|rows| rows.expect("readable"))
        .filter(|event| event.kind == EventKind::HrtimerEntry)
        .filter(|event| event.args.iter().any(|arg| injected.contains(arg)))
        .collect();
    for (series, outcome) in known.iter().filter(|(series, _)| series.parameters.copies == 1) {
        let (from, to) = (outcome.first_ticks, outcome.last_ticks);
        let came = events.iter().filter(|event| (from..to).contains(&event.ticks)).count() as f64;
        let asked =
            series.parameters.injection.map_or(0.0, |_| 5_000.0 * run.clock.seconds(to - from));
        // The kernel skips late ones, and a busy host makes many late.
        assert!(came <= asked * 1.02 + 2.0 && came >= asked * 0.5, "{came} of {asked}: {series:?}");
    }
}

/// Measures two copies into `dir` until ended after this time.
fn ended_after(time: Duration, dir: &Path) -> Done {
    let child = start(&["measure", "serial", "--copies", "2", "-q", "-o", arg(dir)]);
    until_running(dir);
    std::thread::sleep(time);
    signal(&child, "INT");
    wait(child)
}

/// The rounds that had ended by then are complete.
#[test]
fn an_early_end_leaves_whole_rounds() {
    let _alone = tool::alone();
    if noisy().is_none() {
        return;
    }
    let place = tempfile::tempdir().expect("a directory");
    let dir = place.path().join("serial");
    let done = ended_after(Duration::from_secs(5), &dir);
    assert_eq!(done.code, Some(1), "{}", done.err);
    let recording = Recording::open(&dir).expect("a recording");
    assert!(matches!(recording.run().state, RunState::Interrupted(_)));
    recording.verify().expect("undamaged");
    let known = recording.series().expect("readable");
    let sorts = known.iter().filter(|(series, _)| series.variant == "sort");
    let (whole, cut): (Vec<_>, Vec<_>) =
        sorts.partition(|(_, outcome)| outcome.ended == Ended::Complete);
    assert!(whole.len() >= 2 && cut.len() <= 2, "{} whole, {} cut", whole.len(), cut.len());
    for (series, _) in whole {
        assert_eq!(samples(&recording, series.series).len() as u64, series.asked);
    }
}

/// Ended before the first sort: there is no model, and the result says so.
#[test]
fn without_a_sort_there_is_one_clear_line() {
    let _alone = tool::alone();
    if noisy().is_none() {
        return;
    }
    let place = tempfile::tempdir().expect("a directory");
    let dir = place.path().join("serial");
    let measured = ended_after(Duration::ZERO, &dir);
    let summary = anechoic(&["summary", arg(&dir)]);
    let json = anechoic(&["summary", arg(&dir), "--json"]);
    for (name, done) in [("measure", measured), ("summary", summary), ("JSON", json)] {
        assert_eq!((done.code, done.out.as_str()), (Some(3), ""), "case: {name}: {}", done.err);
        assert!(done.is_one_clear_line(), "case: {name}: {}", done.err);
        assert!(done.err.contains("no sort was completed;"), "case: {name}: {}", done.err);
    }
}

#[test]
fn what_makes_no_sense_is_refused() {
    let cases: &[(&str, &[&str], i32, &str)] = &[
        ("one rate", &["--rates", "1khz"], 64, "name two or more"),
        ("the same twice", &["--rates", "1khz,1000hz"], 64, "name two or more"),
        ("no unit", &["--rates", "none,1000"], 64, "is not a rate"),
        ("below the floor", &["--rates", "none,200khz"], 64, "ask for"),
        ("two CPUs", &["--cpus", "0,1"], 64, "name one"),
        ("no such CPU", &["--cpus", "9999"], 64, "9999"),
        ("no copies", &["--copies", "0"], 64, "copies"),
        ("too many", &["--copies", "65"], 64, "copies"),
        ("no blocks", &["--blocks", "0"], 64, "blocks"),
        ("no time", &["--sort-time", "0s"], 64, "is zero"),
        ("not traced", &["--no-trace"], 64, "remove --no-trace"),
    ];
    let dir = tempfile::tempdir().expect("a directory");
    for (name, args, code, expected) in cases {
        let output = dir.path().join("none");
        let done = anechoic(&[&["measure", "serial", "-o", arg(&output)], *args].concat());
        assert_eq!(done.code, Some(*code), "case: {name}: {}", done.err);
        assert!(done.err.contains(expected), "case: {name}: {}", done.err);
        assert!(!output.exists(), "case: {name}");
    }
}

#[test]
fn without_privilege_it_says_what_is_missing() {
    let _alone = tool::alone();
    if noisy().is_none() {
        return;
    }
    let open = tempfile::tempdir().expect("a directory");
    let tool = open.path().join("anechoic");
    std::fs::copy(tool::ANECHOIC, &tool).expect("a copy that all may run");
    for path in [open.path(), &tool] {
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o777);
        std::fs::set_permissions(path, mode).expect("open to all");
    }
    let output = open.path().join("serial");
    let nobody = ["--reuid=65534", "--regid=65534", "--clear-groups", "--bounding-set=-all"];
    let run = [arg(&tool), "measure", "serial", "-q", "-o", arg(&output)];
    let done = command("setpriv", &[&nobody[..], &run[..]].concat());
    assert_eq!(done.code, Some(69), "{}", done.err);
    assert!(done.is_one_clear_line() && done.err.contains("; "), "{}", done.err);
    assert!(!output.exists());
}
