//! Detours that the osnoise tracer found, and what it charges them to.
//!
//! The tracer reports an interference when it has ended, with its start and the time that it took alone, and a sample
//! over its threshold after all interferences in it. At the end of each window it reports for how long it measured.
//! Each interference becomes the events of a handler or of a switch to another thread and back.

use super::sink::Sink;
use crate::event::{EVENTS, EventKind, EventSpec, NameKind};
use crate::problem::Problem;
use crate::rows::{KernelEvent, Name};
use crate::trace::decode::{Bytes, Number};
use crate::trace::{Format, Record};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// More interferences than a sample has; with more of them the earliest are not kept.
const MOST: usize = 256 << 10;
/// The largest number of interferences that are open inside each other; more do not occur.
const MOST_NESTED: usize = 64;
/// More different names than a trace has.
const MOST_NAMES: usize = 64 << 10;

/// An event of the tracer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum What {
    Sample,
    Irq,
    Softirq,
    Thread,
    Nmi,
}

/// The events of the tracer, with their fields for a number and a name.
const EVENTS_OF: [(&str, What, &str, &str); 5] = [
    ("sample_threshold", What::Sample, "common_pid", ""),
    ("irq_noise", What::Irq, "vector", "desc"),
    ("softirq_noise", What::Softirq, "vector", ""),
    ("thread_noise", What::Thread, "pid", "comm"),
    ("nmi_noise", What::Nmi, "common_pid", ""),
];

/// Where the values of an event lie.
#[derive(Debug)]
struct Fields {
    what: What,
    id: u16,
    start: Number,
    duration: Number,
    /// Vector, thread, or the measuring thread.
    number: Number,
    name: Option<Bytes>,
}

impl Fields {
    /// Returns where the values of this event of the tracer lie; nothing if the file does not describe it.
    fn find(
        &(event, what, number_field, name_field): &(&str, What, &str, &str),
        formats: &[(String, String, Format)],
    ) -> Option<Self> {
        let (_, _, format) =
            formats.iter().find(|(system, name, _)| system == "osnoise" && name == event)?;
        let number = |field| format.field(field).and_then(Number::from_field);
        Some(Fields {
            what,
            id: format.id,
            start: number("start")?,
            duration: number("duration")?,
            number: number(number_field)?,
            name: format.field(name_field).and_then(Bytes::from_field),
        })
    }
}

/// Something that took time of a sample.
#[derive(Debug, Clone, Copy)]
struct Interference {
    start: u64,
    end: u64,
    enter: EventKind,
    exit: EventKind,
    number: u64,
}

/// Where the event lies that ends a window of the measurement.
#[derive(Debug)]
struct WindowFields {
    id: u16,
    /// For how long it measured, in µs.
    runtime: Number,
}

/// The windows of a CPU in which the tracer measured.
#[derive(Debug, Clone, Copy)]
pub(super) struct Windows {
    /// Start of the first one and end of the last.
    pub(super) from: u64,
    pub(super) to: u64,
    /// For how long it measured in all of them, in ns.
    pub(super) measured_ns: u64,
}

/// The events of the tracer on a CPU since its last sample.
#[derive(Debug)]
pub(super) struct Osnoise {
    fields: Vec<Fields>,
    window: Option<WindowFields>,
    windows: Option<Windows>,
    victim: i32,
    since: Vec<Interference>,
    names: BTreeMap<(NameKind, u64), String>,
}

impl Osnoise {
    /// Returns a reader, if the file has samples of the tracer. `windows` describes the event that ends a window, if its
    /// times are those of the samples.
    pub(super) fn new(
        formats: &[(String, String, Format)],
        windows: Option<&Format>,
    ) -> Option<Self> {
        let found = EVENTS_OF.iter().filter_map(|event| Fields::find(event, formats));
        let fields: Vec<Fields> = found.collect();
        let has_samples = fields.iter().any(|fields| fields.what == What::Sample);
        let window = windows.and_then(|format| {
            let runtime = format.field("runtime").and_then(Number::from_field)?;
            Some(WindowFields { id: format.id, runtime })
        });
        has_samples.then_some(Self {
            fields,
            window,
            windows: None,
            victim: 0,
            since: vec![],
            names: BTreeMap::new(),
        })
    }

