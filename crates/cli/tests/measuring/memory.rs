//! Tests that `anechoic measure memory` measures what it should: memory like an independent program, and more where
//! something was done to the caches.

use crate::tool::{self, Done, anechoic, arg, command};
use anechoic_analyze::memory::{Experiment, Point};
use anechoic_analyze::stats::quantile;
use anechoic_analyze::{Memory, memory};
use anechoic_lab::note;
use anechoic_recording::run::RunState;
use anechoic_recording::{Recording, Sample};
use anechoic_system::cpus;
use std::collections::BTreeMap;
use std::path::Path;

/// Working sets that the first- and second-level caches, the last-level cache and the memory hold, in KiB. That of the
/// last-level cache is small: of a larger one the other guests of a busy host leave all or nothing.
const SIZES_KIB: [u64; 4] = [16, 256, 4 << 10, 64 << 10];
/// The experiments that the independent program does too, how it calls them, and the working sets. A sequential pass over
/// 64 MiB depends on how many of its pages lie one after the other in the machine, which is chance.
const KERNELS: [(&str, &str, &[u64]); 2] = [
    ("bandwidth-read-random-warm", "chase", &SIZES_KIB),
    ("bandwidth-read-sequential-warm", "stream", &[16, 256, 4 << 10]),
];
/// Working sets that caches hold, in KiB.
const FILLED_KIB: [u64; 6] = [16, 64, 256, 512, 1024, 2 << 10];
/// Largest relative difference from the independent program, and between the runs of that program itself.
const CLOSE: f64 = 0.10;
/// Number of times that both are measured in turn.
const PAIRS: usize = 5;

/// Returns the policy of both programs: a real-time one keeps the other threads of a busy machine off their CPU.
fn policy() -> &'static str {
    if rustix::process::geteuid().is_root() { "fifo" } else { "other" }
}

/// Measures some experiments quickly.
fn measured(dir: &Path, args: &[&str]) -> (Done, Memory) {
    let quick = ["measure", "memory", "--quick", "--policy", policy(), "-o", arg(dir)];
    let done = anechoic(&[&quick[..], args].concat());
    assert_eq!(done.code, Some(0), "{}", done.err);
    let recording = Recording::open(dir).expect("a recording");
    assert_eq!(recording.run().state, RunState::Complete);
    assert!(recording.run().outcomes.iter().all(|outcome| (outcome.wrong, outcome.lost) == (0, 0)));
    (done, memory(&recording).expect("a result"))
}

fn at(found: &Memory, id: &str, kib: u64) -> Point {
    let experiment: &Experiment = found.experiment(id).expect("measured");
    let point = experiment.points.iter().find(|point| point.bytes == kib << 10);
    point.unwrap_or_else(|| panic!("{id} has no {kib} KiB")).clone()
}

/// Returns the passes of an experiment over a working set in ticks, in ascending order.
fn passes(recording: &Recording, id: &str, kib: u64) -> Vec<u64> {
    let known = recording.series().expect("readable");
    let found = known.iter().find(|(series, _)| {
        series.parameters.experiment.as_deref() == Some(id)
            && series.parameters.working_set_bytes == Some(kib << 10)
    });
    let (series, _) = found.unwrap_or_else(|| panic!("{id} has no {kib} KiB"));
    let all = recording.rows::<Sample>().flat_map(|rows| rows.expect("readable"));
    let passes = all.filter(|sample| sample.series == series.series);
    let mut ticks: Vec<u64> = passes.map(|pass| pass.end_ticks - pass.start_ticks).collect();
    ticks.sort_unstable();
    ticks
}

/// Returns the 95 % interval of the median of sorted passes: the rank of a median is binomial.
fn median_interval(sorted: &[u64]) -> (u64, u64) {
    let reach = 0.98 * (sorted.len() as f64).sqrt();
    let low = (sorted.len() as f64 / 2.0 - reach).max(0.0) as usize;
    (sorted[low], sorted[sorted.len() - 1 - low])
}

/// Asserts that the median pass of one experiment takes longer than that of another at each of these working sets, by more
/// than their intervals.
fn costs_more(recording: &Recording, more: &str, less: &str, sizes_kib: &[u64]) {
    for &kib in sizes_kib {
        let [more_ticks, less_ticks] =
            [more, less].map(|id| median_interval(&passes(recording, id, kib)));
        println!("{kib} KiB: {more} {more_ticks:?}, {less} {less_ticks:?}");
        assert!(
            more_ticks.0 > less_ticks.1,
            "{kib} KiB: {more} {more_ticks:?}, {less} {less_ticks:?}"
        );
    }
}

