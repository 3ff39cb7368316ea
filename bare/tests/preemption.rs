//! Preemptions: before each pass a second context does exactly its work. Every instruction takes one nanosecond here.

use crate::image::{DONE, boot, boot_on, check_series, field};
use std::collections::BTreeMap;

/// The kernels of the 32 experiments.
const KERNELS: [&str; 4] = ["read-sequential", "write-sequential", "read-random", "write-random"];

/// What the second context does in them.
const PREEMPTORS: [&str; 8] = [
    "sleep-short",
    "sleep-long",
    "read-short",
    "read-long",
    "write-short",
    "write-long",
    "code-short",
    "code-long",
];

/// A series: its passes, and the time before each of them but the first.
struct Passes {
    passes: Vec<u64>,
    before: Vec<u64>,
    other: String,
}

/// Returns the only number there is.
fn same(numbers: &[u64]) -> u64 {
    assert!(numbers.iter().all(|number| *number == numbers[0]), "{numbers:?}");
    numbers[0]
}

/// Returns the series of a result by their experiments and sizes.
fn series(text: &str) -> BTreeMap<(String, u64), Passes> {
    let (mut all, mut last) = (BTreeMap::new(), None);
    for line in text.lines() {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        let numbers = || rest.split(' ').map(|number| number.parse::<u64>().expect("a number"));
        match word {
            "series" => {
                let bytes = field(line, "bytes").parse().expect("its size");
                let key = (field(line, "experiment").to_owned(), bytes);
                let other = field(line, "other").to_owned();
                let old = all.insert(key.clone(), Passes { passes: vec![], before: vec![], other });
                assert!(old.is_none(), "measured twice: {line}");
                last = Some(key);
            }
            "s" => {
                let series = last.as_ref().and_then(|key| all.get_mut(key)).expect("a series");
                series.passes.extend(numbers());
            }
            "t" => {
                let series = last.as_ref().and_then(|key| all.get_mut(key)).expect("a series");
                series
                    .before
                    .extend(numbers().step_by(2).skip(usize::from(series.passes.is_empty())));
                series.passes.extend(numbers().skip(1).step_by(2));
            }
            _ => {}
        }
    }
    all
}

#[test]
fn a_second_context_does_exactly_its_work_before_each_pass() {
    let parameters = "memory --experiments preemption-* --sizes 4k-8k --quick --point-time 1ms\n\
                      memory --experiments bandwidth-*-sequential-warm --sizes 32k-32k --quick\n\
                      memory --experiments bandwidth-*-sequential-warm --sizes 4m-4m --quick\n\
                      memory --experiments bandwidth-*-warm --sizes 4k-8k --quick --point-time 1ms";
    let Some((code, text)) = boot(parameters) else { return };
    assert_eq!(code, DONE, "{text}");
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines.contains(&"state complete"), "{text}");
    assert_eq!(check_series(&lines, true), 32 * 2 + 2 + 2 + 6 * 2, "{text}");
    // This emulator hides its caches, so that the usual ones count.
    assert!(lines.contains(&"assumed-caches 32768 1048576 33554432"), "{text}");
    let all = series(&text);
    let measured = |experiment: &str, bytes: u64| &all[&(experiment.to_owned(), bytes)];
    let pass = |experiment: &str, bytes| same(&measured(experiment, bytes).passes);
    // What one pass over four second-level caches takes longer than one over a first-level cache.
    let longer = |kernel: &str| {
        let warm = format!("bandwidth-{kernel}-warm");
        pass(&warm, 4 << 20) - pass(&warm, 32 << 10)
    };
    let [reads, writes] = ["read-sequential", "write-sequential"].map(longer);
    // A line of code is an addition and a jump.
    let code = 2 * ((512 << 10) - (32 << 10)) / 64;
    for kernel in KERNELS {
        for bytes in [4 << 10, 8 << 10] {
            let preempted = |by: &str| measured(&format!("preemption-{kernel}-{by}"), bytes);
            let before = |by: &str| same(&preempted(by).before);
            let work = [("read", reads), ("write", writes), ("code", code)];
            for (by, longer) in work {
                let [short, long] =
                    ["short", "long"].map(|length| before(&format!("{by}-{length}")));
                assert_eq!(long - short, longer, "{kernel} {bytes} {by}");
            }
            // A time ends at the read of the counter that finds it over.
            for (by, ns) in [("sleep-short", 50_000), ("sleep-long", 500_000)] {
                assert!((ns..ns + 200).contains(&before(by)), "{by}: {}", before(by));
            }
            let others = ["sleep-long", "read-short", "write-long", "code-long"];
            let others = others.map(|by| &*preempted(by).other);
            assert_eq!(others, ["", "32768", "4194304", "524288"]);
        }
        // The pass itself is the same work after each of them, and as much as without a preemption.
        let after = |bytes| {
            let of_kernel =
                |by: &str| measured(&format!("preemption-{kernel}-{by}"), bytes).passes.clone();
            let all: Vec<Vec<u64>> = PREEMPTORS.iter().map(|by| of_kernel(by)).collect();
            assert!(all.iter().all(|passes| passes.len() >= 4), "{kernel} {bytes}");
            same(&all.concat())
        };
        let warm = |bytes| pass(&format!("bandwidth-{kernel}-warm"), bytes);
        assert_eq!(after(8 << 10) - after(4 << 10), warm(8 << 10) - warm(4 << 10), "{kernel}");
    }
}

#[test]
fn every_cpu_has_a_second_context_of_its_own() {
    let parameters = "together yes\n\
                      memory --experiments *-random-code-short,*-random-sleep-short --sizes 4k-4k --quick --point-time 1ms";
    let Some((code, text)) = boot_on(2, parameters) else { return };
    assert_eq!(code, DONE, "{text}");
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(check_series(&lines, false), 4 * 2, "{text}");
    assert!(lines.contains(&"state complete"), "{text}");
}
