//! The memory experiments: passes over working sets of many sizes with warm caches, with caches full of modified lines,
//! after a preemption and after a migration (Wächtler & Sojka 2012).

use super::{Method, frame};
use crate::experiment::{
    Act, Amount, Cell, CoRunner, Experiment, Host, Order, Pages, Pinning, Policy, Preemption,
    Sample, Samples,
};
use crate::kernel::Kernel;
use anechoic_kernels::memory::{Line, Params};
use anechoic_recording::machine::Machine;
use anechoic_recording::memory::catalogue::{
    DENSE, DataCaches, Disturbance, FEWEST, LARGEST_CACHES, QUICK_LARGEST, is_listed, largest,
};
use anechoic_recording::memory::{
    Before, CO_RUNNER, Level, MEMORY_EXPERIMENTS, MemoryExperiment, OWN,
};
use anechoic_recording::options::{Answers, OptionRow, Value};
use anechoic_recording::run::NotAvailable;
use anechoic_recording::topology::Proximity;
use anechoic_recording::{Problem, ProblemKind, methods};
use anechoic_system::cpus;
use std::collections::BTreeSet;
use std::time::Duration;

/// The smallest working set, in bytes.
const SMALLEST: u64 = 4 << 10;
/// How often each experiment of a user's function is measured, so that a change of the host is not taken for a delay.
const OWN_BLOCKS: u32 = 6;
/// Seed of the order of these experiments, the same in every run.
const SEED: u64 = 1;
/// Why there is no migration and no co-runner.
const ONE_CPU: &str = "this process may use only one CPU";

pub(super) static METHOD: Method = Method {
    title: "memory experiments",
    source: "Wächtler & Sojka 2012",
    about: "Memory experiments: time per access to working sets of all sizes, warm, dirty, after preemption and migration",
    details: "On one CPU, 46 experiments: reads and writes, in sequence and in random order (one cycle of pointers that visits every \
              line once), with warm caches, with caches full of modified lines, after a preemption by a thread that sleeps, reads, writes \
              or runs much code, and after a migration to a CPU that shares a cache or none. Each is measured for working sets \
              from 4 KiB to 4 times the last-level cache. Two more experiments keep the random order within 64 pages at a time, which leaves the \
              TLB out. With --work, your own function takes the place of reads and writes.",
    examples: "  anechoic measure memory --quick                                 a first look in under three minutes
  anechoic measure memory --experiments 'bandwidth-*' --pages thp  on huge pages
  anechoic measure memory --cpus 0 --memory-node 1                 on memory that is far from the CPU
  anechoic measure memory --work ./matrix.so:step                  what a preemption costs your own function
  anechoic measure memory --cpus 3 -o memory                      all experiments, 30 to 60 minutes",
    options: &[OPTIONS],
    one_cpu: true,
    result: methods::MEMORY,
    ..Method::new(methods::MEMORY, experiment)
};

fn names() -> Vec<(&'static str, &'static str)> {
    let alone = MEMORY_EXPERIMENTS.iter().filter(|experiment| !experiment.co_runner);
    alone.map(|experiment| (experiment.id.as_str(), "")).collect()
}

fn co_runners() -> Vec<(&'static str, &'static str)> {
    vec![("idle", ""), (CO_RUNNER, "")]
}

fn pages() -> Vec<(&'static str, &'static str)> {
    vec![
        ("base", "base pages"),
        ("thp", "transparent huge pages"),
        ("2m", "reserved huge pages of 2 MiB"),
    ]
}

/// No work kernel of the tool takes the place of its own experiments.
fn no_kernels() -> Vec<(&'static str, &'static str)> {
    Vec::new()
}

