//! What the threads of a recorded program look like.

use crate::made;
use crate::schema::validate;
use anechoic_analyze::Summary;
use anechoic_analyze::program::{ProgramFacts, RecordingCost};
use anechoic_analyze::waits::{
    Behind, Blocked, Calls, Holder, HolderKind, LateBy, LongestWait, Member, ReleaseParts,
    ReleaseRow, Releases, ThreadRow, WaitPlace, WaitPlaces, WokenBy,
};
use anechoic_recording::DelayKind;
use anechoic_report::View;
use anechoic_report::results::Found;
use anechoic_report::results::summary::SUMMARY;

const MS: u64 = 1_000_000;
const US: u64 = 1_000;

fn holder(kind: HolderKind, name: &str) -> Holder {
    Holder { kind, name: name.into() }
}

/// A thread that was delayed by one holder, in all its waits.
fn row(name: &str, tid: i32, behind: Holder, [lost_ns, own_ns, longest_ns]: [u64; 3]) -> ThreadRow {
    let held_ns = lost_ns + own_ns;
    ThreadRow {
        name: name.into(),
        threads: 1,
        tid: Some(tid),
        cpus: vec![1],
        policy: "other".into(),
        executed_ns: 103 * MS,
        interrupted_ns: MS,
        lost_ns,
        own_ns,
        waits: 204,
        p99_ns: Some(longest_ns / 10 * 9),
        longest: Some(LongestWait { length_ns: longest_ns, start_ns: MS, behind: behind.clone() }),
        behind: vec![Behind { holder: behind, waits: 12, held_ns, longest_ns }],
        woken_by: vec![],
        blocked: vec![],
        members: vec![],
    }
}

fn threads() -> Vec<ThreadRow> {
    let logger = holder(HolderKind::OwnThread, "logger");
    let hog = holder(HolderKind::OtherThread, "a-long-name-hog");
    let inversion = Blocked {
        woken_by: "low".into(),
        behind: hog.clone(),
        inversion: true,
        waits: 20,
        waited_ns: 60 * MS,
        longest_ns: 3_100 * US,
    };
    let member = |number: i32| Member {
        name: format!("worker-{number}"),
        tid: 4_720 + number,
        executed_ns: 51 * MS,
        lost_ns: 100 * MS,
        own_ns: 2 * MS,
        waits: 102,
        longest_ns: Some(20 * MS),
    };
    let pool = ThreadRow {
        threads: 2,
        tid: None,
        cpus: vec![0, 1],
        policy: "several".into(),
        members: (0..2).map(member).collect(),
        ..row("worker-*", 0, hog.clone(), [200 * MS, 4 * MS, 20 * MS])
    };
    let high = ThreadRow {
        blocked: vec![inversion],
        policy: "real-time 30".into(),
        ..row("high", 4_715, hog, [900 * US, 0, 700 * US])
    };
    let idle = ThreadRow {
        executed_ns: 0,
        waits: 0,
        p99_ns: None,
        longest: None,
        behind: vec![],
        cpus: vec![],
        policy: "unknown".into(),
        ..row("never-ran", 4_716, Holder { kind: HolderKind::WakeUp, name: String::new() }, [0; 3])
    };
    let woken_by = |source: &str, name: &str, own: bool, wakings: u64| WokenBy {
        source: source.into(),
        name: name.into(),
        own,
        wakings,
        p50_ns: 12 * US,
        p99_ns: (wakings >= 1_000).then_some(80 * US),
        max_ns: 500 * US,
        delayed_ns: wakings * 12 * US,
    };
    let control = ThreadRow {
        woken_by: vec![
            woken_by("thread", "logger", true, 1_200),
            woken_by("device-irq", "nvme0q1\u{1b}[31m", false, 30),
            woken_by("not-attributable", "", false, 8),
            woken_by("timer", "hrtimer_wakeup", false, 9),
        ],
        ..row("control\u{1b}[31m", 4_712, logger, [3 * MS, 12 * MS, 560 * US])
    };
    vec![pool, control, high, idle]
}

