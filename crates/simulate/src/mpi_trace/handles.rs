//! What the numbers in a trace mean, which depends on the MPI library and language.

/// The library and language of a program, as far as they matter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Library {
    /// MPICH and those that follow it: Intel MPI, MVAPICH, Cray MPI.
    Mpich,
    /// Open MPI, called from C.
    OpenMpiC,
    /// Open MPI, called from Fortran.
    OpenMpiFortran,
}

/// The other rank of a message, numbered as in its communicator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Peer {
    /// A rank.
    Rank(u32),
    /// `MPI_ANY_SOURCE`.
    Any,
    /// `MPI_PROC_NULL`: there is no message.
    Nobody,
}

/// Fortran handles of Open MPI are places in a table; addresses are larger.
const MOST_IN_TABLE: i64 = 1 << 16;

impl Library {
    /// Returns the library whose communicators have handles like this one.
    ///
    /// Those of MPICH are 32-bit numbers whose first byte names their kind, also in Fortran. Those of Open MPI are
    /// addresses in C and small numbers in Fortran.
    pub(super) fn from_communicator(handle: i64) -> Self {
        let is_short = i32::try_from(handle).is_ok() || u32::try_from(handle).is_ok();
        match (handle as u32) >> 24 {
            0x44 | 0x84 | 0xc4 if is_short => Self::Mpich,
            _ if (0..MOST_IN_TABLE).contains(&handle) => Self::OpenMpiFortran,
            _ => Self::OpenMpiC,
        }
    }

    /// Returns the number of bytes from one request of an array to the next.
    pub(super) fn request_bytes(self) -> u64 {
        match self {
            Self::OpenMpiC => 8,
            Self::Mpich | Self::OpenMpiFortran => 4,
        }
    }

    /// Returns which rank a number means, if it means one.
    pub(super) fn peer(self, number: i64) -> Option<Peer> {
        match (number, self) {
            (-1, Self::Mpich) | (-2, Self::OpenMpiC | Self::OpenMpiFortran) => Some(Peer::Nobody),
            (-2, Self::Mpich) | (-1, Self::OpenMpiC | Self::OpenMpiFortran) => Some(Peer::Any),
            _ => u32::try_from(number).ok().map(Peer::Rank),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_are_known_by_their_communicators() {
        let cases = [
            ("MPICH, world", 1_140_850_688, Library::Mpich),
            ("MPICH, another", 2_214_592_512, Library::Mpich),
            ("MPICH, another, as a negative number", -2_080_374_784, Library::Mpich),
            ("Open MPI, world", 94_372_624_429_696, Library::OpenMpiC),
            ("Open MPI, world of a program at fixed addresses", 5_641_280, Library::OpenMpiC),
            ("Open MPI, Fortran, world", 0, Library::OpenMpiFortran),
            ("Open MPI, Fortran, another", 3, Library::OpenMpiFortran),
        ];
        for (name, handle, expected) in cases {
            assert_eq!(Library::from_communicator(handle), expected, "{name}");
        }
    }
}
