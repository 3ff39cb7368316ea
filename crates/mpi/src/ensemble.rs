//! How ranks communicate outside the measurement: nonblocking collectives, and sleep until they complete.

use crate::calls::{Comm, alone, check};
use crate::launcher::Launcher;
use crate::library::library;
use anechoic_measure::ensemble::{Ensemble, EnsembleError};
use mpi::ffi;
use std::ffi::c_int;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Shortest and longest sleep between two tests of a collective; in between, a sixteenth of the time waited
/// so far. Waiting then takes almost no time from a CPU that others may be measuring, and ends little later
/// than it must.
const NAPS: [Duration; 2] = [Duration::from_micros(50), Duration::from_millis(100)];

/// The ranks of an MPI job.
pub(crate) struct MpiEnsemble {
    comm: Comm,
    launcher: Arc<Launcher>,
    lost: AtomicBool,
}

impl MpiEnsemble {
    /// Joins all ranks of the job. All ranks call this together.
    ///
    /// # Errors
    /// [`EnsembleError::Lost`].
    pub(crate) fn new(launcher: Arc<Launcher>) -> Result<Self, EnsembleError> {
        Ok(MpiEnsemble { comm: Comm::duplicate_world()?, launcher, lost: AtomicBool::new(false) })
    }

    /// Returns whether a collective failed or was abandoned; MPI must then not be finalized.
    pub(crate) fn is_lost(&self) -> bool {
        self.lost.load(Ordering::Acquire)
    }

    /// Returns whether this rank was asked to stop.
    pub(crate) fn must_stop(&self) -> bool {
        self.launcher.must_stop()
    }

    /// Checks whether the other ranks may still come; see [`Launcher::still_there`].
    ///
    /// # Errors
    /// [`EnsembleError::Lost`].
    pub(crate) fn still_there(&self, since: &mut Option<Instant>) -> Result<(), EnsembleError> {
        self.launcher.still_there(since)
    }

    /// Starts a collective and sleeps until it completes. `buffers` is the memory that it reads and writes.
    fn complete<B>(
        &self,
        call: &'static str,
        mut buffers: B,
        start: impl FnOnce(&mut B, *mut ffi::MPI_Request) -> c_int,
    ) -> Result<B, EnsembleError> {
        // SAFETY: reads a constant of the library.
        let mut request = unsafe { ffi::RSMPI_REQUEST_NULL };
        let after_stop = self.launcher.must_stop();
        let begun = self.usable().and_then(|()| {
            let _alone = alone();
            check(call, start(&mut buffers, &mut request))
        });
        match begun.and_then(|()| self.wait(&mut request)) {
            Ok(()) => {
                if after_stop {
                    self.launcher.all_came();
                }
                Ok(buffers)
            }
            Err(error) => {
                self.lost.store(true, Ordering::Release);
                std::mem::forget(buffers); // the library may still write into them
                Err(error)
            }
        }
    }

    /// Sleeps until a request completes.
    ///
    /// # Errors
    /// [`EnsembleError::Lost`].
    pub(crate) fn wait(&self, request: &mut ffi::MPI_Request) -> Result<(), EnsembleError> {
        let begun = Instant::now();
        let mut since = None;
        loop {
            let mut over = 0;
            {
                let _alone = alone();
                // SAFETY: the request is valid, no other thread calls the library, and the status is ignored.
                let code = unsafe { ffi::MPI_Test(request, &mut over, ffi::RSMPI_STATUS_IGNORE) };
                check("MPI_Test", code)?;
            }
            if over != 0 {
                return Ok(());
            }
            self.launcher.still_there(&mut since)?;
            let [least, most] = NAPS;
            thread::sleep((begun.elapsed() / 16).clamp(least, most));
        }
    }

    fn usable(&self) -> Result<(), EnsembleError> {
        let why = || "an earlier collective failed; start the job again".to_owned();
        if self.is_lost() { Err(EnsembleError::Lost { why: why() }) } else { Ok(()) }
    }

    /// Returns the sum of a number over all ranks, at every rank.
    fn sum(&self, mine: u64) -> Result<u64, EnsembleError> {
        let buffers = Box::new([mine, 0]);
        let sum = self.complete("MPI_Iallreduce", buffers, |buffers, request| {
            let [mine, sum] = &mut **buffers;
            let (mine, sum) = ((&raw const *mine).cast(), (&raw mut *sum).cast());
            // SAFETY: both numbers stay in place until the collective completes, or for ever.
            unsafe {
                let (number, add) = (ffi::RSMPI_UINT64_T, ffi::RSMPI_SUM);
                ffi::MPI_Iallreduce(mine, sum, 1, number, add, self.comm.0, request)
            }
        })?;
        Ok(sum[1])
    }

