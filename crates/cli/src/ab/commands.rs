//! The commands of the sides: run before a trial or during it, and what puts things back.

use crate::{command, exit, stop};
use anechoic_recording::{Problem, ProblemKind};
use anechoic_system::cpus;
use rustix::process::{Pid, Signal, kill_process};
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// Most of what a command printed that an error repeats.
const REPEATED: u64 = 4096;
/// How long a workload may take to end after it was asked to.
const PATIENCE: Duration = Duration::from_secs(2);

/// A command of a user, named for errors.
#[derive(Debug, Clone)]
pub(super) struct ShellCommand {
    pub(super) name: &'static str,
    pub(super) text: String,
}

impl ShellCommand {
    /// Prepares the shell, which `program` begins with. What it prints goes to a file, which a service that it starts may keep open.
    fn shell(&self, program: &[&str], cpus: &[u32]) -> Result<(Command, File), Problem> {
        let printed = tempfile::tempfile()?;
        let mut shell = Command::new(program[0]);
        shell
            .args(&program[1..])
            .args(["-c", &self.text])
            .env("CPUS", cpus::list(cpus))
            .stdin(Stdio::null());
        shell.stdout(printed.try_clone()?).stderr(printed.try_clone()?);
        Ok((shell, printed))
    }

    fn spawn(&self, shell: &mut Command) -> Result<Child, Problem> {
        shell.spawn().map_err(|error| {
            let program = shell.get_program().to_string_lossy();
            let why = format!("cannot run {program} for {}: {error}", self.name);
            ProblemKind::Unavailable.problem(why, format!("install {program}"))
        })
    }

    /// Runs it to its end, for the side that has these CPUs. Signals are passed on to it.
    ///
    /// # Errors
    /// It cannot be run, or it fails.
    pub(super) fn run(&self, cpus: &[u32], signal: &AtomicUsize) -> Result<(), Problem> {
        if self.text.trim().is_empty() {
            return Ok(());
        }
        let (mut shell, printed) = self.shell(&["sh"], cpus)?;
        let mut child = self.spawn(&mut shell)?;
        match command::wait(&mut child, None, signal)? {
            Some(status) if !status.success() => Err(self.failed(status, Some(printed))),
            _ => Ok(()),
        }
    }

    /// Returns the problem of a command that failed, with the last line of what it printed.
    pub(super) fn failed(&self, status: ExitStatus, printed: Option<File>) -> Problem {
        let last = printed.and_then(last_line).map(|line| format!(": {line}")).unwrap_or_default();
        let why = format!("{} (`{}`) failed, {status}{last}", self.name, self.text);
        ProblemKind::Unavailable
            .problem(why, "try it in a shell first; it is run as `sh -c COMMAND`")
    }

    /// Starts it as a workload in a session of its own: what it starts may make process groups, as `timeout` does.
    ///
    /// # Errors
    /// It cannot be run.
    pub(super) fn start(&self, cpus: &[u32]) -> Result<Option<Workload>, Problem> {
        if self.text.trim().is_empty() {
            return Ok(None);
        }
        let (mut shell, printed) = self.shell(&["setsid", "sh"], cpus)?;
        let slot = session_slot(); // before there is anything to end
        let child = self.spawn(&mut shell)?;
        let session = child.id().cast_signed();
        slot.store(session, Ordering::Release);
        let mut workload = Workload { command: self.clone(), child, printed, slot, guard: None };
        workload.guard = Some(self.spawn(&mut guard(session))?); // an error ends the workload
        Ok(Some(workload))
    }
}

/// Returns the last line of what a command printed.
fn last_line(mut printed: File) -> Option<String> {
    let end = printed.seek(SeekFrom::End(0)).ok()?;
    printed.seek(SeekFrom::Start(end.saturating_sub(REPEATED))).ok()?;
    let mut text = vec![];
    printed.take(REPEATED).read_to_end(&mut text).ok()?;
    let text = String::from_utf8_lossy(&text);
    text.lines().map(str::trim).rfind(|line| !line.is_empty()).map(str::to_owned)
}

/// The sessions of the workloads that run now, which a signal that ends this process at once must end.
static SESSIONS: OnceLock<[AtomicI32; 2]> = OnceLock::new();

fn session_slot() -> &'static AtomicI32 {
    let sessions = SESSIONS.get_or_init(|| {
        stop::before_sudden_end(|| {
            for session in SESSIONS.get().into_iter().flatten() {
                kill_session(session.load(Ordering::Acquire));
            }
        });
        [AtomicI32::new(0), AtomicI32::new(0)]
    });
    let free = sessions.iter().find(|session| session.load(Ordering::Acquire) == 0);
    free.unwrap_or(&sessions[0])
}

/// Sends a signal to all processes of a session; returns whether there were any.
fn end_session(session: i32, signal: Signal) -> bool {
    let members = if session > 0 { members(session) } else { Vec::new() };
    for &member in &members {
        let _ = kill_process(member, signal); // fails if it has ended
    }
    !members.is_empty()
}

