//! Who keeps a CPU: the real-time threads that execute there or could.

use crate::stat::{LAST_CPU, field};
use std::fmt::{self, Display, Formatter};
use std::fs;
use std::path::Path;

/// Number of the field with the state of a thread.
const STATE: usize = 3;
/// Number of the field with its real-time priority, 0 without one.
const PRIORITY: usize = 40;
/// Number of the field with its policy.
const POLICY: usize = 41;

/// A real-time thread that keeps a CPU.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holder {
    /// The CPU.
    pub cpu: u32,
    /// Thread id.
    pub tid: i32,
    /// Its name.
    pub name: String,
    /// Its priority, from 1 to 99; 100 with a deadline.
    pub priority: u32,
}

impl Display for Holder {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self { cpu, tid, name, priority } = self;
        match priority {
            100.. => write!(f, "thread {name} ({tid}, SCHED_DEADLINE) has CPU {cpu}"),
            _ => write!(f, "thread {name} ({tid}, real-time priority {priority}) has CPU {cpu}"),
        }
    }
}

/// Returns for each of these CPUs the real-time thread of highest priority that is runnable there, as /proc shows them now; the
/// calling process is left out. CPUs without one are missing.
#[must_use]
pub fn holders(cpus: &[u32]) -> Vec<Holder> {
    let own = std::process::id().to_string();
    let processes = names_in(Path::new("/proc"));
    let others =
        processes.filter(|name| name.starts_with(|c: char| c.is_ascii_digit()) && *name != own);
    let tasks = others.flat_map(|process| {
        let tasks = Path::new("/proc").join(process).join("task");
        names_in(&tasks).map(move |task| tasks.join(task).join("stat"))
    });
    let mut found: Vec<Holder> = vec![];
    for holder in tasks.filter_map(|stat| held(&String::from_utf8_lossy(&fs::read(stat).ok()?))) {
        if !cpus.contains(&holder.cpu) {
            continue;
        }
        match found.iter_mut().find(|known| known.cpu == holder.cpu) {
            Some(known) if known.priority < holder.priority => *known = holder,
            Some(_) => {}
            None => found.push(holder),
        }
    }
    found.sort_by_key(|holder| holder.cpu);
    found
}

fn names_in(dir: &Path) -> impl Iterator<Item = String> + use<> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().into_string().ok())
}

/// Reads the kernel's line on a thread; absent unless it is a real-time thread that is runnable.
fn held(stat: &str) -> Option<Holder> {
    let is_runnable = field::<String>(stat, STATE)? == "R";
    let policy: u32 = field(stat, POLICY)?;
    let priority = match policy {
        6 => 100, // SCHED_DEADLINE comes before all others
        _ => field(stat, PRIORITY)?,
    };
    let (tid, rest) = stat.split_once(" (")?;
    let (name, _) = rest.rsplit_once(')')?;
    // A thread names itself as it likes, also with a line break.
    let name = name.replace(char::is_control, "?");
    let holder = Holder { cpu: field(stat, LAST_CPU)?, tid: tid.parse().ok()?, name, priority };
    (is_runnable && priority > 0).then_some(holder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_is_no_text_or_has_a_line_break_stays_one_line() {
        let zeros = vec!["0"; 35].join(" ");
        let rest = format!(") R {zeros} 5 99 1 0 0\n");
        let stat = [&b"77 (a\xff\nb"[..], rest.as_bytes()].concat();
        let holder = held(&String::from_utf8_lossy(&stat)).expect("it is runnable");
        assert_eq!((holder.tid, holder.cpu, &*holder.name), (77, 5, "a\u{fffd}?b"));
    }

    #[test]
    fn a_runnable_real_time_thread_is_read_whatever_its_name() {
        let stat = |state: &str, priority: u32, policy: u32| {
            let zeros = vec!["0"; 35].join(" ");
            format!("77 (a) R (b) {state} {zeros} 5 {priority} {policy} 0 0")
        };
        let holder = |priority| Some(Holder { cpu: 5, tid: 77, name: "a) R (b".into(), priority });
        let cases = [
            ("FIFO", stat("R", 99, 1), holder(99)),
            ("deadline", stat("R", 0, 6), holder(100)),
            ("sleeps", stat("S", 99, 1), None),
            ("ordinary", stat("R", 0, 0), None),
            ("cut off", "77 (a".into(), None),
            ("empty", String::new(), None),
        ];
        for (name, stat, expected) in cases {
            assert_eq!(held(&stat), expected, "case: {name}");
        }
        let words = holder(99).map(|holder| holder.to_string());
        assert_eq!(words.as_deref(), Some("thread a) R (b (77, real-time priority 99) has CPU 5"));
    }
}
