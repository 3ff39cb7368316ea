//! Runs the built `anechoic` as a user would.

pub mod group;
pub mod parsers;

use anechoic_lab::note;
use anechoic_lab::process::signals_as_usual;
use anechoic_lab::turn;
use anechoic_system::cpus;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

pub use anechoic_lab::attempt::{ensure, one_of};
pub use anechoic_lab::turn::alone;

/// The binary under test.
pub const ANECHOIC: &str = env!("CARGO_BIN_EXE_anechoic");

/// Starts an ordinary process that all others of the host hardly delay: in a session of its own, which the kernel prefers
/// (autogroup, where there is one).
pub const PREFERRED: [&str; 6] =
    ["setsid", "-w", "sh", "-c", "echo -15 2>&- >/proc/self/autogroup; exec \"$@\"", "sh"];

/// The output and result of one call.
#[derive(Debug)]
pub struct Done {
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

impl Done {
    /// Returns whether stderr is exactly one line, without panic or backtrace.
    pub fn is_one_clear_line(&self) -> bool {
        let lines = self.err.trim_end().lines().count();
        lines == 1 && !self.err.contains("panicked") && !self.err.contains("RUST_BACKTRACE")
    }
}

/// Runs `anechoic` with these arguments.
pub fn anechoic(args: &[&str]) -> Done {
    command(ANECHOIC, args)
}

/// Runs `anechoic` and what it starts so that others of the host hardly delay them.
pub fn preferred(args: &[&str]) -> Done {
    command(PREFERRED[0], &[&PREFERRED[1..], &[ANECHOIC], args].concat())
}

/// Runs any command.
pub fn command(program: &str, args: &[&str]) -> Done {
    run(Command::new(program).args(args))
}

/// Runs a prepared command, while no test of another thread needs the machine alone.
pub fn run(command: &mut Command) -> Done {
    let _turn = turn::among_others();
    wait(spawn(command))
}

/// Starts `anechoic` and leaves it running.
pub fn start(args: &[&str]) -> Child {
    spawn(Command::new(ANECHOIC).args(args))
}

/// Starts a prepared command and captures its output.
pub fn spawn(command: &mut Command) -> Child {
    let command = signals_as_usual(command).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().unwrap_or_else(|error| panic!("{command:?}: {error}"))
}

/// Sends a signal by name to a process that this test started.
pub fn signal(child: &Child, name: &str) {
    let pid = child.id().to_string();
    let sent = Command::new("kill").args(["-s", name, &pid]).status().expect("kill");
    assert!(sent.success(), "kill -s {name} {pid}");
}

/// Waits for a child and takes its output.
pub fn wait(child: Child) -> Done {
    let Output { status, stdout, stderr } = child.wait_with_output().expect("it ends");
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    Done { code: status.code(), out: text(stdout), err: text(stderr) }
}

/// Waits until a recording reports that it is running.
pub fn until_running(dir: &Path) {
    for _ in 0..200 {
        if dir.join("run.json").exists() {
            std::thread::sleep(Duration::from_millis(500)); // past the common start
            return;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    panic!("no run.json in {}", dir.display());
}

/// Returns whether the host left the CPU alone, from the result of `inject --verify`: durations are then
/// right. A quiet host makes some hundred detours per second.
pub fn calm(row: &serde_json::Value) -> bool {
    row["seen"]["extra_per_s"].as_f64().is_some_and(|extra| extra < 2_000.0)
}

/// Returns whether this test may record kernel events; notes the reason if not.
pub fn may_trace() -> bool {
    let root = command("id", &["-u"]).out.trim() == "0";
    if !root {
        note::skipped("needs root (kernel events)");
    }
    root
}

/// Returns the CPU that gets noise, the last one; `None`, with the reason noted, if this test may not make any.
pub fn noisy() -> Option<String> {
    let allowed = cpus::allowed();
    let (Some(last), true) = (allowed.last(), allowed.len() > 1) else {
        note::skipped("needs two CPUs");
        return None;
    };
    (may_trace() && may_be_real_time()).then(|| last.to_string())
}

/// Returns whether this test may start real-time threads; notes the reason if not.
pub fn may_be_real_time() -> bool {
    let permitted = command("chrt", &["-f", "1", "true"]).code == Some(0);
    if !permitted {
        note::skipped("may not use SCHED_FIFO");
    }
    permitted
}

/// A path as an argument.
pub fn arg(path: &Path) -> &str {
    path.to_str().expect("temporary paths are UTF-8")
}

/// Returns the JSON of `summary` for a recording.
pub fn summary(dir: &Path) -> serde_json::Value {
    let done = anechoic(&["summary", "--json", arg(dir)]);
    serde_json::from_str(&done.out).unwrap_or_else(|e| panic!("{e}: {} {}", done.out, done.err))
}
