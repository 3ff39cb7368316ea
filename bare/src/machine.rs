//! Describes the machine in the result.

use crate::acpi::Acpi;
use crate::catalogue::DataCaches;
use crate::clock::{Clock, ReadCost};
use crate::cpu::{self, Place, cpuid};
use crate::text::Text;
use anechoic_kernels::tlb::{self, DataTlb};
use core::fmt::{self, Display};

/// Adds a line for each thing that is known of the machine.
pub fn describe(text: &mut Text<'_>, acpi: &Acpi, memory_bytes: u64) {
    let vendor = cpuid(0, 0);
    text.line(format_args!("vendor {}", cpu::text([vendor.ebx, vendor.edx, vendor.ecx])));
    text.line(format_args!("model {}", Model));
    text.line(format_args!("signature {:#x}", cpuid(1, 0).eax));
    text.line(format_args!("cpus {}", acpi.count));
    text.line(format_args!("memory {memory_bytes}"));
    if let Some(name) = cpu::hypervisor() {
        text.line(format_args!("hypervisor {name}"));
    }
    if cpu::is_emulated() {
        text.line(format_args!("emulated"));
    }
    if let Some(DataTlb { entries, entries_2m }) = data_tlb() {
        match entries_2m {
            Some(of_large) => text.line(format_args!("tlb {entries} {of_large}")),
            None => text.line(format_args!("tlb {entries}")),
        }
    }
    registers(text);
}

/// Returns the data TLB of the CPU that runs this, if it describes it.
#[must_use]
pub fn data_tlb() -> Option<DataTlb> {
    tlb::data(&|leaf, subleaf| {
        let registers = cpuid(leaf, subleaf);
        [registers.eax, registers.ebx, registers.ecx, registers.edx]
    })
}

/// A CPU that measures, as it describes itself.
#[derive(Debug, Clone, Copy, Default)]
pub struct Described {
    place: Place,
    caches: [Option<Cache>; MOST_CACHES],
}

impl Described {
    /// Describes the CPU that runs this.
    #[must_use]
    pub fn here() -> Self {
        let mut found = Described { place: Place::here(), ..Self::default() };
        let mut free = found.caches.iter_mut();
        caches(|cache| {
            if let Some(free) = free.next() {
                *free = Some(cache);
            }
        });
        found
    }

    /// Adds a line for this CPU, and one for each of its caches.
    pub fn describe(&self, text: &mut Text<'_>, cpu: usize) {
        let Place { id, core_shift, package_shift, class } = self.place;
        text.line(format_args!(
            "cpu {cpu} id={id} core={core_shift} package={package_shift} class={class:#x}"
        ));
        for Cache { level, kind, bytes, line, shift } in self.caches.iter().flatten() {
            text.line(format_args!("cache {level} {kind} {bytes} {line} {shift}"));
        }
    }
}

/// Adds the rate of the counter and the cost of a read.
pub fn describe_clock(text: &mut Text<'_>, clock: &Clock, reads: &ReadCost) {
    let invariant = u8::from(clock.invariant);
    text.line(format_args!("counter {} {invariant} {}", clock.hz, clock.source));
    if let Some((hz, source)) = clock.checked {
        text.line(format_args!("counter-by {hz} {source}"));
    }
    text.line(format_args!("read {} {}", reads.min, reads.mean_millis));
    for (delta, count) in reads.deltas.iter().filter(|delta| delta.1 > 0) {
        text.line(format_args!("delta {delta} {count}"));
    }
}

struct Model;

impl Display for Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for leaf in 0x8000_0002..=0x8000_0004_u32 {
            let part = cpuid(leaf, 0);
            cpu::text([part.eax, part.ebx, part.ecx, part.edx]).fmt(f)?;
        }
        Ok(())
    }
}

/// More caches than a CPU has.
const MOST_CACHES: usize = 8;

/// A cache of the CPU that runs this.
#[derive(Debug, Clone, Copy)]
struct Cache {
    level: u32,
    kind: &'static str,
    bytes: u64,
    line: u32,
    /// CPUs that share it have numbers that agree without these lowest bits.
    shift: u32,
}

