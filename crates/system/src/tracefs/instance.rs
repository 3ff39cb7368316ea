//! A private tracing instance, with our own buffers and events.

use super::error::TraceError;
use super::leftovers::{self, InUse};
use super::mount::{Tracefs, is_empty};
use super::stats::Stats;
use super::symbols::{self, TICK_FUNCTIONS};
use anechoic_recording::trace::{EnabledEvent, Format, PageLayout, page_layout};
use anechoic_recording::{EVENTS, EventKind, EventSpec, Problem};
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// A name that is taken is not tried again with a serial number above this.
const MOST_SERIALS: u32 = 1_000;

/// A private instance. Dropping it removes it.
///
/// Open descriptors of its files keep it alive, so drop those first.
#[derive(Debug)]
pub struct Instance {
    root: PathBuf,
    /// Shows processes in every PID namespace that it is in use.
    _lock: Option<InUse>,
    events: Vec<EnabledEvent>,
    missing: Vec<String>,
    /// The event of a function that is marked, as a path below `events/`.
    probed: Option<String>,
    /// Whether a recorded program writes its marks to it: what goes on after the recording must still be able to.
    is_written: bool,
}

impl Instance {
    /// Creates an instance with tracing off and no event enabled, after removing those of dead processes.
    ///
    /// # Errors
    /// Fails if this process may not do that, or if the kernel lacks the clock or the memory.
    pub fn create(tracefs: &Tracefs, clock: &str, buffer_kb: u64) -> Result<Self, TraceError> {
        leftovers::remove(tracefs);
        // From here on, an early return removes the instance.
        let instance = Self::make(tracefs)?;
        instance.set_tracing(false)?;
        instance.set_clock(clock)?;
        // New events overwrite old ones: the kernel then marks the page that follows a loss, so the lost
        // interval is known exactly. If it refused new events instead, there would be one counter and no
        // mark.
        instance.write("options/overwrite", "1")?;
        let _ = instance.write("options/markers", "1"); // an administrator may have switched marks off
        instance.set("buffer_size_kb", &buffer_kb.to_string()).map_err(|error| {
            match error.kind() {
                ErrorKind::PermissionDenied => TraceError::not_permitted(&error),
                _ => TraceError::other(
                    format!("no memory for trace buffers of {buffer_kb} KiB per CPU ({error})"),
                    "use smaller buffers",
                ),
            }
        })?;
        // `record-cmd` and `record-tgid` stay unchanged, because the kernel would switch them for all
        // instances. Kernels before 5.0 have no buffer_percent; poll then wakes up at the first event.
        let _ = instance.write("buffer_percent", "50");
        Ok(instance)
    }

    /// Makes a directory for the instance under a name that no other process has, and locks it.
    fn make(tracefs: &Tracefs) -> Result<Self, TraceError> {
        static SERIAL: AtomicU32 = AtomicU32::new(0);
        loop {
            let serial = SERIAL.fetch_add(1, Ordering::Relaxed);
            let root = tracefs.root().join("instances").join(leftovers::own_name(serial));
            let made = fs::create_dir(&root).and_then(|()| InUse::take(&root));
            match made {
                Ok(Some(lock)) => {
                    let (events, missing) = (Vec::new(), Vec::new());
                    return Ok(Self {
                        root,
                        _lock: Some(lock),
                        events,
                        missing,
                        probed: None,
                        is_written: false,
                    });
                }
                // Another process took it for a leftover before it was locked.
                Ok(None) if serial < MOST_SERIALS => {}
                // In containers that started at the same time, processes may have the same number.
                Err(error) if error.kind() == ErrorKind::AlreadyExists && serial < MOST_SERIALS => {
                }
                Err(error) if error.kind() == ErrorKind::NotFound && is_empty(tracefs.root()) => {
                    return Err(TraceError::locked_down());
                }
                Ok(None) => {
                    let why = "other processes remove the trace instances of this one";
                    return Err(TraceError::other(why.to_owned(), "measure when they have ended"));
                }
                Err(error) => {
                    return Err(TraceError::file("make the trace instance", &root)(error));
                }
            }
        }
    }

    /// Enables all events of [`EVENTS`] that this kernel has, those of idle CPUs only with `idle`. [`Instance::missing`] lists those
    /// that it lacks.
    ///
    /// # Errors
    /// Fails if none could be enabled, or if the kernel's text cannot be parsed.
    pub fn enable_events(&mut self, idle: bool) -> Result<(), TraceError> {
        self.enable(EVENTS.iter().filter(|spec| idle || spec.kind != EventKind::CpuIdle))
    }

    /// Lets each switch away from this thread, from those that it starts, and to them record the calls of the thread that
    /// leaves the CPU. No other event is enabled.
    ///
    /// # Errors
    /// Fails if the kernel cannot do that.
    pub(super) fn enable_stacks(&mut self, thread: i32) -> Result<(), TraceError> {
        self.write("options/stacktrace", "1")?;
        self.write("options/userstacktrace", "1")?;
        self.write("options/event-fork", "1")?;
        self.follow(&[thread])?;
        self.enable(EVENTS.iter().filter(|spec| spec.kind == EventKind::Switch))
    }

