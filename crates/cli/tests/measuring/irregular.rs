//! `anechoic inject` really injects interrupts at random and at replayed times.
//!
//! If BPF timers are missing, each test prints that and passes.

use crate::tool::{self, anechoic, arg, calm, ensure, one_of, signal, start, wait};
use anechoic_lab::note;
use anechoic_recording::{Clock, Detour, EventKind, KernelEvent, Name, Recording};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::thread;
use std::time::Duration;

/// Returns the CPU that gets noise at random times; `None` if this test, or this kernel, cannot make any.
fn noisy() -> Option<String> {
    let cpu = tool::noisy()?;
    let fixed = ["inject", "--kind", "interrupt", "--poisson", "--rate", "100hz", "--for", "10ms"];
    let done = anechoic(&[&fixed[..], &["--cpus", &cpu]].concat());
    if done.err.contains("Linux 6.7 is the oldest") {
        note::skipped(done.err);
        return None;
    }
    Some(cpu)
}

/// Verifies on one CPU; returns the result for it, and the whole result.
fn verify(cpu: &str, kind: &[&str], output: &Path) -> Value {
    let fixed = ["inject", "--verify", "--json", "--cpus", cpu, "-q", "--kind"];
    let done = anechoic(&[&fixed[..], kind, &["-o", arg(output)]].concat());
    let result = serde_json::from_str(&done.out);
    result.unwrap_or_else(|e| panic!("{e}: {} {}", done.out, done.err))
}

fn number(row: &Value, name: &str) -> u64 {
    row[name].as_u64().unwrap_or_else(|| panic!("{name}: {row}"))
}

#[test]
fn all_that_comes_at_random_times_is_seen_and_counted() {
    let _alone = tool::alone();
    let Some(cpu) = noisy() else { return };
    for (kind, long) in [
        (&["interrupt", "--rate", "1khz"][..], false),
        (&["interrupt", "--rate", "10khz"], false),
        // On a busy machine a microsecond is soon lost.
        (&["kernel", "--rate", "1khz", "-d", "5us"], false),
        (&["kernel", "--rate", "500hz", "-d", "50us"], true),
        (&["kernel", "--rate", "100hz", "-d", "500us"], true),
    ] {
        one_of(5, || {
            let row = seen_and_counted(&cpu, kind);
            let own = &row["own_time"];
            ensure(!long || own["within"] == true, calm(&row), || format!("{kind:?}: {own}"))
        });
    }
}

/// Verifies two seconds of that noise; returns the result for the CPU.
fn seen_and_counted(cpu: &str, kind: &[&str]) -> Value {
    let dir = tempfile::tempdir().expect("a directory");
    let timed = [kind, &["--poisson", "--seed", "5", "--for", "2s"]].concat();
    let result = verify(cpu, &timed, &dir.path().join("v"));
    let row = &result["cpus"][0];
    let delivered = number(row, "delivered");
    assert_eq!(number(&row["seen"], "found"), delivered, "{kind:?}: {row}");
    assert_eq!(number(&row["seen"], "missing"), 0, "{kind:?}: {row}");
    let count = &row["own_count"];
    assert_eq!(count["injector"], count["kernel"], "{kind:?}: {row}");
    assert_eq!((number(row, "cut_short"), row["too_short"].as_u64()), (0, Some(0)), "{row}");
    // Five standard deviations of a Poisson law.
    let mean = number(row, "window_ns") as f64 / number(&result["injected"], "period_ns") as f64;
    let came = (delivered + number(row, "overruns")) as f64;
    assert!((came - mean).abs() < 5.0 * mean.sqrt() + 5.0, "{kind:?}: {came} of {mean}: {row}");
    row.clone()
}

/// Returns start (since the start of the noise) and length of a recording's long detours, in ns.
fn long_detours(dir: &Path, least_ns: u64) -> Vec<(u64, u64)> {
    let recording = Recording::open(dir).expect("a recording");
    let run = recording.run();
    let (cpu, clock) = (&run.cpus[0], &run.clock);
    let mut all = Vec::new();
    for detours in recording.rows_of_cpu::<Detour>(cpu.cpu) {
        for detour in detours.expect("whole") {
            let length = detour.end_ticks - detour.start_ticks - cpu.shortest_gap_ticks;
            let start = detour.start_ticks.saturating_sub(cpu.first_ticks);
            all.push((clock.ns(start), clock.ns(length)));
        }
    }
    all.retain(|&(_, length_ns)| length_ns >= least_ns);
    all
}

/// Returns the time between two readings of the counter.
fn signed_ns(clock: &Clock, from: u64, to: u64) -> i64 {
    let ns = |ticks: u64| clock.ns(ticks).cast_signed();
    if to < from { -ns(from - to) } else { ns(to - from) }
}

/// Returns when noise was switched on, since the start of the loop, in ns.
fn switched_on(dir: &Path) -> i64 {
    let recording = Recording::open(dir).expect("a recording");
    let run = recording.run();
    let on = run.injections[0].spells[0].start_ticks;
    signed_ns(&run.clock, run.cpus[0].first_ticks, on)
}

