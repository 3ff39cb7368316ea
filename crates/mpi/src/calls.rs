//! Calls of the MPI library, from one thread at a time. Errors carry the library's own text.

use anechoic_measure::ensemble::EnsembleError;
use mpi::ffi;
use std::ffi::c_int;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Serializes calls: the library runs with `MPI_THREAD_SERIALIZED`, so only the holder of this lock may call
/// it.
static CALLS: Mutex<()> = Mutex::new(());
/// Longer than the longest error text of any library.
const LONGEST_TEXT: usize = 4096;

/// Waits until no other thread calls the library.
pub(crate) fn alone() -> MutexGuard<'static, ()> {
    CALLS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A communicator of all ranks, for one purpose, so that its messages do not mix with others.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Comm(pub(crate) ffi::MPI_Comm);

// SAFETY: a communicator's handle may be used from any thread (MPI-3.1, 12.4); `CALLS` keeps calls apart.
unsafe impl Send for Comm {}
// SAFETY: as above.
unsafe impl Sync for Comm {}

impl Comm {
    /// Duplicates the communicator of all ranks, with errors returned to the caller. All ranks call this
    /// together.
    ///
    /// # Errors
    /// [`EnsembleError::Lost`].
    pub(crate) fn duplicate_world() -> Result<Self, EnsembleError> {
        let _alone = alone();
        // SAFETY: the library is initialized (see `Job::begin`), no other thread calls it, and `copy`
        // outlives the call.
        unsafe {
            let world = ffi::RSMPI_COMM_WORLD;
            check(
                "MPI_Comm_set_errhandler",
                ffi::MPI_Comm_set_errhandler(world, ffi::RSMPI_ERRORS_RETURN),
            )?;
            let mut copy = ffi::RSMPI_COMM_NULL;
            check("MPI_Comm_dup", ffi::MPI_Comm_dup(world, &mut copy))?; // the copy inherits its error handler
            Ok(Comm(copy))
        }
    }

    /// Returns the number of this rank.
    pub(crate) fn rank(self) -> u32 {
        let (_alone, mut rank) = (alone(), 0);
        // SAFETY: the communicator is valid, no other thread calls the library, and `rank` outlives the call.
        unsafe { ffi::MPI_Comm_rank(self.0, &mut rank) };
        rank.unsigned_abs()
    }

    /// Returns the number of ranks in the job.
    pub(crate) fn size(self) -> u32 {
        let (_alone, mut size) = (alone(), 1);
        // SAFETY: as in `rank`.
        unsafe { ffi::MPI_Comm_size(self.0, &mut size) };
        size.unsigned_abs()
    }
}

/// Checks the return code of a call.
///
/// # Errors
/// Returns [`EnsembleError::Lost`] with the library's error text.
pub(crate) fn check(call: &str, code: c_int) -> Result<(), EnsembleError> {
    if code == 0 {
        return Ok(()); // MPI_SUCCESS is 0 by the standard
    }
    let mut text = [0u8; LONGEST_TEXT];
    let mut length = 0;
    // SAFETY: any code is allowed, and `text` has room for the longest text of any library. A caller that got
    // an error still holds `alone`.
    unsafe { ffi::MPI_Error_string(code, text.as_mut_ptr().cast(), &mut length) };
    let text = &text[..usize::try_from(length).unwrap_or(0).min(LONGEST_TEXT)];
    let why = format!("{call}: {}", String::from_utf8_lossy(text).trim());
    Err(EnsembleError::Lost { why })
}
