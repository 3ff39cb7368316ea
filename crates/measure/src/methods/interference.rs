//! The interference matrix: interrupts on one CPU, a tick kernel on another, for all pairs of CPUs.

use super::{Method, frame};
use crate::experiment::{Cell, Experiment, Host, Pinning, Sample};
use crate::inject::Injection;
use crate::kernel::Kernel;
use anechoic_recording::options::{Answers, OptionRow, Value};
use anechoic_recording::topology::Proximity;
use anechoic_recording::{Problem, methods};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// With more pairs than this, one pair of each class stands for all by default.
const FEW_PAIRS: usize = 64;

pub(super) static METHOD: Method = Method {
    title: "interference of interrupts",
    source: "Radojković 2008",
    about: "Interference matrix: what an interrupt on one CPU costs a kernel on another CPU",
    examples: "  anechoic measure interference                        all pairs of CPUs, if 64 or fewer
  anechoic measure interference --source 0 --cpus 0-3  what the interrupts of CPU 0 cost CPUs 0 to 3
  anechoic measure interference --pairs classes        one pair of each: SMT siblings, shared caches, sockets",
    options: &[OPTIONS],
    needs_events: Some("interference needs kernel events"),
    result: methods::INTERFERENCE,
    ..Method::new(methods::INTERFERENCE, experiment)
};

static OPTIONS: &[OptionRow] = &[
    OptionRow::new(
        "source",
        Value::Cpus,
        "LIST",
        "CPUs that get the interrupts, one after the other [default: the measured ones]",
    ),
    OptionRow::new(
        "pairs",
        Value::Choice(which_pairs),
        "PAIRS",
        "Pairs to measure: all, or one per class in the topology [default: all if 64 or fewer, else classes]",
    ),
    OptionRow::new(
        "rate",
        Value::Rate,
        "RATE",
        "Interrupts per second; the default stays out of step with every timer tick",
    )
    .default("963hz"),
    frame::kernels_option("kernel", "intadd,intmul,intdiv"),
    frame::OWN_WORK.conflicts(&["kernel"]),
    OptionRow::new(
        "repetition",
        Value::Duration,
        "TIME",
        "Duration of one repetition without noise",
    )
    .default("100us"),
    OptionRow::new("repetitions", frame::COUNT, "N", "Repetitions per kernel and pair")
        .default("10000"),
    OptionRow::new(
        "all",
        Value::Flag,
        "",
        "Show every pair and every map, not only the first ones",
    ),
];

fn which_pairs() -> Vec<(&'static str, &'static str)> {
    vec![
        ("all", "every source with every measured CPU"),
        ("classes", "one pair per class: SMT siblings, shared cache, socket, other"),
    ]
}

fn experiment(answers: &Answers, host: &Host) -> Result<Experiment, Problem> {
    let experiment = Matrix::read(answers)?.on(host);
    let mut noise = experiment.cells.iter().filter_map(|cell| cell.noise.as_ref());
    noise.try_for_each(|noise| noise.check(false))?;
    Ok(experiment)
}

/// Interrupts on one CPU and kernels on another.
#[derive(Debug, Clone)]
pub struct Matrix {
    /// CPUs that get the interrupts, one after the other; the measured ones if absent.
    pub sources: Option<Vec<u32>>,
    /// Which pairs of CPUs are measured; by their number if absent.
    pub pairs: Option<Pairs>,
    /// Time between two interrupts.
    pub period: Duration,
    /// Work kernels.
    pub kernels: Vec<Kernel>,
    /// Duration of one repetition without noise.
    pub grain: Duration,
    /// Repetitions for each kernel and pair.
    pub repetitions: u64,
}

/// Which pairs of CPUs are measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pairs {
    /// Every source with every measured CPU.
    All,
    /// One pair of each class: the same CPU, SMT siblings, a shared cache, a socket, any other.
    Classes,
}

impl Matrix {
    /// Returns what the options' defaults measure.
    ///
    /// # Errors
    /// This processor has no such kernel.
    pub fn usual() -> Result<Self, Problem> {
        Self::read(&Answers::read(OPTIONS, &[])?)
    }

    fn read(answers: &Answers) -> Result<Self, Problem> {
        let kernels = frame::work_or("kernel", answers).into_iter().map(Kernel::find);
        let pairs = |name: &str| if name == "all" { Pairs::All } else { Pairs::Classes };
        Ok(Self {
            sources: answers.given("source"),
            pairs: answers.given("pairs").map(pairs),
            period: answers.one("rate")?,
            kernels: kernels.collect::<Result<_, _>>()?,
            grain: answers.one("repetition")?,
            repetitions: answers.one("repetitions")?,
        })
    }

    /// Returns the experiment on the CPUs of this host.
    #[must_use]
    pub fn on(&self, host: &Host) -> Experiment {
        let pairs = self.pairs(host);
        let measured: BTreeSet<u32> = pairs.iter().map(|&(_, cpu)| cpu).collect();
        let mut cells = Vec::new();
        for cpu in measured {
            for &kernel in &self.kernels {
                let sample = Sample::filling(kernel, self.grain, self.repetitions);
                for &(source, _) in pairs.iter().filter(|(_, felt_on)| *felt_on == cpu) {
                    let noise = Some(Injection::interrupts(source, self.period));
                    let cell = Cell::sampling(sample, Pinning::Cpus(vec![cpu]));
                    cells.push(Cell { noise, ..cell });
                }
            }
        }
        Experiment::listed(METHOD.id, cells)
    }

    /// Returns the pairs (source, measured CPU) to measure, sorted by source.
    fn pairs(&self, host: &Host) -> Vec<(u32, u32)> {
        let sources = self.sources.as_ref().unwrap_or(&host.cpus);
        let with_all = |&source: &u32| host.cpus.iter().map(move |&cpu| (source, cpu));
        let all: Vec<(u32, u32)> = sources.iter().flat_map(with_all).collect();
        let usual = if all.len() > FEW_PAIRS { Pairs::Classes } else { Pairs::All };
        if self.pairs.unwrap_or(usual) == Pairs::All {
            return all;
        }
        let mut first: BTreeMap<Proximity, (u32, u32)> = BTreeMap::new();
        for (source, cpu) in all {
            first.entry(Proximity::between(&host.machine, source, cpu)).or_insert((source, cpu));
        }
        first.into_values().collect()
    }
}
