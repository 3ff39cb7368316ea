//! Runs the built `anechoic` as a user would.
#![allow(dead_code, reason = "each test binary uses some of it")]

use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The binary under test.
pub const ANECHOIC: &str = env!("CARGO_BIN_EXE_anechoic");

/// Lets one test of a file run at a time: measurements disturb each other.
pub fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What one call printed and returned.
pub struct Done {
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

impl Done {
    /// Exactly one line on stderr, without panic or backtrace.
    pub fn is_one_clear_line(&self) -> bool {
        let lines = self.err.trim_end().lines().count();
        lines == 1 && !self.err.contains("panicked") && !self.err.contains("RUST_BACKTRACE")
    }
}

fn done(output: Output) -> Done {
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    Done { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
}

/// Runs `anechoic` with these arguments.
pub fn anechoic(args: &[&str]) -> Done {
    done(Command::new(ANECHOIC).args(args).output().expect("the binary runs"))
}

/// Runs any command.
pub fn command(program: &str, args: &[&str]) -> Done {
    done(Command::new(program).args(args).output().expect(program))
}

/// Starts `anechoic` and leaves it running.
pub fn start(args: &[&str]) -> Child {
    let pipes = || Stdio::piped();
    Command::new(ANECHOIC).args(args).stdout(pipes()).stderr(pipes()).spawn().expect("it starts")
}

/// Sends a signal by name to a process that this test started.
pub fn signal(child: &Child, name: &str) {
    let pid = child.id().to_string();
    let sent = Command::new("kill").args(["-s", name, &pid]).status().expect("kill");
    assert!(sent.success(), "kill -s {name} {pid}");
}

/// Waits for a child and takes its output.
pub fn wait(child: Child) -> Done {
    done(child.wait_with_output().expect("it ends"))
}

/// Waits until a recording says that it runs.
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

/// What is wrong with an attempt, and whether the host left the CPU alone meanwhile.
pub struct Wrong {
    calm: bool,
    what: String,
}

/// Tries until one attempt is right: a busy host spoils some, a fault of the tool spoils all. Where the host is
/// busy all the time nothing is judged, and that is said.
pub fn one_of(tries: u32, mut attempt: impl FnMut() -> Result<(), Wrong>) {
    let mut calm = 0;
    for _ in 0..tries {
        let Err(wrong) = attempt() else { return };
        println!("an attempt, host calm: {}: {}", wrong.calm, wrong.what);
        calm += u32::from(wrong.calm);
    }
    assert!(calm < 2, "none of {tries} attempts was right");
    println!("not judged: the host was too busy");
}

/// Asks that something holds; `calm` says whether the host left the CPU alone, so that it had to.
pub fn ensure(holds: bool, calm: bool, otherwise: impl FnOnce() -> String) -> Result<(), Wrong> {
    if holds { Ok(()) } else { Err(Wrong { calm, what: otherwise() }) }
}

/// Whether the host left the CPU alone, by what `inject --verify` says of it: durations are right then. A quiet
/// host makes some hundred detours a second.
pub fn calm(of: &serde_json::Value) -> bool {
    of["seen"]["extra_per_s"].as_f64().is_some_and(|extra| extra < 2_000.0)
}

/// Whether this test may record kernel events; says why not otherwise.
pub fn may_trace() -> bool {
    let root = command("id", &["-u"]).out.trim() == "0";
    if !root {
        println!("skipped: needs root (kernel events)");
    }
    root
}

/// A path as an argument.
pub fn arg(path: &Path) -> &str {
    path.to_str().expect("temporary paths are UTF-8")
}

/// What `summary --json` says of a recording.
pub fn summary(dir: &Path) -> serde_json::Value {
    let done = anechoic(&["summary", "--json", arg(dir)]);
    serde_json::from_str(&done.out).unwrap_or_else(|e| panic!("{e}: {} {}", done.out, done.err))
}
