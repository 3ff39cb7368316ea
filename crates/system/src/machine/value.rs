//! Readers of the present values of settings; each function serves some rows of [`super::SETTINGS`].

use super::Root;
use crate::cpus;
use std::collections::BTreeMap;

/// Reads a setting from its row's file.
pub type Reader = fn(&Root, &str) -> Option<String>;

/// The text of an empty list of CPUs.
pub const NONE: &str = "none";

/// Returns the file's text.
pub fn text(root: &Root, file: &str) -> Option<String> {
    root.read(file)
}

/// Returns nothing, because the kernel does not show what is in effect.
pub fn unreadable(_: &Root, _: &str) -> Option<String> {
    None
}

/// Returns the chosen word of `always [madvise] never`.
pub fn choice(root: &Root, file: &str) -> Option<String> {
    let text = root.read(file)?;
    chosen(&text, '[', ']').map(str::to_owned)
}

fn chosen(text: &str, open: char, close: char) -> Option<&str> {
    let (_, rest) = text.split_once(open)?;
    Some(rest.split_once(close)?.0)
}

/// Returns a list of CPUs under `/sys/devices/system/cpu`.
///
/// A kernel built without the feature has no such file; then no CPU has the feature.
pub fn cpu_list(root: &Root, file: &str) -> Option<String> {
    match root.read(file) {
        Some(text) => Some(list_or_none(&text)),
        None => root.exists("/sys/devices/system/cpu/online").then(|| NONE.to_owned()),
    }
}

/// Returns a list of CPUs from a file that not every system has.
pub(crate) fn present_list(root: &Root, file: &str) -> Option<String> {
    root.read(file).map(|text| list_or_none(&text))
}

/// Kernels print an empty mask as nothing or as `(null)`.
fn list_or_none(text: &str) -> String {
    if text.is_empty() || text == "(null)" { NONE.to_owned() } else { text.to_owned() }
}

/// Reads a hexadecimal mask (`ff,ffffffff`) as a list of CPUs.
pub fn mask(root: &Root, file: &str) -> Option<String> {
    Some(list_or_none(&list_from_mask(&root.read(file)?)?))
}

/// Converts a hexadecimal mask to a list of CPUs, which may be empty.
pub(crate) fn list_from_mask(mask: &str) -> Option<String> {
    mask_cpus(mask).map(|cpus| cpus::list(&cpus))
}

/// Converts CPUs to a hexadecimal mask in words of 32 bits.
pub(crate) fn mask_from_cpus(cpus: &[u32]) -> String {
    let words = cpus.iter().max().map_or(0, |last| last / 32);
    let texts = (0..=words).rev().map(|at| format!("{:08x}", word(cpus, at)));
    texts.collect::<Vec<String>>().join(",")
}

/// Returns the bits of the CPUs from 32 times `at` on.
fn word(cpus: &[u32], at: u32) -> u32 {
    let bits = cpus.iter().filter(|cpu| *cpu / 32 == at);
    bits.fold(0, |sum, cpu| sum | 1 << (cpu % 32))
}

fn mask_cpus(mask: &str) -> Option<Vec<u32>> {
    let mut cpus = Vec::new();
    for (word, text) in (0u32..).zip(mask.rsplit(',')) {
        let bits = u32::from_str_radix(text, 16).ok()?;
        cpus.extend((0..32).filter(|bit| bits >> bit & 1 == 1).map(|bit| word * 32 + bit));
    }
    Some(cpus)
}

/// Returns the value of every entry of a directory (`*` in the file's name is its number), with the entries
/// if they differ: `performance (0-3), powersave (4-7)`.
pub(crate) fn per_entry(root: &Root, file: &str) -> Option<String> {
    numbered(root, file, |path| root.read(path))
}

/// Lists the idle states of every CPU, from its directory, with disabled ones in brackets.
pub(crate) fn idle_states(root: &Root, file: &str) -> Option<String> {
    numbered(root, file, |directory| {
        let states = root.names(directory).into_iter().filter(|name| name.starts_with("state"));
        let states = states.filter_map(|name| {
            let text = root.read(&format!("{directory}/{name}/name"))?;
            let off = root.number(&format!("{directory}/{name}/disable")) == Some(1);
            Some(if off { format!("[{text}]") } else { text })
        });
        let states: Vec<String> = states.collect();
        (!states.is_empty()).then(|| states.join(" "))
    })
}

