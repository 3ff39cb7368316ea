//! A command that `anechoic record` starts.

use crate::command;
use anechoic_measure::run::{Plan, Subject, record};
use anechoic_recording::run::{CpuTime, Program, Run, RunState};
use anechoic_recording::{Problem, ProblemKind, in_words};
use anechoic_system::cpu_time::{self, TreeTime};
use anechoic_system::tracefs::Marker;
use rustix::fs::{Access, access};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::process::{Child, ExitStatus};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// The variable in the command's environment that has the number of the descriptor for marks.
const MARK_VARIABLE: &str = "ANECHOIC_MARK_FD";

/// A command that this process starts.
pub(crate) struct Started<'a> {
    command: &'a [String],
    /// The number of the newest signal to this process, which is passed on.
    signal: Arc<AtomicUsize>,
    /// The same of a run of a series: one that a signal stopped has no length of its own, also if the command succeeded.
    stopped: Option<Arc<AtomicUsize>>,
    child: Option<Child>,
    end: Option<OwnedFd>,
    status: Option<ExitStatus>,
    /// The CPU time of earlier children.
    before: Duration,
    /// That of the command while it goes on.
    time: Option<TreeTime>,
    /// The descriptor that leads to marks of the command, until it has been started.
    marks: Option<OwnedFd>,
}

impl<'a> Started<'a> {
    /// Returns a command that is not started yet.
    pub(crate) fn new(
        command: &'a [String],
        signal: Arc<AtomicUsize>,
        stopped: Option<Arc<AtomicUsize>>,
    ) -> Self {
        let before = cpu_time::ended_children();
        Self {
            command,
            signal,
            stopped,
            child: None,
            end: None,
            status: None,
            before,
            time: None,
            marks: None,
        }
    }

    /// Lets it inherit this descriptor, and write its marks there.
    pub(crate) fn marked_by(self, marks: Option<OwnedFd>) -> Self {
        Self { marks, ..self }
    }

    /// Starts it and records it into `dir` until it ends; the lost time of the CPUs `wanted` counts, or that of all. Returns how
    /// it ended.
    ///
    /// # Errors
    /// It cannot be started, or not be recorded; it has then ended, too.
    pub(crate) fn record(
        mut self,
        plan: &Plan,
        dir: &Path,
        wanted: Option<&[u32]>,
    ) -> Result<Option<ExitStatus>, Problem> {
        let recorded = record(plan, dir, wanted, &mut self, &mut |_| {});
        self.wait(); // also after a failure to save
        recorded?;
        Ok(self.status)
    }

    /// The same, until a condition ends the recording: the command may then go on.
    pub(super) fn record_until_stopped(
        &mut self,
        plan: &Plan,
        dir: &Path,
        wanted: Option<&[u32]>,
    ) -> Result<Run, Problem> {
        let recorded = record(plan, dir, wanted, self, &mut |_| {});
        let stop = recorded.as_ref().ok().and_then(|run| run.stop_on.as_ref());
        if stop.is_none_or(|stop| stop.met.is_none()) {
            self.wait();
        }
        Ok(recorded?)
    }

    /// Waits until the command has ended, if it was started, and returns how. It keeps its terminal and gets the signals that
    /// arrive.
    pub(crate) fn wait(&mut self) -> Option<ExitStatus> {
        if let (None, Some(child)) = (self.status, &mut self.child) {
            self.status = command::wait(child, None, &self.signal).ok().flatten();
        }
        self.status
    }

    /// Returns whether the command has not ended.
    pub(super) fn goes_on(&mut self) -> bool {
        self.over().is_none()
    }
}

impl Subject for Started<'_> {
    fn mark_with(&mut self, marker: Marker) -> Result<(), Problem> {
        let Some(marks) = &mut self.marks else { return Ok(()) };
        marker.lead(marks).map_err(|error| {
            let why = format!("marks of the command cannot be recorded: {}", in_words(&error));
            ProblemKind::Unavailable.problem(why, "mark a function: --mark FUNCTION")
        })
    }

    fn begin(&mut self) -> Result<Program, Problem> {
        let [program, rest @ ..] = self.command else {
            return Err(ProblemKind::Usage.problem("no command is given", "name one after --"));
        };
        let number = self.marks.as_ref().map(|marks| marks.as_raw_fd().to_string());
        let variable = number.as_deref().map(|number| (MARK_VARIABLE, number));
        let child = command::spawn(program, rest, variable);
        self.marks = None; // the command has its own
        let child = child?;
        self.end = pidfd_open(Pid::from_child(&child), PidfdFlags::empty()).ok();
        self.time = Some(TreeTime::whole(Pid::from_child(&child).as_raw_nonzero().get()));
        self.child = Some(child);
        Ok(Program { name: name(self.command, is_executable), ..Program::default() })
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
                let signal =
                    self.stopped.as_ref().map_or(0, |signal| signal.load(Ordering::Acquire));
                status.map(|_| match signal {
                    0 => RunState::Complete,
                    _ => RunState::Interrupted("by a signal".to_owned()),
                })
            }
            Err(error) => {
                let why = format!("the command was lost: {}", in_words(&error));
                Some(RunState::Interrupted(why))
            }
        }
    }

    fn cpu_time(&self) -> Option<CpuTime> {
        if self.status.is_none() {
            return self.time.as_ref()?.so_far(); // it goes on
        }
        let time = cpu_time::ended_children().saturating_sub(self.before);
        Some(CpuTime { ns: time.as_nanos() as u64, resolution_ns: 0, steal_ns: 0 })
    }

    fn processes(&self) -> Vec<i32> {
        self.child.iter().map(|child| child.id().cast_signed()).collect()
    }

    fn exit_code(&self) -> Option<u8> {
        self.status.map(command::exit_code)
    }
}

