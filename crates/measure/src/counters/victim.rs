//! What the kernel counts for one thread of this process.

use std::fs;
use std::path::Path;

/// A thread that measures, and the CPU that it is pinned to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Victim {
    /// The CPU.
    pub cpu: u32,
    /// The thread, as `gettid` numbers it.
    pub tid: i32,
}

impl Victim {
    /// Its counters by name; those that cannot be read are left out.
    pub(super) fn read(&self, proc: &Path) -> Vec<(&'static str, u64)> {
        let directory = proc.join(format!("self/task/{}", self.tid));
        let text = |file: &str| {
            let bytes = fs::read(directory.join(file)).unwrap_or_default();
            String::from_utf8_lossy(&bytes).into_owned()
        };
        let mut counters = switches(&text("status"));
        counters.extend(faults(&text("stat")));
        counters.extend(run_delay(&text("schedstat")));
        counters
    }
}

const SWITCHES: &[(&str, &str)] = &[
    ("voluntary_ctxt_switches", "switches/voluntary"),
    ("nonvoluntary_ctxt_switches", "switches/involuntary"),
];

fn switches(status: &str) -> Vec<(&'static str, u64)> {
    let counter = |line: &str| {
        let (key, value) = line.split_once(':')?;
        let (_, name) = SWITCHES.iter().find(|(word, _)| *word == key)?;
        Some((*name, value.trim().parse().ok()?))
    };
    status.lines().filter_map(counter).collect()
}

/// Fields 10 and 12 of `stat`. Field 2, the name, may hold spaces and brackets: the last
/// bracket ends it.
fn faults(stat: &str) -> Vec<(&'static str, u64)> {
    let Some((_, rest)) = stat.rsplit_once(')') else { return Vec::new() };
    let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
    let field = |number: usize| fields.get(number - 3)?.parse().ok();
    let counters = [("faults/minor", field(10)), ("faults/major", field(12))];
    counters.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
}

/// The second number of `schedstat`: nanoseconds that the thread was runnable and did not run.
fn run_delay(schedstat: &str) -> Option<(&'static str, u64)> {
    let value = schedstat.split_ascii_whitespace().nth(1)?;
    Some(("victim/run_delay_ns", value.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_of_a_thread() {
        let status = "Name:\tx\nvoluntary_ctxt_switches:\t7\nnonvoluntary_ctxt_switches:\t9\n";
        assert_eq!(switches(status), [("switches/voluntary", 7), ("switches/involuntary", 9)]);
        assert_eq!(switches("nonvoluntary_ctxt_switches: -1\nvoluntary"), []);
        let both = [("faults/minor", 5), ("faults/major", 6)];
        type Case<'a> = (&'a str, &'a str, &'a [(&'a str, u64)]);
        let cases: &[Case] = &[
            ("plain", "1 (a) S 0 1 1 0 -1 0 5 0 6 0", &both),
            ("brackets in the name", "1 (a) 9) b) S 0 1 1 0 -1 0 5 0 6 0", &both),
            ("cut short", "1 (a) S 0 1 1 0 -1 0 5", &both[..1]),
            ("no bracket", "1 a S", &[]),
            ("empty", "", &[]),
        ];
        for (case, stat, expected) in cases {
            assert_eq!(faults(stat), *expected, "case: {case}");
        }
        assert_eq!(run_delay("800694 44056 3\n"), Some(("victim/run_delay_ns", 44056)));
        assert_eq!(run_delay("800694"), None);
    }
}
