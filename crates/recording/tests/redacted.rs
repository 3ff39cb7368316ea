//! A redacted copy has none of the secrets that stood in the texts of a recording.

use anechoic_lab::{builders, sample};
use anechoic_recording::attribution::Attribution;
use anechoic_recording::injection::{Injected, InjectionKind, InjectionTiming, SelfTest};
use anechoic_recording::machine::{Cache, Cpu, Setting};
use anechoic_recording::run::{NotAvailable, OwnThread, RecordedEvent, RunState};
use anechoic_recording::who::{CpuLimits, HeldBack, SeenThread};
use anechoic_recording::{
    Activity, ActivityKind, Delay, DelayKind, EachTable, Mark, Name, NameKind, Policy,
    ProgramThread, Recorder, Recording, Release, Row, Run, each_table,
};
use serde_json::Value;
use std::convert::Infallible;

/// The host, another host of the job, a directory of the command, and a path.
const SECRETS: [&str; 4] = ["zebra", "okapi", "giraffe", "badger"];
/// A text with all of them, as notes and errors have them.
const TEXT: &str =
    "zebra: cannot write giraffe/part, see host=okapi, zebra.example: '/home/badger/a badger/x'";
/// Texts of `run.json` that stay as they are: documented with the option, or written by anechoic itself.
const OPEN: [&str; 29] = [
    "/tool_version",
    "/method",
    "/start_utc",
    "/end_utc",
    "/clock/",
    "/threshold_source",
    "/policy",
    "/drain",
    "/cpus/*/class",
    "/outcomes/",
    "/own_threads/*/role",
    "/own_threads/*/policy",
    "/injections/*/kind",
    "/parallel/through",
    "/self_test/",
    "/trace/clock",
    "/trace/events/*/name",
    "/trace/events/*/args/",
    "/trace/missing/",
    "/machine/model",
    "/machine/arch",
    "/machine/kernel",
    "/machine/hypervisor",
    "/machine/confidential",
    "/machine/online",
    "/machine/allowed",
    "/machine/cpus/",
    "/machine/settings/*/name",
    "/machine/settings/*/file",
];

/// A run in which everything that is optional is present.
fn run() -> Run {
    let text = String::new;
    let mut run = sample::run(RunState::Interrupted(text()));
    run.command = ["/opt/anechoic", "run", "-o", "giraffe/rec"].map(String::from).to_vec();
    run.own_threads =
        vec![OwnThread { policy: Some(Policy::fifo(2)), ..OwnThread::new(7, "writer") }];
    run.injections = vec![Injected {
        kind: InjectionKind::Thread,
        timing: InjectionTiming::Replay { recording: text() },
        period_ns: 1,
        duration_ns: 1,
        cpus: vec![0],
        tids: vec![8],
        spells: vec![],
        starts: None,
    }];
    run.self_test = Some(SelfTest {
        utc: run.start_utc.clone(),
        tool_version: run.tool_version.clone(),
        model: run.machine.model.clone(),
        kernel: run.machine.kernel.clone(),
        cpu: 0,
        threshold_ns: 1.0,
        kinds: vec![],
    });
    let mut trace = builders::trace();
    trace.events = vec![RecordedEvent { number: 1, name: "a:b".into(), args: vec!["c".into()] }];
    trace.missing = vec!["a:d".into()];
    run.trace = Some(trace);
    run.not_available = vec![NotAvailable { what: text(), why: text(), remedy: text() }];
    let user =
        SeenThread { tid: 1, command: "x".into(), unit: Some(text()), ..SeenThread::default() };
    let ended = SeenThread { tid: 2, command: text(), ..user.clone() };
    run.threads = vec![user, ended];
    let other = HeldBack { cgroup: text(), quota_us: (1, 2), throttled_ns: 3 };
    run.limits = Some(CpuLimits {
        limited: Some(text()),
        also_limited: vec![other],
        ..CpuLimits::default()
    });
    run.machine.hypervisor = Some("KVM".into());
    run.machine.confidential = Some("Intel TDX".into());
    let cache = Cache {
        level: 1,
        kind: "Data".into(),
        size_bytes: 1,
        line_bytes: 64,
        ways: 8,
        shared_cpus: "0".into(),
    };
    run.machine.cpus = vec![Cpu {
        cpu: 0,
        class: "a".into(),
        package: None,
        core: None,
        node: None,
        siblings: "0".into(),
        caches: vec![cache],
        governor: Some("performance".into()),
    }];
    run.machine.settings = vec![Setting {
        name: "swap".into(),
        requested: Some(text()),
        effective: Some(text()),
        file: "/proc/swaps".into(),
    }];
    run
}

