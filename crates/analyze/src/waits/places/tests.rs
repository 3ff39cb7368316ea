use super::*;
use anechoic_lab::builders;
use anechoic_recording::run::{Program, Run};
use anechoic_recording::{ProgramThread, Recorder, Stack};
use std::path::Path;

/// Ticks of a microsecond, at 1 GHz.
const US: u64 = 1_000;

#[test]
fn calls_are_read_without_how_the_kernel_switches() {
    let cases: [(&str, &[&str], &[&str], &str); 6] = [
        (
            "main;run;step;asm_sysvec_apic_timer_interrupt_[k];irqentry_exit_to_user_mode_[k];schedule_[k];__schedule_[k]",
            &["step", "run", "main"],
            &[],
            "main;run;step",
        ),
        (
            "main;read;entry_SYSCALL_64_after_hwframe_[k];do_syscall_64_[k];ksys_read_[k];pipe_read_[k];schedule_[k];__schedule_[k];__traceiter_sched_switch_[k]",
            &["read", "main"],
            &["pipe_read", "ksys_read"],
            "main;read;ksys_read_[k];pipe_read_[k]",
        ),
        (
            "ret_from_fork_asm_[k];ret_from_fork_[k];kthread_[k];worker_thread_[k];schedule_[k];__schedule_[k]",
            &[],
            &["worker_thread", "kthread"],
            "kthread_[k];worker_thread_[k]",
        ),
        ("main", &["main"], &[], "main"),
        ("__schedule_[k]", &[], &[], "[unknown]"),
        ("", &[], &[], "[unknown]"),
    ];
    for (text, program, kernel, folded) in cases {
        let calls = Calls::parse(text);
        assert_eq!(calls.program, program, "{text}");
        assert_eq!(calls.kernel, kernel, "{text}");
        assert_eq!(calls.folded(), folded, "{text}");
    }
}

/// Thread 101 waits on CPU 1 from one time to another, in µs; it had slept for so long, and 50 had the CPU.
fn wait(kind: DelayKind, from: u64, to: u64, slept: Option<u64>) -> Delay {
    Delay {
        cpu: 1,
        start_ticks: from * US,
        end_ticks: to * US,
        thread: 1,
        kind,
        own_ticks: 0,
        holder: Some(50),
        holder_name: "hog".into(),
        holder_thread: None,
        held_ticks: (to - from) * US,
        waker_thread: None,
        waker: None,
        waker_source: None,
        waker_name: None,
        priority: None,
        other_priority: None,
        slept_ticks: slept.map(|slept| slept * US),
    }
}

fn stack(cpu: u32, at: u64, thread: i32, stack: u32) -> Stack {
    Stack { cpu, ticks: at * US, thread, stack }
}

fn recorded(dir: &Path, stacks: &[Stack], delays: &[Delay]) -> Recording {
    let run = Run {
        program: Some(Program::default()),
        end_ticks: 1_000_000 * US,
        ..builders::run(
            "program",
            builders::clock(1_000_000_000),
            vec![
                builders::cpu_run(0, (0, 1_000_000 * US), 0),
                builders::cpu_run(1, (0, 1_000_000 * US), 0),
            ],
        )
    };
    let mut recorder = Recorder::create(dir, &run).expect("a new directory");
    recorder.append(stacks).expect("in order");
    let name = |key, name: &str| Name { kind: NameKind::Stack, key, ticks: 0, name: name.into() };
    let names = [
        name(0, "main;here"),
        name(1, "main;there"),
        name(2, "hog;burn"),
        name(3, "main;here;asm_x_[k]"),
    ];
    recorder.append(&names).expect("in order");
    recorder.finish(&run).expect("there is space");
    let recording = Recording::open(dir).expect("just written");
    let thread = ProgramThread {
        thread: 1,
        tid: 101,
        name: "victim".into(),
        priority: None,
        cpus: "1".into(),
        first_ticks: 0,
        last_ticks: 1_000_000 * US,
        executed_ticks: US,
        interrupted_ticks: 0,
    };
    let mut table = recording.derive().expect("writable");
    table.append(&[thread]).expect("in order");
    table.finish().expect("there is space");
    let mut table = recording.derive().expect("writable");
    table.append(delays).expect("in order");
    table.finish().expect("there is space");
    Recording::open(dir).expect("just written")
}

/// The innermost call of the thread and of the holder at each wait.
fn innermost(recording: &Recording, waits: &[Delay]) -> Vec<[Option<String>; 2]> {
    let found = beside(recording, waits).expect("it can be read");
    found
        .into_iter()
        .map(|both| both.map(|calls| calls.and_then(|calls| calls.program.first().cloned())))
        .collect()
}

