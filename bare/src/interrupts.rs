//! Interrupts are off in the whole image. This module counts those that come nevertheless, and proves that they are
//! held back: it makes one pending while a loop runs.

use crate::cpu;
use core::arch::{asm, global_asm};
use core::sync::atomic::{AtomicU64, Ordering};

/// Interrupts delivered to the image, other than NMIs.
#[unsafe(no_mangle)]
static INTERRUPTS: AtomicU64 = AtomicU64::new(0);
/// Non-maskable interrupts delivered to the image.
#[unsafe(no_mangle)]
static NMIS: AtomicU64 = AtomicU64::new(0);

/// Returns how many interrupts and how many NMIs were delivered so far.
#[must_use]
pub fn delivered() -> [u64; 2] {
    [&INTERRUPTS, &NMIS].map(|count| count.load(Ordering::Relaxed))
}

global_asm!(
    // Each stub is 16 bytes; the return address of its call shows which it is.
    ".balign 16",
    "interrupt_stubs:",
    ".rept 256",
    ".balign 16",
    "call interrupt",
    ".endr",
    //
    "interrupt:",
    "push rax",
    "push rcx",
    "mov rax, qword ptr [rsp + 16]",
    "lea rcx, [rip + interrupt_stubs]",
    "sub rax, rcx",
    "shr rax, 4",
    "cmp eax, 2",
    "je 3f",
    "cmp eax, 32",
    "jae 2f",
    // A fault of the probe is answered; the error code lies under the address.
    "lea rcx, [rip + probe_read]",
    "cmp qword ptr [rsp + 32], rcx",
    "jne 5f",
    "lea rcx, [rip + probe_failed]",
    "mov qword ptr [rsp + 32], rcx",
    "pop rcx",
    "pop rax",
    "add rsp, 16",
    "iretq",
    "2:",
    "lock inc qword ptr [rip + INTERRUPTS]",
    "jmp 4f",
    "3:",
    "lock inc qword ptr [rip + NMIS]",
    "4:",
    "pop rcx",
    "pop rax",
    "add rsp, 8",
    "iretq",
    "5:",
    "cld",
    "mov rdi, rax",
    "mov rsi, qword ptr [rsp + 24]",
    "mov rdx, qword ptr [rsp + 32]",
    "and rsp, -16",
    "call exception",
);

unsafe extern "C" {
    static interrupt_stubs: u8;
}

/// Ends the image at an exception, which only a fault of its own can raise.
#[unsafe(no_mangle)]
extern "C" fn exception(vector: u64, first: u64, second: u64) -> ! {
    panic!("exception {vector}, then {first:#x} and {second:#x} on the stack")
}

/// The operand of LGDT and LIDT.
#[derive(Clone, Copy)]
#[repr(C, packed)]
struct Table {
    limit: u16,
    base: u64,
}

/// Entries of the descriptor table: those in use before, and two for the task segment.
const DESCRIPTORS: usize = 64;
const STACK: usize = 16 << 10;

/// What the CPU reads when an interrupt comes. Interrupts have a stack of their own, because the code below uses the
/// bytes under its stack pointer.
#[repr(C, align(16))]
struct State {
    descriptors: [u64; DESCRIPTORS],
    gates: [[u64; 2]; 256],
    task: [u32; 26],
    stack: [u8; STACK],
    before: [Table; 2],
}

static mut STATE: State = State {
    descriptors: [0; DESCRIPTORS],
    gates: [[0; 2]; 256],
    task: [0; 26],
    stack: [0; STACK],
    before: [Table { limit: 0, base: 0 }; 2],
};

/// Replaces the loader's interrupt table by one that counts. Interrupts must be off.
pub fn install() {
    let state = &raw mut STATE;
    let code_segment: u16;
    // SAFETY: one CPU runs this with interrupts off, and nothing else refers to the state.
    unsafe {
        asm!("sgdt [{}]", in(reg) &raw mut (*state).before[0], options(nostack));
        asm!("sidt [{}]", in(reg) &raw mut (*state).before[1], options(nostack));
        asm!("mov {0:x}, cs", out(reg) code_segment, options(nomem, nostack));
        let before = (*state).before[0];
        let used = (usize::from(before.limit) + 1) / 8;
        assert!(used + 2 <= DESCRIPTORS, "the firmware's descriptor table has {used} entries");
        let descriptors = &mut (*state).descriptors;
        core::ptr::copy_nonoverlapping(before.base as *const u64, descriptors.as_mut_ptr(), used);
        let (task, limit) = (&raw const (*state).task as u64, size_of::<[u32; 26]>() as u64 - 1);
        descriptors[used] =
            limit | (task & 0xff_ffff) << 16 | 0x89 << 40 | (task >> 24 & 0xff) << 56;
        descriptors[used + 1] = task >> 32;
        let stack = (&raw const (*state).stack as u64 + STACK as u64) & !15;
        (*state).task[9] = stack as u32; // the first stack of the interrupt stack table
        (*state).task[10] = (stack >> 32) as u32;
        (*state).task[25] = (limit as u32 + 1) << 16; // no map of ports
        for vector in 0..256 {
            let stub = &raw const interrupt_stubs as u64 + 16 * vector as u64;
            let (low, middle, high) = (stub & 0xffff, stub >> 16 & 0xffff, stub >> 32);
            (*state).gates[vector] =
                [low | u64::from(code_segment) << 16 | 0x8e01 << 32 | middle << 48, high];
        }
        let table = |base, limit: usize| Table { limit: limit as u16, base };
        let mine = table(descriptors.as_ptr() as u64, (used + 2) * 8 - 1);
        let gates = table(&raw const (*state).gates as u64, 256 * 16 - 1);
        asm!("lgdt [{}]", in(reg) &raw const mine, options(nostack));
        asm!("lidt [{}]", in(reg) &raw const gates, options(nostack));
        asm!("ltr {0:x}", in(reg) used * 8, options(nostack));
    }
}

