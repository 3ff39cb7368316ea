//! The pipe of one CPU's pages: reads it, and accounts for events lost in between.

use super::error::TraceError;
use super::instance::Instance;
use anechoic_recording::trace::{EventDecoder, Missed, Page, PageError, PageLayout};
use anechoic_recording::{KernelEvent, Loss, LossKind, Mark, Name};
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
    /// Marks of a recorded program.
    pub marks: Vec<Mark>,
}

impl Batch {
    /// Creates an empty batch.
    pub(super) fn new(cpu: u32) -> Self {
        Self { cpu, events: Vec::new(), names: Vec::new(), losses: Vec::new(), marks: Vec::new() }
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
    /// Whether what follows the last event could not be read.
    unread: bool,
}

impl Pipe {
    /// Opens the pipe of `cpu`.
    pub(super) fn open(instance: &Instance, cpu: u32, measured: bool) -> Result<Self, TraceError> {
        Ok(Self::new(cpu, measured, instance.open_pipe(cpu)?))
    }

    fn new(cpu: u32, measured: bool, file: File) -> Self {
        let uncounted = Vec::new();
        Self { cpu, measured, file, last_ticks: 0, accounted: 0, uncounted, unread: false }
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
                    self.unread = true;
                    let path = format!("per_cpu/cpu{}/trace_pipe_raw", self.cpu);
                    return Err(TraceError::file("read", path)(error.into()));
                }
            }
        }
    }

    /// Decodes one page into `batch`. What follows an error in it is lost: an interval of loss, of unknown count, from
    /// the last event before the error to the next event of this CPU.
    ///
    /// # Errors
    /// Fails if the page is damaged. The events before the damage are in `batch`.
    pub(super) fn page(
        &mut self,
        bytes: &[u8],
        layout: &PageLayout,
        decoder: &mut EventDecoder,
        batch: &mut Batch,
    ) -> Result<(), TraceError> {
        let decoded = self.decode(bytes, layout, decoder, batch);
        self.unread |= decoded.is_err();
        decoded.map_err(|error| {
            let why = format!("a trace page of CPU {} cannot be parsed: {error}", self.cpu);
            TraceError::other(why, "report it with `uname -r`")
        })
    }

    fn decode(
        &mut self,
        bytes: &[u8],
        layout: &PageLayout,
        decoder: &mut EventDecoder,
        batch: &mut Batch,
    ) -> Result<(), PageError> {
        let page = Page::parse(bytes, layout)?;
        let mut missed = page.missed;
        for record in page.records() {
            let record = record?;
            let ticks = decoder.ticks(record.time);
            self.missed(std::mem::replace(&mut missed, Missed::Nothing), ticks, batch);
            decoder.decode(self.cpu, self.measured, &record, &mut batch.events);
            self.last_ticks = ticks;
        }
        self.missed(missed, decoder.ticks(page.time), batch);
        Ok(())
    }

    /// Records a loss between the last event and `until`.
    fn missed(&mut self, missed: Missed, until: u64, batch: &mut Batch) {
        let from = self.last_ticks;
        if std::mem::take(&mut self.unread) {
            batch.losses.push(loss(self.cpu, from, until, 0));
        }
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
        if rest > 0 || std::mem::take(&mut self.unread) {
            losses.push(loss(self.cpu, self.last_ticks, end_ticks, rest));
            self.accounted += rest;
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

#[cfg(test)]
mod tests {
    use super::*;

    const LAYOUT: PageLayout =
        PageLayout { commit_offset: 8, commit_size: 8, data_offset: 16, size: 4096 };

    /// Returns a page with one event of four bytes at each of these times; `damaged` adds a record that extends beyond
    /// the end of the page.
    fn page(times: &[u32], damaged: bool) -> Vec<u8> {
        let mut data = Vec::new();
        let mut now = times[0];
        for &time in times {
            data.extend([(time - now) << 5 | 1, 0].map(u32::to_le_bytes).concat());
            now = time;
        }
        if damaged {
            data.extend(28_u32.to_le_bytes());
        }
        let head = [u64::from(times[0]), data.len() as u64].map(u64::to_le_bytes);
        let mut page = [head.concat(), data].concat();
        page.resize(LAYOUT.size, 0);
        page
    }

    /// Reads the pages and ends the recording at tick 1,000; returns the intervals of loss and the number of errors.
    fn losses(pages: &[Vec<u8>]) -> (Vec<(u64, u64, u64)>, usize) {
        let mut pipe = Pipe::new(3, true, File::open("/dev/null").expect("a file"));
        let mut decoder = EventDecoder::new(&[], None).expect("a decoder");
        let mut batch = Batch::new(3);
        pipe.start(1);
        let mut read = |page| pipe.page(page, &LAYOUT, &mut decoder, &mut batch).is_err();
        let errors = pages.iter().filter(|page| read(page)).count();
        pipe.count_rest(0, 1_000, &mut batch.losses);
        let interval = |loss: &Loss| (loss.start_ticks, loss.end_ticks, loss.count);
        (batch.losses.iter().map(interval).collect(), errors)
    }

    #[test]
    fn what_follows_damage_in_a_page_is_a_loss_up_to_the_next_event() {
        let torn = || [vec![0xff; 16], vec![0; 4080]].concat();
        let cases = [
            ("whole", vec![page(&[10, 20], false), page(&[30], false)], vec![], 0),
            (
                "damaged record",
                vec![page(&[10, 20], true), page(&[30], false)],
                vec![(20, 30, 0)],
                1,
            ),
            (
                "damaged header",
                vec![page(&[10], false), torn(), page(&[30], false)],
                vec![(10, 30, 0)],
                1,
            ),
            ("damaged first", vec![torn(), page(&[30, 40], false)], vec![(1, 30, 0)], 1),
            (
                "two in a row",
                vec![page(&[10], true), torn(), page(&[50], false)],
                vec![(10, 50, 0)],
                2,
            ),
            ("damaged last", vec![page(&[10, 20], true)], vec![(20, 1_000, 0)], 1),
        ];
        for (name, pages, expected, errors) in cases {
            assert_eq!(losses(&pages), (expected, errors), "case: {name}");
        }
    }
}
