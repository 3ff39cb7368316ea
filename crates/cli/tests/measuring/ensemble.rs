//! Ranks of a parallel job that communicate through a shared directory: real processes, with what a launcher would give them.

use crate::tool::{self, ANECHOIC, Done, anechoic, arg, command, signal, summary, wait};
use anechoic_lab::note;
use std::fs;
use std::path::Path;
use std::process::{Child, Command};
use std::thread;
use std::time::{Duration, Instant};

/// The command line of every rank; `more` follows it.
fn run(output: &Path, more: &[&str]) -> Vec<String> {
    let all = ["run", "--rank-from-env", "-o", arg(output)];
    all.iter().chain(more).map(|&word| word.to_owned()).collect()
}

/// The command line of every rank that takes samples; `more` follows it.
fn samples(method: &str, output: &Path, more: &[&str]) -> Vec<String> {
    let all = ["measure", method, "--rank-from-env", "-o", arg(output)];
    all.iter().chain(more).map(|&word| word.to_owned()).collect()
}

/// A small experiment of each method whose hosts measure at the same time.
const SMALL: [(&str, &[&str]); 4] = [
    ("loops", &["--variants", "counter,sum", "--grain", "100us", "--samples", "500"]),
    ("fwq", &["--grain", "150us", "--repetitions", "400", "--pure"]),
    ("ftq", &["--window", "1ms", "--duration", "200ms"]),
    ("tick", &["--kernel", "intadd", "--repetitions", "500"]),
];

/// Starts a rank with these variables.
fn rank_with(environment: &[(&str, String)], args: &[String]) -> Child {
    spawn(Command::new(ANECHOIC).args(args), environment)
}

fn spawn(command: &mut Command, environment: &[(&str, String)]) -> Child {
    tool::spawn(command.envs(environment.iter().map(|(name, value)| (name, value))))
}