static OPTIONS: &[OptionRow] = &[
    OptionRow::new(
        "experiments",
        Value::Matching(names),
        "PATTERN",
        "Experiments by name, such as migration-read-random-l3 or 'preemption-*-write-long'",
    )
    .many()
    .default("*"),
    OptionRow::new(
        "quick",
        Value::Flag,
        "",
        "One working set per octave instead of 8, up to twice the last-level cache and at most 64 MiB, and an eighth of the repetitions",
    ),
    OptionRow::new(
        "point-time",
        Value::Duration,
        "TIME",
        "Time for the repetitions of one experiment on one working set; large working sets have fewer repetitions",
    )
    .default("300ms"),
    OptionRow::new(
        "co-runner",
        Value::Choice(co_runners),
        "STATE",
        "The other CPUs during an experiment: idle, or thrashing: together they write to 4 times the last-level cache",
    )
    .many()
    .default("idle"),
    OptionRow::new("pages", Value::Choice(pages), "SIZE", "Pages of the working sets")
        .default("base"),
    OptionRow::new(
        "work",
        Value::Work(no_kernels),
        "FILE:FUNCTION",
        "Measure this instead of reads and writes: your own function, ./FILE.so:FUNCTION, on its workspace",
    ),
    frame::MEMORY_NODE,
    frame::ONE_POLICY,
    frame::ALL_CPUS,
];

fn experiment(answers: &Answers, host: &Host) -> Result<Experiment, Problem> {
    let [cpu] = host.cpus[..] else {
        return Err(ProblemKind::Usage
            .problem("this method measures only one CPU", "name one, for example --cpus 1"));
    };
    let own = answers.given("work").map(Kernel::find).transpose()?;
    let (caches, note) = data_caches(&host.machine, cpu);
    let quick = answers.flag("quick");
    let time = answers.one::<Duration>("point-time")?;
    let time = if quick { time / 4 } else { time };
    let blocks = if own.is_some() { OWN_BLOCKS } else { 1 };
    let time = time / blocks;
    let policy = frame::policy(answers.one("policy")?);
    let points = Points { cpu, policy, caches, time, quick };
    let (mut chosen, mut absent) = (Vec::new(), Vec::new());
    for experiment in asked(answers, own.is_some()) {
        match points.chosen(experiment, &host.machine) {
            Ok(found) => chosen.push(found),
            Err(why) => absent.push(NotAvailable {
                what: NotAvailable::experiment(&experiment.id),
                why,
                remedy: "measure a machine that has such a CPU, or name another CPU with --cpus"
                    .into(),
            }),
        }
    }
    let memory_node = frame::memory_node(answers, host)?;
    let sizes = own.map_or_else(|| points.sizes(), |own| vec![own.workspace_bytes()]);
    let (sizes, too_large) = frame::fitting(sizes, other_bytes(&chosen), memory_node.node)?;
    absent.extend(too_large);
    if chosen.is_empty() {
        return Err(nothing_to_measure(absent.first(), own.is_some()));
    }
    let cells = points.cells(&chosen, &sizes, own)?;
    frame::leave_a_cpu(&cells, answers, host, "--policy fifo")?;
    Ok(Experiment {
        notes: [note, own.map_or_else(|| points.note_on_sizes(), |_| None), memory_node.note]
            .into_iter()
            .flatten()
            .collect(),
        blocks,
        order: if own.is_some() { Order::Shuffled { seed: SEED } } else { Order::Listed },
        absent,
        memory_node: memory_node.node,
        pages: match answers.one::<&str>("pages")? {
            "thp" => Pages::Transparent,
            "2m" => Pages::Explicit(2 << 20),
            _ => Pages::Base,
        },
        ..Experiment::listed(METHOD.id, cells)
    })
}

/// Returns the experiments that were asked for: those of a user's own function, or all others.
fn asked(answers: &Answers, own: bool) -> impl Iterator<Item = &'static MemoryExperiment> {
    let named: BTreeSet<&str> =
        answers.all::<Vec<&'static str>>("experiments").into_iter().flatten().collect();
    let states = answers.all::<&str>("co-runner");
    // What is added to a call of a user's function is added to one with warm caches.
    let has_own = named.iter().any(|name| name.contains(OWN));
    MEMORY_EXPERIMENTS.iter().filter(move |experiment| {
        let alone = experiment
            .id
            .strip_suffix(CO_RUNNER)
            .map_or(&*experiment.id, |id| id.trim_end_matches('-'));
        let is_needed = own && has_own && experiment.before == Before::Warm;
        (named.contains(alone) || is_needed)
            && own == (experiment.kernel == OWN)
            && states.contains(if experiment.co_runner { &CO_RUNNER } else { &"idle" })
    })
}

