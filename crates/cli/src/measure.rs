//! `anechoic measure METHOD`: fixed work and fixed time.

use crate::ask;
use crate::exit::Usage;
use crate::setup::{SetupArgs, leave_one, record};
use crate::show::recorded;
use crate::{bsp, interference, serial, stop, terminal};
use anechoic_measure::methods::{self, Experiment, Policy};
use anechoic_measure::run::Task;
use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::{Args, Subcommand, ValueEnum};
use std::io::Write;
use std::process::ExitCode;
use std::time::Duration;

/// A repetition from this length on is counted out by the stopping rule, not by number.
const LONG: Duration = Duration::from_millis(100);
/// Most repetitions of such a length.
const LONG_REPETITIONS: u64 = 100;
/// Largest movement of the accumulated mean that ends a series of long repetitions (FAME: 1 %).
const MAIV_PPM: u32 = 10_000;

/// Fixed work and fixed time: how long the same work takes each time, or how much is done in the same time
///
/// While the loops run, gaps inside of the samples are watched for and the kernel's own events are
/// recorded, so that what lengthens a sample has a name. See `anechoic measure METHOD --help`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct MeasureArgs {
    #[command(subcommand)]
    method: MethodArgs,
}

const EXAMPLES: &str = "Examples:
  anechoic measure fwq                                10,000 times 1 ms of work on every CPU
  anechoic measure ftq --window 250us --duration 60s  work done in each of 240,000 windows
  anechoic measure tick --cpus 1                      what one tick costs additions, multiplications, divisions
  anechoic measure loops --policy other,fifo --cpus 1 do-nothing loops, and what explains their spread";

#[derive(Debug, Subcommand)]
enum MethodArgs {
    Fwq(FwqArgs),
    Ftq(FtqArgs),
    Tick(TickArgs),
    Loops(LoopsArgs),
    Interference(interference::InterferenceArgs),
    Serial(serial::SerialArgs),
    Bsp(bsp::BspArgs),
    Kernels(KernelsArgs),
}

/// Fixed work quantum: the same work again and again, the duration of each
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  anechoic measure fwq --work intadd --grain 250us --repetitions 40000 --cpus 1"
)]
struct FwqArgs {
    /// Work kernels; `anechoic measure kernels` lists them [default: intadd-chain]
    #[arg(long = "work", value_parser = kernel_names(), value_delimiter = ',', value_name = "KERNEL")]
    kernels: Option<Vec<String>>,
    /// How long one repetition lasts undisturbed [default: 1ms]
    #[arg(long, value_parser = ask::duration, value_name = "TIME", allow_hyphen_values = true)]
    grain: Option<Duration>,
    /// Repetitions [default: 10000]
    #[arg(long, value_name = "N")]
    repetitions: Option<u64>,
    #[command(flatten)]
    work: WorkArgs,
}

/// Fixed time quantum: the work done in each of a series of equal windows on a fixed grid
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  anechoic measure ftq --window 100us --duration 20s --cpus 1")]
struct FtqArgs {
    /// Work kernels; `anechoic measure kernels` lists them [default: counter-reg]
    #[arg(long = "work", value_parser = kernel_names(), value_delimiter = ',', value_name = "KERNEL")]
    kernels: Option<Vec<String>>,
    /// Length of a window [default: 1ms]
    #[arg(long, value_parser = ask::duration, value_name = "TIME", allow_hyphen_values = true)]
    window: Option<Duration>,
    /// How long to count [default: 10s]
    #[arg(long, short, value_parser = ask::duration, value_name = "TIME", allow_hyphen_values = true)]
    duration: Option<Duration>,
    #[command(flatten)]
    frame: FrameArgs,
}

