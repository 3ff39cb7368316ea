//! The pipe of one CPU's pages: reads it, and accounts for events lost in between.

use super::decode::EventDecoder;
use super::error::TraceError;
use super::instance::Instance;
use super::page::{Missed, Page, PageLayout};
use anechoic_recording::{KernelEvent, Loss, LossKind, Name};
use rustix::io::Errno;
use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd};

/// Events of one CPU in time order, with the names and losses found with them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Batch {
    /// The CPU.
    pub cpu: u32,
    /// Its events.
    pub events: Vec<KernelEvent>,
    /// Names that are new or have changed.
    pub names: Vec<Name>,
    /// Intervals in which events were lost (`what` = `events`).
    pub losses: Vec<Loss>,
}

impl Batch {
    /// Creates an empty batch.
    pub(super) fn new(cpu: u32) -> Self {
        Self { cpu, events: Vec::new(), names: Vec::new(), losses: Vec::new() }
    }
}

/// One CPU's pipe.
pub(super) struct Pipe {
    cpu: u32,
    measured: bool,
    file: File,
    /// Time of the last event read; before the first, of the start.
    last_ticks: u64,
    /// Number of lost events that were already reported.
    accounted: u64,
    /// Losses for which the kernel had no room to store a count.
    uncounted: Vec<Loss>,
}

impl Pipe {
    /// Opens the pipe of `cpu`.
    pub(super) fn open(instance: &Instance, cpu: u32, measured: bool) -> Result<Self, TraceError> {
        let file = instance.open_pipe(cpu)?;
        Ok(Self { cpu, measured, file, last_ticks: 0, accounted: 0, uncounted: Vec::new() })
    }

    pub(super) fn cpu(&self) -> u32 {
        self.cpu
    }

    /// Marks the start of the recording, at which a loss of the very first events begins.
    pub(super) fn start(&mut self, now_ticks: u64) {
        self.last_ticks = self.last_ticks.max(now_ticks);
    }

    /// Reads the next page; returns `false` if there is none at the moment.
    pub(super) fn read(&mut self, page: &mut [u8]) -> Result<bool, TraceError> {
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
    pub(super) fn page(
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

    /// Records a loss between the last event and `until`.
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

    /// Returns whether some losses wait for their count.
    pub(super) fn has_uncounted(&self) -> bool {
        !self.uncounted.is_empty()
    }

    /// Reports the losses without a count. Their sum follows from the kernel's total; it is assigned to the
    /// last one, and earlier ones keep 0 (unknown).
    pub(super) fn count(&mut self, lost: u64, losses: &mut Vec<Loss>) {
        if let Some(last) = self.uncounted.last_mut() {
            last.count = lost.saturating_sub(self.accounted);
            self.accounted += last.count;
        }
        losses.append(&mut self.uncounted);
    }

    /// At the end, reports the losses that no mark shows, as lost after the last event.
    pub(super) fn count_rest(&mut self, lost: u64, end_ticks: u64, losses: &mut Vec<Loss>) {
        self.count(lost, losses);
        let rest = lost.saturating_sub(self.accounted);
        if rest > 0 {
            losses.push(loss(self.cpu, self.last_ticks, end_ticks, rest));
            self.accounted = lost;
        }
    }
}

impl AsFd for Pipe {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

fn loss(cpu: u32, start_ticks: u64, end_ticks: u64, count: u64) -> Loss {
    Loss { what: LossKind::Events, cpu, start_ticks, end_ticks, count }
}
