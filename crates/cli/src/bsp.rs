//! `anechoic measure bsp`: a bulk-synchronous job, and what noise really costs it.

use crate::ask;
use crate::setup::{SetupArgs, leave_one, record};
use crate::show::recorded;
use crate::{measure, stop};
use anechoic_measure::ensemble::Team;
use anechoic_measure::methods::bsp::Phases;
use anechoic_measure::run::{Plan, Task};
use anechoic_recording::parallel::Meeting;
use clap::ValueEnum;
use clap::builder::PossibleValue;
use std::process::ExitCode;
use std::time::Duration;

/// A bulk-synchronous job: ranks compute, meet, and compute again; what noise costs them, measured and predicted
///
/// Each CPU has a rank, a thread that computes for a grain, waits until all have come, and computes again. Noise on one
/// of them delays all. The same ranks see every detour, so what the recursion predicts from these stands beside what was
/// measured. `mpirun -n N anechoic-mpi measure bsp` does it with the processes of a job.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  anechoic measure bsp                                  every CPU a rank, 100 us and 1 ms between barriers\n  anechoic measure bsp --grain 500us --meet barrier,allreduce,nothing --duration 20s\n  anechoic inject --kind interrupt --rate 1khz --cpus 1 -- anechoic measure bsp"
)]
pub struct BspArgs {
    /// Work of each rank between two meetings, without noise; a list
    #[arg(long, value_parser = ask::duration, value_delimiter = ',', value_name = "TIME", default_value = "100us,1ms", allow_hyphen_values = true)]
    grain: Vec<Duration>,
    /// How ranks meet at the end of a phase; a list
    #[arg(
        long = "meet",
        value_enum,
        value_delimiter = ',',
        value_name = "HOW",
        default_value = "barrier"
    )]
    meetings: Vec<MeetArg>,
    /// How long the phases of one grain and kind of meeting take together, without noise
    #[arg(long, short, value_parser = ask::duration, value_name = "TIME", default_value = "5s", allow_hyphen_values = true)]
    duration: Duration,
    /// Work kernel; `anechoic measure kernels` lists them
    #[arg(long = "work", value_parser = measure::kernel_names(), value_name = "KERNEL", default_value = "intadd-chain")]
    kernel: String,
    /// Run the ranks under SCHED_FIFO
    #[arg(long)]
    fifo: bool,
    /// With --fifo: take every CPU of the machine, leaving none for anything else
    #[arg(long, requires = "fifo")]
    all_cpus: bool,
    /// Print JSON (schema/bsp.schema.json)
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) setup: SetupArgs,
}

/// A meeting as the command line names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct MeetArg(Meeting);

impl ValueEnum for MeetArg {
    fn value_variants<'a>() -> &'a [Self] {
        const ALL: [MeetArg; 3] =
            [MeetArg(Meeting::ALL[0]), MeetArg(Meeting::ALL[1]), MeetArg(Meeting::ALL[2])];
        &ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        let help = match self.0 {
            Meeting::Barrier => "each waits until all have come",
            Meeting::Allreduce => "each waits for the sum of a number of all",
            Meeting::Nothing => "each goes on by itself",
        };
        Some(PossibleValue::new(self.0.name()).help(help))
    }
}

impl BspArgs {
    /// What is to be done by the ranks on `cpus`.
    ///
    /// # Errors
    /// [`crate::exit::Usage`], where SCHED_FIFO would take all CPUs.
    pub fn plan(&self, cpus: Vec<u32>, team: Option<Team>) -> anyhow::Result<Plan> {
        if self.fifo {
            leave_one(&cpus, self.all_cpus, "--fifo")?;
        }
        let task = Task::Phases(Phases {
            kernel: self.kernel.clone(),
            grains: self.grain.clone(),
            meetings: self.meetings.iter().map(|meeting| meeting.0).collect(),
            duration: self.duration,
            fifo: self.fifo,
        });
        Ok(Plan { team, ..self.setup.plan(cpus, task) })
    }
}

pub fn run(args: &BspArgs) -> anyhow::Result<ExitCode> {
    let plan = args.plan(args.setup.cpus(), None)?;
    let (stop, dir) = (stop::flag()?, args.setup.dir());
    record(&plan, &dir, &stop, args.setup.quiet)?;
    recorded(&dir, args.json, false, args.setup.quiet)
}
