//! CPU model names from /proc/cpuinfo, whose keys differ between architectures.

use std::collections::{BTreeMap, BTreeSet};

/// Returns the model of each CPU in /proc/cpuinfo.
pub fn models(cpuinfo: &str) -> BTreeMap<u32, String> {
    cpuinfo.split("\n\n").filter_map(one).collect()
}

/// Returns the model of the machine: that of its CPUs, or all of them if they differ.
pub(crate) fn common(models: &BTreeMap<u32, String>) -> String {
    let distinct: BTreeSet<&str> = models.values().map(String::as_str).collect();
    distinct.into_iter().collect::<Vec<_>>().join(" + ")
}

/// Keys of a model's name, the best first: x86, RISC-V, MIPS, POWER.
const NAMES: &[&str] = &["model name", "uarch", "cpu model", "cpu"];

fn one(block: &str) -> Option<(u32, String)> {
    let fields: BTreeMap<&str, &str> =
        block.lines().filter_map(|line| line.split_once(':')).map(trimmed).collect();
    let cpu = fields.get("processor")?.parse().ok()?;
    let named = NAMES.iter().find_map(|name| fields.get(name)).map(|&name| name.to_owned());
    Some((cpu, arm(&fields).or(named)?))
}

fn trimmed<'a>((key, value): (&'a str, &'a str)) -> (&'a str, &'a str) {
    (key.trim(), value.trim())
}

/// Names an ARM core by its implementer and part numbers, because arm64 kernels print no name.
fn arm(fields: &BTreeMap<&str, &str>) -> Option<String> {
    let (implementer, part) = (*fields.get("CPU implementer")?, *fields.get("CPU part")?);
    let known = ARM_CORES.iter().find(|row| (row.0, row.1) == (implementer, part));
    let name = known.map(|row| row.2.to_owned());
    Some(name.unwrap_or_else(|| format!("ARM implementer {implementer} part {part}")))
}

/// (implementer, part, name) of common cores, from the vendors' MIDR_EL1 values.
const ARM_CORES: &[(&str, &str, &str)] = &[
    ("0x41", "0xd03", "Cortex-A53"),
    ("0x41", "0xd05", "Cortex-A55"),
    ("0x41", "0xd07", "Cortex-A57"),
    ("0x41", "0xd08", "Cortex-A72"),
    ("0x41", "0xd0b", "Cortex-A76"),
    ("0x41", "0xd0c", "Neoverse-N1"),
    ("0x41", "0xd40", "Neoverse-V1"),
    ("0x41", "0xd41", "Cortex-A78"),
    ("0x41", "0xd49", "Neoverse-N2"),
    ("0x41", "0xd4f", "Neoverse-V2"),
    ("0x46", "0x001", "A64FX"),
    ("0x48", "0xd01", "Kunpeng-920"),
    ("0xc0", "0xac3", "Ampere-1"),
    ("0xc0", "0xac4", "Ampere-1a"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_of_several_architectures() {
        type Case<'a> = (&'a str, &'a str, &'a [(u32, &'a str)]);
        let cases: &[Case] = &[
            (
                "x86",
                "processor\t: 0\nmodel name\t: AMD EPYC\ncpu MHz\t: 2596.122\n\nprocessor\t: 1\nmodel name\t: AMD EPYC\n",
                &[(0, "AMD EPYC"), (1, "AMD EPYC")],
            ),
            (
                "arm64, two kinds",
                "processor\t: 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd03\n\nprocessor\t: 1\nCPU implementer\t: 0x99\nCPU part\t: 0x123\n",
                &[(0, "Cortex-A53"), (1, "ARM implementer 0x99 part 0x123")],
            ),
            (
                "RISC-V",
                "processor\t: 3\nhart\t: 4\nuarch\t: sifive,u74-mc\n",
                &[(3, "sifive,u74-mc")],
            ),
            (
                "POWER",
                "processor\t: 0\ncpu\t\t: POWER9, altivec supported\n\ntimebase\t: 512000000\n",
                &[(0, "POWER9, altivec supported")],
            ),
            ("no name", "processor\t: 0\nbogomips\t: 1\n", &[]),
            ("hostile", "processor: x\nmodel name: y\n\n:::\n\n\n\n", &[]),
            ("empty", "", &[]),
        ];
        for (case, text, expected) in cases {
            let expected = expected.iter().map(|&(cpu, name)| (cpu, name.to_owned())).collect();
            assert_eq!(models(text), expected, "case: {case}");
        }
    }
}
