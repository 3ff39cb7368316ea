//! Work kernels that use memory: a workspace is prepared once, then the same work runs on it repeatedly.
//!
//! The caller owns the memory and decides where it lies and which page size it has.

mod code;
mod matrix;
mod random;
mod sequential;
mod sort;

/// A cache line, the unit of workspaces.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(64))]
pub struct Line(pub [u64; 8]);

impl Line {
    /// A line of zeros.
    pub const ZERO: Line = Line([0; 8]);
    /// Size of a line in bytes.
    pub const BYTES: u64 = size_of::<Line>() as u64;
}

/// The parameters of a kernel's work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Params {
    /// Size of the working set, in bytes.
    pub bytes: u64,
}

impl Params {
    /// Returns the number of lines that hold the working set.
    #[must_use]
    pub fn lines(&self) -> usize {
        usize::try_from(self.bytes.div_ceil(Line::BYTES)).unwrap_or(usize::MAX)
    }
}

/// Memory that a kernel has prepared for its work.
#[derive(Debug)]
pub struct Workspace<'m> {
    /// The memory: at least [`Params::lines`] lines.
    pub lines: &'m mut [Line],
    /// The parameters that it was prepared for.
    pub params: Params,
}

/// A work kernel with a workspace.
#[derive(Debug)]
pub struct MemoryKernel {
    /// The name on the command line and in recordings.
    pub id: &'static str,
    /// What one iteration does and what a longer run means, in one line.
    pub what: &'static str,
    /// Number of instructions of its kind in one iteration; 0 if it has none.
    pub instructions: u32,
    /// Returns the number of iterations that pass through the whole working set once.
    pub pass: fn(&Params) -> u64,
    /// Fills at least [`Params::lines`] lines of memory with the input of the work, and touches all of it.
    pub prepare: for<'m> fn(&Params, &'m mut [Line]) -> Workspace<'m>,
    /// Does `iterations` (at least 1) and returns a value that depends on all of them. It touches only its
    /// workspace and calls nothing outside. Every call does the same work from the start.
    pub run: fn(&mut Workspace<'_>, iterations: u64) -> u64,
    /// Computes, without doing the work, the value that [`MemoryKernel::run`] must return.
    pub expected: fn(&Params, iterations: u64) -> u64,
}

/// All work kernels with a workspace.
pub static KERNELS: &[MemoryKernel] = &[
    sort::KERNEL,
    sequential::READ,
    sequential::WRITE,
    random::READ,
    random::WRITE,
    random::READ_LOCAL,
    random::READ_ON,
    random::WRITE_LOCAL,
    code::KERNEL,
    matrix::OPTIMISED,
    matrix::UNOPTIMISED,
];

/// Returns the kernel of that name.
#[must_use]
pub fn find(id: &str) -> Option<&'static MemoryKernel> {
    KERNELS.iter().find(|kernel| kernel.id == id)
}
