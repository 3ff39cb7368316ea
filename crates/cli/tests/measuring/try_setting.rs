//! `anechoic try` changes real settings of this machine. The files are watched from outside while it does.

use crate::tool::{self, ANECHOIC, Done, anechoic, arg, ensure, noisy, one_of};
use anechoic_lab::note;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

const STAT: &str = "/proc/sys/vm/stat_interval";
const SWAPPINESS: &str = "/proc/sys/vm/swappiness";
/// Trials that say nothing, but are soon over.
const SHORT: [&str; 9] =
    ["-d", "100ms", "--settle", "50ms", "--no-trace", "--pairs", "2", "-q", "--no-save"];

fn value(file: &str) -> String {
    fs::read_to_string(file).map(|text| text.trim().to_owned()).unwrap_or_default()
}

/// Returns a value that a setting does not have, if this test may change it; notes the reason if not.
fn other(file: &str) -> Option<String> {
    if !tool::may_trace() {
        return None;
    }
    let now = value(file);
    let number: u64 = now.parse().ok()?;
    let same = fs::write(file, &now);
    if same.is_err() {
        note::skipped("may not write settings of the kernel");
    }
    same.ok().map(|()| (number + 3).to_string())
}

/// Reads a file until it is told to stop, and returns the values that it saw, each with how often it changed to that.
fn watch(file: &'static str) -> (Arc<AtomicBool>, JoinHandle<Vec<String>>) {
    let stop = Arc::new(AtomicBool::new(false));
    let until = Arc::clone(&stop);
    let watcher = thread::spawn(move || {
        let mut seen: Vec<String> = vec![];
        while !until.load(Ordering::Acquire) {
            let now = value(file);
            if seen.last() != Some(&now) {
                seen.push(now);
            }
            thread::sleep(Duration::from_millis(2));
        }
        seen
    });
    (stop, watcher)
}

fn json(done: &Done) -> Value {
    serde_json::from_str(&done.out)
        .unwrap_or_else(|error| panic!("{error}: {} {}", done.out, done.err))
}

#[test]
fn two_settings_alternate_in_the_planned_order_and_are_put_back() {
    let _alone = tool::alone();
    let (Some(stat), Some(swappiness)) = (other(STAT), other(SWAPPINESS)) else { return };
    let before = [value(STAT), value(SWAPPINESS)];
    let place = tempfile::tempdir().expect("a directory");
    let dir = place.path().join("trials");
    let (stop, watcher) = watch(STAT);
    let (first, second) =
        (format!("vm.stat_interval={stat}"), format!("/proc/sys/vm/swappiness={swappiness}"));
    let trials =
        ["try", &first, &second, "-d", "200ms", "--settle", "50ms", "--no-trace", "--pairs", "3"];
    let done = anechoic(&[&trials[..], &["-q", "--json", "--seed", "7", "-o", arg(&dir)]].concat());
    stop.store(true, Ordering::Release);
    let seen = watcher.join().expect("it ends");
    assert!(done.code.is_some_and(|code| code <= 3), "{:?}: {}", done.code, done.err);
    assert_eq!([value(STAT), value(SWAPPINESS)], before);
    let found = json(&done);
    let settings = &found["trials"]["settings"];
    assert_eq!(settings[0]["name"], "vm.stat_interval");
    assert_eq!(
        (&settings[1]["before"], &settings[1]["value"]),
        (&Value::from(&*before[1]), &Value::from(&*swappiness))
    );
    // What was seen from outside is the order of the plan: off is before, on is what was asked for.
    let swapped = found["trials"]["swapped"].as_array().expect("a list");
    let mut expected = vec![before[0].clone()];
    for pair in swapped {
        let order = if pair == true { [&stat, &before[0]] } else { [&before[0], &stat] };
        for side in order {
            if expected.last() != Some(side) {
                expected.push(side.clone());
            }
        }
    }
    if expected.last() != Some(&before[0]) {
        expected.push(before[0].clone());
    }
    assert_eq!(seen, expected);
    // Each recording has the setting of its side.
    for (side, expected) in [("a", &before[0]), ("b", &stat)] {
        for run in ["001", "002", "003"] {
            let text = fs::read(dir.join(side).join(run).join("run.json")).expect("a recording");
            let run: Value = serde_json::from_slice(&text).expect("JSON");
            let all = run["machine"]["settings"].as_array().expect("a list");
            let setting =
                all.iter().find(|one| one["name"] == "vm.stat_interval").expect("it is there");
            assert_eq!(setting["effective"], Value::from(&**expected), "{side}");
        }
    }
    let shown = anechoic(&["ab", "--show", arg(&dir)]).out;
    assert!(shown.contains("it lasts with") && shown.contains("/etc/sysctl.d"), "{shown}");
}

