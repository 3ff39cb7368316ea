//! Work kernels: known amounts of work of one kind, whose duration the methods measure.

mod empty;

/// One work kernel.
#[derive(Debug)]
pub struct Kernel {
    /// What it is called on the command line and in recordings.
    pub id: &'static str,
    /// What one iteration does and what a longer run means, in a line.
    pub what: &'static str,
    /// Which set of experiments it is from.
    pub family: Family,
    /// Instructions of its kind in one iteration; 0 where it has none.
    pub instructions: u32,
    /// Does `iterations` (at least 1) and returns a value that depends on all of them.
    ///
    /// It touches no memory but its own, which a first call has touched, and calls nothing outside.
    pub run: fn(iterations: u64) -> u64,
    /// The value that [`Kernel::run`] must return, by another way than doing the work.
    pub expected: fn(iterations: u64) -> u64,
}

/// Which set of experiments a kernel is from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Family {
    /// Nothing but the call: measures the tool itself.
    Null,
    /// Many instructions of one type (Radojković 2008).
    Tick,
    /// The bodies of do-nothing loops (Tsafrir 2007).
    DoNothing,
}

/// All work kernels.
pub static KERNELS: &[Kernel] = &[empty::KERNEL];

/// The kernel of that name.
#[must_use]
pub fn find(id: &str) -> Option<&'static Kernel> {
    KERNELS.iter().find(|kernel| kernel.id == id)
}
