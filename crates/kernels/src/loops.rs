//! The frame of loops in assembly. They start at a 64-byte boundary, so that the surrounding code does not change
//! their speed.

/// Starts the loop of a kernel.
macro_rules! begin {
    () => {
        ".p2align 6\n2:"
    };
}

/// Ends the loop of a kernel: jumps back until the register `left` has been counted down to 0.
#[cfg(target_arch = "x86_64")]
macro_rules! repeat {
    () => {
        "dec {left}\njnz 2b"
    };
}
#[cfg(target_arch = "aarch64")]
macro_rules! repeat {
    () => {
        "subs {left}, {left}, #1\nb.ne 2b"
    };
}
