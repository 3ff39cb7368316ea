//! `anechoic record`: what interrupts a program of the user.

use crate::ask::{self, CpuList};
use crate::command;
use crate::exit;
use crate::setup::{Place, explained, plan};
use crate::show::{Printer, recorded};
use crate::{stop, terminal};
use anechoic_analyze::program::Account;
use anechoic_measure::experiment::Experiment;
use anechoic_measure::run::{Plan, Subject, record};
use anechoic_recording::run::{CpuTime, Program, RunState};
use anechoic_recording::{Problem, ProblemKind, in_words, methods};
use anechoic_system::cpu_time::{self, TreeTime};
use anechoic_system::{cpus, who};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::process::{Child, ExitCode, ExitStatus};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Record what interrupts your own program: how much time its threads lose on each CPU, and what takes it
///
/// No loop runs. The kernel's events are recorded while the program runs. They show when another thread, an interrupt or a late
/// wake-up kept one of its threads from a CPU. It needs permission to record kernel events;
/// `anechoic check` shows what gives it.
/// With a command the result goes to stderr, and the exit code is that of the command; it is 3 if there is no result,
/// or if the command succeeded and the kernel counted more CPU time of it than the events show; from 64 on there is none.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct RecordArgs {
    /// Record this running process and its descendants
    #[arg(long, value_name = "PID", conflicts_with = "command", required_unless_present = "command", value_parser = clap::value_parser!(i32).range(1..))]
    pid: Option<i32>,
    /// With --pid: for how long, for example 10s [default: until it ends, or until Ctrl-C]
    #[arg(long, short, value_name = "TIME", value_parser = ask::duration, allow_hyphen_values = true)]
    duration: Option<Duration>,
    /// CPUs whose lost time counts, for example 1 or 2-5 [default: all that the program uses]
    #[arg(long, short, value_parser = ask::cpu_list, value_name = "LIST")]
    cpus: Option<CpuList>,
    /// Record even if the counter's rate may change
    #[arg(long)]
    allow_variant_tsc: bool,
    /// Directory for the recording, new or empty [default: anechoic-TIME]
    #[arg(long, short, value_name = "DIR")]
    output: Option<PathBuf>,
    /// Show the result and keep no recording
    #[arg(long, conflicts_with = "output")]
    no_save: bool,
    /// Print JSON (schema/summary.schema.json)
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
  sudo anechoic record --no-save -- taskset -c 1 ./my-program
  sudo anechoic record -- sudo -u alice ./my-program  as another user";

