//! Trials of two commands. What they find depends on the host; these tests look at how they are made.

use crate::tool::{self, ANECHOIC, Done};
use anechoic_lab::note;
use anechoic_recording::Recording;
use anechoic_recording::run::RunState;
use anechoic_system::cpus;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

/// Short trials without kernel events.
const SHORT: [&str; 5] = ["-d", "300ms", "--settle", "10ms", "--no-trace"];

/// A directory in which the commands keep a log, and the trials go to `trials`.
fn place() -> tempfile::TempDir {
    tempfile::tempdir().expect("a directory")
}

fn command(place: &tempfile::TempDir, args: &[&str]) -> Command {
    let mut command = Command::new(ANECHOIC);
    command.arg("ab").args(SHORT).args(args).current_dir(place.path());
    // Trials that are shown again have a whole screen.
    if !args.contains(&"--show") {
        command.arg("-q");
    }
    command
}

fn ab(place: &tempfile::TempDir, args: &[&str]) -> Done {
    tool::run(&mut command(place, args))
}

/// Returns the words of the log, one of each command that ran.
fn log(place: &tempfile::TempDir) -> Vec<String> {
    let text = fs::read_to_string(place.path().join("log")).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

fn json(done: &Done) -> Value {
    serde_json::from_str(&done.out).unwrap_or_else(|e| panic!("{e}: {} {}", done.out, done.err))
}

fn plan(place: &tempfile::TempDir) -> Value {
    let text = fs::read(place.path().join("trials/ab.json")).expect("a plan");
    serde_json::from_slice(&text).expect("JSON")
}

fn swapped(plan: &Value) -> Vec<bool> {
    let list = plan["swapped"].as_array().expect("a list");
    list.iter().map(|pair| pair.as_bool().expect("yes or no")).collect()
}

/// Returns the recordings of a side, by name.
fn recorded(dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).into_iter().flatten();
    let mut found: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    found.sort();
    found
}

#[test]
fn trials_follow_the_plan_and_are_compared_in_pairs() {
    let _alone = tool::alone();
    let place = place();
    let options = ["--pairs", "3", "--seed", "5", "--json", "-o", "trials"];
    let commands = ["echo a >> log", "echo b >> log", "--after", "echo after >> log"];
    let done = ab(&place, &[&commands[..], &options].concat());
    let (found, plan) = (json(&done), plan(&place));
    assert!(done.code.is_some_and(|code| code <= 3), "{:?}: {}", done.code, done.err);
    let sides =
        swapped(&plan).into_iter().map(|swapped| if swapped { ["b", "a"] } else { ["a", "b"] });
    let expected: Vec<&str> = sides.flatten().chain(["after"]).collect();
    assert_eq!(log(&place), expected);
    assert_eq!((&found["order"], &found["trials"]["seed"]), (&"paired".into(), &5.into()));
    assert_eq!(found["trials"]["complete"], serde_json::json!([1, 2, 3]));
    assert_eq!(found["trials"]["commands"][1], "echo b >> log");
    for side in ["a", "b"] {
        let recordings = recorded(&place.path().join("trials").join(side));
        assert_eq!(recordings.len(), 3, "{recordings:?}");
        for path in recordings {
            let recording = Recording::open(&path).expect("a recording");
            assert_eq!(recording.run().state, RunState::Complete, "{path:?}");
        }
    }
    let again = ab(&place, &["--show", "trials", "--json"]);
    assert_eq!((json(&again), again.code), (found.clone(), done.code), "the same trials");
    let shown = ab(&place, &["--show", "trials", "--html", "ab.html"]);
    assert!(shown.out.contains("echo b >> log") && shown.out.contains("(seed 5)"), "{}", shown.out);
    assert!(place.path().join("ab.html").exists());
    let compared = tool::run(
        Command::new(ANECHOIC)
            .args(["compare", "trials/a", "trials/b", "--json"])
            .current_dir(place.path()),
    );
    assert_eq!(json(&compared)["ratio"], found["ratio"]);
}

