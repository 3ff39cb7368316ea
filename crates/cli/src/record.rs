//! `anechoic record`: what interrupts a program of the user.

use crate::ask::{self, CpuList};
use crate::command;
use crate::exit;
use crate::setup::{Place, explained, plan};
use crate::show::{Printer, recorded};
use crate::{stop, terminal};
use anechoic_analyze::program::Account;
use anechoic_measure::experiment::Experiment;
use anechoic_measure::run::{Plan, record};
use anechoic_recording::run::Run;
use anechoic_recording::stop::{Stop, StopCondition};
use anechoic_recording::{Marked, Problem, ProblemKind, methods};
use anechoic_report::shown;
use anechoic_system::cpus;
use marks::{MarkArgs, Whose};
use running::{Running, RunningArgs, Target};
use rustix::process::{Signal, getppid, set_parent_process_death_signal};
use started::Started;
use std::path::{Path, PathBuf};
use std::process::{ExitCode, ExitStatus};
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::time::Duration;

mod marks;
pub(crate) mod repeat;
pub(crate) mod running;
pub(crate) mod started;

/// Record what interrupts your own program: how much time its threads lose on each CPU, and what takes it
///
/// No loop runs: the kernel's events show when another thread, an interrupt or a late wake-up kept a thread of the program
/// from a CPU. This needs permission to record them; `anechoic check` shows what gives it.
/// With a command the result goes to stderr, and the exit code is that of the command; it is 3 if there is no result,
/// or if the command succeeded and the kernel counted more CPU time of it than the events show; from 64 on there is none.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, group = clap::ArgGroup::new("target").args(["pid", "cgroup", "unit", "container", "command"]).required(true))]
pub struct RecordArgs {
    #[command(flatten)]
    running: RunningArgs,
    /// For how long, for example 10s; not for a command [default: until no process is left, or until Ctrl-C]
    #[arg(long, short, value_name = "TIME", value_parser = ask::duration, allow_hyphen_values = true)]
    duration: Option<Duration>,
    /// Record the command N times: what does noise explain of the variance?
    #[arg(long, value_name = "N", default_value_t = 1, conflicts_with_all = ["pid", "cgroup", "unit", "container"], value_parser = clap::value_parser!(u32).range(1..=999))]
    repeat: u32,
    /// End the recording at the first detour that is longer ('detour>1ms', exit code 2), when a thread has waited longer for a
    /// CPU that other programs had ('wait>1ms', exit code 2), when a thread executes later after the time of its own timer
    /// ('release>1ms', exit code 2), after a second in which the program lost more than this share of
    /// its time ('lost>5%', exit code 2), or after this many detours ('detours>=1000'). A command goes on unrecorded
    #[arg(long, value_name = "CONDITION", value_parser = ask::program_stop_condition, allow_hyphen_values = true, conflicts_with = "repeat")]
    stop_on: Option<StopCondition>,
    /// Keep only this much time before the end, or with --stop-on before the detour that ends it, and up to a quarter or about
    /// a second more. It stays in memory, so that the command may go on for days
    #[arg(long, value_name = "TIME", value_parser = ask::duration, allow_hyphen_values = true, conflicts_with = "repeat")]
    keep: Option<Duration>,
    /// End with this process, which started it
    #[arg(long, hide = true, value_name = "PID")]
    with_parent: Option<i32>,
    #[command(flatten)]
    marks: MarkArgs,
    /// Count in an iteration what all threads of the program lose, for a mark whose thread waits for others
    #[arg(long, requires = "marks")]
    mark_whole: bool,
    /// Also record the calls in which its threads lost a CPU, and those of the threads that then had it. The calls of a program
    /// are known as far as it has frame pointers
    #[arg(long)]
    stacks: bool,
    /// A thread that a timer released is late after this time [default: 100us]
    #[arg(long, value_name = "TIME", value_parser = ask::duration, allow_hyphen_values = true)]
    late: Option<Duration>,
    /// CPUs whose lost time counts, for example 1 or 2-5 [default: all that the program uses]
    #[arg(long, short, value_parser = ask::cpu_list, value_name = "LIST")]
    cpus: Option<CpuList>,
    /// Record even if the counter's rate may change
    #[arg(long)]
    allow_variant_tsc: bool,
    /// How often what was recorded is saved, for tests
    #[arg(long, hide = true, value_name = "TIME", value_parser = ask::duration)]
    save_every: Option<Duration>,
    /// Directory for the recording, new or empty [default: anechoic-TIME]
    #[arg(long, short, value_name = "DIR")]
    output: Option<PathBuf>,
    /// Show the result and keep no recording
    #[arg(long, conflicts_with = "output")]
    no_save: bool,
    /// Print JSON (schema/summary.schema.json; with --mark also schema/iterations.schema.json; with --repeat
    /// schema/variance.schema.json)
    #[arg(long)]
    json: bool,
    /// Show no progress, and the result as one line
    #[arg(long, short)]
    quiet: bool,
    /// Command to record, with all processes that it starts
    #[arg(trailing_var_arg = true, value_name = "COMMAND")]
    command: Vec<String>,
}

