//! What each export format writes of one recording.

mod benchmarks;
mod csv;
mod folded;
mod hdr_log;
mod hgrm;
mod metrics;
mod netgauge;
mod perfetto;
mod releases;
mod sysjitter;
mod wakeups;

use anechoic_lab::builders;
use anechoic_recording::attribution::Attribution;
use anechoic_recording::options::Answers;
use anechoic_recording::run::{CpuRun, Program, Run};
use anechoic_recording::{
    Activity, ActivityKind as Kind, Delay, DelayKind, Detour, Loss, Mark, Name, NameKind, Problem,
    ProgramThread, Recorder, Recording, Stack, methods,
};
use anechoic_report::export::{FORMATS, Format, Holds};
use std::collections::BTreeSet;
use std::path::Path;

/// Start of the run.
const START: u64 = 1_000_000;
/// A second: ticks are nanoseconds.
const SECOND: u64 = 1_000_000_000;
/// The loop's own iteration.
const ITERATION: u64 = 10;

/// A run of three seconds on CPUs 0 and 1.
fn run() -> Run {
    let cpu = |cpu| CpuRun {
        detours: 3,
        ..builders::cpu_run(cpu, (START, START + 3 * SECOND), ITERATION)
    };
    Run {
        threshold_ticks: 90,
        trace: Some(builders::trace()),
        ..builders::run("detours", builders::clock(SECOND), vec![cpu(0), cpu(1)])
    }
}

/// Detours of each CPU: when, in ns since the start, and how long without the iteration.
const DETOURS: [&[(u64, u64)]; 2] = [
    &[(1_000, 5_000), (1_500_000_000, 200_000), (2_500_000_000, 300)],
    &[(2_000, 7_000), (1_250_000_000, 1_234_567), (1_260_000_000, 90)],
];

/// The activities of the detours: a tick with a nested softirq that a task on CPU 1 raised, a thread, and nothing known.
fn activities(cpu: u32) -> Vec<Activity> {
    let at = |detour: usize| START + DETOURS[cpu as usize][detour].0;
    let row = |detour, kind, source: &str, name: &str, (start, length): (u64, u64), self_ticks| {
        let whole =
            builders::activity((cpu, detour as u64), kind, source, at(detour) + start, length);
        Activity { self_ticks, name: name.into(), ..whole }
    };
    let softirq = Activity {
        parent: Some(1),
        function: Some("rcu_core".into()),
        sent_by_cpu: Some(1),
        sent_by_task: Some("bash".into()),
        ..row(0, Kind::Activity, "softirq", "RCU", (2_000, 1_000), 1_000)
    };
    let thread = row(1, Kind::OffCpu, "thread", "a \"b\", c", (10, 200_000), 200_000);
    match cpu {
        0 => vec![
            row(0, Kind::EntryGap, "timer-tick", "", (0, 500), 500),
            row(0, Kind::Activity, "timer-tick", "", (500, 3_500), 2_500),
            softirq,
            row(0, Kind::ExitGap, "timer-tick", "", (4_000, 1_010), 1_000),
            thread,
            row(2, Kind::Unexplained, "vm-or-hardware", "", (0, 310), 300),
        ],
        _ => vec![
            row(0, Kind::Unexplained, "vm-or-hardware", "", (0, 7_010), 7_000),
            row(1, Kind::Unexplained, "vm-or-hardware", "", (0, 1_234_577), 1_234_567),
            row(2, Kind::Unexplained, "vm-or-hardware", "", (0, 100), 90),
        ],
    }
}

/// Writes the recording, with these losses.
fn record(dir: &Path, losses: &[Loss]) -> Recording {
    let mut recorder = Recorder::create(dir, &run()).expect("a new directory");
    for (cpu, detours) in (0..).zip(DETOURS) {
        let row = |&(at, lost): &(u64, u64)| {
            let start_ticks = START + at;
            Detour { cpu, start_ticks, end_ticks: start_ticks + lost + ITERATION }
        };
        recorder.append(&detours.iter().map(row).collect::<Vec<_>>()).expect("in order");
    }
    recorder.append(losses).expect("in order");
    recorder.finish(&run()).expect("there is space");
    let recording = Recording::open(dir).expect("just written");
    let mut writer = recording.derive::<Activity>().expect("writable");
    (0..2).for_each(|cpu| writer.append(&activities(cpu)).expect("in order"));
    writer.finish().expect("there is space");
    recording.write_attribution(&Attribution::default()).expect("writable");
    Recording::open(dir).expect("just written")
}

/// Writes a recording of a program: `first` and `worker` each waited twice, and `worker` was blocked by `first` meanwhile.
fn program(dir: &Path) -> Recording {
    program_with(dir, &delays(), &[], &[])
}

/// Writes a recording of a program with these waits, and with call stacks by their names.
fn program_with(dir: &Path, delays: &[Delay], stacks: &[Stack], names: &[&str]) -> Recording {
    let run = Run {
        program: Some(Program::default()),
        method: methods::PROGRAM.into(),
        cpus: vec![0, 1].into_iter().map(|cpu| builders::cpu_run(cpu, (START, START), 0)).collect(),
        ..run()
    };
    let mut recorder = Recorder::create(dir, &run).expect("a new directory");
    let mark = |cpu, at| Mark { cpu, ticks: START + at, thread: 70, label: "a, b".into() };
    recorder.append(&[mark(0, 100), mark(1, 900)]).expect("in order");
    recorder.append(stacks).expect("in order");
    recorder.append(&(0..).zip(names).map(stack_name).collect::<Vec<_>>()).expect("in order");
    recorder.finish(&run).expect("there is space");
    let recording = Recording::open(dir).expect("just written");
    let mut table = recording.derive().expect("writable");
    table.append(&[thread(1, "worker"), thread(0, "first")]).expect("in order");
    table.finish().expect("there is space");
    let mut table = recording.derive().expect("writable");
    table.append(delays).expect("in order");
    table.finish().expect("there is space");
    Recording::open(dir).expect("just written")
}