/// Asserts that a preemptor that writes much costs more than one that sleeps, by the interval of its median. A sleep leaves
/// the CPU to other threads, and in a guest to its host: only the shortest quarter of the passes counts, and only if these
/// take hardly longer than undisturbed ones.
fn writing_costs_more_than_sleeping(recording: &Recording, kib: u64) {
    const UNDISTURBED: f64 = 1.25;
    let ticks = |how: &str| passes(recording, how, kib);
    let warm = ticks("bandwidth-read-random-warm");
    let slept = ticks("preemption-read-random-sleep-short");
    let (warm, slept) = (warm[warm.len() / 2], slept[slept.len() / 4]);
    let wrote = median_interval(&ticks("preemption-read-random-write-long"));
    let text =
        format!("{kib} KiB: {warm} ticks warm, {slept} after sleeping, {wrote:?} after writing");
    println!("{text}");
    if slept as f64 > UNDISTURBED * warm as f64 {
        return note::not_judged(format!("others use a CPU that idles for 50 µs: {text}"));
    }
    assert!(wrote.0 > slept, "{text}");
}

#[test]
fn what_happens_to_the_caches_costs() {
    let _alone = tool::alone();
    let dir = tempfile::tempdir().expect("a directory");
    let ids = [
        "bandwidth-read-*-warm",
        "bandwidth-read-*-dirty",
        "preemption-read-random-write-*",
        "preemption-read-random-sleep-short",
        "migration-read-random-*",
    ];
    let (done, found) = measured(dir.path(), &["--experiments", &ids.join(",")]);
    assert!(done.out.contains("where the caches end"), "{}", done.out);
    let recording = Recording::open(dir.path()).expect("a recording");
    // A clean pass finds in the caches what they hold; after modified lines it misses everything.
    costs_more(
        &recording,
        "bandwidth-read-random-dirty",
        "bandwidth-read-random-warm",
        &FILLED_KIB,
    );
    costs_more(
        &recording,
        "bandwidth-read-sequential-dirty",
        "bandwidth-read-sequential-warm",
        &FILLED_KIB,
    );
    // A preemptor that writes four times the second-level cache displaces it, one that writes the first-level cache
    // does not.
    let [short, long] = ["short", "long"].map(|how| format!("preemption-read-random-write-{how}"));
    costs_more(&recording, &long, &short, &[64, 128, 256]);
    for kib in [64, 128, 256, 512] {
        writing_costs_more_than_sleeping(&recording, kib);
    }
    for experiment in
        found.experiments.iter().filter(|experiment| experiment.id.starts_with("migration"))
    {
        assert_eq!(experiment.absent.is_some(), experiment.points.is_empty(), "{experiment:?}");
    }
}

