//! All contact with the live system except the timed loops: CPUs, clock, kernel events, BPF, perf, the machine.
//!
//! ```no_run
//! use anechoic_recording::Problem;
//! use anechoic_system::{clock, cpus, machine};
//!
//! let allowed = cpus::allowed();
//! let clock = clock::calibrate(&allowed, false)?;
//! println!("{}: CPUs {}", machine::describe().model, cpus::list(&allowed));
//! println!("{} at {} mHz", clock.counter, clock.frequency_millihertz);
//! # Ok::<(), Problem>(())
//! ```
//!
//! [`tracefs`] goes from mount to instance, collector and pipe; `anechoic_recording::trace` decodes its pages. [`steal`]
//! finds offsets in the kernel's type data, assembles a program for [`bpf`] and reads its ring buffer. [`init`] is what
//! the first process of a kernel does (`anechoic minimal`).

pub mod bpf;
pub mod cgroups;
pub mod changes;
pub mod check;
pub mod clock;
pub mod counters;
pub mod cpu_time;
pub mod cpus;
pub mod functions;
pub mod holder;
pub mod huge_pages;
pub mod idle;
pub mod init;
mod little_endian;
pub mod machine;
pub mod memory_nodes;
pub mod perf;
pub mod quantum;
pub mod rates;
pub mod rights;
pub mod rlimits;
pub mod shared_object;
pub mod stacks;
mod stat;
pub mod steal;
pub mod tracefs;
pub mod tunables;
pub mod who;
