//! Iterations of a recorded program: which were slow, what hit them, and whether noise explains why they differ.
//!
//! A mark begins an iteration of its thread, and ends the one before. The lost time of an iteration is what delayed that thread:
//! the detours of the CPU that it had or waited for.

mod lost;
mod reader;
mod statistics;
mod threads;

use crate::facts::Facts;
use crate::repeat::Spread;
use crate::variance::{Explained, SourceShare, Taken};
use anechoic_recording::{Marked, Name, NameKind, Problem, Recording};
pub use reader::marks;
use reader::{Passed, read};
use schemars::JsonSchema;
use serde::Serialize;
use statistics::Statistics;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Largest number of marks that count, the first ones.
pub const MOST_MARKS: usize = 1 << 19;
/// Iterations of a recorded program, and how much of their variance lost time explains.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Iterations {
    /// Facts of the run.
    pub run: Facts,
    /// What marks that an iteration begins.
    pub marked: Marked,
    /// Number of marks in the recording.
    pub marks: u64,
    /// Number of marks of threads that do not belong to the program.
    pub foreign_marks: u64,
    /// Number of iterations that count.
    pub iterations: u64,
    /// Number of iterations that do not, because events were lost meanwhile.
    pub left_out: u64,
    /// The threads that passed two marks or more, the one with the most iterations first.
    pub threads: Vec<MarkedThread>,
    /// Times of all iterations; absent if there are none.
    pub times: Option<Times>,
    /// How much of the variance of the wall times lost time explains: of several threads, of the variance within each.
    pub explained: Explained,
    /// What took the lost time, by decreasing share of the variance.
    pub sources: Vec<SourceShare>,
    /// The slowest hundredth of the iterations, if there are a hundred.
    pub slow: Option<Slow>,
    /// The slowest iterations, the longest first; at most 100.
    pub slowest: Vec<Iteration>,
    /// These and others in equal distances, in time order.
    pub drawn: Vec<Iteration>,
}

/// A thread that passed marks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct MarkedThread {
    /// Its number.
    pub thread: i32,
    /// Its name, if events show it.
    pub name: Option<String>,
    /// Number of its iterations that count.
    pub iterations: u64,
}

/// Times of all iterations, in ns.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Times {
    /// From mark to mark.
    pub wall_ns: Spread,
    /// Median of these.
    pub median_ns: f64,
    /// Quantile at 99 % of these; absent for fewer than 100 iterations.
    pub p99_ns: Option<f64>,
    /// The thread executed.
    pub executed_ns: Spread,
    /// The thread wanted a CPU that executed something else.
    pub lost_ns: Spread,
    /// The thread waited for a CPU that executed other threads of the program.
    pub waited_ns: Spread,
    /// The thread slept.
    pub slept_ns: Spread,
}

/// The slowest iterations together.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Slow {
    /// Their number.
    pub iterations: u64,
    /// By how much they took longer than the median, on average, in ns.
    pub longer_ns: f64,
    /// What they lost, on average, in ns.
    pub lost_ns: f64,
}

/// One iteration.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Iteration {
    /// Its number among those of its thread, from 1, also of those that do not count.
    pub number: u64,
    /// Its thread.
    pub thread: i32,
    /// What the program wrote at its beginning; empty for the entry of a function.
    pub label: String,
    /// Its beginning, since the start of the run.
    pub start_ns: u64,
    /// From this mark to the next one.
    pub wall_ns: u64,
    /// The thread executed.
    pub executed_ns: u64,
    /// The thread wanted a CPU that executed something else.
    pub lost_ns: u64,
    /// The thread waited for a CPU that executed other threads of the program.
    pub waited_ns: u64,
    /// The thread slept.
    pub slept_ns: u64,
    /// The source that took most of the lost time; absent if no time was lost.
    pub most: Option<Taken>,
}

/// Returns the iterations of a recorded program; absent if nothing marks them.
///
/// # Errors
/// A table is damaged.
pub fn iterations(recording: &Recording) -> Result<Option<Iterations>, Problem> {
    let run = recording.run();
    let Some(marked) = run.program.as_ref().and_then(|program| program.marked.clone()) else {
        return Ok(None);
    };
    let read = read(recording)?;
    let clock = &run.clock;
    let names = read.places.names();
    let statistics = Statistics { clock, start_ticks: run.start_ticks, names };
    let passed = &read.passed;
    let (times, explained, sources) = statistics.variance(passed);
    let slowest = statistics.slowest(passed);
    Ok(Some(Iterations {
        run: Facts::new(run, run.end_ticks.saturating_sub(run.start_ticks)),
        marked,
        marks: read.marks,
        foreign_marks: read.foreign_marks,
        iterations: passed.len() as u64,
        left_out: read.left_out,
        threads: marked_threads(recording, passed)?,
        slow: times.and_then(|times| statistics.slow(passed, times.median_ns)),
        drawn: statistics.drawn(passed, &slowest),
        slowest: slowest.iter().map(|&at| statistics.iteration(&passed[at])).collect(),
        times,
        explained,
        sources,
    }))
}

/// Returns the threads of these iterations, the one with the most first.
fn marked_threads(recording: &Recording, passed: &[Passed]) -> Result<Vec<MarkedThread>, Problem> {
    let mut numbers = BTreeMap::<i32, u64>::new();
    passed.iter().for_each(|iteration| *numbers.entry(iteration.thread).or_default() += 1);
    let mut names = BTreeMap::<i32, String>::new();
    for name in recording.rows::<Name>().each() {
        let Name { kind, key, name, .. } = name?;
        let thread = key as i32;
        if kind == NameKind::Task && numbers.contains_key(&thread) {
            names.insert(thread, name);
        }
    }
    let mut threads: Vec<MarkedThread> = numbers
        .into_iter()
        .map(|(thread, iterations)| MarkedThread {
            thread,
            name: names.remove(&thread),
            iterations,
        })
        .collect();
    threads.sort_by_key(|thread| Reverse(thread.iterations));
    Ok(threads)
}
