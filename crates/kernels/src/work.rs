//! Work kernels: known amounts of one kind of work, whose duration the methods measure.
//!
//! All loops are inline assembly, so that they are the same in every build.

mod call;
mod counter;
mod empty;
mod fibonacci;
mod intadd;
mod intdiv;
mod intmul;
mod l1load;
mod sum;
mod trap;

/// A work kernel.
#[derive(Debug)]
pub struct Kernel {
    /// The name on the command line and in recordings.
    pub id: &'static str,
    /// What one iteration does and what a longer run means, in one line.
    pub what: &'static str,
    /// The set of experiments that it belongs to.
    pub family: Family,
    /// Number of instructions of its kind in one iteration; 0 if it has none.
    pub instructions: u32,
    /// Does `iterations` (at least 1) and returns a value that depends on all of them.
    ///
    /// It touches only its own memory, which a first call has touched, and calls nothing outside (except the
    /// operating system, in [`Family::Trap`]).
    pub run: fn(iterations: u64) -> u64,
    /// Computes, without doing the work, the value that [`Kernel::run`] must return.
    pub expected: fn(iterations: u64) -> u64,
}

/// The set of experiments that a kernel belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Family {
    /// Only the call: measures the tool itself.
    Null,
    /// Many instructions of one type (Radojković 2008).
    Tick,
    /// The bodies of do-nothing loops (Tsafrir 2007).
    DoNothing,
    /// System calls that do next to nothing.
    Trap,
}

/// Number of instructions of one type in one iteration of a kernel of [`Family::Tick`], as in the paper. The
/// loop itself is under 1 % of them.
const TICK_INSTRUCTIONS: u32 = 512;

type Run = fn(iterations: u64) -> u64;

const fn tick(id: &'static str, what: &'static str, run: Run, expected: Run) -> Kernel {
    Kernel { id, what, family: Family::Tick, instructions: TICK_INSTRUCTIONS, run, expected }
}

const fn do_nothing(id: &'static str, what: &'static str, run: Run, expected: Run) -> Kernel {
    Kernel { id, what, family: Family::DoNothing, instructions: 1, run, expected }
}

/// All work kernels.
pub static KERNELS: &[Kernel] = &[
    empty::KERNEL,
    intadd::INDEPENDENT,
    intadd::CHAIN,
    intmul::INDEPENDENT,
    intmul::CHAIN,
    intdiv::INDEPENDENT,
    intdiv::CHAIN,
    l1load::KERNEL,
    counter::MEMORY,
    counter::REGISTER,
    sum::MEMORY,
    sum::REGISTER,
    fibonacci::MEMORY,
    fibonacci::REGISTER,
    call::MEMORY,
    call::REGISTER,
    trap::KERNEL,
];

/// Returns the kernel of that name.
#[must_use]
pub fn find(id: &str) -> Option<&'static Kernel> {
    KERNELS.iter().find(|kernel| kernel.id == id)
}

/// The variables of a kernel that keeps them in memory: one cache line, the same in every call.
#[repr(C, align(64))]
struct Line<const N: usize>([u64; N]);
