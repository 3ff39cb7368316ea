//! What the kernel reports while the loops run: its events, and the hypervisor's steal time.

mod costs;

use super::hurry::Hurry;
use super::limit_looks::LimitLooks;
use super::plan::Plan;
use super::stacks::Stacks;
use super::store::Store;
use super::tracing::{collector, describe};
use super::window::{Before, BeforeProgram, Part};
use anechoic_kernels::counter;
use anechoic_recording::run::Run;
use anechoic_recording::who::CpuLimits;
use anechoic_recording::{Counter, Loss, LossKind, NameKind, News, Problem, ProblemKind, in_words};
use anechoic_system::clock::Anchor;
use anechoic_system::counters::Snapshot;
use anechoic_system::steal::{StealReader, StealReading};
use anechoic_system::tracefs::{Batch, Collector, Marker, TraceError};
use anechoic_system::who::{self, Census, Limits, Threads};
use std::os::fd::BorrowedFd;
use std::time::{Duration, Instant};

/// Number of events that are decoded before they are written.
const BATCH: usize = 64 * 1024;
/// While a live view is open, resolving the names of new addresses takes at most one part in this many of the time,
/// because the kernel needs tens of milliseconds to list all its symbols.
const NAMING: u32 = 200;

/// Kernel events and steal readings of one run, as far as they are available.
#[derive(Default)]
pub(super) struct KernelSide {
    collector: Option<Collector>,
    stacks: Option<Stacks>,
    steal: Option<StealReader>,
    readings: Vec<StealReading>,
    /// Number of readings that the watcher already has.
    reported: usize,
    /// For a watcher: how many addresses have names, and when the next lookup is allowed.
    named: Option<(usize, Instant)>,
    half_full: bool,
    /// Events that were read before the recording was open.
    early: Vec<Batch>,
    /// The threads in the events, looked up while they live.
    threads: Threads,
    /// What the kernel had counted at the start.
    before: Before,
    /// Its last counts of the limits, and when they were read.
    limits: Option<LimitLooks>,
    /// Since when the events are switched off, if they are.
    off_since: Option<u64>,
    switched: u64,
}

impl KernelSide {
    /// Starts recording; what is not available is noted in `run`.
    pub(super) fn open(plan: &Plan, run: &mut Run) -> Self {
        let mut side = KernelSide::default();
        if plan.is_traced_by_another() {
            return side;
        }
        if !plan.trace {
            let problem = ProblemKind::Usage.problem("--no-trace was given", "remove it");
            missing(run, "kernel events", problem);
            return side;
        }
        match collector(plan, run) {
            Ok(collector) => {
                describe(&collector, plan, run);
                side.collector = Some(collector);
            }
            Err(error) => missing(run, "kernel events", error),
        }
        if plan.stacks {
            side.stacks = Some(Stacks::new(plan));
        }
        let measured = plan.measured();
        if measured.is_empty() {
            return side; // a program is recorded, and steal would lie nowhere
        }
        match StealReader::start(&measured) {
            Ok(reader) => side.steal = Some(reader),
            Err(error) => missing(run, "steal of each detour", error),
        }
        run.steal_readings = side.steal.is_some();
        side
    }

    /// Reads what the kernel has counted before the loops start.
    pub(super) fn begin(&mut self) {
        if self.collector.is_some() {
            self.threads.begin();
        }
        self.before = self.counted();
    }

    fn counted(&self) -> Before {
        Before { limits: Limits::read(), census: self.census(), program: None }
    }

    /// Returns the threads of the machine, if no events show them.
    fn census(&self) -> Option<Census> {
        self.collector.is_none().then(Census::take)
    }

    /// Takes the limits of this process instead of those of the tool.
    pub(super) fn limits_of_process(&mut self, pid: i32) {
        self.before.limits = Limits::read_of_process(pid);
        self.limits = None;
    }