#[test]
fn what_cannot_be_tried_is_refused_in_one_line_and_nothing_is_written() {
    let Some(stat) = other(STAT) else { return };
    let now = value(STAT);
    let (same, wanted) = (format!("vm.stat_interval={now}"), format!("vm.stat_interval={stat}"));
    let cases: &[(&str, &[&str], i32, &str)] = &[
        ("the present value", &[&same], 64, "already: both sides would be the same"),
        ("no number", &["vm.stat_interval=soon"], 64, "'soon' is not a whole number"),
        ("a value that the kernel refuses", &["vm.swappiness=100000"], 69, "Invalid argument"),
        ("no such setting", &["vm.stat_intervall=3"], 64, "did you mean vm.stat_interval?"),
        ("no such choice", &["transparent_hugepage=sometimes"], 64, "always, madvise, never"),
        ("a name without a value", &["vm.stat_interval", &wanted], 64, "has no value"),
        ("twice", &[&wanted, &wanted], 64, "named twice"),
        ("not of this machine", &["irq/99999=0"], 69, "/proc/irq/99999"),
        ("not at run time", &["smt=off"], 64, "not tried"),
        ("no command", &[&wanted, "--record"], 64, "COMMAND"),
        ("a command that is not recorded", &[&wanted, "--", "true"], 64, "--record"),
        ("nothing to try", &["--dry-run"], 64, "SETTING"),
    ];
    for (name, args, code, says) in cases {
        let done = anechoic(&[&["try", "-q", "--no-save"], *args].concat());
        assert_eq!(done.code, Some(*code), "case: {name}: {}", done.err);
        assert!(
            done.err.contains(says) && !done.err.contains("panicked"),
            "case: {name}: {}",
            done.err
        );
        assert_eq!((value(STAT), &*done.out), (now.clone(), ""), "case: {name}");
    }
    let (stop, watcher) = watch(STAT);
    let done = anechoic(&["try", &wanted, "--dry-run"]);
    stop.store(true, Ordering::Release);
    assert_eq!(watcher.join().expect("it ends"), [now]);
    assert!(done.code == Some(0) && done.out.contains(&format!("{STAT} = {stat}")), "{}", done.out);
}

/// Starts trials with long pauses, and waits until they have changed the setting.
fn changed(wanted: &str, dir: &Path) -> Child {
    let before = value(STAT);
    let trials =
        ["try", wanted, "-d", "100ms", "--settle", "30s", "--no-trace", "--seed", "1", "-q", "-o"];
    // Whichever comes first: if it is the side as it was, the pause before the other one is short.
    let mut child = None;
    for seed in 0..20 {
        let seed = seed.to_string();
        let mut args = trials.to_vec();
        args[8] = &seed;
        let one = tool::start(&[&args[..], &[arg(&dir.join(&seed))]].concat());
        let until = Instant::now() + Duration::from_secs(2);
        while value(STAT) == before && Instant::now() < until {
            thread::sleep(Duration::from_millis(2));
        }
        if value(STAT) != before {
            child = Some(one);
            break;
        }
        tool::signal(&one, "INT");
        tool::wait(one);
    }
    child.expect("a random order in which the setting comes first")
}

