//! Tests that `anechoic measure memory` measures what it should: memory like an independent program, and more where
//! something was done to the caches.

use crate::tool::{self, Done, anechoic, arg, command, ensure, one_of};
use anechoic_analyze::memory::{Experiment, Point};
use anechoic_analyze::{Memory, memory};
use anechoic_lab::note;
use anechoic_recording::Recording;
use anechoic_recording::run::RunState;
use anechoic_system::cpus;
use std::collections::BTreeMap;
use std::path::Path;

/// Working sets that the first- and second-level caches, the last-level cache and the memory hold, in KiB. That of the
/// last-level cache is small: of a larger one the other guests of a busy host leave all or nothing.
const SIZES_KIB: [u64; 4] = [16, 256, 2 << 10, 64 << 10];
/// Largest relative difference from the independent program.
const CLOSE: f64 = 0.10;
/// The same beyond the second-level cache, which other guests do not use.
const CLOSE_BEYOND: f64 = 0.20;

/// Measures some experiments quickly.
fn measured(dir: &Path, args: &[&str]) -> (Done, Memory) {
    let quick = ["measure", "memory", "--quick", "-q", "-o", arg(dir)];
    let done = anechoic(&[&quick[..], args].concat());
    assert_eq!(done.code, Some(0), "{}", done.err);
    let recording = Recording::open(dir).expect("a recording");
    assert_eq!(recording.run().state, RunState::Complete);
    assert!(recording.run().outcomes.iter().all(|of| (of.wrong, of.lost) == (0, 0)));
    (done, memory(&recording).expect("a result"))
}

fn at(found: &Memory, id: &str, kib: u64) -> Point {
    let of: &Experiment = found.experiment(id).expect("measured");
    let point = of.points.iter().find(|point| point.bytes == kib << 10);
    point.unwrap_or_else(|| panic!("{id} has no {kib} KiB")).clone()
}

/// Returns whether even the fastest pass of one point is slower than the usual pass of another: what disturbs single
/// passes changes neither.
fn surely_more(more: &Point, less: &Point) -> bool {
    more.min > less.median
}

#[test]
fn what_happens_to_the_caches_costs() {
    let _alone = tool::alone();
    let dir = tempfile::tempdir().expect("a directory");
    let ids = "bandwidth-read-*,preemption-read-random-write-*,migration-*";
    let (done, found) = measured(dir.path(), &["--experiments", ids]);
    assert!(done.out.contains("where the caches end"), "{}", done.out);
    // A working set that the second-level cache holds: a clean pass misses nothing, and after modified lines everything.
    for pattern in ["sequential", "random"] {
        let [warm, dirty] = ["warm", "dirty"]
            .map(|how| at(&found, &format!("bandwidth-read-{pattern}-{how}"), 256));
        assert!(surely_more(&dirty, &warm), "{pattern}: {dirty:?} {warm:?}");
    }
    // A preemptor that writes four times the second-level cache displaces it, one that writes the first-level cache
    // does not. One that sleeps is no measure in a guest, whose host uses the idle CPU.
    let [short, long] = ["short", "long"]
        .map(|how| at(&found, &format!("preemption-read-random-write-{how}"), 256));
    assert!(surely_more(&long, &short), "{long:?} {short:?}");
    for of in found.experiments.iter().filter(|of| of.id.starts_with("migration")) {
        assert_eq!(of.absent.is_some(), of.points.is_empty(), "{of:?}");
    }
}