    /// Looks at the limits again if that is due, for these processes; returns them since the start of the run.
    pub(super) fn look_at_limits(
        &mut self,
        processes: impl FnOnce() -> Vec<i32>,
    ) -> Option<CpuLimits> {
        let before = &mut self.before.limits;
        let looks = self.limits.get_or_insert_with(|| LimitLooks::new(before.clone()));
        looks.look(before, processes)
    }

    /// Returns how long it takes until that is due.
    pub(super) fn until_limits(&self) -> Duration {
        self.limits.as_ref().map_or(Duration::ZERO, LimitLooks::until_next)
    }

    /// Lets the run begin where this had been counted.
    pub(super) fn begin_with(&mut self, before: Before) {
        self.before = before;
    }

    /// Begins a part of the run that can be read without those before it: with what the kernel has counted for `cpus`,
    /// and with events that name their threads again. All buffers must have been read.
    pub(super) fn begin_part(
        &mut self,
        cpus: &[u32],
        program: Option<BeforeProgram>,
        run: &mut Run,
        store: &mut Store,
    ) {
        if let Some(collector) = &mut self.collector {
            store.append(&collector.forget());
        }
        if let Some(stacks) = &mut self.stacks {
            stacks.begin_part(run, store);
        }
        self.threads.forget();
        let threads = std::mem::take(&mut run.threads);
        let from_ticks = counter::ordered();
        let Snapshot { counters, names } = Snapshot::take(cpus, counter::ordered);
        let (limits, census) = (self.before.limits.read_again(), self.census());
        let part = Part::new(from_ticks, Before { limits, census, program }, counters);
        store.begin_part(part, threads);
        store.append(&names);
    }

    /// Stores what the kernel has counted since the start, and the threads that ran.
    fn end(&mut self, run: &mut Run) {
        let Before { limits, census, .. } = std::mem::take(&mut self.before);
        let last = self.limits.take().map(LimitLooks::last);
        run.limits = last.as_ref().unwrap_or(&limits).read_again().since(&limits);
        match census {
            Some(before) => {
                let cpus: Vec<u32> = run.cpus.iter().map(|cpu| cpu.cpu).collect();
                run.threads = Census::take().since(&before, &cpus);
            }
            None if !who::shows_all() => {
                let why = "/proc of this container does not show the threads of its host";
                let remedy = "start the container with the PID namespace of its host (--pid=host)";
                let problem = ProblemKind::Unavailable.problem(why, remedy);
                missing(run, "process and unit of each thread", problem);
            }
            None => {}
        }
    }

    /// Returns what the tool's own threads mark themselves with in the trace.
    pub(super) fn marker(&self) -> Marker {
        self.collector.as_ref().map(Collector::marker).unwrap_or_default()
    }

    /// Reads the marks that the threads `loops` made. If one is missing, the events cannot be attributed: nothing
    /// shows which of them interrupted a loop. They are then not recorded, which is noted in `run`.
    pub(super) fn find_loops(&mut self, loops: &[i32], run: &mut Run) {
        let Some(collector) = &mut self.collector else { return };
        let read = collector.drain_to(BATCH, &mut |batch| self.early.push(batch));
        let lost = loops.iter().any(|&own| collector.thread(own).is_none());
        if read.is_ok() && !lost {
            return;
        }
        let why = match read {
            Err(error) => error.to_string(),
            Ok(()) => "the measuring threads do not appear in the trace".to_owned(),
        };
        let remedy =
            "measure outside this container, or give it the tracefs and the /sys of its host";
        missing(run, "kernel events", ProblemKind::Unavailable.problem(why, remedy));
        self.collector = None;
        self.early.clear();
        run.trace = None;
    }

    /// Returns the number that the kernel's events have for a thread of the tool, which may be another one than it
    /// knows itself, in a PID namespace.
    pub(super) fn thread(&self, own: i32) -> i32 {
        self.collector.as_ref().and_then(|collector| collector.thread(own)).unwrap_or(own)
    }