const EXAMPLES: &str = "Examples:
  sudo anechoic record -- ./my-program --its-option
  sudo anechoic record -o build -- make -j4           and later: anechoic report build
  sudo anechoic record --pid 4711 --duration 10s
  sudo anechoic record --unit nginx --duration 1m     a service, with all its processes
  sudo anechoic record --container 3f2a91c0d4 -d 10s
  sudo anechoic record --no-save -- taskset -c 1 ./my-program
  sudo anechoic record --mark step -- ./my-program    its iterations: which are slow, and why?
  sudo anechoic record --repeat 10 -- ./my-benchmark  why do its runs differ?
  sudo anechoic record --stop-on 'detour>1ms' --keep 5s -- ./my-server
                                                      the last 5 s before it is held up
  sudo anechoic record --stacks -- ./my-server        where was it when it lost the CPU?
  sudo anechoic record --late 50us -- ./my-controller are its periodic threads released in time?
  sudo anechoic record -- sudo -u alice ./my-program  as another user";

impl RecordArgs {
    /// Refuses marks where it is not known which processes pass them, or on which CPUs.
    fn verify_marks(&self) -> Result<(), Problem> {
        if self.cpus.is_some() && self.marks.are_wanted() && !self.mark_whole {
            let why = "an iteration has the lost time of its thread, on whatever CPU that was";
            return Err(ProblemKind::Usage.problem(why, "leave --cpus out, or add --mark-whole"));
        }
        if self.marks.is_in_program() && marks::programs(&self.running.pid) > 1 {
            let why =
                "these processes execute different programs, and the function is in one of them";
            return Err(ProblemKind::Usage.problem(why, "name its file: --mark FILE:FUNCTION"));
        }
        Ok(())
    }
}

/// Ends this process with its parent.
fn end_with(parent: i32) -> Result<(), Problem> {
    stop::end_silently();
    set_parent_process_death_signal(Some(Signal::TERM)).map_err(std::io::Error::from)?;
    match getppid().is_some_and(|known| known.as_raw_nonzero().get() == parent) {
        true => Ok(()),
        false => Err(Problem::called_off()), // it has ended meanwhile
    }
}

pub fn run(args: &RecordArgs) -> Result<ExitCode, Problem> {
    args.with_parent.map_or(Ok(()), end_with)?;
    let wanted = args.cpus.as_ref().map(|list| &list.0[..]);
    let online = cpus::online();
    if let Some(wanted) = wanted.filter(|wanted| wanted.iter().any(|cpu| !online.contains(cpu))) {
        cpus::verify(wanted)?; // reports the CPU that does not exist
    }
    if !args.command.is_empty() && args.duration.is_some() {
        return Err(ProblemKind::Usage.problem(
            "a command is recorded until it ends, and --duration is for what runs already",
            "let the command end by itself, for example `anechoic record -- timeout 10s COMMAND`",
        ));
    }
    let whose = match (&args.running.pid[..], &args.command[..]) {
        ([pid, ..], _) => Whose::Process(*pid),
        (_, command @ [_, ..]) => Whose::Command(command),
        _ => Whose::Group,
    };
    args.verify_marks()?;
    let mark = args.marks.event(whose)?.map(|(event, marked)| {
        let whole = args.mark_whole;
        (event, Marked { whole, ..marked })
    });
    let place = Place::choose(args.output.as_deref(), args.no_save)?;
    let plan = plan(Experiment::listed(methods::PROGRAM, vec![]));
    let plan = Plan {
        allow_variant_tsc: args.allow_variant_tsc,
        program_cpus: online,
        mark,
        stacks: args.stacks,
        late: args.late,
        save_every: args.save_every.unwrap_or(plan.save_every),
        stop_on: args.stop_on.or_else(|| args.keep.map(|_| StopCondition::End)),
        keep: args.keep,
        ..plan
    };
    let recording = Recording { args, plan, wanted, dir: place.dir() };
    match args.running.target()? {
        Some(target) => recording.record_running(target),
        None if args.repeat > 1 => recording.repeat(),
        None => recording.record_command(),
    }
}

