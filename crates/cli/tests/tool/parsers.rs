//! Parsers that others wrote, in one Python process: they decide whether what the command writes is well-formed.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// The modules that the parsers need besides Python's own.
const MODULES: &str = "import html5lib, prometheus_client, pyarrow.parquet";

/// The running parsers, which end with this.
pub struct Parsers {
    child: Child,
    input: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Drop for Parsers {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Parsers {
    /// Starts them; `None` where the environment of `make notebook` is missing.
    pub fn start() -> Option<Self> {
        let python = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/notebook/bin/python");
        let ready = Command::new(&python).args(["-c", MODULES]).output();
        if !ready.is_ok_and(|done| done.status.success()) {
            return None;
        }
        let mut command = Command::new(python);
        command.args(["-c", include_str!("parsers.py")]);
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("it was started before");
        let input = child.stdin.take().expect("a pipe");
        let answers = BufReader::new(child.stdout.take().expect("a pipe"));
        Some(Self { child, input, answers })
    }

    /// Returns what a parser of this kind objects to.
    pub fn objection(&mut self, kind: &str, content: &[u8]) -> Option<String> {
        writeln!(self.input, "{kind} {}", content.len()).expect("it runs");
        self.input.write_all(content).and_then(|()| self.input.flush()).expect("it runs");
        let mut answer = String::new();
        self.answers.read_line(&mut answer).expect("it answers");
        (answer != "ok\n").then_some(answer)
    }
}
