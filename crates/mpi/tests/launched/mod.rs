//! Jobs of `anechoic-mpi` under the launcher of the library that it was built with.

use anechoic_lab::process::signals_as_usual;
use anechoic_lab::turn::{self, Turn};
use std::ffi::OsStr;
use std::fs;
use std::io::Read;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// The command under test.
pub const BINARY: &str = env!("CARGO_BIN_EXE_anechoic-mpi");
/// In this number of seconds ranks save that wait for no other, and all.
pub const SHORT_S: &str = "5";
pub const LONG_S: &str = "10";
/// Longer than any job here.
const LONGEST: Duration = Duration::from_secs(120);
/// The time between two searches for the ranks of a job, each of which reads the environments of all processes.
const BETWEEN_SEARCHES: Duration = Duration::from_millis(200);
/// The variable that names the job in the environment of its processes.
const MARK: &str = "ANECHOIC_TEST_JOB";

/// An MPI library, by its launcher.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Library {
    OpenMpi,
    Mpich,
}

/// The result of a job.
#[derive(Debug)]
pub struct Ended {
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

/// The library that the command was built with.
pub fn library() -> Library {
    let shown = Command::new(BINARY).arg("--version").output().expect("it starts");
    let shown = String::from_utf8_lossy(&shown.stdout).into_owned();
    if shown.contains("Open MPI") {
        Library::OpenMpi
    } else if shown.contains("MPICH") {
        Library::Mpich
    } else {
        panic!("these tests know Open MPI and MPICH, and this is {shown}")
    }
}

impl Library {
    /// Returns its launcher, which starts more ranks than there are CPUs. Open MPI's lets ranks of a broken job save for
    /// this number of seconds, and always waits twice as long.
    pub fn launcher(self, seconds: &'static str) -> Vec<&'static str> {
        match self {
            Library::OpenMpi => vec![
                "mpirun.openmpi",
                "--oversubscribe",
                "--allow-run-as-root",
                "--mca",
                "odls_base_sigkill_timeout",
                seconds,
            ],
            Library::Mpich => vec!["mpiexec.mpich"],
        }
    }

    /// Options of its launcher for a job on this machine alone.
    pub fn alone(self) -> &'static [&'static str] {
        match self {
            Library::OpenMpi => &["--bind-to", "none", "--mca", "oob_tcp_if_include", "lo"],
            Library::Mpich => &["-iface", "lo"],
        }
    }

    /// Returns the environment variable with the number of a rank.
    pub fn rank_variable(self) -> &'static str {
        match self {
            Library::OpenMpi => "OMPI_COMM_WORLD_RANK",
            Library::Mpich => "PMI_RANK",
        }
    }
}

/// Starts a job of this many ranks on this machine.
pub fn start<A: AsRef<OsStr>>(ranks: usize, args: &[A]) -> Job {
    start_patiently(ranks, args, SHORT_S)
}

/// Starts a job whose ranks may take this number of seconds to save.
pub fn start_patiently<A: AsRef<OsStr>>(ranks: usize, args: &[A], seconds: &'static str) -> Job {
    let launcher = library().launcher(seconds);
    let mut command = Command::new(launcher[0]);
    command.args(&launcher[1..]).args(library().alone()).args(["-n", &ranks.to_string()]);
    command.arg(BINARY).args(args);
    Job::start(command)
}

/// Runs a job of this many ranks on this machine to its end.
pub fn run<A: AsRef<OsStr>>(ranks: usize, args: &[A]) -> Ended {
    start(ranks, args).end()
}

/// A running job. Its processes end with it. No other test runs while it has ranks.
pub struct Job {
    launcher: Child,
    mark: String,
    turn: Option<Turn>,
}

impl Job {
    pub fn start(mut command: Command) -> Self {
        let mark = format!("{}-{:?}", std::process::id(), Instant::now());
        command.env(MARK, &mark).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let turn = turn::alone();
        let launcher = signals_as_usual(&mut command)
            .spawn()
            .unwrap_or_else(|error| panic!("{command:?}: {error}"));
        Job { launcher, mark, turn: Some(turn) }
    }

    /// Process number of the launcher.
    pub fn launcher(&self) -> u32 {
        self.launcher.id()
    }

