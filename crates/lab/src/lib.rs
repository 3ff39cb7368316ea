//! What the tests of several crates share: turns of those that measure, notes of what was not tested, attempts on a
//! host that may be busy, and processes whose signals are as usual.

pub mod attempt;
pub mod note;
pub mod process;
pub mod turn;
