//! Fuzzing of every parser of bytes that others made. `make fuzz` runs each target for ten minutes with inputs of its
//! own; among the other tests each has some hundred or thousand inputs, always the same.
//!
//! An input is a changed copy of a valid one and follows from the seed and its number. One that makes the parser panic,
//! hang or take too much memory is kept in the directory of temporary files that cargo gives to tests, and
//! `ANECHOIC_FUZZ_INPUT=FILE cargo test --test cli fuzz::TARGET` runs it again.

mod commands;
mod memory;
mod ranks;
mod recordings;
mod simulations;
mod tables;
mod targets;

use crate::change::{Numbers, change};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use std::{env, fs, process, thread};

/// More memory than any input of some megabytes may take.
const MOST_MEMORY: usize = 500 << 20;
/// An input that takes longer hangs, also on a machine with other things to do.
const HANGS: Duration = Duration::from_secs(30);

/// A parser and what it is given.
struct Target {
    name: &'static str,
    /// Valid inputs.
    corpus: fn() -> Vec<Vec<u8>>,
    /// Returns what reads an input, with a directory of its own.
    reader: fn(&Path) -> Reader,
    /// Number of inputs among the other tests.
    inputs: u64,
}

type Reader = Box<dyn FnMut(&[u8])>;

/// Runs a target: for as long as the environment says, or for its number of inputs.
fn fuzz(target: &Target) {
    let dir = tempfile::tempdir().expect("a directory");
    let mut read = (target.reader)(dir.path());
    let corpus = (target.corpus)();
    for valid in &corpus {
        read(valid);
    }
    if let Some(file) = env::var_os("ANECHOIC_FUZZ_INPUT") {
        return read(&fs::read(file).expect("an input"));
    }
    let number_in = |name: &str| env::var(name).ok().and_then(|text| text.parse().ok());
    let length = number_in("ANECHOIC_FUZZ_SECONDS").map(Duration::from_secs);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let seed = number_in("ANECHOIC_FUZZ_SEED").unwrap_or(length.map_or(1, |_| now));
    let kept = Kept::new(target.name);
    let (start, mut slowest, mut largest) = (Instant::now(), (Duration::ZERO, 0), (0, 0));
    let goes_on = |number| length.map_or(number < target.inputs, |long| start.elapsed() < long);
    let mut number = 0;
    while goes_on(number) {
        let mut numbers = Numbers(seed ^ number << 32);
        let mut input = corpus[numbers.below(corpus.len())].clone();
        change(&mut numbers, &mut input, &corpus);
        kept.write(&input);
        let begun = Instant::now();
        let (done, bytes) = memory::growth(|| catch_unwind(AssertUnwindSafe(|| read(&input))));
        slowest = slowest.max((begun.elapsed(), number));
        largest = largest.max((bytes, number));
        let what = match done {
            Err(_) => "panicked".to_owned(),
            Ok(()) if bytes > MOST_MEMORY => format!("took {bytes} bytes of memory"),
            Ok(()) => {
                number += 1;
                continue;
            }
        };
        panic!(
            "{}: input {number} of seed {seed} {what}: {}",
            target.name,
            kept.keep(seed, number)
        );
    }
    kept.end();
    let (time, slow) = slowest;
    println!(
        "{}: {number} inputs of seed {seed} in {:.0?}; the slowest took {time:.0?} (number {slow}), the largest {} KiB (number {})",
        target.name,
        start.elapsed(),
        largest.0 >> 10,
        largest.1
    );
}

/// The file of the input that is being read, which stays if this ends the program.
struct Kept {
    current: PathBuf,
    /// The number of inputs so far; all ones at the end.
    written: Arc<AtomicU64>,
}

