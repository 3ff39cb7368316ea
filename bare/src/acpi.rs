//! The firmware's ACPI tables: the port of the power-management timer and the number of CPUs.

/// The rate of the power-management timer in hertz.
pub const TIMER_HZ: u64 = 3_579_545;

/// What the image reads from the tables.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Acpi {
    /// The port of the power-management timer.
    pub timer_port: Option<u16>,
    /// CPUs that the firmware reports as usable.
    pub cpus: u32,
}

/// Reads `N` bytes, in any alignment.
fn read<const N: usize>(address: u64) -> [u8; N] {
    // SAFETY: the firmware's tables are mapped at their own addresses.
    unsafe { (address as *const [u8; N]).read_unaligned() }
}

fn word(address: u64) -> u64 {
    u64::from(u32::from_le_bytes(read(address)))
}

/// Reads the tables from their root pointer (RSDP), or returns nothing known if that is absent.
#[must_use]
pub fn read_tables(root: Option<u64>) -> Acpi {
    let mut found = Acpi::default();
    let Some(root) = root.filter(|&root| read(root) == *b"RSD PTR ") else { return found };
    let extended = read::<1>(root + 15) != [0];
    let (directory, entry_bytes) = match extended {
        true => (u64::from_le_bytes(read(root + 24)), 8),
        false => (word(root + 16), 4),
    };
    for entry in (directory + 36..directory + word(directory + 4)).step_by(entry_bytes) {
        let table = if extended { u64::from_le_bytes(read(entry)) } else { word(entry) };
        match &read::<4>(table) {
            b"FACP" => {
                let port = u16::try_from(word(table + 76)).ok();
                found.timer_port = port.filter(|&port| port != 0);
            }
            b"APIC" => found.cpus = cpus(table),
            _ => {}
        }
    }
    found
}

/// Counts the enabled CPUs in the table of interrupt controllers (MADT).
fn cpus(table: u64) -> u32 {
    let (mut entry, end, mut count) = (table + 44, table + word(table + 4), 0);
    while entry < end {
        let [kind, bytes] = read(entry);
        let enabled = match kind {
            0 => word(entry + 4) & 1 == 1,
            9 => word(entry + 8) & 1 == 1,
            _ => false,
        };
        count += u32::from(enabled);
        entry += u64::from(bytes.max(2));
    }
    count
}
