//! Files of trace-cmd: what the osnoise tracer found, or the time in interrupt handlers.

mod bytes;
mod file;
mod handlers;
mod osnoise;
mod sink;

use super::lines::open_regular;
use super::recorded::empty;
use super::{Importer, Read, writer};
use crate::event::{EVENTS, NameKind};
use crate::options::{Answers, OptionRow, Value};
use crate::problem::{Problem, ProblemKind};
use crate::recorder::Recorder;
use crate::rows::Name;
use crate::run::{CpuRun, RecordedEvent, Run, RunState, Trace};
use crate::trace::{EnabledEvent, EventDecoder, Missed, Page, Record, resolve_from};
use file::TraceFile;
use handlers::{Handlers, VICTIM};
use osnoise::{Osnoise, Windows};
use sink::Sink;
use std::collections::HashMap;
use std::path::Path;

/// The row of the format.
pub(super) static IMPORTER: Importer = Importer {
    id: "trace-cmd",
    title: "a trace.dat of trace-cmd, version 6 or 7",
    details: "With events of the osnoise tracer (`trace-cmd record -p osnoise -e osnoise`) its samples over the threshold are the \
              detours, and what the tracer charges them to are their causes. Without, nobody measured: a detour is the time in \
              interrupt handlers (events of irq, irq_vectors, nmi and others), and what threads took from each other is not in it.",
    options: &[OptionRow::new(
        "hz",
        Value::Count { least: 1_000_000, most: 100_000_000_000 },
        "N",
        "Rate of the counter, where the trace clock is x86-tsc and the file does not state it",
    )],
    examples: "  anechoic import trace-cmd trace.dat -o traced\n  anechoic import trace-cmd trace.dat --hz 2597000000 -o traced",
    read: Read::Recording(import),
};

const OF_HANDLERS: &str = "nobody measured: a detour is the time from the entry to the exit of an interrupt's handler; time that threads took \
                           from each other, and what the kernel and a hypervisor did around the handlers, is not in it";
const OF_OSNOISE: &str = "a detour is a sample over the threshold of the osnoise tracer, and its events are what the tracer found in it; the \
                          measured time is that of its windows";
/// The same where the file does not show when the tracer measured.
const WITHOUT_WINDOWS: &str = "the measured time is taken to be that from the first sample to the last, because the file does not show when the tracer \
                               measured (record with its own clock, local): with few samples the noise is too high";
/// Clocks whose times are those of the tracer's samples.
const CLOCKS_OF_OSNOISE: [&str; 2] = ["local", "global"];
/// Pauses between the windows of a CPU of less than one part in this many do not matter.
const PAUSE_PARTS: u64 = 100;

/// How detours are found in the events.
enum Finder {
    Handlers(Box<Handlers>),
    Osnoise(Osnoise),
}

