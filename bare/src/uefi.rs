//! UEFI: parameters come from a file beside the image, `anechoic.txt`; results go to `result-N.txt` on the same disk, and to
//! the serial port.
//!
//! The firmware stays in charge of the disk, so its services are not ended. It runs only between measurements, with its own
//! interrupt table and with interrupts on.

mod disk;

use anechoic_bare::arena::Region;
use anechoic_bare::cpu;
use anechoic_bare::interrupts;
use anechoic_bare::parameters::AtEnd;
use anechoic_bare::run::{self, Loader, Refused};
use anechoic_bare::serial::Serial;
use anechoic_bare::trampoline;
use core::arch::asm;
use core::fmt::{Arguments, Write};
use core::ptr::null_mut;
use core::sync::atomic::{AtomicPtr, Ordering};
use disk::Disk;

/// A table of the firmware: its functions and data by their offsets, as the specification lists them.
#[derive(Clone, Copy)]
struct Table(*const u8);

type Function = extern "efiapi" fn(usize, usize, usize, usize, usize) -> usize;

impl Table {
    fn value<T: Copy>(self, offset: usize) -> T {
        // SAFETY: offsets and types below are those of the specification.
        unsafe { self.0.add(offset).cast::<T>().read() }
    }

    /// Calls a function with interrupts on, as the firmware expects. Unused arguments are 0. 0 is success.
    fn call(self, offset: usize, arguments: &[usize]) -> usize {
        let function: Function = self.value(offset);
        let argument = |number: usize| arguments.get(number).copied().unwrap_or(0);
        let [a, b, c, d, e] = [0, 1, 2, 3, 4].map(argument);
        // SAFETY: the firmware's interrupt table is in use.
        unsafe { asm!("sti") };
        let status = function(a, b, c, d, e);
        // SAFETY: all other code runs with interrupts off.
        unsafe { asm!("cli") };
        status
    }

    /// Calls a function of this object, which is its first argument.
    fn method(self, offset: usize, arguments: &[usize; 4]) -> usize {
        let [a, b, c, d] = *arguments;
        self.call(offset, &[self.0.addr(), a, b, c, d])
    }
}

/// Offsets in the system table.
const CONSOLE_IN: usize = 48;
const CONSOLE_OUT: usize = 64;
const RUNTIME_SERVICES: usize = 88;
const BOOT_SERVICES: usize = 96;
const CONFIGURATIONS: usize = 104;
/// Offsets in the boot services.
const ALLOCATE_PAGES: usize = 40;
const GET_MEMORY_MAP: usize = 56;
const WAIT_FOR_EVENT: usize = 96;
const HANDLE_PROTOCOL: usize = 152;
const SET_WATCHDOG_TIMER: usize = 256;
/// Offset in the runtime services.
const RESET_SYSTEM: usize = 104;
/// Offset in the console's output.
const OUTPUT_STRING: usize = 8;
/// Offsets in its input.
const READ_KEY: usize = 8;
const KEY_EVENT: usize = 16;
/// Offset in what describes the loaded image.
const DEVICE: usize = 24;
/// An identifier as the firmware stores it.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(C)]
struct Guid(u32, u16, u16, [u8; 8]);

const LOADED_IMAGE: Guid =
    Guid(0x5b1b_31a1, 0x9562, 0x11d2, [0x8e, 0x3f, 0x00, 0xa0, 0xc9, 0x69, 0x72, 0x3b]);
const FILE_SYSTEM: Guid =
    Guid(0x964e_5b22, 0x6459, 0x11d2, [0x8e, 0x39, 0x00, 0xa0, 0xc9, 0x69, 0x72, 0x3b]);
/// ACPI's root pointer of version 2, and of version 1.
const ACPI: [Guid; 2] = [
    Guid(0x8868_e871, 0xe4f1, 0x11d3, [0xbc, 0x22, 0x00, 0x80, 0xc7, 0x3c, 0x88, 0x81]),
    Guid(0xeb9d_2d30, 0x2d88, 0x11d3, [0x9a, 0x16, 0x00, 0x90, 0x27, 0x3f, 0xc1, 0x4d]),
];

/// A table of the firmware's list.
#[repr(C)]
struct Configuration {
    guid: Guid,
    table: u64,
}

/// An entry of the memory map; entries may be longer.
#[derive(Clone, Copy)]
#[repr(C)]
struct MapEntry {
    kind: u32,
    start: u64,
    mapped_at: u64,
    pages: u64,
}