#[test]
fn every_end_puts_the_settings_back() {
    let _alone = tool::alone();
    let Some(stat) = other(STAT) else { return };
    let (before, wanted) = (value(STAT), format!("vm.stat_interval={stat}"));
    for signal in ["INT", "TERM", "HUP", "QUIT", "USR1", "XCPU"] {
        let place = tempfile::tempdir().expect("a directory");
        let child = changed(&wanted, place.path());
        assert_eq!(value(STAT), stat);
        tool::signal(&child, signal);
        let done = tool::wait(child);
        assert_eq!(value(STAT), before, "SIG{signal}: {}", done.err);
        assert_eq!(done.code, Some(3), "SIG{signal}: {}", done.err);
    }
    // A value that somebody else sets stays, and is reported.
    let place = tempfile::tempdir().expect("a directory");
    let child = changed(&wanted, place.path());
    fs::write(STAT, "77").expect("root");
    tool::signal(&child, "INT");
    let done = tool::wait(child);
    let now = value(STAT);
    fs::write(STAT, &before).expect("root");
    assert_eq!(now, "77", "{}", done.err);
    assert!(done.err.contains("stays 77, which somebody else has set"), "{}", done.err);
}

#[test]
fn a_second_instance_is_refused_with_the_name_of_the_first() {
    let _alone = tool::alone();
    let Some(stat) = other(STAT) else { return };
    let (before, wanted) = (value(STAT), format!("vm.stat_interval={stat}"));
    let place = tempfile::tempdir().expect("a directory");
    let child = changed(&wanted, place.path());
    let done = anechoic(&[&["try", "vm.swappiness=61"], &SHORT[..]].concat());
    assert_eq!(done.code, Some(69), "{}", done.err);
    let named = format!("process {} (", child.id());
    assert!(done.is_one_clear_line() && done.err.contains(&named), "{}", done.err);
    // Nor does another start take the change of a process that lives for what a killed one left.
    anechoic(&["check"]);
    assert_eq!(value(STAT), stat);
    tool::signal(&child, "INT");
    tool::wait(child);
    assert_eq!(value(STAT), before);
}

/// Nothing can be caught; the next start puts everything back, whatever it does, and reports that.
#[test]
fn what_a_kill_left_is_put_back_by_the_next_start() {
    let _alone = tool::alone();
    let (Some(stat), Some(swappiness)) = (other(STAT), other(SWAPPINESS)) else { return };
    let before = [value(STAT), value(SWAPPINESS)];
    let (first, second) =
        (format!("vm.stat_interval={stat}"), format!("vm.swappiness={swappiness}"));
    let mut left = BTreeSet::new();
    for round in 0..6_u64 {
        let child = tool::start(&[&["try", &first, &second], &SHORT[..]].concat());
        thread::sleep(Duration::from_millis(150 + 170 * round));
        tool::signal(&child, "KILL");
        tool::wait(child);
        let changed = [value(STAT), value(SWAPPINESS)] != before;
        left.insert(changed);
        let done = anechoic(&["check"]);
        assert_eq!([value(STAT), value(SWAPPINESS)], before, "round {round}");
        let reported = done.err.contains("a killed anechoic had changed settings");
        assert_eq!(reported, changed, "round {round}: {}", done.err);
    }
    if !left.contains(&true) {
        note::skipped("no kill fell into a trial of side B");
    }
}

