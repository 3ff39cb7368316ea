//! What signals tell a service.

use anechoic_recording::Problem;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGUSR1};
use signal_hook::{flag, low_level};
use std::io::{IsTerminal, Read};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// What a signal tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Told {
    End,
    Save,
    Reload,
}

/// The signals of a service.
pub(super) struct Signals {
    arrived: UnixStream,
    told: [(Arc<AtomicBool>, Told); 3],
}

impl Signals {
    pub(super) fn catch() -> Result<Self, Problem> {
        let (arrived, handler) = UnixStream::pair()?;
        arrived.set_nonblocking(true)?;
        let told = [Told::End, Told::Save, Told::Reload].map(|told| (Arc::default(), told));
        // A terminal sends SIGHUP when it is closed.
        let hang_up = if std::io::stdin().is_terminal() { 0 } else { 2 };
        let all = [(SIGTERM, 0), (SIGINT, 0), (SIGUSR1, 1), (SIGHUP, hang_up)];
        for (signal, at) in all {
            flag::register(signal, Arc::clone(&told[at].0))?;
            low_level::pipe::register(signal, handler.try_clone()?)?;
        }
        Ok(Self { arrived, told })
    }

    /// Sleeps until then, or until a signal arrives; returns what one tells.
    pub(super) fn wait(&self, until: Instant) -> Option<Told> {
        if let Some(told) = self.take() {
            return Some(told);
        }
        let left = until.saturating_duration_since(Instant::now());
        let timeout = Timespec::try_from(left).ok();
        let _ = poll(&mut [PollFd::new(&self.arrived, PollFlags::IN)], timeout.as_ref());
        let mut bytes = [0; 64];
        while matches!((&self.arrived).read(&mut bytes), Ok(1..)) {}
        self.take()
    }

    fn take(&self) -> Option<Told> {
        let mut told = self.told.iter();
        told.find(|(flag, _)| flag.swap(false, Ordering::AcqRel)).map(|(_, told)| *told)
    }
}