/// Puts the text into all texts at and below this place that do not stay as they are.
fn fill(value: &mut Value, place: &str) {
    match value {
        Value::String(text) => {
            let is_open =
                |open: &str| place == open || open.ends_with('/') && place.starts_with(open);
            if ["/machine/host", "/parallel/host"].contains(&place) {
                "zebra".clone_into(text);
            } else if !OPEN.iter().any(|open| is_open(open)) && !place.starts_with("/command") {
                TEXT.clone_into(text);
            }
        }
        Value::Array(values) => {
            values.iter_mut().for_each(|value| fill(value, &format!("{place}/*")))
        }
        Value::Object(fields) => {
            fields.iter_mut().for_each(|(name, value)| fill(value, &format!("{place}/{name}")));
        }
        _ => {}
    }
}

/// Returns all texts of the redacted copy of a run and of tables whose texts name their owner.
fn redacted(run: &Run) -> String {
    let place = tempfile::tempdir().unwrap();
    let (dir, copy) = (place.path().join("recording"), place.path().join("copy"));
    let mut recorder = Recorder::create(&dir, run).unwrap();
    recorder.append(&sample::detours(0)).unwrap();
    recorder.append(&sample::counters()).unwrap();
    recorder.append(&sample::losses()).unwrap();
    recorder.append(&sample::series()).unwrap();
    let name = |kind, key, name: &str| Name { kind, key, ticks: 0, name: name.into() };
    let stacks = [
        "badger;[giraffe];ksys_read_[k];schedule_[k]",
        "badger;zebra",
        "kthread_[k]",
        "badger_[k;okapi[k];okapi_[k]giraffe;pipe_read_[k]",
    ];
    recorder.append(&[name(NameKind::Task, 1, "badger")]).unwrap();
    let stacks = (0..).zip(stacks).map(|(key, calls)| name(NameKind::Stack, key, calls));
    recorder.append(&stacks.collect::<Vec<_>>()).unwrap();
    let mark = Mark { cpu: 0, ticks: sample::START, thread: 1, label: "badger".into() };
    recorder.append(&[mark]).unwrap();
    recorder.finish(run).unwrap();
    let recording = Recording::open(&dir).unwrap();
    let rows = [
        ("thread", "badger", "badger"),
        ("fair-server", "badger", "(badger)"),
        ("timer", "0xffffbadca11", "(timer 0xffffbadca11)"),
        ("timer", "hrtimer_wakeup", "(timer-tick)"),
        ("softirq", "RCU", "(thread badger)"),
    ];
    let activities = (0..).zip(rows).map(|(at, (source, name, sender))| Activity {
        name: name.into(),
        sent_by_task: Some(sender.into()),
        function: Some("0xffffbadca11".into()),
        ..builders::activity((0, at), ActivityKind::Activity, source, sample::START + at * 1000, 1)
    });
    let mut derived = recording.derive::<Activity>().unwrap();
    derived.append(&activities.collect::<Vec<_>>()).unwrap();
    derived.finish().unwrap();
    let mut derived = recording.derive().unwrap();
    derived.append(&[thread()]).unwrap();
    derived.finish().unwrap();
    let mut derived = recording.derive().unwrap();
    derived.append(&[delay(Some(7), "badger"), delay(None, "interrupts")]).unwrap();
    derived.finish().unwrap();
    let mut derived = recording.derive().unwrap();
    let late = [("thread", "badger"), ("late-timer", "after badger"), ("late-timer", "after idle")];
    derived.append(&late.map(|(source, name)| release(source, name))).unwrap();
    derived.finish().unwrap();
    recording.write_attribution(&Attribution::default()).unwrap();
    let hosts = [("zebra", "host-1"), ("okapi", "host-2")].map(|(a, b)| (a.into(), b.into()));
    recording.redact_to(&copy, "host-1", &hosts.into()).unwrap();
    let copy = Recording::open(&copy).unwrap();
    let mut texts = Texts(&copy, serde_json::to_string(copy.run()).unwrap());
    let Ok(()) = each_table(&mut texts);
    texts.1
}

