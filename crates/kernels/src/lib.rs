//! The timed loops of anechoic: no allocation, no locks, no operating system. One kernel measures the null
//! system call; no other kernel makes system calls.
//!
//! Times are raw ticks of the CPU's own counter (`rdtsc` on x86-64, `cntvct_el0` on AArch64).

#![no_std]

pub mod counter;
pub mod detour;
pub mod memory;
pub mod work;

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
compile_error!("anechoic supports only x86_64 and aarch64");
