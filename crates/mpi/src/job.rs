//! The MPI job that this process is a rank of, from its start to its end.

use crate::ensemble::MpiEnsemble;
use crate::launcher::Launcher;
use crate::library::library;
use crate::meetings::MpiMeetings;
use anechoic_measure::ensemble::launched::Launched;
use anechoic_measure::ensemble::{Ensemble, EnsembleError, Meetings, Placement, Team};
use mpi::Threading;
use mpi::environment::{Universe, initialize_with_threading};
use signal_hook::low_level;
use std::process::ExitCode;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

/// How long finalizing MPI may take. Everything is saved by then. It takes milliseconds, or for ever: in
/// MPICH before 4.2 over UCX, ranks wait for one that itself waits outside the network (pmodels/mpich, pull
/// request 6596).
const LONGEST_END: Duration = Duration::from_secs(5);

/// A job that has started.
pub(crate) struct Job {
    universe: Universe,
    ensemble: Arc<MpiEnsemble>,
    meetings: Arc<MpiMeetings>,
}

impl Job {
    /// Starts MPI together with the other ranks.
    ///
    /// # Errors
    /// Returns [`EnsembleError::Lost`], also if the library does not support calls from several threads in
    /// turn or does not know the launcher.
    pub(crate) fn begin(launcher: Arc<Launcher>) -> Result<Self, EnsembleError> {
        let lost = |why: String| EnsembleError::Lost { why };
        let (universe, threads) = initialize_with_threading(Threading::Serialized)
            .ok_or_else(|| lost("MPI was initialized twice".to_owned()))?;
        if threads < Threading::Serialized {
            return Err(lost(format!(
                "{} does not support MPI_THREAD_SERIALIZED; use a library built with it",
                library()
            )));
        }
        let ensemble = Arc::new(MpiEnsemble::new(launcher)?);
        not_alone(ensemble.size()).map_err(lost)?;
        let meetings = Arc::new(MpiMeetings::new()?);
        Ok(Job { universe, ensemble, meetings })
    }

    /// Returns the number of this rank, from 0.
    pub(crate) fn rank(&self) -> u32 {
        self.ensemble.rank()
    }

    /// Returns how this rank communicates with the others.
    pub(crate) fn ensemble(&self) -> &MpiEnsemble {
        &self.ensemble
    }

    /// Returns the ranks and where they run.
    ///
    /// # Errors
    /// Returns [`EnsembleError`]; ranks of different versions do not measure together.
    pub(crate) fn team(&self) -> Result<Team, EnsembleError> {
        let ensemble: Arc<dyn Ensemble> = self.ensemble.clone();
        let meetings: Arc<dyn Meetings> = self.meetings.clone();
        let placement = Placement::gather(&*ensemble, env!("CARGO_PKG_VERSION"))?;
        Ok(Team { ensemble, placement, meetings: Some(meetings) })
    }

    /// Finalizes MPI together with the other ranks and returns the exit code. If ranks are gone, that could
    /// block for ever; MPI is then not finalized, and the launcher ends the rest of the job.
    pub(crate) fn end(self, code: ExitCode) -> ExitCode {
        let settled = !self.ensemble.is_lost() && self.meetings.settle(&self.ensemble).is_ok();
        if settled {
            // Without the thread a library that hangs here is ended by the launcher alone.
            let _ = thread::Builder::new().spawn(move || {
                thread::sleep(LONGEST_END);
                low_level::exit(number(code));
            });
            drop(self.universe);
        } else {
            std::mem::forget(self.universe);
        }
        code
    }

    /// Leaves the job without waiting for anybody; the launcher then ends the other ranks.
    pub(crate) fn abandon(self) {
        std::mem::forget(self.universe);
    }
}

/// Refuses a job of one rank that was started as one of several. A library that does not know its launcher
/// treats each process as a job of its own, and all would measure the same CPUs at once.
fn not_alone(ranks: u32) -> Result<(), String> {
    match Launched::from_env() {
        Ok(Launched { launcher, size, .. }) if ranks == 1 && size > 1 => Err(format!(
            "{launcher} started {size} processes, but {} sees each of them as a job of its own; use this library's launcher, or \
             under Slurm an --mpi that it understands, such as `srun --mpi=pmix` for Open MPI and `--mpi=pmi2` for MPICH",
            library()
        )),
        _ => Ok(()),
    }
}

/// Converts an exit code to a number.
fn number(code: ExitCode) -> i32 {
    (0..=u8::MAX).find(|&number| ExitCode::from(number) == code).unwrap_or(u8::MAX).into()
}
