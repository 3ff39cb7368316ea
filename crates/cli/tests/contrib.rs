//! What lies under contrib/ and beside the dashboard, run by the programs that it is for, where `make contrib` has put them.

use crate::foreign::get_metrics;
use crate::tool::{ANECHOIC, Done, anechoic, arg, command, run};
use anechoic_lab::note;
use std::fmt::Write;
use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Returns a program that `make contrib` prepares; notes that the test is skipped if it is not there.
pub fn program(name: &str) -> Option<PathBuf> {
    let path = root().join("target/contrib").join(name);
    if path.exists() {
        return Some(path);
    }
    note::skipped(format_args!("no {name} (make contrib)"));
    None
}

/// Returns the directories of commands, with that of the built one first.
pub fn path_with_anechoic() -> String {
    let built = Path::new(ANECHOIC).parent().expect("a directory").display();
    format!("{built}:{}", std::env::var("PATH").unwrap_or_default())
}

/// Writes a copy of a file under contrib/ in which these texts are others: the paths of an installed system.
pub fn changed(name: &str, to: &Path, texts: &[(&str, &str)]) {
    let mut text = fs::read_to_string(root().join("contrib").join(name)).expect("it is there");
    for (from, with) in texts {
        assert!(text.contains(from), "{name} has no {from}");
        text = text.replace(from, with);
    }
    fs::write(to, text).expect("written");
}

/// Makes a directory with a recording that lost 3.81 %, and files of rules: it is good, bad and unknown by these.
fn judged() -> tempfile::TempDir {
    let dir = tempfile::tempdir().expect("a directory");
    let at = |name: &str| dir.path().join(name);
    fs::create_dir(at("health")).expect("created");
    let example = root().join("docs/examples/before");
    assert_eq!(command("cp", &["-r", arg(&example), arg(&at("health"))]).code, Some(0));
    for (name, rules) in [
        ("good.toml", "max-noise = \"6%\"\n"),
        ("bad.toml", "max-noise = \"1%\"\n"),
        ("unknown.toml", "max-noise = \"6%\"\nmax-age = \"1h\"\n"),
    ] {
        fs::write(at(name), rules).expect("written");
    }
    dir
}

#[test]
fn scripts_have_no_faults_that_shellcheck_finds() {
    let Some(shellcheck) = program("usr/bin/shellcheck") else { return };
    let at = |name: &str| arg(&root().join("contrib").join(name)).to_owned();
    let scripts = ["anechoic-measure", "slurm/anechoic-prolog", "slurm/anechoic-epilog"].map(at);
    let [measure, prolog, epilog] = &scripts;
    let done = command(arg(&shellcheck), &[measure, prolog, epilog]);
    assert_eq!((done.code, &*done.out), (Some(0), ""));
    let done = command(arg(&shellcheck), &["--shell=bash", &at("nhc/anechoic.nhc")]);
    assert_eq!((done.code, &*done.out), (Some(0), ""));
}

#[test]
fn systemd_accepts_the_units() {
    let (dir, units) = (tempfile::tempdir().expect("a directory"), "usr/lib/systemd/system");
    let at = |name: &str| dir.path().join(name);
    let there = Path::new("/").join(units);
    if !there.exists() || command("systemd-analyze", &["--version"]).code != Some(0) {
        return note::skipped("no systemd");
    }
    for place in ["bin", "usr/bin", "usr/libexec", "usr/lib/systemd"] {
        fs::create_dir_all(at(place)).expect("created");
    }
    assert_eq!(command("cp", &["-r", arg(&there), arg(&at(units))]).code, Some(0));
    let ours = root().join("contrib/systemd");
    assert_eq!(command("cp", &["-r", &format!("{}/.", arg(&ours)), arg(&at(units))]).code, Some(0));
    let place = format!("--root={}", arg(dir.path()));
    let names = ["anechoic-health.service", "anechoic-health.timer", "anechoic-monitor.service"];
    let options = ["verify", "--man=no", &place];
    let verify = || command("systemd-analyze", &[&options[..], &names].concat());
    let incomplete = verify();
    assert!(incomplete.err.contains("anechoic-measure is not executable"), "{}", incomplete.err);
    let script = root().join("contrib/anechoic-measure");
    // Whatever can be executed is good enough for systemd.
    for file in ["usr/libexec/anechoic-measure", "usr/bin/anechoic", "bin/kill"] {
        fs::copy(&script, at(file)).expect("copied");
    }
    let done = verify();
    let about: Vec<&str> = done.err.lines().filter(|line| line.contains("anechoic")).collect();
    assert!(done.code == Some(0) && about.is_empty(), "{}", done.err);
}