/// Returns why there is nothing to measure: the first experiment is absent, or none has such a name.
fn nothing_to_measure(absent: Option<&NotAvailable>, own: bool) -> Problem {
    let (why, remedy) = match (absent, own) {
        (Some(absent), _) => {
            return ProblemKind::Unavailable.problem(&*absent.why, "choose other experiments");
        }
        (None, true) => (
            "--work has no experiment of that name",
            "choose from bandwidth-own-*, preemption-own-* and migration-own-*",
        ),
        (None, false) => (
            "these experiments measure a function of your own",
            "name it: --work ./FILE.so:FUNCTION",
        ),
    };
    ProblemKind::Usage.problem(why, remedy)
}

/// An experiment that this machine can do.
struct Chosen {
    experiment: &'static MemoryExperiment,
    between: Vec<Act>,
    co_runner: Option<CoRunner>,
}

/// Returns the memory that is needed beside the working set, in bytes.
fn other_bytes(chosen: &[Chosen]) -> u64 {
    let mut others: Vec<Kernel> = Vec::new();
    for other in chosen.iter().flat_map(|chosen| &chosen.between).filter_map(Act::kernel) {
        if !others.contains(&other) {
            others.push(other);
        }
    }
    let co_runners = chosen.iter().filter_map(|chosen| chosen.co_runner.as_ref());
    let co_runners = co_runners
        .map(|runner| runner.kernel.workspace_bytes() * runner.cpus.len() as u64)
        .max()
        .unwrap_or(0);
    others.iter().map(Kernel::workspace_bytes).sum::<u64>() + co_runners
}

/// Returns the sizes of a CPU's data caches, and a note if some of them are hidden.
pub(super) fn data_caches(machine: &Machine, cpu: u32) -> (DataCaches, Option<String>) {
    let known = machine.cpus.iter().find(|known| known.cpu == cpu);
    let data = || {
        let caches = known.into_iter().flat_map(|known| &known.caches);
        caches.filter(|cache| cache.kind != "Instruction" && cache.size_bytes > 0)
    };
    let of_level = |level| data().find(|cache| cache.level == level).map(|cache| cache.size_bytes);
    let last = data().max_by_key(|cache| cache.level).map(|cache| cache.size_bytes);
    let found = [of_level(1), of_level(2), last];
    let usual = DataCaches::USUAL;
    let first = found[0].unwrap_or(usual.first);
    let second = found[1].unwrap_or(usual.second);
    let last = found[2].unwrap_or(usual.last);
    let note = found.contains(&None).then(|| {
        let [a, b, c] = [first, second, last].map(|bytes| bytes >> 10);
        format!("the machine does not report all its caches: {a}, {b} and {c} KiB are assumed")
    });
    (DataCaches { first, second, last }, note)
}

/// What all points of the experiments have in common.
#[derive(Debug, Clone, Copy)]
struct Points {
    cpu: u32,
    policy: Policy,
    caches: DataCaches,
    time: Duration,
    quick: bool,
}

impl Points {
    /// Returns the sizes of the working sets in bytes, whole lines.
    fn sizes(&self) -> Vec<u64> {
        let largest = largest(self.caches.last, self.quick);
        let octaves = (largest as f64 / SMALLEST as f64).log2();
        let per_octave = if self.quick { 1.0 } else { 8.0 };
        let all = (0..=(octaves * per_octave).round() as u32).map(|step| {
            let bytes = SMALLEST as f64 * (f64::from(step) / per_octave).exp2();
            (bytes / Line::BYTES as f64).round() as u64 * Line::BYTES
        });
        all.filter(|bytes| is_listed(*bytes)).collect()
    }

    /// States what is left out because the last-level cache is large.
    fn note_on_sizes(&self) -> Option<String> {
        let most = if self.quick { QUICK_LARGEST / 2 } else { DENSE / LARGEST_CACHES };
        let last = self.caches.last >> 20;
        let what = match self.quick {
            true => {
                format!("a quick measurement has no working sets over {} MiB", QUICK_LARGEST >> 20)
            }
            false => format!(
                "beyond {} MiB there is one working set per octave, with at least {FEWEST} passes",
                DENSE >> 20
            ),
        };
        (self.caches.last > most)
            .then(|| format!("the last-level cache has {last} MiB; to bound the time, {what}"))
    }

