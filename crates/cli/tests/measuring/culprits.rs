//! Tests whom `anechoic record` charges with each delay over 50 µs, against a program that sees its own gaps, and the other
//! program's own log of when it executed. Nothing depends on how fast or how busy the host is.

use crate::tool::{self, PREFERRED, anechoic, arg, command, noisy, signal, spawn, start, wait};
use anechoic_lab::note;
use anechoic_recording::{Activity, Delay, Recording};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

const PROGRAM: &str = include_str!("intervals.c");
/// Shorter gaps of the program do not count.
const LEAST_NS: &str = "50000";
/// The kernel's function of an injected interrupt.
const SOURCE: &str = "perf_swevent_hrtimer";
/// Its length.
const INTERRUPT_NS: u64 = 100_000;

/// An interval in ticks.
type Span = (u64, u64);

fn overlap(a: Span, b: Span) -> u64 {
    a.1.min(b.1).saturating_sub(a.0.max(b.0))
}

/// What a program printed: when it executed, and whether the kernel took its CPU from it at the end of each.
struct Log {
    executed: Vec<Span>,
    taken: Vec<u64>,
}

impl Log {
    fn read(printed: &str) -> Self {
        let lines = printed.lines().map(|line| {
            let numbers: Vec<u64> =
                line.split(' ').map(|word| word.parse().expect("a number")).collect();
            ((numbers[0], numbers[1]), numbers[2])
        });
        let (executed, taken) = lines.unzip();
        Log { executed, taken }
    }

    /// Returns each gap, and how often the kernel took the CPU from the program in it.
    fn gaps(&self) -> Vec<(Span, u64)> {
        let ends = self.executed.windows(2).map(|pair| (pair[0].1, pair[1].0));
        // The count was read after the gap.
        let before = [0].into_iter().chain(self.taken.iter().copied());
        ends.zip(self.taken.iter().zip(before).map(|(taken, before)| taken - before)).collect()
    }
}

/// What a recording has of one CPU.
struct Recorded {
    activities: Vec<Activity>,
    delays: Vec<Delay>,
}

impl Recorded {
    fn open(dir: &Path, cpu: u32) -> Self {
        let recording = Recording::open(dir).expect("a recording");
        let activities = recording.rows_of_cpu::<Activity>(cpu);
        let delays = recording.rows_of_cpu::<Delay>(cpu);
        Recorded {
            activities: activities.flat_map(|rows| rows.expect("readable")).collect(),
            delays: delays.flat_map(|rows| rows.expect("readable")).collect(),
        }
    }

    /// Returns who is charged with most of a gap, and the time of all who are charged there.
    fn charged(&self, gap: Span) -> (String, u64) {
        let mut charged = BTreeMap::<&str, u64>::new();
        for row in &self.activities {
            let inside = overlap((row.start_ticks, row.end_ticks), gap);
            if inside > 0 {
                let name = if row.name.is_empty() { &row.source } else { &row.name };
                *charged.entry(name).or_default() += row.self_ticks.min(inside);
            }
        }
        let most = charged.iter().max_by_key(|(_, ticks)| **ticks);
        let name = most.map_or("nobody", |(name, _)| name).to_owned();
        (name, charged.values().sum())
    }

    /// Returns who had the CPU for most of the thread's wait in a gap; `None` if it did not wait.
    fn behind(&self, gap: Span) -> Option<&str> {
        let most =
            self.delays.iter().map(|row| (overlap((row.start_ticks, row.end_ticks), gap), row));
        most.filter(|(ticks, _)| *ticks > 0)
            .max_by_key(|(ticks, _)| *ticks)
            .map(|(_, row)| &*row.holder_name)
    }
}

/// Counts of right and wrong culprits, and of each gap that one program made, the part that is charged.
#[derive(Default)]
struct Judged {
    right: usize,
    wrong: Vec<String>,
    charged: Vec<f64>,
}

impl Judged {
    /// Judges one gap: `culprit` made it, or did not. Where the thread waited in it, whom it waited for counts too.
    fn judge(&mut self, recorded: &Recorded, gap: Span, culprit: &str, made: bool, waited: bool) {
        let (charged, ticks) = recorded.charged(gap);
        let behind = recorded.behind(gap).filter(|_| waited);
        if made {
            self.charged.push(ticks as f64 / (gap.1 - gap.0) as f64);
        }
        if (charged == culprit) == made && behind.is_none_or(|name| (name == culprit) == made) {
            self.right += 1;
        } else {
            self.wrong.push(format!("{gap:?}: {charged}, behind {behind:?}; it made it: {made}"));
        }
    }

    /// 99 % of the culprits are right. Returns which part of a gap that the culprit made is charged, the median.
    fn right(mut self, culprit: &str) -> f64 {
        let count = self.right + self.wrong.len();
        self.charged.sort_by(f64::total_cmp);
        let charged = self.charged.get(self.charged.len() / 2).copied().unwrap_or(f64::NAN);
        println!(
            "{culprit}: right in {} of {count} delays, it made {}; charged {charged:.3}",
            self.right,
            self.charged.len()
        );
        assert!(
            self.wrong.len() * 100 <= count,
            "{culprit}: {} of {count}: {:#?}",
            self.right,
            self.wrong
        );
        if self.charged.len() < 30 {
            note::not_judged(format!("{culprit} made only {} delays", self.charged.len()));
            return 1.0;
        }
        charged
    }
}