fn summary(threads: Vec<ThreadRow>) -> Summary {
    let mut summary = made::summary();
    summary.run.program = Some(ProgramFacts {
        name: "my-program".into(),
        exit_code: Some(0),
        threads: 5,
        ran_ns: 400 * MS,
        lived_ns: None,
        recording: None,
        account: None,
        marked: None,
    });
    summary.threads = Some(threads);
    summary
}

fn text(summary: &Summary, all: bool) -> String {
    let view = View { all, ..View::default() };
    Found::from_value(&SUMMARY, summary.clone(), &[]).screen(&view).to_text(&view)
}

/// Returns the lines of the table of threads.
fn table(text: &str) -> String {
    let from = text.find("delayed by").and_then(|place| text[..place].rfind('\n')).unwrap_or(0);
    let lines = text[from..].lines().skip(1).take_while(|line| !line.is_empty());
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn an_idle_program_has_no_table_and_no_note_about_it() {
    let mut made = summary(vec![]);
    assert!(!text(&made, true).contains("not derived"));
    made.threads = None;
    assert!(text(&made, true).contains("its threads are not derived"));
}

#[test]
fn the_most_delayed_threads_come_first_and_all_on_request() {
    let made = summary(threads());
    let (brief, all) = (text(&made, false), text(&made, true));
    insta::assert_snapshot!("threads", table(&brief));
    insta::assert_snapshot!("threads_all", table(&all));
    for line in table(&brief).lines().chain(table(&all).lines()) {
        assert!(line.chars().count() <= 80, "{line}");
    }
    validate("summary.schema.json", &made).expect("as its schema says");
    let one = summary(threads().split_off(1)[..1].to_vec());
    assert!(!text(&one, false).contains("more\n\nwhat took"), "one thread has no more");
    assert!(!text(&summary(vec![]), false).contains("delayed by"), "no thread, no table");
}

#[test]
fn what_woke_a_thread_stands_below_with_how_long_it_then_waited() {
    let made = summary(threads());
    let line = |text: &str, what: &str| {
        let found =
            text.lines().find(|line| line.contains(what)).unwrap_or_else(|| panic!("{text}"));
        assert!(found.chars().count() <= 80, "{found}");
        found.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let (brief, all) = (text(&made, false), text(&made, true));
    for text in [&brief, &all] {
        let by_logger = line(text, "thread logger (own)");
        assert_eq!(by_logger, "control?[31m 4712 1,200 12 µs 80 µs 500 µs thread logger (own)");
        let by_disk = line(text, "nvme0q1?[31m");
        assert!(by_disk.starts_with("control?[31m 4712 30 12 µs – 500 µs "), "{by_disk}");
    }
    for rare in ["hrtimer_wakeup", "an interrupt without events"] {
        assert!(!brief.contains(rare), "{brief}");
        line(&all, rare);
    }
}

#[test]
fn places_are_named_by_their_calls_and_what_is_not_known_is_stated() {
    let calls = |program: &[&str], kernel: &[&str]| {
        let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        Calls { program: owned(program), kernel: owned(kernel) }
    };
    let place = |calls, kind, waits, delayed_ns| WaitPlace {
        thread: Some("control".into()),
        other_threads: 0,
        calls,
        kind,
        waits,
        delayed_ns,
        longest_ns: delayed_ns / 2,
    };
    let deep = ["a", "b\u{1b}[31m", "c", "d", "e", "f", "g", "h", "[libc.so.6]"];
    let places = vec![
        place(
            calls(&["step", "run", "main", "[libc.so.6]"], &[]),
            DelayKind::Preempted,
            20,
            40 * MS,
        ),
        place(calls(&["read", "main"], &["pipe_read", "ksys_read"]), DelayKind::Woken, 7, 9 * MS),
        place(calls(&deep, &[]), DelayKind::Preempted, 2, MS),
        place(calls(&[], &[]), DelayKind::Preempted, 1, 10 * US),
    ];
    let mut made = summary(threads());
    made.places = Some(WaitPlaces { places, others_ns: 0, unknown_ns: 30 * MS, cut_short_ns: 0 });
    let (brief, all) = (text(&made, false), text(&made, true));
    let lines = [
        " 40 ms     20    20 ms  preempted in step ← run ← main\n",
        "9.0 ms      7   4.5 ms  slept in pipe_read (kernel) ← read ← main\n",
        "1.0 ms      2   500 µs  preempted in a ← b",
    ];
    for line in lines {
        assert!(brief.contains(line) && all.contains(line), "{line}\n{brief}{all}");
    }
    assert!(
        brief.contains("1 more\n30 ms of 80 ms were delays at places that are not known."),
        "{brief}"
    );
    assert!(
        all.contains("preempted in code that is not known")
            && all.contains("30 ms at unknown places"),
        "{all}"
    );
    assert!(!brief.contains('\u{1b}') && !all.contains('\u{1b}'));
    made.places.iter_mut().for_each(|places| places.unknown_ns = MS);
    assert!(!text(&made, false).contains("not known"));
}

#[test]
fn what_recording_cost_is_in_brief_where_it_is_much() {
    let mut made = summary(threads());
    let cost = |made: &mut Summary, ns| {
        let recording = Some(RecordingCost { events: 1_000, ns });
        made.run.program.iter_mut().for_each(|program| program.recording = recording);
        (text(made, false), text(made, true))
    };
    let (brief, all) = cost(&mut made, 20 * MS); // of 400 ms
    let stated = "about 5.0 % of its run time (20 ms): 1,000 events";
    let joined = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(joined(&brief).contains(stated) && joined(&all).contains(stated), "{brief}{all}");
    let (brief, all) = cost(&mut made, 4 * MS);
    assert!(!brief.contains("of its run time") && all.contains("of its run time"), "{brief}{all}");
}

/// Whatever there is to show, the screen has 40 lines; its headline, its threads, their releases and the checks are there.
#[test]
fn the_screen_of_a_program_has_forty_lines() {
    let release = |name: &str, late: u64| ReleaseRow {
        name: name.into(),
        threads: 1,
        tid: Some(4_712),
        period_ns: Some(1e6),
        releases: 3_000,
        overruns: 3,
        p50_ns: 80 * US,
        p99_ns: Some(846 * US),
        max_ns: 4 * MS,
        late,
        parts: ReleaseParts::default(),
        late_parts: None,
        late_by: vec![LateBy { source: "overrun".into(), name: String::new(), late, share: 0.5 }],
        unseen: 0,
    };
    let mut made = summary([threads(), threads(), threads()].concat());
    let rows = ["control", "logger", "camera", "sensor"].map(|name| release(name, 70)).to_vec();
    made.releases = Some(Releases { late_ns: 100 * US, rows, left_out: 0 });
    let calls = Calls { program: vec!["step".into()], kernel: vec![] };
    let place = WaitPlace {
        thread: Some("control".into()),
        other_threads: 0,
        calls,
        kind: DelayKind::Preempted,
        waits: 20,
        delayed_ns: 40 * MS,
        longest_ns: MS,
    };
    let places = vec![place; 9];
    made.places = Some(WaitPlaces { places, others_ns: 0, unknown_ns: 30 * MS, cut_short_ns: MS });
    let recording = Some(RecordingCost { events: 1_000, ns: 20 * MS });
    made.run.program.iter_mut().for_each(|program| program.recording = recording);
    let view = View { path: Some(std::path::Path::new("r")), ..View::default() };
    let found = Found::from_value(&SUMMARY, made, &[]);
    let text = found.screen(&view).to_text(&view);
    assert!(text.lines().count() <= 40, "{} lines\n{text}", text.lines().count());
    for part in [
        "what took the time",
        "released",
        "late by itself (50.0 %)",
        "delayed by",
        "check",
        "summary --all r",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
}