    /// Adds these threads to those whose events are recorded.
    ///
    /// # Errors
    /// Returns the error of the file.
    pub(crate) fn follow(&self, threads: &[i32]) -> Result<(), TraceError> {
        // One write takes no more than a page.
        for threads in threads.chunks(256) {
            let threads: Vec<String> = threads.iter().map(i32::to_string).collect();
            self.write("set_event_pid", &threads.join(" "))?;
        }
        Ok(())
    }

    fn enable(
        &mut self,
        wanted: impl IntoIterator<Item = &'static EventSpec>,
    ) -> Result<(), TraceError> {
        let mut first_reason = None;
        for spec in wanted {
            match self.format(spec.system, spec.name) {
                Ok(format) => {
                    if spec.kind == EventKind::HrtimerStart {
                        self.filter_ticks();
                    }
                    match self.write(&enable_file(spec), "1") {
                        Ok(()) => self.events.push(EnabledEvent { spec, format }),
                        Err(error) => self.lacks(spec, error, &mut first_reason),
                    }
                }
                Err(error @ TraceError::Format(_)) => return Err(error),
                Err(error) => self.lacks(spec, error, &mut first_reason),
            }
        }
        match first_reason {
            Some(Problem { why, remedy, .. }) if self.events.is_empty() => {
                let none = "none of the kernel events that anechoic knows can be enabled here";
                Err(TraceError::other(format!("{none} ({why})"), remedy))
            }
            _ => Ok(()),
        }
    }

    /// Enables the event of a function that is marked, given as a path below `events/`.
    ///
    /// # Errors
    /// Fails if the kernel cannot put a probe there.
    pub(super) fn enable_probe(&mut self, event: String) -> Result<(), TraceError> {
        let enabled = self.set(&format!("events/{event}/enable"), "1");
        self.probed = Some(event);
        enabled.map_err(|error| {
            let why = format!("the kernel refuses to mark the function: {error}");
            TraceError::other(why, "mark another function, or mark with --mark-fd")
        })
    }

    /// Lets a recorded program write its marks to this instance.
    pub(super) fn take_writes(&mut self) {
        self.is_written = true;
    }

    /// Ends recording. Where a program writes its marks, they go on to succeed, and only the events end.
    ///
    /// # Errors
    /// Returns the error of the file.
    pub(super) fn end(&self) -> Result<(), TraceError> {
        if self.is_written { self.set_enabled(false) } else { self.set_tracing(false) }
    }

    /// Lets what programs write to the `trace_marker` of the whole system also come to this instance.
    ///
    /// # Errors
    /// Fails if the kernel cannot do that.
    pub(super) fn copy_markers(&self) -> Result<(), TraceError> {
        self.set("options/copy_trace_marker", "1").map_err(|error| match error.kind() {
            ErrorKind::NotFound => TraceError::other(
                "this kernel does not show recordings what is written to trace_marker; Linux 6.16 does".into(),
                "mark with --mark-fd",
            ),
            _ => TraceError::other(format!("marks in trace_marker cannot be read: {error}"), "mark with --mark-fd"),
        })
    }

