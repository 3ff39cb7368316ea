//! Ranks that share the replicas of a simulation.

use crate::launched::{BINARY, Job, Library, SHORT_S, library, run, signal, start};
use anechoic_recording::options::Answers;
use anechoic_simulate::{Ask, OPTIONS};
use serde_json::Value;
use std::fs;
use std::process::Command;
use std::time::Duration;
use tempfile::TempDir;

/// Detours in the form of text files.
fn detours(length_ns: u64) -> String {
    (0..50).map(|at| format!("{}\t{}\n", at * 997_000, length_ns + at * 100)).collect()
}

/// Any number of ranks prints the same bytes, whose numbers are those of the library in one process.
#[test]
fn ranks_print_what_one_process_does() {
    let dir = TempDir::new().expect("room");
    let file = dir.path().join("noise.txt");
    fs::write(&file, detours(20_000)).expect("room");
    let options = [
        ("pattern", "halo2d"),
        ("ranks", "16"),
        ("replicas", "7"),
        ("iterations", "3"),
        ("length", "100ms"),
        ("tolerate", "1%"),
    ];
    let answers = Answers::read(OPTIONS, &options).expect("options");
    let ask = Ask::read(&answers).expect("a request");
    let alone = anechoic_simulate::run(&ask, std::slice::from_ref(&file), &|_, _| true);
    let alone = serde_json::to_value(alone.expect("it is simulated")).expect("JSON");
    let mut asked = vec!["simulate".to_owned(), "--json".to_owned()];
    asked.extend(options.iter().flat_map(|(name, value)| [format!("--{name}"), (*value).into()]));
    asked.push(file.to_str().expect("text").to_owned());
    let mut first = None;
    for ranks in [1, 2, 3, 8] {
        let ended = run(ranks, &asked);
        assert_eq!(ended.code, Some(0), "{ranks} ranks: {ended:?}");
        let found: Value = serde_json::from_str(&ended.out).expect("JSON, once");
        assert_eq!(found, alone, "{ranks} ranks");
        assert_eq!(&ended.out, first.get_or_insert(ended.out.clone()), "{ranks} ranks");
    }
}

/// Each rank has a directory of its own; the files of the last one differ, or are missing.
#[test]
fn inputs_that_differ_are_one_error_that_names_the_rank() {
    let cases = [
        (Some(30_000), 65, "it has noise other than rank 0 on"),
        (None, 66, "noise.txt does not exist"),
    ];
    for (last_ns, code, why) in cases {
        let dir = TempDir::new().expect("room");
        for (rank, length_ns) in [Some(20_000), Some(20_000), last_ns].into_iter().enumerate() {
            let own = dir.path().join(rank.to_string());
            fs::create_dir(&own).expect("room");
            if let Some(length_ns) = length_ns {
                fs::write(own.join("noise.txt"), detours(length_ns)).expect("room");
            }
        }
        let launcher = library().launcher(SHORT_S);
        let mut command = Command::new(launcher[0]);
        command.args(&launcher[1..]).args(library().alone()).args(["-n", "3", "sh", "-c"]);
        let rank = library().rank_variable();
        let simulate = "simulate --pattern barrier --ranks 8 --length 100ms noise.txt";
        command.arg(format!("cd ${rank} && exec {BINARY} {simulate}")).current_dir(dir.path());
        let ended = Job::start(command).end();
        assert_eq!(ended.code, Some(code), "{ended:?}");
        assert_eq!(ended.err.matches("rank 2 on ").count(), 1, "{}", ended.err);
        assert!(ended.err.contains(why) && ended.out.is_empty(), "{ended:?}");
        assert_eq!(ended.err.matches("anechoic: ").count(), 1, "{}", ended.err);
    }
}

#[test]
fn a_signal_ends_a_simulation_which_keeps_what_is_complete() {
    // To the launcher, or to one rank.
    for to_launcher in [true, false] {
        let dir = TempDir::new().expect("room");
        let file = dir.path().join("found.json");
        let job =
            "simulate --pattern barrier --ranks 64 --law exponential --replicas 100000 --json -o";
        let mut asked: Vec<&str> = job.split(' ').collect();
        asked.push(file.to_str().expect("text"));
        let mut job = start(3, &asked);
        let ranks = [job.rank(0), job.rank(1), job.rank(2)];
        std::thread::sleep(Duration::from_secs(4));
        signal(if to_launcher { job.launcher() } else { ranks[1][0] }, "TERM");
        let ended = job.end();
        job.wait_for_ranks();
        // A launcher of MPICH that was asked to stop returns 0, whatever its ranks return.
        let is_any = to_launcher && library() == Library::Mpich;
        assert!(ended.code == Some(1) || is_any, "{ended:?}");
        let found = fs::read(&file).expect("it was written");
        let found: Value = serde_json::from_slice(&found).expect("JSON");
        let replicas = found["replicas"].as_array().expect("a list").len();
        assert!((1..100_000).contains(&replicas) && found["ended_early"] == true, "{ended:?}");
    }
}
