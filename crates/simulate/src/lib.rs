//! Simulation of parallel jobs under noise, in the LogGOPS model.
//!
//! A [`Schedule`] has what each rank does: sends, receives and computations, and what each of them waits for. It is read
//! from a GOAL file ([`goal`]) or from traces of an MPI program ([`mpi_trace`]), or built from a pattern ([`patterns`]). [`simulate`] executes it with [`Noise`] on the
//! CPUs and [`Parameters`] of the network. [`run`] does all that [`OPTIONS`] ask for. Nothing here prints.
//!
//! ```
//! use anechoic_recording::{Problem, options::Answers};
//! use anechoic_simulate::{Ask, OPTIONS, run};
//!
//! let options = [("pattern", "barrier"), ("ranks", "64"), ("law", "periodic")];
//! let ask = Ask::read(&Answers::read(OPTIONS, &options)?)?;
//! let found = run(&ask, &[], &|_, _| true)?;
//! assert!(found.slowdown.is_some_and(|slowdown| slowdown.mean > 1.01));
//! # Ok::<(), Problem>(())
//! ```

#![forbid(unsafe_code)]

mod ask;
mod critical;
mod engine;
mod given;
pub mod goal;
mod inputs;
mod lateness;
mod measured;
mod median;
pub mod mpi_trace;
mod network_noise;
#[cfg(test)]
mod network_noise_tests;
mod noise;
mod options;
mod parameters;
pub mod patterns;
mod ranks;
mod replica;
mod rounds;
#[cfg(test)]
mod rounds_tests;
mod runs;
mod schedule;
mod simulation;
mod size;
mod tolerance;
mod wave;
mod work;

pub use ask::Ask;
pub use critical::{CriticalPath, PathDetour, PathSource, PathTime};
pub use engine::{Model, Outcome, Progress, simulate};
pub use given::NoiseFacts;
pub use lateness::{LateGroup, Lateness};
pub use measured::{EagerSearch, Measured, SizeCosts, SizeTimes, delay_ns, estimate};
pub use mpi_trace::TracedFacts;
pub use network_noise::DrawnFacts;
pub use noise::law::{Law, Streams};
pub use noise::phase::Phase;
pub use noise::trace::Trace;
pub use noise::{Delay, Noise};
pub use options::OPTIONS;
pub use parameters::{Network, Parameters};
pub use ranks::{Ranks, Together};
pub use replica::Replica;
pub use schedule::{ANY_RANK, ANY_TAG, Action, Builder, Schedule};
pub use simulation::{
    Fate, JobFacts, NetworkEffect, Simulation, Slowdown, SourceEffect, run, run_with,
};
pub use tolerance::{Grown, Growth, Tolerance};
pub use wave::{IdleWave, Typical, WaveDistance};
