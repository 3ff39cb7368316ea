//! What the tests and benchmarks of several crates share: made-up recordings and noise, turns of tests that measure,
//! notes of what was not tested, attempts on a host that may be busy, and processes whose signals are as usual.

pub mod attempt;
pub mod bare;
pub mod builders;
pub mod note;
pub mod process;
pub mod sample;
pub mod trains;
pub mod turn;
pub mod two_cpus;
pub mod wakeups;