    /// Returns how an experiment is done, or why it is impossible on this machine.
    fn chosen(
        &self,
        experiment: &'static MemoryExperiment,
        machine: &Machine,
    ) -> Result<Chosen, String> {
        let between = self.before(experiment.before, machine)?;
        let co_runner = experiment.co_runner.then(|| self.co_runner(&between)).transpose()?;
        Ok(Chosen { experiment, between, co_runner })
    }

    /// Returns the co-runner of all CPUs that the loop does not use, or why there is none.
    fn co_runner(&self, between: &[Act]) -> Result<CoRunner, String> {
        let used = |cpu: u32| cpu == self.cpu || between.contains(&Act::Migrate(cpu));
        let allowed = cpus::allowed();
        let others = allowed.iter().filter(|&&cpu| cpu != self.cpu).count() as u64;
        let cpus: Vec<u32> = allowed.into_iter().filter(|&cpu| !used(cpu)).collect();
        match (others, cpus.is_empty()) {
            (0, _) => Err(ONE_CPU.to_owned()),
            (_, true) => Err("the only other CPU is the one that the loop migrates to, where a co-runner would take \
                              its time"
                .to_owned()),
            (_, false) => {
                let bytes = LARGEST_CACHES * self.caches.last / others;
                Ok(CoRunner { kernel: on_memory("write-sequential", bytes)?, cpus })
            }
        }
    }

    /// Returns what to do before each pass, or why that is impossible on this machine.
    fn before(&self, before: Before, machine: &Machine) -> Result<Vec<Act>, String> {
        let preempted = matches!(before, Before::Preempted { .. });
        match (before, before.disturbance(self.caches)) {
            (Before::Migrated(level), _) => {
                let to = self.migrate_to(level, machine)?;
                Ok(vec![Act::Migrate(self.cpu), Act::Repeat, Act::Migrate(to)])
            }
            (_, None) => Ok(vec![Act::Look]),
            (_, Some(Disturbance::Sleep(ns))) => {
                Ok(vec![Act::Preempt(Preemption::Sleep(Duration::from_nanos(ns)))])
            }
            (_, Some(Disturbance::Pass(id, bytes))) if preempted => {
                Ok(vec![Act::Preempt(Preemption::Pass(on_memory(id, bytes)?))])
            }
            (_, Some(Disturbance::Pass(id, bytes))) => {
                let kernel = on_memory(id, bytes)?;
                Ok(vec![Act::Work(kernel, kernel.pass())])
            }
        }
    }

    /// Returns a CPU that shares this level of cache, or why there is none.
    fn migrate_to(&self, level: Level, machine: &Machine) -> Result<u32, String> {
        let cpu = self.cpu;
        let allowed = cpus::allowed();
        if allowed.len() > 1 && !reports_shared_caches(machine) {
            return Err("this machine does not report which CPUs share a cache".to_owned());
        }
        let fits = |&other: &u32| match Proximity::between(machine, cpu, other) {
            Proximity::SmtSibling | Proximity::SharedL2 => level == Level::L2,
            Proximity::SharedL3 => level == Level::L3,
            Proximity::SameSocket | Proximity::OtherSocket => level == Level::Neither,
            Proximity::SameThread | Proximity::Unknown => false,
        };
        allowed.iter().copied().find(fits).ok_or_else(|| {
            let what = match level {
                Level::L2 => "shares the second-level cache with",
                Level::L3 => "shares only the last-level cache with",
                Level::Neither => "shares no cache with",
            };
            match allowed.len() {
                1 => ONE_CPU.to_owned(),
                _ => format!("no CPU that this process may use {what} CPU {cpu}"),
            }
        })
    }

    /// Returns the cells of all sizes. Experiments with the same kernel and working set follow each other, so that it is prepared
    /// once.
    fn cells(
        &self,
        chosen: &[Chosen],
        sizes: &[u64],
        own: Option<Kernel>,
    ) -> Result<Vec<Cell>, Problem> {
        let kernels: BTreeSet<&str> =
            chosen.iter().map(|chosen| chosen.experiment.kernel).collect();
        let mut cells = Vec::new();
        for &bytes in sizes {
            for &kernel in &kernels {
                let alike = chosen.iter().filter(|chosen| chosen.experiment.kernel == kernel);
                let kernel = match own {
                    Some(own) => own,
                    None => Kernel::on_memory(kernel, Params { bytes })?,
                };
                cells.extend(alike.map(|chosen| self.cell(chosen, kernel)));
            }
        }
        Ok(cells)
    }

