//! Interrupts are off in the whole image. This module counts those that come nevertheless, and proves that they are
//! held back: it makes one pending while a loop runs.

use crate::apic::{
    Controller, END_OF_INTERRUPT, REQUESTED, SPURIOUS, TASK_PRIORITY, TIMER, TIMER_COUNT,
    TIMER_DIVIDER,
};
use crate::cpu;
use anechoic_kernels::counter;
use core::arch::{asm, global_asm};
use core::mem::offset_of;
use core::sync::atomic::{AtomicU64, Ordering};

/// Returns how many interrupts and how many NMIs were delivered to this CPU so far. The table of this module must be in
/// use.
#[must_use]
pub fn delivered() -> [u64; 2] {
    current().counts.each_ref().map(|count| count.load(Ordering::Relaxed))
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
    // The counts lie at the lower end of the stack, which is aligned to its size.
    "2:",
    "mov rcx, rsp",
    "and rcx, -{STACK}",
    "lock inc qword ptr [rcx]",
    "jmp 4f",
    "3:",
    "mov rcx, rsp",
    "and rcx, -{STACK}",
    "lock inc qword ptr [rcx + 8]",
    // An NMI wakes a CPU. One that was about to halt looks again first.
    "lea rcx, [rip + sleep_begin]",
    "cmp qword ptr [rsp + 24], rcx",
    "jb 4f",
    "lea rax, [rip + sleep_end]",
    "cmp qword ptr [rsp + 24], rax",
    "jae 4f",
    "mov qword ptr [rsp + 24], rcx",
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
    //
    // Halts until the number at RDI is not RSI any more. Interrupts are off: only an NMI wakes the CPU.
    ".global sleep_while",
    "sleep_while:",
    "sleep_begin:",
    "cmp qword ptr [rdi], rsi",
    "jne sleep_end",
    "hlt",
    "jmp sleep_begin",
    "sleep_end:",
    "ret",
    STACK = const STACK,
);

unsafe extern "C" {
    static interrupt_stubs: u8;
    fn sleep_while(number: *const AtomicU64, value: u64);
}

