//! No work at all: what remains is the cost of the measuring frame.

use super::{Family, Kernel};

pub(super) const KERNEL: Kernel = Kernel {
    id: "empty",
    what: "nothing: what is measured is the tool itself",
    family: Family::Null,
    instructions: 0,
    run,
    expected: run,
};

#[inline(never)]
fn run(iterations: u64) -> u64 {
    iterations
}
