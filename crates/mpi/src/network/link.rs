//! Messages between two ranks, as short as the library makes them: nothing else is done between two of them.

use crate::calls::{Comm, alone, check};
use crate::ensemble::MpiEnsemble;
use anechoic_measure::ensemble::EnsembleError;
use mpi::ffi;
use std::ffi::c_int;
use std::sync::MutexGuard;
use std::thread;
use std::time::Instant;

/// The tag of all messages.
const TAG: c_int = 0;
/// Number of polls between two looks at the launcher, each of which takes system calls. At one, the other rank may also get
/// this CPU.
const BETWEEN_LOOKS: u32 = 4_096;

/// A connection to another rank. While it lives, nothing else in this process calls the library.
pub(super) struct Link<'a> {
    comm: Comm,
    other: c_int,
    ensemble: &'a MpiEnsemble,
    /// Never freed: the library may still use them after an error.
    sent: &'static mut [u8],
    received: &'static mut [u8],
    /// When this rank first saw that it must stop.
    stopped: Option<Instant>,
    _alone: MutexGuard<'static, ()>,
}

impl<'a> Link<'a> {
    /// Connects to a rank for messages of up to `largest` bytes.
    pub(super) fn new(comm: Comm, other: u32, largest: usize, ensemble: &'a MpiEnsemble) -> Self {
        Link {
            comm,
            other: other.cast_signed(),
            ensemble,
            sent: vec![1; largest].leak(),
            received: vec![0; largest].leak(),
            stopped: None,
            _alone: alone(),
        }
    }

    /// Returns whether this rank was asked to stop.
    pub(super) fn must_stop(&self) -> bool {
        self.ensemble.must_stop()
    }

    /// Sends the first bytes of the buffer. Returns when the buffer may be used again.
    ///
    /// # Errors
    /// [`EnsembleError::Lost`].
    pub(super) fn send(&mut self, bytes: usize) -> Result<(), EnsembleError> {
        let (count, from) = (self.sent[..bytes].len() as c_int, self.sent.as_ptr().cast());
        // SAFETY: this thread holds `alone`; the buffer has `bytes` and lives for ever.
        let request = unsafe {
            let mut request = ffi::RSMPI_REQUEST_NULL;
            let (byte, comm) = (ffi::RSMPI_UINT8_T, self.comm.0);
            let code = ffi::MPI_Isend(from, count, byte, self.other, TAG, comm, &mut request);
            check("MPI_Isend", code)?;
            request
        };
        self.complete(request)
    }

    /// Receives a message of up to this many bytes.
    ///
    /// # Errors
    /// [`EnsembleError::Lost`].
    pub(super) fn receive(&mut self, bytes: usize) -> Result<(), EnsembleError> {
        let (count, to) =
            (self.received[..bytes].len() as c_int, self.received.as_mut_ptr().cast());
        // SAFETY: as in `send`.
        let request = unsafe {
            let mut request = ffi::RSMPI_REQUEST_NULL;
            let (byte, comm) = (ffi::RSMPI_UINT8_T, self.comm.0);
            let code = ffi::MPI_Irecv(to, count, byte, self.other, TAG, comm, &mut request);
            check("MPI_Irecv", code)?;
            request
        };
        self.complete(request)
    }

    /// Sends numbers.
    pub(super) fn send_numbers(&mut self, numbers: [u64; 3]) -> Result<(), EnsembleError> {
        let bytes = numbers.map(u64::to_le_bytes);
        let bytes = bytes.as_flattened();
        self.sent[..bytes.len()].copy_from_slice(bytes);
        self.send(bytes.len())
    }

    /// Receives numbers.
    pub(super) fn receive_numbers(&mut self) -> Result<[u64; 3], EnsembleError> {
        self.receive(size_of::<[u64; 3]>())?;
        let (numbers, _) = self.received.as_chunks::<8>();
        Ok(std::array::from_fn(|place| u64::from_le_bytes(numbers[place])))
    }

    /// Polls a request until it completes.
    fn complete(&mut self, mut request: ffi::MPI_Request) -> Result<(), EnsembleError> {
        loop {
            for _ in 0..BETWEEN_LOOKS {
                let mut over = 0;
                // SAFETY: this thread holds `alone`, the request is valid, and the status is ignored.
                let code =
                    unsafe { ffi::MPI_Test(&mut request, &mut over, ffi::RSMPI_STATUS_IGNORE) };
                check("MPI_Test", code)?;
                if over != 0 {
                    return Ok(());
                }
            }
            self.ensemble.still_there(&mut self.stopped)?;
            thread::yield_now();
        }
    }
}
