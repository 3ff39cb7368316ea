//! What the claims of the sources may look up about a run.

use crate::names::Names;
use anechoic_recording::EventKind;
use anechoic_recording::run::Run;
use std::collections::HashMap;
use std::sync::Arc;

/// The names of a run, and the tool's own threads.
#[derive(Debug)]
pub struct RunContext {
    names: Arc<Names>,
    own: HashMap<i32, Arc<str>>,
    /// Whether expirations of timers were recorded.
    expirations: bool,
}

impl RunContext {
    /// Collects what is known about a run.
    #[must_use]
    pub fn new(run: &Run, names: Arc<Names>) -> Self {
        let loops = run.cpus.iter().map(|cpu| (cpu.tid, format!("loop of CPU {}", cpu.cpu)));
        let others = run.own_threads.iter().map(|thread| (thread.tid, thread.role.clone()));
        let own = others.chain(loops).map(|(tid, role)| (tid, role.into())).collect();
        let recorded = run.trace.iter().flat_map(|trace| &trace.events).map(|event| event.number);
        let mut recorded = recorded.peekable();
        let expirations = recorded.peek().is_none()
            || recorded.any(|number| number == EventKind::HrtimerEntry as u16);
        Self { names, own, expirations }
    }

    /// Returns the names of the run's numbers.
    #[must_use]
    pub fn names(&self) -> &Names {
        &self.names
    }

    /// Returns whether the recording has the expirations of timers, as far as it lists its events.
    #[must_use]
    pub(crate) fn has_expirations(&self) -> bool {
        self.expirations
    }

    /// Returns the role of thread `tid`, if it belongs to the tool.
    #[must_use]
    pub fn own(&self, tid: i32) -> Option<Arc<str>> {
        self.own.get(&tid).map(Arc::clone)
    }
}