/// Returns when timers of BPF programs expired, since the start of the loop, and how long each took, in ns.
fn bpf_timers(dir: &Path) -> Vec<(i64, u64)> {
    let recording = Recording::open(dir).expect("a recording");
    let (cpu, clock) = (&recording.run().cpus[0], &recording.run().clock);
    let names = recording.rows::<Name>().flat_map(|names| names.expect("whole"));
    let functions: Vec<u64> =
        names.filter(|name| name.name.starts_with("bpf_timer_cb")).map(|name| name.key).collect();
    let events = recording.rows_of_cpu::<KernelEvent>(cpu.cpu);
    let (mut all, mut began) = (Vec::new(), None);
    for event in events.flat_map(|events| events.expect("whole")) {
        let [timer, function, _] = event.args;
        match event.kind {
            EventKind::HrtimerEntry if functions.contains(&function) => {
                began = Some((timer, event.ticks));
            }
            EventKind::HrtimerExit => {
                if let Some((_, start)) = began.take_if(|(began, _)| *began == timer) {
                    let at_ns = signed_ns(clock, cpu.first_ticks, start);
                    all.push((at_ns, clock.ns(event.ticks - start)));
                }
            }
            _ => {}
        }
    }
    all
}

/// The detours of one run come again in the next, at the same times and with the same lengths.
#[test]
fn a_replay_in_the_kernel_has_the_times_and_durations_of_the_recording() {
    const LEAST: u64 = 250_000;
    let _alone = tool::alone();
    let Some(cpu) = noisy() else { return };
    let dir = tempfile::tempdir().expect("a directory");
    let (first, second) = (dir.path().join("first"), dir.path().join("second"));
    let noise = ["kernel", "--rate", "100hz", "-d", "300us", "--poisson", "--for", "1500ms"];
    verify(&cpu, &noise, &first);
    let recorded = first.join("noise");
    let asked = long_detours(&recorded, LEAST);
    assert!(asked.len() > 50, "{}", asked.len());
    let replay = ["kernel", "--replay", arg(&recorded), "--longer-than", "250us", "--force"];
    one_of(5, || {
        let result = verify(&cpu, &[&replay[..], &["--for", "4s"]].concat(), &second);
        let row = &result["cpus"][0];
        assert_eq!(row["own_count"]["injector"], row["own_count"]["kernel"], "{row}");
        assert_eq!(number(&row["seen"], "found"), number(row, "delivered"), "{row}");
        let replayed = second.join("noise");
        let (on_ns, came) = (switched_on(&replayed), bpf_timers(&replayed));
        fs::remove_dir_all(&second).expect("ours");
        let again = asked.iter().filter(|&&(start_ns, length_ns)| {
            // It begins a millisecond after it is switched on.
            let due_ns = on_ns + 1_000_000 + start_ns.cast_signed();
            came.iter().any(|&(at_ns, own_ns)| {
                let late = at_ns - due_ns;
                (0..300_000).contains(&late) && own_ns.abs_diff(length_ns) < 1_000 + length_ns / 20
            })
        });
        let (again, all) = (again.count(), asked.len());
        // A busy host delays some, or makes them longer.
        ensure(again * 5 > all * 4, calm(row), || format!("{again} of {all}"))
    });
}

/// Returns the timer interrupts of one CPU in a second; `None` if this machine names them differently.
fn in_a_second(cpu: &str) -> Option<f64> {
    let count = || {
        let all = fs::read_to_string("/proc/interrupts").expect("readable");
        let cpu = format!("CPU{cpu}");
        let column = all.lines().next()?.split_whitespace().position(|head| head == cpu)?;
        let row = all.lines().find_map(|line| line.trim_start().strip_prefix("LOC:"))?;
        row.split_whitespace().nth(column)?.parse::<u64>().ok()
    };
    let (start, before) = (std::time::Instant::now(), count()?);
    thread::sleep(Duration::from_secs(1));
    Some(count()?.saturating_sub(before) as f64 / start.elapsed().as_secs_f64())
}

/// The timers of a killed process end with it. Those of a stopped process, which cannot switch them off, end by themselves
/// after a second, and begin again when it goes on.
#[test]
fn no_timer_outlives_a_kill_nor_its_end() {
    let _alone = tool::alone();
    let Some(cpu) = noisy() else { return };
    if in_a_second(&cpu).is_none() {
        note::skipped("/proc/interrupts has no LOC");
        return;
    }
    let noise = ["inject", "--kind", "interrupt", "--poisson", "--rate", "20khz", "--cpus", &cpu];
    for (name, sent, wait_s) in [("killed", "KILL", 0), ("stopped", "STOP", 2)] {
        let child = start(&[&noise[..], &["--for", "60s", "-q"]].concat());
        thread::sleep(Duration::from_millis(300));
        let during = in_a_second(&cpu);
        signal(&child, sent);
        thread::sleep(Duration::from_secs(wait_s));
        let after = in_a_second(&cpu);
        signal(&child, "CONT");
        let again = if sent == "STOP" { in_a_second(&cpu) } else { None };
        signal(&child, "TERM");
        wait(child);
        assert!(during > Some(10_000.0), "case: {name}: {during:?} a second while it is on");
        assert!(after < Some(10_000.0), "case: {name}: {after:?} a second after that");
        assert_eq!(sent == "STOP", again > Some(10_000.0), "case: {name}: {again:?} at last");
    }
}

/// Noise that comes less often than it is renewed comes all the same.
#[test]
fn rare_interrupts_come_although_the_noise_is_renewed_more_often() {
    let _alone = tool::alone();
    let Some(cpu) = noisy() else { return };
    let noise = ["inject", "--kind", "interrupt", "--poisson", "--rate", "2hz", "--seed", "7"];
    let done = anechoic(&[&noise[..], &["--for", "6s", "--cpus", &cpu, "--json"]].concat());
    assert_eq!(done.code, Some(0), "{}", done.err);
    let injected: Value = serde_json::from_str(&done.out).expect("JSON");
    let delivered = injected.pointer("/spells/0/delivered").and_then(Value::as_u64);
    // 12 are expected; with another seed there may be 5 or 21.
    assert!(delivered.is_some_and(|count| (6..=20).contains(&count)), "{injected:#}");
}
