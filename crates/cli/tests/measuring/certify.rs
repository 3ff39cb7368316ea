//! Certificates of a benchmark that really runs, beside noise that really is there.

use crate::tool::{self, anechoic, arg, command, may_trace, noisy, run, signal, start, wait};
use anechoic_lab::note;
use serde_json::Value;
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// Multiplies as many million times as its first argument says, and returns the second one.
const BENCHMARK: &str = "#include <stdlib.h>
int main(int c, char **v) {
  volatile double x = 1;
  for (long i = atol(v[1]) * 1000000L; i > 0; i--) x = x * 1.0000001;
  return c > 2 ? atoi(v[2]) : 0;
}";

/// Builds the benchmark; nothing without a compiler.
fn benchmark(dir: &Path) -> Option<PathBuf> {
    let (source, program) = (dir.join("bench.c"), dir.join("bench"));
    fs::write(&source, BENCHMARK).expect("written");
    let built = command("cc", &["-O1", "-o", arg(&program), arg(&source)]);
    if built.code != Some(0) {
        note::skipped("there is no C compiler");
    }
    Some(program).filter(|_| built.code == Some(0))
}

/// Certifies a run on this CPU with these options; returns its exit code and the certificate.
fn certified(dir: &Path, cpu: &str, options: &[&str], work: &[&str]) -> (Option<i32>, Value) {
    let (file, program) = (dir.join("certificate.json"), dir.join("bench"));
    let fixed = ["certify", "-q", "--force", "--cpus", cpu, "--certificate", arg(&file)];
    let pinned = ["--", "taskset", "-c", cpu, arg(&program)];
    let done = anechoic(&[&fixed[..], options, &pinned[..], work].concat());
    let text = fs::read(&file).unwrap_or_else(|_| panic!("no certificate: {done:?}"));
    (done.code, serde_json::from_slice(&text).expect("JSON"))
}

#[test]
fn noise_makes_a_machine_unfit_and_is_named() {
    let _alone = tool::alone();
    let Some(cpu) = noisy().filter(|_| may_trace()) else { return };
    let place = tempfile::tempdir().expect("a directory");
    let dir = place.path();
    if benchmark(dir).is_none() {
        return;
    }
    let injected = [
        "inject", "-q", "--kind", "thread", "--rate", "100hz", "--length", "500us", "--for", "30s",
    ];
    let noise = start(&[&injected[..], &["--cpus", &cpu]].concat());
    std::thread::sleep(Duration::from_millis(500));
    let (code, found) = certified(dir, &cpu, &[], &["300"]);
    let (warned, _) = certified(dir, &cpu, &["--on-unfit", "warn"], &["300"]);
    let (skipped, _) = certified(dir, &cpu, &["--on-unfit", "skip"], &["300"]);
    let (failed, _) = certified(dir, &cpu, &[], &["300", "7"]);
    signal(&noise, "TERM");
    wait(noise);
    assert_eq!((code, &found["verdict"]), (Some(2), &Value::from("unfit")), "{found:#}");
    assert_eq!((warned, skipped, failed), (Some(1), Some(0), Some(7)));
    // 500 µs at 100 Hz are 5 %.
    let lost = found["lost"].as_f64().expect("a share");
    assert!(lost > 0.03, "{found:#}");
    let named = found["sources"].as_array().expect("sources").iter();
    let named = named.take(2).any(|source| source["name"] == format!("inject {cpu}"));
    assert!(named, "{found:#}");
}

#[test]
fn what_is_allowed_fits_and_what_is_too_short_is_undecided() {
    let _alone = tool::alone();
    let Some(cpu) = noisy().filter(|_| may_trace()) else { return };
    let place = tempfile::tempdir().expect("a directory");
    let dir = place.path();
    if benchmark(dir).is_none() {
        return;
    }
    let (code, found) = certified(dir, &cpu, &["--max-noise", "90%"], &["300"]);
    assert!(found["effect"].is_null(), "{found:#}");
    // On a busy CPU the loops may see no interrupt alone, so that nothing bounds what their entry and exit took.
    let expected = if found["lost_at_most"].is_null() { (3, "undecided") } else { (0, "fit") };
    assert_eq!((code, &found["verdict"]), (Some(expected.0), &expected.1.into()), "{found:#}");
    let (code, found) = certified(dir, &cpu, &["--max-noise", "50%"], &["1"]);
    // A program that waits long for its CPU wants it for long enough to be judged.
    let wanted_ns = found["runs"][0]["wanted_ns"].as_u64().expect("a time");
    match wanted_ns < 10_000_000 {
        true => assert_eq!((code, &found["verdict"]), (Some(3), &Value::from("undecided"))),
        false => note::not_judged("others had the CPU"),
    }
    let asked = ["--max-noise", "90%", "--min-effect", "1%"];
    let (code, found) = certified(dir, &cpu, &asked, &["200"]);
    assert_eq!((code, &found["verdict"]), (Some(3), &Value::from("undecided")), "{found:#}");
    let repeated = ["--max-noise", "90%", "--min-effect", "0.00001%", "--repeat", "5"];
    let (code, found) = certified(dir, &cpu, &repeated, &["50"]);
    assert_eq!((code, found["effect"]["runs"].as_u64()), (Some(2), Some(5)), "{found:#}");
}

