//! Collects the kernel events of all CPUs from a private instance.

use super::error::TraceError;
use super::instance::Instance;
use super::marks::{self, Marker};
use super::mount::Tracefs;
use super::pipe::{Batch, Pipe};
use super::probe::Probe;
use super::symbols;
use crate::cpus;
use crate::rlimits::allow_open_files;
use anechoic_recording::run::{RecordedEvent, Trace};
use anechoic_recording::trace::{EventDecoder, MarkText, PageLayout, RawStack, ToTicks};
use anechoic_recording::{Loss, Name, NameKind, Problem};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use std::fs::{self, File};
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::time::Duration;

/// How to record kernel events.
pub struct Config {
    /// The trace clock; see [`DEFAULT_CLOCK`].
    pub clock: String,
    /// Size of the ring buffer per CPU, in KiB.
    pub buffer_kb: u64,
    /// Converts times of that clock to ticks; absent if they already are ticks (`x86-tsc`).
    pub to_ticks: Option<ToTicks>,
    /// Whether the idle states that CPUs enter and leave are recorded.
    pub idle: bool,
    /// What marks the iterations of a recorded program.
    pub mark: Option<MarkEvent>,
    /// A thread whose call stacks are recorded whenever it leaves a CPU, with those of the threads that it starts, and of what
    /// they follow on a CPU. No other event is recorded then.
    pub stacks: Option<i32>,
}

/// What a mark of a recorded program is.
#[derive(Debug, Clone)]
pub enum MarkEvent {
    /// The entry of the function at this offset of a file.
    Entry(Arc<File>, u64),
    /// Each write to a descriptor of [`Marker::lead`].
    Write,
    /// Each text that begins so and is written to the `trace_marker` of the whole system.
    Text(String),
}

/// The trace clock closest to what the loops read: the counter itself if the kernel offers it, else the
/// unadjusted monotonic clock, in nanoseconds.
pub(crate) const DEFAULT_CLOCK: &str =
    if cfg!(target_arch = "x86_64") { "x86-tsc" } else { "mono_raw" };

impl Default for Config {
    /// [`DEFAULT_CLOCK`] and 4 MiB per CPU, enough for a minute of an idle CPU at 1,000 ticks per second.
    fn default() -> Self {
        Self {
            clock: DEFAULT_CLOCK.to_owned(),
            buffer_kb: 4096,
            to_ticks: None,
            mark: None,
            idle: false,
            stacks: None,
        }
    }
}

/// Names that are only known after the events.
#[derive(Debug)]
pub struct LateNames {
    /// Symbols of the addresses in the events, and tasks that no event named.
    pub names: Vec<Name>,
    /// Why addresses have no symbols, if so.
    pub symbols_missing: Option<Problem>,
}

/// Collects the kernel events of all CPUs. Dropping it removes everything it created.
pub struct Collector {
    decoder: EventDecoder,
    layout: PageLayout,
    page: Vec<u8>,
    config: Config,
    // Declared before the instance, because open pipes would keep that busy.
    pipes: Vec<Pipe>,
    /// Absent where the kernel lets nobody write marks.
    marker: Option<Arc<File>>,
    instance: Instance,
    /// Removed after the instance, in which its event is enabled.
    _probe: Option<Probe>,
    _tracefs: Tracefs,
}