    /// Sleeps for `time`, until a ring buffer is half full, or until a signal arrives.
    pub(super) fn wait(&mut self, time: Duration) {
        self.wait_for(time, None);
    }

    /// The same, or until `other` can be read, if events are recorded.
    pub(super) fn wait_for(&mut self, time: Duration, other: Option<BorrowedFd<'_>>) {
        if let Some(reader) = &mut self.steal {
            self.readings.extend(reader.drain()); // its buffer holds at least 20 s
        }
        match &self.collector {
            Some(collector) => self.half_full = collector.wait(time, other).unwrap_or(false),
            None => {
                let time = rustix::event::Timespec::try_from(time).ok();
                let _ = rustix::event::poll(&mut [], time.as_ref()); // a signal ends it early
            }
        }
    }

    /// Returns whether a ring buffer was half full at the end of the last [`KernelSide::wait`].
    pub(super) fn half_full(&self) -> bool {
        self.half_full
    }

    /// Writes the steal readings so far.
    pub(super) fn drain_steal(&mut self, begin: Anchor, store: &mut Store) {
        store.append(&steal_rows(&mut self.readings, begin));
        self.reported = 0;
    }

    /// Writes all events so far.
    pub(super) fn drain(&mut self, run: &mut Run, store: &mut Store) {
        if let Some(stacks) = &mut self.stacks {
            stacks.read(run, store);
        }
        let (threads, program) = (&mut self.threads, &mut run.program);
        let mut group = program.as_mut().and_then(|program| program.cgroup.as_mut());
        let mut hurry = Hurry::new();
        let mut keep = |mut batch: Batch| {
            hurry.look();
            if let Some(group) = &mut group {
                let names = batch.names.iter().filter(|name| name.kind == NameKind::Cgroup);
                names.for_each(|name| group.note_move(name.key, &name.name));
            }
            threads.note(&mut batch);
            store.batch(batch);
        };
        self.early.drain(..).for_each(&mut keep);
        let Some(collector) = &mut self.collector else { return };
        let drained = collector.drain_to(BATCH, &mut keep);
        if self.threads.look(collector.tasks()) {
            run.threads = self.threads.found().to_vec();
        }
        if self.threads.is_full() {
            let most = run.threads.len();
            note(run, format!("process and unit are known of the first {most} threads only"));
        }
        if let Err(error) = drained {
            note(run, format!("some kernel events could not be read: {}", in_words(&error)));
        }
    }

    /// Adds to `news` what is written only at the end of the run: names and steal readings.
    pub(super) fn add_news(&mut self, news: &mut News, begin: Anchor) {
        let mut readings = self.readings[self.reported.min(self.readings.len())..].to_vec();
        self.reported = self.readings.len();
        news.steal = steal_rows(&mut readings, begin);
        let Some(collector) = &self.collector else { return };
        let (addresses, start) = (collector.addresses(), Instant::now());
        if self.named.is_none_or(|(known, again)| known != addresses && start >= again) {
            news.names.extend(collector.late_names().names);
            self.named = Some((addresses, start + start.elapsed() * NAMING));
        }
    }

    /// Switches the events off or on again, `period` after the last switch.
    pub(super) fn alternate(&mut self, period: Duration, run: &mut Run, store: &mut Store) {
        let now = counter::ordered();
        if now >= self.switched + run.clock.ticks(period.as_nanos() as u64) {
            self.keep_off(self.off_since.is_none(), run, store);
        }
    }

    /// Switches the events off or on again, unless they already are. The time in which they were off, and the switching
    /// itself, is stored as `untraced`.
    pub(super) fn keep_off(&mut self, off: bool, run: &mut Run, store: &mut Store) {
        let Some(collector) = self.collector.as_ref().filter(|_| off != self.off_since.is_some())
        else {
            return;
        };
        let now = counter::ordered();
        self.switched = now;
        match self.off_since.take() {
            None => {
                self.off_since = Some(now);
                let _ = collector.set_enabled(false);
            }
            Some(since) => {
                if let Err(error) = collector.set_enabled(true) {
                    run.notes.push(format!(
                        "kernel events could not be switched on again: {}",
                        in_words(&error)
                    ));
                }
                self.untraced(since, store);
            }
        }
    }