fn import(path: &Path, answers: &Answers, dir: &Path) -> Result<u64, Problem> {
    let about = |problem: Problem| match problem.kind {
        ProblemKind::Data => problem.about(path.display()),
        _ => problem,
    };
    let (source, written) = open_regular(path)?;
    let mut file = TraceFile::open(source).map_err(about)?;
    // A trace of all events describes those of osnoise too.
    let windows = file.windows.as_ref().filter(|_| CLOCKS_OF_OSNOISE.contains(&&*file.clock));
    let (finder, start) = match Osnoise::new(&file.formats, windows).map(Finder::Osnoise) {
        Some(osnoise) => {
            let start = first_ticks(&mut file, &osnoise).map_err(about)?;
            (start.map(|_| osnoise), start)
        }
        None => (None, None),
    };
    let (mut finder, start) = match (finder, start) {
        (Some(finder), Some(start)) => (finder, start),
        _ => {
            let handlers = Handlers::new(decoder(&file).map_err(about)?);
            let finder = Finder::Handlers(Box::new(handlers));
            let start = first_ticks(&mut file, &finder).map_err(about)?;
            (finder, start.unwrap_or(0))
        }
    };
    let mut run = describe(path, &file, &finder, answers).map_err(about)?;
    (run.start_ticks, run.end_ticks) = (start, start);
    let mut sink = Sink::new(Recorder::create(dir, &run)?, &run);
    let read = read(&mut file, &mut finder, &mut sink, &mut run).map_err(about);
    let read = read.and_then(|()| match run.cpus.iter().any(|cpu| cpu.detours > 0) {
        true => Ok(()),
        false => {
            let remedy =
                "record with `trace-cmd record -p osnoise -e osnoise`, or `-e irq -e irq_vectors`";
            Err(about(
                ProblemKind::Data
                    .problem("it has no detour: no event of osnoise or of an interrupt", remedy),
            ))
        }
    });
    if let Err(problem) = read {
        drop(sink);
        empty(dir);
        return Err(problem);
    }
    let length_ns = run.clock.ns(run.end_ticks.saturating_sub(run.start_ticks));
    writer::ended(&mut run, written, length_ns);
    run.state = RunState::Complete;
    sink.finish(&run)?;
    Ok(run.cpus.iter().map(|cpu| cpu.detours).sum())
}

/// Reads the pages of all CPUs, and the names in the file.
fn read(
    file: &mut TraceFile,
    finder: &mut Finder,
    sink: &mut Sink,
    run: &mut Run,
) -> Result<(), Problem> {
    let layout = file.layout;
    let mut seen = vec![];
    for cpu in file.cpus.clone() {
        sink.begin(cpu.cpu);
        let (mut reached, mut missed) = (None, None);
        file.pages(cpu, &mut |bytes| {
            let page = Page::parse(bytes, &layout).map_err(|error| damaged(&error))?;
            // A page without records leaves its loss to the next one.
            missed =
                missed.take().filter(|before| *before != Missed::Nothing).or(Some(page.missed));
            for record in page.records() {
                let record = record.map_err(|error| damaged(&error))?;
                if let Some(missed) = missed.take() {
                    // The events of osnoise have times of their own, and losses those of the trace.
                    let before = reached.unwrap_or(run.start_ticks);
                    let (from, to) = match finder {
                        Finder::Handlers(_) => (before, record.time),
                        Finder::Osnoise(_) => (sink.reached(), sink.reached()),
                    };
                    finder.lost(sink.missed(missed, from, to)?);
                }
                reached = Some(record.time);
                finder.take(cpu.cpu, &record, sink)?;
            }
            Ok(true)
        })?;
        let (victim, windows) = finder.end();
        let measured = matches!(finder, Finder::Handlers(_)) && cpu.size > 0 || windows.is_some();
        if measured || sink.cpu().detours > 0 {
            run.cpus.push(cpu_run(cpu.cpu, victim, sink));
            seen.push((windows, sink.reached()));
        }
    }
    let end = sink.end_ticks();
    run.end_ticks = end;
    run.cpus.iter_mut().for_each(|cpu| cpu.last_ticks = end);
    if matches!(finder, Finder::Osnoise(_)) {
        measured_time(run, &seen);
    }
    run.threshold_ticks = sink.shortest_ticks().saturating_sub(1);
    sink.names(&finder.names(file, run))
}

/// Sets the measured time of each CPU to its windows, of which these are known with the end of its last detour. A detour
/// after the last window is of one that was not finished.
fn measured_time(run: &mut Run, seen: &[(Option<Windows>, u64)]) {
    if seen.iter().any(|(windows, _)| windows.is_none()) {
        run.notes.push(WITHOUT_WINDOWS.to_owned());
        return;
    }
    let (mut spans, mut measured) = (0_u64, 0_u64);
    for (cpu, (windows, reached)) in run.cpus.iter_mut().zip(seen) {
        let Some(windows) = windows else { continue };
        cpu.first_ticks = windows.from.max(run.start_ticks);
        cpu.last_ticks = windows.to.max(*reached);
        run.end_ticks = run.end_ticks.max(cpu.last_ticks);
        spans = spans.saturating_add(windows.to.saturating_sub(windows.from));
        measured = measured.saturating_add(windows.measured_ns);
    }
    let paused = spans.saturating_sub(measured);
    if paused > spans / PAUSE_PARTS {
        let percent = paused as f64 / spans as f64 * 100.0;
        run.notes.push(format!(
            "the tracer paused for {percent:.0} % of the time (its runtime is shorter than its period): in the time that it measured, the noise is {:.2} times as high",
            spans as f64 / measured.max(1) as f64
        ));
    }
}