pub fn run(args: &RecordArgs) -> Result<ExitCode, Problem> {
    let wanted = args.cpus.as_ref().map(|list| &list.0[..]);
    let online = cpus::online();
    if let Some(wanted) = wanted.filter(|wanted| wanted.iter().any(|cpu| !online.contains(cpu))) {
        cpus::verify(wanted)?; // reports the CPU that does not exist
    }
    if args.pid.is_none() && args.duration.is_some() {
        return Err(ProblemKind::Usage.problem(
            "a command is recorded until it ends, and --duration is for --pid",
            "let the command end by itself, for example `anechoic record -- timeout 10s COMMAND`",
        ));
    }
    let place = Place::choose(args.output.as_deref(), args.no_save)?;
    let plan = Plan {
        allow_variant_tsc: args.allow_variant_tsc,
        program_cpus: online,
        ..plan(Experiment::listed(methods::PROGRAM, vec![]))
    };
    let recording = Recording { args, plan, wanted, dir: place.dir() };
    match args.pid {
        Some(pid) => recording.record_process(pid),
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
        let mut started = Started {
            command: &self.args.command,
            signal: stop::newest()?,
            child: None,
            end: None,
            status: None,
            before: cpu_time::ended_children(),
        };
        let recorded = record(&self.plan, self.dir, self.wanted, &mut started);
        // After a failure to save, the command still runs. It keeps its terminal and its signals.
        if let (None, Some(child)) = (started.status, &mut started.child) {
            started.status = command::wait(child, None, &started.signal).ok().flatten();
        }
        recorded?;
        explained(self.dir, self.args.quiet)?;
        let code = self.show(Printer::stderr(self.args.json))?;
        let lacks_events = self.lacks_events()?;
        let own = match started.status.is_none_or(|status| status.success()) {
            _ if code >= exit::NO_VERDICT => code,
            true if lacks_events => exit::NO_VERDICT,
            _ => 0,
        };
        if lacks_events && self.args.quiet {
            terminal::print_note(
                "anechoic: the kernel counted more CPU time of the command than the events show: do not trust the result",
            );
        }
        Ok(match (own, started.status) {
            (0, Some(status)) => command::passed_on(status),
            _ => ExitCode::from(own),
        })
    }

    fn record_process(&self, pid: i32) -> Result<ExitCode, Problem> {
        let stop = stop::flag()?;
        let (time, end, process, tree_time) = (self.args.duration, None, None, None);
        let mut running = Running { pid, stop, time, end, process, tree_time };
        record(&self.plan, self.dir, self.wanted, &mut running)?;
        explained(self.dir, self.args.quiet)?;
        self.show(Printer::stdout(self.args.json, false)).map(ExitCode::from)
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

/// A command that this process starts.
struct Started<'a> {
    command: &'a [String],
    /// The number of the newest signal to this process, which is passed on.
    signal: Arc<AtomicUsize>,
    child: Option<Child>,
    end: Option<OwnedFd>,
    status: Option<ExitStatus>,
    /// The CPU time of earlier children.
    before: Duration,
}

impl Subject for Started<'_> {
    fn begin(&mut self) -> Result<Program, Problem> {
        let [program, rest @ ..] = self.command else {
            return Err(ProblemKind::Usage.problem("no command is given", "name one after --"));
        };
        let child = command::spawn(program, rest, None)?;
        self.end = pidfd_open(Pid::from_child(&child), PidfdFlags::empty()).ok();
        self.child = Some(child);
        let file = Path::new(program).file_name();
        let name = file.map_or_else(|| program.clone(), |file| file.to_string_lossy().into_owned());
        Ok(Program { name, ..Program::default() })
    }

    fn end(&self) -> Option<BorrowedFd<'_>> {
        self.end.as_ref().map(AsFd::as_fd)
    }

    fn left(&self) -> Option<Duration> {
        None
    }

    fn over(&mut self) -> Option<RunState> {
        let child = self.child.as_mut()?;
        match command::wait(child, Some(Instant::now()), &self.signal) {
            Ok(status) => {
                self.status = status;
                status.map(|_| RunState::Complete)
            }
            Err(error) => {
                let why = format!("the command was lost: {}", in_words(&error));
                Some(RunState::Interrupted(why))
            }
        }
    }

    fn cpu_time(&self) -> Option<CpuTime> {
        self.status?; // before its end nothing is known of it
        let time = cpu_time::ended_children().saturating_sub(self.before);
        Some(CpuTime { ns: time.as_nanos() as u64, resolution_ns: 0, steal_ns: 0 })
    }

    fn exit_code(&self) -> Option<u8> {
        self.status.map(command::exit_code)
    }
}

/// A process that runs already.
struct Running {
    pid: i32,
    stop: Arc<AtomicBool>,
    /// For how long it is recorded at most.
    time: Option<Duration>,
    /// When the recording ends at the latest.
    end: Option<Instant>,
    process: Option<OwnedFd>,
    tree_time: Option<TreeTime>,
}

impl Subject for Running {
    fn begin(&mut self) -> Result<Program, Problem> {
        let tree = who::tree(self.pid)?;
        self.process =
            Pid::from_raw(self.pid).and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok());
        self.tree_time = TreeTime::begin(self.pid);
        self.end = self.time.and_then(|time| Instant::now().checked_add(time));
        Ok(Program { name: tree.name, threads: tree.threads, ..Program::default() })
    }

    fn end(&self) -> Option<BorrowedFd<'_>> {
        self.process.as_ref().map(AsFd::as_fd)
    }

    fn left(&self) -> Option<Duration> {
        self.end.map(|end| end.saturating_duration_since(Instant::now()))
    }

    fn over(&mut self) -> Option<RunState> {
        if self.end.is_some_and(|end| end <= Instant::now()) || self.has_ended() {
            return Some(RunState::Complete);
        }
        let stopped = self.stop.load(Ordering::Acquire);
        stopped.then(|| match self.end {
            Some(_) => RunState::Interrupted("by a signal".to_owned()),
            None => RunState::Complete, // nobody asked for more
        })
    }

    fn cpu_time(&self) -> Option<CpuTime> {
        self.tree_time.as_ref()?.so_far()
    }

    fn exit_code(&self) -> Option<u8> {
        None
    }
}

impl Running {
    fn has_ended(&self) -> bool {
        match &self.process {
            Some(process) => {
                let mut fds = [PollFd::new(process, PollFlags::IN)];
                poll(&mut fds, Some(&Timespec::default())).is_ok_and(|ready| ready > 0)
            }
            None => !Path::new(&format!("/proc/{}", self.pid)).exists(),
        }
    }
}
