//! The CPU's interrupt controller: its registers in memory (xAPIC) or as model-specific registers (x2APIC).

use crate::cpu::{self, cpuid};
use core::hint::spin_loop;

/// Registers, by their numbers as model-specific registers.
pub(crate) const TASK_PRIORITY: u32 = 0x08;
pub(crate) const END_OF_INTERRUPT: u32 = 0x0b;
pub(crate) const SPURIOUS: u32 = 0x0f;
pub(crate) const REQUESTED: u32 = 0x20;
pub(crate) const TIMER: u32 = 0x32;
pub(crate) const TIMER_COUNT: u32 = 0x38;
pub(crate) const TIMER_DIVIDER: u32 = 0x3e;
const COMMAND: u32 = 0x30;
const COMMAND_TARGET: u32 = 0x31;

/// The register with the controller's mode and address, and its two bits of the mode.
const BASE: u32 = 0x1b;
const ENABLED: u64 = 1 << 11;
const AS_REGISTERS: u64 = 1 << 10;
/// The highest number that a command by memory can name.
const MOST_BY_MEMORY: u32 = 254;

/// What a CPU can send to another one. All are edge-triggered, and asserted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Command {
    /// A non-maskable interrupt.
    Nmi,
    /// Stops what the CPU does; it waits for where to begin.
    Init,
    /// Begins at this page of the first megabyte, in 16-bit mode.
    StartAt(u8),
}

/// The CPU's interrupt controller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Controller {
    /// Its registers lie in memory, from this address on (xAPIC).
    Memory(u64),
    /// Its registers are model-specific registers (x2APIC).
    Registers,
}

impl Controller {
    /// Returns this CPU's controller, or `None` if it is switched off. The interrupt table of [`crate::interrupts`] must be
    /// in use.
    #[must_use]
    pub fn find() -> Option<Self> {
        let base = cpu::msr(BASE)?;
        match base & (ENABLED | AS_REGISTERS) {
            mode if mode == ENABLED | AS_REGISTERS => Some(Controller::Registers),
            ENABLED => Some(Controller::Memory(base & 0x000f_ffff_ffff_f000)),
            _ => None,
        }
    }

    /// Switches this CPU's controller to model-specific registers (x2APIC), if it is on and has them.
    ///
    /// # Safety
    /// Nothing else may use the controller: there is no way back but a reset.
    pub unsafe fn prefer_registers() {
        let has = cpuid(1, 0).ecx >> 21 & 1 == 1;
        if let Some(base) = cpu::msr(BASE).filter(|base| has && base & ENABLED != 0) {
            // SAFETY: the CPU has the mode; the caller vouches for the rest.
            unsafe { cpu::write_msr(BASE, base | AS_REGISTERS) };
        }
    }

    /// Returns the name of its mode.
    #[must_use]
    pub fn mode(&self) -> &'static str {
        match self {
            Self::Memory(_) => "xapic",
            Self::Registers => "x2apic",
        }
    }

    /// Returns whether it can send something to the controller of this number.
    pub(crate) fn reaches(&self, id: u32) -> bool {
        matches!(self, Self::Registers) || id <= MOST_BY_MEMORY
    }

    pub(crate) fn read(&self, register: u32) -> u32 {
        match self {
            // SAFETY: one of the registers above, which are mapped as uncached memory.
            Self::Memory(base) => unsafe {
                ((base + u64::from(register) * 16) as *const u32).read_volatile()
            },
            Self::Registers => cpu::msr(0x800 + register).unwrap_or(0) as u32,
        }
    }

    /// # Safety
    /// The caller must restore what it changes.
    pub(crate) unsafe fn write(&self, register: u32, value: u32) {
        match self {
            // SAFETY: as for `read`.
            Self::Memory(base) => unsafe {
                ((base + u64::from(register) * 16) as *mut u32).write_volatile(value);
            },
            // SAFETY: a register of the controller that is in use.
            Self::Registers => unsafe { cpu::write_msr(0x800 + register, u64::from(value)) },
        }
    }

    /// Sends a command to the CPU whose controller has this number.
    ///
    /// # Safety
    /// That CPU must be the caller's.
    pub(crate) unsafe fn send(&self, id: u32, command: Command) {
        const ASSERTED: u32 = 1 << 14;
        const UNDER_WAY: u32 = 1 << 12;
        let command = ASSERTED
            | match command {
                Command::Nmi => 4 << 8,
                Command::Init => 5 << 8,
                Command::StartAt(page) => 6 << 8 | u32::from(page),
            };
        // SAFETY: the caller vouches for the target; the command register keeps nothing.
        unsafe {
            match self {
                Self::Memory(_) => {
                    self.write(COMMAND_TARGET, id << 24);
                    self.write(COMMAND, command);
                    while self.read(COMMAND) & UNDER_WAY != 0 {
                        spin_loop();
                    }
                }
                Self::Registers => {
                    // Unlike a write to memory, this one does not wait for earlier stores.
                    core::arch::asm!("mfence", "lfence", options(nostack));
                    cpu::write_msr(0x800 + COMMAND, u64::from(id) << 32 | u64::from(command));
                }
            }
        }
    }
}