fn numbered(root: &Root, file: &str, read: impl Fn(&str) -> Option<String>) -> Option<String> {
    let (before, after) = file.split_once('*')?;
    let (directory, prefix) = before.rsplit_once('/')?;
    let mut values: BTreeMap<String, Vec<u32>> = BTreeMap::new();
    for name in root.names(directory) {
        let number = name.strip_prefix(prefix).and_then(|number| number.parse().ok());
        let Some(number) = number else { continue };
        if let Some(value) = read(&format!("{before}{number}{after}")) {
            values.entry(value).or_default().push(number);
        }
    }
    if values.len() < 2 {
        return values.into_keys().next();
    }
    let parts = values.into_iter().map(|(value, mut numbers)| {
        numbers.sort_unstable();
        format!("{value} ({})", cpus::list(&numbers))
    });
    Some(parts.collect::<Vec<_>>().join(", "))
}

/// Returns the CPUs whose RCU callbacks run in separate threads (`rcuop/3`, `rcuos/3`).
pub(crate) fn rcu_offloaded(root: &Root, _: &str) -> Option<String> {
    let names = process_names(root)?;
    let cpus = names.iter().filter_map(|name| {
        let (kind, cpu) = name.split_once('/')?;
        ["rcuop", "rcuos", "rcuob"].contains(&kind).then(|| cpu.parse().ok())?
    });
    let mut found: Vec<u32> = cpus.collect();
    found.sort_unstable();
    Some(list_or_none(&cpus::list(&found)))
}

/// Returns whether the irqbalance daemon runs.
pub(crate) fn irqbalance(root: &Root, _: &str) -> Option<String> {
    let runs = process_names(root)?.iter().any(|name| name == "irqbalance");
    Some(if runs { "running" } else { "not running" }.to_owned())
}

/// Returns the text of a file in this process's own cgroup.
pub(crate) fn own_cgroup(root: &Root, file: &str) -> Option<String> {
    root.read(&format!("{}/{file}", super::cgroup::unified(root)?))
}

/// Returns the kind of partition that was requested: the first word, because an invalid one reads `isolated
/// invalid (REASON)`.
pub(crate) fn own_cgroup_kind(root: &Root, file: &str) -> Option<String> {
    Some(own_cgroup(root, file)?.split_whitespace().next()?.to_owned())
}

/// Returns the devices and files used for swap.
pub(crate) fn swaps(root: &Root, file: &str) -> Option<String> {
    let text = root.read(file)?;
    let names: Vec<&str> =
        text.lines().skip(1).filter_map(|line| line.split_whitespace().next()).collect();
    Some(if names.is_empty() { NONE.to_owned() } else { names.join(" ") })
}

/// Returns the preemption mode, from debugfs if that is mounted, or else as far as the version shows it.
pub(crate) fn preemption(root: &Root, file: &str) -> Option<String> {
    if let Some(mode) = root.read(file).as_deref().and_then(|text| chosen(text, '(', ')')) {
        return Some(mode.to_owned());
    }
    let version = root.read("/proc/sys/kernel/version")?;
    let modes = [
        ("PREEMPT_RT", "rt"),
        ("PREEMPT_DYNAMIC", "dynamic"),
        ("PREEMPT_LAZY", "lazy"),
        ("PREEMPT", "full"),
    ];
    let mode = modes.iter().find(|(word, _)| version.split(' ').any(|w| w == *word));
    Some(mode.map_or("none or voluntary", |(_, mode)| mode).to_owned())
}

/// Returns whether pressure stall information is collected.
pub(crate) fn psi(root: &Root, file: &str) -> Option<String> {
    if !root.exists("/proc/sys/kernel") {
        return None;
    }
    // The file exists but cannot be read if the feature is switched off.
    Some(if root.read(file).is_some() { "on" } else { "off" }.to_owned())
}

/// Lists the mitigated and the unmitigated CPU vulnerabilities.
pub(crate) fn mitigations(root: &Root, directory: &str) -> Option<String> {
    let mut found: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for name in root.names(directory) {
        match root.read(&format!("{directory}/{name}")) {
            Some(text) if text.starts_with("Mitigation") => {
                found.entry("mitigated").or_default().push(name);
            }
            Some(text) if text.starts_with("Vulnerable") => {
                found.entry("vulnerable").or_default().push(name);
            }
            _ => {}
        }
    }
    if found.is_empty() {
        return root.exists(directory).then(|| "not affected".to_owned());
    }
    let parts = found.iter().map(|(state, names)| format!("{state}: {}", names.join(" ")));
    Some(parts.collect::<Vec<_>>().join("; "))
}

