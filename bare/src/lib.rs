//! Boots on a machine without an operating system, runs the timed loops of `anechoic-kernels` there with interrupts off,
//! and writes a text that `anechoic import bare` reads. docs/bare.md shows how to use it,
//! [`text`] defines the text.

#![no_std]

pub mod acpi;
pub mod apic;
pub mod arena;
#[path = "../../crates/recording/src/memory/catalogue.rs"]
pub mod catalogue;
pub mod clock;
pub mod context;
pub mod cpu;
pub mod crew;
mod failure;
pub mod interrupts;
pub mod machine;
pub mod measuring;
#[path = "../../crates/recording/src/methods.rs"]
pub mod methods;
pub mod pages;
pub mod parameters;
#[path = "../../crates/recording/src/pattern.rs"]
mod pattern;
pub mod run;
pub mod seat;
pub mod serial;
pub mod skew;
pub mod text;
pub mod timed;
pub mod trampoline;
