//! The CPU's own registers: CPUID, model-specific registers, ports, flags.

use core::arch::{asm, global_asm, x86_64};

/// Registers of CPUID's answer.
pub use core::arch::x86_64::CpuidResult;

/// Returns CPUID's answer for this leaf and subleaf, or zeros if the CPU does not have the leaf.
#[must_use]
pub fn cpuid(leaf: u32, subleaf: u32) -> CpuidResult {
    let highest = x86_64::__cpuid(leaf & 0xffff_0000).eax;
    let has = highest >= leaf && highest >> 16 == leaf >> 16;
    if has {
        x86_64::__cpuid_count(leaf, subleaf)
    } else {
        CpuidResult { eax: 0, ebx: 0, ecx: 0, edx: 0 }
    }
}

/// Returns the bytes of these registers as text, without what is not printable.
#[must_use]
pub fn text<const N: usize>(registers: [u32; N]) -> Name<N> {
    Name(registers.map(u32::to_le_bytes))
}

/// A name in registers.
#[derive(Debug, Clone, Copy)]
pub struct Name<const N: usize>([[u8; 4]; N]);

impl<const N: usize> core::fmt::Display for Name<N> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let bytes = self.0.as_flattened().iter().filter(|byte| (b' '..=b'~').contains(byte));
        bytes
            .map(|&byte| char::from(byte))
            .try_for_each(|letter| core::fmt::Write::write_char(f, letter))
    }
}

/// Returns the hypervisor's name if CPUID shows one. QEMU's software emulation is `TCGTCGTCGTCG`.
#[must_use]
pub fn hypervisor() -> Option<Name<3>> {
    let under_one = cpuid(1, 0).ecx >> 31 == 1;
    // The highest leaf of this range is not checked: early hypervisors return 0.
    let leaf = under_one.then(|| x86_64::__cpuid(0x4000_0000))?;
    Some(text([leaf.ebx, leaf.ecx, leaf.edx]))
}

/// Returns whether instructions are emulated in software, so that no duration means anything.
#[must_use]
pub fn is_emulated() -> bool {
    cpuid(1, 0).ecx >> 31 == 1 && x86_64::__cpuid(0x4000_0000).ebx == u32::from_le_bytes(*b"TCGT")
}

/// Returns whether the maker's name in CPUID begins with these letters.
#[must_use]
pub fn is_made_by(maker: &[u8; 4]) -> bool {
    x86_64::__cpuid(0).ebx == u32::from_le_bytes(*maker)
}

/// Returns the number of this CPU's interrupt controller.
#[must_use]
pub fn controller_id() -> u32 {
    let topology = cpuid(0xb, 0);
    if topology.ebx == 0 { cpuid(1, 0).ebx >> 24 } else { topology.edx }
}

/// The kind of a CPU and its place in the machine.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Place {
    /// Number of its interrupt controller.
    pub id: u32,
    /// Threads of one core have numbers that agree without these lowest bits.
    pub core_shift: u32,
    /// CPUs of one package have numbers that agree without these lowest bits.
    pub package_shift: u32,
    /// Family, model and stepping, and above them the type of core where there are several. Equal CPUs have equal ones.
    pub class: u64,
}

impl Place {
    /// Returns those of the CPU that runs this.
    #[must_use]
    pub fn here() -> Self {
        let (mut core_shift, mut package_shift) = (0, 0);
        for level in 0..8 {
            let answer = cpuid(0xb, level);
            match answer.ecx >> 8 & 0xff {
                1 => core_shift = answer.eax & 31,
                2 => package_shift = answer.eax & 31,
                _ => break,
            }
        }
        let package_shift = package_shift.max(core_shift);
        let class = u64::from(cpuid(0x1a, 0).eax >> 24) << 32 | u64::from(cpuid(1, 0).eax);
        Place { id: controller_id(), core_shift, package_shift, class }
    }
}

/// The caches of the CPU that runs this, switched off while this value lives.
#[derive(Debug)]
pub struct CachesOff {
    before: u64,
}

/// The bit of CR0 that switches caches off.
const CACHES_OFF: u64 = 1 << 30;

impl CachesOff {
    /// Writes back all that the caches hold, and switches them off.
    #[must_use]
    pub fn begin() -> Self {
        let [before, ..] = control();
        // SAFETY: memory keeps its contents; it is only slower.
        unsafe {
            asm!("mov cr0, {}", "wbinvd", in(reg) before | CACHES_OFF, options(nostack));
        }
        CachesOff { before }
    }
}

impl Drop for CachesOff {
    fn drop(&mut self) {
        // SAFETY: as before `begin`.
        unsafe { asm!("wbinvd", "mov cr0, {}", in(reg) self.before, options(nostack)) };
    }
}