/// Returns to the loader's interrupt table, as the firmware expects it when it is called.
pub fn uninstall() {
    let state = &raw const STATE;
    // SAFETY: `install` stored both operands, and the tables belong to the firmware, which stays in memory.
    unsafe {
        asm!("lgdt [{}]", in(reg) &raw const (*state).before[0], options(nostack));
        asm!("lidt [{}]", in(reg) &raw const (*state).before[1], options(nostack));
    }
}

/// The outcome of holding back an interrupt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Held {
    /// Whether an interrupt was pending when the loop ended.
    pub pending: bool,
    /// Interrupts delivered while the loop ran.
    pub inside: u64,
    /// Interrupts delivered once they were allowed for one instruction after it.
    pub after: u64,
}

/// The vector of the interrupt that is held back, in the highest class of priority.
const VECTOR: u32 = 0xf5;
/// Counts of the local timer until the interrupt is due.
const SOON: u32 = 1_000;

/// Lets the CPU's own timer raise an interrupt while `work` runs, and delivers it afterwards. Returns `None` if the CPU's
/// interrupt controller is switched off.
pub fn hold(work: impl FnOnce()) -> Option<Held> {
    let controller = Controller::find()?;
    let saved = [TASK_PRIORITY, SPURIOUS, TIMER, TIMER_DIVIDER, TIMER_COUNT]
        .map(|register| (register, controller.read(register)));
    let masks = [0x21, 0xa1].map(|port| (port, cpu::port(port)));
    // SAFETY: the registers are restored below, and no interrupt but the timer's can come in between.
    unsafe {
        masks.iter().for_each(|&(port, _)| cpu::write_port(port, 0xff));
        controller.write(TASK_PRIORITY, 0xe0);
        controller.write(SPURIOUS, 0x1ff);
        controller.write(TIMER_DIVIDER, 0b1011);
        controller.write(TIMER, VECTOR);
        controller.write(TIMER_COUNT, SOON);
    }
    let before = delivered()[0];
    work();
    let pending = controller.read(REQUESTED + VECTOR / 32) >> (VECTOR % 32) & 1 == 1;
    let inside = delivered()[0] - before;
    // SAFETY: the table of this module is in use; the interrupt is counted, and acknowledged here.
    unsafe {
        asm!("sti", "nop", "nop", "cli");
        controller.write(TIMER, 1 << 16);
        let after = delivered()[0] - before - inside;
        if after > 0 {
            controller.write(END_OF_INTERRUPT, 0);
        }
        saved.iter().for_each(|&(register, value)| controller.write(register, value));
        masks.iter().for_each(|&(port, mask)| cpu::write_port(port, mask));
        Some(Held { pending, inside, after })
    }
}

/// Registers of the CPU's interrupt controller, by their numbers as model-specific registers.
const TASK_PRIORITY: u32 = 0x08;
const END_OF_INTERRUPT: u32 = 0x0b;
const SPURIOUS: u32 = 0x0f;
const REQUESTED: u32 = 0x20;
const TIMER: u32 = 0x32;
const TIMER_COUNT: u32 = 0x38;
const TIMER_DIVIDER: u32 = 0x3e;

/// The CPU's interrupt controller.
enum Controller {
    /// Its registers lie in memory, from this address on (xAPIC).
    Memory(u64),
    /// Its registers are model-specific registers (x2APIC).
    Registers,
}

impl Controller {
    fn find() -> Option<Self> {
        let base = cpu::msr(0x1b)?;
        match base >> 10 & 3 {
            0b11 => Some(Controller::Registers),
            0b10 => Some(Controller::Memory(base & 0x000f_ffff_ffff_f000)),
            _ => None,
        }
    }

    fn read(&self, register: u32) -> u32 {
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
    unsafe fn write(&self, register: u32, value: u32) {
        match self {
            // SAFETY: as for `read`.
            Self::Memory(base) => unsafe {
                ((base + u64::from(register) * 16) as *mut u32).write_volatile(value);
            },
            // SAFETY: a register of the controller that is in use.
            Self::Registers => unsafe { cpu::write_msr(0x800 + register, u64::from(value)) },
        }
    }
}
