//! What signals ask of a service.

use anechoic_recording::Problem;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGUSR1};
use signal_hook::{flag, low_level};
use std::io::{IsTerminal, Read};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// What a signal asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Request {
    End,
    Save,
    Reload,
}

/// The signals of a service.
pub(super) struct Signals {
    arrived: UnixStream,
    asked: [(Arc<AtomicBool>, Request); 3],
}

impl Signals {
    pub(super) fn catch() -> Result<Self, Problem> {
        let (arrived, handler) = UnixStream::pair()?;
        arrived.set_nonblocking(true)?;
        let asked =
            [Request::End, Request::Save, Request::Reload].map(|asked| (Arc::default(), asked));
        // A terminal sends SIGHUP when it is closed.
        let hang_up = if std::io::stdin().is_terminal() { 0 } else { 2 };
        let all = [(SIGTERM, 0), (SIGINT, 0), (SIGUSR1, 1), (SIGHUP, hang_up)];
        for (signal, at) in all {
            flag::register(signal, Arc::clone(&asked[at].0))?;
            low_level::pipe::register(signal, handler.try_clone()?)?;
        }
        Ok(Self { arrived, asked })
    }

    /// Sleeps until then, or until a signal arrives; returns what one asks for.
    pub(super) fn wait(&self, until: Instant) -> Option<Request> {
        if let Some(asked) = self.take() {
            return Some(asked);
        }
        let left = until.saturating_duration_since(Instant::now());
        let timeout = Timespec::try_from(left).ok();
        let _ = poll(&mut [PollFd::new(&self.arrived, PollFlags::IN)], timeout.as_ref());
        let mut bytes = [0; 64];
        while matches!((&self.arrived).read(&mut bytes), Ok(1..)) {}
        self.take()
    }

    fn take(&self) -> Option<Request> {
        let mut asked = self.asked.iter();
        asked.find(|(flag, _)| flag.swap(false, Ordering::AcqRel)).map(|(_, asked)| *asked)
    }
}
