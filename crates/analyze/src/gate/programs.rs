//! Simulated runs of programs with a known truth: no verdict is wrong more often than stated.

use super::Outcome;
use super::program::{Counted, Runs, Sums};
use super::rules::{RULES, Rule};
use rand::RngExt;
use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::SeedableRng;

/// The time in which the program wants a CPU in a run, in ns; it takes twice as long from start to end.
const WANTED_NS: f64 = 1e9;
/// Number of gates of each case.
const GATES: u64 = 600;
/// Expected number of events in a run.
const EXPECTED: [f64; 6] = [0.0, 0.1, 0.5, 2.0, 5.0, 40.0];
/// Number of runs of a gate.
const RUNS: [usize; 3] = [3, 4, 8];
/// A verdict may be wrong in 5 %, and by three standard errors of the simulation more.
const MOST_WRONG: f64 = 0.05 + 0.027;
/// Length of an event, or the shortest of a law.
const LENGTH_NS: f64 = 1e5;

/// A law of lengths: its name, its mean in ns, and a random length.
type Law = (&'static str, f64, fn(f64) -> f64);

const LAWS: [Law; 3] = [
    ("fixed", LENGTH_NS, |_| LENGTH_NS),
    ("exponential", LENGTH_NS, |uniform| -LENGTH_NS * uniform.ln()),
    ("Pareto 1.5", 3.0 * LENGTH_NS, |uniform| LENGTH_NS * uniform.powf(-1.0 / 1.5)),
];

/// How much the rate differs from run to run: its name, and the factor of a run, with a mean of 1.
type Between = (&'static str, fn(&mut Pcg64Mcg) -> f64);

const BETWEEN: [Between; 3] = [
    ("alike", |_| 1.0),
    ("by half", |random| {
        let normal = (0..12).map(|_| random.random::<f64>()).sum::<f64>() - 6.0;
        let deviation = 0.47;
        (deviation * normal - deviation * deviation / 2.0).exp()
    }),
    ("exponential", |random| -(1.0 - random.random::<f64>()).ln()),
];

fn simulate(expected: f64, law: Law, between: Between, random: &mut Pcg64Mcg) -> Counted {
    let rate = expected * between.1(random);
    let (mut at, mut sums) = (0.0, Sums::default());
    loop {
        at -= (1.0 - random.random::<f64>()).ln() / rate;
        if at.is_nan() || at >= 1.0 {
            break;
        }
        let length = law.2(1.0 - random.random::<f64>()).min(WANTED_NS / 10.0);
        sums.events += 1;
        sums.sum_ns += length;
        sums.squares += length * length;
        sums.longest_ns = sums.longest_ns.max(length);
    }
    counted_once(sums)
}

fn rule(id: &str) -> Rule {
    let row = RULES.iter().copied().find(|row| row.id == id).expect("a rule");
    Rule { row, given: String::new(), source: None, longer_than_ns: None, limit: 0.0 }
}

fn judge(id: &str, runs: &[Counted], limit: f64) -> Outcome {
    let runs = runs.iter().map(|run| (run, 2 * WANTED_NS as u64)).collect();
    let found = rule(id).judge_runs(&Runs::new(runs, None)).expect("it judges runs");
    Outcome::from_bounds(limit, found.at_least, found.at_most)
}

/// Returns how often a rule fails with its limit at the truth or over it, and passes with its limit below.
fn wrong(id: &str, truth: f64, gates: &[Vec<Counted>]) -> [f64; 2] {
    let number = |limit: f64, wrong: Outcome| {
        gates.iter().filter(|runs| judge(id, runs, limit) == wrong).count() as f64
    };
    let wrong = [(truth * 1.000_001, Outcome::Fail), (truth * 0.999_999 - 1e-12, Outcome::Pass)];
    wrong.map(|(limit, wrong)| number(limit, wrong) / gates.len() as f64)
}

#[test]
fn no_verdict_on_runs_of_a_program_is_wrong_more_often_than_stated() {
    let (mut failed, mut random) = (vec![], Pcg64Mcg::seed_from_u64(36));
    for law in LAWS {
        for between in BETWEEN {
            for (expected, number) in EXPECTED.into_iter().flat_map(|e| RUNS.map(|n| (e, n))) {
                let mut run = || simulate(expected, law, between, &mut random);
                let gates: Vec<Vec<Counted>> =
                    (0..GATES).map(|_| (0..number).map(|_| run()).collect()).collect();
                let rules = [
                    ("max-noise", expected * law.1 / WANTED_NS),
                    ("max-rate", expected * 1e9 / (2.0 * WANTED_NS)),
                ];
                for (id, truth) in rules {
                    let found = wrong(id, truth, &gates);
                    if found.iter().any(|share| *share > MOST_WRONG) {
                        let (law, between) = (law.0, between.0);
                        failed.push(format!(
                            "{id}: {law}, {between}, {expected} events, {number} runs: {found:?}"
                        ));
                    }
                }
            }
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

/// Returns a run in which 100 events of one length took this much.
fn counted(lost_ns: f64) -> Counted {
    let sums = Sums {
        events: 100,
        sum_ns: lost_ns,
        squares: lost_ns * lost_ns / 100.0,
        longest_ns: lost_ns / 100.0,
    };
    counted_once(sums)
}

fn counted_once(sums: Sums) -> Counted {
    Counted {
        seen: sums,
        possible: sums,
        wanted_ns: WANTED_NS,
        longest_ns: sums.longest_ns,
        ..Counted::default()
    }
}

#[test]
fn a_single_run_decides_nothing_and_several_alike_do() {
    let cases: [(&str, &[f64], f64, Outcome); 7] = [
        ("one run", &[0.02], 0.9, Outcome::Undecided),
        ("two alike", &[0.02, 0.02], 0.9, Outcome::Undecided),
        ("three alike, far below", &[0.020, 0.021, 0.019], 0.05, Outcome::Pass),
        ("three alike, far above", &[0.020, 0.021, 0.019], 0.005, Outcome::Fail),
        ("three alike, at it", &[0.020, 0.021, 0.019], 0.02, Outcome::Undecided),
        ("unlike", &[0.001, 0.08, 0.003], 0.05, Outcome::Undecided),
        ("nothing seen", &[0.0, 0.0, 0.0], 0.05, Outcome::Undecided),
    ];
    for (name, shares, limit, expected) in cases {
        let lost = shares.iter().map(|share| share * WANTED_NS);
        let runs: Vec<Counted> = lost
            .map(|ns| if ns > 0.0 { counted(ns) } else { counted_once(Sums::default()) })
            .collect();
        let runs = runs.iter().map(|run| (run, 2 * WANTED_NS as u64)).collect();
        let noise = Rule { limit, ..rule("max-noise") };
        let found = noise.judge_runs(&Runs::new(runs, None)).expect("it judges runs");
        assert_eq!(found.outcome, expected, "case: {name}: {found:?}");
        assert_eq!(found.doubt.is_some(), shares.len() < 3, "case: {name}");
    }
}