/// A recording to be made.
struct Recording<'a> {
    args: &'a RecordArgs,
    plan: Plan,
    wanted: Option<&'a [u32]>,
    dir: &'a Path,
}

impl Recording<'_> {
    /// Records a command; returns its exit code.
    fn record_command(&self) -> Result<ExitCode, Problem> {
        let mut started = Started::new(&self.args.command, stop::newest()?, None)
            .marked_by(self.args.marks.reserve()?);
        let run = started.record_until_stopped(&self.plan, self.dir, self.wanted)?;
        explained(self.dir, self.args.quiet)?;
        let code = self.show(Printer::stderr(self.args.json))?;
        let lacks_events = self.lacks_events()?;
        if started.goes_on() {
            self.note_unrecorded(&run);
        }
        let status = started.wait();
        let has_failed = status.is_some_and(|status| !status.success());
        let own = match !has_failed {
            // The run has a result; that its iterations have none says less than why the command failed.
            false if code == exit::NO_VERDICT && self.plan.mark.is_some() => 0,
            _ if code >= exit::NO_VERDICT => code,
            true if lacks_events => exit::NO_VERDICT,
            true if exceeded(&run) => exit::FAILED,
            _ => 0,
        };
        if lacks_events && self.args.quiet {
            terminal::print_note(
                "anechoic: the kernel counted more CPU time of the command than the events show: do not trust the result",
            );
        }
        Ok(match (own, status) {
            (0, Some(status)) => command::passed_on(status),
            _ => ExitCode::from(own),
        })
    }

    /// Records one run of the command into `dir`; returns how it ended.
    fn run_once(
        &self,
        plan: &Plan,
        dir: &Path,
        signal: Arc<AtomicUsize>,
        stopped: Option<Arc<AtomicUsize>>,
    ) -> Result<Option<ExitStatus>, Problem> {
        Started::new(&self.args.command, signal, stopped).record(plan, dir, self.wanted)
    }

    /// States that the command goes on after its recording.
    fn note_unrecorded(&self, run: &Run) {
        if self.args.quiet || self.args.json {
            return; // the result goes to the same stream
        }
        let name = run.program.as_ref().map_or("the command", |program| &program.name);
        terminal::print_note(format_args!(
            "anechoic: {} goes on unrecorded; its exit code is passed on if it fails",
            shown(Path::new(name))
        ));
    }

    /// Records what runs already.
    fn record_running(&self, target: Box<dyn Target>) -> Result<ExitCode, Problem> {
        let mut running = Running::new(target, stop::flag()?, self.args.duration);
        let run = record(&self.plan, self.dir, self.wanted, &mut running, &mut |_| {})?;
        explained(self.dir, self.args.quiet)?;
        let code = self.show(Printer::stdout(self.args.json, false))?;
        let least = if exceeded(&run) { exit::FAILED } else { 0 };
        Ok(ExitCode::from(code.max(least)))
    }

    /// Returns whether the kernel counted more CPU time of the program than its events show.
    fn lacks_events(&self) -> Result<bool, Problem> {
        let recording = anechoic_recording::Recording::open(self.dir)?;
        Ok(Account::from_run(recording.run()).is_some_and(|account| account.lacks_events()))
    }

    /// Shows the result; returns its exit code.
    fn show(&self, printer: Printer) -> Result<u8, Problem> {
        recorded(self.dir, printer.unsaved(self.args.no_save), self.args.quiet)
    }
}

/// Returns whether what ended the recording is more than the user allows.
fn exceeded(run: &Run) -> bool {
    run.stop_on.as_ref().is_some_and(Stop::exceeded)
}