/// The loops watch one CPU, and the command runs on the other.
#[test]
fn a_cpu_that_the_loops_did_not_watch_is_named() {
    let _alone = tool::alone();
    let allowed = anechoic_system::cpus::allowed();
    let [other, .., cpu] = allowed[..] else { return note::skipped("there is only one CPU") };
    if !may_trace() {
        return;
    }
    let place = tempfile::tempdir().expect("a directory");
    if benchmark(place.path()).is_none() {
        return;
    }
    for (watched, is_named) in [(cpu.to_string(), true), (other.to_string(), false)] {
        let program = place.path().join("bench");
        let file = place.path().join("certificate.json");
        let fixed = ["certify", "-q", "--force", "--on-unfit", "skip", "--cpus", &watched];
        let other = other.to_string();
        let pinned =
            ["--certificate", arg(&file), "--", "taskset", "-c", &other, arg(&program), "100"];
        let done = anechoic(&[&fixed[..], &pinned].concat());
        assert_eq!(done.code, Some(0), "{done:?}");
        let found: Value =
            serde_json::from_slice(&fs::read(&file).expect("written")).expect("JSON");
        let named = format!("take on CPU {other},");
        let texts = found["not_visible"].as_array().expect("texts").iter();
        let seen = texts.filter_map(Value::as_str).any(|text| text.contains(&named));
        assert_eq!(seen, is_named, "{found:#}");
    }
}

/// The third of five runs fails: it is no sample, and the command's code is passed on.
#[test]
fn a_run_that_fails_does_not_count() {
    let place = tempfile::tempdir().expect("a directory");
    let dir = place.path();
    let (file, count) = (dir.join("c.json"), dir.join("count"));
    let script = format!("echo >> {0}; [ $(wc -l < {0}) -ne 3 ] || exit 9", count.display());
    let options = [
        "certify",
        "-q",
        "--no-trace",
        "--repeat",
        "5",
        "--min-effect",
        "5%",
        "--max-noise",
        "100%",
    ];
    let done = anechoic(
        &[&options[..], &["--certificate", arg(&file), "--", "sh", "-c", &script]].concat(),
    );
    assert_eq!(done.code, Some(9), "{done:?}");
    let found: Value = serde_json::from_slice(&fs::read(&file).expect("written")).expect("JSON");
    let runs = found["runs"].as_array().map(Vec::len);
    assert_eq!((runs, &found["verdict"]), (Some(2), &Value::from("undecided")), "{found:#}");
    let checked = found["checks"].as_array().expect("checks").iter();
    assert!(checked.clone().any(|check| check["what"] == "runs"), "{found:#}");
    assert!(found["effect"].is_null());
}

/// Two threads that wait for each other are no noise, and without events nothing tells them from other programs.
#[test]
fn own_threads_are_no_noise() {
    let place = tempfile::tempdir().expect("a directory");
    let (file, spin) =
        (place.path().join("c.json"), "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done");
    let script = format!("{{ {spin}; }} & {spin}; wait");
    let options = ["certify", "-q", "--no-trace", "--certificate", arg(&file)];
    let command = ["--", "taskset", "-c", "0", "sh", "-c", &script];
    let done = anechoic(&[&options[..], &command].concat());
    let found: Value = serde_json::from_slice(&fs::read(&file).expect("written")).expect("JSON");
    assert_eq!((done.code, found["lost"].as_f64()), (Some(3), Some(0.0)), "{found:#}");
}

/// Another process that is always runnable takes half of the CPU. Without privileges the kernel's own account of the run queue
/// shows it.
#[test]
fn a_competitor_is_seen_without_privileges() {
    let _alone = tool::alone();
    let Some(cpu) = noisy() else { return };
    let place = tempfile::tempdir().expect("a directory");
    let dir = place.path();
    let Some(program) = benchmark(dir) else { return };
    let certificate = dir.join("c.json");
    let mut beside = Command::new("taskset")
        .args(["-c", &cpu, arg(&program), "5000"]) // ends by itself
        .spawn()
        .expect("taskset");
    let fixed = ["certify", "-q", "--no-trace", "--cpus", &cpu, "--certificate", arg(&certificate)];
    let done =
        anechoic(&[&fixed[..], &["--", "taskset", "-c", &cpu, arg(&program), "300"]].concat());
    beside.kill().expect("it ran");
    beside.wait().expect("it ended");
    let found: Value =
        serde_json::from_slice(&fs::read(&certificate).expect("written")).expect("JSON");
    assert_eq!((done.code, &found["verdict"]), (Some(2), &Value::from("unfit")), "{found:#}");
    let lost = found["lost"].as_f64().expect("a share");
    assert!((0.35..=0.75).contains(&lost), "half of the time: {found:#}");
    assert_eq!(found["sources"].as_array().map(Vec::len), Some(0));
}

