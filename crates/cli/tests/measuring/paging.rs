//! Tests that `anechoic measure paging` gets the pages that it asks for, says why where it does not, and leaves the settings of the
//! machine as they were.

use crate::tool::{self, ANECHOIC, arg, command};
use anechoic_analyze::{Paging, paging};
use anechoic_lab::note;
use anechoic_recording::Recording;
use anechoic_recording::paging::{BUILDS, Verified};
use anechoic_system::huge_pages::{explicit_sizes, transparent_sizes};
use anechoic_system::machine::Root;
use std::path::Path;
use std::time::Duration;

/// Returns the settings of huge pages.
fn settings() -> Vec<Option<String>> {
    let root = Root::live();
    let transparent = transparent_sizes(&root).into_iter().map(|bytes| {
        format!("/sys/kernel/mm/transparent_hugepage/hugepages-{}kB/enabled", bytes >> 10)
    });
    let explicit = explicit_sizes(&root)
        .into_iter()
        .map(|bytes| format!("/sys/kernel/mm/hugepages/hugepages-{}kB/nr_hugepages", bytes >> 10));
    transparent.chain(explicit).map(|path| root.read(&path)).collect()
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

fn result(dir: &Path) -> Paging {
    paging(&Recording::open(dir).expect("a recording")).expect("a result")
}

const QUICK: [&str; 8] =
    ["measure", "paging", "--quick", "--blocks", "2", "--point-time", "1ms", "--pages"];

#[test]
fn pages_are_those_that_were_asked_for_and_settings_stay_as_they_were() {
    let _alone = tool::alone();
    let (dir, before) = (tempfile::tempdir().expect("a directory"), settings());
    let asked = ["base,thp-64k,huge-2m", "-o", arg(dir.path())];
    let done = tool::anechoic(&[&QUICK[..], &asked[..]].concat());
    assert_eq!(settings(), before);
    assert!(matches!(done.code, Some(0 | 1)), "{:?}: {}", done.code, done.err);
    let found = result(dir.path());
    assert_eq!(found.blocks, 2);
    for kind in &found.kinds {
        // An absent size has a reason; any other is what it is called, in all blocks.
        assert_eq!(kind.absent.is_some(), kind.obtained.is_none(), "{kind:?}");
        assert!(kind.absent.as_ref().is_none_or(|why| !why.is_empty()), "{kind:?}");
        assert_ne!(kind.verified, Some(Verified::Not), "{kind:?}");
    }
    let base: Vec<_> = found.points.iter().filter(|point| point.pages == "base").collect();
    assert_eq!(base.len(), 4 * BUILDS.len(), "{base:?}");
    assert!(base.iter().all(|point| point.blocks == 2 && point.ns.value > 0.0), "{base:?}");
    if !is_root() {
        return note::skipped("only root may change the settings of huge pages");
    }
    for point in &found.points {
        assert!(point.left_out == 0 || point.why_left_out.is_some(), "{point:?}");
    }
    // Pages are touched before the first pass, so that no fault is in the times.
    let faults = |point: &&anechoic_analyze::paging::Point| {
        point.counts.get("page_faults").is_some_and(|&count| count > 0.001)
    };
    assert_eq!(found.points.iter().find(faults), None);
}

#[test]
fn without_privileges_absent_pages_have_their_reason() {
    let _alone = tool::alone();
    if !is_root() {
        return note::skipped("only root can become nobody");
    }
    let (place, before) = (tempfile::tempdir().expect("a directory"), settings());
    let (copy, recording) = (place.path().join("anechoic"), place.path().join("paging"));
    std::fs::copy(ANECHOIC, &copy).expect("a copy that nobody may run");
    for (path, mode) in [(place.path(), 0o777), (&copy, 0o755)] {
        let mode = std::os::unix::fs::PermissionsExt::from_mode(mode);
        std::fs::set_permissions(path, mode).expect("it is ours");
    }
    let nobody = ["--reuid=65534", "--regid=65534", "--clear-groups", "--bounding-set=-all"];
    let run = [&[arg(&copy)], &QUICK[..], &["base,huge-2m", "-o", arg(&recording)]].concat();
    let done = command("setpriv", &[&nobody[..], &run[..]].concat());
    assert_eq!(settings(), before);
    assert!(matches!(done.code, Some(0 | 1)), "{:?}: {}", done.code, done.err);
    let found = result(&recording);
    let text = done.out.split_whitespace().collect::<Vec<_>>().join(" ");
    for kind in found.kinds.iter().filter(|kind| kind.id != "base" && kind.absent.is_some()) {
        assert!(kind.remedy.contains("root"), "{kind:?}");
        assert!(text.contains(&kind.remedy), "{}", done.out);
    }
    assert!(found.points.iter().any(|point| point.pages == "base"));
}

#[test]
fn an_interruption_gives_everything_back() {
    let _alone = tool::alone();
    if !is_root() {
        return note::skipped("only root may change the settings of huge pages");
    }
    let before = settings();
    for signal in ["INT", "TERM", "KILL"] {
        let dir = tempfile::tempdir().expect("a directory");
        let asked = ["thp-64k,huge-2m", "-o", arg(dir.path())];
        let mut child = tool::start(&[&QUICK[..], &asked[..]].concat());
        // Until it has changed something, or has ended.
        while settings() == before && child.try_wait().is_ok_and(|ended| ended.is_none()) {
            std::thread::sleep(Duration::from_millis(1));
        }
        tool::signal(&child, signal);
        tool::wait(child);
        if signal == "KILL" {
            // The next start puts everything back, whatever it does.
            let other = tempfile::tempdir().expect("a directory");
            tool::anechoic(&["run", "-q", "-d", "100ms", "--no-trace", "-o", arg(other.path())]);
        }
        assert_eq!(settings(), before, "after SIG{signal}");
    }
}

#[test]
fn only_one_process_at_a_time_changes_huge_pages() {
    let _alone = tool::alone();
    if !is_root() {
        return note::skipped("only root may change the settings of huge pages");
    }
    let (before, place) = (settings(), tempfile::tempdir().expect("a directory"));
    let dir = |name: &str| place.path().join(name).display().to_string();
    let (first, second, other) = (dir("first"), dir("second"), dir("other"));
    let long = ["measure", "paging", "-q", "--quick", "--blocks", "9", "--pages", "huge-2m", "-o"];
    let mut child = tool::start(&[&long[..], &[&first]].concat());
    // It is stopped where it has changed something.
    while child.try_wait().is_ok_and(|ended| ended.is_none()) {
        tool::signal(&child, "STOP");
        if settings() != before {
            break;
        }
        tool::signal(&child, "CONT");
        std::thread::sleep(Duration::from_millis(1));
    }
    if child.try_wait().is_ok_and(|ended| ended.is_some()) {
        return note::skipped("this machine gives no explicit pages of 2 MiB");
    }
    let (number, changed) = (child.id(), settings());
    let done = tool::anechoic(&[&QUICK[..], &["huge-2m", "-o", &second]].concat());
    assert_eq!(done.code, Some(69), "{}", done.err);
    let named = format!("process {number} (");
    assert!(done.err.contains(&named) && done.err.contains("measure paging"), "{}", done.err);
    // In another PID namespace the first seems to be dead, and what it changed to be left over.
    let run = ["run", "-q", "-d", "100ms", "--no-trace", "-o", &other];
    let apart = ["--pid", "--fork", "--mount-proc", ANECHOIC];
    let done = command("unshare", &[&apart[..], &run[..]].concat());
    assert!(matches!(done.code, Some(0 | 1)), "{:?}: {}", done.code, done.err);
    assert_eq!(settings(), changed, "they are still as the first needs them");
    tool::signal(&child, "CONT");
    tool::signal(&child, "INT");
    tool::wait(child);
    assert_eq!(settings(), before);
}