fn damaged(error: &impl std::fmt::Display) -> Problem {
    super::lines::wrong(format!("a page is damaged: {error}"))
}

impl Finder {
    /// Returns a time at which the recording may start, and whether no later record of the CPU has an earlier one.
    fn start_of(&self, record: &Record<'_>) -> Option<(u64, bool)> {
        match self {
            Self::Handlers(_) => Some((record.time, true)),
            Self::Osnoise(osnoise) => osnoise.start_of(record),
        }
    }

    fn take(&mut self, cpu: u32, record: &Record<'_>, sink: &mut Sink) -> Result<(), Problem> {
        match self {
            Self::Handlers(handlers) => handlers.take(cpu, record, sink),
            Self::Osnoise(osnoise) => osnoise.take(record, sink),
        }
    }

    /// Forgets what was open, if events were lost.
    fn lost(&mut self, lost: bool) {
        match self {
            Self::Handlers(handlers) if lost => handlers.forget(),
            Self::Osnoise(osnoise) if lost => osnoise.forget(),
            _ => {}
        }
    }

    /// Ends the events of a CPU and returns the measuring thread, and when it measured if that is known.
    fn end(&mut self) -> (i32, Option<Windows>) {
        match self {
            Self::Handlers(handlers) => {
                handlers.forget();
                (VICTIM, None)
            }
            Self::Osnoise(osnoise) => {
                osnoise.forget();
                (osnoise.victim(), osnoise.take_windows())
            }
        }
    }

    /// Returns the names of what is in the events.
    fn names(&mut self, file: &TraceFile, run: &mut Run) -> Vec<Name> {
        let decoder = match self {
            Self::Osnoise(osnoise) => return osnoise.take_names(),
            Self::Handlers(handlers) => &mut handlers.decoder,
        };
        let mut names = decoder.take_names();
        match resolve_from(&file.symbols[..], decoder.addresses().iter().copied()) {
            Ok(found) => {
                names.extend(
                    found.into_iter().map(|name| Name { key: decoder.hide(name.key), ..name }),
                );
            }
            Err(problem) => {
                run.not_available.push(problem.not_available("names of kernel functions"))
            }
        }
        let commands = file.commands.lines().filter_map(|line| line.split_once(' '));
        let commands: HashMap<&str, &str> = commands.collect();
        let command = |pid: u64| {
            let name = (*commands.get(&*pid.to_string())?).to_owned();
            Some(Name { kind: NameKind::Task, key: pid, ticks: 0, name })
        };
        names.extend(decoder.unnamed_tasks().filter_map(command));
        names
    }
}

/// Returns the decoder of the known events of the file.
fn decoder(file: &TraceFile) -> Result<EventDecoder, Problem> {
    EventDecoder::new(&enabled(file), None).map_err(|event| {
        super::lines::wrong(format!("its description of {event} has no common_pid"))
    })
}

/// Returns the events of the file that are known here.
fn enabled(file: &TraceFile) -> Vec<EnabledEvent> {
    let known = file.formats.iter().filter_map(|(system, name, format)| {
        let spec = EVENTS.iter().find(|spec| spec.system == system && spec.name == name)?;
        Some(EnabledEvent { spec, format: format.clone() })
    });
    known.collect()
}