    /// Returns the events that interferences become.
    pub(super) fn specs() -> Vec<&'static EventSpec> {
        use EventKind::{IrqEntry, IrqExit, Nmi, SoftirqEntry, SoftirqExit, Switch};
        let others = [IrqEntry, IrqExit, SoftirqEntry, SoftirqExit, Nmi, Switch];
        let made = |spec: &&EventSpec| spec.system == "irq_vectors" || others.contains(&spec.kind);
        EVENTS.iter().filter(made).collect()
    }

    /// Returns the measuring thread of the last CPU.
    pub(super) fn victim(&mut self) -> i32 {
        std::mem::take(&mut self.victim)
    }

    /// Forgets the interferences of a sample that was lost.
    pub(super) fn forget(&mut self) {
        self.since.clear();
    }

    fn fields(&self, payload: &[u8]) -> Option<&Fields> {
        let id = payload.first_chunk().map(|id| u16::from_le_bytes(*id))?;
        self.fields.iter().find(|fields| fields.id == id)
    }

    /// Returns the start of a sample or of a window, if this event is one, and whether no later event of its CPU is earlier.
    pub(super) fn start_of(&self, record: &Record<'_>) -> Option<(u64, bool)> {
        if let Some((from, _)) = self.window(record) {
            return Some((from, true));
        }
        let sample = self.fields(record.payload).filter(|fields| fields.what == What::Sample)?;
        Some((sample.start.read(record.payload), self.window.is_none()))
    }

    /// Returns the windows of the last CPU.
    pub(super) fn take_windows(&mut self) -> Option<Windows> {
        self.windows.take()
    }

    /// Returns the start of a window, and for how long it measured, if this event ends one.
    fn window(&self, record: &Record<'_>) -> Option<(u64, u64)> {
        let id = record.payload.first_chunk().map(|id| u16::from_le_bytes(*id))?;
        let window = self.window.as_ref().filter(|window| window.id == id)?;
        let ns = window.runtime.read(record.payload).saturating_mul(1_000).min(record.time);
        Some((record.time - ns, ns))
    }

    pub(super) fn take(&mut self, record: &Record<'_>, sink: &mut Sink) -> Result<(), Problem> {
        if let Some((from, ns)) = self.window(record) {
            let windows = self.windows.get_or_insert(Windows { from, to: from, measured_ns: 0 });
            windows.to = windows.to.max(record.time);
            windows.measured_ns = windows.measured_ns.saturating_add(ns);
            return Ok(());
        }
        let payload = record.payload;
        let Some(fields) = self.fields(payload) else { return Ok(()) };
        let (start, number) = (fields.start.read(payload), fields.number.read(payload));
        let end = start.saturating_add(fields.duration.read(payload));
        let what = fields.what;
        let name = fields.name.map(|name| String::from_utf8_lossy(name.text(payload)).into_owned());
        if what == What::Sample {
            self.victim = number as i32;
            return self.sample(start.max(sink.reached()), end, sink);
        }
        let (enter, exit) = events(what, name.as_deref().unwrap_or_default());
        let kind = match enter {
            EventKind::IrqEntry => Some(NameKind::Irq),
            EventKind::Switch => Some(NameKind::Task),
            _ => None,
        };
        if let (Some(kind), Some(name), true) = (kind, name, self.names.len() < MOST_NAMES) {
            self.names.entry((kind, number)).or_insert(name);
        }
        if self.since.len() == MOST {
            self.since.drain(..MOST / 2);
        }
        self.since.push(Interference { start, end, enter, exit, number });
        Ok(())
    }

    /// Adds a sample with the interferences in it.
    fn sample(&mut self, start: u64, end: u64, sink: &mut Sink) -> Result<(), Problem> {
        let mut since = std::mem::take(&mut self.since);
        since.sort_by_key(|interference| (interference.start, Reverse(interference.end)));
        let (mut events, mut open): (Vec<KernelEvent>, Vec<Interference>) = (vec![], vec![]);
        for mut interference in since {
            (interference.start, interference.end) =
                (interference.start.max(start), interference.end.min(end));
            if interference.end <= interference.start {
                continue;
            }
            self.close(&mut open, &mut events, interference.start, sink);
            if open.len() == MOST_NESTED {
                continue;
            }
            // Times are of the interference alone: what contains another one lasts longer by that.
            let taken = interference.end - interference.start;
            for around in &mut open {
                around.end = around.end.saturating_add(taken).min(end);
            }
            if interference.enter == EventKind::Nmi {
                open.push(interference);
                continue;
            }
            events.push(self.event(interference.enter, interference, interference.start, sink));
            open.push(interference);
        }
        self.close(&mut open, &mut events, u64::MAX, sink);
        events.sort_by_key(|event| event.ticks);
        sink.add((start, end), &events)
    }

    /// Ends the interferences that are over by then.
    fn close(
        &self,
        open: &mut Vec<Interference>,
        events: &mut Vec<KernelEvent>,
        before: u64,
        sink: &Sink,
    ) {
        while let Some(closed) = open.pop_if(|last| last.end <= before) {
            events.push(self.event(closed.exit, closed, closed.end, sink));
        }
    }

    /// Returns an event of an interference.
    fn event(
        &self,
        kind: EventKind,
        interference: Interference,
        ticks: u64,
        sink: &Sink,
    ) -> KernelEvent {
        let entered = ticks == interference.start;
        let thread = interference.number as i32;
        let (pid, args) = match kind {
            EventKind::Switch if entered => (self.victim, [interference.number, 0, 120]),
            EventKind::Switch => (thread, [self.victim as u64, 0, 120]),
            EventKind::Nmi => (self.victim, [0, interference.end - interference.start, 1]),
            _ => (self.victim, [interference.number, 0, 0]),
        };
        KernelEvent { cpu: sink.at(), ticks, kind, pid, args }
    }

    /// Takes the names of interrupts and threads.
    pub(super) fn take_names(&mut self) -> Vec<Name> {
        let name = |((kind, key), name)| Name { kind, key, ticks: 0, name };
        std::mem::take(&mut self.names).into_iter().map(name).collect()
    }
}

/// Returns the events with which an interference begins and ends. The tracer names an interrupt as the kernel's vectors or
/// by its device.
fn events(what: What, name: &str) -> (EventKind, EventKind) {
    match what {
        What::Irq => vector(name, "_entry")
            .zip(vector(name, "_exit"))
            .unwrap_or((EventKind::IrqEntry, EventKind::IrqExit)),
        What::Softirq => (EventKind::SoftirqEntry, EventKind::SoftirqExit),
        What::Nmi => (EventKind::Nmi, EventKind::Nmi),
        What::Thread | What::Sample => (EventKind::Switch, EventKind::Switch),
    }
}

/// Returns the event of an interrupt that the kernel's vectors name so.
fn vector(name: &str, suffix: &str) -> Option<EventKind> {
    let mut vectors = EVENTS.iter().filter(|spec| spec.system == "irq_vectors");
    let spec = vectors.find(|spec| spec.name.strip_suffix(suffix) == Some(name))?;
    Some(spec.kind)
}
