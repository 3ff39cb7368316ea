//! Writes the tables of the threads of a program and of their delays.

use super::contexts::Contexts;
use super::holders::Holder;
use super::releases::Releases;
use super::threads::{Known, Threads, Wait};
use super::{BATCH, lost_time, play};
use crate::frame::What;
use crate::label::Labels;
use crate::names::Names;
use anechoic_recording::{
    Delay, DelayKind, DerivedWriter, EventKind, KernelEvent, Loss, Members, Problem, ProgramThread,
    Recording, Release, Run, WriteError, topology,
};
use std::collections::HashMap;
use std::sync::Arc;

/// Number of delays and threads that are taken at once.
const TAKEN: usize = 4_096;
/// The name of the holder of a CPU on which interrupts ran.
const INTERRUPTS: &str = "interrupts";

/// Derives the tables `threads`, `delays` and `releases` of a recorded program from its events, replacing older ones. Without a program
/// nothing happens.
///
/// They are not part of the detours of the CPUs: while a thread of the program executes on a CPU, the others that wait there
/// are delayed, but nothing is lost. Rows are written as they are found, so memory is bounded by the living threads.
///
/// Returns the number of releases that are left out, because the time of day was set while their threads slept until a time of it.
///
/// # Errors
/// Fails if a measured table is damaged or a derived one cannot be written. Older tables then stay.
pub(crate) fn derive_threads(recording: &Recording, names: &Arc<Names>) -> Result<u64, Problem> {
    let run = recording.run();
    if run.program.is_none() {
        return Ok(0);
    }
    let mut lost_time = lost_time(recording, run)?.by_thread();
    let losses = recording.rows::<Loss>().each().collect::<Result<Vec<_>, _>>()?;
    let labels = Labels::new(run, Arc::clone(names));
    let mut wakers = Wakers::new(Contexts::new(&run.clock, losses.clone()));
    let (start_ticks, start_day_ns) = (run.start_ticks, run.start_day_ns());
    let mut releases = Releases::new(&labels, &run.clock, start_ticks, start_day_ns, losses);
    let has_releases = has_releases(run);
    let mut tables = Tables {
        labels: &labels,
        names,
        none: "".into(),
        interrupts: INTERRUPTS.into(),
        end_ticks: run.end_ticks,
        delays: vec![],
        threads: vec![],
        delay_table: recording.derive()?,
        thread_table: recording.derive()?,
        releases: vec![],
        release_table: recording.derive()?,
    };
    play(recording, run, &mut lost_time, &mut |event, lost_time| {
        let (members, threads) = lost_time.by_number();
        let Some(threads) = threads else { return Ok(()) };
        if let Some(event) = event {
            wakers.event(event, members);
            let number = |tid| threads.number(tid);
            let found =
                has_releases.then(|| releases.event(event, members, number, &wakers.contexts));
            tables.releases.extend(found.flatten().map(|(_, release)| release));
        }
        wakers.name(threads);
        if event.is_none() && has_releases {
            tables.releases.extend(releases.finish(run.end_ticks));
        }
        let enough = threads.found() >= TAKEN || tables.releases.len() >= BATCH;
        if event.is_none() || enough {
            tables.take(threads, event.is_none())?;
        }
        Ok(())
    })?;
    tables.delay_table.finish()?;
    if has_releases {
        tables.release_table.finish()?;
    }
    tables.thread_table.finish()?;
    Ok(releases.left_out())
}

/// Returns whether the events of a run show for which time a thread had set its timer; older recordings have only the latest
/// time at which the kernel had to let it expire.
fn has_releases(run: &Run) -> bool {
    let events = run.trace.iter().flat_map(|trace| &trace.events);
    let has = |kind: EventKind| events.clone().any(|event| event.number == kind as u16);
    [EventKind::HrtimerSoft, EventKind::HrtimerEntry, EventKind::HrtimerExit].into_iter().all(has)
}

/// Remembers what woke each thread of the program last.
struct Wakers {
    contexts: Contexts,
    last: HashMap<i32, (What, u64)>,
}

impl Wakers {
    fn new(contexts: Contexts) -> Self {
        Self { contexts, last: HashMap::new() }
    }

