//! What under contrib/ measures: the script of the timer, and the test of ReFrame.

use crate::contrib::{path_with_anechoic, program, root};
use crate::tool::{ANECHOIC, Done, alone, anechoic, arg, command, run};
use anechoic_lab::note;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, SystemTime};

/// Runs the script with these settings, in addition to those that every case has.
fn measure(dir: &Path, settings: &str) -> Done {
    let file = dir.join("settings");
    let usual = format!("DIR={0}/health\nRUN='--duration 1s --cpus 1'\nBUSY=false\n", arg(dir));
    fs::write(&file, format!("{usual}{settings}\n")).expect("written");
    let script = root().join("contrib/anechoic-measure");
    run(Command::new("sh").arg(script).arg(file).env("PATH", path_with_anechoic()))
}

/// Returns the names in the directory of recordings.
fn names(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir.join("health")).expect("a directory");
    let names = entries.map(|entry| entry.expect("an entry").file_name());
    let mut names: Vec<String> = names.map(|name| name.to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[test]
fn the_script_of_the_timer_leaves_one_new_recording() {
    let _alone = alone();
    let dir = tempfile::tempdir().expect("a directory");
    let at = |name: &str| dir.path().join(name);
    for (settings, code, words) in [
        ("BUSY=true", 0, "a job runs here, nothing measured"),
        ("RUN=--bogus", 64, "has no option --bogus"),
        ("DIR=/proc/none", 73, "/proc/none"),
    ] {
        let done = measure(dir.path(), settings);
        assert_eq!(done.code, Some(code), "{settings}: {}{}", done.out, done.err);
        assert!(format!("{}{}", done.out, done.err).contains(words), "{settings}: {}", done.out);
        assert_eq!(names(dir.path()), [".lock"], "{settings}");
    }
    // What an interrupted measurement left, and a recording that is too old.
    for name in ["health/.new", "health/20200101T000000Z"] {
        fs::create_dir(at(name)).expect("created");
    }
    let old = fs::File::open(at("health/20200101T000000Z")).expect("a directory");
    let ago = SystemTime::now() - Duration::from_hours(24 * 9);
    old.set_modified(ago).expect("set");
    let done = measure(dir.path(), &format!("METRICS={}/noise.prom", arg(dir.path())));
    assert_eq!(done.code, Some(0), "{}{}", done.out, done.err);
    let left = names(dir.path());
    assert!(left.len() == 2 && left[1].ends_with('Z') && left[1] != "20200101T000000Z", "{left:?}");
    assert!(done.out.contains(&format!("health/{}: 1 CPU", left[1])), "{}", done.out);
    let metrics = fs::read_to_string(at("noise.prom")).expect("written");
    assert!(metrics.contains("\nanechoic_noise_ratio "), "{metrics}");
    assert_eq!(fs::metadata(at("noise.prom")).expect("there").mode() & 0o777, 0o644);
    let health = at("health");
    let judged =
        ["gate", arg(&health), "--max-age", "1h", "--max-detour", "100s", "--min-time", "500ms"];
    let done = anechoic(&[&judged[..], &["--style", "nagios"]].concat());
    match done.out {
        _ if done.code == Some(0) => {}
        line if line.contains("competition") => note::not_judged(line),
        line => panic!("{line}"),
    }
}

#[test]
fn reframe_runs_the_test_and_reports_what_was_measured() {
    let Some(reframe) = program("reframe/bin/reframe") else { return };
    let _alone = alone();
    let dir = tempfile::tempdir().expect("a directory");
    let test = root().join("contrib/reframe/anechoic_noise.py");
    for (rules, passes) in [("--max-detour 100s", true), ("--max-noise 0.000001%", false)] {
        let mut command = Command::new(&reframe);
        command.current_dir(dir.path()).env("PATH", path_with_anechoic()).env("HOME", dir.path());
        command.args(["--nocolor", "--performance-report", "-r", "-c", arg(&test)]);
        command.args(["-S", "options=--duration 4s --cpus 1", "-S", &format!("rules={rules}")]);
        let done = run(&mut command);
        assert!(
            done.out.contains("Ran 1/1 test case(s) from 1 check(s)"),
            "{}{}",
            done.out,
            done.err
        );
        match done.code {
            Some(0) if passes => {
                for unit in ["│ noise ", "│ longest ", "│ detours_per_cpu "] {
                    assert!(done.out.contains(unit), "{}", done.out);
                }
            }
            Some(1) if done.out.contains("that is competition") => {
                note::not_judged("other programs had the CPU");
            }
            Some(1) if !passes => {
                assert!(
                    done.out.contains("sanity error: ANECHOIC CRITICAL - max-n"),
                    "{}",
                    done.out
                );
            }
            _ => panic!("{}{}", done.out, done.err),
        }
    }
}

/// A Slurm of one node, with the prolog and the epilog as they are installed: in namespaces of its own, which end with it.
#[test]
fn slurm_measures_after_a_job_and_drains_for_a_limit_only() {
    let Some(slurm) = program("slurm") else { return };
    let _alone = alone();
    let dir = tempfile::tempdir().expect("a directory");
    let contrib = root().join("contrib");
    for (file, place) in [
        (Path::new(ANECHOIC), "usr/bin/anechoic"),
        (&contrib.join("anechoic-measure"), "usr/libexec/anechoic-measure"),
        (&contrib.join("gate.toml"), "etc/anechoic/gate.toml"),
        (&contrib.join("slurm/anechoic-prolog"), "etc/slurm/anechoic-prolog"),
        (&contrib.join("slurm/anechoic-epilog"), "etc/slurm/anechoic-epilog"),
    ] {
        let place = dir.path().join("site").join(place);
        fs::create_dir_all(place.parent().expect("a directory")).expect("created");
        fs::copy(file, place).expect("copied");
    }
    let (site, scratch) = (dir.path().join("site"), dir.path().join("scratch"));
    fs::create_dir_all(site.join("etc/default")).expect("created");
    let settings = "RUN='--duration 1s --cpus 1'\n";
    fs::write(site.join("etc/default/anechoic-health"), settings).expect("written");
    fs::create_dir(&scratch).expect("created");
    let (script, example) =
        (root().join("crates/cli/tests/measuring/slurm.sh"), root().join("docs/examples/before"));
    let namespaces = ["--mount", "--pid", "--fork", "--kill-child", "--mount-proc"];
    let places = [&script, &slurm, &site, &scratch, &example].map(|path| arg(path));
    let done = command("unshare", &[&namespaces[..], &["sh"], &places].concat());
    if done.err.contains("Operation not permitted") {
        return note::skipped("no namespaces of its own (root)");
    }
    let lines = [
        "without a recording: ran",
        "measured in the epilog: 1",
        "over a limit: launch failed requeued held, Prolog error",
        "output:ANECHOIC CRITICAL - max-noise 1%: CPU 1: 3.81 %",
        "too old: ran",
        "during a job: anechoic-measure: a job runs here, nothing measured",
    ];
    assert_eq!(done.out.lines().collect::<Vec<_>>(), lines, "{}", done.err);
}