/// Returns the names of all processes and kernel threads. Returns `None` in a PID namespace, where they are
/// hidden and process 2 is not the kernel's.
fn process_names(root: &Root) -> Option<Vec<String>> {
    if root.read("/proc/2/comm")? != "kthreadd" {
        return None;
    }
    let pids = root.names("/proc").into_iter().filter(|name| name.parse::<u32>().is_ok());
    Some(pids.filter_map(|pid| root.read(&format!("/proc/{pid}/comm"))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_become_lists() {
        let cases: &[(&str, Option<&str>)] = &[
            ("3", Some("0-1")),
            ("ff,ffffffff", Some("0-39")),
            ("00000000,00000100", Some("8")),
            ("0", Some("")),
            ("", None),
            ("1ffffffff", None),
            ("x", None),
        ];
        for (text, expected) in cases {
            let got = mask_cpus(text).map(|cpus| cpus::list(&cpus));
            assert_eq!(got.as_deref(), *expected, "case: {text}");
        }
        for list in ["0-1", "0-39", "8", "31-32,64", "0"] {
            let mask = mask_from_cpus(&cpus::parse(list).expect("a list"));
            assert_eq!(list_from_mask(&mask).as_deref(), Some(list), "{mask}");
        }
    }

    #[test]
    fn readers_read_what_kernels_write() {
        type Case<'a> = (&'a str, Reader, &'a str, &'a [(&'a str, &'a str)], Option<&'a str>);
        let cases: &[Case] = &[
            ("choice", choice, "/f", &[("f", "always [madvise] never\n")], Some("madvise")),
            ("no choice", choice, "/f", &[("f", "always\n")], None),
            ("null list", cpu_list, "/f", &[("f", "(null)\n")], Some("none")),
            ("no list", cpu_list, "/f", &[], None),
            (
                "feature not built",
                cpu_list,
                "/f",
                &[("sys/devices/system/cpu/online", "0")],
                Some("none"),
            ),
            (
                "all alike",
                per_entry,
                "/cpu*/g",
                &[("cpu0/g", "a"), ("cpu1/g", "a"), ("cpux/g", "b")],
                Some("a"),
            ),
            (
                "different",
                per_entry,
                "/cpu*/g",
                &[("cpu0/g", "a"), ("cpu10/g", "b"), ("cpu9/g", "b")],
                Some("a (0), b (9-10)"),
            ),
            (
                "idle states",
                idle_states,
                "/cpu*",
                &[
                    ("cpu0/state0/name", "POLL"),
                    ("cpu0/state1/name", "C6"),
                    ("cpu0/state1/disable", "1"),
                ],
                Some("POLL [C6]"),
            ),
            ("no idle states", idle_states, "/cpu*", &[("cpu0/driver", "x")], None),
            (
                "offloaded",
                rcu_offloaded,
                "",
                &[
                    ("proc/2/comm", "kthreadd"),
                    ("proc/30/comm", "rcuop/3"),
                    ("proc/31/comm", "rcuop/2"),
                    ("proc/32/comm", "rcuog/0"),
                ],
                Some("2-3"),
            ),
            (
                "daemon",
                irqbalance,
                "",
                &[("proc/2/comm", "kthreadd"), ("proc/7/comm", "irqbalance\n")],
                Some("running"),
            ),
            ("pid namespace", irqbalance, "", &[("proc/2/comm", "bash")], None),
            ("no swap", swaps, "/s", &[("s", "Filename Type\n")], Some("none")),
            (
                "swap",
                swaps,
                "/s",
                &[("s", "Filename Type\n/dev/sda2 partition 1 0 -2\n")],
                Some("/dev/sda2"),
            ),
            (
                "preemption from debugfs",
                preemption,
                "/p",
                &[("p", "none voluntary (full) lazy")],
                Some("full"),
            ),
            (
                "from version",
                preemption,
                "/p",
                &[("proc/sys/kernel/version", "#1 SMP PREEMPT_DYNAMIC @0")],
                Some("dynamic"),
            ),
            (
                "none in version",
                preemption,
                "/p",
                &[("proc/sys/kernel/version", "#1 SMP")],
                Some("none or voluntary"),
            ),
            (
                "mitigations",
                mitigations,
                "/v",
                &[("v/a", "Vulnerable: x"), ("v/b", "Mitigation: y"), ("v/c", "Not affected")],
                Some("mitigated: b; vulnerable: a"),
            ),
            ("no mitigations", mitigations, "/v", &[], None),
        ];
        for (case, read, file, files, expected) in cases {
            let (_directory, root) = Root::tree(files);
            let got = read(&root, file);
            assert_eq!(got.as_deref(), *expected, "case: {case}");
        }
    }
}
