//! The built kernels: what they return, and of what instructions they consist.

mod disassembly;
mod memory;
mod work;
