//! Ranks that share the replicas: threads of this process, which exchange lines of text.

use anechoic_recording::options::Answers;
use anechoic_recording::{Problem, ProblemKind};
use anechoic_simulate::{Ask, OPTIONS, Ranks, Simulation, Together, run, run_with};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Barrier, Mutex};
use std::thread;

/// Names of options with their values.
type Options<'a> = &'a [(&'a str, &'a str)];

/// What threads exchange.
#[derive(Debug)]
struct Table {
    lines: Mutex<Vec<String>>,
    all: Barrier,
}

#[derive(Debug)]
struct Thread<'a> {
    rank: usize,
    table: &'a Table,
}

impl Together for Thread<'_> {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.table.lines.lock().expect("no panic").len()
    }

    fn name(&self, rank: usize) -> String {
        format!("rank {rank} on host-{rank}")
    }

    fn threads(&self) -> usize {
        1 + self.rank % 2
    }

    fn exchange(&self, mine: &str) -> Result<Vec<String>, Problem> {
        assert!(!mine.contains('\n'), "a line");
        mine.clone_into(&mut self.table.lines.lock().expect("no panic")[self.rank]);
        self.table.all.wait();
        let all = self.table.lines.lock().expect("no panic").clone();
        self.table.all.wait();
        Ok(all)
    }
}

fn ask(given: Options<'_>) -> Ask {
    let answers = Answers::read(OPTIONS, given).expect("options");
    Ask::read(&answers).expect("they fit")
}

/// Simulates by this many ranks. `noise` has the files of each rank, and `goes_on` whether it is not asked to stop.
fn shared(
    given: Options<'_>,
    size: usize,
    noise: impl Fn(usize) -> Vec<PathBuf> + Sync,
    goes_on: impl Fn(usize) -> bool + Sync,
) -> Vec<Result<Simulation, Problem>> {
    let lines = Mutex::new(vec![String::new(); size]);
    let (table, ask) = (&Table { lines, all: Barrier::new(size) }, &ask(given));
    let (noise, goes_on) = (&noise, &goes_on);
    thread::scope(|scope| {
        let ranks = (0..size).map(|rank| {
            scope.spawn(move || {
                let team = Thread { rank, table };
                run_with(ask, &noise(rank), Ranks::together(&team), &|_, _| goes_on(rank))
            })
        });
        let ranks: Vec<_> = ranks.collect();
        ranks.into_iter().map(|rank| rank.join().expect("no panic")).collect()
    })
}

/// Writes detours of this length, in ns.
fn write(dir: &Path, name: &str, length_ns: u64) -> PathBuf {
    let file = dir.join(name);
    let detours = (0..50).map(|at| format!("{}\t{}\n", at * 997_000, length_ns + at * 100));
    fs::write(&file, detours.collect::<String>()).expect("room");
    file
}

#[test]
fn ranks_together_have_the_result_of_one_process() {
    let dir = tempfile::tempdir().expect("room");
    let file = write(dir.path(), "noise.txt", 20_000);
    let latencies = dir.path().join("latencies.txt");
    fs::write(&latencies, "2us\n+1us\n4us\n").expect("room");
    let latencies = latencies.to_str().expect("text");
    let job = [("pattern", "halo2d"), ("ranks", "16"), ("replicas", "9"), ("iterations", "4")];
    let cases: [(&str, Options<'_>, bool); 7] = [
        ("recorded", &[("length", "100ms")], true),
        ("tolerate", &[("length", "100ms"), ("tolerate", "1%")], true),
        ("law", &[("law", "pareto"), ("seed", "77")], false),
        ("rounds", &[("law", "exponential"), ("model", "rounds")], false),
        ("one delay", &[("law", "once"), ("length", "100ms")], true),
        ("network", &[("network-noise", latencies)], false),
        ("quiet", &[("tolerate", "2%")], false),
    ];
    for (name, more, recorded) in cases {
        let given = [&job[..], more].concat();
        let noise = if recorded { vec![file.clone()] } else { vec![] };
        let alone = run(&ask(&given), &noise, &|_, _| true).expect(name);
        assert!(!alone.ended_early);
        for size in [1, 2, 7] {
            let mut all = shared(&given, size, |_| noise.clone(), |_| true);
            assert!(all.iter().all(Result::is_ok), "{name}, {size} ranks: {all:?}");
            assert_eq!(all.remove(0).as_ref(), Ok(&alone), "{name}, {size} ranks");
        }
    }
}

#[test]
fn an_error_of_one_rank_is_the_same_at_all_and_names_it() {
    let dir = tempfile::tempdir().expect("room");
    let [one, other] = [20_000, 30_000].map(|ns| write(dir.path(), &format!("{ns}"), ns));
    let cases = [
        ("other noise", other, ProblemKind::Data, "it has noise other than rank 0 on host-0"),
        ("no noise", dir.path().join("absent"), ProblemKind::NoInput, "absent"),
    ];
    let given = [("pattern", "barrier"), ("ranks", "8"), ("length", "100ms")];
    for (name, wrong, kind, why) in cases {
        let noise = |rank| vec![if rank == 2 { wrong.clone() } else { one.clone() }];
        for found in shared(&given, 4, noise, |_| true) {
            let problem = found.expect_err(name);
            assert_eq!(problem.kind, kind, "{name}: {problem}");
            let text = problem.to_string();
            assert!(text.starts_with("rank 2 on host-2: ") && text.contains(why), "{name}: {text}");
        }
    }
    // What is wrong everywhere names no rank.
    let found = shared(&given, 3, |_| vec![dir.path().join("absent")], |_| true);
    assert!(found.iter().all(|other| *other == found[0]), "{found:?}");
    let text = found[0].as_ref().expect_err("no file").to_string();
    assert!(!text.contains("rank"), "{text}");
}

#[test]
fn a_signal_to_one_rank_ends_all_and_keeps_what_is_complete() {
    let given =
        [("pattern", "barrier"), ("ranks", "16"), ("law", "exponential"), ("replicas", "100000")];
    for stopped in [0, 2] {
        let asked = AtomicU64::new(0);
        let goes_on = |rank| rank != stopped || asked.fetch_add(1, Ordering::Relaxed) < 500;
        for found in shared(&given, 3, |_| vec![], goes_on) {
            let found = found.expect("what is complete");
            assert!(found.ended_early && !found.replicas.is_empty(), "{:?}", found.notes);
            let seeds: Vec<u64> = found.replicas.iter().map(|replica| replica.seed).collect();
            assert!(seeds.is_sorted() && seeds.len() < 100_000, "{}", seeds.len());
            assert!(found.notes[0].contains(" of 100000 simulations"), "{:?}", found.notes);
        }
    }
}