/// Tick kernels: 512 instructions of one type, repeated, to see what one tick costs each of them
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  anechoic measure tick --kernel intadd,intdiv --repetition 100us --repetitions 1000\n  anechoic measure tick --repetition 1s --one-by-one --unpinned    the cumulative view"
)]
struct TickArgs {
    /// Work kernels; `anechoic measure kernels` lists them [default: intadd,intmul,intdiv]
    #[arg(long = "kernel", value_parser = kernel_names(), value_delimiter = ',', value_name = "KERNEL")]
    kernels: Option<Vec<String>>,
    /// How long one repetition lasts undisturbed: 100us shows single ticks, 1s what they add up to [default: 100us]
    #[arg(long, value_parser = ask::duration, value_name = "TIME", allow_hyphen_values = true)]
    repetition: Option<Duration>,
    /// Repetitions [default: 50000; of 100 ms and more at most 100, by the stopping rule]
    #[arg(long, value_name = "N")]
    repetitions: Option<u64>,
    #[command(flatten)]
    work: WorkArgs,
}

/// Do-nothing loops: how much a loop that does nothing varies, and what accounts for it
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  anechoic measure loops --grain 1ms --samples 100000 --variants sum,call --policy other,fifo --cpus 1"
)]
struct LoopsArgs {
    /// How long one loop lasts undisturbed [default: 1ms]
    #[arg(long, value_parser = ask::duration, value_name = "TIME", allow_hyphen_values = true)]
    grain: Option<Duration>,
    /// Samples of each variant [default: 10000]
    #[arg(long, value_name = "N")]
    samples: Option<u64>,
    /// Bodies of the loop, or `all` [default: counter,sum,fibonacci,call]
    #[arg(long, value_parser = variant_names(), value_delimiter = ',', value_name = "BODY")]
    variants: Option<Vec<String>>,
    #[command(flatten)]
    work: WorkArgs,
}

/// List the work kernels
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  anechoic measure kernels")]
struct KernelsArgs {}

/// What the methods of fixed work have in common.
#[derive(Debug, Args)]
struct WorkArgs {
    /// End a series once its accumulated mean moves by less than this over half of it, like 1%
    #[arg(long, value_parser = ask::percent_ppm, value_name = "PERCENT")]
    maiv: Option<u32>,
    /// One call of the kernel a sample, as in the papers: gaps inside of samples are not seen
    #[arg(long)]
    pure: bool,
    #[command(flatten)]
    frame: FrameArgs,
}

/// What all methods have in common.
#[derive(Debug, Args)]
struct FrameArgs {
    /// Measure the CPUs one after the other, not together
    #[arg(long)]
    one_by_one: bool,
    /// Besides, measure once without pinning: where the scheduler puts it is part of the result
    #[arg(long)]
    unpinned: bool,
    /// Scheduling policies, measured one after the other
    #[arg(long, value_enum, value_delimiter = ',', value_name = "POLICY", default_values = ["other"])]
    policy: Vec<PolicyArg>,
    /// With --policy fifo: take every CPU of the machine, leaving none for anything else
    #[arg(long)]
    all_cpus: bool,
    /// Print JSON (schema/measured.schema.json)
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    setup: SetupArgs,
}

/// A scheduling policy by name.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum PolicyArg {
    Other,
    Fifo,
}

pub fn kernel_names() -> PossibleValuesParser {
    methods::kernels()
        .map(|(id, what)| PossibleValue::new(id).help(what))
        .collect::<Vec<_>>()
        .into()
}

fn variant_names() -> PossibleValuesParser {
    methods::do_nothing().chain(["all"]).collect::<Vec<_>>().into()
}

pub fn run(args: &MeasureArgs) -> anyhow::Result<ExitCode> {
    let (experiment, frame) = match &args.method {
        MethodArgs::Fwq(args) => (args.work.framed(fwq(args)), &args.work.frame),
        MethodArgs::Ftq(args) => (args.frame.framed(ftq(args)?), &args.frame),
        MethodArgs::Tick(args) => (args.work.framed(tick(args)), &args.work.frame),
        MethodArgs::Loops(args) => (args.work.framed(loops(args)), &args.work.frame),
        MethodArgs::Interference(args) => return interference::run(args),
        MethodArgs::Serial(args) => return serial::run(args),
        MethodArgs::Bsp(args) => return bsp::run(args),
        MethodArgs::Kernels(_) => return list_kernels(),
    };
    let cpus = frame.setup.cpus();
    if experiment.any_fifo() && !(experiment.one_by_one && cpus.len() > 1) {
        leave_one(&cpus, frame.all_cpus, "--policy fifo without --one-by-one")?;
    }
    let plan = frame.setup.plan(cpus, Task::Samples(experiment));
    let stop = stop::flag()?;
    let dir = frame.setup.dir();
    record(&plan, &dir, &stop, frame.setup.quiet)?;
    recorded(&dir, frame.json, false, frame.setup.quiet)
}

