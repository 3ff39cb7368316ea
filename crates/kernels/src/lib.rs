//! The timed loops of anechoic: no allocation, no locks, no operating system. One kernel measures the null
//! system call; no other kernel makes system calls.
//!
//! Times are raw ticks of the CPU's own counter (`rdtsc` on x86-64, `cntvct_el0` on AArch64).
//!
//! ```
//! use anechoic_kernels::{counter, work};
//!
//! let kernel = work::find("intadd").expect("a row of KERNELS");
//! let start = counter::now();
//! let value = (kernel.run)(1_000);
//! println!("{} ticks", counter::now() - start);
//! assert_eq!(value, (kernel.expected)(1_000));
//! ```

#![no_std]

#[macro_use]
mod loops;

pub mod calibration;
pub mod counter;
pub mod detour;
pub mod foreign;
pub mod memory;
pub mod skew;
pub mod steps;
pub mod tlb;
pub mod work;

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
compile_error!("anechoic supports only x86_64 and aarch64");