/// Builds the program under a name.
fn built(dir: &Path, name: &str) -> Option<PathBuf> {
    let (source, program) = (dir.join("intervals.c"), dir.join(name));
    fs::write(&source, PROGRAM).expect("a file");
    if command("cc", &["-O2", "-o", arg(&program), arg(&source)]).code == Some(0) {
        return Some(program);
    }
    note::skipped("there is no C compiler");
    None
}

/// Records the program on this CPU; returns its log and what was recorded.
fn record(dir: &Path, cpu: &str, program: &Path, seconds: &str) -> (Log, Recorded) {
    let out = dir.join("recording");
    let program = ["taskset", "-c", cpu, "nice", "-n", "-15", arg(program), seconds, LEAST_NS];
    let command = [&PREFERRED[..], &program].concat();
    let done = anechoic(&[&["record", "-q", "-o", arg(&out), "--"], &command[..]].concat());
    assert_eq!(done.code, Some(0), "{done:?}");
    (Log::read(&done.out), Recorded::open(&out, cpu.parse().expect("a number")))
}

/// Records the program beside another one. A gap is the other's if that had the CPU for more than half of it, and is not if
/// it hardly had it.
fn beside(name: &str, policy: &[&str], own_seconds: &str, periodic: &[&str]) {
    let Some(cpu) = noisy() else { return };
    let dir = tempfile::tempdir().expect("a directory");
    let programs = built(dir.path(), "own-victim").zip(built(dir.path(), name));
    let Some((victim, other)) = programs else { return };
    let mut competitor = Command::new("timeout");
    competitor.arg("40").args(PREFERRED).args(["taskset", "-c", &cpu]).args(policy).arg(other);
    let competitor = spawn(competitor.args(["30", "20000"]).args(periodic));
    std::thread::sleep(Duration::from_secs(1));
    let (own, recorded) = record(dir.path(), &cpu, &victim, own_seconds);
    signal(&competitor, "TERM");
    let other = Log::read(&wait(competitor).out);
    let mut judged = Judged::default();
    for (gap, taken) in own.gaps() {
        let had: u64 = other.executed.iter().map(|&span| overlap(span, gap)).sum();
        let share = had as f64 / (gap.1 - gap.0) as f64;
        if !(0.05..0.55).contains(&share) {
            judged.judge(&recorded, gap, name, share > 0.5, taken > 0);
        }
    }
    let charged = judged.right(name);
    assert!((0.95..1.005).contains(&charged), "{name}: {charged} of what the program lost");
}

#[test]
fn a_periodic_real_time_thread_is_the_culprit_of_the_delays_that_it_logged() {
    let _alone = tool::alone();
    beside("own-hog", &["chrt", "-f", "20"], "3", &["10000000", "500000"]);
}

#[test]
fn an_ordinary_competitor_is_the_culprit_of_the_delays_that_it_logged() {
    let _alone = tool::alone();
    beside("own-competitor", &["nice", "-n", "-15"], "6", &[]);
}

/// Interrupts of a known length. By the kernel's own count no thread took the CPU in these gaps, and they lie on the grid of the
/// injected ones.
#[test]
fn injected_interrupts_are_the_culprits_of_the_delays_that_they_made() {
    let _alone = tool::alone();
    let Some(cpu) = noisy() else { return };
    let dir = tempfile::tempdir().expect("a directory");
    let Some(victim) = built(dir.path(), "own-victim") else { return };
    let inject = ["inject", "-q", "--kind", "kernel", "--rate", "100hz", "--length", "100us"];
    let noise = start(&[&inject[..], &["--for", "20s", "--cpus", &cpu]].concat());
    std::thread::sleep(Duration::from_secs(1));
    let (own, recorded) = record(dir.path(), &cpu, &victim, "3");
    signal(&noise, "TERM");
    let done = wait(noise);
    if !done.err.is_empty() {
        return note::skipped(format!("no kernel noise: {done:?}"));
    }
    let per_us = ticks_per_us(&dir.path().join("recording"));
    let gaps = own.gaps();
    let is_like = |&&((begin, end), taken): &&(Span, u64)| {
        let ns = (end - begin) as f64 / per_us * 1e3;
        taken == 0 && (INTERRUPT_NS as f64..2.0 * INTERRUPT_NS as f64).contains(&ns)
    };
    let like: Vec<Span> = gaps.iter().filter(is_like).map(|(gap, _)| *gap).collect();
    // Distance from a multiple of the period, of 10 ms.
    let apart = |a: u64, b: u64| {
        let periods = a.abs_diff(b) as f64 / per_us / 1e4;
        periods.round() >= 1.0 && (periods - periods.round()).abs() < 0.003
    };
    let mut judged = Judged::default();
    for &gap in &like {
        let on_grid = like.iter().filter(|other| apart(other.0, gap.0)).count();
        if 2 * on_grid > like.len() {
            judged.judge(&recorded, gap, SOURCE, true, false);
        }
    }
    let charged = judged.right(SOURCE);
    assert!((0.8..1.005).contains(&charged), "{charged} of what the program lost");
}

fn ticks_per_us(dir: &Path) -> f64 {
    let recording = Recording::open(dir).expect("a recording");
    recording.run().clock.frequency_millihertz as f64 / 1e9
}
