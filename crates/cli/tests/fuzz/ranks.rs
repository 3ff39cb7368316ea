//! What ranks write for each other: two real ranks in directories of their own, and between them a relay that changes one
//! message.

use super::Reader;
use crate::faults::KNOWN;
use crate::tool::{self, ANECHOIC, arg};
use anechoic_lab::note;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// How long ranks wait for each other.
const PATIENCE: &str = "2s";
/// A job takes half a second; each rank may wait for the other twice, and leave.
const HANGS: Duration = Duration::from_secs(40);
/// Bytes before each message: its length.
const HEAD: usize = 8;

/// A message that is changed: its number in the order in which the relay sees them, and what it becomes.
type Changed<'a> = Option<(usize, &'a [u8])>;

/// The messages of a job, each after its number.
pub fn messages() -> Vec<Vec<u8>> {
    static MESSAGES: OnceLock<Vec<Vec<u8>>> = OnceLock::new();
    let job_messages = || {
        let place = tempfile::tempdir().expect("a directory");
        let messages = if is_possible() { job(place.path(), None) } else { vec![vec![]] };
        (0..).zip(messages).map(|(number, message)| [vec![number], message].concat()).collect()
    };
    MESSAGES.get_or_init(job_messages).clone()
}

pub fn read_message(dir: &Path) -> Reader {
    let (dir, possible) = (dir.join("job"), is_possible());
    if !possible {
        note::skipped("may not make another hostname (unshare --uts)");
    }
    Box::new(move |input| {
        // Unchanged, a message is that of another job.
        if !possible || messages().iter().any(|message| message == input) {
            return;
        }
        let Some((&number, content)) = input.split_first() else { return };
        let _ = fs::remove_dir_all(&dir);
        job(&dir, Some((number.into(), content)));
    })
}

fn is_possible() -> bool {
    tool::command("unshare", &["--uts", "true"]).code == Some(0)
}

/// Starts a rank on a host with a name of its own.
fn rank(number: u32, output: &Path) -> Child {
    let script = format!("hostname node{number} && exec \"$@\"");
    let mut command = Command::new("unshare");
    command.args(["--uts", "sh", "-c", &script, "sh", ANECHOIC, "run", "--rank-from-env", "-q"]);
    command.args([
        "--no-trace",
        "-d",
        "50ms",
        "--cpus",
        "0",
        "--patience",
        PATIENCE,
        "-o",
        arg(output),
    ]);
    tool::spawn(command.env("ANECHOIC_RANK", number.to_string()).env("ANECHOIC_SIZE", "2"))
}

/// Runs a job of two ranks, and returns the messages between them.
fn job(dir: &Path, changed: Changed<'_>) -> Vec<Vec<u8>> {
    let [first, second] = ["first", "second"].map(|name| dir.join(name));
    let mut ranks = [rank(0, &first), rank(1, &second)];
    let (mut relay, begun) = (Relay { changed, ..Relay::default() }, Instant::now());
    while ranks.iter_mut().any(|rank| rank.try_wait().expect("a child").is_none()) {
        relay.pass(&first.join(".ensemble"), &second.join(".ensemble"));
        std::thread::sleep(Duration::from_millis(2));
        if begun.elapsed() > HANGS {
            ranks.iter_mut().for_each(|rank| rank.kill().expect("a child"));
            panic!("the ranks hang");
        }
    }
    for (number, rank) in ranks.into_iter().enumerate() {
        let done = tool::wait(rank);
        assert!(
            done.code.is_some_and(|code| KNOWN.contains(&code)),
            "rank {number}: {:?} {}",
            done.code,
            done.err
        );
        assert!(!done.err.contains("panicked"), "rank {number}: {}", done.err);
        assert!(!done.err.contains('\u{1b}'), "rank {number}: {:?}", done.err);
        assert!(changed.is_some() || done.code < Some(2), "rank {number}: {}", done.err);
    }
    if let Ok(merged) = fs::read(first.join("cluster.json")) {
        serde_json::from_slice::<serde_json::Value>(&merged).expect("JSON");
    }
    relay.messages
}

/// Carries messages from one directory to another.
#[derive(Default)]
struct Relay<'a> {
    changed: Changed<'a>,
    /// The files that were carried.
    done: BTreeSet<PathBuf>,
    messages: Vec<Vec<u8>>,
}

impl Relay<'_> {
    /// Carries what is new between the places of rank 0 and rank 1.
    fn pass(&mut self, first: &Path, second: &Path) {
        if !first.exists() {
            if !self.done.is_empty() {
                let _ = fs::remove_dir_all(second); // rank 0 has left
            }
            return;
        }
        self.carry(first, second, Path::new(""), |name| {
            name.contains("from-first/") || ["welcome", "refused"].contains(&name)
        });
        self.carry(second, first, Path::new(""), |name| {
            name.contains("to-first/") || name.starts_with("hello/")
        });
    }

    fn carry(&mut self, from: &Path, to: &Path, below: &Path, wanted: fn(&str) -> bool) {
        for entry in fs::read_dir(from.join(below)).into_iter().flatten().flatten() {
            let path = below.join(entry.file_name());
            if entry.path().is_dir() {
                let _ = fs::create_dir_all(to.join(&path));
                self.carry(from, to, &path, wanted);
                continue;
            }
            let name = path.to_str().expect("names are UTF-8");
            let is_new = wanted(name)
                && !entry.file_name().to_string_lossy().starts_with('.')
                && !self.done.contains(&path);
            let Some(content) = fs::read(entry.path()).ok().filter(|_| is_new) else { continue };
            let content = self.changed_or(content);
            let staged = to.join(below).join(".relayed");
            let written = fs::write(&staged, content);
            if written.and_then(|()| fs::rename(&staged, to.join(&path))).is_ok() {
                self.done.insert(path);
            }
        }
    }

    /// Returns what a message becomes.
    fn changed_or(&mut self, content: Vec<u8>) -> Vec<u8> {
        let number = self.messages.len();
        self.messages.push(content.get(HEAD..).unwrap_or_default().to_vec());
        match self.changed {
            Some((changed, message)) if changed == number => {
                [&(message.len() as u64).to_le_bytes(), message].concat()
            }
            _ => content,
        }
    }
}