#[test]
fn a_wait_has_the_stack_of_its_own_switch_and_no_other() {
    use DelayKind::{Begun, Blocked, Preempted, Woken};
    let dir = tempfile::tempdir().expect("a directory");
    let stacks = [
        stack(0, 900, 101, 1), // asleep there from here on
        stack(1, 1_001, 101, 0),
        stack(1, 3_002, 50, 2),
        stack(1, 3_010, 101, 1), // it left again at once
        stack(1, 6_000, 50, 2),
        stack(1, 7_000, 101, 3),
        stack(1, 9_000, 50, 2),
    ];
    let waits = [
        wait(Preempted, 1_000, 3_000, None),
        wait(Woken, 3_500, 4_000, Some(491)), // slept since 3,009; who had the CPU did not leave it to this thread
        wait(Preempted, 5_000, 6_001, None),  // the stack of its switch was lost
        wait(Begun, 6_100, 6_200, None),
        wait(Preempted, 7_001, 9_002, None),
        wait(Woken, 9_500, 9_600, Some(2_000)), // slept since 7,500, where the stack was lost
        wait(Blocked, 9_650, 9_700, Some(10)),
    ];
    let recording = recorded(dir.path(), &stacks, &waits);
    let some = |text: &str| Some(text.to_owned());
    let expected = [
        [some("here"), some("burn")],
        [some("there"), None],
        [None, some("burn")],
        [None, None],
        [some("here"), some("burn")],
        [None, None],
        [None, None],
    ];
    assert_eq!(innermost(&recording, &waits), expected);
    let found = places(&recording).expect("it can be read").expect("there are stacks");
    let rows: Vec<_> = found
        .places
        .iter()
        .map(|it| (it.calls.program[0].as_str(), it.kind, it.waits, it.delayed_ns, it.longest_ns))
        .collect();
    // Both stacks that end in `here` are one place.
    assert_eq!(
        rows,
        [("here", Preempted, 2, 4_001_000, 2_001_000), ("there", Woken, 1, 500_000, 500_000)]
    );
    assert_eq!((found.others_ns, found.unknown_ns), (0, 1_001_000 + 100_000 + 100_000));
    let of_pool = |chosen: &dyn Fn(u32) -> bool| -> Vec<(String, Option<String>, u64)> {
        let found = places_of_pools(&recording, chosen).expect("it can be read");
        let rows = found.expect("there are stacks").into_iter();
        rows.map(|it| (it.pool, it.calls.map(|calls| calls.folded()), it.delayed_ns)).collect()
    };
    let row = |calls: Option<&str>, ns| ("victim".to_owned(), calls.map(str::to_owned), ns);
    let expected = [
        row(None, found.unknown_ns),
        row(Some("main;here"), found.places[0].delayed_ns),
        row(Some("main;there"), found.places[1].delayed_ns),
    ];
    assert_eq!(of_pool(&|_| true), expected);
    assert_eq!(of_pool(&|cpu| cpu == 0), []);
}

#[test]
fn a_thread_that_leaves_again_and_again_has_the_stack_of_each_switch() {
    let dir = tempfile::tempdir().expect("a directory");
    let at = [1_000, 1_010, 1_020, 1_030, 1_040];
    let stacks: Vec<Stack> =
        at.iter().zip([0, 1, 0, 1, 0]).map(|(&at, number)| stack(1, at, 101, number)).collect();
    let waits: Vec<Delay> =
        at.iter().map(|&at| wait(DelayKind::Preempted, at, at + 5, None)).collect();
    let recording = recorded(dir.path(), &stacks, &waits);
    let found: Vec<Option<String>> =
        innermost(&recording, &waits).into_iter().map(|[own, _]| own).collect();
    assert_eq!(found, ["here", "there", "here", "there", "here"].map(|name| Some(name.to_owned())));
}

#[test]
fn without_stacks_or_waits_there_are_no_places() {
    let dir = tempfile::tempdir().expect("a directory");
    let waits = [wait(DelayKind::Preempted, 1_000, 3_000, None)];
    let recording = recorded(&dir.path().join("a"), &[], &waits);
    assert_eq!(places(&recording).expect("it can be read"), None);
    assert_eq!(places_of_pools(&recording, &|_| true).expect("it can be read"), None);
    assert_eq!(innermost(&recording, &waits), [[None, None]]);
    let recording = recorded(&dir.path().join("b"), &[stack(1, 5, 101, 0)], &[]);
    let found = places(&recording).expect("it can be read").expect("there are stacks");
    assert_eq!((found.places.len(), found.unknown_ns), (0, 0));
}
