//! Jobs that measure to their end, and jobs that end early.

use crate::launched::{
    Ended, Job, LONG_S, Library, library, run, signal, start, start_patiently, wait_for,
};
use anechoic_recording::parallel::Meeting;
use anechoic_recording::run::RunState;
use anechoic_recording::{Recording, Series};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// The recordings of the hosts of a job.
fn hosts(dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).expect("the data set").flatten();
    let is_host = |path: &PathBuf| {
        path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("host="))
    };
    let mut hosts: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(is_host).collect();
    hosts.sort();
    hosts
}

/// The one host of a job on this machine.
fn host(dir: &Path) -> Recording {
    let hosts = hosts(dir);
    let [host] = &hosts[..] else { panic!("one recording, not {hosts:?}") };
    Recording::open(host).expect("it is readable")
}

/// The arguments of a command, with the directory of the data set.
fn asked<'a>(what: &[&'a str], dir: &'a TempDir) -> Vec<&'a str> {
    let dir = dir.path().to_str().expect("text");
    what.iter().copied().chain(["-o", dir]).collect()
}

#[test]
fn one_rank_of_a_host_measures_for_all() {
    for ranks in [1, 2, 5] {
        let dir = TempDir::new().expect("room");
        let ended = run(ranks, &asked(&["run", "-d", "300ms"], &dir));
        assert!(matches!(ended.code, Some(0 | 1)), "{ranks} ranks: {ended:?}");
        assert!(dir.path().join("cluster.json").exists(), "{ranks} ranks: {ended:?}");
        let recording = host(dir.path());
        let parallel = recording.run().parallel.clone().expect("it was a job");
        assert_eq!((parallel.ranks, parallel.hosts), (ranks as u32, 1));
        assert_eq!(parallel.here.len(), ranks, "all are here");
        let name = if library() == Library::OpenMpi { "Open MPI" } else { "MPICH" };
        assert!(parallel.through.starts_with(name), "{}", parallel.through);
        assert_eq!(recording.run().state, RunState::Complete, "{ended:?}");
        let first_lines = ended.out.lines().next().map(|line| ended.out.matches(line).count());
        assert_eq!(first_lines, Some(1), "one rank prints: {}", ended.out);
    }
}

#[test]
fn one_rank_of_a_host_takes_samples_for_all() {
    let methods: [(&str, &[&str]); 4] = [
        ("loops", &["--variants", "counter,sum", "--grain", "100us", "--samples", "500"]),
        ("fwq", &["--grain", "150us", "--repetitions", "400", "--pure"]),
        ("ftq", &["--window", "1ms", "--duration", "200ms"]),
        ("tick", &["--kernel", "intadd", "--repetitions", "500"]),
    ];
    for ((method, more), ranks) in methods.into_iter().zip([4, 1, 2, 3]) {
        let dir = TempDir::new().expect("room");
        let ended = run(ranks, &asked(&[&["measure", method][..], more].concat(), &dir));
        assert!(matches!(ended.code, Some(0 | 1)), "{method}, {ranks} ranks: {ended:?}");
        let joined = fs::read(dir.path().join("hosts.json")).expect("rank 0 joins");
        let joined: serde_json::Value = serde_json::from_slice(&joined).expect("JSON");
        assert_eq!((&joined["job"]["ranks"], &joined["job"]["hosts"]), (&ranks.into(), &1.into()));
        let recording = host(dir.path());
        assert_eq!(recording.run().state, RunState::Complete, "{ended:?}");
        let taken = recording.run().outcomes.iter().map(|outcome| outcome.samples).sum::<u64>();
        let shown = joined["experiments"].as_array().expect("experiments").iter();
        let shown =
            shown.map(|experiment| experiment["samples"].as_u64().expect("a number")).sum::<u64>();
        assert_eq!(shown, taken, "{method}: {joined}");
        let screens = ended.out.matches(" · job of ").count();
        assert_eq!(screens, 1, "one rank prints: {}", ended.out);
    }
}

#[test]
fn when_a_rank_dies_the_samples_of_the_others_are_kept() {
    let dir = TempDir::new().expect("room");
    let what = ["measure", "loops", "--variants", "counter", "--samples", "60000"];
    let mut job = start(3, &asked(&what, &dir));
    measuring(&job, &dir);
    let begun = Instant::now();
    signal(job.rank(2)[1], "KILL");
    let ended = job.end();
    job.wait_for_ranks();
    assert!(begun.elapsed() < Duration::from_secs(30), "not at once: {ended:?}");
    assert_ne!(ended.code, Some(0), "{ended:?}");
    let recording = host(dir.path());
    let run = recording.run();
    assert!(matches!(run.state, RunState::Interrupted(_)), "{:?}: {ended:?}", run.state);
    assert!(run.outcomes.iter().any(|outcome| outcome.samples > 0), "{:?}", run.outcomes);
}

#[test]
fn a_signal_to_the_launcher_ends_all_and_keeps_what_was_measured() {
    let dir = TempDir::new().expect("room");
    let mut job = start(3, &asked(&["run", "-d", "60s"], &dir));
    measuring(&job, &dir);
    let begun = Instant::now();
    signal(job.launcher(), "TERM");
    let ended = job.end();
    job.wait_for_ranks();
    assert!(begun.elapsed() < Duration::from_secs(30), "not at once: {ended:?}");
    // A launcher of MPICH that was asked to stop returns 0, whatever its ranks return.
    assert!(ended.code != Some(0) || library() == Library::Mpich, "{ended:?}");
    interrupted(&dir, &ended);
}