    fn untraced(&self, since: u64, store: &mut Store) {
        let until = counter::ordered();
        for cpu in store.cpus().to_vec() {
            let what = LossKind::Untraced;
            let loss = Loss { what, cpu, start_ticks: since, end_ticks: until, count: 0 };
            store.losses(&[loss]);
        }
    }

    /// Records the stacks of these threads too.
    pub(super) fn follow_stacks(&mut self, threads: &[i32], run: &mut Run) {
        self.with_stacks(run, |stacks| stacks.follow(threads));
    }

    fn with_stacks(
        &mut self,
        run: &mut Run,
        act: impl FnOnce(&mut Stacks) -> Result<(), TraceError>,
    ) {
        let Some(stacks) = &mut self.stacks else { return };
        if let Err(error) = act(stacks) {
            missing(run, "call stacks", error);
            self.stacks = None;
        }
    }

    /// Stops recording and writes the events that are left.
    pub(super) fn close(&mut self, run: &mut Run, store: &mut Store) {
        if let Some(since) = self.off_since.take() {
            self.untraced(since, store);
        }
        if let Some(collector) = &self.collector {
            let _ = collector.off();
        }
        self.drain(run, store);
    }

    /// Stops recording and writes the rest: events, losses, names, steal readings.
    pub(super) fn stop(&mut self, run: &mut Run, begin: Anchor, store: &mut Store) {
        self.close(run, store);
        self.end(run);
        if let Some(stacks) = self.stacks.take() {
            stacks.finish(run, store);
        }
        if let Some(mut collector) = self.collector.take() {
            let mut losses = Vec::new();
            if let Err(error) = collector.unlocated_losses(counter::ordered(), &mut losses) {
                let why = in_words(&error);
                run.notes.push(format!("lost events could not be counted: {why}"));
            }
            store.losses(&losses);
            let marked = run.program.as_mut().and_then(|program| program.marked.as_mut());
            marked.into_iter().for_each(|it| it.joined_lines = collector.joined_lines());
            let late = collector.late_names();
            store.append(&late.names);
            if let Some(why) = late.symbols_missing {
                missing(run, "names of kernel functions", why);
            }
        }
        if let Some(mut reader) = self.steal.take() {
            self.readings.extend(reader.drain());
            match reader.lost() {
                Ok(0) => {}
                Ok(lost) => run.notes.push(format!("{lost} steal readings were lost")),
                Err(error) => {
                    let why = in_words(&error);
                    run.notes.push(format!("lost steal readings could not be counted: {why}"));
                }
            }
        }
        store.append(&steal_rows(&mut self.readings, begin));
    }
}

/// Adds a note that is not there yet.
fn note(run: &mut Run, note: String) {
    if !run.notes.contains(&note) {
        run.notes.push(note);
    }
}

/// Notes what is not available.
fn missing(run: &mut Run, what: &str, problem: impl Into<Problem>) {
    run.not_available.push(problem.into().not_available(what));
}

/// Converts each change of a CPU's steal to two rows: the reading before it and the reading after it.
fn steal_rows(readings: &mut Vec<StealReading>, begin: Anchor) -> Vec<Counter> {
    let end = Anchor::take();
    let row = |cpu, at_ns, value| Counter {
        name: "steal_ns".to_owned(),
        cpu,
        ticks: begin.ticks_of_monotonic(end, at_ns),
        value,
    };
    readings.sort_by_key(|reading| (reading.cpu, reading.at_ns));
    let pair = |r: StealReading| {
        [row(r.cpu, r.previous_ns, r.previous_steal_ns), row(r.cpu, r.at_ns, r.steal_ns)]
    };
    readings.drain(..).flat_map(pair).collect()
}
