//! Calls of the MPI library: one thread at a time, and an error in the library's own words.

use anechoic_measure::ensemble::EnsembleError;
use mpi::ffi;
use std::ffi::c_int;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The library is asked for `MPI_THREAD_SERIALIZED`: whoever holds this calls it, nobody else.
static CALLS: Mutex<()> = Mutex::new(());
/// Longest text of an error, in any library.
const LONGEST_TEXT: usize = 4096;

/// Waits until no other thread calls the library.
pub(crate) fn alone() -> MutexGuard<'static, ()> {
    CALLS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The ranks of a job, for one purpose: what goes on among some of them does not mix with the rest.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Comm(pub(crate) ffi::MPI_Comm);

// SAFETY: a communicator's handle may be used from any thread (MPI-3.1, 12.4); `CALLS` keeps calls apart.
unsafe impl Send for Comm {}
// SAFETY: as above.
unsafe impl Sync for Comm {}

impl Comm {
    /// Another communicator of all ranks, whose errors come back to the caller. All ranks ask for it.
    ///
    /// # Errors
    /// [`EnsembleError::Lost`].
    pub(crate) fn of_all() -> Result<Self, EnsembleError> {
        let _alone = alone();
        // SAFETY: the library is initialized (see `Job::begin`), no other thread calls it, `copy` outlives the call.
        unsafe {
            let world = ffi::RSMPI_COMM_WORLD;
            check(
                "MPI_Comm_set_errhandler",
                ffi::MPI_Comm_set_errhandler(world, ffi::RSMPI_ERRORS_RETURN),
            )?;
            let mut copy = ffi::RSMPI_COMM_NULL;
            check("MPI_Comm_dup", ffi::MPI_Comm_dup(world, &mut copy))?; // with its way of telling errors
            Ok(Comm(copy))
        }
    }

    /// This rank.
    pub(crate) fn rank(self) -> u32 {
        let (_alone, mut rank) = (alone(), 0);
        // SAFETY: a communicator of ours, no other thread calls the library, `rank` outlives the call.
        unsafe { ffi::MPI_Comm_rank(self.0, &mut rank) };
        rank.unsigned_abs()
    }

    /// Ranks of the job.
    pub(crate) fn size(self) -> u32 {
        let (_alone, mut size) = (alone(), 1);
        // SAFETY: as in `rank`.
        unsafe { ffi::MPI_Comm_size(self.0, &mut size) };
        size.unsigned_abs()
    }
}

/// Whether a call went well.
///
/// # Errors
/// [`EnsembleError::Lost`] with what the library says.
pub(crate) fn check(call: &str, code: c_int) -> Result<(), EnsembleError> {
    if code == 0 {
        return Ok(()); // MPI_SUCCESS is 0 by the standard
    }
    let mut text = [0u8; LONGEST_TEXT];
    let mut length = 0;
    // SAFETY: any code may be asked for, and the text has room for the longest of any library; who got an error still
    // holds `alone`.
    unsafe { ffi::MPI_Error_string(code, text.as_mut_ptr().cast(), &mut length) };
    let text = &text[..usize::try_from(length).unwrap_or(0).min(LONGEST_TEXT)];
    let why = format!("{call}: {}", String::from_utf8_lossy(text).trim());
    Err(EnsembleError::Lost { why })
}
