//! Real runs on the real tracefs find and name what is known to have happened.

use crate::tool::{self, anechoic, arg, may_trace, signal, start, until_running, wait};
use anechoic_recording::{Activity, ActivityKind, Detour, EventKind, KernelEvent, Recording};
use anechoic_system::cpus;
use anechoic_system::perf::TimerInterrupts;
use std::collections::BTreeMap;
use std::time::Duration;

/// The kernel's function behind a sampling cpu-clock event.
const PERF_TIMER: &str = "perf_swevent_hrtimer";

fn rows<R: anechoic_recording::Row>(recording: &Recording) -> Vec<R> {
    recording.rows::<R>().flat_map(|batch| batch.expect("readable")).collect()
}

/// Every extra timer interrupt that the kernel delivered is found, on its CPU and by its name.
#[test]
fn added_timer_interrupts_are_all_found() {
    let _alone = tool::alone();
    if !may_trace() {
        return;
    }
    let cpu = *cpus::allowed().last().expect("a CPU");
    for rate in [137, 1_000, 10_000] {
        let dir = tempfile::tempdir().expect("a directory");
        let _timer = TimerInterrupts::start(cpu, 1_000_000_000 / rate).expect("perf events");
        let done = anechoic(&["run", "-d", "6s", "-q", "-o", arg(dir.path())]);
        assert_eq!(done.code, Some(0), "{rate} Hz: {}", done.err);
        let recording = Recording::open(dir.path()).expect("a recording");
        let delivered = delivered(&recording, cpu);
        let found = found(&recording);
        println!("asked {rate} Hz for 6 s: delivered {delivered}, found {found:?}");
        assert!(delivered > 3 * rate, "{rate} Hz for 6 s: {delivered}");
        assert_eq!(found, BTreeMap::from([(cpu, delivered)]), "{rate} Hz");
        parts_add_up(&recording);
    }
}

/// Returns the expirations of the event's timer while the loop of `cpu` ran, from the kernel's own events.
fn delivered(recording: &Recording, cpu: u32) -> u64 {
    let names = rows::<anechoic_recording::Name>(recording);
    let address = names.iter().find(|name| name.name == PERF_TIMER).expect("resolved").key;
    let measured = recording.run().cpus.iter().find(|row| row.cpu == cpu).expect("measured");
    let window = measured.first_ticks..=measured.last_ticks;
    let events = rows::<KernelEvent>(recording).into_iter();
    let expired = events.filter(|event| event.kind == EventKind::HrtimerEntry && event.cpu == cpu);
    expired.filter(|e| e.args[1] == address && window.contains(&e.ticks)).count() as u64
}

/// Returns the activities of that function, by CPU.
fn found(recording: &Recording) -> BTreeMap<u32, u64> {
    let mut found = BTreeMap::new();
    for activity in rows::<Activity>(recording) {
        // The interrupt around it also has that name, but only the expiration has the function.
        let expired = activity.function.as_deref() == Some(PERF_TIMER);
        if expired && &*activity.source == "timer" && activity.kind == ActivityKind::Activity {
            *found.entry(activity.cpu).or_insert(0) += 1;
        }
    }
    found
}

/// The parts of every detour add up to it, to the tick.
fn parts_add_up(recording: &Recording) {
    for cpu in &recording.run().cpus {
        let detours = recording.rows_of_cpu::<Detour>(cpu.cpu).flat_map(|b| b.expect("readable"));
        let mut sums: BTreeMap<u64, u64> = BTreeMap::new();
        for activity in
            recording.rows_of_cpu::<Activity>(cpu.cpu).flat_map(|b| b.expect("readable"))
        {
            *sums.entry(activity.detour).or_insert(0) += activity.self_ticks;
        }
        for (index, detour) in detours.enumerate() {
            let length = detour.end_ticks - detour.start_ticks - cpu.shortest_gap_ticks;
            let sum = sums.get(&(index as u64));
            assert_eq!(sum, Some(&length), "detour {index} of CPU {}: {detour:?}", cpu.cpu);
        }
    }
}