/// Memory that is free, and the kinds that are free once the firmware's boot services end.
const FREE: u32 = 7;
const USABLE: [u32; 5] = [1, 2, 3, 4, FREE];
/// The types of the image's memory, for code and for data.
const LOADER_CODE: usize = 1;
const LOADER_DATA: usize = 2;
/// Allocates up to this address, or at it.
const BELOW_ADDRESS: usize = 1;
const AT_ADDRESS: usize = 2;
/// More memory than any experiment needs.
const MOST_BYTES: u64 = 16 << 30;

struct Uefi {
    system: Table,
    boot: Table,
    disk: Disk,
    serial: Option<Serial>,
    memory_bytes: u64,
}

/// The firmware's screen.
pub struct Screen(Table);

/// The firmware's system table, if it started the image.
static SYSTEM: AtomicPtr<u8> = AtomicPtr::new(null_mut());

impl Screen {
    /// Returns the screen if the firmware started the image. Its own interrupt table is in use from then on.
    pub fn after_failure() -> Option<Self> {
        let system = SYSTEM.load(Ordering::Relaxed);
        if system.is_null() {
            return None;
        }
        if interrupts::is_installed() {
            interrupts::uninstall();
        }
        Some(Screen(Table(system)))
    }
}

impl Write for Screen {
    fn write_str(&mut self, text: &str) -> core::fmt::Result {
        let console = Table(self.0.value(CONSOLE_OUT));
        for letter in text.chars() {
            let letter = u16::try_from(u32::from(letter)).unwrap_or(u16::from(b'?'));
            let text = if letter == 10 { [13, 10, 0] } else { [letter, 0, 0] };
            console.method(OUTPUT_STRING, &[text.as_ptr().addr(), 0, 0, 0]);
        }
        Ok(())
    }
}

impl Loader for Uefi {
    const NAME: &'static str = "uefi";
    const OWNS_MACHINE: bool = false;

    fn low_pages(&mut self) -> Option<u64> {
        let mut last = 0xf_ffff_u64;
        let (pages, into) = (trampoline::PAGES as usize, (&raw mut last).addr());
        let status = self.boot.call(ALLOCATE_PAGES, &[BELOW_ADDRESS, LOADER_CODE, pages, into]);
        (status == 0).then_some(last)
    }

    fn acpi_root(&self) -> Option<u64> {
        let count: usize = self.system.value(CONFIGURATIONS);
        let entries: *const Configuration = self.system.value(CONFIGURATIONS + 8);
        // SAFETY: the firmware vouches for its list.
        let entries = unsafe { core::slice::from_raw_parts(entries, count) };
        let find = |guid| entries.iter().find(|entry| entry.guid == guid).map(|entry| entry.table);
        ACPI.into_iter().find_map(find)
    }

    fn memory_bytes(&self) -> u64 {
        self.memory_bytes
    }

    fn show(&mut self, line: Arguments<'_>) {
        let _ = writeln!(Screen(self.system), "{line}");
    }

    fn save(&mut self, news: &[u8]) {
        if let Err(status) = self.disk.write(news) {
            self.show(format_args!("the result's file is cut off, because {status}"));
            self.show_where();
        }
    }

    fn is_heard(&self) -> bool {
        self.disk.has_result() || self.serial.is_some()
    }

    fn finish(&mut self, all: &[u8]) {
        self.disk.close();
        if let Some(serial) = &self.serial {
            serial.send(all);
        }
    }
}

impl Uefi {
    fn new(image: usize, system: Table) -> Self {
        let boot = Table(system.value(BOOT_SERVICES));
        let protocol = |handle: usize, guid: &Guid| {
            let mut found = Table(core::ptr::null());
            let into = (&raw mut found).addr();
            let status = boot.call(HANDLE_PROTOCOL, &[handle, (&raw const *guid).addr(), into]);
            (status == 0).then_some(found)
        };
        let disk = || protocol(protocol(image, &LOADED_IMAGE)?.value(DEVICE), &FILE_SYSTEM);
        boot.call(SET_WATCHDOG_TIMER, &[]);
        Uefi { system, boot, disk: Disk::new(disk()), serial: Serial::open(), memory_bytes: 0 }
    }

