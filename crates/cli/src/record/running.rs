//! What `anechoic record` finds running: processes with their descendants, and control groups.

use anechoic_measure::run::Subject;
use anechoic_recording::Problem;
use anechoic_recording::run::{CpuTime, Program, ProgramCgroup, RunState};
use anechoic_system::cgroups::Cgroup;
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

/// What runs already.
pub(super) trait Target {
    /// Returns it as it is now, and begins to count its CPU time.
    fn begin(&mut self) -> Result<Program, Problem>;

    /// Returns the processes whose descendants it is; none for a control group.
    fn processes(&self) -> Vec<i32> {
        vec![]
    }

    /// Returns a file that becomes readable when the target may have ended.
    fn end(&self) -> Option<BorrowedFd<'_>>;

    fn has_ended(&mut self) -> bool;

    /// Returns its CPU time since the beginning, if the kernel shows it.
    fn cpu_time(&self) -> Option<CpuTime>;
}

/// The recording of what runs already.
pub(super) struct Running<T> {
    target: T,
    /// Whether a signal has arrived.
    stop: Arc<AtomicBool>,
    /// For how long it is recorded at most.
    time: Option<Duration>,
    /// When the recording ends at the latest.
    end: Option<Instant>,
}

impl<T: Target> Running<T> {
    pub(super) fn new(target: T, stop: Arc<AtomicBool>, time: Option<Duration>) -> Self {
        Self { target, stop, time, end: None }
    }
}

impl<T: Target> Subject for Running<T> {
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
        stopped.then(|| match self.end {
            Some(_) => RunState::Interrupted("by a signal".to_owned()),
            None => RunState::Complete, // nobody asked for more
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
pub(super) struct Processes {
    pids: Vec<i32>,
    /// Those that go on, with what can be read once they have ended.
    living: Vec<(i32, Option<OwnedFd>)>,
    time: Option<TreeTime>,
}

impl Processes {
    pub(super) fn new(pids: &[i32]) -> Self {
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
pub(super) struct Group {
    cgroup: Cgroup,
    /// What the user called it.
    name: String,
    /// Can be read when processes have come or gone, where the kernel reports that.
    changes: Option<OwnedFd>,
    time: Option<GroupTime>,
}

impl Group {
    pub(super) fn new(cgroup: Cgroup, name: &str) -> Self {
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