    /// Returns the two processes of a rank: the one that its launcher started, and the rank itself.
    pub fn rank(&self, rank: u32) -> [u32; 2] {
        let deadline = Instant::now() + LONGEST;
        loop {
            let of_rank = self.processes(&format!("{}={rank}", library().rank_variable()));
            let itself = of_rank.iter().find_map(|&pid| {
                let parent = variable(pid, "ANECHOIC_MPI_PARENT=")?.parse().ok()?;
                of_rank.contains(&parent).then_some([parent, pid])
            });
            if let Some(found) = itself {
                return found;
            }
            assert!(Instant::now() < deadline, "rank {rank} never started");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Returns the processes of this job that have something in their environment.
    fn processes(&self, text: &str) -> Vec<u32> {
        let entries = fs::read_dir("/proc").expect("there is a /proc").flatten();
        let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        let mark = format!("{MARK}={}", self.mark);
        let ours = |pid: &u32| {
            let all = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            let mut has = [false; 2];
            for variable in all.split(|&byte| byte == 0) {
                has[0] |= variable == mark.as_bytes();
                has[1] |= text.is_empty() || variable == text.as_bytes();
            }
            has == [true; 2] && is_anechoic(*pid)
        };
        pids.filter(ours).collect()
    }

    /// Waits until none of its ranks is left.
    pub fn wait_for_ranks(&self) {
        let deadline = Instant::now() + LONGEST;
        while !self.processes("").is_empty() {
            assert!(Instant::now() < deadline, "ranks {:?} do not end", self.processes(""));
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Ends the turn once all ranks have ended: a launcher whose job broke then waits for many seconds. Returns whether
    /// there are ranks, or were.
    fn leave(&mut self, began: bool) -> bool {
        let ranks = !self.processes("").is_empty();
        if began && !ranks {
            self.turn = None;
        }
        began || ranks
    }

    /// Waits for its end.
    pub fn end(&mut self) -> Ended {
        let deadline = Instant::now() + LONGEST;
        let mut pipes = (self.launcher.stdout.take(), self.launcher.stderr.take());
        let (out, err, code) = std::thread::scope(|scope| {
            let out = scope.spawn(move || pipes.0.as_mut().map(reading).unwrap_or_default());
            let err = scope.spawn(move || pipes.1.as_mut().map(reading).unwrap_or_default());
            let (mut began, mut searched) = (false, Instant::now());
            let status = loop {
                if self.turn.is_some() && searched.elapsed() > BETWEEN_SEARCHES {
                    began = self.leave(began);
                    searched = Instant::now();
                }
                if let Some(status) = self.launcher.try_wait().expect("it is a child") {
                    break Some(status);
                }
                if Instant::now() > deadline {
                    self.kill();
                    break None;
                }
                std::thread::sleep(Duration::from_millis(20));
            };
            let code = status.map(|status| status.code());
            (out.join().expect("text"), err.join().expect("text"), code)
        });
        let code = code.unwrap_or_else(|| panic!("it did not end\n{out}\n{err}"));
        Ended { code, out, err }
    }

    fn kill(&mut self) {
        for pid in self.processes("") {
            signal(pid, "KILL");
        }
        let _ = self.launcher.kill();
        let _ = self.launcher.wait();
    }
}

impl Drop for Job {
    fn drop(&mut self) {
        self.kill();
    }
}

/// A value from the environment of a process.
fn variable(pid: u32, name: &str) -> Option<String> {
    let all = fs::read(format!("/proc/{pid}/environ")).ok()?;
    let all = String::from_utf8_lossy(&all).into_owned();
    all.split('\0').find_map(|variable| variable.strip_prefix(name)).map(str::to_owned)
}

fn is_anechoic(pid: u32) -> bool {
    let program = fs::read_link(format!("/proc/{pid}/exe")).unwrap_or_default();
    program == fs::canonicalize(BINARY).expect("it is there")
}

pub fn signal(pid: u32, signal: &str) {
    let sent = Command::new("kill").args([&format!("-{signal}"), &pid.to_string()]).output();
    assert!(sent.is_ok(), "kill is part of every system");
}

fn reading(pipe: &mut impl Read) -> String {
    let mut text = Vec::new();
    let _ = pipe.read_to_end(&mut text);
    String::from_utf8_lossy(&text).into_owned()
}

/// Waits until a condition holds.
pub fn wait_for(path: &Path) {
    let deadline = Instant::now() + LONGEST;
    while !path.exists() {
        assert!(Instant::now() < deadline, "{} never came", path.display());
        std::thread::sleep(Duration::from_millis(20));
    }
}