/// A method as it is without further wishes.
fn preset(id: &str) -> Experiment {
    Experiment::of(methods::find(id).expect("the subcommands are the methods"))
}

fn fwq(args: &FwqArgs) -> Experiment {
    let preset = preset("fwq");
    Experiment {
        kernels: args.kernels.clone().unwrap_or(preset.kernels),
        grain: args.grain.unwrap_or(preset.grain),
        samples: args.repetitions.unwrap_or(preset.samples),
        ..preset
    }
}

fn ftq(args: &FtqArgs) -> Result<Experiment, Usage> {
    let preset = preset("ftq");
    let grain = args.window.unwrap_or(preset.grain);
    let usual = preset.grain.saturating_mul(preset.samples as u32);
    let windows = args.duration.unwrap_or(usual).as_nanos() / grain.as_nanos();
    if windows == 0 {
        let text = "the duration is shorter than one window; ask for a longer --duration";
        return Err(Usage(text.to_owned()));
    }
    Ok(Experiment {
        kernels: args.kernels.clone().unwrap_or(preset.kernels),
        grain,
        samples: u64::try_from(windows).unwrap_or(u64::MAX),
        ..preset
    })
}

fn tick(args: &TickArgs) -> Experiment {
    let preset = preset("tick");
    let grain = args.repetition.unwrap_or(preset.grain);
    let long = grain >= LONG;
    let usual = if long { LONG_REPETITIONS } else { preset.samples };
    Experiment {
        kernels: args.kernels.clone().unwrap_or(preset.kernels),
        grain,
        samples: args.repetitions.unwrap_or(usual),
        maiv_ppm: (long && args.repetitions.is_none()).then_some(MAIV_PPM),
        ..preset
    }
}

fn loops(args: &LoopsArgs) -> Experiment {
    let preset = preset("loops");
    let kernels = match &args.variants {
        Some(asked) if asked.iter().any(|name| name == "all") => {
            methods::do_nothing().map(str::to_owned).collect()
        }
        Some(asked) => asked.clone(),
        None => preset.kernels,
    };
    Experiment {
        kernels,
        grain: args.grain.unwrap_or(preset.grain),
        samples: args.samples.unwrap_or(preset.samples),
        ..preset
    }
}

impl WorkArgs {
    /// The experiment with what the user wants of it.
    fn framed(&self, experiment: Experiment) -> Experiment {
        let maiv_ppm = self.maiv.or(experiment.maiv_ppm);
        self.frame.framed(Experiment { maiv_ppm, pure: self.pure, ..experiment })
    }
}

impl FrameArgs {
    /// The experiment with what the user wants of it.
    fn framed(&self, experiment: Experiment) -> Experiment {
        Experiment {
            policies: self.policy.iter().map(|&policy| policy.into()).collect(),
            one_by_one: self.one_by_one,
            unpinned: self.unpinned,
            ..experiment
        }
    }
}

fn list_kernels() -> anyhow::Result<ExitCode> {
    let mut out = terminal::stdout();
    for (id, what) in methods::kernels() {
        writeln!(out, "{id:14} {what}")?;
    }
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

impl From<PolicyArg> for Policy {
    fn from(policy: PolicyArg) -> Self {
        match policy {
            PolicyArg::Other => Policy::Other,
            PolicyArg::Fifo => Policy::Fifo,
        }
    }
}
