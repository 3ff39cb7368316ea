//! Assembles BPF programs instruction by instruction.
//!
//! It needs no eBPF compiler and no kernel headers.

use std::os::fd::{AsRawFd, OwnedFd};

/// An eBPF instruction in the kernel's format.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Instruction {
    code: u8,
    /// Destination in the lower four bits, source in the upper four (on little-endian machines).
    registers: u8,
    offset: i16,
    immediate: i32,
}

/// A register: r0 holds results, r1 to r5 hold arguments, r6 to r9 survive calls, r10 is the end of the
/// stack.
#[derive(Debug, Clone, Copy)]
pub struct Register(pub u8);
/// The result of a call or of the program.
pub const R0: Register = Register(0);
/// The first argument.
pub const R1: Register = Register(1);
/// The second argument.
pub const R2: Register = Register(2);
/// The third argument.
pub const R3: Register = Register(3);
/// The fourth argument.
pub const R4: Register = Register(4);
/// The end of the stack.
pub const STACK: Register = Register(10);

/// Marks a 64-bit immediate as the descriptor of a map (`BPF_PSEUDO_MAP_FD`).
pub const MAP: Register = Register(1);
/// Marks a 64-bit immediate as the type of a kernel variable (`BPF_PSEUDO_BTF_ID`).
pub(crate) const KERNEL_SYMBOL: Register = Register(3);
const FUNCTION: Register = Register(4);

/// The kernel function that looks up a value in a map (`BPF_FUNC_map_lookup_elem`).
const MAP_LOOKUP: i32 = 1;
/// The kernel function that reads the monotonic clock (`BPF_FUNC_ktime_get_ns`).
pub const KTIME_GET_NS: i32 = 5;

/// A program that is being assembled.
#[derive(Default)]
pub struct Assembler {
    code: Vec<Instruction>,
    /// Jumps to the end, whose distance is not known yet.
    leaving: Vec<usize>,
    /// Instructions with the address of a function, and which function.
    functions: Vec<(usize, usize)>,
}

/// A position in a program.
#[derive(Debug, Clone, Copy)]
pub struct Position(usize);

/// A jump whose target is not known yet.
#[derive(Debug)]
#[must_use]
pub struct Jump(usize);

impl Assembler {
    fn put(&mut self, code: u8, to: Register, from: Register, offset: i16, immediate: i32) {
        let registers = to.0 | from.0 << 4;
        self.code.push(Instruction { code, registers, offset, immediate });
    }

    /// `to = *(u64 *)(from + offset)`
    pub fn load(&mut self, to: Register, from: Register, offset: i16) {
        self.put(0x79, to, from, offset, 0);
    }

    /// `*(u64 *)(to + offset) = from`
    pub fn store(&mut self, to: Register, offset: i16, from: Register) {
        self.put(0x7b, to, from, offset, 0);
    }

    /// `to = from + offset`
    pub fn address(&mut self, to: Register, from: Register, offset: i16) {
        self.put(0xbf, to, from, 0, 0);
        self.put(0x07, to, R0, 0, i32::from(offset));
    }

    /// `to -= from`
    pub fn subtract(&mut self, to: Register, from: Register) {
        self.put(0x1f, to, from, 0, 0);
    }

    /// `*(u64 *)(to + offset) += from`, using register `between`
    pub fn add_to(&mut self, to: Register, offset: i16, from: Register, between: Register) {
        self.load(between, to, offset);
        self.put(0x0f, between, from, 0, 0);
        self.store(to, offset, between);
    }

    /// `to += from`
    pub fn add(&mut self, to: Register, from: Register) {
        self.put(0x0f, to, from, 0, 0);
    }

    /// `to *= from`
    pub fn multiply(&mut self, to: Register, from: Register) {
        self.put(0x2f, to, from, 0, 0);
    }

    /// `to >>= bits`, unsigned
    pub fn shift_right(&mut self, to: Register, bits: i32) {
        self.put(0x77, to, R0, 0, bits);
    }

    /// `to = value`
    pub fn set(&mut self, to: Register, value: i32) {
        self.put(0xb7, to, R0, 0, value);
    }

    /// Sets an address that the kernel fills in; takes two slots.
    pub fn set_address(&mut self, to: Register, source: Register, number: i32) {
        self.put(0x18, to, source, 0, number);
        self.put(0, R0, R0, 0, 0);
    }

    /// Sets any 64-bit number; takes two slots.
    pub fn set_number(&mut self, to: Register, number: u64) {
        self.put(0x18, to, R0, 0, number as i32);
        self.put(0, R0, R0, 0, (number >> 32) as i32);
    }

