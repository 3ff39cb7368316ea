//! The data TLB, as the CPU describes it. A hypervisor may hide it; AArch64 has no description.

use anechoic_recording::machine::DataTlb;

/// Returns the data TLB of the CPU that this thread runs on.
pub(super) fn live() -> Option<DataTlb> {
    #[cfg(target_arch = "x86_64")]
    {
        let leaf = |leaf, subleaf| {
            let of = raw_cpuid::native_cpuid::cpuid_count(leaf, subleaf);
            [of.eax, of.ebx, of.ecx, of.edx]
        };
        let found = anechoic_kernels::tlb::data(&leaf);
        found.map(|of| DataTlb { entries: of.entries, entries_2m: of.entries_2m })
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        None
    }
}