/// Cancels a job like Slurm, or announces its end as `srun --signal=USR1@60` does.
#[test]
fn a_signal_to_all_processes_ends_all_and_keeps_what_was_measured() {
    for (order, sent) in [([0, 1], "TERM"), ([1, 0], "TERM"), ([0, 1], "USR1")] {
        let dir = TempDir::new().expect("room");
        let mut job = start(2, &asked(&["run", "-d", "60s"], &dir));
        measuring(&job, &dir);
        let ranks = [job.rank(0), job.rank(1)];
        for which in order {
            ranks.iter().for_each(|rank| signal(rank[which], sent));
        }
        let ended = job.end();
        job.wait_for_ranks();
        assert_eq!(ended.code, Some(1), "{order:?}, {sent}: {ended:?}");
        interrupted(&dir, &ended);
    }
}

#[test]
fn when_a_rank_dies_the_others_end_and_keep_what_they_measured() {
    // The process that the launcher started, and the rank itself.
    for (which, name) in [(0, "the launcher's child"), (1, "the rank")] {
        let dir = TempDir::new().expect("room");
        let mut job = start(3, &asked(&["run", "-d", "60s"], &dir));
        measuring(&job, &dir);
        let begun = Instant::now();
        signal(job.rank(2)[which], "KILL");
        let ended = job.end();
        job.wait_for_ranks();
        assert!(begun.elapsed() < Duration::from_secs(30), "{name}: not at once: {ended:?}");
        assert!(ended.code != Some(0), "{name}: {ended:?}");
        interrupted(&dir, &ended);
    }
}

#[test]
fn ranks_compute_and_meet() {
    let ended = compute_and_meet(2);
    assert!(matches!(ended.code, Some(0 | 1)), "{ended:?}");
    assert!(ended.out.contains("barrier"), "the screen: {}", ended.out);
}

#[test]
fn ranks_that_share_a_cpu_compute_and_meet() {
    let ended = compute_and_meet(3);
    // They may leave no complete phase.
    assert!(matches!(ended.code, Some(0 | 1 | 3)), "{ended:?}");
}

/// A job of this many ranks, with a round of 200 recorded phases for each kind of meeting.
fn compute_and_meet(ranks: u32) -> Ended {
    let dir = TempDir::new().expect("room");
    let meetings = ["--meet", "barrier,allreduce,nothing", "--duration", "200ms"];
    let what = [&["measure", "bsp", "--grain", "1ms"][..], &meetings].concat();
    let ended = run(ranks as usize, &asked(&what, &dir));
    let recording = host(dir.path());
    assert_eq!(recording.run().state, RunState::Complete, "{ended:?}");
    let series = recording.rows::<Series>().flat_map(|rows| rows.expect("whole"));
    let mut told: Vec<_> =
        series.map(|row| (row.parameters.meeting, row.parameters.rank)).collect();
    told.sort_unstable();
    let of_meeting = |meeting| (0..ranks).map(move |rank| (Some(meeting), Some(rank)));
    let mut all: Vec<_> = Meeting::ALL.into_iter().flat_map(of_meeting).collect();
    all.sort_unstable();
    assert_eq!(told, all, "each rank once in each round");
    let outcomes = &recording.run().outcomes;
    assert!(outcomes.iter().all(|outcome| outcome.samples == 200), "{outcomes:?}");
    ended
}

#[test]
fn when_a_rank_dies_nobody_waits_for_it_at_a_meeting() {
    let dir = TempDir::new().expect("room");
    let mut job = start_patiently(
        2,
        &asked(&["measure", "bsp", "--grain", "1ms", "--duration", "60s"], &dir),
        LONG_S,
    );
    measuring(&job, &dir);
    let begun = Instant::now();
    signal(job.rank(1)[1], "KILL");
    let ended = job.end();
    job.wait_for_ranks();
    assert!(begun.elapsed() < Duration::from_secs(60), "not at once: {ended:?}");
    assert_ne!(ended.code, Some(0), "{ended:?}");
    let left = hosts(dir.path()); // that of the host, and what the dead rank left
    let recording = Recording::open(&left[0]).expect("it is readable");
    let run = recording.run();
    assert!(matches!(run.state, RunState::Interrupted(_)), "{:?}: {ended:?}", run.state);
    assert!(run.outcomes.iter().any(|outcome| outcome.samples > 0), "{:?}", run.outcomes);
}

/// Waits until the loops of a job have run for a while.
fn measuring(job: &Job, dir: &TempDir) {
    job.rank(0);
    let deadline = Instant::now() + Duration::from_secs(60);
    while !hosts(dir.path()).iter().any(|host| host.join("run.json").exists()) {
        assert!(Instant::now() < deadline, "it never began to measure");
        std::thread::sleep(Duration::from_millis(20));
    }
    hosts(dir.path()).iter().for_each(|host| wait_for(&host.join("run.json")));
    std::thread::sleep(Duration::from_millis(1500));
}

/// What was measured until the end is saved and marked as incomplete.
fn interrupted(dir: &TempDir, ended: &Ended) {
    let recording = host(dir.path());
    let run = recording.run();
    assert!(matches!(run.state, RunState::Interrupted(_)), "{:?}: {ended:?}", run.state);
    let measured = run.cpus.iter().all(|cpu| cpu.last_ticks > cpu.first_ticks);
    assert!(measured && !run.cpus.is_empty(), "{:?}", run.cpus);
}