#[test]
fn a_duet_measures_both_sides_at_once_on_cpus_that_are_swapped() {
    let _alone = tool::alone();
    let allowed = cpus::allowed();
    let [first, second, ..] = allowed[..] else { return note::skipped("needs two CPUs") };
    let place = place();
    let cpus = format!("{first},{second}");
    let options = ["--pairs", "4", "--duet", "--cpus", &cpus, "--json", "-o", "trials"];
    let done =
        ab(&place, &[&["echo a $CPUS >> log", "echo b $CPUS >> log"][..], &options].concat());
    let (found, plan) = (json(&done), plan(&place));
    assert_eq!(found["order"], "duet", "{found}");
    assert_eq!((&found["other_cpus"], found["before"]["runs"].as_u64()), (&false.into(), Some(4)));
    let lines = |swapped: bool| {
        let (a, b) = if swapped { (second, first) } else { (first, second) };
        [format!("a {a}"), format!("b {b}")]
    };
    let order = swapped(&plan);
    assert_eq!(log(&place), order.iter().flat_map(|pair| lines(*pair)).collect::<Vec<_>>());
    // The noise of a side is that of the CPU that it had.
    for (pair, swapped) in order.into_iter().enumerate() {
        let dir = place.path().join(format!("trials/{:03}", pair + 1));
        let summary = tool::summary(&dir);
        let side_noise =
            |side: &str| found[side]["noise_of_runs"][pair].as_f64().expect("a number");
        for (at, side) in ["before", "after"].into_iter().enumerate() {
            let cpu = &summary["cpus"][(at + usize::from(swapped)) % 2];
            let noise = cpu["noise"].as_f64().expect("a number");
            assert!(
                (side_noise(side) - noise).abs() <= 1e-9,
                "pair {pair}, {side}: {} {noise}",
                side_noise(side)
            );
        }
    }
    let again = ab(&place, &["--show", "trials", "--json"]);
    assert_eq!(json(&again), found);
    for pair in ["003", "004"] {
        fs::remove_dir_all(place.path().join("trials").join(pair)).expect("removed");
    }
    let less = ab(&place, &["--show", "trials"]);
    assert_eq!(less.code, Some(3), "{}", less.err);
    let text = less.out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(!text.to_lowercase().contains("one run"), "{text}");
    for shown in [
        "After 2 pairs of a duet the difference may be that of the CPUs",
        "Measure 3 pairs or more",
    ] {
        assert!(text.contains(shown), "{shown}: {text}");
    }
}

#[test]
fn a_command_that_fails_ends_the_trials_and_keeps_the_pairs_before() {
    let _alone = tool::alone();
    let place = place();
    let fails = "echo b >> log; test $(grep -c b log) -lt 3 || { echo not again; exit 7; }";
    let options = ["--pairs", "9", "--after", "echo after >> log", "-o", "trials"];
    let done = ab(&place, &[&["echo a >> log", fails][..], &options].concat());
    assert_eq!(done.code, Some(69), "{} {}", done.out, done.err);
    assert!(done.is_one_clear_line(), "{}", done.err);
    for part in ["command B", "exit status: 7: not again", "--show trials", "2 complete pairs"] {
        assert!(done.err.contains(part), "{part}: {}", done.err);
    }
    assert_eq!(log(&place).last().map(String::as_str), Some("after"));
    for side in ["a", "b"] {
        assert_eq!(recorded(&place.path().join("trials").join(side)).len(), 2, "side {side}");
    }
    let shown = ab(&place, &["--show", "trials"]);
    assert!(shown.out.contains("2 of 9 pairs are complete"), "{}", shown.out);
}

