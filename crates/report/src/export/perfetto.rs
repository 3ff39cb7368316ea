//! Detours as a trace of Perfetto's TrackEvents: a track for each CPU, a slice for each detour, its activities nested in
//! it, and an arrow from who caused one. Of a recorded program also a track for each thread, with its waits.
//!
//! All packets are one sequence without interned names or clocks; a track is described before its first event. The
//! numbers of fields are those of `trace_packet.proto`, `track_descriptor.proto` and `track_event.proto`.

mod waits;
mod wakeups;

use super::detours::main_source;
use super::{Export, Format, Holds, Recorded};
use crate::names::{role, title_of};
use crate::style::plain;
use anechoic_analyze::iterations::marks;
use anechoic_recording::{Activity, ActivityKind, DetourView, Mark, Problem};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

/// The row of the format.
pub(super) static FORMAT: Format = Format {
    id: "perfetto",
    title: "a trace for Perfetto: detours with their activities on a track for each CPU, waits on one for each thread",
    details: "ui.perfetto.dev and trace_processor read it. Each detour or wake-up is a slice, named after what took most of it; its activities \
              are nested slices. An arrow leads to an activity from the task that sent, queued, armed or woke it, which stands on a track \
              of the CPU where it ran. That time is not recorded: it is drawn at the start of the activity. Each thread of a recorded program has a track with its waits, \
              which name who had the CPU and, of `record --stacks`, the calls in which the thread lost its CPU (calls) and in which the \
              other one left it (holder_calls); and one with its iterations if the recording has marks. Times count from \
              the start of the run.",
    extension: "pftrace",
    binary: true,
    holds: Holds::Detours,
    takes: &[Recorded::Loops, Recorded::Program, Recorded::WakeUps],
    options: &[],
    examples: "  anechoic export perfetto before -o before.pftrace",
    write,
};

/// A message of protobuf: its fields, encoded.
#[derive(Default)]
struct Message(Vec<u8>);

impl Message {
    fn varint(&mut self, mut value: u64) {
        while value > 0x7f {
            self.0.push(value as u8 | 0x80); // the lowest seven bits; more follow
            value >>= 7;
        }
        self.0.push(value as u8);
    }

    fn uint(mut self, field: u64, value: u64) -> Self {
        self.varint(field << 3);
        self.varint(value);
        self
    }

    fn fixed(mut self, field: u64, value: u64) -> Self {
        self.varint(field << 3 | 1);
        self.0.extend(value.to_le_bytes());
        self
    }

    fn bytes(mut self, field: u64, bytes: &[u8]) -> Self {
        self.varint(field << 3 | 2);
        self.varint(bytes.len() as u64);
        self.0.extend(bytes);
        self
    }

    /// Adds a debug annotation to a track event.
    fn note(self, name: &str, text: &str) -> Self {
        self.bytes(4, &Self::default().bytes(10, name.as_bytes()).bytes(6, text.as_bytes()).0)
    }
}

/// Kinds of a track event.
const BEGIN: u64 = 1;
const END: u64 = 2;
const INSTANT: u64 = 3;

/// The track above all others.
const ROOT: u64 = 1;

/// Returns the track of the detours of a CPU, and that of what ran on a CPU and caused a detour on another.
fn detours_of(cpu: u32) -> u64 {
    2 * u64::from(cpu) + 2
}

fn causes_on(cpu: u32) -> u64 {
    2 * u64::from(cpu) + 3
}

/// Returns the track of the iterations of a thread.
fn iterations_of(thread: i32) -> u64 {
    1 << 40 | u64::from(thread.unsigned_abs())
}

/// Writes packets.
struct Trace<'a> {
    export: &'a Export<'a>,
    out: &'a mut dyn Write,
    described: BTreeSet<u64>,
    /// The number of the last arrow.
    arrow: u64,
}

fn write(export: &Export<'_>, out: &mut dyn Write) -> Result<(), Problem> {
    let mut trace = Trace { export, out, described: BTreeSet::new(), arrow: 0 };
    trace.begin()?;
    if let Some(wakeups) = &export.wakeups {
        return trace.wakeups(wakeups);
    }
    for cpu in export.cpus() {
        trace.describe(detours_of(cpu.0.cpu), &format!("CPU {}", cpu.0.cpu))?;
        export.detours(cpu, |detour| Ok(trace.detour(detour)?))?;
    }
    waits::write(&mut trace)?;
    if export.run().program.as_ref().is_some_and(|program| program.marked.is_some()) {
        trace.iterations(marks(export.recording())?.0)?;
    }
    Ok(())
}