/// A stop by SIGSTOP is one detour of its length, charged to the stop whatever ran in the meantime.
#[test]
fn a_stop_is_one_detour_and_charged_to_the_stop() {
    let _alone = tool::alone();
    if !may_trace() {
        return;
    }
    let dir = tempfile::tempdir().expect("a directory");
    let child = start(&["run", "-d", "5s", "-q", "-o", arg(dir.path())]);
    until_running(dir.path());
    signal(&child, "STOP");
    std::thread::sleep(Duration::from_millis(2_500));
    signal(&child, "CONT");
    assert_eq!(wait(child).code, Some(0));
    let recording = Recording::open(dir.path()).expect("a recording");
    let clock = &recording.run().clock;
    for cpu in &recording.run().cpus {
        let activities =
            recording.rows_of_cpu::<Activity>(cpu.cpu).flat_map(|b| b.expect("readable"));
        let stopped: Vec<Activity> = activities.filter(|a| &*a.source == "stopped").collect();
        let detours: std::collections::BTreeSet<u64> = stopped.iter().map(|a| a.detour).collect();
        assert_eq!(detours.len(), 1, "CPU {}: {stopped:?}", cpu.cpu);
        let seconds = clock.seconds(stopped.iter().map(|a| a.self_ticks).sum());
        assert!((2.4..2.8).contains(&seconds), "CPU {}: {seconds} s", cpu.cpu);
    }
    parts_add_up(&recording);
}

/// Every kernel event on a measured CPU lies inside a detour that the loop saw.
#[test]
fn kernel_events_lie_inside_the_detours() {
    let _alone = tool::alone();
    if !may_trace() {
        return;
    }
    let dir = tempfile::tempdir().expect("a directory");
    let done = anechoic(&["run", "-d", "3s", "-q", "-o", arg(dir.path())]);
    assert_eq!(done.code, Some(0), "{}", done.err);
    let recording = Recording::open(dir.path()).expect("a recording");
    let alignment = recording.attribution().expect("readable").expect("attributed").alignment;
    assert!(alignment.events > 3_000, "{alignment:?}");
    assert_eq!(alignment.outside, 0, "{alignment:?}");
}

/// Programs that end long before anybody reads /proc are charged to who began them.
#[test]
fn programs_that_have_ended_are_not_unknown() {
    let _alone = tool::alone();
    if !may_trace() {
        return;
    }
    let cpu = *cpus::allowed().last().expect("a CPU");
    let dir = tempfile::tempdir().expect("a directory");
    // Each is another process, which lives for some milliseconds on the measured CPU.
    let short = "i=0; while [ $i -lt 3000 ]; do i=$((i+1)); done";
    let script = format!("while :; do taskset -c {cpu} sh -c '{short}'; done");
    let mut load = std::process::Command::new("sh").args(["-c", &script]).spawn().expect("a shell");
    let done = anechoic(&["run", "-c", &cpu.to_string(), "-d", "3s", "-q", "-o", arg(dir.path())]);
    load.kill().and_then(|()| load.wait()).expect("ended");
    assert!(matches!(done.code, Some(0 | 1)), "{}", done.err);
    let threads = Recording::open(dir.path()).expect("a recording").run().threads.clone();
    let ended = threads.iter().filter(|seen| seen.command.ends_with("/sh")).count();
    assert!(ended > 20, "{ended} of {} threads", threads.len());
    let shown = anechoic(&["summary", "--json", arg(dir.path())]);
    let summary: serde_json::Value = serde_json::from_str(&shown.out).expect("JSON");
    let owners = summary["owners"].as_array().expect("owners");
    let unknown = owners.iter().find(|owner| owner["kind"] == "unknown");
    let share = unknown.map_or(0.0, |owner| owner["share"].as_f64().expect("a share"));
    assert!(share < 0.1, "{owners:?}");
}