fn stack_name((key, name): (u64, &&str)) -> Name {
    Name { kind: NameKind::Stack, key, ticks: 0, name: (*name).into() }
}

fn thread(thread: u32, name: &str) -> ProgramThread {
    ProgramThread {
        thread,
        tid: 70 + thread.cast_signed(),
        name: name.into(),
        priority: (thread == 0).then_some(-1),
        cpus: "0-1".into(),
        first_ticks: START,
        last_ticks: START + 2_000,
        executed_ticks: 500,
        interrupted_ticks: 5,
    }
}

/// A wait on a CPU from one time to another, in ns since the start.
fn wait(cpu: u32, thread: u32, (from, to): (u64, u64), kind: DelayKind) -> Delay {
    Delay {
        cpu,
        start_ticks: START + from,
        end_ticks: START + to,
        thread,
        kind,
        own_ticks: 0,
        holder: None,
        holder_name: "".into(),
        holder_thread: None,
        held_ticks: to - from - 1,
        waker_thread: None,
        waker: None,
        waker_source: None,
        waker_name: None,
        slept_ticks: None,
        priority: None,
        other_priority: None,
    }
}

fn delays() -> [Delay; 4] {
    let row = |cpu, thread, times, kind, holder, holder_name: &str| Delay {
        holder,
        holder_name: holder_name.into(),
        ..wait(cpu, thread, times, kind)
    };
    let blocked = row(0, 1, (300, 500), DelayKind::Blocked, Some(9), "=hog");
    [
        row(0, 0, (300, 500), DelayKind::Preempted, Some(9), "=hog"),
        Delay { waker_thread: Some(0), slept_ticks: Some(280), ..blocked },
        Delay {
            waker_source: Some("device-irq".into()),
            waker_name: Some("nvme0q1".into()),
            ..row(1, 1, (100, 250), DelayKind::Woken, None, "interrupts")
        },
        row(1, 0, (50, 60), DelayKind::Begun, Some(0), "swapper"),
    ]
}

fn format(id: &str) -> &'static Format {
    FORMATS.iter().find(|format| format.id == id).expect("a format")
}

/// Exports a recording; each file as text.
fn export_of(
    recording: &Recording,
    id: &str,
    given: &[(&str, &str)],
    cpus: Option<&[u32]>,
) -> Result<Vec<Vec<u8>>, Problem> {
    let answers = Answers::read(format(id).options, given)?;
    let exports = format(id).exports(recording, cpus, &answers, &|_| {})?;
    let file = |export| {
        let mut out = vec![];
        (format(id).write)(export, &mut out).map(|()| out)
    };
    exports.iter().map(file).collect()
}

/// Exports the recording; each file as bytes.
fn files(id: &str) -> Vec<Vec<u8>> {
    let dir = tempfile::tempdir().expect("a directory");
    export_of(&record(&dir.path().join("r"), &[]), id, &[], None).expect("a complete recording")
}

/// Exports the recording to one file of text.
fn text(id: &str) -> String {
    let [file] = &files(id)[..] else { panic!("{id} has one file") };
    String::from_utf8(file.clone()).expect("text")
}

/// Events of CPU 1 that were lost.
fn lost() -> Loss {
    Loss { what: "events".into(), cpu: 1, start_ticks: START, end_ticks: START + 9, count: 17 }
}

#[test]
fn every_format_says_what_it_is_and_writes_the_same_bytes_again() {
    let ids: BTreeSet<&str> = FORMATS.iter().map(|format| format.id).collect();
    assert_eq!(ids.len(), FORMATS.len(), "identifiers are unique");
    for format in FORMATS {
        assert!(format.details.ends_with('.') && !format.title.ends_with('.'), "{}", format.id);
        assert!(format.examples.contains(&format!("  anechoic export {} ", format.id)));
        if matches!(format.holds, Holds::Stacks | Holds::Wakeups) {
            continue; // this recording has none
        }
        assert!(!files(format.id).concat().is_empty(), "{}", format.id);
        assert_eq!(files(format.id), files(format.id), "{}", format.id);
    }
}

#[test]
fn what_was_lost_is_noted() {
    let dir = tempfile::tempdir().expect("a directory");
    let recording = record(&dir.path().join("r"), &[lost()]);
    let answers = Answers::default();
    let exports = format("csv").exports(&recording, None, &answers, &|_| {});
    assert_eq!(exports.expect("detours")[0].notes(), ["17 events of CPU 1 were lost"]);
    let with_comments = export_of(&recording, "netgauge", &[], None).expect("detours");
    let comment = "\n# note: 17 events of CPU 1 were lost\n";
    assert!(String::from_utf8_lossy(&with_comments[0]).contains(comment));
}

#[test]
fn cpus_are_chosen_and_others_refused_by_name() {
    let dir = tempfile::tempdir().expect("a directory");
    let recording = record(&dir.path().join("r"), &[]);
    let exported = |cpus: &[u32]| export_of(&recording, "csv", &[], Some(cpus));
    let rows = |file: &[u8]| file.iter().filter(|&&byte| byte == b'\n').count() - 1;
    assert_eq!(exported(&[1, 0]), exported(&[0, 1]), "in the order of the recording");
    assert_eq!(rows(&exported(&[1]).expect("it has that")[0]), DETOURS[1].len());
    let why = exported(&[1, 7]).expect_err("there is no CPU 7").to_string();
    assert!(why.ends_with("has no CPU 7; it has 0, 1"), "{why}");
}