impl Collector {
    /// Creates an instance with all known events enabled and tracing still off: [`Collector::on`] starts it.
    ///
    /// All online CPUs are recorded. For CPUs not in `measured`, only events that cause something elsewhere
    /// are returned.
    ///
    /// # Errors
    /// Returns [`TraceError`], with its remedy.
    pub fn prepare(
        tracefs: Tracefs,
        mut config: Config,
        measured: &[u32],
    ) -> Result<Self, TraceError> {
        allow_open_files();
        let mut instance = Instance::create(&tracefs, &config.clock, config.buffer_kb)?;
        let pipe = |cpu| Pipe::open(&instance, cpu, measured.contains(&cpu));
        let pipes = cpus::online().into_iter().map(pipe).collect::<Result<_, _>>()?;
        let layout = instance.page_layout()?;
        match config.stacks {
            Some(thread) => instance.enable_stacks(thread)?,
            None => instance.enable_events(config.idle)?,
        }
        let mut decoder = EventDecoder::new(instance.events(), config.to_ticks.take())
            .map_err(|name| TraceError::format(&name, "it has no common_pid"))?;
        if let Ok(format) = instance.format("ftrace", "print") {
            decoder.read_marks(&format);
        }
        if config.stacks.is_some() {
            let [kernel, user] =
                ["kernel_stack", "user_stack"].map(|it| instance.format("ftrace", it));
            if !decoder.read_stacks(&kernel?, &user?) {
                return Err(TraceError::format("stacks", "a field is missing"));
            }
        }
        let probe = match &config.mark {
            Some(mark) => read_marks(&tracefs, mark, &mut instance, &mut decoder)?,
            None => None,
        };
        let marker = Marker::open(&instance).ok();
        let page = vec![0; layout.size];
        Ok(Self {
            decoder,
            layout,
            page,
            config,
            pipes,
            marker,
            instance,
            _probe: probe,
            _tracefs: tracefs,
        })
    }

    /// Starts recording. If the very first events are lost, the interval of loss begins at `now_ticks`.
    ///
    /// # Errors
    /// Returns the error of the file.
    pub fn on(&mut self, now_ticks: u64) -> Result<(), TraceError> {
        for pipe in &mut self.pipes {
            pipe.start(now_ticks);
        }
        self.instance.set_tracing(true)
    }

    /// Stops recording. The tracepoints stay enabled, and recorded events stay readable.
    ///
    /// # Errors
    /// Returns the error of the file.
    pub fn off(&self) -> Result<(), TraceError> {
        self.instance.end()
    }

    /// Disables or enables the tracepoints themselves, to measure their cost.
    ///
    /// The kernel patches its code for every event, with interrupts to all CPUs: with Linux 6.18 on two CPUs,
    /// a switch took 5 to 13 ms and about 150 interrupts per CPU. The switching itself is therefore noise
    /// made by the tool, and belongs to the untraced time.
    ///
    /// # Errors
    /// Returns the error of the first event that could not be switched.
    pub fn set_enabled(&self, on: bool) -> Result<(), TraceError> {
        self.instance.set_enabled(on)
    }

    /// Returns what threads mark themselves with, so that [`Collector::thread`] finds them.
    #[must_use]
    pub fn marker(&self) -> Marker {
        self.marker.as_ref().map(Marker::new).unwrap_or_default()
    }

    /// Returns the number in events of the thread that knows itself as `own`. Outside PID namespaces it is the same;
    /// inside one it is `None` if no mark of the thread was read.
    #[must_use]
    pub fn thread(&self, own: i32) -> Option<i32> {
        self.decoder.thread(own).or_else(|| marks::numbers_are_global().then_some(own))
    }

    /// Returns the instance.
    #[must_use]
    pub fn instance(&self) -> &Instance {
        &self.instance
    }

    /// Returns the fields of the table that this kernel's events lack, as `system:name field`; they read as
    /// 0.
    #[must_use]
    pub fn absent_fields(&self) -> &[String] {
        self.decoder.absent()
    }

    /// Describes the recording of events for `run.json`.
    #[must_use]
    pub fn description(&self) -> Trace {
        let recorded = self.instance.events().iter().map(|event| RecordedEvent {
            number: event.spec.kind as u16,
            name: format!("{}:{}", event.spec.system, event.spec.name),
            args: event.spec.args.iter().map(|&arg| arg.to_owned()).collect(),
        });
        Trace {
            clock: self.config.clock.clone(),
            buffer_kb: self.config.buffer_kb,
            events: recorded.collect(),
            missing: self.instance.missing().to_vec(),
            alternate_ns: None,
        }
    }

