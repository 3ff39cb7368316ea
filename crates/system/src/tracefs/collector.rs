//! Collects kernel events of all CPUs from a private instance.

use super::decode::{EventDecoder, ToTicks};
use super::error::TraceError;
use super::instance::Instance;
use super::mount::Tracefs;
use super::page::PageLayout;
use super::pipe::{Batch, Pipe};
use super::symbols;
use crate::cpus;
use anechoic_recording::run::{RecordedEvent, Trace};
use anechoic_recording::{Loss, Name, NameKind, Problem};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use std::fs;
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
pub(crate) const DEFAULT_CLOCK: &str =
    if cfg!(target_arch = "x86_64") { "x86-tsc" } else { "mono_raw" };

impl Default for Config {
    /// [`DEFAULT_CLOCK`] and 4 MiB per CPU: a minute of an idle CPU at 1,000 ticks a second.
    fn default() -> Self {
        Self { clock: DEFAULT_CLOCK.to_owned(), buffer_kb: 4096, to_ticks: None }
    }
}

/// Names that are only known after the events.
#[derive(Debug)]
pub struct LateNames {
    /// Symbols of the addresses in the events, and tasks that no event named.
    pub names: Vec<Name>,
    /// Why addresses stay without symbols, if so.
    pub symbols_missing: Option<Problem>,
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
        let pipe = |cpu| Pipe::open(&instance, cpu, measured.contains(&cpu));
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
            pipe.start(now_ticks);
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
            self.pipes.iter().map(|pipe| PollFd::new(pipe, PollFlags::IN)).collect();
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
        let mut batch = Batch::of(pipe.cpu());
        // Reading makes events of its own, so an end is set: all that the buffer can hold, and some
        // pages for what is read in part.
        let data = self.layout.size - self.layout.data_offset;
        let mut pages = (self.config.buffer_kb as usize).saturating_mul(1024) / data + 8;
        while pages > 0 && pipe.read(&mut self.page)? {
            pages -= 1;
            pipe.page(&self.page, &self.layout, &mut self.decoder, &mut batch)?;
            if batch.events.len() >= limit {
                batch.names = self.decoder.take_names();
                sink(std::mem::replace(&mut batch, Batch::of(pipe.cpu())));
            }
        }
        if pages > 0 && pipe.has_uncounted() {
            // The buffer is empty now, so all that was lost lies before the last mark.
            let lost = self.instance.stats(pipe.cpu())?.lost();
            pipe.count(lost, &mut batch.losses);
        }
        batch.names = self.decoder.take_names();
        if batch != Batch::of(pipe.cpu()) {
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
            let lost = self.instance.stats(pipe.cpu())?.lost();
            pipe.count_rest(lost, end_ticks, &mut losses);
        }
        Ok(losses)
    }

    /// Addresses in all events so far.
    #[must_use]
    pub fn addresses(&self) -> usize {
        self.decoder.addresses().len()
    }

    /// Names of the addresses in all events so far, and of tasks that no event named.
    ///
    /// A task is named as it is called now, for all times; one that has ended stays without a name.
    #[must_use]
    pub fn late_names(&self) -> LateNames {
        let addresses = self.decoder.addresses().iter().copied();
        let (mut names, symbols_missing) = match symbols::resolve(addresses) {
            Ok(names) => (names, None),
            Err(error) => (Vec::new(), Some(error)),
        };
        names.extend(self.decoder.unnamed_tasks().filter_map(|pid| {
            let comm = fs::read(format!("/proc/{pid}/comm")).ok()?;
            let name = String::from_utf8_lossy(comm.trim_ascii_end()).into_owned();
            Some(Name { kind: NameKind::Task, key: pid, ticks: 0, name })
        }));
        LateNames { names, symbols_missing }
    }
}
