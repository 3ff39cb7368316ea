//! The real check of this machine, with all privileges and with none.

use anechoic_lab::note;
use anechoic_recording::check::{Check, Finding, Verdict};
use std::process::Command;
use std::time::{Duration, Instant};

/// The start of the line that [`print`] writes.
const MARK: &str = "CHECK ";

/// Not a test: `as_nobody` runs it in another process.
#[test]
#[ignore = "prints for the other tests"]
fn print() {
    let check = anechoic_system::check::check();
    println!("\n{MARK}{}", serde_json::to_string(&check).unwrap());
}

/// Runs the check in a process of another user that has only these capabilities, such as `+sys_admin`, or none (`-all`);
/// prints the reason and returns `None` if that fails.
fn as_nobody(capabilities: &str) -> Option<Check> {
    let this = std::env::current_exe().expect("the path of this test");
    let output = Command::new("setpriv")
        .args(["--reuid=65534", "--regid=65534", "--clear-groups"])
        .args([format!("--inh-caps={capabilities}"), format!("--ambient-caps={capabilities}")])
        .arg("--")
        .arg(this)
        .args(["--exact", "check::print", "--ignored", "--nocapture"])
        .output();
    let output = match output {
        Ok(output) => output,
        Err(error) => {
            note::skipped(format_args!("setpriv: {error}"));
            return None;
        }
    };
    let (text, errors) = (output.stdout, String::from_utf8_lossy(&output.stderr).into_owned());
    let text = String::from_utf8(text).expect("text");
    if text.is_empty() && errors.starts_with("setpriv") {
        note::skipped(errors);
        return None;
    }
    let line = text.lines().find_map(|line| line.strip_prefix(MARK));
    let line = line.unwrap_or_else(|| panic!("no result: {text}{errors}"));
    Some(serde_json::from_str(line).expect("a check"))
}

fn row<'a>(check: &'a Check, what: &str) -> &'a Finding {
    let row = check.findings.iter().find(|finding| finding.what == what);
    row.unwrap_or_else(|| panic!("no row '{what}'"))
}

fn show(check: &Check) {
    for Finding { what, verdict, found, remedy } in &check.findings {
        println!("{what:22}{:9}{found}", format!("{verdict:?}"));
        if let Some(remedy) = remedy {
            println!("{:31}→ {remedy}", "");
        }
    }
}

/// Checks what holds for every check.
fn is_sound(check: &Check) {
    assert_eq!(check.findings.len(), 20);
    for finding in &check.findings {
        let Finding { what, verdict, found, remedy } = finding;
        assert!(!found.is_empty() && !found.contains('\n'), "{what}: {found}");
        let wants = matches!(verdict, Verdict::Limited | Verdict::Missing);
        assert_eq!(remedy.is_some(), wants, "{what}: {verdict:?} {remedy:?}");
    }
    assert!(!check.machine.kernel.is_empty());
}

#[test]
fn with_the_rights_of_this_process() {
    let _alone = anechoic_lab::turn::alone();
    let begin = Instant::now();
    let check = anechoic_system::check::check();
    let took = begin.elapsed();
    show(&check);
    println!("took {took:?}");
    is_sound(&check);
    assert!(took < Duration::from_secs(2), "took {took:?}");
}

#[test]
fn with_no_rights() {
    let Some(nobody) = as_nobody("-all") else { return };
    show(&nobody);
    is_sound(&nobody);
    let ours = anechoic_system::check::check();
    for what in
        ["kernel events", "BPF", "steal per detour", "real-time priority", "software events"]
    {
        let (with, without) = (row(&ours, what), row(&nobody, what));
        assert_ne!(without.verdict, Verdict::Good, "{what}: {without:?}");
        if with.verdict == Verdict::Good {
            assert!(without.remedy.is_some(), "{what}: what root has, a remedy gives: {without:?}");
        }
    }
    for what in ["counter", "counter read", "allowed CPUs", "virtual machine", "SMT"] {
        assert_eq!(row(&ours, what).verdict, row(&nobody, what).verdict, "{what}");
    }
    assert_eq!(ours.machine.cpus, nobody.machine.cpus);
}

/// What the remedy names is enough, and what it leaves out is not.
#[test]
fn kernel_events_need_two_capabilities() {
    if row(&anechoic_system::check::check(), "kernel events").verdict == Verdict::Missing {
        return note::skipped("needs root and tracefs");
    }
    let remedy = "cap_sys_admin,cap_dac_override+ep";
    for (capabilities, enough) in
        [("+sys_admin", false), ("+dac_override", false), ("+sys_admin,+dac_override", true)]
    {
        let Some(check) = as_nobody(capabilities) else { return };
        let events = row(&check, "kernel events");
        assert_eq!(events.verdict != Verdict::Missing, enough, "{capabilities}: {events:?}");
        let named = events.remedy.as_ref().is_some_and(|text| text.contains(remedy));
        assert!(enough || named, "{capabilities}: {events:?}");
    }
}
