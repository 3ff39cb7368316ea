//! What `anechoic record` finds running: processes with their descendants, and control groups.

use anechoic_measure::run::Subject;
use anechoic_recording::run::{CpuTime, Program, ProgramCgroup, RunState};
use anechoic_recording::{Problem, ProblemKind};
use anechoic_system::cgroups::{self, Cgroup};
use anechoic_system::cpu_time::{GroupTime, TreeTime};
use anechoic_system::who;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::inotify;
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// The name of what is in the control group above all others.
const ALL_PROGRAMS: &str = "everything";

/// What runs already.
pub(crate) trait Target {
    /// Returns it as it is now, and begins to count its CPU time.
    fn begin(&mut self) -> Result<Program, Problem>;

    /// Returns processes that are in it now; their descendants may be missing.
    fn processes(&self) -> Vec<i32>;

    /// Returns a file that becomes readable when the target may have ended.
    fn end(&self) -> Option<BorrowedFd<'_>>;

    fn has_ended(&mut self) -> bool;

    /// Returns its CPU time since the beginning, if the kernel shows it.
    fn cpu_time(&self) -> Option<CpuTime>;
}

/// What runs already, as the user names it.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct RunningArgs {
    /// These running processes and their descendants: 12,34, or several times
    #[arg(long, value_name = "PID", value_delimiter = ',', value_parser = clap::value_parser!(i32).range(1..))]
    pub(crate) pid: Vec<i32>,
    /// This control group, with those below it: its directory, or its path as in /proc/PID/cgroup. Processes count while they
    /// are in it
    #[arg(long, value_name = "PATH")]
    cgroup: Option<String>,
    /// This systemd unit, for example nginx or user@1000.service
    #[arg(long, value_name = "NAME")]
    unit: Option<String>,
    /// This container, of Docker, Podman or containerd: the beginning of its ID (six digits or more), or its name
    #[arg(long, value_name = "ID")]
    container: Option<String>,
}

impl RunningArgs {
    /// Returns what is named, if something is.
    ///
    /// # Errors
    /// There is no such control group, unit or container.
    pub(crate) fn target(&self) -> Result<Option<Box<dyn Target>>, Problem> {
        let groups = [&self.cgroup, &self.unit, &self.container];
        if groups.iter().any(|name| name.as_deref().is_some_and(|name| name.trim().is_empty())) {
            let why = "the name of the control group, unit or container is empty";
            return Err(ProblemKind::Usage.problem(why, "is a variable not set? name one"));
        }
        let group = match (&self.cgroup, &self.unit, &self.container) {
            (Some(path), _, _) if path == "/" => Group::new(cgroups::named(path)?, ALL_PROGRAMS),
            (Some(path), _, _) => Group::new(cgroups::named(path)?, path),
            (_, Some(unit), _) => Group::new(cgroups::unit(unit)?, unit),
            (_, _, Some(id)) => Group::new(cgroups::container(id)?, &format!("container {id}")),
            _ if self.pid.is_empty() => return Ok(None),
            _ => return Ok(Some(Box::new(Processes::new(&self.pid)))),
        };
        Ok(Some(Box::new(group)))
    }

    /// Returns whether processes are named by their numbers.
    pub(crate) fn names_processes(&self) -> bool {
        !self.pid.is_empty()
    }

    /// Returns the options again, as they are typed.
    pub(crate) fn as_args(&self) -> Vec<String> {
        let named =
            [("--cgroup", &self.cgroup), ("--unit", &self.unit), ("--container", &self.container)];
        let named = named.into_iter().filter_map(|(option, name)| Some([option, name.as_deref()?]));
        let mut args: Vec<String> = named.flatten().map(str::to_owned).collect();
        args.extend(self.pid.iter().flat_map(|pid| ["--pid".to_owned(), pid.to_string()]));
        args
    }

    /// Returns the control group that is named, if one is.
    ///
    /// # Errors
    /// There is no such control group, unit or container.
    pub(crate) fn group(&self) -> Result<Option<Cgroup>, Problem> {
        match (&self.cgroup, &self.unit, &self.container) {
            (Some(path), _, _) => cgroups::named(path).map(Some),
            (_, Some(unit), _) => cgroups::unit(unit).map(Some),
            (_, _, Some(id)) => cgroups::container(id).map(Some),
            _ => Ok(None),
        }
    }

    /// Returns whether something is named.
    pub(crate) fn is_named(&self) -> bool {
        let groups = [&self.cgroup, &self.unit, &self.container];
        !self.pid.is_empty() || groups.iter().any(|group| group.is_some())
    }
}

/// The recording of what runs already.
pub(crate) struct Running {
    target: Box<dyn Target>,
    /// Whether a signal has arrived.
    stop: Arc<AtomicBool>,
    /// For how long it is recorded at most.
    time: Option<Duration>,
    /// When the recording ends at the latest.
    end: Option<Instant>,
    /// Whether it was meant to last that long.
    is_whole_then: bool,
}

impl Running {
    pub(crate) fn new(
        target: Box<dyn Target>,
        stop: Arc<AtomicBool>,
        time: Option<Duration>,
    ) -> Self {
        Self { target, stop, time, end: None, is_whole_then: time.is_some() }
    }

