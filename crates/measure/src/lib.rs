//! Timed loops on the live system: methods, the run, injected noise, ranks that measure together.
//!
//! Watches two CPUs for one second:
//!
//! ```no_run
//! use anechoic_measure::methods::detours::Detours;
//! use anechoic_measure::run::{Plan, run};
//! use anechoic_recording::Problem;
//! use std::path::Path;
//! use std::sync::atomic::AtomicBool;
//! use std::time::Duration;
//!
//! let plan = Plan::new(Detours::lasting(Duration::from_secs(1)).on(vec![0, 1]), "1.0");
//! let stop = AtomicBool::new(false); // a signal handler may set it
//! let run = run(&plan, Path::new("recording"), &stop, &mut |_| {})?;
//! for cpu in &run.cpus {
//!     println!("CPU {}: {} detours", cpu.cpu, cpu.detours);
//! }
//! # Ok::<(), Problem>(())
//! ```
//!
//! [`methods`] build an [`experiment`], which is data. [`run`](mod@run) schedules its cells as rounds, records the kernel's
//! side and writes to disk; `timed` is what runs on a measured CPU. [`ensemble`] joins the ranks of a parallel job
//! and [`inject`] makes noise: `sampled` at periodic interrupts, `timers` at other times, `thread` with threads.

mod calibrate;
pub mod ensemble;
pub mod experiment;
pub mod inject;
pub mod kernel;
mod mapping;
pub mod methods;
pub mod monitor;
pub mod run;
mod scheduling;
pub mod self_test;
mod timed;