/// A pointer chase with nothing else in it: prints the ns per access of the fastest of some passes.
const CHASE: &str = r#"
#define _GNU_SOURCE
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
static double now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec * 1e9 + t.tv_nsec; }
int main(int argc, char **argv) {
    size_t lines = strtoull(argv[1], 0, 10) / 64;
    int chase = argv[2][0] == 'c';
    cpu_set_t set; CPU_ZERO(&set); CPU_SET(atoi(argv[3]), &set); sched_setaffinity(0, sizeof set, &set);
    char *m = mmap(0, lines * 64 + (2 << 20), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    madvise(m, lines * 64 + (2 << 20), MADV_NOHUGEPAGE);
    m = (char *)(((uintptr_t)m + (2 << 20) - 1) & ~(uintptr_t)((2 << 20) - 1));
    size_t *order = malloc(lines * sizeof *order);
    for (size_t i = 0; i < lines; i++) order[i] = i;
    uint64_t x = 88172645463325252ull;
    for (size_t i = lines - 1; i > 0; i--) {
        x ^= x << 13; x ^= x >> 7; x ^= x << 17;
        size_t j = x % (i + 1), t = order[i]; order[i] = order[j]; order[j] = t;
    }
    for (size_t i = 0; i < lines; i++)
        *(char **)(m + order[i] * 64) = m + order[(i + 1) % lines] * 64;
    free(order);
    double best = 1e300;
    int rounds = lines > 100000 ? 12 : 2000;
    for (int r = 0; r < rounds; r++) {
        char *p = m; uint64_t sum = 0; double t = now();
        if (chase) { for (size_t i = 0; i < lines; i++) p = *(char *volatile *)p; }
        else {
            uint64_t s[8] = {0};
            for (uint64_t *w = (uint64_t *)m, *end = w + lines * 8; w < end; w += 8)
                for (int k = 0; k < 8; k++) s[k] += w[k];
            for (int k = 0; k < 8; k++) sum += s[k];
        }
        t = now() - t;
        __asm__ volatile("" : : "r"(p), "r"(sum) : "memory");
        if (r > 0 && t < best) best = t;
    }
    printf("%.4f\n", best / lines);
    return 0;
}
"#;

#[test]
fn times_are_those_of_an_independent_program() {
    let _alone = tool::alone();
    let dir = tempfile::tempdir().expect("a directory");
    let (source, program) = (dir.path().join("chase.c"), dir.path().join("chase"));
    std::fs::write(&source, CHASE.replace("\"\"\"\"", "\"\"")).expect("a file");
    let flags = ["-O3", "-march=x86-64-v2", "-o", arg(&program), arg(&source)];
    let compiled = std::process::Command::new("cc").args(flags).output();
    if !compiled.is_ok_and(|done| done.status.success()) {
        return note::skipped("there is no C compiler for an independent program");
    }
    let cpu = cpus::allowed().last().copied().expect("a CPU").to_string();
    let independent = |kib: u64, how: &str| -> f64 {
        let done = command(arg(&program), &[&(kib << 10).to_string(), how, &cpu]);
        done.out.trim().parse().unwrap_or_else(|_| panic!("{} {}", done.out, done.err))
    };
    // Other work on the host lengthens either of them, so the fastest of several attempts are compared.
    let mut fastest: BTreeMap<(&str, u64), (f64, f64)> = BTreeMap::new();
    one_of(5, || {
        let dir = tempfile::tempdir().expect("a directory");
        let ids = "bandwidth-read-random-warm,bandwidth-read-sequential-warm";
        let (_, found) = measured(dir.path(), &["--experiments", ids]);
        let mut calm = true;
        for (id, how, sizes) in [
            ("bandwidth-read-random-warm", "chase", &SIZES_KIB[..]),
            ("bandwidth-read-sequential-warm", "stream", &SIZES_KIB[1..]),
        ] {
            for &kib in sizes {
                let (ours, theirs) =
                    (at(&found, id, kib).min * found.tick_ns, independent(kib, how));
                let best = fastest.entry((id, kib)).or_insert((ours, theirs));
                calm &= theirs < best.1 * (1.0 + CLOSE);
                *best = (best.0.min(ours), best.1.min(theirs));
            }
        }
        println!("ns per access, ours and independently: {fastest:?}");
        let close = fastest.iter().all(|((_, kib), (ours, theirs))| {
            let most = if *kib <= 256 { CLOSE } else { CLOSE_BEYOND };
            (ours / theirs - 1.0).abs() < most
        });
        ensure(close, calm, || format!("{fastest:?}"))
    });
}
