//! A bulk-synchronous job: the cost of noise for ranks that meet (Seelam 2010, P-SNAP).

use super::{Method, Together, frame};
use crate::experiment::{Act, Cell, Experiment, Host, Pinning, Policy, Sample};
use crate::kernel::Kernel;
use anechoic_recording::options::{self, Answers, OptionRow, Value};
use anechoic_recording::parallel::Meeting;
use anechoic_recording::{Problem, ProblemKind, methods};
use std::time::Duration;

pub(super) static METHOD: Method = Method {
    title: "bulk-synchronous job",
    source: "Seelam 2010",
    about: "Bulk-synchronous job: the cost of noise for ranks that compute and meet, measured and predicted",
    details: "Each CPU has one rank, a thread that computes for a grain, waits for all the others, and computes again. Noise on \
              one CPU delays all ranks. They also record every detour, so that the measured cost can be compared with the cost \
              predicted from the detours. `mpirun -n N anechoic-mpi measure bsp` does the same with the processes of a job.",
    examples: "  anechoic measure bsp                                  one rank per CPU, 100 us and 1 ms between barriers
  anechoic measure bsp --grain 500us --meet barrier,allreduce,nothing --duration 20s
  anechoic measure bsp --grain 0,1ms,5ms --meet barrier,allreduce   the cost of meeting alone, and with work (Tsafrir 2007)
  anechoic inject --kind interrupt --rate 1khz --cpus 1 -- anechoic measure bsp",
    options: &[OPTIONS],
    together: Together::ByRank,
    result: methods::BSP,
    ..Method::new(methods::BSP, experiment)
};

static OPTIONS: &[OptionRow] = &[
    OptionRow::new(
        "grain",
        Value::Numbers(grain),
        "TIME",
        "Work of each rank between two meetings, as time without noise; 0: ranks only meet; a list",
    )
    .many()
    .default("100us,1ms"),
    OptionRow::new(
        "meet",
        Value::Choice(meetings),
        "HOW",
        "How ranks meet at the end of a phase; a list",
    )
    .many()
    .default("barrier"),
    OptionRow::new(
        "duration",
        Value::Duration,
        "TIME",
        "Total time of the phases of one grain and kind of meeting, without noise",
    )
    .short('d')
    .default("5s"),
    OptionRow::new(
        "work",
        Value::Choice(frame::KERNELS),
        "KERNEL",
        "Work kernel; `anechoic measure kernels` lists them",
    )
    .default("intadd-chain"),
    OptionRow::new("fifo", Value::Flag, "", "Run the ranks under SCHED_FIFO"),
    OptionRow::new(
        "all-cpus",
        Value::Flag,
        "",
        "With --fifo: measure every CPU of the machine, leaving none for anything else",
    )
    .requires("fifo"),
];

/// The kernel of a grain of 0.
const NO_WORK: &str = "empty";
/// A grain of 0 has as many phases as one of this length.
const AS_MANY_AS: Duration = Duration::from_micros(10);

/// Parses a grain, which may be 0, as nanoseconds.
fn grain(text: &str) -> Result<Vec<u64>, String> {
    if matches!(text.trim(), "0" | "0s" | "0ms" | "0us" | "0ns") {
        return Ok(vec![0]);
    }
    let grain = options::duration(text)?;
    Ok(vec![u64::try_from(grain.as_nanos()).unwrap_or(u64::MAX)])
}

fn meetings() -> Vec<(&'static str, &'static str)> {
    Meeting::ALL.iter().map(|&meeting| (meeting.name(), help(meeting))).collect()
}

fn help(meeting: Meeting) -> &'static str {
    match meeting {
        Meeting::Barrier => "each rank waits until all have arrived",
        Meeting::Allreduce => "each rank waits for the sum of one number from all",
        Meeting::Nothing => "ranks do not wait for each other",
    }
}

fn experiment(answers: &Answers, host: &Host) -> Result<Experiment, Problem> {
    let experiment = Job::read(answers)?.on(&host.cpus)?;
    frame::leave_a_cpu(&experiment.cells, answers, host, "--fifo")?;
    Ok(experiment)
}

/// A job whose ranks compute and meet, with each grain and each kind of meeting in turn.
#[derive(Debug, Clone)]
pub struct Job {
    /// Work of each rank between two meetings, as time without noise; 0: ranks only meet.
    pub grains: Vec<Duration>,
    /// How ranks meet.
    pub meetings: Vec<Meeting>,
    /// Total time of the phases of one grain and kind of meeting, without noise.
    pub duration: Duration,
    /// Work kernel.
    pub work: Kernel,
    /// How ranks are scheduled.
    pub policy: Policy,
}

impl Job {
    /// Returns the job of the options' defaults.
    ///
    /// # Errors
    /// This processor has no such kernel.
    pub fn usual() -> Result<Self, Problem> {
        Self::read(&Answers::read(OPTIONS, &[])?)
    }

    fn read(answers: &Answers) -> Result<Self, Problem> {
        let named = |name: &str| Meeting::ALL.into_iter().find(|meeting| meeting.name() == name);
        let grains = answers.all::<Vec<u64>>("grain").into_iter().flatten();
        Ok(Self {
            grains: grains.map(Duration::from_nanos).collect(),
            meetings: answers.all::<&str>("meet").into_iter().filter_map(named).collect(),
            duration: answers.one("duration")?,
            work: Kernel::find(answers.one::<&str>("work")?)?,
            policy: if answers.flag("fifo") { Policy::FIFO } else { Policy::Other },
        })
    }

    /// Returns the experiment of one rank on each of these CPUs.
    ///
    /// # Errors
    /// No phase fits into the duration, or ranks would neither work nor meet.
    pub fn on(&self, cpus: &[u32]) -> Result<Experiment, Problem> {
        let mut cells = Vec::new();
        for &grain in &self.grains {
            let kernel = if grain.is_zero() { Kernel::find(NO_WORK)? } else { self.work };
            let long = if grain.is_zero() { AS_MANY_AS } else { grain };
            let phases = self.duration.as_nanos() / long.as_nanos();
            let phases = u64::try_from(phases).unwrap_or(u64::MAX);
            if phases == 0 {
                let why = "the duration is shorter than one grain";
                let remedy = "use a longer --duration or a shorter --grain";
                return Err(ProblemKind::Usage.problem(why, remedy));
            }
            for &meeting in &self.meetings {
                if grain.is_zero() && meeting == Meeting::Nothing {
                    let why = "ranks that neither work nor meet do nothing";
                    let remedy = "leave out `--grain 0`, or `--meet nothing`";
                    return Err(ProblemKind::Usage.problem(why, remedy));
                }
                let sample = Sample::filling(kernel, grain, phases);
                let cell = Cell::sampling(sample, Pinning::Cpus(cpus.to_vec()));
                cells.push(Cell { policy: self.policy, between: vec![Act::Meet(meeting)], ..cell });
            }
        }
        Ok(Experiment::listed(METHOD.id, cells))
    }
}
