//! How ranks meet inside the measurement: a nonblocking collective that is polled until it completes.

use crate::calls::{Comm, alone, check};
use crate::ensemble::MpiEnsemble;
use anechoic_measure::ensemble::{Ensemble, EnsembleError, Meetings};
use anechoic_recording::parallel::Meeting;
use mpi::ffi;
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Meetings of all ranks of an MPI job.
pub(crate) struct MpiMeetings {
    comm: Comm,
    size: u64,
    state: Mutex<State>,
}

struct State {
    /// This rank's term of an allreduce, and the sum. Never freed: the library may still write into it after
    /// this rank has left.
    numbers: &'static mut [u64; 2],
    /// Number of meetings that this rank has come to.
    come: u64,
    /// The kind of the latest meeting.
    newest: Meeting,
    /// The meeting that this rank left before all had come.
    left: Option<Request>,
}

#[derive(Clone, Copy)]
struct Request(ffi::MPI_Request);

// SAFETY: a request handle may be used from any thread, one at a time (MPI-3.1, 12.4); the lock of the state
// and `alone` ensure that.
unsafe impl Send for Request {}

impl MpiMeetings {
    /// Creates the meetings. All ranks call this together.
    ///
    /// # Errors
    /// [`EnsembleError::Lost`].
    pub(crate) fn new() -> Result<Self, EnsembleError> {
        let comm = Comm::duplicate_world()?;
        let numbers = Box::leak(Box::new([1, 0]));
        let state = State { numbers, come: 0, newest: Meeting::Barrier, left: None };
        Ok(MpiMeetings { comm, size: u64::from(comm.size()), state: Mutex::new(state) })
    }

    /// Completes a meeting that a signal interrupted after only some ranks had come: the others come now. All
    /// ranks call this, and may finalize MPI afterwards.
    ///
    /// # Errors
    /// [`EnsembleError::Lost`].
    pub(crate) fn settle(&self, ensemble: &MpiEnsemble) -> Result<(), EnsembleError> {
        let mut state = self.state();
        let kind = Meeting::ALL.iter().position(|kind| *kind == state.newest).unwrap_or(0);
        let mine = [state.come.to_le_bytes(), (kind as u64).to_le_bytes()].concat();
        let all = ensemble.gather(&mine)?.unwrap_or_default();
        let newest = all.iter().filter_map(|bytes| numbers(bytes)).max().unwrap_or([0, 0]);
        let newest = ensemble.broadcast(&newest.map(u64::to_le_bytes).concat())?;
        let [come, kind] = numbers(&newest).unwrap_or([0, 0]);
        if state.come < come {
            let kind = Meeting::ALL.get(kind as usize).copied().unwrap_or(Meeting::Barrier);
            let _alone = alone();
            state.left = Some(state.start(self.comm, kind)?);
        }
        let Some(Request(mut request)) = state.left.take() else { return Ok(()) };
        ensemble.wait(&mut request)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Decodes the two numbers that a rank sent.
fn numbers(bytes: &[u8]) -> Option<[u64; 2]> {
    let (come, kind) = bytes.split_first_chunk()?;
    Some([u64::from_le_bytes(*come), u64::from_le_bytes(kind.try_into().ok()?)])
}

impl State {
    /// Joins a meeting. The caller holds `alone`.
    fn start(&mut self, comm: Comm, meeting: Meeting) -> Result<Request, EnsembleError> {
        self.come += 1;
        self.newest = meeting;
        // SAFETY: no other thread calls the library, and the numbers live for ever.
        unsafe {
            let mut request = ffi::RSMPI_REQUEST_NULL;
            if meeting == Meeting::Allreduce {
                let [mine, sum] = &mut *self.numbers;
                let (mine, sum) = ((&raw const *mine).cast(), (&raw mut *sum).cast());
                let (number, add) = (ffi::RSMPI_UINT64_T, ffi::RSMPI_SUM);
                let code = ffi::MPI_Iallreduce(mine, sum, 1, number, add, comm.0, &mut request);
                check("MPI_Iallreduce", code)?;
            } else {
                check("MPI_Ibarrier", ffi::MPI_Ibarrier(comm.0, &mut request))?;
            }
            Ok(Request(request))
        }
    }
}

impl Meetings for MpiMeetings {
    fn meet(&self, meeting: Meeting, look: &mut dyn FnMut() -> bool) -> bool {
        if meeting == Meeting::Nothing {
            return true;
        }
        let (mut state, _alone) = (self.state(), alone());
        if state.left.is_some() {
            return false;
        }
        let Ok(mut request) = state.start(self.comm, meeting) else { return false };
        loop {
            let mut over = 0;
            // SAFETY: the request is valid, no other thread calls the library, and the status is ignored.
            let code =
                unsafe { ffi::MPI_Test(&mut request.0, &mut over, ffi::RSMPI_STATUS_IGNORE) };
            if code == 0 && over != 0 {
                return meeting != Meeting::Allreduce || state.numbers[1] == self.size;
            }
            if code != 0 || !look() {
                state.left = Some(request);
                return false;
            }
        }
    }
}

impl fmt::Debug for MpiMeetings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MpiMeetings").field("size", &self.size).finish_non_exhaustive()
    }
}
