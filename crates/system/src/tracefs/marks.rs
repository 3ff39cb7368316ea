//! Writes the marks by which the tool finds its own threads in the trace.

use super::error::TraceError;
use super::instance::Instance;
use anechoic_recording::trace::MARK;
use rustix::io::dup2;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::{Arc, Weak};

/// Writes marks into the trace of a [`super::Collector`], as long as that lives.
#[derive(Debug, Clone, Default)]
pub struct Marker(Weak<File>);

impl Marker {
    /// Opens what marks of an instance are written to. An open file keeps the instance alive.
    pub(super) fn open(instance: &Instance) -> Result<Arc<File>, TraceError> {
        let path = instance.path("trace_marker");
        let file = OpenOptions::new().write(true).open(&path);
        file.map(Arc::new).map_err(TraceError::file("open", path))
    }

    pub(super) fn new(file: &Arc<File>) -> Self {
        Self(Arc::downgrade(file))
    }

    /// Lets a descriptor of this process lead to the marks of a recorded program: each write to it is one. Processes that are
    /// started from now on inherit it; close it when the program has been started.
    ///
    /// # Errors
    /// Fails if the kernel lets nobody write marks.
    pub fn lead(&self, descriptor: &mut OwnedFd) -> io::Result<()> {
        let file = self.0.upgrade().ok_or(io::ErrorKind::Unsupported)?;
        Ok(dup2(&*file, descriptor)?)
    }

    /// Marks the calling thread. If that fails, [`super::Collector::thread`] does not find it.
    pub fn mark(&self) {
        if let Some(file) = self.0.upgrade() {
            let text = format!("{MARK}{}", rustix::thread::gettid());
            let _ = (&*file).write_all(text.as_bytes());
        }
    }
}

/// Returns whether threads know themselves by the numbers that the kernel itself uses: this process is in the initial PID
/// namespace, whose number is fixed in the kernel (`PROC_PID_INIT_INO`).
pub(crate) fn numbers_are_global() -> bool {
    fs::read_link("/proc/self/ns/pid").is_ok_and(|name| name == Path::new("pid:[4026531836]"))
}
