//! The kernels that are booted: Debian's packages.

use super::architectures::{AARCH64, Architecture, X86_64};

/// One kernel.
#[derive(Debug)]
pub struct Kernel {
    /// How the laboratory calls it.
    pub name: &'static str,
    /// The suite of Debian that has it.
    pub suite: &'static str,
    /// The package that depends on the newest image of its kind.
    pub package: &'static str,
    /// The instruction set.
    pub architecture: &'static Architecture,
}

/// All kernels. The newest one is that of the backports, whose version changes.
pub const KERNELS: &[Kernel] = &[
    Kernel { name: "6.1", suite: "bookworm", ..PLAIN },
    Kernel { name: "6.1-rt", suite: "bookworm", ..REAL_TIME },
    Kernel { name: "6.12", suite: "trixie", ..PLAIN },
    Kernel { name: "6.12-rt", suite: "trixie", ..REAL_TIME },
    Kernel {
        name: "6.12-rt-arm64",
        suite: "trixie",
        package: "linux-image-rt-arm64",
        architecture: &AARCH64,
    },
    Kernel { name: "newest", suite: "trixie-backports", ..PLAIN },
    Kernel { name: "newest-rt", suite: "trixie-backports", ..REAL_TIME },
];

const PLAIN: Kernel =
    Kernel { name: "", suite: "", package: "linux-image-amd64", architecture: &X86_64 };
const REAL_TIME: Kernel = Kernel { package: "linux-image-rt-amd64", ..PLAIN };

impl Kernel {
    /// Returns whether Debian builds it for real time, with the tracers that come with that.
    #[must_use]
    pub fn is_real_time(&self) -> bool {
        self.package.contains("-rt-")
    }
}