/// Programs that only start another one, which then gives a recording its name.
const WRAPPERS: [&str; 17] = [
    "chrt", "doas", "env", "ionice", "mpiexec", "mpirun", "nice", "nohup", "numactl", "runuser",
    "setarch", "setsid", "stdbuf", "strace", "sudo", "taskset", "timeout",
];
/// Their options whose value may look like a program, such as the name of a user.
const WITH_VALUE: [&str; 6] = ["-u", "-U", "-g", "-o", "-s", "-k"];
const SHELLS: [&str; 3] = ["bash", "dash", "sh"];
/// What shells do themselves although there is a program of that name.
const BUILTINS: [&str; 10] =
    ["[", "cd", "echo", "false", "kill", "printf", "pwd", "test", "true", "umask"];

/// Returns the word of a command that is its program, or the next one that is a program if that only starts another one.
pub(super) fn program(command: &[String], is_program: impl Fn(&str) -> bool) -> &str {
    let words: Vec<&str> = command.iter().map(String::as_str).collect();
    named_program(&words, &is_program)
}

fn named_program<'a>(words: &[&'a str], is_program: &dyn Fn(&str) -> bool) -> &'a str {
    let Some((&first, rest)) = words.split_first() else { return "" };
    let name = file_name(first);
    if SHELLS.contains(&&*name) {
        return run_by_shell(rest, is_program).unwrap_or(first);
    }
    if !WRAPPERS.contains(&&*name) {
        return first;
    }
    let mut before = "";
    let next = rest.iter().position(|word| {
        let is_value = WITH_VALUE.contains(&std::mem::replace(&mut before, word));
        !is_value && !word.starts_with('-') && is_program(word)
    });
    next.map_or(first, |next| named_program(&rest[next..], is_program))
}

/// Returns the script of a shell, or the program of its text if that is a single command.
fn run_by_shell<'a>(rest: &[&'a str], is_program: &dyn Fn(&str) -> bool) -> Option<&'a str> {
    let at = rest.iter().position(|word| !word.starts_with('-'))?;
    let is_text = rest[..at].iter().any(|option| !option.starts_with("--") && option.contains('c'));
    if !is_text {
        return Some(rest[at]);
    }
    // Words of redirections alone, as `ab` puts before a command.
    let is_command = |text: &&str| !text.trim().is_empty() && !text.starts_with("exec <");
    let mut commands = rest[at].split(['\n', ';', '|', '&']).filter(is_command);
    let mut words: Vec<&str> = commands.next()?.split_whitespace().collect();
    if words.first() == Some(&"exec") {
        words.remove(0);
    }
    if BUILTINS.contains(words.first()?) {
        return None;
    }
    let program = named_program(&words, is_program);
    (commands.next().is_none() && is_program(program)).then_some(program)
}

/// Returns the name of a command: the file of its program.
fn name(command: &[String], is_program: impl Fn(&str) -> bool) -> String {
    file_name(program(command, is_program))
}

fn file_name(path: &str) -> String {
    let file = Path::new(path).file_name();
    file.map_or_else(|| path.to_owned(), |file| file.to_string_lossy().into_owned())
}

/// Whether this word would be executed as a command.
pub(super) fn is_executable(word: &str) -> bool {
    executable(word).is_some()
}

/// Returns the file that would be executed for this word of a command.
pub(super) fn executable(word: &str) -> Option<PathBuf> {
    let may_execute = |path: &PathBuf| path.is_file() && access(path, Access::EXEC_OK).is_ok();
    if word.contains('/') {
        return Some(PathBuf::from(word)).filter(may_execute);
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).map(|dir| dir.join(word)).find(may_execute)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_only_starts_another_program_gives_no_name() {
        for (command, expected) in [
            ("./my-bench 5", "my-bench"),
            ("taskset -c 1 /opt/my-bench --seconds 5", "my-bench"),
            ("timeout 10 nice -n 5 python3 bench.py", "python3"),
            ("sudo -u alice env A=1 ./run", "run"),
            ("taskset", "taskset"),
            ("taskset -c 1 nothing", "taskset"),
            ("make -j4", "make"),
            ("sh ./run", "run"),
            ("bash bench.sh python3", "bench.sh"),
            ("runuser -u python3 -- ./run", "run"),
            ("sh -e", "sh"),
            ("sh", "sh"),
        ] {
            let words: Vec<String> = command.split_whitespace().map(str::to_owned).collect();
            let programs = ["/opt/my-bench", "nice", "python3", "env", "./run"];
            assert_eq!(name(&words, |word| programs.contains(&word)), expected, "{command}");
        }
        for (option, text, expected) in [
            ("-c", "exec </dev/null >/dev/null\nnice -n 5 /opt/my-bench 3", "my-bench"),
            ("-lc", "/opt/my-bench 3", "my-bench"),
            ("-c", "nice -n 5 /opt/my-bench; true", "sh"),
            ("-c", "for i in 1 2; do ./run; done", "sh"),
            ("-c", "", "sh"),
            ("-c", "exec", "sh"),
            ("-c", "exec ./run 3", "run"),
            ("-c", "kill -9 $$", "sh"),
            ("-c", "nice kill -9 1", "kill"),
        ] {
            let script = ["sh", option, text].map(str::to_owned);
            let is_program =
                |word: &str| ["nice", "kill", "./run", "/opt/my-bench"].contains(&word);
            assert_eq!(name(&script, is_program), expected, "{text}");
        }
        assert!(is_executable("sh") && is_executable("/bin/sh"));
        assert!(!is_executable("1") && !is_executable("/etc/passwd") && !is_executable("/"));
    }
}
