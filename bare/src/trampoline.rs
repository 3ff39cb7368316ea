//! How another CPU comes from its first instruction, in 16-bit mode below 1 MiB, to Rust on the pages of the first CPU.

use crate::cpu;
use core::arch::global_asm;
use core::mem::offset_of;
use core::ptr::copy_nonoverlapping;

/// Pages that the trampoline needs in one piece below 1 MiB: its code, and four tables that map the first 2 MiB.
pub const PAGES: u64 = 5;

global_asm!(
    ".pushsection .rodata.trampoline, \"a\"",
    ".balign 16",
    ".code16",
    ".global trampoline",
    "trampoline:",
    "jmp 2f",
    // What `Passed` describes.
    ".skip 160 - (. - trampoline)",
    "2:",
    "cli",
    "cld",
    "mov ax, cs",
    "mov ds, ax",
    "xor ebx, ebx",
    "mov bx, ax",
    "shl ebx, 4",
    ".byte 0x66, 0x0f, 0x01, 0x16", // LGDT of the six bytes at 80
    ".short 80",
    "mov eax, cr0",
    "or eax, 1",
    "mov cr0, eax",
    ".byte 0x66, 0xff, 0x2e", // a far jump to the six bytes at 88
    ".short 88",
    ".code32",
    ".global trampoline_32",
    "trampoline_32:",
    "mov eax, 16",
    "mov ds, eax",
    "mov es, eax",
    "mov ss, eax",
    "mov eax, dword ptr [ebx + 16]",
    "mov cr4, eax",
    "mov eax, dword ptr [ebx + 8]",
    "mov cr3, eax",
    "mov ecx, 0xc0000080",
    "mov eax, dword ptr [ebx + 24]",
    "xor edx, edx",
    "wrmsr",
    "mov eax, dword ptr [ebx + 32]",
    "mov cr0, eax",
    ".byte 0xff, 0x6b, 0x68", // a far jump to the six bytes at EBX + 104
    ".code64",
    ".global trampoline_64",
    "trampoline_64:",
    "mov ebx, ebx",
    "mov rsp, qword ptr [rbx + 56]",
    "mov rcx, qword ptr [rbx + 64]",
    "mov rdi, qword ptr [rbx + 72]",
    "mov rdx, qword ptr [rbx + 48]",
    "mov rax, qword ptr [rbx + 40]",
    "mov cr3, rax",
    "mov cr4, rdx",
    "xor eax, eax",
    "mov fs, eax",
    "mov gs, eax",
    "call rcx",
    "ud2",
    ".global trampoline_end",
    "trampoline_end:",
    ".popsection",
);

unsafe extern "C" {
    static trampoline: u8;
    static trampoline_32: u8;
    static trampoline_64: u8;
    static trampoline_end: u8;
}

/// What the trampoline's code reads from its page, at offsets that it knows.
#[repr(C)]
struct Passed {
    jump: u64,
    /// The tables that map the trampoline, and the mode of paging that they need.
    first_cr3: u64,
    first_cr4: u64,
    efer: u64,
    cr0: u64,
    /// Those of the first CPU.
    cr3: u64,
    cr4: u64,
    stack: u64,
    entry: u64,
    argument: u64,
    /// The operand of LGDT.
    descriptors_limit: u16,
    descriptors_base: [u16; 3],
    /// Where the code goes on in 32-bit mode: an offset and a segment.
    in_32: [u16; 4],
    between: u64,
    /// The same in 64-bit mode.
    in_64: [u16; 4],
    descriptors: [u64; 4],
}

const _: () = assert!(offset_of!(Passed, in_64) == 104 && size_of::<Passed>() <= 160);

/// Segments of code in 32-bit mode, of data, and of code in 64-bit mode, after the one that none may use.
const DESCRIPTORS: [u64; 4] =
    [0, 0x00cf_9b00_0000_ffff, 0x00cf_9300_0000_ffff, 0x00af_9b00_0000_ffff];

/// The trampoline in its place.
#[derive(Debug)]
pub struct Trampoline {
    page: u64,
}

impl Trampoline {
    /// Copies the code to its place and maps it, with the mode of paging of the CPU that runs this.
    ///
    /// # Safety
    /// [`PAGES`] pages from `page` on must be free memory below 1 MiB, mapped at their own addresses.
    #[must_use]
    pub unsafe fn place(page: u64) -> Self {
        const PRESENT: u64 = 3;
        const LARGE: u64 = 0x83;
        let (code, end) = (&raw const trampoline, &raw const trampoline_end);
        let at = |label: *const u8| page + (label.addr() - code.addr()) as u64;
        let halves = |address: u64| [address as u16, (address >> 16) as u16];
        let jump = |label, segment| {
            let [low, high] = halves(at(label));
            [low, high, segment, 0]
        };
        let [cr0, cr3, cr4] = cpu::control();
        let five_levels = cr4 & cpu::FIVE_LEVELS;
        // SAFETY: the caller vouches for the pages, which hold any bytes.
        unsafe {
            copy_nonoverlapping(code, page as *mut u8, end.addr() - code.addr());
            // One table of each level; the first entry of each leads to the next.
            for level in 1..PAGES {
                let entries = (page + level * 4096) as *mut [u64; 512];
                let next = page + (level + 1) * 4096;
                *entries = [0; 512];
                (*entries)[0] = if level == PAGES - 1 { LARGE } else { next | PRESENT };
            }
            let passed = page as *mut Passed;
            let jump_over = (*passed).jump;
            let [low, high] = halves(page + offset_of!(Passed, descriptors) as u64);
            *passed = Passed {
                jump: jump_over,
                first_cr3: page + if five_levels == 0 { 8192 } else { 4096 },
                first_cr4: 1 << 5 | five_levels,
                efer: cpu::msr(cpu::EFER).unwrap_or(0) & 0x901,
                cr0,
                cr3,
                cr4,
                stack: 0,
                entry: 0,
                argument: 0,
                descriptors_limit: size_of_val(&DESCRIPTORS) as u16 - 1,
                descriptors_base: [low, high, 0],
                in_32: jump(&raw const trampoline_32, 8),
                between: 0,
                in_64: jump(&raw const trampoline_64, 24),
                descriptors: DESCRIPTORS,
            };
        }
        Trampoline { page }
    }

    /// Returns the number of the page at which a CPU begins.
    pub(crate) fn number(&self) -> u8 {
        (self.page >> 12) as u8
    }

    /// Sets the stack of the next CPU and the function that it calls with this argument.
    pub(crate) fn prepare(&mut self, stack: u64, entry: extern "C" fn(u64) -> !, argument: u64) {
        let passed = self.page as *mut Passed;
        // SAFETY: `place` put it there. Volatile, because another CPU reads it.
        unsafe {
            (&raw mut (*passed).stack).write_volatile(stack);
            (&raw mut (*passed).entry).write_volatile(entry as usize as u64);
            (&raw mut (*passed).argument).write_volatile(argument);
        }
    }
}
