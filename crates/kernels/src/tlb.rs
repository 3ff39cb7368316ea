//! The data TLB, as the CPU describes it in CPUID. A hypervisor may hide it.

/// A leaf and subleaf of CPUID, as EAX, EBX, ECX and EDX.
pub type Leaf<'a> = &'a dyn Fn(u32, u32) -> [u32; 4];

/// The largest level of the data TLB.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DataTlb {
    /// Number of entries for the smallest pages.
    pub entries: u32,
    /// Number of entries for pages of 2 MiB, if known.
    pub entries_2m: Option<u32>,
}

/// Returns the data TLB that these leaves describe.
#[must_use]
pub fn data(leaf: Leaf<'_>) -> Option<DataTlb> {
    amd_data_tlb(leaf).or_else(|| intel_data_tlb(leaf))
}

/// Returns the second level (leaf 8000_0006h), or else the first (leaf 8000_0005h). Intel's CPUs have zeros there.
fn amd_data_tlb(leaf: Leaf<'_>) -> Option<DataTlb> {
    if leaf(0x8000_0000, 0)[0] < 0x8000_0006 {
        return None;
    }
    let ([second_2m, second, ..], [first_2m, first, ..]) =
        (leaf(0x8000_0006, 0), leaf(0x8000_0005, 0));
    // In the second level bits 28 to 31 are the associativity, 0 if it is off, and bits 16 to 27 the entries.
    let of_second = |register: u32| (register >> 28 > 0).then_some(register >> 16 & 0xfff);
    let of_first = |register: u32| Some(register >> 16 & 0xff);
    let known = |entries: Option<u32>| entries.filter(|&entries| entries > 0);
    let entries = known(of_second(second)).or_else(|| known(of_first(first)))?;
    let entries_2m = known(of_second(second_2m)).or_else(|| known(of_first(first_2m)));
    Some(DataTlb { entries, entries_2m })
}

/// Returns the largest TLB for data (leaf 18h).
fn intel_data_tlb(leaf: Leaf<'_>) -> Option<DataTlb> {
    /// More subleaves than any CPU has.
    const MOST: u32 = 64;
    if leaf(0, 0)[0] < 0x18 {
        return None;
    }
    let subleaves = leaf(0x18, 0)[0].min(MOST);
    let all = || (0..=subleaves).map(|subleaf| leaf(0x18, subleaf));
    // Data, unified, and for loads; bits 0 and 1 of EBX are pages of 4 KiB and 2 MiB.
    let holds_data = |edx: u32| matches!(edx & 0x1f, 1 | 3 | 4);
    let largest = |page: u32| {
        let of_page = all().filter(|&[_, ebx, _, edx]| holds_data(edx) && ebx >> page & 1 == 1);
        of_page.map(|[_, ebx, ecx, _]| (ebx >> 16).saturating_mul(ecx)).max()
    };
    let entries = largest(0).filter(|&entries| entries > 0)?;
    Some(DataTlb { entries, entries_2m: largest(1) })
}

#[cfg(test)]
mod tests {
    extern crate std;

    use super::*;

    #[test]
    fn what_the_cpu_describes_is_decoded() {
        type Leaves<'a> = &'a [((u32, u32), [u32; 4])];
        let tlb = |entries, entries_2m| Some(DataTlb { entries, entries_2m });
        let cases: [(&str, Leaves<'_>, Option<DataTlb>); 5] = [
            (
                "EPYC 9004",
                &[
                    ((0x8000_0000, 0), [0x8000_0028, 0, 0, 0]),
                    ((0x8000_0005, 0), [0xff48_ff40, 0xff48_ff40, 0, 0]),
                    ((0x8000_0006, 0), [0x5c00_2200, 0x6c00_4200, 0, 0]),
                ],
                tlb(3072, Some(3072)),
            ),
            (
                "first level only",
                &[
                    ((0x8000_0000, 0), [0x8000_0008, 0, 0, 0]),
                    ((0x8000_0005, 0), [0xff40_ff40, 0xff48_ff40, 0, 0]),
                ],
                tlb(72, Some(64)),
            ),
            (
                "Sapphire Rapids",
                &[
                    ((0, 0), [0x20, 0, 0, 0]),
                    ((0x8000_0000, 0), [0x8000_0008, 0, 0, 0]),
                    ((0x18, 0), [3, 0, 0, 0]),
                    ((0x18, 1), [0, 0x0006_0001, 16, 0x4024]),
                    ((0x18, 2), [0, 0x0008_0003, 256, 0x4043]),
                    ((0x18, 3), [0, 0x0008_0001, 512, 0x4022]), // for instructions
                ],
                tlb(2048, Some(2048)),
            ),
            ("hidden", &[((0, 0), [0x20, 0, 0, 0])], None),
            ("an old CPU", &[((0, 0), [0xd, 0, 0, 0])], None),
        ];
        for (name, leaves, expected) in cases {
            let leaf = |leaf, subleaf| {
                let found = leaves.iter().find(|(known, _)| *known == (leaf, subleaf));
                found.map_or([0; 4], |(_, registers)| *registers)
            };
            assert_eq!(data(&leaf), expected, "case: {name}");
        }
    }
}
