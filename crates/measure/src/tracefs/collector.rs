//! Collects kernel events of all CPUs from a private instance.

use super::decode::{EventDecoder, ToTicks};
use super::error::TraceError;
use super::instance::Instance;
use super::mount::Tracefs;
use super::page::{Missed, Page, PageLayout};
use super::symbols;
use crate::cpus;
use anechoic_recording::run::{RecordedEvent, Trace};
use anechoic_recording::{KernelEvent, Loss, Name, NameKind};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use std::fs::{self, File};
use std::time::Duration;

/// How to record kernel events.
pub struct Config {
    /// The clock of the ring buffer; see [`DEFAULT_CLOCK`].
    pub clock: String,
    /// Ring buffer per CPU, in KiB.
    pub buffer_kb: u64,
    /// Turns that clock's times into ticks; absent where they are ticks already (`x86-tsc`).
    pub to_ticks: Option<ToTicks>,
}

/// The clock that is read as directly as the loops read theirs: the counter itself where the kernel
/// offers it, else the unadjusted monotonic clock, in nanoseconds.
pub const DEFAULT_CLOCK: &str = if cfg!(target_arch = "x86_64") { "x86-tsc" } else { "mono_raw" };

impl Default for Config {
    /// [`DEFAULT_CLOCK`] and 4 MiB per CPU: a minute of an idle CPU at 1,000 ticks a second.
    fn default() -> Self {
        Self { clock: DEFAULT_CLOCK.to_owned(), buffer_kb: 4096, to_ticks: None }
    }
}

/// Events of one CPU, in the order of their times, with what else was learnt from them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Batch {
    /// The CPU.
    pub cpu: u32,
    /// Its events.
    pub events: Vec<KernelEvent>,
    /// Names that were new or had changed.
    pub names: Vec<Name>,
    /// Intervals in which events were lost (`what` = `events`).
    pub losses: Vec<Loss>,
}

/// Names that are only known after the events.
#[derive(Debug)]
pub struct LateNames {
    /// Symbols of the addresses in the events, and tasks that no event named.
    pub names: Vec<Name>,
    /// Why addresses stay without symbols, if so.
    pub symbols_missing: Option<String>,
}

/// One CPU's pipe.
struct Pipe {
    cpu: u32,
    measured: bool,
    file: File,
    /// Of the last event read; before the first, of the start.
    last_ticks: u64,
    /// Lost events that have been handed out.
    accounted: u64,
    /// Losses whose count the kernel had no room for.
    uncounted: Vec<Loss>,
}

/// Kernel events of all CPUs. Dropping it removes all that it made.
pub struct Collector {
    decoder: EventDecoder,
    layout: PageLayout,
    page: Vec<u8>,
    config: Config,
    // Before the instance: open pipes would keep that busy.
    pipes: Vec<Pipe>,
    instance: Instance,
    _tracefs: Tracefs,
}

impl Collector {
    /// Makes an instance with all known events on, and tracing still off: [`Collector::on`] starts it.
    ///
    /// All online CPUs are recorded; of those not in `measured` only the events that say who caused
    /// something elsewhere are handed out.
    ///
    /// # Errors
    /// [`TraceError`], each with its remedy.
    pub fn prepare(
        tracefs: Tracefs,
        mut config: Config,
        measured: &[u32],
    ) -> Result<Self, TraceError> {
        let mut instance = Instance::create(&tracefs, &config.clock, config.buffer_kb)?;
        let pipe = |cpu| {
            Ok(Pipe {
                cpu,
                measured: measured.contains(&cpu),
                file: instance.open_pipe(cpu)?,
                last_ticks: 0,
                accounted: 0,
                uncounted: Vec::new(),
            })
        };
        let pipes = cpus::system("online").into_iter().map(pipe).collect::<Result<_, _>>()?;
        let layout = instance.page_layout()?;
        instance.enable_events()?;
        let decoder = EventDecoder::new(instance.events(), config.to_ticks.take())
            .map_err(|of| TraceError::Format { of, why: "it has no common_pid".to_owned() })?;
        let page = vec![0; layout.size];
        Ok(Self { decoder, layout, page, config, pipes, instance, _tracefs: tracefs })
    }

    /// Starts recording. `now_ticks` begins the loss where the very first events are lost.
    ///
    /// # Errors
    /// [`TraceError::File`].
    pub fn on(&mut self, now_ticks: u64) -> Result<(), TraceError> {
        for pipe in &mut self.pipes {
            pipe.last_ticks = pipe.last_ticks.max(now_ticks);
        }
        self.instance.set_tracing(true)
    }