    /// Returns its name.
    pub(super) fn name(&self) -> String {
        self.root.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    fn lacks(&mut self, spec: &EventSpec, error: TraceError, first: &mut Option<Problem>) {
        self.missing.push(format!("{}:{}", spec.system, spec.name));
        first.get_or_insert_with(|| error.into());
    }

    /// Returns the events that are enabled (or were, before [`Instance::set_enabled`]).
    #[must_use]
    pub fn events(&self) -> &[EnabledEvent] {
        &self.events
    }

    /// Returns the events of the table that this kernel lacks or refused, as `system:name`.
    #[must_use]
    pub fn missing(&self) -> &[String] {
        &self.missing
    }

    /// Disables or enables all its events, and with them the cost of their tracepoints.
    ///
    /// # Errors
    /// Returns the error of the first event that could not be switched; the others are still tried.
    pub fn set_enabled(&self, on: bool) -> Result<(), TraceError> {
        let value = if on { "1" } else { "0" };
        let events = self.events.iter().map(|event| enable_file(event.spec));
        let probed = self.probed.iter().map(|event| format!("events/{event}/enable"));
        let mut result = Ok(());
        for file in events.chain(probed) {
            let set = self.write(&file, value); // also after one that failed
            result = result.and(set);
        }
        result
    }

    /// Admits events to the buffer or keeps them out, while their tracepoints stay enabled.
    ///
    /// # Errors
    /// Returns the error of the file.
    pub fn set_tracing(&self, on: bool) -> Result<(), TraceError> {
        self.write("tracing_on", if on { "1" } else { "0" })
    }

    /// Opens the binary pipe of `cpu`, non-blocking.
    ///
    /// # Errors
    /// Returns the error of the file.
    pub fn open_pipe(&self, cpu: u32) -> Result<File, TraceError> {
        let path = self.root.join(format!("per_cpu/cpu{cpu}/trace_pipe_raw"));
        let flags = libc::O_NONBLOCK;
        let open = OpenOptions::new().read(true).custom_flags(flags).open(&path);
        open.map_err(TraceError::file("open", path))
    }

    /// Returns the kernel's counts for `cpu`.
    ///
    /// # Errors
    /// Returns the error of the file.
    pub fn stats(&self, cpu: u32) -> Result<Stats, TraceError> {
        Ok(Stats::parse(&self.read(&format!("per_cpu/cpu{cpu}/stats"))?))
    }

    /// Returns where the parts of its pages lie.
    ///
    /// # Errors
    /// Fails if the kernel's text cannot be read or parsed.
    pub fn page_layout(&self) -> Result<PageLayout, TraceError> {
        // Before kernel 6.8, a sub-buffer was always one page.
        let kb =
            self.read("buffer_subbuf_size_kb").ok().and_then(|t| t.trim().parse::<usize>().ok());
        let bytes = kb.map_or_else(rustix::param::page_size, |kb| kb.saturating_mul(1024));
        page_layout(&self.read("events/header_page")?, bytes)
            .map_err(|why| TraceError::format("events/header_page", &why))
    }

    fn set_clock(&self, clock: &str) -> Result<(), TraceError> {
        let offered = self.read("trace_clock")?.trim().replace(['[', ']'], "");
        if !offered.split_whitespace().any(|c| c == clock) {
            let why = format!("this kernel's trace buffers have no clock '{clock}'");
            return Err(TraceError::other(why, format!("available clocks: {offered}")));
        }
        self.write("trace_clock", clock)
    }

    /// Returns the kernel's description of an event.
    pub(super) fn format(&self, system: &str, name: &str) -> Result<Format, TraceError> {
        let text = self.read(&format!("events/{system}/{name}/format"))?;
        Format::parse(&text).map_err(|why| TraceError::format(&format!("{system}:{name}"), &why))
    }

    /// Returns where one of its files lies.
    pub(super) fn path(&self, file: &str) -> PathBuf {
        self.root.join(file)
    }

    /// Filters the periodic timer tick out of `hrtimer_start`, if it can: it arms itself at every tick, so its sender is
    /// not needed. Without the filter there are more events, but nothing else is lost.
    fn filter_ticks(&self) {
        let addresses = TICK_FUNCTIONS.iter().filter_map(|name| symbols::function_address(name));
        let filter: Vec<String> =
            addresses.map(|address| format!("function != {address:#x}")).collect();
        if !filter.is_empty() {
            let _ = self.write("events/timer/hrtimer_start/filter", &filter.join(" && "));
        }
    }

    fn read(&self, file: &str) -> Result<String, TraceError> {
        let path = self.root.join(file);
        read_whole(&path).map_err(TraceError::file("read", path))
    }

    fn write(&self, file: &str, text: &str) -> Result<(), TraceError> {
        self.set(file, text).map_err(TraceError::file("write", self.path(file)))
    }

    fn set(&self, file: &str, text: &str) -> io::Result<()> {
        let file = OpenOptions::new().write(true).open(self.path(file));
        file.and_then(|mut file| file.write_all(text.as_bytes()))
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        let _ = self.end();
        // Removing an instance also disables its events and frees its buffers. It is busy as long as some
        // reader (a monitoring tool that walks tracefs) has one of its files open.
        let patience = Instant::now() + Duration::from_secs(2);
        while let Err(error) = fs::remove_dir(&self.root) {
            if error.kind() != ErrorKind::ResourceBusy || Instant::now() > patience {
                let _ = self.set_enabled(false);
                let _ = self.write("buffer_size_kb", "1");
                return;
            }
            thread::sleep(Duration::from_millis(5));
        }
    }
}

/// Reads a file in one call if possible, because `header_page` ends after the first read of any size.
fn read_whole(path: &Path) -> io::Result<String> {
    let mut file = File::open(path)?;
    let (mut text, mut length) = (vec![0; 1 << 16], 0);
    loop {
        match file.read(&mut text[length..])? {
            0 => break,
            read => length += read,
        }
        text.resize(text.len().max(2 * length), 0);
    }
    text.truncate(length);
    String::from_utf8(text).map_err(|_| ErrorKind::InvalidData.into())
}

fn enable_file(spec: &EventSpec) -> String {
    format!("events/{}/{}/enable", spec.system, spec.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_instance_without_any_event_gives_the_first_reason_and_its_remedy() {
        let dir = tempfile::tempdir().expect("a directory");
        let root = dir.path().join("absent");
        let mut instance = Instance {
            root,
            _lock: None,
            events: Vec::new(),
            missing: Vec::new(),
            probed: None,
            is_written: false,
        };
        let problem = Problem::from(instance.enable_events(true).expect_err("it has no events"));
        assert!(problem.why.contains("can be enabled here (cannot read "), "{problem}");
        assert_eq!(problem.remedy, "check the path");
        assert_eq!(instance.missing().len(), EVENTS.len());
    }
}