global_asm!(
    // Reads register EDI into what RSI points to; 1 if it exists. The handler of the fault continues at probe_failed.
    ".global probe_msr",
    "probe_msr:",
    "mov ecx, edi",
    ".global probe_read",
    "probe_read:",
    "rdmsr",
    "mov dword ptr [rsi], eax",
    "mov dword ptr [rsi + 4], edx",
    "mov eax, 1",
    "ret",
    ".global probe_failed",
    "probe_failed:",
    "xor eax, eax",
    "ret",
);

unsafe extern "C" {
    fn probe_msr(register: u32, value: *mut u64) -> u32;
}

/// Reads a model-specific register, or returns `None` if the CPU or the hypervisor answers with a fault.
///
/// The interrupt table of [`crate::interrupts`] must be in use.
#[must_use]
pub fn msr(register: u32) -> Option<u64> {
    let mut value = 0;
    // SAFETY: a register that does not exist raises a fault, whose handler returns from the function.
    let exists = unsafe { probe_msr(register, &raw mut value) } == 1;
    exists.then_some(value)
}

/// Writes a model-specific register.
///
/// # Safety
/// The register must exist, and what it changes must be the caller's.
pub unsafe fn write_msr(register: u32, value: u64) {
    let (low, high) = (value as u32, (value >> 32) as u32);
    // SAFETY: the caller vouches for the register.
    unsafe { asm!("wrmsr", in("ecx") register, in("eax") low, in("edx") high, options(nostack)) };
}

/// Reads a port.
#[must_use]
pub fn port(port: u16) -> u8 {
    let value: u8;
    // SAFETY: the ports read here have no side effect that anything but this image depends on.
    unsafe { asm!("in al, dx", in("dx") port, out("al") value, options(nomem, nostack)) };
    value
}

/// Reads a port of 32 bits.
#[must_use]
pub fn port_32(port: u16) -> u32 {
    let value: u32;
    // SAFETY: as for `port`.
    unsafe { asm!("in eax, dx", in("dx") port, out("eax") value, options(nomem, nostack)) };
    value
}

/// Writes a port.
///
/// # Safety
/// The device behind it must be the caller's.
pub unsafe fn write_port(port: u16, value: u8) {
    // SAFETY: the caller vouches for the device.
    unsafe { asm!("out dx, al", in("dx") port, in("al") value, options(nomem, nostack)) };
}

/// Returns whether interrupts are enabled.
#[must_use]
pub fn interrupts_enabled() -> bool {
    let flags: u64;
    // SAFETY: pushes and pops the flags.
    unsafe { asm!("pushfq", "pop {}", out(reg) flags) };
    flags >> 9 & 1 == 1
}

/// The bit of CR4 that adds a fifth level of page tables.
pub(crate) const FIVE_LEVELS: u64 = 1 << 12;
/// The bits of CR3 and of a page table's entry that are an address.
pub(crate) const ADDRESS: u64 = 0x000f_ffff_ffff_f000;
/// The register with the modes of 64-bit code.
pub(crate) const EFER: u32 = 0xc000_0080;

/// Returns the control registers 0, 3 and 4.
pub(crate) fn control() -> [u64; 3] {
    let (cr0, cr3, cr4): (u64, u64, u64);
    // SAFETY: reads three control registers.
    unsafe {
        asm!(
            "mov {}, cr0", "mov {}, cr3", "mov {}, cr4",
            out(reg) cr0, out(reg) cr3, out(reg) cr4, options(nomem, nostack),
        );
    }
    [cr0, cr3, cr4]
}

/// Returns the size of the page that maps `address`, from the page tables in use.
#[must_use]
pub fn page_bytes(address: u64) -> u64 {
    let [_, cr3, cr4] = control();
    let levels = if cr4 & FIVE_LEVELS == 0 { 4 } else { 5 };
    let mut table = cr3 & ADDRESS;
    for level in (0..levels).rev() {
        let shift = 12 + 9 * level;
        let entry = (table + (address >> shift & 511) * 8) as *const u64;
        // SAFETY: page tables are mapped at their own addresses, by UEFI as by boot.rs.
        let entry = unsafe { entry.read_volatile() };
        if level == 0 || entry & 0x81 == 0x81 {
            return 1 << shift;
        }
        table = entry & ADDRESS;
    }
    unreachable!("the lowest level has returned")
}

/// Stops this CPU for good.
pub fn stop() -> ! {
    loop {
        // SAFETY: waits for an interrupt that never comes.
        unsafe { asm!("cli", "hlt", options(nomem, nostack)) };
    }
}
