//! `anechoic measure interference`: interrupts on one CPU, a kernel on another.

use crate::ask::{self, CpuList};
use crate::exit::Usage;
use crate::measure::kernel_names;
use crate::setup::{SetupArgs, record};
use crate::show::recorded;
use crate::stop;
use anechoic_analyze::interference::Place;
use anechoic_measure::inject::{Injection, Timing};
use anechoic_measure::methods::{self, Experiment, Noise};
use anechoic_measure::run::Task;
use anechoic_recording::injection::InjectionKind;
use anechoic_recording::machine::Machine;
use anechoic_system::machine;
use clap::ValueEnum;
use std::collections::{BTreeMap, BTreeSet};
use std::process::ExitCode;
use std::time::Duration;

/// With more pairs than this, one of each kind stands for all, unless all are asked for.
const FEW_PAIRS: usize = 64;

/// The interference matrix: what an interrupt on one CPU costs a kernel on another, for pairs of CPUs
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  anechoic measure interference                       all pairs, up to 64 of them\n  anechoic measure interference --source 0 --cpus 0-3  who feels the interrupts of CPU 0\n  anechoic measure interference --pairs classes        one pair of each: SMT siblings, shared caches, sockets"
)]
pub struct InterferenceArgs {
    /// CPUs that get the interrupts, one after the other [default: those that are measured]
    #[arg(long, value_parser = ask::cpu_list, value_name = "LIST")]
    source: Option<CpuList>,
    /// Which pairs: all, or one of each place in the topology [default: all of up to 64, else classes]
    #[arg(long, value_enum)]
    pairs: Option<Pairs>,
    /// Interrupts a second; the usual rate keeps no step with any tick
    #[arg(long, value_parser = ask::rate, value_name = "RATE", default_value = "963hz", allow_hyphen_values = true)]
    rate: Duration,
    /// Work kernels; `anechoic measure kernels` lists them [default: intadd,intmul,intdiv]
    #[arg(long = "kernel", value_parser = kernel_names(), value_delimiter = ',', value_name = "KERNEL")]
    kernels: Option<Vec<String>>,
    /// How long one repetition lasts undisturbed [default: 100us]
    #[arg(long, value_parser = ask::duration, value_name = "TIME", allow_hyphen_values = true)]
    repetition: Option<Duration>,
    /// Repetitions of each kernel and pair [default: 10000]
    #[arg(long, value_name = "N")]
    repetitions: Option<u64>,
    /// Show every pair and every map, not only the first
    #[arg(long)]
    all: bool,
    /// Print JSON (schema/interference.schema.json)
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    setup: SetupArgs,
}

/// Which pairs of CPUs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Pairs {
    /// Every source with every measured CPU
    All,
    /// One pair of each place in the topology
    Classes,
}

pub fn run(args: &InterferenceArgs) -> anyhow::Result<ExitCode> {
    if args.setup.no_trace {
        let text = "which repetitions an interrupt fell into is known from kernel events only; leave --no-trace out";
        return Err(Usage(text.to_owned()).into());
    }
    let cpus = args.setup.cpus();
    let sources = args.source.as_ref().map_or_else(|| cpus.clone(), |list| list.0.clone());
    let pairs = pairs(&sources, &cpus, args.pairs, &machine::describe());
    let noise = noise(args.rate, &pairs);
    for injection in noise.iter().filter_map(|noise| noise.injection.as_ref()) {
        injection.check(false)?;
    }
    let preset = Experiment::of(methods::find("interference").expect("a row of METHODS"));
    let experiment = Experiment {
        kernels: args.kernels.clone().unwrap_or(preset.kernels),
        grain: args.repetition.unwrap_or(preset.grain),
        samples: args.repetitions.unwrap_or(preset.samples),
        one_by_one: true,
        noise,
        ..preset
    };
    let measured: BTreeSet<u32> = pairs.iter().map(|&(_, cpu)| cpu).collect();
    let plan = args.setup.plan(measured.into_iter().collect(), Task::Samples(experiment));
    let (stop, dir) = (stop::flag()?, args.setup.dir());
    record(&plan, &dir, &stop, args.setup.quiet)?;
    recorded(&dir, args.json, args.all, args.setup.quiet)
}

/// The pairs (source, measured) to go through.
fn pairs(
    sources: &[u32],
    cpus: &[u32],
    asked: Option<Pairs>,
    machine: &Machine,
) -> Vec<(u32, u32)> {
    let all: Vec<(u32, u32)> =
        sources.iter().flat_map(|&source| cpus.iter().map(move |&cpu| (source, cpu))).collect();
    let usual = if all.len() > FEW_PAIRS { Pairs::Classes } else { Pairs::All };
    if asked.unwrap_or(usual) == Pairs::All {
        return all;
    }
    let mut first: BTreeMap<Place, (u32, u32)> = BTreeMap::new();
    for (source, cpu) in all {
        first.entry(Place::of(machine, source, cpu)).or_insert((source, cpu));
    }
    first.into_values().collect()
}

/// Each source with the CPUs that are measured meanwhile.
fn noise(period: Duration, pairs: &[(u32, u32)]) -> Vec<Noise> {
    let mut of_source: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for &(source, cpu) in pairs {
        of_source.entry(source).or_default().push(cpu);
    }
    let noise = |(source, cpus)| Noise {
        injection: Some(Injection {
            kind: InjectionKind::Interrupt,
            timing: Timing::Periodic { period },
            duration: Duration::ZERO,
            cpus: vec![source],
        }),
        cpus: Some(cpus),
    };
    of_source.into_iter().map(noise).collect()
}
