//! The compiled kernels: their results and their instructions.

mod disassembly;
mod memory;
mod work;
