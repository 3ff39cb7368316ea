//! The kernels that are booted: Debian's packages.

/// One kernel.
#[derive(Debug)]
pub struct Kernel {
    /// How the laboratory calls it.
    pub name: &'static str,
    /// The suite of Debian that has it.
    pub suite: &'static str,
    /// The package that depends on the newest image of its kind.
    pub package: &'static str,
}

/// All kernels. The newest one is that of the backports, whose version changes.
pub const KERNELS: &[Kernel] = &[
    Kernel { name: "6.1", suite: "bookworm", package: "linux-image-amd64" },
    Kernel { name: "6.1-rt", suite: "bookworm", package: "linux-image-rt-amd64" },
    Kernel { name: "6.12", suite: "trixie", package: "linux-image-amd64" },
    Kernel { name: "6.12-rt", suite: "trixie", package: "linux-image-rt-amd64" },
    Kernel { name: "newest", suite: "trixie-backports", package: "linux-image-amd64" },
    Kernel { name: "newest-rt", suite: "trixie-backports", package: "linux-image-rt-amd64" },
];