/// A pointer chase and a loop of reads with nothing else in them: prints for each size in KiB the ns per access of the median
/// pass of each.
const CHASE: &str = r#"
#define _GNU_SOURCE
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
static double now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec * 1e9 + t.tv_nsec; }
static int less(const void *a, const void *b) { double x = *(double *)a, y = *(double *)b; return (x > y) - (x < y); }
static double median(double *all, int n) { qsort(all, n, sizeof *all, less); return all[n / 2]; }
static double times[2000];
static double reading(void) {
    for (int r = 0; r < 2000; r++) { double t = now(); times[r] = now() - t; }
    return median(times, 2000);
}
int main(int argc, char **argv) {
    cpu_set_t set; CPU_ZERO(&set); CPU_SET(atoi(argv[1]), &set); sched_setaffinity(0, sizeof set, &set);
    struct sched_param one = { .sched_priority = 1 };
    sched_setscheduler(0, SCHED_FIFO, &one); /* where it may */
    double clock = reading();
    for (int a = 2; a < argc; a++) {
        size_t lines = strtoull(argv[a], 0, 10) * 16;
        char *m = mmap(0, lines * 64 + (2 << 20), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        madvise(m, lines * 64 + (2 << 20), MADV_NOHUGEPAGE);
        m = (char *)(((uintptr_t)m + (2 << 20) - 1) & ~(uintptr_t)((2 << 20) - 1));
        for (size_t i = 0; i < lines; i++) m[i * 64] = 1;
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
        for (int chase = 1; chase >= 0; chase--) {
            /* As many as the tool: a core that waits for its caches soon runs slower, and a shared cache first learns. */
            int rounds = 0; double start = now();
            for (int r = -1; r < 128 && (r < 4 || now() - start < 75e6); r++) {
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
                if (r >= 0) times[r] = t;
                rounds = r + 1;
            }
            printf("%s %s %.4f\n", chase ? "chase" : "stream", argv[a], (median(times, rounds) - clock) / lines);
        }
    }
    return 0;
}
"#;

/// The ns per access of both programs, measured in turn: the independent one first and last.
#[derive(Default)]
struct InTurn {
    ours: Vec<f64>,
    theirs: Vec<f64>,
}

impl InTurn {
    /// Returns our times divided by those of the independent program just before and just after, in ascending order.
    fn ratios(&self) -> Vec<f64> {
        let around = self.theirs.windows(2).map(|pair| (pair[0] * pair[1]).sqrt());
        let mut ratios: Vec<f64> =
            self.ours.iter().zip(around).map(|(ours, theirs)| ours / theirs).collect();
        ratios.sort_by(f64::total_cmp);
        ratios
    }
}

#[test]
fn times_are_those_of_an_independent_program() {
    let _alone = tool::alone();
    let dir = tempfile::tempdir().expect("a directory");
    let (source, program) = (dir.path().join("chase.c"), dir.path().join("chase"));
    std::fs::write(&source, CHASE).expect("a file");
    let flags = ["-O3", "-march=x86-64-v2", "-o", arg(&program), arg(&source)];
    let compiled = std::process::Command::new("cc").args(flags).output();
    if !compiled.is_ok_and(|done| done.status.success()) {
        return note::skipped("there is no C compiler for an independent program");
    }
    let cpu = cpus::allowed().last().copied().expect("a CPU").to_string();
    let mut in_turn: BTreeMap<(&str, u64), InTurn> = BTreeMap::new();
    let independent = |in_turn: &mut BTreeMap<_, InTurn>| {
        let sizes = SIZES_KIB.map(|kib| kib.to_string());
        let done =
            command(arg(&program), &[&[&*cpu], &sizes.each_ref().map(|s| &**s)[..]].concat());
        for line in done.out.lines() {
            let words: Vec<&str> = line.split(' ').collect();
            let [how, kib, ns] = words[..] else { panic!("{} {}", done.out, done.err) };
            let (id, _, sizes) =
                KERNELS.iter().find(|(_, name, _)| *name == how).expect("a kernel");
            let kib: u64 = kib.parse().expect("a size");
            if sizes.contains(&kib) {
                let times = in_turn.entry((*id, kib)).or_default();
                times.theirs.push(ns.parse().expect("a time"));
            }
        }
    };
    for _ in 0..PAIRS {
        independent(&mut in_turn);
        let dir = tempfile::tempdir().expect("a directory");
        let ids = KERNELS.map(|(id, ..)| id).join(",");
        let (_, found) = measured(dir.path(), &["--no-trace", "--experiments", &ids]);
        for ((id, kib), times) in &mut in_turn {
            times.ours.push(at(&found, id, *kib).median * found.tick_ns);
        }
    }
    independent(&mut in_turn);
    assert_eq!(in_turn.len(), KERNELS.iter().map(|(_, _, sizes)| sizes.len()).sum::<usize>());
    let mut wrong = Vec::new();
    for ((id, kib), times) in &in_turn {
        let ratios = times.ratios();
        let ratio = quantile(&ratios, 0.5).expect("both ran");
        let [least, .., most] = ratios[..] else { panic!("{PAIRS} pairs") };
        let fastest = times.theirs.iter().copied().fold(f64::INFINITY, f64::min);
        let spread = times.theirs.iter().copied().fold(0.0, f64::max) / fastest;
        let text = format!(
            "{id} at {kib} KiB: {ratio:.3} ({least:.3} to {most:.3}) of the independent program's time, which varies by a factor of {spread:.3}"
        );
        println!("{text}");
        // The median of all such pairs lies outside the range of five in one of 16 cases.
        match (ratio - 1.0).abs() < CLOSE {
            true => {}
            false if spread > 1.0 + CLOSE => note::not_judged(text),
            false if least < 1.0 + CLOSE && most > 1.0 - CLOSE => note::not_judged(text),
            false => wrong.push(text),
        }
    }
    assert!(wrong.is_empty(), "{wrong:?}");
}
