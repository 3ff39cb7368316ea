//! Tests the estimate of what entry and exit of interrupts take from a recorded program, against a program that measures its
//! own lost time.

use crate::tool::{self, anechoic, arg, command, noisy, signal, start, summary, wait};
use anechoic_lab::note;
use std::fs;
use std::time::Duration;

/// Reads the counter for a second and adds up the gaps over 1 µs. Prints their sum in ns.
const PROGRAM: &str = r#"
#include <stdio.h>
#include <time.h>
#include <x86intrin.h>
static double s(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec + t.tv_nsec / 1e9; }
int main(void) {
  unsigned long long first, last, now, lost = 0, most;
  double begin = s();
  first = __rdtsc();
  while (s() - begin < 0.01) {}
  most = (__rdtsc() - first) / ((s() - begin) * 1e6);
  begin = s();
  first = last = __rdtsc();
  while (s() - begin < 1.0)
    for (int i = 0; i < 100000; i++, last = now) {
      now = __rdtsc();
      if (now - last > most) lost += now - last;
    }
  printf("%.0f\n", lost / ((last - first) / (s() - begin)) * 1e9);
}
"#;

#[test]
#[cfg(target_arch = "x86_64")]
fn a_program_loses_what_is_recorded_and_the_estimated_edges_of_its_interrupts() {
    let _alone = tool::alone();
    let Some(cpu) = noisy() else { return };
    let place = tempfile::tempdir().expect("a directory");
    let (source, program) = (place.path().join("own.c"), place.path().join("own"));
    fs::write(&source, PROGRAM).expect("written");
    if command("cc", &["-O2", "-o", arg(&program), arg(&source)]).code != Some(0) {
        note::skipped("there is no C compiler");
        return;
    }
    let interrupts = ["inject", "-q", "--kind", "interrupt", "--rate", "10khz", "--for", "20s"];
    let noise = start(&[&interrupts[..], &["--cpus", &cpu]].concat());
    std::thread::sleep(Duration::from_millis(500));
    let [alone, of_loop] = ["program", "loop"].map(|name| place.path().join(name));
    let pinned = ["taskset", "-c", &cpu, arg(&program)];
    let run = anechoic(&["run", "-q", "-d", "1s", "--cpus", &cpu, "-o", arg(&of_loop)]);
    let done = anechoic(&[&["record", "-q", "-o", arg(&alone), "--"], &pinned[..]].concat());
    signal(&noise, "TERM");
    wait(noise);
    assert!(matches!(run.code, Some(0 | 1)) && done.code == Some(0), "{run:?} {done:?}");
    let own: f64 = done.out.trim().parse().expect("a number of ns");
    let found = summary(&alone);
    let number = |at: &str| found.pointer(at).and_then(serde_json::Value::as_f64);
    let recorded = number("/total/noise").zip(number("/total/wall_ns"));
    let recorded = recorded.map(|(noise, wall_ns)| noise * wall_ns).expect("lost time");
    let count = number("/interrupts/count").expect("a number of interrupts");
    if count < 5_000.0 {
        note::not_judged("the program hardly had its CPU for itself");
        return;
    }
    let edges = ["low", "high"].map(|end| number(&format!("/interrupts/edges/{end}_ns")));
    let [low, high] = edges.map(|ns| ns.expect("a recording of loops lies beside it"));
    let tolerance = 0.05 * own;
    assert!(
        (recorded + low - tolerance..=recorded + high + tolerance).contains(&own),
        "it lost {own} ns by itself; {recorded} ns recorded, and {low} to {high} ns at {count} edges"
    );
}