    /// Stops recording. The tracepoints stay on, and what was recorded stays readable.
    ///
    /// # Errors
    /// [`TraceError::File`].
    pub fn off(&self) -> Result<(), TraceError> {
        self.instance.set_tracing(false)
    }

    /// Switches the tracepoints themselves off or on, to see what they cost.
    ///
    /// The kernel patches its code for every event, with interrupts to all CPUs: 5 to 13 ms and some
    /// 150 interrupts per CPU a switch were seen on two CPUs with Linux 6.18. So the switching itself
    /// is noise of the tool's own making, and belongs to the untraced time.
    ///
    /// # Errors
    /// [`TraceError::File`] of the first event that could not be switched.
    pub fn set_enabled(&self, on: bool) -> Result<(), TraceError> {
        self.instance.set_enabled(on)
    }

    /// The instance, for what it says of itself.
    #[must_use]
    pub fn instance(&self) -> &Instance {
        &self.instance
    }

    /// Fields of the table that this kernel's events lack, as `system:name field`; they read as 0.
    #[must_use]
    pub fn absent_fields(&self) -> &[String] {
        self.decoder.absent()
    }

    /// What `run.json` says of the recording of events.
    #[must_use]
    pub fn description(&self) -> Trace {
        let recorded = |event: &super::instance::EnabledEvent| RecordedEvent {
            number: event.spec.kind as u16,
            name: format!("{}:{}", event.spec.system, event.spec.name),
            args: event.spec.args.iter().map(|&arg| arg.to_owned()).collect(),
        };
        Trace {
            clock: self.config.clock.clone(),
            buffer_kb: self.config.buffer_kb,
            events: self.instance.events().iter().map(recorded).collect(),
            missing: self.instance.missing().to_vec(),
            alternate_ns: None,
        }
    }

    /// Sleeps until some CPU's buffer is half full, and says whether one is; `false` after `timeout`.
    ///
    /// # Errors
    /// [`TraceError::File`] where polling fails. A signal ends the wait early, as a timeout does.
    pub fn wait(&self, timeout: Duration) -> Result<bool, TraceError> {
        let mut fds: Vec<_> =
            self.pipes.iter().map(|pipe| PollFd::new(&pipe.file, PollFlags::IN)).collect();
        let timeout = Timespec::try_from(timeout).ok();
        match poll(&mut fds, timeout.as_ref()) {
            Ok(ready) => Ok(ready > 0),
            Err(Errno::INTR) => Ok(false),
            Err(error) => Err(TraceError::file("poll", "trace_pipe_raw")(error.into())),
        }
    }

    /// Reads all that is in the buffers now: one batch per CPU that had anything.
    ///
    /// # Errors
    /// [`TraceError::File`] or [`TraceError::Page`].
    pub fn drain(&mut self) -> Result<Vec<Batch>, TraceError> {
        let mut batches = Vec::new();
        self.drain_to(usize::MAX, &mut |batch| batches.push(batch))?;
        Ok(batches)
    }

    /// As [`Collector::drain`], handing out a batch whenever one CPU's holds `limit` events
    /// (or a few more: pages are not split). The batches of one CPU follow each other in time.
    ///
    /// # Errors
    /// As there.
    pub fn drain_to(
        &mut self,
        limit: usize,
        sink: &mut dyn FnMut(Batch),
    ) -> Result<(), TraceError> {
        for index in 0..self.pipes.len() {
            self.drain_cpu(index, limit, sink)?;
        }
        Ok(())
    }

    fn drain_cpu(
        &mut self,
        index: usize,
        limit: usize,
        sink: &mut dyn FnMut(Batch),
    ) -> Result<(), TraceError> {
        let pipe = &mut self.pipes[index];
        let cpu = pipe.cpu;
        let empty = || Batch { cpu, events: Vec::new(), names: Vec::new(), losses: Vec::new() };
        let mut batch = empty();
        // Reading makes events of its own, so an end is set: all that the buffer can hold, and some
        // pages for what is read in part.
        let data = self.layout.size - self.layout.data_offset;
        let mut pages = (self.config.buffer_kb as usize).saturating_mul(1024) / data + 8;
        while pages > 0 && pipe.read(&mut self.page)? {
            pages -= 1;
            pipe.page(&self.page, &self.layout, &mut self.decoder, &mut batch)?;
            if batch.events.len() >= limit {
                batch.names = self.decoder.take_names();
                sink(std::mem::replace(&mut batch, empty()));
            }
        }
        if pages > 0 && !pipe.uncounted.is_empty() {
            // The buffer is empty now, so all that was lost lies before the last mark.
            let lost = self.instance.stats(cpu)?.lost();
            pipe.count(lost, &mut batch.losses);
        }
        batch.names = self.decoder.take_names();
        if batch != empty() {
            sink(batch);
        }
        Ok(())
    }