    /// Sleeps until a CPU's buffer is half full; returns `false` after `timeout`, or once `other` can be read.
    ///
    /// # Errors
    /// Fails if polling fails. A signal ends the wait early, like a timeout.
    pub fn wait(
        &self,
        timeout: Duration,
        other: Option<BorrowedFd<'_>>,
    ) -> Result<bool, TraceError> {
        let pipes = self.pipes.iter().map(|pipe| PollFd::new(pipe, PollFlags::IN));
        let other = other.iter().map(|other| PollFd::new(other, PollFlags::IN));
        let mut fds: Vec<_> = pipes.chain(other).collect();
        let timeout = Timespec::try_from(timeout).ok();
        match poll(&mut fds, timeout.as_ref()) {
            Ok(_) => Ok(fds[..self.pipes.len()].iter().any(|pipe| !pipe.revents().is_empty())),
            Err(Errno::INTR) => Ok(false),
            Err(error) => Err(TraceError::file("poll", "trace_pipe_raw")(error.into())),
        }
    }

    /// Reads everything in the buffers: one batch per CPU that has events.
    ///
    /// # Errors
    /// Fails if a pipe cannot be read, or if a page is damaged.
    pub fn drain(&mut self) -> Result<Vec<Batch>, TraceError> {
        let mut batches = Vec::new();
        self.drain_to(usize::MAX, &mut |batch| batches.push(batch))?;
        Ok(batches)
    }

    /// Reads like [`Collector::drain`], but passes on a batch whenever one has `limit` events (or a few more,
    /// because pages are not split). The batches of one CPU follow each other in time.
    ///
    /// # Errors
    /// Returns the first error, after everything else on all CPUs has been read and passed on. What could not be read
    /// is an interval of loss in a later batch, or in [`Collector::unlocated_losses`].
    pub fn drain_to(
        &mut self,
        limit: usize,
        sink: &mut dyn FnMut(Batch),
    ) -> Result<(), TraceError> {
        let mut read = Ok(());
        for index in 0..self.pipes.len() {
            read = read.and(self.drain_cpu(index, limit, sink));
        }
        read
    }

    fn drain_cpu(
        &mut self,
        index: usize,
        limit: usize,
        sink: &mut dyn FnMut(Batch),
    ) -> Result<(), TraceError> {
        let pipe = &mut self.pipes[index];
        let mut batch = Batch::new(pipe.cpu());
        // Reading makes new events, so it is limited to what the buffer can hold, plus some pages for those
        // that are read in parts.
        let data = self.layout.size - self.layout.data_offset;
        let most = (self.config.buffer_kb as usize).saturating_mul(1024) / data + 8;
        let (mut pages, mut result) = (0, Ok(()));
        while pages < most {
            match pipe.read(&mut self.page) {
                Ok(true) => {}
                Ok(false) => break,
                Err(error) => {
                    result = result.and(Err(error));
                    break;
                }
            }
            pages += 1;
            let page = pipe.page(&self.page, &self.layout, &mut self.decoder, &mut batch);
            result = result.and(page);
            if batch.events.len() >= limit {
                batch.names = self.decoder.take_names();
                batch.marks = self.decoder.take_program_marks();
                sink(std::mem::replace(&mut batch, Batch::new(pipe.cpu())));
            }
        }
        if pages < most && pipe.has_uncounted() {
            // The buffer is now empty, so everything that was lost lies before the last mark.
            match self.instance.stats(pipe.cpu()) {
                Ok(stats) => pipe.count(stats.lost, &mut batch.losses),
                Err(error) => result = result.and(Err(error)),
            }
        }
        batch.names = self.decoder.take_names();
        batch.marks = self.decoder.take_program_marks();
        if batch != Batch::new(pipe.cpu()) {
            sink(batch);
        }
        result
    }

