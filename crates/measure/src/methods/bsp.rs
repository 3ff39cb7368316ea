//! A bulk-synchronous job: the cost of noise for ranks that meet (Seelam 2010, P-SNAP).

use super::{Method, frame};
use crate::experiment::{Act, Cell, Experiment, Host, Pinning, Policy, Sample};
use crate::kernel::Kernel;
use anechoic_recording::options::{Answers, OptionRow, Value};
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
  anechoic inject --kind interrupt --rate 1khz --cpus 1 -- anechoic measure bsp",
    options: &[OPTIONS],
    of_ranks: true,
    result: methods::BSP,
    ..Method::new(methods::BSP, experiment)
};

static OPTIONS: &[OptionRow] = &[
    OptionRow::new(
        "grain",
        Value::Duration,
        "TIME",
        "Work of each rank between two meetings, as time without noise; a list",
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

fn meetings() -> Vec<(&'static str, &'static str)> {
    let help = |meeting| match meeting {
        Meeting::Barrier => "each rank waits until all have arrived",
        Meeting::Allreduce => "each rank waits for the sum of one number from all",
        Meeting::Nothing => "ranks do not wait for each other",
    };
    Meeting::ALL.iter().map(|&meeting| (meeting.name(), help(meeting))).collect()
}

fn experiment(answers: &Answers, host: &Host) -> Result<Experiment, Problem> {
    let kernel = Kernel::find(answers.one::<&str>("work")?)?;
    let duration: Duration = answers.one("duration")?;
    let policy = if answers.flag("fifo") { Policy::Fifo } else { Policy::Other };
    let asked: Vec<&str> = answers.all("meet");
    let mut cells = Vec::new();
    for grain in answers.all::<Duration>("grain") {
        let phases = duration.as_nanos() / grain.as_nanos().max(1);
        let phases = u64::try_from(phases).unwrap_or(u64::MAX);
        if phases == 0 {
            let why = "the duration is shorter than one grain";
            return Err(
                ProblemKind::Usage.problem(why, "use a longer --duration or a shorter --grain")
            );
        }
        let meet = |name: &&str| Meeting::ALL.into_iter().find(|meeting| meeting.name() == *name);
        for meeting in asked.iter().filter_map(meet) {
            let cell = Cell::sampling(
                Sample::filling(kernel, grain, phases),
                Pinning::Cpus(host.cpus.clone()),
            );
            cells.push(Cell { policy, between: vec![Act::Meet(meeting)], ..cell });
        }
    }
    frame::leave_a_cpu(&cells, answers, host, "--fifo")?;
    Ok(Experiment::listed(METHOD.id, cells))
}