fn by_hand(rank: u32, size: u32) -> [(&'static str, String); 2] {
    [("ANECHOIC_RANK", rank.to_string()), ("ANECHOIC_SIZE", size.to_string())]
}

/// Starts a rank on a host with its own name.
fn on_node(node: u32, rank: u32, size: u32, args: &[String]) -> Child {
    let script = format!("hostname node{node} && exec \"$@\"");
    let words = ["--uts", "sh", "-c", &script, "sh", ANECHOIC];
    spawn(Command::new("unshare").args(words).args(args), &by_hand(rank, size))
}

/// Returns whether this test may give processes another hostname; prints the reason if not.
fn may_rename() -> bool {
    let may = command("unshare", &["--uts", "true"]).code == Some(0);
    if !may {
        note::skipped("may not make another hostname (unshare --uts)");
    }
    may
}

/// Starts all ranks of a job, the last one first.
fn start_all(size: u32, args: &[String]) -> Vec<Child> {
    let mut all: Vec<Child> =
        (0..size).rev().map(|rank| rank_with(&by_hand(rank, size), args)).collect();
    all.reverse();
    all
}

fn end_all(all: Vec<Child>) -> Vec<Done> {
    all.into_iter().map(wait).collect()
}

fn cluster(output: &Path) -> serde_json::Value {
    let json = fs::read(output.join("cluster.json")).expect("the merged result");
    serde_json::from_slice(&json).expect("JSON")
}

/// Returns the joined samples.
fn joined(output: &Path) -> serde_json::Value {
    let json = fs::read(output.join("hosts.json")).expect("the joined samples");
    serde_json::from_slice(&json).expect("JSON")
}

fn experiments(joined: &serde_json::Value) -> impl Iterator<Item = &serde_json::Value> {
    joined["experiments"].as_array().expect("experiments").iter()
}

fn names(output: &Path) -> Vec<String> {
    let entries = fs::read_dir(output).expect("it is there").map(|entry| entry.expect("readable"));
    let mut names: Vec<String> =
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

fn hostname() -> String {
    command("uname", &["-n"]).out.trim().to_owned()
}

/// Returns the CPUs that a recording measured.
fn cpus(recording: &Path) -> Vec<u64> {
    let summary = summary(recording);
    let cpus = summary["cpus"].as_array().expect("CPUs");
    cpus.iter().map(|cpu| cpu["cpu"].as_u64().expect("a number")).collect()
}

fn until_there(file: &Path) {
    for _ in 0..400 {
        if file.exists() {
            return;
        }
        thread::sleep(Duration::from_millis(50));
    }
    panic!("no {}", file.display());
}

/// One rank of a host measures for all; rank 0 alone prints, and no file of their meeting is left.
#[test]
fn ranks_of_one_host_make_one_recording() {
    let _alone = tool::alone();
    let dir = tempfile::tempdir().expect("a directory");
    for size in [1, 2, 4] {
        let output = dir.path().join(format!("of {size}"));
        let done = end_all(start_all(size, &run(&output, &["-d", "500ms", "--json"])));
        for (rank, done) in done.iter().enumerate() {
            assert!(matches!(done.code, Some(0 | 1)), "rank {rank} of {size}: {}", done.err);
            assert_eq!(done.err, "", "rank {rank} of {size}");
            assert_eq!(done.out.is_empty(), rank > 0, "rank {rank} of {size}: {}", done.out);
        }
        let host = format!("host={}", hostname());
        assert_eq!(names(&output), ["cluster.json".to_owned(), host.clone()], "{size} ranks");
        let merged = cluster(&output);
        assert_eq!(serde_json::from_str::<serde_json::Value>(&done[0].out).expect("JSON"), merged);
        assert_eq!(merged["job"]["ranks"], size);
        assert_eq!(merged["job"]["through"], "shared directory");
        let run = fs::read(output.join(host).join("run.json")).expect("a recording");
        let run: serde_json::Value = serde_json::from_slice(&run).expect("JSON");
        assert_eq!(run["parallel"]["here"].as_array().expect("ranks").len(), size as usize);
    }
}

/// Samples: one rank of a host takes them for all, rank 0 alone prints, and the recording is an ordinary one.
#[test]
fn ranks_of_one_host_take_samples_together() {
    let _alone = tool::alone();
    let dir = tempfile::tempdir().expect("a directory");
    for ((method, more), size) in SMALL.into_iter().zip([1, 3, 2, 2]) {
        let output = dir.path().join(method);
        let more = [more, &["--json"]].concat();
        let done = end_all(start_all(size, &samples(method, &output, &more)));
        for (rank, done) in done.iter().enumerate() {
            assert!(matches!(done.code, Some(0 | 1)), "{method}, rank {rank}: {}", done.err);
            assert_eq!(done.err, "", "{method}, rank {rank}");
            assert_eq!(done.out.is_empty(), rank > 0, "{method}, rank {rank}: {}", done.out);
        }
        let host = format!("host={}", hostname());
        assert_eq!(names(&output), [host.clone(), "hosts.json".to_owned()], "{method}");
        let joined = joined(&output);
        assert_eq!(serde_json::from_str::<serde_json::Value>(&done[0].out).expect("JSON"), joined);
        assert_eq!((&joined["job"]["ranks"], &joined["job"]["hosts"]), (&size.into(), &1.into()));
        let alone = summary(&output.join(&host));
        let series = alone["series"].as_array().expect("series");
        let rows = experiments(&joined)
            .map(|experiment| experiment["by_cpu"].as_array().expect("rows").len());
        assert_eq!(rows.sum::<usize>(), series.len(), "{method}: {joined}");
        let alone = series.iter().map(|row| row["facts"]["samples"].as_u64().expect("a number"));
        let all = experiments(&joined)
            .map(|experiment| experiment["samples"].as_u64().expect("a number"));
        assert_eq!(all.sum::<u64>(), alone.sum::<u64>(), "{method}: {joined}");
    }
}

/// Two hosts with different numbers of CPUs, so that one has more rounds than the other.
#[test]
fn unequal_hosts_take_samples_together() {
    let _alone = tool::alone();
    let allowed = anechoic_system::cpus::allowed();
    let [first, second, ..] = allowed[..] else { return note::skipped("needs two CPUs") };
    if !may_rename() {
        return;
    }
    let dir = tempfile::tempdir().expect("a directory");
    let output = dir.path().join("job");
    let more = ["--one-by-one", "--variants", "counter", "--grain", "150us", "--samples", "1000"];
    let args = samples("loops", &output, &more);
    let both = format!("{first},{second}");
    let on = |(rank, cpus): (u32, &str)| {
        let script = format!("hostname node{} && exec taskset -c {cpus} \"$@\"", rank / 2);
        let words = ["--uts", "sh", "-c", &script, "sh", ANECHOIC];
        spawn(Command::new("unshare").args(words).args(&args), &by_hand(rank, 4))
    };
    let bound = [&*both, &*both, &*second.to_string(), &*second.to_string()];
    let done = end_all((0..).zip(bound).map(on).collect());
    for (rank, done) in done.iter().enumerate() {
        assert!(matches!(done.code, Some(0 | 1)), "rank {rank}: {}", done.err);
        assert_eq!(done.out.is_empty(), rank > 0, "rank {rank}: {}", done.out);
    }
    assert!(done[0].out.contains("node0") && done[0].out.contains("node1"), "{}", done[0].out);
    assert_eq!(names(&output), ["host=node0", "host=node1", "hosts.json"]);
    let joined = joined(&output);
    assert_eq!(joined["findings"].as_array().expect("findings").len(), 0, "{}", joined["findings"]);
    let all: Vec<_> = experiments(&joined).collect();
    let [all] = &all[..] else { panic!("{joined}") };
    assert_eq!((&all["hosts"], &all["samples"]), (&2.into(), &3_000.into()));
    let cpus = all["by_host"].as_array().expect("rows").iter().map(|row| &row["cpus"]);
    assert_eq!(cpus.filter_map(serde_json::Value::as_u64).sum::<u64>(), 3);
    let starts = ["node0", "node1"].map(|node| {
        let run = summary(&output.join(format!("host={node}")))["run"].clone();
        let start = run["start_utc"].as_str().expect("a time");
        start.parse::<jiff::Timestamp>().expect("a time")
    });
    let apart = starts[0].duration_since(starts[1]).abs();
    assert!(apart < jiff::SignedDuration::from_millis(200), "they started {apart} apart");
    // What rank 0 printed is what the recordings say.
    let again = anechoic(&["summary", "--json", arg(&output)]);
    let again: serde_json::Value = serde_json::from_str(&again.out).expect("JSON");
    assert_eq!(again["experiments"], joined["experiments"]);
}

/// A rank dies while samples are taken: the other one names it, and its own samples are kept.
#[test]
fn a_killed_rank_leaves_the_samples_of_the_others() {
    let _alone = tool::alone();
    if !may_rename() {
        return;
    }
    let dir = tempfile::tempdir().expect("a directory");
    let output = dir.path().join("job");
    let more = ["--variants", "counter", "--grain", "1ms", "--samples", "2000", "--patience", "2s"];
    let args = samples("loops", &output, &more);
    let [first, mut other] = [0, 1].map(|rank| on_node(rank, rank, 2, &args));
    until_there(&output.join("host=node0/run.json"));
    until_there(&output.join("host=node1/run.json"));
    thread::sleep(Duration::from_millis(1500));
    signal(&other, "KILL");
    let first = wait(first);
    other.wait().expect("it was killed");
    assert_eq!(first.code, Some(69), "{}", first.err);
    let missing = "rank 1 on node1 did not come within ";
    assert!(first.is_one_clear_line() && first.err.contains(missing), "{}", first.err);
    assert!(first.err.contains("anechoic summary "), "{}", first.err);
    let shown = anechoic(&["summary", arg(&output)]);
    assert!(matches!(shown.code, Some(1)), "{} {}", shown.out, shown.err);
    assert!(shown.out.contains("node0"), "{}", shown.out);
    let kept = summary(&output.join("host=node0"));
    assert_eq!(kept["series"][0]["facts"]["samples"], 2_000, "{}", kept["series"][0]["facts"]);
}

/// Bound ranks: the first one measures the CPUs of all ranks, not only its own.
#[test]
fn a_host_is_measured_on_the_cpus_of_all_its_ranks() {
    let _alone = tool::alone();
    let allowed = anechoic_system::cpus::allowed();
    let [first, second, ..] = allowed[..] else { return note::skipped("needs two CPUs") };
    let dir = tempfile::tempdir().expect("a directory");
    let (first, second) = (first.to_string(), second.to_string());
    type Case<'a> = (&'a str, [&'a str; 2], &'a [&'a str], &'a [&'a str]);
    let cases: [Case; 3] = [
        ("one each", [&first, &second], &[], &[&first, &second]),
        ("both the same", [&second, &second], &[], &[&second]),
        ("part of them", [&first, &second], &["--cpus", &second], &[&second]),
    ];
    for (name, bound, more, expected) in cases {
        let output = dir.path().join(name);
        let args = run(&output, &[&["-d", "300ms"], more].concat());
        let bound_to = |(rank, cpu): (u32, &str)| {
            spawn(
                Command::new("taskset").args(["-c", cpu, ANECHOIC]).args(&args),
                &by_hand(rank, 2),
            )
        };
        let all = (0..).zip(bound).map(bound_to).collect();
        for done in end_all(all) {
            assert!(matches!(done.code, Some(0 | 1)), "case {name}: {}", done.err);
        }
        let measured = cpus(&output.join(format!("host={}", hostname())));
        let measured: Vec<String> = measured.iter().map(u64::to_string).collect();
        assert_eq!(measured, expected, "case {name}");
    }
}

/// Two hosts, by their names, with two ranks each.
#[test]
fn every_host_has_its_recording() {
    let _alone = tool::alone();
    if !may_rename() {
        return;
    }
    let dir = tempfile::tempdir().expect("a directory");
    let output = dir.path().join("job");
    let args = run(&output, &["-d", "500ms", "--threshold", "1us"]);
    let done = end_all((0..4).map(|rank| on_node(rank / 2, rank, 4, &args)).collect());
    for (rank, done) in done.iter().enumerate() {
        assert!(matches!(done.code, Some(0 | 1)), "rank {rank}: {}", done.err);
        assert_eq!(done.out.is_empty(), rank > 0, "rank {rank}: {}", done.out);
    }
    assert!(done[0].out.contains("node0") && done[0].out.contains("node1"), "{}", done[0].out);
    assert_eq!(names(&output), ["cluster.json", "host=node0", "host=node1"]);
    let merged = cluster(&output);
    assert_eq!((&merged["job"]["ranks"], &merged["job"]["hosts"]), (&4.into(), &2.into()));
    // Both nodes are this machine, so each run knew of the other.
    let mut findings = merged["findings"].as_array().expect("findings").iter();
    assert!(findings.all(|finding| finding["kind"] == "doubtful"), "{}", merged["findings"]);
    let runs = ["node0", "node1"].map(|node| summary(&output.join(format!("host={node}"))));
    let shortest = runs.each_ref().map(|run| run["run"]["cpus"][0]["shortest_gap_ticks"].clone());
    assert_eq!(shortest[0], shortest[1], "one shortest gap of all hosts");
    let [one, other] =
        runs.each_ref().map(|run| run["run"]["start_utc"].as_str().expect("a time").to_owned());
    let [one, other] = [one, other].map(|time| time.parse::<jiff::Timestamp>().expect("a time"));
    let apart = one.duration_since(other).abs();
    assert!(apart < jiff::SignedDuration::from_millis(200), "they started {apart} apart");
}

/// One rank is killed during the run: the others end, name the missing rank, and their measurements are
/// saved.
#[test]
fn a_killed_rank_is_named_and_the_rest_is_kept() {
    let _alone = tool::alone();
    for killed in [1, 0] {
        let dir = tempfile::tempdir().expect("a directory");
        let output = dir.path().join("job");
        let mut all = start_all(2, &run(&output, &["-d", "2s", "--patience", "2s"]));
        let recording = output.join(format!("host={}", hostname()));
        until_there(&recording.join("run.json"));
        thread::sleep(Duration::from_millis(1500));
        signal(&all[killed], "KILL");
        let mut victim = all.remove(killed);
        let done = wait(all.remove(0));
        victim.wait().expect("it was killed");
        assert_eq!(done.code, Some(69), "{killed} killed: {}", done.err);
        assert!(done.is_one_clear_line(), "{killed} killed: {}", done.err);
        let missing = format!("rank {killed} on {} did not come within ", hostname());
        assert!(done.err.contains(&missing), "{killed} killed: {}", done.err);
        assert_eq!(done.err.starts_with("anechoic: rank 1 on "), killed == 0, "{}", done.err);
        if killed == 1 {
            let summary = summary(&recording);
            let state = summary["run"]["state"].to_string();
            assert!(state.contains("interrupted"), "{state}");
            let wall = summary["cpus"][0]["wall_ns"].as_u64().expect("wall_ns");
            assert!((1_900_000_000..10_000_000_000).contains(&wall), "{wall} ns");
            assert!(done.err.contains("anechoic merge "), "{}", done.err);
        } else {
            let cut_off = anechoic(&["summary", arg(&recording)]);
            assert_eq!(cut_off.code, Some(3), "{} {}", cut_off.out, cut_off.err);
            assert!(cut_off.err.contains("cut off"), "{}", cut_off.err);
        }
        // An existing recording is not overwritten.
        let again = anechoic(&["run", "-d", "100ms", "-o", arg(&output)]);
        assert_eq!(again.code, Some(73), "{}", again.err);
    }
}

/// The leading host is gone: the other's complete measurement is saved and can be merged.
#[test]
fn a_host_survives_the_death_of_rank_0() {
    let _alone = tool::alone();
    if !may_rename() {
        return;
    }
    let dir = tempfile::tempdir().expect("a directory");
    let output = dir.path().join("job");
    let args = run(&output, &["-d", "2s", "--patience", "2s"]);
    let [mut first, other] = [0, 1].map(|rank| on_node(rank, rank, 2, &args));
    until_there(&output.join("host=node1/run.json"));
    thread::sleep(Duration::from_millis(1500));
    signal(&first, "KILL");
    let other = wait(other);
    first.wait().expect("it was killed");
    assert_eq!(other.code, Some(69), "{}", other.err);
    assert!(other.err.starts_with("anechoic: rank 1 on node1: "), "{}", other.err);
    assert!(
        other.is_one_clear_line() && other.err.contains("rank 0 on node0 did not come"),
        "{}",
        other.err
    );
    let wall = summary(&output.join("host=node1"))["cpus"][0]["wall_ns"].as_u64().expect("wall_ns");
    assert!((1_900_000_000..10_000_000_000).contains(&wall), "{wall} ns");
    let merged = anechoic(&["merge", arg(&output)]);
    assert_eq!(merged.code, Some(1), "{}", merged.err);
    assert!(merged.out.contains("node1"), "{}", merged.out);
}

/// Ctrl-C reaches all ranks, and what was measured until then is merged.
#[test]
fn a_signal_ends_all_ranks_and_keeps_what_was_measured() {
    let _alone = tool::alone();
    let dir = tempfile::tempdir().expect("a directory");
    let output = dir.path().join("job");
    let all = start_all(3, &run(&output, &["-d", "60s"]));
    until_there(&output.join(format!("host={}/run.json", hostname())));
    thread::sleep(Duration::from_millis(1500));
    all.iter().for_each(|rank| signal(rank, "TERM"));
    let done = end_all(all);
    assert_eq!(done[0].code, Some(1), "{}", done[0].err);
    assert!(done[0].out.contains("ended early"), "{}", done[0].out);
    assert!(
        done[1..].iter().all(|done| done.code == Some(0) && done.err.is_empty()),
        "{}",
        done[1].err
    );
    let wall = cluster(&output)["cpus"][0]["wall_ns"].as_u64().expect("wall_ns");
    assert!((100_000_000..30_000_000_000).contains(&wall), "{wall} ns");
}

/// The plan of a rank that only follows is refused: nobody starts, and rank 0 prints the reason.
#[test]
fn a_refused_follower_ends_the_job_with_its_reason() {
    let _alone = tool::alone();
    let dir = tempfile::tempdir().expect("a directory");
    let output = dir.path().join("job");
    let started = Instant::now();
    let more = |rank: u32| {
        if rank == 2 { &["-d", "20s", "--stop-on", "detour>1ms"][..] } else { &["-d", "20s"] }
    };
    let ranks = (0..3).map(|rank| rank_with(&by_hand(rank, 3), &run(&output, more(rank))));
    let done = end_all(ranks.collect());
    assert!(started.elapsed() < Duration::from_secs(15), "{:?}", started.elapsed());
    let codes = done.iter().map(|done| done.code);
    assert_eq!(codes.collect::<Vec<_>>(), [Some(64); 3], "{}", done[0].err);
    assert!(done[0].is_one_clear_line(), "{}", done[0].err);
    let reason =
        format!("anechoic: rank 2 on {}: --stop-on works for a single process only", hostname());
    assert!(done[0].err.starts_with(&reason), "{}", done[0].err);
    assert!(done[1..].iter().all(|done| done.err.is_empty()), "{}", done[1].err);
}

/// Every rank that learns of an error reports it in one line, soon, and nothing is left behind.
#[test]
fn what_does_not_come_together_is_told() {
    let _alone = tool::alone();
    type Case<'a> = (&'a str, &'a [(u32, u32)], &'a [&'a str], i32, &'a str);
    let cases: [Case; 5] = [
        ("one is missing", &[(0, 3), (1, 3)], &["--patience", "1s"], 69, "rank 2 did not come to "),
        ("no rank 0", &[(1, 2)], &["--patience", "1s"], 69, "rank 0 did not come to "),
        ("two of one rank", &[(0, 3), (1, 3), (1, 3)], &[], 64, "both have rank 1"),
        (
            "repeated",
            &[(0, 2), (1, 2)],
            &["--repeat", "2"],
            64,
            "--repeat works for a single process only",
        ),
        ("no such CPU", &[(0, 2), (1, 2)], &["--cpus", "4000"], 64, "none of the CPUs 4000 "),
    ];
    for (name, ranks, more, code, part) in cases {
        let dir = tempfile::tempdir().expect("a directory");
        let output = dir.path().join("job");
        let args = run(&output, &[&["-d", "200ms"], more].concat());
        let began = Instant::now();
        let all =
            ranks.iter().map(|&(rank, size)| rank_with(&by_hand(rank, size), &args)).collect();
        let done = end_all(all);
        assert!(began.elapsed() < Duration::from_secs(30), "case {name}: {:?}", began.elapsed());
        assert_eq!(done[0].code, Some(code), "case {name}: {}", done[0].err);
        assert!(done[0].err.contains(part), "case {name}: {}", done[0].err);
        assert!(done.iter().all(|done| done.code != Some(0)), "case {name}: one went on");
        assert!(done.iter().all(|done| done.out.is_empty()), "case {name}: {}", done[0].out);
        let left = if output.exists() { names(&output) } else { Vec::new() };
        assert!(left.is_empty(), "case {name}: {left:?}");
    }
}

/// All ranks refuse a directory that is not empty, also one left by a job that was cut off.
#[test]
fn a_directory_that_is_left_over_is_refused() {
    let _alone = tool::alone();
    for there in ["host=a/run.json", ".ensemble/hello/1.0", ".ensemble/welcome"] {
        let dir = tempfile::tempdir().expect("a directory");
        let output = dir.path().join("job");
        let file = output.join(there);
        fs::create_dir_all(file.parent().expect("a directory")).expect("it can be made");
        fs::write(&file, "").expect("it can be written");
        let began = Instant::now();
        let done = end_all(start_all(3, &run(&output, &["-d", "200ms"])));
        assert!(began.elapsed() < Duration::from_secs(30), "{there}: {:?}", began.elapsed());
        assert_eq!(done[0].code, Some(73), "{there}: {}", done[0].err);
        for done in &done {
            assert!(
                done.is_one_clear_line() && done.err.contains("is not empty; "),
                "{there}: {}",
                done.err
            );
        }
    }
}

/// The command line and the environment of a launcher.
#[test]
fn launchers_are_understood() {
    let _alone = tool::alone();
    let dir = tempfile::tempdir().expect("a directory");
    let output = dir.path().join("job");
    let without = anechoic(&["run", "--rank-from-env"]);
    assert_eq!(without.code, Some(64));
    assert!(without.err.contains("--output <DIR>"), "{}", without.err);
    let bare = |environment: &[(&str, &str)]| {
        let owned: Vec<(&str, String)> =
            environment.iter().map(|&(name, value)| (name, value.to_owned())).collect();
        let launchers = anechoic_measure::ensemble::launched::LAUNCHERS;
        let mut command = Command::new(ANECHOIC);
        for launcher in launchers {
            command.env_remove(launcher.rank);
        }
        wait(spawn(command.args(run(&output, &["-d", "200ms", "--json"])), &owned))
    };
    for (environment, part) in [
        (&[][..], "looked for ANECHOIC_RANK and ANECHOIC_SIZE, OMPI_COMM_WORLD_RANK"),
        (&[("PMI_RANK", "0")], "PMI_RANK without PMI_SIZE"),
        (&[("SLURM_PROCID", "x"), ("SLURM_STEP_NUM_TASKS", "1")], "SLURM_PROCID is 'x'"),
    ] {
        let done = bare(environment);
        assert_eq!(done.code, Some(64), "{environment:?}: {}", done.err);
        assert!(
            done.is_one_clear_line() && done.err.contains(part),
            "{environment:?}: {}",
            done.err
        );
        assert!(!output.exists(), "{environment:?}");
    }
    let alone = bare(&[("OMPI_COMM_WORLD_RANK", "0"), ("OMPI_COMM_WORLD_SIZE", "1")]);
    assert!(matches!(alone.code, Some(0 | 1)), "{}", alone.err);
    assert_eq!(cluster(&output)["job"]["ranks"], 1);
}
