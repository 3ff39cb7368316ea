//! The data TLB, as the CPU describes it. A hypervisor may hide it; AArch64 has no description.

use anechoic_recording::machine::DataTlb;

/// Returns the data TLB of the CPU that this thread runs on.
pub(super) fn live() -> Option<DataTlb> {
    #[cfg(target_arch = "x86_64")]
    {
        let leaf = |leaf, subleaf| {
            let registers = raw_cpuid::native_cpuid::cpuid_count(leaf, subleaf);
            [registers.eax, registers.ebx, registers.ecx, registers.edx]
        };
        let found = anechoic_kernels::tlb::data(&leaf);
        found.map(|tlb| DataTlb { entries: tlb.entries, entries_2m: tlb.entries_2m })
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        None
    }
}