    /// Sets the address of a function of the same program, by its index in [`link`]; takes two slots.
    pub fn set_function(&mut self, to: Register, place: usize) {
        self.functions.push((self.code.len(), place));
        self.set_address(to, FUNCTION, 0);
    }

    /// `r0 = function(r1, r2, …)`; overwrites r1 to r5.
    pub fn call(&mut self, function: i32) {
        self.put(0x85, R0, R0, 0, function);
    }

    /// `r0 =` address of the value in `map` whose key lies at `stack + key`; returns 0 if there is none.
    /// Overwrites r1 to r5.
    pub fn find(&mut self, map: &OwnedFd, key: i16) {
        self.set_address(R1, MAP, map.as_raw_fd());
        self.address(R2, STACK, key);
        self.call(MAP_LOOKUP);
        self.leave_if_zero(R0);
    }

    /// `if (register == 0) return 0`
    pub fn leave_if_zero(&mut self, register: Register) {
        self.leaving.push(self.code.len());
        self.put(0x15, register, R0, 0, 0);
    }

    /// `if (a == b) return 0`
    pub(crate) fn leave_if_equal(&mut self, a: Register, b: Register) {
        self.leaving.push(self.code.len());
        self.put(0x1d, a, b, 0, 0);
    }

    /// `if (a != b) return 0`
    pub(crate) fn leave_if_different(&mut self, a: Register, b: Register) {
        self.leaving.push(self.code.len());
        self.put(0x5d, a, b, 0, 0);
    }

    /// Returns the position of the next instruction.
    pub fn here(&self) -> Position {
        Position(self.code.len())
    }

    /// Increments `register` and, if it is then at least `limit` (unsigned), jumps to where the result
    /// [lands](Self::land).
    pub fn count_to(&mut self, register: Register, limit: i32) -> Jump {
        self.put(0x07, register, R0, 0, 1);
        self.put(0x35, register, R0, 0, limit);
        Jump(self.code.len() - 1)
    }

    /// Jumps to where the result [lands](Self::land) if `a >= b` (unsigned).
    pub fn skip_if_not_less(&mut self, a: Register, b: Register) -> Jump {
        self.put(0x3d, a, b, 0, 0);
        Jump(self.code.len() - 1)
    }

    /// Jumps to where the result [lands](Self::land) if `a > b` (unsigned).
    pub fn skip_if_greater(&mut self, a: Register, b: Register) -> Jump {
        self.put(0x2d, a, b, 0, 0);
        Jump(self.code.len() - 1)
    }

    /// Jumps to where the result [lands](Self::land) if `register != 0`.
    pub fn skip_unless_zero(&mut self, register: Register) -> Jump {
        self.put(0x55, register, R0, 0, 0);
        Jump(self.code.len() - 1)
    }

    /// Jumps back to `start` if `a < b` (unsigned).
    pub fn repeat_if_less(&mut self, start: Position, a: Register, b: Register) {
        let back = start.0 as i64 - self.code.len() as i64 - 1;
        self.put(0xad, a, b, back as i16, 0);
    }

    /// Makes the next instruction the target of `jump`.
    pub fn land(&mut self, jump: Jump) {
        let Position(here) = self.here();
        self.code[jump.0].offset = (here - jump.0 - 1) as i16;
    }

    /// `return r0`
    pub fn leave(&mut self) {
        self.put(0x95, R0, R0, 0, 0);
    }

    /// Ends the program with `return 0`, the target of all jumps to the end.
    pub fn end(self) -> Vec<Instruction> {
        self.end_with(0)
    }

    /// Ends the program with the return of this value, the target of all jumps to the end.
    pub fn end_with(mut self, value: i32) -> Vec<Instruction> {
        let end = self.code.len();
        for jump in self.leaving.drain(..) {
            self.code[jump].offset = (end - jump - 1) as i16;
        }
        self.set(R0, value);
        self.leave();
        self.code
    }
}

/// Concatenates the functions of a program, the first of which is the entry. Returns all instructions and the
/// index at which each function begins.
pub fn link(functions: Vec<Assembler>) -> (Vec<Instruction>, Vec<u32>) {
    let (mut code, mut starts, mut addresses) = (Vec::new(), Vec::new(), Vec::new());
    for mut function in functions {
        let start = code.len();
        starts.push(start as u32);
        let inside = std::mem::take(&mut function.functions);
        addresses.extend(inside.into_iter().map(|(at, place)| (start + at, place)));
        code.extend(function.end());
    }
    for (at, place) in addresses {
        code[at].immediate = starts[place].cast_signed() - at as i32 - 1;
    }
    (code, starts)
}
