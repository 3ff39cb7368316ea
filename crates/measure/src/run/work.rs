//! A calibrated amount of a kernel's work, and the look at the counter after it.

use anechoic_kernels::work::Kernel;

/// A number of iterations of one kernel, done between two looks at the counter.
#[derive(Debug, Clone, Copy)]
pub(super) struct Work {
    kernel: &'static Kernel,
    pub(super) iterations: u64,
    /// The value that it must return.
    expected: u64,
    /// A longer time between two looks is a detour, in ticks; `u64::MAX` where none is to be seen.
    pub(super) threshold_ticks: u64,
}

impl Work {
    pub(super) fn new(kernel: &'static Kernel, iterations: u64, threshold_ticks: u64) -> Self {
        let expected = (kernel.expected)(iterations);
        Work { kernel, iterations, expected, threshold_ticks }
    }

    /// Does the work; whether its result was right.
    #[inline(always)]
    pub(super) fn is_right(&self) -> bool {
        (self.kernel.run)(self.iterations) == self.expected
    }

    /// Touches the kernel's code and data.
    pub(super) fn warm_up(&self) {
        std::hint::black_box((self.kernel.run)(1));
    }
}
