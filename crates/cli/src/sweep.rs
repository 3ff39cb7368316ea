//! `anechoic sweep`

use crate::inputs::Inputs;
use crate::page::PageArgs;
use crate::progress::Busy;
use crate::show::ShowArgs;
use crate::sides::refuse_overlap;
use anechoic_analyze::sweep::{By, Job, jobs};
use anechoic_recording::{Problem, ProblemKind, Recording};
use anechoic_report::results::Found;
use anechoic_report::results::sweep::{SWEEP, sweep};
use std::path::PathBuf;
use std::process::ExitCode;

/// Join measurements of several sizes or tick rates: mean and deviation against ranks, CPUs, hosts or the rate
///
/// Recordings with the same number are repeated measurements. Recordings of the hosts of one job (JOB/host=NAME) are one
/// measurement. What is joined: of `run` the noise, of `measure bsp` the delay of a phase, of `measure fwq`, `ftq`, `tick`
/// and `loops` the noise of each series and its cumulative distribution.
#[derive(Debug, clap::Args)]
#[command(
    mut_arg("json", |arg| arg.help("Print JSON (schema/sweep.schema.json)")),
    after_help = "Examples:\n  anechoic measure loops -o 250hz; anechoic inject --rate 750hz -- anechoic measure loops -o 1000hz\n  \
                  anechoic sweep 250hz 1000hz --at 250,1000 --figures figures\n  \
                  anechoic sweep ranks-2 ranks-4 ranks-8               `measure bsp`: delay of a phase by the number of ranks\n  \
                  anechoic sweep jobs --html jobs.html                 jobs of several sizes, repeated: noise by the number of CPUs"
)]
pub struct SweepArgs {
    /// Recordings, or directories of recordings
    #[arg(required = true, value_name = "RECORDINGS")]
    recordings: Vec<PathBuf>,
    /// The number in which they differ [default: rate for samples, ranks for bsp, cpus for run]
    #[arg(long, value_enum)]
    by: Option<Number>,
    /// The number of each argument, in their order, for example 100,250,1000; for what the recordings do not contain
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    at: Option<Vec<u32>>,
    #[command(flatten)]
    page: PageArgs,
    #[command(flatten)]
    show: ShowArgs,
}

/// The number in which recordings differ.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum Number {
    /// Timer interrupts per second: the kernel's tick, and injected interrupts in addition
    Rate,
    /// Ranks of the job
    Ranks,
    /// Measured CPUs of all hosts
    Cpus,
    /// Hosts of the job
    Hosts,
}

impl SweepArgs {
    /// Returns the number of each argument, if the user gave numbers.
    fn given(&self) -> Result<Vec<Option<f64>>, Problem> {
        let Some(at) = &self.at else { return Ok(vec![None; self.recordings.len()]) };
        if at.len() == self.recordings.len() {
            return Ok(at.iter().map(|&at| Some(f64::from(at))).collect());
        }
        let (numbers, arguments) = (at.len(), self.recordings.len());
        let why = format!("--at has {numbers} numbers, and there are {arguments} arguments");
        Err(ProblemKind::Usage.problem(why, "name one number for each argument"))
    }
}

pub fn run(args: &SweepArgs) -> Result<ExitCode, Problem> {
    args.page.refuse(args.show.force)?;
    let mut printer = args.show.printer()?;
    let given = args.given()?;
    let open = |path: &PathBuf| Inputs::open(std::slice::from_ref(path));
    let inputs = args.recordings.iter().map(open).collect::<Result<Vec<Inputs>, Problem>>()?;
    refuse_overlap(inputs.iter())?;
    let worst = inputs.iter().map(Inputs::report_unread).max().unwrap_or(0);
    let recordings: Vec<&Recording> = inputs.iter().flat_map(|group| &group.recordings).collect();
    let mut all: Vec<Job<'_>> = vec![];
    for (inputs, given) in inputs.iter().zip(given) {
        all.extend(jobs(&inputs.recordings.iter().collect::<Vec<_>>(), given));
    }
    let by = args.by.map(|by| match by {
        Number::Rate => By::Rate,
        Number::Ranks => By::Ranks,
        Number::Cpus => By::Cpus,
        Number::Hosts => By::Hosts,
    });
    let busy = Busy::with("joining", false);
    let joined = sweep(&all, by)?;
    drop(busy);
    let found = Found::from_value(&SWEEP, joined, &recordings);
    let code = printer.print(&found, None)?;
    printer.finish()?;
    args.page.write(found, args.show.force)?;
    Ok(ExitCode::from(worst.max(code)))
}