    /// Adds to `losses` those that no mark in the pages shows, from the kernel's own counts. Each lasts from the
    /// last event seen on its CPU (or the start) to `end_ticks`.
    ///
    /// Call it once, after [`Collector::off`] and a last drain.
    ///
    /// # Errors
    /// Returns the error of the first CPU whose count could not be read. Its known losses, and those of all
    /// other CPUs, are in `losses`.
    pub fn unlocated_losses(
        &mut self,
        end_ticks: u64,
        losses: &mut Vec<Loss>,
    ) -> Result<(), TraceError> {
        let mut read = Ok(());
        for pipe in &mut self.pipes {
            let lost = self.instance.stats(pipe.cpu()).map(|stats| stats.lost);
            pipe.count_rest(*lost.as_ref().unwrap_or(&0), end_ticks, losses);
            read = read.and(lost.map(|_| ()));
        }
        read
    }

    /// Takes the call stacks that were read and are whole; `all` of them at the end.
    pub fn take_stacks(&mut self, all: bool) -> Vec<RawStack> {
        self.decoder.take_stacks(all)
    }

    /// Returns the number of lines so far that came in one write with an earlier line, and are no marks.
    #[must_use]
    pub fn joined_lines(&self) -> u64 {
        self.decoder.joined_lines()
    }

    /// Returns the number of distinct addresses in all events so far.
    #[must_use]
    pub fn addresses(&self) -> usize {
        self.decoder.addresses().len()
    }

    /// Returns the numbers of all threads in the events so far.
    pub fn tasks(&self) -> impl Iterator<Item = i32> {
        self.decoder.tasks().filter_map(|pid| i32::try_from(pid).ok())
    }

    /// Returns names for the addresses in all events so far, and for tasks that no event named.
    ///
    /// A task gets its present name for all times; a task that has ended gets none.
    #[must_use]
    pub fn late_names(&self) -> LateNames {
        let addresses = self.decoder.addresses().iter().copied();
        let hidden = |name: Name| Name { key: self.decoder.hide(name.key), ..name };
        let (mut names, symbols_missing) = match symbols::resolve(addresses) {
            Ok(names) => (names.into_iter().map(hidden).collect(), None),
            Err(error) => (Vec::new(), Some(error)),
        };
        names.extend(self.names_of_tasks());
        LateNames { names, symbols_missing }
    }

    /// Forgets the names and tasks so far, so that the events that follow name theirs again and need no earlier ones.
    /// Returns names for the tasks so far that no event named.
    pub fn forget(&mut self) -> Vec<Name> {
        let names = self.names_of_tasks().collect();
        self.decoder.forget();
        names
    }

    /// Returns the present names of tasks that no event named.
    fn names_of_tasks(&self) -> impl Iterator<Item = Name> {
        self.decoder.unnamed_tasks().filter_map(|pid| {
            let comm = fs::read(format!("/proc/{pid}/comm")).ok()?;
            let name = String::from_utf8_lossy(comm.trim_ascii_end()).into_owned();
            Some(Name { kind: NameKind::Task, key: pid, ticks: 0, name })
        })
    }
}

/// Lets the marks of a program be events of the instance, and be decoded.
fn read_marks(
    tracefs: &Tracefs,
    mark: &MarkEvent,
    instance: &mut Instance,
    decoder: &mut EventDecoder,
) -> Result<Option<Probe>, TraceError> {
    let (mut probe, text) = (
        None,
        match mark {
            MarkEvent::Entry(..) => MarkText::None,
            MarkEvent::Write => MarkText::Any,
            MarkEvent::Text(prefix) => MarkText::Beginning(prefix.clone()),
        },
    );
    let format = match mark {
        MarkEvent::Entry(file, offset) => {
            let put = probe.insert(Probe::put(tracefs, &instance.name(), file, *offset)?);
            instance.enable_probe(put.event())?;
            instance.format(put.group(), "mark")?
        }
        MarkEvent::Write => {
            instance.take_writes();
            instance.format("ftrace", "print")?
        }
        MarkEvent::Text(_) => {
            instance.copy_markers()?;
            instance.format("ftrace", "print")?
        }
    };
    match decoder.read_program_marks(&format, &text) {
        true => Ok(probe),
        false => Err(TraceError::format("marks", "a field is missing")),
    }
}