/// ksmd scans memory as fast as it can, on side A only: the truth is the CPU time of its thread, as the kernel counts it.
#[test]
fn a_setting_that_matters_is_found_and_one_that_does_not_is_not() {
    let _alone = tool::alone();
    let Some(cpu) = noisy() else { return };
    let run = "/sys/kernel/mm/ksm/run";
    let files = ["run", "sleep_millisecs", "pages_to_scan"]
        .map(|file| format!("/sys/kernel/mm/ksm/{file}"));
    let before = files.each_ref().map(|file| value(file));
    let Some(ksmd) = tool::command("pgrep", &["-x", "ksmd"]).out.lines().next().map(str::to_owned)
    else {
        return note::skipped("the kernel has no ksmd");
    };
    let merging = "import mmap,time\nm=mmap.mmap(-1,256<<20,flags=mmap.MAP_PRIVATE|mmap.MAP_ANONYMOUS)\nm.madvise(12)\nfor i in range(0,len(m),4096): m[i:i+8]=i.to_bytes(8,'little')\ntime.sleep(180)";
    let mut program = Command::new("python3")
        .args(["-c", merging])
        .stdout(Stdio::null())
        .spawn()
        .expect("python");
    for (file, text) in files.iter().zip(["1", "0", "2000"]) {
        fs::write(file, text).expect("root");
    }
    tool::command("taskset", &["-pc", &cpu, &ksmd]);
    let trials = |setting: &str| {
        let dir = tempfile::tempdir().expect("a directory");
        let options = [
            "--cpus", &cpu, "-d", "700ms", "--settle", "100ms", "--pairs", "5", "-q", "--json",
            "-o",
        ];
        let done = anechoic(&[&["try", setting], &options[..], &[arg(dir.path())]].concat());
        json(&done)
    };
    let ksmd_takes = |found: &Value| {
        let mut all = found["sources"].as_array().into_iter().flatten();
        let ours = all.find(|one| one["name"] == "ksmd").map(|one| one["difference"].clone());
        println!("{} {ours:?}", found["verdict"]);
        ours.unwrap_or_default()
    };
    let found = std::panic::catch_unwind(|| {
        one_of(3, || {
            let ours = ksmd_takes(&trials("ksm=0"));
            let right = ours["clear"] == true
                && ours["before"].as_f64() > Some(0.02)
                && ours["after"].as_f64() < Some(0.001);
            ensure(right, ours.is_null(), || format!("{ours}"))
        });
        // How readily memory is swapped changes nothing for ksmd, which goes on.
        one_of(3, || {
            let ours = ksmd_takes(&trials("vm.swappiness=61"));
            let right = ours["clear"] == false && ours["after"].as_f64() > Some(0.02);
            ensure(right, ours.is_null(), || format!("{ours}"))
        });
    });
    let after = value(run);
    for (file, text) in files.iter().zip(&before) {
        let _ = fs::write(file, text);
    }
    let all = format!("0-{}", thread::available_parallelism().map_or(1, |number| number.get()) - 1);
    tool::command("taskset", &["-pc", &all, &ksmd]);
    let _ = program.kill();
    let _ = program.wait();
    assert_eq!(after, "1", "put back to what it was during the test");
    assert!(found.is_ok(), "{found:?}");
}

/// An ordinary user sees the list, and is refused in one line.
#[test]
fn without_root_the_list_is_shown_and_a_trial_is_refused() {
    let Some(stat) = other(STAT) else { return };
    let wanted = format!("vm.stat_interval={stat}");
    let as_nobody = |args: &[&str]| {
        tool::command(
            "setpriv",
            &[&["--reuid=65534", "--regid=65534", "--clear-groups", ANECHOIC], args].concat(),
        )
    };
    let list = as_nobody(&["try"]);
    if list.code != Some(0) {
        return note::skipped("another user may not run the program here");
    }
    assert!(
        list.out.contains("vm.stat_interval") && list.err.is_empty(),
        "{} {}",
        list.out,
        list.err
    );
    let done = as_nobody(&["try", &wanted, "-q", "--no-save"]);
    assert_eq!(done.code, Some(69), "{}", done.err);
    assert!(done.is_one_clear_line() && done.err.contains("run as root"), "{}", done.err);
}
