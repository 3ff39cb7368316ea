//! Folded stacks, against the sums of a made-up recording.

use super::{START, export_of, program, program_with, record, wait};
use anechoic_analyze::waits::places;
use anechoic_recording::DelayKind::{Begun, Blocked, Preempted, Woken};
use anechoic_recording::{Delay, Recording, Stack};

/// A stack of thread 70 or 71, at a time in ns since the start.
fn stack(cpu: u32, at: u64, thread: i32, stack: u32) -> Stack {
    Stack { cpu, ticks: START + at, thread, stack }
}

#[test]
fn lost_time_of_waits_is_folded_by_pool_and_place() {
    let dir = tempfile::tempdir().expect("a directory");
    let own = Delay { own_ticks: 200_000, ..wait(0, 0, (2_000_000, 2_500_000), Preempted) };
    let woken = Delay { slept_ticks: Some(400_000), ..wait(1, 1, (1_000_000, 1_040_000), Woken) };
    let delays = [
        wait(0, 0, (100_000, 1_100_000), Preempted),
        own,
        wait(0, 0, (3_000_000, 3_000_400), Preempted), // less than half a microsecond
        wait(0, 1, (3_500_000, 3_600_000), Blocked),
        wait(1, 1, (200_000, 207_400), Begun),
        woken,
    ];
    let stacks = [
        stack(0, 100_000, 70, 0),
        stack(0, 2_000_000, 70, 1),
        stack(0, 3_000_000, 70, 3),
        stack(1, 600_000, 71, 2),
    ];
    let names = [
        "main;run;step;asm_x_[k];schedule_[k]",
        "main;run;step",
        "main;read;do_syscall_64_[k];pipe_read_[k];schedule_[k]",
        "main;short",
    ];
    let recording = program_with(&dir.path().join("r"), &delays, &stacks, &names);
    let text = |cpus: Option<&[u32]>| {
        let file = export_of(&recording, "folded", &[], cpus).expect("it has stacks").concat();
        String::from_utf8(file).expect("text")
    };
    let of_worker = "worker;[no stack] 7\nworker;main;read;pipe_read_[k] 40\n";
    assert_eq!(text(None), format!("first;main;run;step 1300\n{of_worker}"));
    assert_eq!(text(Some(&[1])), of_worker);
    let places = places(&recording).expect("it can be read").expect("it has stacks");
    let sum: u64 = places.places.iter().map(|place| place.delayed_ns).sum();
    assert_eq!((sum + places.others_ns, places.unknown_ns), (1_340_400, 7_400));
}

#[test]
fn without_stacks_it_says_how_to_record_them() {
    let dir = tempfile::tempdir().expect("a directory");
    let why = |recording: &Recording| {
        export_of(recording, "folded", &[], None).expect_err("none").to_string()
    };
    let said = why(&program(&dir.path().join("a")));
    let remedy = "; record the program again with `anechoic record --stacks`";
    assert!(said.ends_with(&format!("it has no call stacks{remedy}")), "{said}");
    let said = why(&record(&dir.path().join("b"), &[]));
    let remedy = "; record one with `anechoic record --stacks`";
    assert!(
        said.ends_with(&format!("only a recording of a program has call stacks{remedy}")),
        "{said}"
    );
}

#[test]
fn a_program_that_never_waited_has_no_lines() {
    let dir = tempfile::tempdir().expect("a directory");
    let recording = program_with(&dir.path().join("r"), &[], &[stack(0, 5, 70, 0)], &["main"]);
    assert_eq!(export_of(&recording, "folded", &[], None).expect("it has stacks"), [vec![0; 0]]);
}