/// Prometheus evaluates the rules over metrics as they were written for an example. Only when it was measured, and what is
/// doubtful about it, are set.
#[test]
fn prometheus_fires_the_alerts_for_what_was_exported() {
    let Some(promtool) = program("usr/bin/promtool") else { return };
    let rules = root().join("docs/grafana/alerts.yml");
    let checked = command(arg(&promtool), &["check", "rules", "--lint-fatal", arg(&rules)]);
    assert_eq!(checked.code, Some(0), "{}{}", checked.out, checked.err);
    let dir = tempfile::tempdir().expect("a directory");
    let write = |name: &str| {
        let example = root().join("docs/examples").join(name);
        let file = dir.path().join(name);
        let done = anechoic(&["export", "prometheus", arg(&example), "-o", arg(&file)]);
        assert_eq!(done.code, Some(0), "{}", done.err);
        fs::read_to_string(file).expect("written")
    };
    let (noisy, start) = (write("before"), "anechoic_run_start_timestamp_seconds");
    let mut test = format!("rule_files: [{}]\nevaluation_interval: 10m\ntests:\n", arg(&rules));
    let doubtful: &[(&str, &str)] = &[
        ("anechoic_run_sound", "0x2880"),
        ("anechoic_run_doubt{reason=\"competition\"}", "1x2880"),
    ];
    // It lost 3.81 %, at most 2.6 ms at a time. Each series has a value each 5 min for ten days, and ends then.
    type Values<'a> = &'a [(&'a str, &'a str)];
    let cases: [(Values<'_>, &[&str]); 6] = [
        (&[(start, "0+300x2880")], &["OSNoiseHigh"]),
        (&[(start, "0x2880")], &["OSNoiseHigh", "OSNoiseNotMeasured"]),
        (&[(start, "9e9x2880")], &["OSNoiseHigh", "OSNoiseNotMeasured"]),
        (
            &[(start, "0+300x2880"), ("anechoic_detour_seconds{quantile=\"1\"}", "0.011x2880")],
            &["OSNoiseHigh", "OSNoiseLongDetour"],
        ),
        (&[&[(start, "0+300x2880")], doubtful].concat(), &["OSNoiseUnsound"]),
        (
            &[(start, "0+300x2880"), ("anechoic_noise_ratio", "0.01x2760 0.0381x120")],
            &["OSNoiseHigh", "OSNoiseIncreased"],
        ),
    ];
    for (set, alerts) in cases {
        test += "  - interval: 5m\n    input_series:\n";
        for line in noisy.lines().filter(|line| !line.starts_with('#')) {
            let (series, value) = line.rsplit_once(' ').expect("a value");
            let set = set.iter().find(|(name, _)| *name == series).map(|(_, value)| *value);
            let values = set.map_or(format!("{value}x2880"), str::to_owned);
            let series = match series.strip_suffix('}') {
                Some(labels) => format!("{labels},instance=\"n1\"}}"),
                None => format!("{series}{{instance=\"n1\"}}"),
            };
            let quoted = series.replace('\'', "''");
            let _ = writeln!(test, "      - {{series: '{quoted}', values: '{values}'}}");
        }
        test += "    promql_expr_test:\n      - eval_time: 240h\n        expr: 'count by (alertname) (ALERTS{alertstate=\"firing\"})'\n        exp_samples:\n";
        for alert in alerts {
            let _ = writeln!(test, "          - {{labels: '{{alertname=\"{alert}\"}}', value: 1}}");
        }
    }
    let file = dir.path().join("test.yml");
    fs::write(&file, test).expect("written");
    let done = command(arg(&promtool), &["test", "rules", arg(&file)]);
    assert_eq!(done.code, Some(0), "{}{}", done.out, done.err);
}

#[test]
fn nhc_fails_a_node_for_a_limit_only() {
    let Some(nhc) = program("nhc/nhc") else { return };
    let dir = judged();
    let at = |name: &str| dir.path().join(name);
    let scripts = root().join("target/contrib/nhc/scripts");
    assert_eq!(command("cp", &["-r", arg(&scripts), arg(&at("scripts"))]).code, Some(0));
    fs::copy(root().join("contrib/nhc/anechoic.nhc"), at("scripts/anechoic.nhc")).expect("copied");
    let built = Path::new(ANECHOIC).parent().expect("a directory").display();
    let found = format!("* || export PATH=\"{built}:$PATH\"\n");
    // Bash names its version in a variable that a script cannot change, so the condition is another one.
    let old = at("old.nhc");
    changed("nhc/anechoic.nhc", &old, &[("BASH_VERSINFO[0] < 4", "1")]);
    let cases = [
        ("good", "", &*found, 0, ""),
        (
            "bad",
            "",
            &*found,
            1,
            "Health check failed:  check_anechoic: max-noise 1%: CPU 1: 3.81 %",
        ),
        ("unknown", "", &*found, 0, "check_anechoic: "),
        ("unknown", "-s", &*found, 1, "days ago, more than 60 min"),
        ("none", "", &*found, 0, "none.toml: No such file or directory"),
        ("good", "", "", 0, "check_anechoic: no anechoic in /sbin:/usr/sbin:/bin:/usr/bin"),
        ("good", "-x", &*found, 1, "invalid option -x"),
        ("bad", "", &*format!("{found}* || . {}\n", arg(&old)), 0, "is too old, 4 is needed"),
    ];
    for (rules, option, before, code, words) in cases {
        let (conf, log) = (at("nhc.conf"), at("nhc.log"));
        let check = format!(
            "* || check_anechoic {option} -d {} -c {}\n",
            arg(&at("health")),
            arg(&at(&format!("{rules}.toml")))
        );
        fs::write(&conf, format!("{before}{check}")).expect("written");
        let _ = fs::remove_file(&log);
        let helpers = format!("HELPERDIR={}/helpers", arg(nhc.parent().expect("a directory")));
        let include = format!("INCDIR={}", arg(&at("scripts")));
        let place = format!("CONFDIR={}", arg(dir.path()));
        let done = command(
            "bash",
            &[
                arg(&nhc),
                "-c",
                arg(&conf),
                "-l",
                arg(&log),
                &place,
                &include,
                &helpers,
                "MARK_OFFLINE=0",
            ],
        );
        let log = fs::read_to_string(&log).unwrap_or_default();
        assert_eq!(done.code, Some(code), "{rules} {option}: {}{}{log}", done.out, done.err);
        assert!(log.contains(words) && log.is_empty() == words.is_empty(), "{rules}: {log}");
        assert!(log.lines().count() <= 1, "{rules} {option}: {log}");
    }
}

/// A running node-problem-detector, which ends with the test.
struct Detector(Child);

impl Drop for Detector {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn node_problem_detector_sets_its_condition() {
    let Some(detector) = program("node-problem-detector") else { return };
    let dir = judged();
    let at = |name: &str| dir.path().join(name);
    for (name, exceeded, words) in [
        ("good", "0", "ExitStatus:0 Message:1 rule holds · 1 recording of 5.0 s"),
        ("bad", "1", "message: \"max-noise 1%: CPU 1: 3.81 %; thread telemetryd took 33 % of it\""),
        ("unknown", "0", "days ago, more than 60 min\""),
    ] {
        let config = at("monitor.json");
        let rules = at(&format!("{name}.toml"));
        changed(
            "node-problem-detector/anechoic-monitor.json",
            &config,
            &[
                ("/opt/anechoic/bin/anechoic", ANECHOIC),
                ("/var/lib/anechoic/health", arg(&at("health"))),
                ("/etc/anechoic/gate.toml", arg(&rules)),
                ("\"5m\"", "\"1s\""),
            ],
        );
        let free = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = free.local_addr().expect("an address").port();
        drop(free);
        let log = fs::File::create(at("log")).expect("created");
        let child = Command::new(&detector)
            .args(["--logtostderr", "--v=3", "--enable-k8s-exporter=false", "--port=0"])
            .arg(format!("--prometheus-port={port}"))
            .arg(format!("--config.custom-plugin-monitor={}", arg(&config)))
            .env("NODE_NAME", "n1")
            .stdout(Stdio::null())
            .stderr(log)
            .spawn();
        let _running = Detector(child.expect("it starts"));
        let mut log = String::new();
        for _ in 0..100 {
            log = fs::read_to_string(at("log")).expect("a log");
            if log.contains(words) {
                break;
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        assert!(log.contains(words), "{name}: {log}");
        let metrics = get_metrics(&format!("127.0.0.1:{port}"));
        let gauge = "problem_gauge{reason=\"NoiseExceedsLimits\",type=\"OSNoise\"} ";
        let value = metrics.lines().find_map(|line| line.strip_prefix(gauge));
        assert_eq!(value, Some(exceeded), "{name}: {metrics}");
    }
}

/// Slurm takes another code than 0 for a broken node.
#[test]
fn the_prolog_fails_for_a_limit_only() {
    let dir = judged();
    let at = |name: &str| dir.path().join(name);
    for (rules, code) in [("good", 0), ("bad", 1), ("unknown", 0), ("none", 0)] {
        let (health, rules) = (at("health"), at(&format!("{rules}.toml")));
        let paths =
            [("/var/lib/anechoic/health", arg(&health)), ("/etc/anechoic/gate.toml", arg(&rules))];
        changed("slurm/anechoic-prolog", &at("prolog"), &paths);
        let mut prolog = Command::new("sh");
        let done: Done = run(prolog.arg(at("prolog")).env("PATH", path_with_anechoic()));
        assert_eq!(done.code, Some(code), "{}: {}{}", arg(&rules), done.out, done.err);
    }
}