    /// Lets it be complete also where it is stopped before its time.
    pub(crate) fn at_most(self) -> Self {
        Self { is_whole_then: false, ..self }
    }
}

impl Subject for Running {
    fn begin(&mut self) -> Result<Program, Problem> {
        let program = self.target.begin()?;
        self.end = self.time.and_then(|time| Instant::now().checked_add(time));
        Ok(program)
    }

    fn processes(&self) -> Vec<i32> {
        self.target.processes()
    }

    fn end(&self) -> Option<BorrowedFd<'_>> {
        self.target.end()
    }

    fn left(&self) -> Option<Duration> {
        self.end.map(|end| end.saturating_duration_since(Instant::now()))
    }

    fn over(&mut self) -> Option<RunState> {
        if self.end.is_some_and(|end| end <= Instant::now()) || self.target.has_ended() {
            return Some(RunState::Complete);
        }
        let stopped = self.stop.load(Ordering::Acquire);
        stopped.then(|| match self.is_whole_then {
            true => RunState::Interrupted("by a signal".to_owned()),
            false => RunState::Complete, // nobody asked for more
        })
    }

    fn cpu_time(&self) -> Option<CpuTime> {
        self.target.cpu_time()
    }

    fn exit_code(&self) -> Option<u8> {
        None
    }
}

/// Processes with their descendants.
struct Processes {
    pids: Vec<i32>,
    /// Those that go on, with what can be read once they have ended.
    living: Vec<(i32, Option<OwnedFd>)>,
    time: Option<TreeTime>,
}

impl Processes {
    fn new(pids: &[i32]) -> Self {
        let mut pids = pids.to_vec();
        pids.sort_unstable();
        pids.dedup();
        Self { pids, living: vec![], time: None }
    }
}

impl Target for Processes {
    fn begin(&mut self) -> Result<Program, Problem> {
        let opened = |pid: i32| pidfd_open(Pid::from_raw(pid)?, PidfdFlags::empty()).ok();
        self.living = self.pids.iter().map(|&pid| (pid, opened(pid))).collect();
        let tree = who::tree(&self.pids)?;
        self.time = TreeTime::begin(&self.pids);
        Ok(Program { name: tree.name, threads: tree.threads, ..Program::default() })
    }

    fn processes(&self) -> Vec<i32> {
        self.pids.clone()
    }

    fn end(&self) -> Option<BorrowedFd<'_>> {
        self.living.first()?.1.as_ref().map(AsFd::as_fd)
    }

    fn has_ended(&mut self) -> bool {
        self.living.retain(|(pid, end)| match end {
            Some(end) => !is_readable(end),
            None => Path::new(&format!("/proc/{pid}")).exists(),
        });
        self.living.is_empty()
    }

    fn cpu_time(&self) -> Option<CpuTime> {
        self.time.as_ref()?.so_far()
    }
}

fn is_readable(file: &OwnedFd) -> bool {
    let mut files = [PollFd::new(file, PollFlags::IN)];
    poll(&mut files, Some(&Timespec::default())).is_ok_and(|ready| ready > 0)
}

/// A control group.
struct Group {
    cgroup: Cgroup,
    /// What the user called it.
    name: String,
    /// Can be read when processes have come or gone, where the kernel reports that.
    changes: Option<OwnedFd>,
    time: Option<GroupTime>,
}

impl Group {
    fn new(cgroup: Cgroup, name: &str) -> Self {
        Self { cgroup, name: name.to_owned(), changes: None, time: None }
    }

    /// Returns what can be read once the group has become empty, or has been used again: never where the kernel does not report
    /// that, and it is then looked at once in a while.
    fn watched(&self) -> Option<OwnedFd> {
        let flags = inotify::CreateFlags::CLOEXEC | inotify::CreateFlags::NONBLOCK;
        let changes = inotify::init(flags).ok()?;
        if let Some(events) = self.cgroup.events() {
            inotify::add_watch(&changes, events, inotify::WatchFlags::MODIFY).ok()?;
        }
        Some(changes)
    }
}

impl Target for Group {
    fn begin(&mut self) -> Result<Program, Problem> {
        self.changes = self.watched();
        let threads = self.cgroup.threads()?;
        self.time = GroupTime::begin(&self.cgroup);
        let cgroup = ProgramCgroup {
            path: self.cgroup.path().to_owned(),
            hierarchy: self.cgroup.hierarchy(),
            moved_into: vec![],
        };
        let name = self.name.clone();
        Ok(Program { name, threads, cgroup: Some(cgroup), ..Program::default() })
    }

    fn processes(&self) -> Vec<i32> {
        self.cgroup.processes()
    }

    fn end(&self) -> Option<BorrowedFd<'_>> {
        self.changes.as_ref().map(AsFd::as_fd)
    }

    fn has_ended(&mut self) -> bool {
        if let Some(changes) = &self.changes {
            let mut passed = [0; 1024];
            while rustix::io::read(changes, &mut passed).is_ok_and(|length| length > 0) {}
        }
        self.cgroup.is_empty()
    }

    fn cpu_time(&self) -> Option<CpuTime> {
        self.time.as_ref()?.so_far()
    }
}