    fn event(&mut self, event: &KernelEvent, members: &Members) {
        self.contexts.event(event);
        let tid = event.args[0] as i32;
        if event.kind == EventKind::Waking && members.has(tid) {
            let by = self.contexts.waker(event.cpu, event.pid);
            self.last.insert(tid, (by, event.ticks));
        }
    }

    /// Names what woke the threads whose waits have just ended.
    fn name(&mut self, threads: &mut Threads) {
        for wait in threads.new_waits().iter_mut().filter(|wait| wait.kind == DelayKind::Woken) {
            wait.woken_by = self.last.remove(&wait.tid);
        }
    }
}

struct Tables<'a> {
    labels: &'a Labels,
    names: &'a Names,
    none: Arc<str>,
    interrupts: Arc<str>,
    end_ticks: u64,
    delays: Vec<Delay>,
    threads: Vec<ProgramThread>,
    delay_table: DerivedWriter<Delay>,
    thread_table: DerivedWriter<ProgramThread>,
    releases: Vec<Release>,
    release_table: DerivedWriter<Release>,
}

impl Tables<'_> {
    /// Takes what was found, and writes it if it is enough or the last.
    fn take(&mut self, found: &mut Threads, last: bool) -> Result<(), WriteError> {
        let waits = found.take_waits();
        self.delays.extend(waits.iter().map(|wait| delay(wait, self)).collect::<Vec<_>>());
        let ended = found.take_ended();
        self.threads.extend(
            ended.iter().map(|known| thread(known, self.names, self.end_ticks)).collect::<Vec<_>>(),
        );
        if self.delays.len() >= BATCH || last {
            self.delays.sort_by_key(|delay| delay.cpu); // stable, so that those of a CPU stay in order
            self.delay_table.append(&self.delays)?;
            self.delays.clear();
        }
        if self.threads.len() >= BATCH || last {
            self.thread_table.append(&self.threads)?;
            self.threads.clear();
        }
        if self.releases.len() >= BATCH || last {
            self.releases.sort_by_key(|release| release.cpu); // stable, as above
            self.release_table.append(&self.releases)?;
            self.releases.clear();
        }
        Ok(())
    }
}

fn delay(wait: &Wait, tables: &Tables<'_>) -> Delay {
    let (holder, holder_thread) = match wait.holder {
        Holder::Unknown | Holder::Interrupts => (None, None),
        Holder::Other(tid) => (Some(tid), None),
        Holder::Own(tid, number) => (Some(tid), Some(number)),
    };
    let holder_name = match wait.holder {
        Holder::Unknown => Arc::clone(&tables.none),
        Holder::Interrupts => Arc::clone(&tables.interrupts),
        Holder::Other(tid) | Holder::Own(tid, _) => tables.names.task(tid, wait.end),
    };
    let woken_by = wait.woken_by.map(|(what, ticks)| tables.labels.source_at(what, ticks));
    Delay {
        cpu: wait.cpu,
        start_ticks: wait.start,
        end_ticks: wait.end,
        thread: wait.thread,
        kind: wait.kind,
        own_ticks: wait.own_ticks,
        holder,
        holder_name,
        holder_thread,
        held_ticks: wait.held_ticks,
        waker_thread: wait.waker,
        waker: match wait.woken_by {
            Some((What::Thread { pid, .. }, _)) => Some(pid),
            _ => None,
        },
        waker_source: woken_by.as_ref().map(|(source, _)| Arc::clone(source)),
        waker_name: woken_by.map(|(_, name)| name),
        slept_ticks: wait.slept_ticks,
        priority: wait.priority,
        other_priority: wait.other_priority,
    }
}

pub(super) fn thread(known: &Known, names: &Names, end_ticks: u64) -> ProgramThread {
    let ticks = |count: i64| u64::try_from(count).unwrap_or(0);
    ProgramThread {
        thread: known.number,
        tid: known.tid,
        // One that executed once has its own name only in the event in which it leaves the CPU.
        name: names.task(known.tid, known.last.min(end_ticks)),
        priority: known.priority,
        cpus: topology::list(&known.cpus).into(),
        first_ticks: known.first,
        last_ticks: known.last,
        executed_ticks: ticks(known.counts.executed),
        interrupted_ticks: ticks(known.counts.interrupted),
    }
}