impl Kept {
    /// Starts with no input, and a thread that ends the program if one hangs.
    fn new(target: &str) -> Self {
        let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("fuzz");
        fs::create_dir_all(&dir).expect("a directory");
        let current = dir.join(format!("{target}-{}", process::id()));
        let written = Arc::new(AtomicU64::new(0));
        let (watched, file) = (Arc::clone(&written), current.clone());
        thread::spawn(move || {
            let (mut last, mut since) = (0, Instant::now());
            while last != u64::MAX {
                thread::sleep(Duration::from_millis(500));
                let now = watched.load(Relaxed);
                if now != last {
                    (last, since) = (now, Instant::now());
                } else if now > 0 && since.elapsed() > HANGS {
                    eprintln!("an input hangs: {}", file.display());
                    process::abort();
                }
            }
        });
        Kept { current, written }
    }

    fn write(&self, input: &[u8]) {
        fs::write(&self.current, input).expect("there is space");
        self.written.fetch_add(1, Relaxed);
    }

    /// Keeps the input and returns where.
    fn keep(&self, seed: u64, number: u64) -> String {
        let kept = self.current.with_extension(format!("{seed}-{number}"));
        let _ = fs::rename(&self.current, &kept);
        self.written.store(u64::MAX, Relaxed);
        kept.display().to_string()
    }

    fn end(self) {
        let _ = fs::remove_file(&self.current);
        self.written.store(u64::MAX, Relaxed);
    }
}

/// Makes a test of each target.
macro_rules! targets {
    ($($name:ident: $corpus:expr, $reader:expr, $inputs:literal;)*) => { $(
        #[test]
        fn $name() {
            fuzz(&Target {
                name: stringify!($name),
                corpus: $corpus,
                reader: $reader,
                inputs: $inputs,
            });
        }
    )* };
}

targets! {
    trace_pages: targets::pages, targets::read_pages, 2_000;
    trace_formats: targets::formats, targets::read_formats, 2_000;
    kernel_types: targets::kernel_types, targets::read_kernel_types, 2_000;
    programs: targets::programs, targets::read_program, 500;
    machine_files: targets::machine_files, targets::read_machine, 500;
    times_csv: targets::times, targets::read_times, 1_000;
    costs_csv: targets::costs, targets::read_costs, 1_000;
    detours_text: targets::detours, targets::read_detours, 200;
    import_csv: targets::csv, targets::read_csv, 100;
    import_netgauge: targets::netgauge, targets::read_netgauge, 100;
    import_bare: targets::bare, targets::read_bare, 100;
    import_sysjitter: targets::sysjitter, targets::read_sysjitter, 100;
    import_oslat: targets::oslat, targets::read_oslat, 100;
    import_cyclictest: targets::cyclictest, targets::read_cyclictest, 100;
    import_trace_dat: targets::trace_dat, targets::read_trace_dat, 60;
    host_summaries: recordings::host_summaries, recordings::read_host_summary, 500;
    run_json: recordings::runs, recordings::read_run, 30;
    attribution_json: recordings::attributions, recordings::read_attribution, 5;
    checksums: recordings::checksums, recordings::read_checksums, 300;
    parquet_parts: recordings::parts, recordings::read_part, 40;
    hostile_tables: recordings::recipes, recordings::read_recipe, 10;
    outputs_of_run_json: recordings::runs, commands::read_run, 10;
    outputs_of_attribution: recordings::attributions, commands::read_attribution, 10;
    outputs_of_parts: recordings::parts, commands::read_part, 10;
    outputs_of_tables: recordings::recipes, commands::read_recipe, 10;
    rules_toml: commands::rules, commands::read_rules, 60;
    ab_json: commands::plans, commands::read_plan, 6;
    notes: commands::notes, commands::read_note, 20;
    rank_messages: ranks::messages, ranks::read_message, 3;
    goal_files: simulations::schedules, simulations::read_schedule, 2_000;
    mpi_traces: simulations::traces, simulations::read_trace, 500;
    network_parameters: simulations::parameters, simulations::read_parameters, 300;
    network_noise: simulations::network_noise, simulations::read_network_noise, 300;
    cluster_json: commands::clusters, commands::read_cluster, 3;
}
