//! Work kernels that work on memory: a workspace is prepared once, then the same work is done on it
//! again and again.
//!
//! The memory is the caller's, who knows where it lies and of which pages it is made.

mod sort;

/// A cache line: workspaces are made of whole ones.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(64))]
pub struct Line(pub [u64; 8]);

impl Line {
    /// A line of zeros.
    pub const ZERO: Line = Line([0; 8]);
    /// Bytes of a line.
    pub const BYTES: u64 = size_of::<Line>() as u64;
}

/// What a kernel is to work on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Params {
    /// Size of the working set, in bytes.
    pub bytes: u64,
}

impl Params {
    /// Lines that hold the working set.
    #[must_use]
    pub fn lines(&self) -> usize {
        usize::try_from(self.bytes.div_ceil(Line::BYTES)).unwrap_or(usize::MAX)
    }
}

/// Memory that a kernel has prepared for its work.
#[derive(Debug)]
pub struct Workspace<'m> {
    /// At least [`Params::lines`] of them.
    pub lines: &'m mut [Line],
    /// What it was prepared for.
    pub params: Params,
}

/// One work kernel with a workspace.
#[derive(Debug)]
pub struct MemoryKernel {
    /// What it is called on the command line and in recordings.
    pub id: &'static str,
    /// What one iteration does and what a longer run means, in a line.
    pub what: &'static str,
    /// Instructions of its kind in one iteration; 0 where it has none.
    pub instructions: u32,
    /// Iterations that go through the whole working set once.
    pub pass: fn(&Params) -> u64,
    /// Fills memory of at least [`Params::lines`] lines with what the work needs, and touches all of it.
    pub prepare: for<'m> fn(&Params, &'m mut [Line]) -> Workspace<'m>,
    /// Does `iterations` (at least 1) and returns a value that depends on all of them. It touches no
    /// memory but its workspace, and calls nothing outside. Each call begins where the first one did.
    pub run: fn(&mut Workspace<'_>, iterations: u64) -> u64,
    /// The value that [`MemoryKernel::run`] must return, by another way than doing the work.
    pub expected: fn(&Params, iterations: u64) -> u64,
}

/// All work kernels with a workspace.
pub static KERNELS: &[MemoryKernel] = &[sort::KERNEL];

/// The kernel of that name.
#[must_use]
pub fn find(id: &str) -> Option<&'static MemoryKernel> {
    KERNELS.iter().find(|kernel| kernel.id == id)
}