impl Trace<'_> {
    fn packet(&mut self, content: Message) -> io::Result<()> {
        let packet = content.uint(10, 1); // trusted_packet_sequence_id
        self.out.write_all(&Message::default().bytes(1, &packet.0).0)
    }

    /// Begins the sequence and describes the track of the host, whose children are sorted by rank.
    fn begin(&mut self) -> io::Result<()> {
        self.packet(Message::default().uint(13, 1))?; // SEQ_INCREMENTAL_STATE_CLEARED
        let lines: Vec<String> = self.export.comments().collect();
        let track =
            Message::default().uint(1, ROOT).bytes(2, lines.join("; ").as_bytes()).uint(11, 3); // child_ordering: EXPLICIT
        self.packet(Message::default().bytes(60, &track.0))
    }

    /// Describes a track once.
    fn describe(&mut self, track: u64, name: &str) -> io::Result<()> {
        if !self.described.insert(track) {
            return Ok(());
        }
        let descriptor = Message::default()
            .uint(1, track)
            .bytes(2, name.as_bytes())
            .uint(5, ROOT) // parent_uuid
            .uint(12, track); // sibling_order_rank
        self.packet(Message::default().bytes(60, &descriptor.0))
    }

    fn event(&mut self, at_ticks: u64, event: Message) -> io::Result<()> {
        let at_ns = self.export.since_start_ns(at_ticks);
        self.packet(Message::default().uint(8, at_ns).bytes(11, &event.0))
    }

    /// Writes a detour and the activities in it. Each is limited to the slice that it begins in, so that slices nest.
    fn detour(&mut self, detour: &DetourView<'_>) -> io::Result<()> {
        let track = detours_of(detour.cpu);
        let (source, name) = main_source(detour.activities);
        let title = if source.is_empty() { "detour".into() } else { self.title(source, name) };
        self.slice(detour, begin(track, &title, source))
    }

    /// Writes a slice of a CPU with the activities in it, of which `whole` is the beginning.
    fn slice(&mut self, detour: &DetourView<'_>, whole: Message) -> io::Result<()> {
        let track = detours_of(detour.cpu);
        self.event(detour.start_ticks, whole)?;
        let mut ends = vec![detour.end_ticks];
        let mut reached = detour.start_ticks;
        for activity in detour.activities {
            let start = activity.start_ticks.clamp(reached, detour.end_ticks);
            while ends.len() > 1 && ends.last().is_some_and(|&end| end <= start) {
                self.end(track, ends.pop())?;
            }
            let outer = *ends.last().expect("the detour's own end stays");
            self.activity(track, activity, start)?;
            ends.push(activity.end_ticks.clamp(start, outer));
            reached = start;
        }
        while let Some(end) = ends.pop() {
            self.end(track, Some(end))?;
        }
        Ok(())
    }

    /// Writes a slice from each mark of a thread to its next one.
    fn iterations(&mut self, marks: Vec<Mark>) -> io::Result<()> {
        let mut open: BTreeMap<i32, (u64, Mark)> = BTreeMap::new();
        for mark in marks {
            let (thread, track) = (mark.thread, iterations_of(mark.thread));
            let number = open.get(&thread).map_or(1, |(number, _)| number + 1);
            let end_ticks = mark.ticks;
            let Some((number, over)) = open.insert(thread, (number, mark)) else { continue };
            self.describe(track, &format!("iterations of thread {thread}"))?;
            let title = match &*over.label {
                "" => format!("iteration {number}"),
                label => plain(label),
            };
            self.event(over.ticks, begin(track, &title, ""))?;
            self.end(track, Some(end_ticks))?;
        }
        Ok(())
    }

    fn end(&mut self, track: u64, at_ticks: Option<u64>) -> io::Result<()> {
        at_ticks
            .map_or(Ok(()), |at| self.event(at, Message::default().uint(9, END).uint(11, track)))
    }

    /// Begins the slice of an activity, after its cause if that is known.
    fn activity(&mut self, track: u64, activity: &Activity, start: u64) -> io::Result<()> {
        let title = match activity.kind {
            ActivityKind::Activity | ActivityKind::OffCpu => match &activity.function {
                Some(function) => function.to_string(),
                None => self.title(&activity.source, &activity.name),
            },
            kind => role(kind).to_owned(),
        };
        let mut slice = begin(track, &title, &activity.source);
        if !activity.name.is_empty() {
            slice = slice.note("name", &activity.name);
        }
        if let Some(thread) = activity.thread {
            slice = slice.note("thread", &thread.to_string());
        }
        if let Some(steal_ns) = activity.steal_ns {
            slice = slice.note("steal_ns", &steal_ns.to_string());
        }
        if let Some(task) = &activity.sent_by_task {
            slice = slice.note("sent_by", task);
        }
        if let Some(cpu) = activity.sent_by_cpu {
            self.arrow += 1;
            self.cause(cpu, activity.sent_by_task.as_deref().unwrap_or("sender"), start)?;
            slice = slice.fixed(48, self.arrow); // terminating_flow_ids
        }
        self.event(start, slice)
    }

    /// Writes the beginning of the last arrow.
    fn cause(&mut self, cpu: u32, task: &str, at_ticks: u64) -> io::Result<()> {
        self.describe(causes_on(cpu), &format!("CPU {cpu}, causes"))?;
        let event = Message::default()
            .uint(9, INSTANT)
            .uint(11, causes_on(cpu))
            .bytes(23, task.as_bytes())
            .fixed(47, self.arrow); // flow_ids
        self.event(at_ticks, event)
    }

    /// Returns the name of a source for people.
    fn title(&self, source: &str, name: &str) -> String {
        let guest = self.export.run().machine.hypervisor.is_some();
        title_of(source, name, guest)
    }
}

/// Returns the event that begins a slice.
fn begin(track: u64, title: &str, source: &str) -> Message {
    let event = Message::default().uint(9, BEGIN).uint(11, track).bytes(23, title.as_bytes());
    if source.is_empty() { event } else { event.bytes(22, source.as_bytes()) }
}
