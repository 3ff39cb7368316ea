//! The place of each CPU: package, core, node, siblings, caches, class and governor.

use super::Root;
use anechoic_recording::machine::{Cache, Cpu};
use std::collections::BTreeMap;

/// Describes the `online` CPUs.
pub fn cpus(root: &Root, online: &[u32], models: &BTreeMap<u32, String>) -> Vec<Cpu> {
    let types = core_types(root, online);
    let described = online.iter().map(|&cpu| {
        let base = format!("/sys/devices/system/cpu/cpu{cpu}");
        let core_type = types.get(&cpu).map(String::as_str);
        let class = [models.get(&cpu).map(String::as_str), core_type];
        let siblings = root.cpus(&format!("{base}/topology/thread_siblings_list"));
        Cpu {
            cpu,
            class: class.into_iter().flatten().collect::<Vec<_>>().join(", "),
            package: root.number(&format!("{base}/topology/physical_package_id")),
            core: root.number(&format!("{base}/topology/core_id")),
            node: node(root, &base),
            siblings: crate::cpus::list(&siblings.unwrap_or_default()),
            caches: caches(root, &base),
            governor: root.read(&format!("{base}/cpufreq/scaling_governor")),
        }
    });
    described.collect()
}

/// Returns the NUMA node, from the link `nodeN` in a CPU's directory.
fn node(root: &Root, base: &str) -> Option<u32> {
    root.names(base).iter().find_map(|name| name.strip_prefix("node")?.parse().ok())
}

fn caches(root: &Root, base: &str) -> Vec<Cache> {
    let base = format!("{base}/cache");
    let indexes = root.names(&base).into_iter().filter(|name| name.starts_with("index"));
    indexes.filter_map(|index| cache(root, &format!("{base}/{index}"))).collect()
}

/// Describes a cache, if all of it can be read (many ARM systems give no sizes).
fn cache(root: &Root, base: &str) -> Option<Cache> {
    Some(Cache {
        level: root.number(&format!("{base}/level"))?,
        kind: root.read(&format!("{base}/type"))?,
        size_bytes: size_bytes(&root.read(&format!("{base}/size"))?)?,
        line_bytes: root.number(&format!("{base}/coherency_line_size"))?,
        ways: root.number(&format!("{base}/ways_of_associativity")).unwrap_or(0),
        shared_cpus: crate::cpus::list(&root.cpus(&format!("{base}/shared_cpu_list"))?),
    })
}

/// Parses a size of sysfs: `32K`, `8M`.
fn size_bytes(text: &str) -> Option<u64> {
    let number = text.trim_end_matches(['K', 'M', 'G']);
    let unit: u64 = match &text[number.len()..] {
        "" => 1,
        "K" => 1 << 10,
        "M" => 1 << 20,
        "G" => 1 << 30,
        _ => return None,
    };
    number.parse::<u64>().ok()?.checked_mul(unit)
}

/// Directories that list the CPUs of each core type of a hybrid Intel processor.
const HYBRID: &[(&str, &str)] = &[
    ("/sys/devices/cpu_core/cpus", "performance core"),
    ("/sys/devices/cpu_atom/cpus", "efficient core"),
    ("/sys/devices/cpu_lowpower/cpus", "low-power core"),
];

/// Returns what distinguishes CPUs of one model, if anything: the hybrid core type, or else the scheduler's
/// capacity, or else the highest frequency.
fn core_types(root: &Root, online: &[u32]) -> BTreeMap<u32, String> {
    let mut types = BTreeMap::new();
    for (path, name) in HYBRID {
        let cpus = root.cpus(path).unwrap_or_default();
        types.extend(cpus.into_iter().map(|cpu| (cpu, (*name).to_owned())));
    }
    if !types.is_empty() {
        return types;
    }
    let read = |file: &str| -> BTreeMap<u32, u64> {
        let value = |cpu| root.number(&format!("/sys/devices/system/cpu/cpu{cpu}/{file}"));
        online.iter().filter_map(|&cpu| Some((cpu, value(cpu)?))).collect()
    };
    let capacity = grouped(&read("cpu_capacity"));
    if !capacity.is_empty() {
        return named(capacity, |value| format!("capacity {value}"));
    }
    let frequency = grouped(&read("cpufreq/cpuinfo_max_freq"));
    named(frequency, |khz| format!("up to {:.1} GHz", khz as f64 / 1e6))
}

fn named(groups: BTreeMap<u32, u64>, name: impl Fn(u64) -> String) -> BTreeMap<u32, String> {
    groups.into_iter().map(|(cpu, value)| (cpu, name(value))).collect()
}

/// Groups CPUs whose values are within 10 % of the largest of their group, and returns that largest value for
/// each CPU. Returns nothing if all CPUs are one group.
///
/// The margin keeps CPUs together that differ only by their favoured-core rank.
fn grouped(values: &BTreeMap<u32, u64>) -> BTreeMap<u32, u64> {
    let mut sorted: Vec<u64> = values.values().copied().collect();
    sorted.sort_unstable_by(|a, b| b.cmp(a));
    let mut heads: Vec<u64> = Vec::new();
    for value in sorted {
        if heads.last().is_none_or(|&head| value < head - head / 10) {
            heads.push(value);
        }
    }
    if heads.len() < 2 {
        return BTreeMap::new();
    }
    let head = |value: u64| heads.iter().rev().find(|&&head| head >= value).copied();
    values.iter().filter_map(|(&cpu, &value)| Some((cpu, head(value)?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        let cases: &[(&str, Option<u64>)] = &[
            ("32K", Some(32768)),
            ("32768K", Some(33_554_432)),
            ("8M", Some(8_388_608)),
            ("64", Some(64)),
            ("", None),
            ("K", None),
            ("32KK", None),
            ("-1K", None),
            ("18446744073709551615K", None),
            ("32KB", None),
        ];
        for (text, expected) in cases {
            assert_eq!(size_bytes(text), *expected, "case: {text}");
        }
    }

    #[test]
    fn groups_keep_favoured_cores_together() {
        let cases: &[(&str, &[u64], &[u64])] = &[
            ("all equal", &[1024, 1024], &[]),
            ("favoured cores", &[5_400_000, 5_200_000, 5_000_000], &[]),
            ("big and little", &[446, 1024, 446, 1024], &[446, 1024, 446, 1024]),
            (
                "three kinds",
                &[5_100_000, 5_000_000, 3_300_000, 900_000],
                &[5_100_000, 5_100_000, 3_300_000, 900_000],
            ),
            ("none", &[], &[]),
            ("zeros", &[0, 0], &[]),
        ];
        for (case, values, expected) in cases {
            let numbered = |v: &[u64]| (0..).zip(v.iter().copied()).collect::<BTreeMap<u32, u64>>();
            assert_eq!(grouped(&numbered(values)), numbered(expected), "case: {case}");
        }
    }
}
