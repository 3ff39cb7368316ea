//! Probes of the pace beside a program that streams through memory at known times.

use crate::tool::{self, anechoic, arg, start, wait};
use anechoic_lab::attempt::{ensure, one_of};
use anechoic_system::cpus;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Runs a command on this CPU for some seconds.
fn beside(cpu: u32, seconds: u64, command: &[&str]) {
    let timeout = ["timeout", &seconds.to_string()].map(str::to_owned);
    let mut made = Command::new("taskset");
    made.args(["-c", &cpu.to_string()]).args(timeout).args(command);
    let mut child: Child =
        made.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("util-linux");
    child.wait().expect("it ends by itself");
}

/// Twelve seconds in which the other CPU clears 64 MiB again and again from the third to the sixth, and counts from the eighth to
/// the tenth: the bandwidth is short in the first of these times, and in none but that.
#[test]
fn a_neighbour_that_streams_is_found_at_its_times() {
    let _alone = tool::alone();
    let [probed, other] = cpus::allowed()[..] else {
        return anechoic_lab::note::skipped("not two CPUs");
    };
    one_of(3, || {
        let dir = tempfile::tempdir().expect("a directory");
        let run = [
            "measure",
            "pace",
            "-q",
            "--duration",
            "12s",
            "--cpus",
            &probed.to_string(),
            "-o",
            arg(dir.path()),
        ];
        let run = start(&run);
        tool::until_running(dir.path());
        let begun = Instant::now();
        let until = |seconds: u64| {
            sleep(Duration::from_secs(seconds).saturating_sub(begun.elapsed()));
            begun.elapsed().as_secs_f64()
        };
        let from = until(3);
        beside(other, 3, &["dd", "if=/dev/zero", "of=/dev/null", "bs=64M"]);
        let to = until(0);
        until(8);
        beside(other, 2, &["sh", "-c", "while :; do :; done"]);
        let done = wait(run);
        assert!(done.code.is_some_and(|code| code < 2), "{}", done.err);
        let json = anechoic(&["summary", arg(dir.path()), "--json"]).out;
        let found: serde_json::Value = serde_json::from_str(&json).expect("JSON");
        assert_eq!(found["wrong"], 0, "{found}");
        let cpu = &found["cpus"][0];
        let all = cpu["short"].as_array().cloned().unwrap_or_default();
        let bandwidth = all.iter().find(|short| short["what"] == "bandwidth");
        let step = found["step_s"].as_f64().expect("known");
        let by_time = bandwidth.map(|short| short["by_time"].clone()).unwrap_or_default();
        let by_time: Vec<Option<f64>> = serde_json::from_value(by_time).unwrap_or_default();
        // The run begins up to some tenths of a second before it is seen; the edges are left out.
        let place = |at: usize| (at as f64 * step, (at + 1) as f64 * step);
        let (mut inside, mut outside) = (vec![], vec![]);
        for (at, share) in
            by_time.iter().enumerate().filter_map(|(at, share)| Some((at, share.as_ref()?)))
        {
            let (begins, ends) = place(at);
            if begins > from + 0.5 && ends < to - 0.1 {
                inside.push(*share);
            } else if ends < from - 0.1 || begins > to + 0.8 {
                outside.push(*share);
            }
        }
        let mean = |shares: &[f64]| shares.iter().sum::<f64>() / shares.len().max(1) as f64;
        let calm = mean(&outside) < 0.5;
        let is_right = mean(&inside) >= 0.9 && mean(&outside) <= 0.1 && inside.len() >= 10;
        ensure(is_right, calm, || format!("{from} to {to} s: {inside:?} {outside:?} of {all:?}"))?;
        // What others have of the core and its clock is not that of a program on another core.
        let of_core: f64 = all
            .iter()
            .filter(|short| short["what"] == "core" || short["what"] == "clock")
            .filter_map(|short| short["share"].as_f64())
            .sum();
        ensure(of_core < 0.5, true, || format!("{all:?}"))
    });
}

#[test]
fn what_is_too_short_or_interrupted_is_said() {
    let _alone = tool::alone();
    let short = anechoic(&["measure", "pace", "--duration", "10ms"]);
    assert!(short.code == Some(64) && short.err.contains("is too short"), "{}", short.err);
    let dir = tempfile::tempdir().expect("a directory");
    let run = start(&["measure", "pace", "-q", "--duration", "60s", "-o", arg(dir.path())]);
    tool::until_running(dir.path());
    sleep(Duration::from_secs(2));
    tool::signal(&run, "INT");
    let done = wait(run);
    assert!(done.code.is_some_and(|code| code != 0), "{}", done.err);
    let summary = anechoic(&["summary", arg(dir.path())]);
    assert!(summary.out.contains("8 probes in turn"), "{}{}", summary.out, summary.err);
}