/// Kills all processes of a session, also those that others of it start meanwhile.
fn kill_session(session: i32) {
    let until = Instant::now() + PATIENCE;
    while end_session(session, Signal::KILL) && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Returns the processes of a session that have not ended.
fn members(session: i32) -> Vec<Pid> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let processes = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let of_session = processes.filter(|pid| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        // After the name: state, parent, process group, session.
        let fields: Vec<&str> =
            stat.rsplit(") ").next().unwrap_or_default().split(' ').take(4).collect();
        matches!(fields[..], [state, _, _, found] if found.parse() == Ok(session) && state != "Z")
    });
    of_session.filter_map(Pid::from_raw).collect()
}

/// Returns a shell that kills all processes of a session once this process has ended in any way, also by SIGKILL: it waits for
/// the end of a pipe of which only this process has the other end.
fn guard(session: i32) -> Command {
    let mut shell = Command::new("setsid");
    let ends = format!(
        "read _; more=1; while [ $more ]; do more=; for f in /proc/[0-9]*/stat; do read -r stat <$f && set -- ${{stat##*) }} && \
         [ \"$4\" = {session} ] && [ $1 != Z ] && more=1 && f=${{f#/proc/}} && kill -s KILL ${{f%/stat}}; done; done"
    );
    shell.args(["sh", "-c", &ends]);
    shell.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    shell
}

/// A workload that runs until it is dropped, or until this process ends.
#[derive(Debug)]
pub(super) struct Workload {
    command: ShellCommand,
    child: Child,
    printed: File,
    slot: &'static AtomicI32,
    guard: Option<Child>,
}

impl Workload {
    /// Refuses a workload that has failed, or ended before its trial did.
    ///
    /// # Errors
    /// It has.
    pub(super) fn still_runs(&mut self) -> Result<(), Problem> {
        match self.child.try_wait()? {
            None => Ok(()),
            Some(status) if !status.success() => {
                Err(self.command.failed(status, Some(self.printed.try_clone()?)))
            }
            Some(_) => {
                let ShellCommand { name, text } = &self.command;
                let why = format!("{name} (`{text}`) ended before its trial did");
                let remedy = "name a workload that lasts, for example 'while :; do …; done', or measure for less time";
                Err(ProblemKind::Unavailable.problem(why, remedy))
            }
        }
    }
}

impl Drop for Workload {
    fn drop(&mut self) {
        if let Some(mut guard) = self.guard.take() {
            let _ = guard.kill(); // first, because the session's number may soon be another's
            let _ = guard.wait();
        }
        let session = self.child.id().cast_signed();
        end_session(session, Signal::TERM);
        let until = Instant::now() + PATIENCE;
        let goes_on = |child: &mut Child| matches!(child.try_wait(), Ok(None));
        while Instant::now() < until && (goes_on(&mut self.child) || !members(session).is_empty()) {
            std::thread::sleep(Duration::from_millis(10));
        }
        kill_session(session);
        let _ = self.child.wait();
        self.slot.store(0, Ordering::Release);
    }
}

/// The command that puts things back. It runs once: when it is asked to, when this is dropped, or before a signal ends the
/// process at once.
#[derive(Debug)]
pub(super) struct PutBack(Arc<After>);

#[derive(Debug)]
struct After {
    command: Option<ShellCommand>,
    done: AtomicBool,
}

impl PutBack {
    /// Returns what puts things back with this command.
    pub(super) fn armed(text: Option<String>) -> Self {
        let command = text.map(|text| ShellCommand { name: "the command of --after", text });
        let after = Arc::new(After { command, done: AtomicBool::new(false) });
        let before_end = Arc::clone(&after);
        stop::before_sudden_end(move || before_end.report());
        Self(after)
    }

    /// Puts things back.
    ///
    /// # Errors
    /// The command fails.
    pub(super) fn now(self) -> Result<(), Problem> {
        self.0.run()
    }
}

impl Drop for PutBack {
    fn drop(&mut self) {
        self.0.report();
    }
}

impl After {
    /// Runs the command, unless it ran. A Ctrl-C on the terminal does not reach it.
    fn run(&self) -> Result<(), Problem> {
        let command = self.command.as_ref().filter(|command| !command.text.trim().is_empty());
        let Some(command) = command.filter(|_| !self.done.swap(true, Ordering::AcqRel)) else {
            return Ok(());
        };
        let (mut shell, printed) = command.shell(&["sh"], &cpus::allowed())?;
        let mut child = command.spawn(shell.process_group(0))?;
        let status = loop {
            match child.wait() {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                status => break status?,
            }
        };
        if status.success() { Ok(()) } else { Err(command.failed(status, Some(printed))) }
    }

    fn report(&self) {
        if let Err(problem) = self.run() {
            exit::print_error(&problem);
        }
    }
}