    /// Losses that no mark in the pages told of, by the kernel's own counts: each from the last
    /// event seen on its CPU (or the start) to `end_ticks`.
    ///
    /// To be called once, after [`Collector::off`] and a last drain.
    ///
    /// # Errors
    /// [`TraceError::File`].
    pub fn unlocated_losses(&mut self, end_ticks: u64) -> Result<Vec<Loss>, TraceError> {
        let mut losses = Vec::new();
        for pipe in &mut self.pipes {
            let lost = self.instance.stats(pipe.cpu)?.lost();
            pipe.count(lost, &mut losses);
            let rest = lost.saturating_sub(pipe.accounted);
            if rest > 0 {
                losses.push(loss(pipe.cpu, pipe.last_ticks, end_ticks, rest));
                pipe.accounted = lost;
            }
        }
        Ok(losses)
    }

    /// Names of the addresses in all events so far, and of tasks that no event named.
    ///
    /// A task is named as it is called now, for all times; one that has ended stays without a name.
    #[must_use]
    pub fn late_names(&self) -> LateNames {
        let addresses = self.decoder.addresses().iter().copied();
        let (mut names, symbols_missing) = match symbols::resolve(addresses) {
            Ok(names) => (names, None),
            Err(error) => (Vec::new(), Some(error.to_string())),
        };
        names.extend(self.decoder.unnamed_tasks().filter_map(|pid| {
            let comm = fs::read(format!("/proc/{pid}/comm")).ok()?;
            let name = String::from_utf8_lossy(comm.trim_ascii_end()).into_owned();
            Some(Name { kind: NameKind::Task, key: pid, ticks: 0, name })
        }));
        LateNames { names, symbols_missing }
    }
}

impl Pipe {
    /// Reads the next page; `false` where there is none now.
    fn read(&mut self, page: &mut [u8]) -> Result<bool, TraceError> {
        loop {
            match rustix::io::read(&self.file, &mut *page) {
                Ok(0) | Err(Errno::AGAIN) => return Ok(false),
                Ok(_) => return Ok(true),
                Err(Errno::INTR) => {}
                Err(error) => {
                    let path = format!("per_cpu/cpu{}/trace_pipe_raw", self.cpu);
                    return Err(TraceError::file("read", path)(error.into()));
                }
            }
        }
    }

    /// Decodes one page into `batch`.
    fn page(
        &mut self,
        bytes: &[u8],
        layout: &PageLayout,
        decoder: &mut EventDecoder,
        batch: &mut Batch,
    ) -> Result<(), TraceError> {
        let cpu = self.cpu;
        let bad = |error| TraceError::Page { cpu, error };
        let page = Page::parse(bytes, layout).map_err(bad)?;
        let mut last = None;
        for record in page.records() {
            let record = record.map_err(bad)?;
            if last.is_none() {
                self.missed(page.missed, decoder.ticks(record.time), batch);
            }
            decoder.decode(cpu, self.measured, &record, &mut batch.events);
            last = Some(record.time);
        }
        match last {
            Some(time) => self.last_ticks = decoder.ticks(time),
            None => self.missed(page.missed, decoder.ticks(page.time), batch),
        }
        Ok(())
    }

    /// Notes what was lost between the last event and `until`.
    fn missed(&mut self, missed: Missed, until: u64, batch: &mut Batch) {
        let from = self.last_ticks;
        match missed {
            Missed::Nothing => {}
            Missed::Count(count) => {
                self.accounted += count;
                batch.losses.push(loss(self.cpu, from, until, count));
            }
            Missed::Unknown => self.uncounted.push(loss(self.cpu, from, until, 0)),
        }
    }

    /// Hands out the losses without a count. Their sum follows from the kernel's total; it goes to the
    /// last one, and earlier ones keep 0 (not known).
    fn count(&mut self, lost: u64, losses: &mut Vec<Loss>) {
        if let Some(last) = self.uncounted.last_mut() {
            last.count = lost.saturating_sub(self.accounted);
            self.accounted += last.count;
        }
        losses.append(&mut self.uncounted);
    }
}

fn loss(cpu: u32, start_ticks: u64, end_ticks: u64, count: u64) -> Loss {
    Loss { what: "events".to_owned(), cpu, start_ticks, end_ticks, count }
}