/// Adds the rows of every table.
struct Texts<'a>(&'a Recording, String);

impl EachTable for Texts<'_> {
    type Error = Infallible;

    fn table<R: Row>(&mut self) -> Result<(), Infallible> {
        self.1 += &format!("{:?}", self.0.rows::<R>().collect::<Vec<_>>());
        Ok(())
    }
}

fn thread() -> ProgramThread {
    ProgramThread {
        thread: 0,
        tid: 7,
        name: "badger".into(),
        priority: None,
        cpus: "0".into(),
        first_ticks: 0,
        last_ticks: 0,
        executed_ticks: 0,
        interrupted_ticks: 0,
    }
}

fn delay(holder: Option<i32>, holder_name: &str) -> Delay {
    Delay {
        cpu: 0,
        start_ticks: sample::START,
        end_ticks: sample::START,
        thread: 0,
        kind: DelayKind::Woken,
        own_ticks: 0,
        holder,
        holder_name: holder_name.into(),
        holder_thread: None,
        held_ticks: 0,
        waker_thread: None,
        waker: None,
        waker_source: None,
        waker_name: None,
        slept_ticks: None,
        priority: None,
        other_priority: None,
    }
}

fn release(source: &str, name: &str) -> Release {
    Release {
        cpu: 0,
        due_ticks: sample::START,
        end_ticks: sample::START,
        thread: 0,
        armed_ticks: 0,
        slack_ticks: 0,
        expired_ticks: 0,
        timer_cpu: 0,
        woken_ticks: 0,
        unseen_ticks: 0,
        previous_ticks: None,
        source: source.into(),
        name: name.into(),
        source_ticks: 0,
    }
}

#[test]
fn no_text_of_a_redacted_copy_has_a_secret() {
    let mut filled = serde_json::to_value(run()).unwrap();
    fill(&mut filled, "");
    for in_job in [false, true] {
        let mut run: Run = serde_json::from_value(filled.clone()).unwrap();
        assert!(
            run.threads.iter().all(|seen| seen.name == TEXT),
            "the test fills what it searches"
        );
        run.threads[1].command.clear();
        if in_job {
            run.state = RunState::Interrupted("rank 3 on ibex ended the job: full".into());
        } else {
            run.parallel = None;
        }
        let texts = redacted(&run);
        for secret in SECRETS.iter().chain(&["ibex", "badca11"]) {
            let at = texts.find(secret).map(|at| &texts[at.saturating_sub(100)..at + secret.len()]);
            assert_eq!(at, None, "{secret}");
        }
        for stays in [
            "host=host-2",
            "hrtimer_wakeup",
            "\"(timer-tick)\"",
            "\"(timer)\"",
            "user-1",
            "\"interrupts\"",
            "\"after idle\"",
            "\"after user-",
            "name: \"ksys_read_[k];schedule_[k]\"",
            "name: \"kthread_[k]\"",
            "name: \"pipe_read_[k]\"",
            "name: \"\"",
        ] {
            assert!(texts.contains(stays), "{stays}: {texts}");
        }
    }
}

/// An idle program has tables of its threads without rows, which differ from no tables: those are not derived.
#[test]
fn tables_without_rows_stay_without_rows() {
    let place = tempfile::tempdir().unwrap();
    let (dir, copy) = (place.path().join("recording"), place.path().join("copy"));
    let run = sample::run(RunState::Complete);
    Recorder::create(&dir, &run).unwrap().finish(&run).unwrap();
    let recording = Recording::open(&dir).unwrap();
    recording.derive::<ProgramThread>().unwrap().finish().unwrap();
    recording.write_attribution(&Attribution::default()).unwrap();
    recording.redact_to(&copy, "host-1", &Default::default()).unwrap();
    let there = ["threads", "delays"].map(|table| copy.join(table).is_dir());
    assert_eq!(there, [true, false]);
}