    /// Returns the lengths of the ranks' contributions, in rank order, at rank 0.
    fn lengths(&self, mine: c_int) -> Result<Vec<c_int>, EnsembleError> {
        let all = if self.rank() == 0 { self.size() as usize } else { 0 };
        let buffers = (Box::new(mine), vec![0 as c_int; all]);
        let (_, all) = self.complete("MPI_Igather", buffers, |(mine, all), request| {
            let (mine, all) = ((&raw const **mine).cast(), all.as_mut_ptr().cast());
            // SAFETY: rank 0 has room for one number per rank; the other ranks' buffer is not used.
            unsafe {
                let (number, bytes) = (ffi::RSMPI_INT32_T, 1);
                ffi::MPI_Igather(mine, bytes, number, all, bytes, number, 0, self.comm.0, request)
            }
        })?;
        Ok(all)
    }

    /// Returns the bytes of all ranks, concatenated in rank order, at rank 0, which has their `lengths`.
    fn joined(&self, mine: &[u8], lengths: &[c_int]) -> Result<Vec<u8>, EnsembleError> {
        let starts = lengths.iter().scan(0, |end, length| {
            let start = *end;
            *end += length;
            Some(start)
        });
        let starts: Vec<c_int> = starts.collect();
        let all: usize = lengths.iter().map(|&length| usize::try_from(length).unwrap_or(0)).sum();
        let buffers = (room(mine, mine.len()), room(&[], all), lengths.to_vec(), starts);
        let gathered = self.complete("MPI_Igatherv", buffers, |buffers, request| {
            let (mine, all, lengths, starts) = buffers;
            let (from, length) = (mine.as_ptr().cast(), mine.len() as c_int);
            let (to, lengths, starts) =
                (all.as_mut_ptr().cast(), lengths.as_ptr(), starts.as_ptr());
            // SAFETY: `lengths` are what the ranks send, and `all` has room for their sum. The vectors stay
            // in place until the collective completes, or for ever.
            unsafe {
                let (byte, comm) = (ffi::RSMPI_UINT8_T, self.comm.0);
                ffi::MPI_Igatherv(from, length, byte, to, lengths, starts, byte, 0, comm, request)
            }
        })?;
        Ok(gathered.1)
    }
}

impl Ensemble for MpiEnsemble {
    fn through(&self) -> String {
        library()
    }

    fn rank(&self) -> u32 {
        self.comm.rank()
    }

    fn size(&self) -> u32 {
        self.comm.size()
    }

    fn gather(&self, mine: &[u8]) -> Result<Option<Vec<Vec<u8>>>, EnsembleError> {
        let all = self.sum(mine.len() as u64)?;
        countable(all)?; // fails at all ranks or at none, so that no rank waits for one that gave up
        let lengths = self.lengths(mine.len() as c_int)?;
        let joined = self.joined(mine, &lengths)?;
        let mut rest = &joined[..];
        let parts = lengths.iter().map(|&length| {
            let (part, after) = rest.split_at(usize::try_from(length).unwrap_or(0));
            rest = after;
            part.to_vec()
        });
        let parts: Vec<Vec<u8>> = parts.collect();
        Ok((self.rank() == 0).then_some(parts))
    }

    fn broadcast(&self, of_first: &[u8]) -> Result<Vec<u8>, EnsembleError> {
        let of_first = if self.rank() == 0 { of_first } else { &[] };
        let length = countable(self.sum(of_first.len() as u64)?)?;
        let bytes = room(of_first, length as usize);
        self.complete("MPI_Ibcast", bytes, |bytes, request| {
            let at = bytes.as_mut_ptr().cast();
            // SAFETY: `bytes` has the length that rank 0 broadcast, and stays in place until the collective
            // completes, or for ever.
            unsafe { ffi::MPI_Ibcast(at, length, ffi::RSMPI_UINT8_T, 0, self.comm.0, request) }
        })
    }
}

/// Returns a buffer of this length that begins with `begin`. It is allocated even for length 0: the address
/// of an empty vector is 1, which in Open MPI means `MPI_IN_PLACE`.
fn room(begin: &[u8], length: usize) -> Vec<u8> {
    let mut room = Vec::with_capacity(length.max(1));
    room.extend_from_slice(begin);
    room.resize(length, 0);
    room
}

/// Converts a length to what the library can count.
fn countable(bytes: u64) -> Result<c_int, EnsembleError> {
    let why = |_| format!("MPI cannot send {bytes} bytes at once; start fewer ranks");
    c_int::try_from(bytes).map_err(|error| EnsembleError::Lost { why: why(error) })
}

impl fmt::Debug for MpiEnsemble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MpiEnsemble").field("lost", &self.lost).finish_non_exhaustive()
    }
}