/// Halts until an NMI has been delivered since there were `nmis` of them on this CPU.
pub(crate) fn sleep(nmis: u64) {
    // SAFETY: reads a count of this CPU, which its handler of NMIs changes.
    unsafe { sleep_while(&raw const current().counts[1], nmis) };
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
/// Size of the stack for interrupts.
const STACK: usize = 16 << 10;

/// What a CPU reads when an interrupt comes. Interrupts have a stack of their own, because the code below uses the
/// bytes under its stack pointer.
#[repr(C, align(16384))]
pub struct State {
    /// Interrupts other than NMIs, and NMIs, that were delivered to this CPU.
    counts: [AtomicU64; 2],
    stack: [u8; STACK - 16],
    descriptors: [u64; DESCRIPTORS],
    task: [u32; 26],
    before: [Table; 2],
}

const _: () = assert!(align_of::<State>() == STACK && offset_of!(State, descriptors) == STACK);

static mut GATES: [[u64; 2]; 256] = [[0; 2]; 256];

/// The segments of code and of data that the loader gave the first CPU.
static mut SEGMENTS: [u64; 2] = [0; 2];

/// Fills the interrupt table, which is the same for all CPUs. Interrupts must be off.
fn fill_gates() {
    // SAFETY: the first CPU runs this, always with the same outcome.
    unsafe {
        let (code_segment, data_segment): (u16, u16);
        asm!("mov {0:x}, cs", out(reg) code_segment, options(nomem, nostack));
        asm!("mov {0:x}, ss", out(reg) data_segment, options(nomem, nostack));
        SEGMENTS = [code_segment, data_segment].map(u64::from);
        let gates = &raw mut GATES;
        for (vector, gate) in (*gates).iter_mut().enumerate() {
            let stub = &raw const interrupt_stubs as u64 + 16 * vector as u64;
            let (low, middle, high) = (stub & 0xffff, stub >> 16 & 0xffff, stub >> 32);
            *gate = [low | u64::from(code_segment) << 16 | 0x8e01 << 32 | middle << 48, high];
        }
    }
}

/// Replaces the loader's tables on the first CPU by this one's. Interrupts must be off.
///
/// # Safety
/// The state must be this CPU's, and stay where it is.
pub unsafe fn install(state: *mut State) {
    // SAFETY: the caller vouches for the state; the tables in use belong to the loader.
    unsafe {
        asm!("sgdt [{}]", in(reg) &raw mut (*state).before[0], options(nostack));
        asm!("sidt [{}]", in(reg) &raw mut (*state).before[1], options(nostack));
        fill_gates();
        load(state);
    }
}

/// Gives another CPU the tables of the first one, with its own state.
///
/// # Safety
/// As for [`install`]; `first` must be the state of the first CPU, and in use there.
pub(crate) unsafe fn join(state: *mut State, first: *const State) {
    // SAFETY: the caller vouches for both states; the descriptors have the segments of the first CPU.
    unsafe {
        (*state).before = (*first).before;
        load(state);
        let [code, data] = SEGMENTS;
        asm!(
            "mov ds, {data:e}",
            "mov es, {data:e}",
            "mov ss, {data:e}",
            "push {code}",
            "lea {next}, [rip + 2f]",
            "push {next}",
            "retfq",
            "2:",
            data = in(reg) data,
            code = in(reg) code,
            next = out(reg) _,
        );
    }
}

/// Puts the descriptors, the task segment and the interrupt table into use.
///
/// # Safety
/// As for [`install`]; the gates are filled, and `before` is stored.
unsafe fn load(state: *mut State) {
    // SAFETY: the caller vouches for the state, which one CPU changes with interrupts off.
    unsafe {
        let before = (*state).before[0];
        let used = (usize::from(before.limit) + 1) / 8;
        assert!(used + 2 <= DESCRIPTORS, "the firmware's descriptor table has {used} entries");
        let descriptors = &mut (*state).descriptors;
        core::ptr::copy_nonoverlapping(before.base as *const u64, descriptors.as_mut_ptr(), used);
        let (task, limit) = (&raw const (*state).task as u64, size_of::<[u32; 26]>() as u64 - 1);
        descriptors[used] =
            limit | (task & 0xff_ffff) << 16 | 0x89 << 40 | (task >> 24 & 0xff) << 56;
        descriptors[used + 1] = task >> 32;
        let stack = state as u64 + STACK as u64;
        (*state).task[9] = stack as u32; // the first stack of the interrupt stack table
        (*state).task[10] = (stack >> 32) as u32;
        (*state).task[25] = (limit as u32 + 1) << 16; // no map of ports
        let table = |base, limit: usize| Table { limit: limit as u16, base };
        let mine = table(descriptors.as_ptr() as u64, (used + 2) * 8 - 1);
        let gates = table(&raw const GATES as u64, 256 * 16 - 1);
        asm!("lgdt [{}]", in(reg) &raw const mine, options(nostack));
        asm!("lidt [{}]", in(reg) &raw const gates, options(nostack));
        asm!("ltr {0:x}", in(reg) used * 8, options(nostack));
    }
}

/// Returns the state of this CPU, from the address of its descriptors. The table of this module must be in use.
fn current() -> &'static State {
    let mut table = Table { limit: 0, base: 0 };
    // SAFETY: the descriptors in use are part of a state, which stays where it is.
    unsafe {
        asm!("sgdt [{}]", in(reg) &raw mut table, options(nostack));
        &*((table.base - offset_of!(State, descriptors) as u64) as *const State)
    }
}

/// Returns whether the table of this module is in use on this CPU.
#[must_use]
pub fn is_installed() -> bool {
    let mut table = Table { limit: 0, base: 0 };
    // SAFETY: stores a register.
    unsafe { asm!("sidt [{}]", in(reg) &raw mut table, options(nostack)) };
    table.base == &raw const GATES as u64
}

/// Returns the first CPU to the loader's tables, as the firmware expects it when it is called.
pub fn uninstall() {
    let before = current().before;
    // SAFETY: `install` stored both operands, and the tables belong to the firmware, which stays in memory.
    unsafe {
        asm!("lgdt [{}]", in(reg) &raw const before[0], options(nostack));
        asm!("lidt [{}]", in(reg) &raw const before[1], options(nostack));
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

/// Lets the CPU's own timer raise an interrupt while a loop reads the counter, holds it back for `held_ticks`, and delivers it
/// afterwards. If none comes, the loop ends after `most_ticks`. Returns `None` if the CPU's interrupt controller is switched
/// off.
pub fn hold(held_ticks: u64, most_ticks: u64) -> Option<Held> {
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
    let is_pending = || controller.read(REQUESTED + VECTOR / 32) >> (VECTOR % 32) & 1 == 1;
    let begin = counter::now();
    let mut since = None;
    while match since {
        None => counter::now() - begin < most_ticks,
        Some(since) => counter::now() - since < held_ticks,
    } {
        since = since.or_else(|| is_pending().then(counter::now));
    }
    let pending = is_pending();
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
