//! The releases of a program's threads in exports.

use super::{START, export_of, program, record};
use anechoic_recording::{Recording, Release};
use std::path::Path;

/// Latencies in ns of the releases of a made-up program, by CPU.
const LATENCIES: [(u32, &[u64]); 2] = [(0, &[1_000, 3_000, 250_000]), (1, &[2_000, 5_000])];

fn with_releases(dir: &Path) -> Recording {
    let recording = program(dir);
    let mut table = recording.derive().expect("writable");
    for (cpu, latencies) in LATENCIES {
        let rows = latencies.iter().zip(0..).map(|(&latency, turn)| {
            let due = START + 10 + turn * 100;
            Release {
                cpu,
                due_ticks: due,
                end_ticks: due + latency,
                thread: cpu,
                armed_ticks: due - 10,
                slack_ticks: 0,
                expired_ticks: due + 1,
                timer_cpu: cpu,
                woken_ticks: due + 2,
                unseen_ticks: 0,
                previous_ticks: None,
                source: "thread".into(),
                name: "hog".into(),
                source_ticks: latency - 2,
            }
        });
        table.append(&rows.collect::<Vec<_>>()).expect("in order");
    }
    table.finish().expect("there is space");
    Recording::open(dir).expect("just written")
}

#[test]
fn hgrm_holds_the_latencies_of_the_releases_of_one_thread() {
    let dir = tempfile::tempdir().expect("a directory");
    let recording = with_releases(&dir.path().join("r"));
    let asked = |thread: Option<&str>, cpus: Option<&[u32]>| {
        let thread = thread.map(|name| ("thread", name));
        let options: Vec<(&str, &str)> = [("releases", "")].into_iter().chain(thread).collect();
        let files = export_of(&recording, "hgrm", &options, cpus)?;
        Ok::<_, anechoic_recording::Problem>(String::from_utf8_lossy(&files.concat()).into_owned())
    };
    let cases = [
        (Some("first"), None, "250.", 3, "first"),
        (Some("worker"), None, "5.", 2, "worker"),
        (None, Some(&[1][..]), "5.", 2, "worker"),
    ];
    for (thread, cpus, max, count, name) in cases {
        let text = asked(thread, cpus).expect("a file");
        let found = text.lines().find(|line| line.starts_with("#[Max")).expect("a line");
        assert!(found.contains(&format!(" {max}")), "{found}");
        assert!(found.ends_with(&format!(" {count}]")), "{found}");
        assert_eq!(text.lines().last(), Some(&*format!("# releases of {name}")));
    }
    let refusals = [
        (None, None, "threads of 2 names", "--thread: first, worker"),
        (Some("second"), None, "no timer released a thread 'second'", "first, worker"),
        (Some("first"), Some(&[1][..]), "no timer released a thread 'first'", "there: worker"),
    ];
    for (thread, cpus, why, remedy) in refusals {
        let problem = asked(thread, cpus).expect_err("refused").to_string();
        assert!(problem.contains(why) && problem.contains(remedy), "{problem}");
    }
}

/// A recording without them, one of a program without the events, and one whose timers released nothing.
#[test]
fn what_has_no_releases_is_refused_with_what_helps() {
    let dir = tempfile::tempdir().expect("a directory");
    let refused = |recording: &Recording| {
        export_of(recording, "hgrm", &[("releases", "")], None).expect_err("has none").to_string()
    };
    let bare = refused(&record(&dir.path().join("bare"), &[]));
    assert!(bare.contains("no releases") && bare.contains("anechoic record"), "{bare}");
    let old = refused(&program(&dir.path().join("old")));
    assert!(old.contains("no releases") && !old.contains("anechoic attribute"), "{old}");
    let recording = program(&dir.path().join("none"));
    recording.derive::<Release>().expect("writable").finish().expect("there is space");
    let none = refused(&Recording::open(&dir.path().join("none")).expect("just written"));
    assert!(none.contains("no timer released a thread of the program"), "{none}");
}

#[test]
fn metrics_have_the_releases_of_each_thread() {
    let dir = tempfile::tempdir().expect("a directory");
    let recording = with_releases(&dir.path().join("r"));
    let files = export_of(&recording, "prometheus", &[], None).expect("a file");
    let text = String::from_utf8_lossy(&files[0]).into_owned();
    for expected in [
        "anechoic_program_release_latency_seconds{program=\"\",thread=\"first\",quantile=\"1\"} 0.00025",
        "anechoic_program_release_latency_seconds_count{program=\"\",thread=\"first\"} 3",
        "anechoic_program_release_latency_seconds_count{program=\"\",thread=\"worker\"} 2",
        "anechoic_program_late_releases{program=\"\",thread=\"first\"} 1",
        "anechoic_program_late_releases{program=\"\",thread=\"worker\"} 0",
        "anechoic_program_release_late_limit_seconds{program=\"\"} 0.0001",
        "anechoic_program_release_overruns{program=\"\",thread=\"first\"} 0",
    ] {
        assert!(text.lines().any(|line| line == expected), "{expected}\n{text}");
    }
}