/// Calls `each` with every cache that CPUID describes.
fn caches(mut each: impl FnMut(Cache)) {
    let leaf = if cpu::is_made_by(b"Auth") { 0x8000_001d } else { 4 };
    for number in 0..16 {
        let cache = cpuid(leaf, number);
        let kind = match cache.eax & 31 {
            0 => break,
            1 => "Data",
            2 => "Instruction",
            _ => "Unified",
        };
        let part = |shift: u32, bits: u32| u64::from(cache.ebx >> shift & ((1 << bits) - 1)) + 1;
        let bytes = part(22, 10) * part(12, 10) * part(0, 12) * (u64::from(cache.ecx) + 1);
        let shift = ((cache.eax >> 14 & 0xfff) + 1).next_power_of_two().trailing_zeros();
        each(Cache { level: cache.eax >> 5 & 7, kind, bytes, line: part(0, 12) as u32, shift });
    }
}

/// Returns the sizes of the data caches of the CPU that runs this, the usual ones where it does not describe its own, and
/// whether some of them are such.
#[must_use]
pub fn data_caches() -> (DataCaches, bool) {
    let (mut known, mut level) = (DataCaches { first: 0, second: 0, last: 0 }, 0);
    caches(|cache| {
        if cache.kind == "Instruction" {
            return;
        }
        match cache.level {
            1 => known.first = cache.bytes,
            2 => known.second = cache.bytes,
            _ => {}
        }
        if cache.level > level {
            (level, known.last) = (cache.level, cache.bytes);
        }
    });
    let usual = DataCaches::USUAL;
    let or = |known: u64, usual: u64| if known > 0 { known } else { usual };
    let all = DataCaches {
        first: or(known.first, usual.first),
        second: or(known.second, usual.second),
        last: or(known.last, usual.last),
    };
    (all, all != known)
}

/// Adds the registers that decide whether a comparison with this machine is fair. A hypervisor invents some of them and
/// answers others with a fault, so they are read on bare metal only.
fn registers(text: &mut Text<'_>) {
    let names: &[(&str, u32)] = match () {
        () if cpu::hypervisor().is_some() => &[],
        () if cpu::is_made_by(b"Genu") => {
            &[("microcode", 0x8b), ("misc-enable", 0x1a0), ("prefetchers-off", 0x1a4)]
        }
        () if cpu::is_made_by(b"Auth") => {
            &[("microcode", 0x8b), ("hwcr", 0xc001_0015), ("prefetchers-off", 0xc000_0108)]
        }
        () => &[],
    };
    if names.is_empty() {
        text.line(format_args!("register microcode - under a hypervisor, or of an unknown maker"));
    }
    for &(name, number) in names {
        match cpu::msr(number) {
            Some(value) => text.line(format_args!("register {name} {value:#x}")),
            None => text.line(format_args!("register {name} - this CPU does not have it")),
        }
    }
}

/// Counters of the CPU around a measurement.
#[derive(Debug, Clone, Copy, Default)]
pub struct Counters {
    /// Core cycles and reference cycles (APERF and MPERF).
    pub performance: Option<[u64; 2]>,
    /// System-management interrupts.
    pub smis: Option<u64>,
    /// Interrupts and NMIs that were delivered.
    pub delivered: [u64; 2],
}

impl Counters {
    /// Reads them, as far as the CPU has them.
    #[must_use]
    pub fn read() -> Self {
        let performance =
            (cpuid(6, 0).ecx & 1 == 1).then(|| Some([cpu::msr(0xe8)?, cpu::msr(0xe7)?]));
        let counts_smis = cpu::hypervisor().is_none() && cpu::is_made_by(b"Genu");
        Counters {
            performance: performance.flatten(),
            smis: counts_smis.then(|| cpu::msr(0x34)).flatten(),
            delivered: crate::interrupts::delivered(),
        }
    }
}