    fn cell(&self, chosen: &Chosen, kernel: Kernel) -> Cell {
        let Chosen { experiment, between, co_runner } = chosen;
        let (least, most) = experiment.before.passes(kernel.workspace_bytes(), self.quick);
        let sample = Sample {
            kernel,
            amount: Amount::Pass,
            samples: Samples::Within { time: self.time, least, most },
            maiv_ppm: None,
            watched: false,
        };
        let on = Pinning::Cpus(vec![self.cpu]);
        Cell {
            between: between.clone(),
            co_runner: co_runner.clone(),
            name: Some(&experiment.id),
            policy: self.policy,
            ..Cell::sampling(sample, on)
        }
    }
}

/// Returns whether the machine reports a cache beyond the first level for each CPU.
fn reports_shared_caches(machine: &Machine) -> bool {
    machine.cpus.iter().all(|cpu| cpu.caches.iter().any(|cache| cache.level > 1))
}

fn on_memory(id: &str, bytes: u64) -> Result<Kernel, String> {
    Kernel::on_memory(id, Params { bytes }).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use anechoic_lab::note;

    fn points(machine: &Machine) -> Points {
        let cpu = cpus::allowed()[0];
        let (caches, _) = data_caches(machine, cpu);
        Points { cpu, policy: Policy::Other, caches, time: Duration::from_millis(1), quick: true }
    }

    #[test]
    fn a_machine_that_hides_its_caches_has_no_place_to_migrate_to() {
        let mut machine = anechoic_system::machine::describe();
        machine.cpus.iter_mut().for_each(|cpu| cpu.caches.clear());
        for level in [Level::L2, Level::L3, Level::Neither] {
            let why = points(&machine).migrate_to(level, &machine).expect_err("nothing is known");
            assert!(why == ONE_CPU || why.contains("does not report"), "{level:?}: {why}");
        }
    }

    #[test]
    fn a_large_cache_does_not_make_the_time_unbounded() {
        let machine = anechoic_system::machine::describe();
        let mib = |bytes: u64| bytes << 20;
        let cases = [
            ("quick, usual", true, mib(32), mib(64), false),
            ("quick, large", true, mib(480), mib(64), true),
            ("quick, small", true, mib(8), mib(16), false),
            ("all, usual", false, mib(32), mib(128), false),
            ("all, large", false, mib(480), mib(1024), true),
        ];
        for (name, quick, last, largest, noted) in cases {
            let points = points(&machine);
            let points = Points { quick, caches: DataCaches { last, ..points.caches }, ..points };
            let sizes = points.sizes();
            assert_eq!(sizes.last(), Some(&largest), "case: {name}");
            assert_eq!(points.note_on_sizes().is_some(), noted, "case: {name}");
            let beyond = sizes.iter().filter(|&&bytes| bytes > DENSE).count();
            assert_eq!(beyond, if largest > DENSE { 3 } else { 0 }, "case: {name}");
            let dense = sizes.iter().filter(|&&bytes| (mib(1)..mib(2)).contains(&bytes)).count();
            assert_eq!(dense, if quick { 1 } else { 8 }, "case: {name}");
        }
    }

    #[test]
    fn a_co_runner_is_on_no_cpu_that_the_loop_uses() {
        let machine = anechoic_system::machine::describe();
        let points = points(&machine);
        let Ok(everywhere) = points.co_runner(&[]) else {
            return note::skipped("there is only one CPU");
        };
        assert!(!everywhere.cpus.contains(&points.cpu));
        let target = everywhere.cpus[0];
        match points.co_runner(&[Act::Migrate(target)]) {
            Ok(beside) => assert_eq!(beside.cpus, everywhere.cpus[1..]),
            Err(why) => assert!(everywhere.cpus.len() == 1 && why.contains("the only other CPU")),
        }
    }
}
