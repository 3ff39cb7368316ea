//! The same recording and seed give the same bytes, whatever the number of threads.

use crate::tool::{ANECHOIC, arg, command};
use anechoic_lab::builders::{activity, clock, cpu_run, run, trace};
use anechoic_recording::attribution::Attribution;
use anechoic_recording::{Activity, ActivityKind, Detour, Recorder, Recording, Run, methods};
use std::path::{Path, PathBuf};

/// Four seconds, in ticks of 1 ns.
const LENGTH: u64 = 4_000_000_000;
const SHORTEST: u64 = 20;

/// A made-up recording of two CPUs with timer ticks, threads and short gaps.
fn write(dir: &Path) {
    let cpus = vec![cpu_run(0, (0, LENGTH), SHORTEST), cpu_run(1, (0, LENGTH), SHORTEST)];
    let usual = run(methods::DETOURS, clock(1_000_000_000), cpus);
    let run = Run { trace: Some(trace()), threshold_ticks: 3 * SHORTEST, ..usual };
    let (mut detours, mut activities) = (vec![], vec![]);
    for cpu in 0..2 {
        let (mut at, mut number, mut random) = (0, 0, 7 + u64::from(cpu));
        loop {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695);
            let drawn = random >> 33;
            let to_tick = 4_000_000 - at % 4_000_000;
            let apart = 100 + drawn % 2_000_000;
            let (apart, own, source) = match drawn % 50 {
                _ if to_tick <= apart => (to_tick, 2_000 + drawn % 500, "timer-tick"),
                0 => (apart, 30_000 + drawn % 900_000, "thread"),
                _ => (apart, 80 + drawn % 300, "vm-or-hardware"),
            };
            let start_ticks = at + apart;
            at = start_ticks + SHORTEST + own;
            if at >= LENGTH {
                break;
            }
            detours.push(Detour { cpu, start_ticks, end_ticks: at });
            let kind = ActivityKind::Activity;
            activities.push(activity((cpu, number), kind, source, at - own, own));
            number += 1;
        }
    }
    let mut recorder = Recorder::create(dir, &run).expect("a new directory");
    recorder.append(&detours).expect("in order");
    recorder.finish(&run).expect("written");
    let recording = Recording::open(dir).expect("just written");
    let mut writer = recording.derive::<Activity>().expect("writable");
    writer.append(&activities).expect("in order");
    writer.finish().expect("written");
    recording.write_attribution(&Attribution::default()).expect("written");
}

#[test]
fn the_number_of_threads_changes_no_byte() {
    // A thread a CPU that may be used: fewer CPUs make fewer threads.
    let allowed = anechoic_system::cpus::allowed();
    if allowed.len() < 2 {
        println!("skipped: needs two CPUs");
        return;
    }
    let dir = tempfile::tempdir().expect("a directory");
    let hosts: Vec<PathBuf> = (0..3).map(|host| dir.path().join(format!("host{host}"))).collect();
    hosts.iter().for_each(|host| write(host));
    let (one, all) = (arg(&hosts[0]), arg(dir.path()));
    let cases: [&[&str]; 4] = [
        &["summary", "--json", one],
        &["predict", "phases", "--json", "--ranks", "1..1e4", all],
        &["report", one, "-o", "-"],
        &["report", all, "-o", "-"],
    ];
    for case in cases {
        let output = |cpus: usize| {
            let cpus: Vec<String> = allowed.iter().take(cpus).map(u32::to_string).collect();
            let done = command("taskset", &[&["-c", &cpus.join(","), ANECHOIC], case].concat());
            assert!(matches!(done.code, Some(0 | 1)), "{case:?}: {}", done.err);
            assert!(done.out.len() > 1_000, "{case:?}: {}", done.out);
            done.out
        };
        let alone = output(1);
        for cpus in [2, 8].into_iter().filter(|&cpus| cpus <= allowed.len()) {
            assert!(output(cpus) == alone, "{case:?} on {cpus} CPUs differs");
        }
    }
}
