//! PVH: how virtual machines start a kernel directly. Parameters come as a module (`-initrd`) or on the command line, where
//! `;` separates lines; everything is shown and saved on the serial port.

use anechoic_bare::arena::Region;
use anechoic_bare::cpu;
use anechoic_bare::run::{self, Loader, Refused};
use anechoic_bare::serial::Serial;
use anechoic_bare::trampoline;
use core::fmt::{Arguments, Write};
use core::sync::atomic::{AtomicBool, Ordering};
use core::{ptr, slice};

/// What the loader passes: `hvm_start_info`.
#[repr(C)]
struct StartInfo {
    magic: u32,
    version: u32,
    flags: u32,
    modules: u32,
    module_list: u64,
    command_line: u64,
    acpi_root: u64,
    memory_map: u64,
    memory_entries: u32,
}

const MAGIC: u32 = 0x336e_c578;

#[repr(C)]
struct MemoryEntry {
    start: u64,
    bytes: u64,
    kind: u32,
    reserved: u32,
}

/// What the emulator's exit status shows: twice the value and 1.
#[derive(Clone, Copy)]
enum Exit {
    /// Everything was measured.
    Done = 0x10,
    /// The parameters are wrong, or this machine cannot measure.
    Refused = 0x11,
    /// A fault of the image.
    Failed = 0x12,
}

/// Ends the virtual machine: by QEMU's exit device if it has one, else by a reset.
fn leave(exit: Exit) -> ! {
    // SAFETY: nothing of this machine is needed any more.
    unsafe {
        cpu::write_port(0xf4, exit as u8);
        cpu::write_port(0x64, 0xfe);
    }
    cpu::stop()
}

/// Whether the image was started this way.
static STARTED: AtomicBool = AtomicBool::new(false);

/// Stops the machine after a failure.
pub fn leave_after_failure() -> ! {
    if STARTED.load(Ordering::Relaxed) {
        leave(Exit::Failed);
    }
    cpu::stop()
}

struct Pvh<'l> {
    info: &'l StartInfo,
    memory: &'l [MemoryEntry],
    /// The parameter file, if there is one: its address and size.
    modules: &'l [[u64; 4]],
    serial: Option<Serial>,
}

impl Write for Pvh<'_> {
    fn write_str(&mut self, text: &str) -> core::fmt::Result {
        if let Some(serial) = &self.serial {
            serial.send(text.as_bytes());
        }
        Ok(())
    }
}

impl Loader for Pvh<'_> {
    const NAME: &'static str = "pvh";
    const OWNS_MACHINE: bool = true;

    fn low_pages(&mut self) -> Option<u64> {
        const FIRST: u64 = 0x8000; // beyond what the firmware had in the first pages
        const BYTES: u64 = trampoline::PAGES << 12;
        let is_free = |at: &u64| {
            let is_in = |(begin, end): (u64, u64)| begin <= *at && at + BYTES <= end;
            let around = at.saturating_sub(4096)..at + BYTES;
            self.regions().any(is_in) && !self.passed().any(|passed| around.contains(&passed))
        };
        (FIRST..1 << 20).step_by(4096).find(is_free)
    }

    fn acpi_root(&self) -> Option<u64> {
        Some(self.info.acpi_root).filter(|&root| root != 0)
    }

    fn memory_bytes(&self) -> u64 {
        self.memory.iter().filter(|entry| entry.kind == 1).map(|entry| entry.bytes).sum()
    }

    fn show(&mut self, line: Arguments<'_>) {
        let _ = writeln!(self, "# {line}");
    }

    fn save(&mut self, news: &[u8]) {
        if let Some(serial) = &self.serial {
            serial.send(news);
        }
    }

    fn is_heard(&self) -> bool {
        self.serial.is_some()
    }
}

unsafe extern "C" {
    static image_end: u8;
}

#[unsafe(no_mangle)]
extern "C" fn pvh_main(info: &StartInfo) -> ! {
    STARTED.store(true, Ordering::Relaxed);
    leave(match start(info) {
        Ok(()) => Exit::Done,
        Err(Refused) => Exit::Refused,
    })
}

fn start(info: &StartInfo) -> Result<(), Refused> {
    assert!(info.magic == MAGIC && info.version > 0, "the loader passes no memory map");
    // SAFETY: the loader vouches for what it passes.
    let (memory, modules) = unsafe {
        let entries = info.memory_entries as usize;
        let modules = if info.modules > 0 {
            slice::from_raw_parts(info.module_list as *const [u64; 4], 1)
        } else {
            &[]
        };
        (slice::from_raw_parts(info.memory_map as *const MemoryEntry, entries), modules)
    };
    let mut loader = Pvh { info, memory, modules, serial: Serial::open() };
    let mut line = [0; 4096];
    let text = match modules {
        [[start, bytes, ..]] => {
            let (start, bytes) = (*start as *const u8, *bytes as usize);
            // SAFETY: as above.
            Some(unsafe { slice::from_raw_parts(start, bytes) })
        }
        _ => command_line(info.command_line, &mut line),
    };
    let Ok(text) = text.map(str::from_utf8).transpose() else {
        loader.show(format_args!("the parameters are not UTF-8"));
        return Err(Refused);
    };
    let parameters = run::parameters(text, &mut loader)?;
    // The first 4 GiB are mapped; the image and what the loader passes stay outside of the region.
    let image = &raw const image_end as u64;
    let regions = loader.regions().map(|(begin, end)| {
        let begin = begin.max(image);
        (begin, loader.passed().filter(|&at| at >= begin).fold(end, u64::min))
    });
    let largest = regions.max_by_key(|(begin, end)| end.saturating_sub(*begin));
    // SAFETY: the region is mapped memory, and nothing else lies in it.
    let Some(region) = largest.and_then(|(begin, end)| unsafe { Region::new(begin, end) }) else {
        loader.show(format_args!("this machine has too little memory: 32 MiB are enough"));
        return Err(Refused);
    };
    run::run(&parameters, region, &mut loader)
}

impl<'l> Pvh<'l> {
    /// Returns the usable regions of the first 4 GiB, which are mapped.
    fn regions(&self) -> impl Iterator<Item = (u64, u64)> + use<'l> {
        let usable = self.memory.iter().filter(|entry| entry.kind == 1);
        usable.map(|entry| (entry.start, (entry.start + entry.bytes).min(1 << 32)))
    }

    /// Returns the addresses of what the loader passes.
    fn passed(&self) -> impl Iterator<Item = u64> + use<'l> {
        let info = self.info;
        let own = [info.command_line, info.module_list, ptr::from_ref(info).addr() as u64];
        let modules = self.modules.iter().map(|module| module[0]);
        own.into_iter().chain([info.memory_map]).chain(modules)
    }
}

/// Copies the command line, with lines instead of `;`; `None` if it is empty.
fn command_line(address: u64, line: &mut [u8; 4096]) -> Option<&[u8]> {
    let at = Some(address as *const u8).filter(|at| !at.is_null())?;
    // SAFETY: the loader passes a text that ends with 0.
    let bytes = (0..line.len()).map(|offset| unsafe { at.add(offset).read() });
    let mut used = 0;
    for (to, byte) in line.iter_mut().zip(bytes.take_while(|&byte| byte != 0)) {
        *to = if byte == b';' { b'\n' } else { byte };
        used += 1;
    }
    Some(&line[..used]).filter(|line| !line.trim_ascii().is_empty())
}