#[test]
fn what_cannot_run_is_an_error() {
    let place = tempfile::tempdir().expect("a directory");
    let at = |name: &str| arg(&place.path().join(name)).to_owned();
    let tool = env!("CARGO_BIN_EXE_anechoic");
    let mut absent = Command::new(tool);
    absent.args([
        "certify",
        "-q",
        "--no-trace",
        "--certificate",
        &at("c.json"),
        "--",
        "/no/program",
    ]);
    let done = run(&mut absent);
    assert!(done.code == Some(64) && done.err.contains("/no/program"), "{done:?}");
    assert!(!place.path().join("c.json").exists());
    for (options, expected) in [
        (vec!["--max-noise", "1"], "is not a percentage"),
        (vec!["--certificate", "/dev/null/c.json"], "/dev/null"),
        (vec![], "needs"),
    ] {
        let mut wrong = Command::new(tool);
        wrong.arg("certify").args(&options).args(if options.is_empty() {
            vec![]
        } else {
            vec!["--", "true"]
        });
        wrong.arg0("anechoic");
        let done = run(&mut wrong);
        assert!(done.code >= Some(64) && done.err.contains(expected), "{options:?}: {done:?}");
    }
}

/// Returns the commands of the steps of `action.yml` that a shell runs, in their order.
fn steps_of_action(text: &str) -> Vec<String> {
    let mut steps = vec![];
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        if line.trim() != "run: |" {
            continue;
        }
        let depth = line.len() - line.trim_start().len();
        let mut step = String::new();
        while let Some(inside) = lines.next_if(|line| line.len() - line.trim_start().len() > depth)
        {
            step += inside.trim_start();
            step.push('\n');
        }
        steps.push(step);
    }
    steps
}

/// The steps of the action, as a runner would run them: with its variables, and the tool in the path.
#[test]
fn the_steps_of_the_action_run() {
    let _alone = tool::alone();
    let Some(cpu) = noisy() else { return };
    let place = tempfile::tempdir().expect("a directory");
    let dir = place.path();
    let Some(program) = benchmark(dir) else { return };
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let tool = Path::new(env!("CARGO_BIN_EXE_anechoic")).parent().expect("a directory");
    let path = format!("{}:{}", tool.display(), std::env::var("PATH").unwrap_or_default());
    let action = fs::read_to_string(root.join("action.yml")).expect("it is there");
    let steps = steps_of_action(&action);
    assert_eq!(steps.len(), 3, "install, check, run: {steps:?}");
    // Five runs never show so small an effect.
    let tiny = "--max-noise 90% --repeat 5 --min-effect 0.00001%";
    for (asked, on_unfit, verdict, expected) in [
        ("--max-noise 90%", "fail", "fit", 0),
        (tiny, "skip", "unfit", 0),
        (tiny, "fail", "unfit", 2),
    ] {
        let (summary, output) = (dir.join("summary.md"), dir.join("output"));
        let _ = fs::remove_file(&output);
        let mut codes = vec![];
        for step in &steps {
            let done = run(Command::new("bash")
                .args(["-e", "-c", step])
                .current_dir(dir)
                .env("PATH", &path)
                .env("GITHUB_ACTION_PATH", &root)
                .env("GITHUB_STEP_SUMMARY", &summary)
                .env("GITHUB_OUTPUT", &output)
                .env("COMMAND", format!("taskset -c {cpu} {} 100", arg(&program)))
                .env("OPTIONS", format!("-q --cpus {cpu} {asked}"))
                .env("ON_UNFIT", on_unfit));
            codes.push(done.code);
        }
        let stated = fs::read_to_string(&output).expect("an output");
        if verdict == "fit" && stated == "verdict=undecided\n" {
            note::not_judged("the CPU was too busy, or events are not permitted");
            continue;
        }
        assert_eq!(codes, [Some(0), Some(0), Some(expected)], "{asked} {on_unfit}");
        assert_eq!(stated, format!("verdict={verdict}\n"), "{asked} {on_unfit}");
        let text = fs::read_to_string(&summary).expect("a summary");
        assert!(
            text.contains("### Noise certificate") && dir.join("noise/certificate.json").exists()
        );
    }
}
