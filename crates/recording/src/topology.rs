//! How close two CPUs are to each other.

use crate::machine::{Cpu, Machine};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::ops::RangeInclusive;

/// The closest resource that the interrupted CPU shares with the working one.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Proximity {
    /// They are the same CPU.
    SameThread,
    /// They are threads of one core.
    SmtSibling,
    /// They share a second-level cache.
    SharedL2,
    /// They share a cache of a higher level.
    SharedL3,
    /// They share a package.
    SameSocket,
    /// They are in different packages.
    OtherSocket,
    /// The machine does not report it.
    Unknown,
}

impl Proximity {
    /// All values, from the closest on.
    pub const ALL: [Self; 7] = [
        Self::SameThread,
        Self::SmtSibling,
        Self::SharedL2,
        Self::SharedL3,
        Self::SameSocket,
        Self::OtherSocket,
        Self::Unknown,
    ];

    /// Returns how close `source` and `cpu` are, as far as `machine` reports it.
    #[must_use]
    pub fn between(machine: &Machine, source: u32, cpu: u32) -> Self {
        if source == cpu {
            return Self::SameThread;
        }
        let find = |number| machine.cpus.iter().find(|known| known.cpu == number);
        let (Some(a), Some(b)) = (find(source), find(cpu)) else { return Self::Unknown };
        if lists(&a.siblings, cpu) || lists(&b.siblings, source) {
            Self::SmtSibling
        } else if shares(a, cpu, |level| level == 2) {
            Self::SharedL2
        } else if shares(a, cpu, |level| level > 2) {
            Self::SharedL3
        } else {
            match (a.package, b.package) {
                (Some(a), Some(b)) if a == b => Self::SameSocket,
                (Some(_), Some(_)) => Self::OtherSocket,
                _ => Self::Unknown,
            }
        }
    }
}

/// Returns whether `other` shares a cache of such a level with `cpu`.
fn shares(other: &Cpu, cpu: u32, level: impl Fn(u32) -> bool) -> bool {
    other.caches.iter().any(|cache| level(cache.level) && lists(&cache.shared_cpus, cpu))
}

/// Writes CPUs as a list: `0-3,8`.
#[must_use]
pub fn list(cpus: &[u32]) -> String {
    let runs = cpus.chunk_by(|a, b| a.checked_add(1) == Some(*b));
    let texts: Vec<String> = runs
        .map(|run| match run {
            [one] => one.to_string(),
            [first, .., last] => format!("{first}-{last}"),
            [] => String::new(),
        })
        .collect();
    texts.join(",")
}

/// Returns the ranges of CPUs in a list such as `0-3,8`; what is not a range is left out.
pub fn ranges(list: &str) -> impl Iterator<Item = RangeInclusive<u32>> {
    list.split(',').filter_map(|part| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        Some(first.trim().parse().ok()?..=last.trim().parse().ok()?)
    })
}

/// Returns whether a list of CPUs contains `cpu`.
fn lists(list: &str, cpu: u32) -> bool {
    ranges(list).any(|range| range.contains(&cpu))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::Cache;

    fn cpu(cpu: u32, package: Option<u32>, siblings: &str, caches: [&str; 3]) -> Cpu {
        let cache = |(level, shared_cpus): (u32, &str)| Cache {
            level,
            kind: "Unified".into(),
            size_bytes: 0,
            line_bytes: 64,
            ways: 8,
            shared_cpus: shared_cpus.into(),
        };
        Cpu {
            cpu,
            class: String::new(),
            package,
            core: None,
            node: None,
            siblings: siblings.into(),
            caches: (1..).zip(caches).map(cache).collect(),
            governor: None,
        }
    }

    #[test]
    fn lists_are_written() {
        let lists = [&[0, 1, 2, 3, 8][..], &[3], &[], &[u32::MAX, 0]].map(list);
        assert_eq!(lists, ["0-3,8", "3", "", "4294967295,0"]);
    }

    #[test]
    fn the_nearest_counts() {
        let machine = Machine {
            host: String::new(),
            model: String::new(),
            arch: String::new(),
            kernel: String::new(),
            command_line: String::new(),
            tick_hz: None,
            hypervisor: None,

            confidential: None,
            data_tlb: None,
            online: String::new(),
            allowed: String::new(),
            smt: None,
            memory_bytes: 0,
            cpus: vec![
                cpu(0, Some(0), "0,4", ["0,4", "0-1,4-5", "0-2,4-6"]),
                cpu(1, Some(0), "1,5", ["1,5", "0-1,4-5", "0-2,4-6"]),
                cpu(2, Some(0), "2,6", ["2,6", "2,6", "0-2,4-6"]),
                cpu(3, Some(0), "3", ["3", "3", "3"]),
                cpu(4, Some(0), "0,4", ["0,4", "0-1,4-5", "0-2,4-6"]),
                cpu(7, Some(1), "7", ["7", "7", "7"]),
                cpu(8, None, "", ["", "x-", "0-4294967295-7"]),
            ],
            settings: vec![],
        };
        let cases = [
            (0, 0, Proximity::SameThread),
            (0, 4, Proximity::SmtSibling),
            (4, 0, Proximity::SmtSibling),
            (0, 1, Proximity::SharedL2),
            (4, 1, Proximity::SharedL2),
            (0, 2, Proximity::SharedL3),
            (2, 1, Proximity::SharedL3),
            (0, 3, Proximity::SameSocket),
            (0, 7, Proximity::OtherSocket),
            (0, 8, Proximity::Unknown),
            (0, 99, Proximity::Unknown),
            (99, 99, Proximity::SameThread),
        ];
        for (source, cpu, expected) in cases {
            assert_eq!(Proximity::between(&machine, source, cpu), expected, "{source} on {cpu}");
        }
    }
}