/// Waits until there is this recording.
fn until_there(place: &tempfile::TempDir, name: &str) {
    let until = Instant::now() + Duration::from_secs(60);
    while !place.path().join(name).exists() {
        assert!(Instant::now() < until, "no {name}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn start(place: &tempfile::TempDir, args: &[&str]) -> Child {
    tool::spawn(&mut command(place, args))
}

#[test]
fn an_interruption_keeps_complete_pairs_and_puts_things_back() {
    let _alone = tool::alone();
    let place = place();
    let options = ["--pairs", "500", "--after", "echo after >> log", "--json", "-o", "trials"];
    let child = start(&place, &[&["echo a >> log", ""][..], &options].concat());
    until_there(&place, "trials/a/002");
    until_there(&place, "trials/b/002");
    tool::signal(&child, "TERM");
    let done = tool::wait(child);
    assert!(matches!(done.code, Some(1 | 3)), "{:?}: {} {}", done.code, done.out, done.err);
    let complete = json(&done)["trials"]["complete"].as_array().expect("a list").len();
    assert!((1..500).contains(&complete), "{complete}");
    assert_eq!(log(&place).last().map(String::as_str), Some("after"));
    for side in ["a", "b"] {
        let kept = recorded(&place.path().join("trials").join(side)).len();
        assert_eq!(kept, complete, "side {side} has only the complete pairs");
    }
}

/// A command that does not end on a signal: the second signal ends everything, and things are put back nevertheless.
#[test]
fn a_sudden_end_puts_things_back() {
    let _alone = tool::alone();
    let place = place();
    let holds = "trap '' TERM; echo holds >> log; sleep 6";
    let options = ["--after", "echo after >> log", "-o", "trials"];
    let child = start(&place, &[&[holds, ""][..], &options, &["--seed", "1"]].concat());
    until_there(&place, "log");
    tool::signal(&child, "TERM");
    std::thread::sleep(Duration::from_millis(2_500));
    tool::signal(&child, "TERM");
    let done = tool::wait(child);
    assert_eq!((done.code, log(&place)), (None, vec!["holds".to_owned(), "after".to_owned()]));
}

/// The command is in the process group of the tool, so Ctrl-C on a terminal ends both.
#[test]
fn an_interruption_while_a_command_runs_keeps_the_pairs_before_it() {
    let _alone = tool::alone();
    let place = place();
    let holds = "echo b >> log; test $(grep -c b log) -lt 3 || exec sleep 30";
    let options = ["--pairs", "9", "--after", "echo after >> log", "--json", "-o", "trials"];
    let mut command = command(&place, &[&["echo a >> log", holds][..], &options].concat());
    let child = tool::spawn(std::os::unix::process::CommandExt::process_group(&mut command, 0));
    let until = Instant::now() + Duration::from_secs(60);
    while log(&place).iter().filter(|word| *word == "b").count() < 3 {
        assert!(Instant::now() < until, "{:?}", log(&place));
        std::thread::sleep(Duration::from_millis(10));
    }
    let group = format!("-{}", child.id());
    let sent = Command::new("kill").args(["-s", "INT", "--", &group]).status().expect("kill");
    assert!(sent.success(), "kill {group}");
    let done = tool::wait(child);
    assert!(matches!(done.code, Some(1 | 3)), "{:?}: {} {}", done.code, done.out, done.err);
    assert_eq!(json(&done)["trials"]["complete"], serde_json::json!([1, 2]), "{}", done.out);
    assert_eq!(log(&place).last().map(String::as_str), Some("after"));
    assert_eq!(recorded(&place.path().join("trials/a")).len(), 2, "also of what was not finished");
    let shown = ab(&place, &["--show", "trials"]);
    assert!(shown.out.contains("2 of 9 pairs are complete, and only these count"), "{}", shown.out);
}

#[test]
fn a_workload_runs_during_its_trial_and_not_after_it() {
    let _alone = tool::alone();
    let place = place();
    let works = "echo $$ >> log; sleep 1000 & echo $! >> log; timeout 1000 sh -c 'echo $$ >> log; sleep 999'";
    let done = ab(&place, &["--during", "", works, "--pairs", "2", "--json", "-o", "trials"]);
    assert_eq!(json(&done)["trials"]["during"], true, "{}", done.err);
    let processes = log(&place);
    assert_eq!(
        processes.len(),
        6,
        "a shell, what it started, and that in another process group, twice"
    );
    for pid in processes {
        let state = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        assert!(state.is_empty() || state.contains(") Z "), "{state}");
    }
    let done = ab(&place, &["--during", "sleep 0.2", "", "--pairs", "2", "-o", "more"]);
    assert!(done.code == Some(69) && done.err.contains("ended before its trial"), "{}", done.err);
    let left = recorded(&place.path().join("more")).into_iter().flat_map(|dir| recorded(&dir));
    assert_eq!(left.count(), 0, "a trial that cannot count leaves no recording");
}

/// While a trial goes on, and after it was killed, nothing takes its recording for one that counts.
#[test]
fn a_trial_that_is_not_finished_is_no_recording() {
    let _alone = tool::alone();
    let place = place();
    let options =
        ["-d", "60s", "--settle", "0s", "--no-trace", "-q", "--pairs", "2", "-o", "trials"];
    let mut long = Command::new(ANECHOIC);
    let child = tool::spawn(long.args(["ab", "", ""]).args(options).current_dir(place.path()));
    let until = Instant::now() + Duration::from_secs(60);
    let begun =
        || ["a", "b"].map(|side| place.path().join("trials").join(side).join(".001.part/run.json"));
    while !begun().iter().any(|file| file.exists()) {
        assert!(Instant::now() < until, "no trial");
        std::thread::sleep(Duration::from_millis(10));
    }
    tool::signal(&child, "KILL");
    tool::wait(child);
    let listed =
        tool::run(Command::new(ANECHOIC).args(["list", "trials"]).current_dir(place.path()));
    assert_eq!(listed.code, Some(66), "{}", listed.out);
    let shown = ab(&place, &["--show", "trials"]);
    assert!(shown.code == Some(3) && shown.err.contains("no complete pair"), "{}", shown.err);
}

#[test]
fn what_is_no_comparison_is_refused() {
    let place = place();
    fs::create_dir(place.path().join("used")).expect("a directory");
    fs::write(place.path().join("used/file"), "x").expect("a file");
    fs::create_dir(place.path().join("hostile")).expect("a directory");
    fs::write(place.path().join("hostile/ab.json"), r#"{"commands": ["a"]}"#).expect("a file");
    fs::create_dir(place.path().join("none")).expect("a directory");
    let plan = r#"{"commands": ["a", "b"], "during": false, "after": null, "seed": 1, "duet": null, "swapped": []}"#;
    fs::write(place.path().join("none/ab.json"), plan).expect("a file");
    fs::create_dir(place.path().join("duet")).expect("a directory");
    let duet =
        plan.replace("\"duet\": null", "\"duet\": [[0], [0]]").replace("[]", "[true, false]");
    fs::write(place.path().join("duet/ab.json"), duet).expect("a file");
    let cases: [(&str, &[&str], i32, &str); 11] = [
        ("no pairs", &["--show", "none"], 65, "0 pairs are planned"),
        ("CPUs of both sides", &["--show", "duet"], 65, "two halves"),
        ("one command", &["true"], 64, "COMMAND_B"),
        ("one pair", &["true", "true", "--pairs", "1"], 64, "give 2 to 10000"),
        ("in use", &["true", "true", "-o", "used"], 64, "is not empty"),
        ("no CPUS", &["sysctl a=1", "sysctl a=0", "--duet", "--cpus", "0,1"], 64, "$CPUS"),
        ("one CPU", &["x $CPUS", "", "--duet", "--cpus", "0"], 64, "two CPUs"),
        ("a job of a duet", &["x $CPUS", "", "--duet", "--ranks", "9"], 64, "--ranks"),
        ("nothing there", &["--show", "used"], 66, "has no trials"),
        ("damaged", &["--show", "hostile"], 65, "ab.json"),
        ("no such program", &["/no/such/program", "", "--pairs", "2"], 69, "not found"),
    ];
    for (name, args, code, expected) in cases {
        let done = ab(&place, args);
        assert_eq!(done.code, Some(code), "case: {name}: {} {}", done.out, done.err);
        assert!(done.err.contains(expected), "case: {name}: {}", done.err);
    }
}
