//! Several runs of the recursion: mean slowdown and how sure it is.

use super::recursion::{Job, Tables};
use anechoic_analyze::bootstrap::Interval;
use anechoic_analyze::samples::student::student_t;
use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::SeedableRng;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::num::NonZeroUsize;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

/// Runs of one job, each with phases of its hosts and a seed of its own.
pub const RUNS: u64 = 8;
/// Fewer phases than this, over all runs, give no answer.
pub const FEWEST_PHASES: u64 = 50;
/// Steps that one job may take, where nothing else is asked: a phase of one rank is one, and so is a detour that
/// ranks pass, which those at about the same place in their window do together.
pub const BUDGET: u64 = 100_000_000;
/// Phases at the start of each run that do not count: the ranks did not wait for each other before.
const WARM_UP: u64 = 3;

/// What the recursion says of one number of ranks.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Recursion {
    /// Time over time without noise.
    pub slowdown: f64,
    /// Its 95 % interval over runs with other phases of the hosts (Student's t). It says how exactly the model was
    /// computed, and nothing of how well the recording stands for the machine.
    pub interval: Interval,
    /// Runs.
    pub runs: u64,
    /// Phases, over all runs.
    pub phases: u64,
}

/// Plays a job of `ranks` at `grain_ns`, [`RUNS`] times: each run until it has been once through the longest
/// window, or the budget of steps is spent.
///
/// Absent where the budget does not allow [`FEWEST_PHASES`].
#[must_use]
pub fn recursion(
    tables: &Tables,
    grain_ns: u64,
    ranks: u64,
    seed: u64,
    budget: u64,
) -> Option<Recursion> {
    let most = affordable_phases(tables, grain_ns, ranks, budget);
    if most < FEWEST_PHASES {
        return None;
    }
    let longest_ns = tables.longest_ns();
    let run = |number: u64| {
        let mut random = Pcg64Mcg::seed_from_u64(seed.wrapping_add(number));
        let mut job = Job::new(tables, ranks, number, &mut random);
        (0..WARM_UP).for_each(|_| {
            job.phase(grain_ns);
        });
        let (mut phases, mut took) = (0, 0);
        while phases < most.div_ceil(RUNS) && took < longest_ns {
            took += job.phase(grain_ns);
            phases += 1;
        }
        (phases, took as f64 / (phases * grain_ns) as f64)
    };
    let runs = in_parallel(run);
    let mean = runs.iter().map(|run| run.1).sum::<f64>() / RUNS as f64;
    let squares: f64 = runs.iter().map(|run| (run.1 - mean).powi(2)).sum();
    let error = (squares / (RUNS * (RUNS - 1)) as f64).sqrt() * student_t(RUNS - 1);
    let interval = Interval { low: mean - error, high: mean + error };
    let phases = runs.iter().map(|run| run.0).sum();
    Some(Recursion { slowdown: mean, interval, runs: RUNS, phases })
}

/// Phases that the budget allows, over all runs. How long a phase lasts is not known before: the steps of it are
/// those of a phase that lasts twice its grain.
fn affordable_phases(tables: &Tables, grain_ns: u64, ranks: u64, budget: u64) -> u64 {
    (budget as f64 / tables.steps(ranks.max(1), 2.0 * grain_ns as f64)) as u64
}

/// The runs by number, on as many threads as there are CPUs for.
fn in_parallel<T: Send>(run: impl Fn(u64) -> T + Sync) -> Vec<T> {
    let (next, done) = (AtomicU64::new(0), Mutex::new(Vec::new()));
    let work = || loop {
        let number = next.fetch_add(1, Ordering::Relaxed);
        if number >= RUNS {
            return;
        }
        let result = run(number);
        done.lock().expect("no holder panics").push((number, result));
    };
    let threads = thread::available_parallelism().map_or(1, NonZeroUsize::get).min(RUNS as usize);
    thread::scope(|scope| {
        (0..threads).for_each(|_| {
            scope.spawn(work);
        });
    });
    let mut done = done.into_inner().expect("no holder panics");
    done.sort_unstable_by_key(|(number, _)| *number);
    done.into_iter().map(|(_, result)| result).collect()
}