    /// Creates the file of the result.
    fn create_result(&mut self) {
        match self.disk.create_result() {
            Ok(number) => {
                let free = self.disk.free_bytes().unwrap_or(0) >> 10;
                self.show(format_args!(
                    "the result goes to result-{number}.txt; {free} KiB are free"
                ));
            }
            Err(status) => {
                self.show(format_args!("no file can be created for the result, because {status}"));
                self.show_where();
            }
        }
    }

    /// Shows where the result goes without a file.
    fn show_where(&mut self) {
        match self.serial {
            Some(_) => self.show(format_args!("the serial port gets all of it at the end")),
            None => self.show(format_args!("there is no serial port for it either")),
        }
    }

    /// Allocates most of the largest free region.
    fn region(&mut self) -> Option<Region> {
        let mut map = [0_u64; 4096];
        let (mut bytes, mut key, mut entry_bytes) = (size_of_val(&map), 0_usize, 0_usize);
        let mut version = 0_u32;
        let status = self.boot.call(
            GET_MEMORY_MAP,
            &[
                (&raw mut bytes).addr(),
                map.as_mut_ptr().addr(),
                (&raw mut key).addr(),
                (&raw mut entry_bytes).addr(),
                (&raw mut version).addr(),
            ],
        );
        if status != 0 {
            return None;
        }
        // SAFETY: the firmware filled the map with entries of this size.
        let region = |at: usize| unsafe { map.as_ptr().byte_add(at).cast::<MapEntry>().read() };
        let regions = || (0..bytes).step_by(entry_bytes).map(region);
        let usable = regions().filter(|region| USABLE.contains(&region.kind));
        self.memory_bytes = usable.map(|region| region.pages << 12).sum();
        let free = regions().filter(|region| region.kind == FREE);
        let largest = free.max_by_key(|region| region.pages)?;
        let mut start = largest.start.next_multiple_of(2 << 20);
        let end = largest.start + (largest.pages << 12);
        let bytes = (end.checked_sub(start)? / 4 * 3).min(MOST_BYTES) & !4095;
        let pages = (bytes >> 12) as usize;
        let into = (&raw mut start).addr();
        let status = self.boot.call(ALLOCATE_PAGES, &[AT_ADDRESS, LOADER_DATA, pages, into]);
        // SAFETY: the firmware gave us these pages, and maps all memory at its own addresses.
        (status == 0).then(|| unsafe { Region::new(start, start + bytes) })?
    }

    /// Ends the use of this machine.
    fn leave(&mut self, at_end: AtEnd) -> ! {
        const COLD: usize = 0;
        const SHUTDOWN: usize = 2;
        if at_end == AtEnd::Wait {
            self.show(format_args!("press a key to start the machine again"));
            let keys = Table(self.system.value(CONSOLE_IN));
            let event: usize = keys.value(KEY_EVENT);
            let mut which = 0_usize;
            keys.method(READ_KEY, &[(&raw mut which).addr(), 0, 0, 0]); // an earlier one
            let waited = [1, (&raw const event).addr(), (&raw mut which).addr()];
            self.boot.call(WAIT_FOR_EVENT, &waited);
        }
        let how = if at_end == AtEnd::PowerOff { SHUTDOWN } else { COLD };
        Table(self.system.value(RUNTIME_SERVICES)).call(RESET_SYSTEM, &[how]);
        cpu::stop()
    }
}

#[unsafe(no_mangle)]
extern "C" fn uefi_main(image: usize, system: *const u8) -> ! {
    SYSTEM.store(system.cast_mut(), Ordering::Relaxed);
    let mut loader = Uefi::new(image, Table(system));
    let at_end = start(&mut loader).unwrap_or(AtEnd::Wait);
    loader.leave(at_end)
}

fn start(loader: &mut Uefi) -> Result<AtEnd, Refused> {
    let mut file = [0; 16 << 10];
    let text = loader.disk.read(format_args!("anechoic.txt"), &mut file);
    let Ok(text) = text.map(str::from_utf8).transpose() else {
        loader.show(format_args!("anechoic.txt is not UTF-8"));
        return Err(Refused);
    };
    let parameters = run::parameters(text, loader)?;
    if !parameters.serial {
        loader.serial = None;
    }
    let Some(region) = loader.region() else {
        loader.show(format_args!("the firmware gives no memory: 32 MiB in one piece are enough"));
        return Err(Refused);
    };
    loader.create_result();
    // The reason is shown; what follows is as asked.
    let _ = run::run(&parameters, region, loader);
    Ok(parameters.at_end)
}
