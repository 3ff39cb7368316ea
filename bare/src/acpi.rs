//! The firmware's ACPI tables: the port of the power-management timer and the CPUs.

use crate::cpu;

/// The rate of the power-management timer in hertz.
pub const TIMER_HZ: u64 = 3_579_545;

/// More CPUs than this are not used.
pub const MOST_CPUS: usize = 1024;

/// What the image reads from the tables.
#[derive(Debug, Clone)]
pub struct Acpi {
    /// The port of the power-management timer.
    pub timer_port: Option<u16>,
    /// CPUs that the firmware reports as usable, at least the one that runs this.
    pub count: usize,
    /// Numbers of the interrupt controllers of the first CPUs; the CPU that runs this comes first.
    ids: [u32; MOST_CPUS],
}

impl Acpi {
    /// Returns the numbers of the CPUs' interrupt controllers, by the numbers that CPUs have in the result: 0 is the CPU
    /// that runs this, the others follow in the order of the firmware's table.
    #[must_use]
    pub fn ids(&self) -> &[u32] {
        &self.ids[..self.count.min(MOST_CPUS)]
    }

    fn add(&mut self, id: u32) {
        // Some firmwares list a CPU in both forms; all ones address all CPUs.
        if id == u32::MAX || self.ids().contains(&id) {
            return;
        }
        if let Some(free) = self.ids.get_mut(self.count) {
            *free = id;
        }
        self.count += 1;
    }
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
    let mut ids = [0; MOST_CPUS];
    ids[0] = cpu::controller_id();
    let mut found = Acpi { timer_port: None, count: 1, ids };
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
            b"APIC" => cpus(table, &mut found),
            _ => {}
        }
    }
    found
}

/// Adds the enabled CPUs in the table of interrupt controllers (MADT). Those that could be plugged in later are not usable.
fn cpus(table: u64, found: &mut Acpi) {
    let (mut entry, end) = (table + 44, table + word(table + 4));
    while entry < end {
        let [kind, bytes] = read(entry);
        match kind {
            0 if word(entry + 4) & 1 == 1 => found.add(u32::from(read::<1>(entry + 3)[0])),
            9 if word(entry + 8) & 1 == 1 => found.add(word(entry + 4) as u32),
            _ => {}
        }
        entry += u64::from(bytes.max(2));
    }
}