/// Returns the start of the recording: the first time in the file; `None` if it has none for this finder.
fn first_ticks(file: &mut TraceFile, finder: &Finder) -> Result<Option<u64>, Problem> {
    let (layout, mut first) = (file.layout, u64::MAX);
    for cpu in file.cpus.clone() {
        file.pages(cpu, &mut |bytes| {
            let page = Page::parse(bytes, &layout).map_err(|error| damaged(&error))?;
            let records = page.records().map_while(Result::ok);
            for (ticks, is_earliest) in records.filter_map(|record| finder.start_of(&record)) {
                first = first.min(ticks);
                if is_earliest {
                    return Ok(false);
                }
            }
            Ok(true)
        })?;
    }
    Ok(Some(first).filter(|first| *first < u64::MAX))
}

fn describe(
    path: &Path,
    file: &TraceFile,
    finder: &Finder,
    answers: &Answers,
) -> Result<Run, Problem> {
    let mut words = file.system.as_deref().unwrap_or_default().split_whitespace().skip(1);
    let host = words.next().unwrap_or("imported").to_owned();
    let mut run = writer::run(path, IMPORTER.id, host);
    if let Some(release) = words.next() {
        release.clone_into(&mut run.machine.kernel);
    }
    run.not_available.clear();
    let is_osnoise = matches!(finder, Finder::Osnoise(_));
    run.notes.push(if is_osnoise { OF_OSNOISE } else { OF_HANDLERS }.to_owned());
    if !is_osnoise {
        set_clock(&mut run, file, answers)?;
    }
    let specs = if is_osnoise {
        Osnoise::specs()
    } else {
        enabled(file).iter().map(|event| event.spec).collect()
    };
    let events = specs.iter().map(|spec| RecordedEvent {
        number: spec.kind as u16,
        name: format!("{}:{}", spec.system, spec.name),
        args: spec.args.iter().map(|&arg| arg.to_owned()).collect(),
    });
    run.trace = Some(Trace {
        clock: file.clock.clone(),
        buffer_kb: 0,
        events: events.collect(),
        missing: vec![],
        alternate_ns: None,
    });
    Ok(run)
}

/// Sets the clock of a recording whose times are those of the trace.
fn set_clock(run: &mut Run, file: &TraceFile, answers: &Answers) -> Result<(), Problem> {
    match &*file.clock {
        "x86-tsc" => {
            let stated = file.rate.filter(|rate| rate.0 > 0 && rate.1 < 64);
            let stated = stated.map(|(multiplier, shift)| {
                (u128::from(1_000_000_000_000_u64) << shift) / u128::from(multiplier)
            });
            let given = answers.given::<u64>("hz").map(|hz| u128::from(hz) * 1_000);
            let rate = given.or(stated).and_then(|rate| u64::try_from(rate).ok());
            run.clock.frequency_millihertz = rate.filter(|rate| *rate > 0).ok_or_else(|| {
                let remedy = "give --hz (dmesg shows the rate as `tsc: Refined TSC clocksource calibration`), or record with -C mono";
                ProblemKind::Usage.problem("its clock is x86-tsc, whose rate it does not state", remedy)
            })?;
            run.clock.counter = "tsc".into();
            Ok(())
        }
        "counter" | "uptime" => {
            let why = format!("its clock {} is too coarse for detours", file.clock);
            Err(ProblemKind::Data.problem(why, "record with `trace-cmd record -C mono`"))
        }
        _ => Ok(()),
    }
}

fn cpu_run(cpu: u32, victim: i32, sink: &Sink) -> CpuRun {
    let counts = sink.cpu();
    CpuRun {
        cpu,
        tid: victim,
        class: super::IMPORTED.into(),
        first_ticks: sink.start_ticks(),
        last_ticks: sink.start_ticks(),
        iterations: 1,
        own_shortest_gap_ticks: 0,
        shortest_gap_ticks: 0,
        detours: counts.detours,
        lost_detours: counts.lost,
        page_faults: 0,
        last_cpu: cpu,
    }
}
