//! The measurement behind the screen: one run after the other, in its own thread.

use crate::ask;
use crate::files::Scratch;
use crate::record::running::{Running, RunningArgs};
use crate::setup::{default_name, explained, free, plan, wakeups};
use anechoic_measure::experiment::Experiment;
use anechoic_measure::methods::detours::Detours;
use anechoic_measure::run::{self, Plan, Stage};
use anechoic_recording::run::RunState;
use anechoic_recording::stop::StopCondition;
use anechoic_recording::{News, Problem, ProblemKind, Run, methods};
use anechoic_system::cpus;
use rustix::time::{ClockId, clock_gettime};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// The longest run that nobody saves; it is then removed and the next run begins.
const HOUR: Duration = Duration::from_secs(3_600);
/// The duration of a run that in effect never ends: it is kept from the start, or keeps its last part only.
const YEARS: Duration = Duration::from_secs(10 * 365 * 24 * 3_600);

/// How to wake threads and watch that.
#[derive(Debug, Clone, clap::Args)]
pub struct WakingArgs {
    /// Watch wake-up latency instead, like `anechoic measure wakeup`: how late a timer wakes a thread on each CPU, and what makes
    /// it late
    #[arg(long, conflicts_with_all = ["program", "threshold", "fifo"])]
    pub wakeup: bool,
    /// With --wakeup: time between two expiries
    #[arg(long, value_name = "TIME", requires = methods::WAKEUP, value_parser = ask::duration, default_value = "1ms")]
    pub interval: Duration,
    /// With --wakeup: count wake-ups later than this
    #[arg(long, value_name = "TIME", requires = methods::WAKEUP, value_parser = ask::duration, default_value = "100us")]
    pub late: Duration,
    /// With --wakeup: scheduling policy of the threads [default: fifo where it is allowed, else other]
    #[arg(long, requires = methods::WAKEUP, value_parser = ["fifo", "other"])]
    policy: Option<String>,
}

impl WakingArgs {
    /// Returns how to wake threads on these CPUs for so long, with kernel events all the time.
    fn experiment(&self, lasts: Duration, cpus: Vec<u32>) -> Result<Experiment, Problem> {
        let [interval, late] =
            [self.interval, self.late].map(|time| format!("{}ns", time.as_nanos()));
        let mut given = vec![("interval", &*interval), ("late", &*late), ("blocks", "1")];
        given.extend(self.policy.as_deref().map(|policy| ("policy", policy)));
        let mut experiment = wakeups(lasts, &given, cpus)?;
        experiment.cells.retain(|cell| !cell.events_off);
        Ok(experiment)
    }
}

/// What to measure.
#[derive(Debug, Clone)]
pub struct SessionConfig {
    /// What runs already and is watched; the CPUs are if nothing is.
    pub program: RunningArgs,
    pub waking: WakingArgs,
    pub cpus: Vec<u32>,
    pub threshold: Option<Duration>,
    pub fifo: bool,
    pub trace: bool,
    pub allow_variant_tsc: bool,
    /// The directory to keep everything in, if any.
    pub output: Option<PathBuf>,
    /// What ends the session before the user does.
    pub stop_on: Option<StopCondition>,
    /// How much of the measurement before its end is kept; all of it if absent.
    pub keep: Option<Duration>,
}

/// What the session reports to the screen.
#[derive(Debug)]
pub enum SessionEvent {
    /// A run begins; `anew` if the sums of earlier runs must be cleared.
    Begun { run: Box<Run>, anew: bool },
    /// What the run measured, and the CPU time that the housekeeper has used so far.
    News { news: Box<News>, housekeeper: Duration },
    /// The measurement was saved here, complete.
    Saved(PathBuf),
    /// The session ended, with an error if nobody asked it to.
    Ended(Result<(), Problem>),
}

/// What to do when the run ends. Each request stays until it is done: a save that is followed by the end of the
/// session comes first.
#[derive(Debug, Default, Clone)]
struct Requests {
    save: bool,
    threshold: Option<Option<Duration>>,
    quit: bool,
}

#[derive(Debug, Default)]
struct Control {
    stop: Arc<AtomicBool>,
    requests: Mutex<Requests>,
}

impl Control {
    fn ask(&self, add: impl FnOnce(&mut Requests)) {
        // Stored under the lock: else a request that was just taken would also end the next run.
        let mut asked = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
        add(&mut asked);
        self.stop.store(true, Ordering::Release);
    }

    /// Takes all requests; the end of the session stays requested.
    fn take(&self) -> Requests {
        let mut asked = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
        self.stop.store(asked.quit, Ordering::Release);
        let quit = asked.quit;
        std::mem::replace(&mut *asked, Requests { quit, ..Requests::default() })
    }
}

/// A measurement that goes on until it is ended.
pub struct Session {
    control: Arc<Control>,
    events: Receiver<SessionEvent>,
    thread: JoinHandle<Vec<PathBuf>>,
}

impl Session {
    /// Starts measuring.
    ///
    /// # Errors
    /// Fails if there is no directory to write to, or no thread can be started.
    pub fn start(config: SessionConfig) -> Result<Self, Problem> {
        let control = Arc::new(Control::default());
        let (sender, events) = channel();
        let scratch = match &config.output {
            Some(_) => None,
            None => Some(Scratch::for_recording()?),
        };
        let watcher = cpus::thread_id();
        let experiment = match config.program.is_named() {
            true => Experiment::listed(methods::PROGRAM, vec![]),
            false if config.waking.wakeup => {
                config.waking.experiment(lasts(&config), config.cpus.clone())?
            }
            false => detours(&config, config.threshold).on(config.cpus.clone()),
        };
        let plan = Plan {
            program_cpus: cpus::online(),
            trace: config.trace,
            allow_variant_tsc: config.allow_variant_tsc,
            watcher: Some(watcher),
            stop_on: config.stop_on,
            keep: config.keep,
            ..plan(experiment)
        };
        let measuring = Measuring {
            config,
            plan,
            control: Arc::clone(&control),
            events: sender,
            scratch,
            kept: vec![],
            again: false,
        };
        let thread =
            thread::Builder::new().name("housekeeper".into()).spawn(|| measuring.go_on())?;
        Ok(Session { control, events, thread })
    }

    /// Returns the events that have arrived.
    pub fn events(&self) -> impl Iterator<Item = SessionEvent> + '_ {
        self.events.try_iter()
    }

    /// Asks to save the measurement so far as a recording; the next run then begins.
    pub(crate) fn save(&self) {
        self.control.ask(|requests| requests.save = true);
    }

    /// Asks for another run with this threshold.
    pub fn threshold(&self, threshold: Option<Duration>) {
        self.control.ask(|requests| requests.threshold = Some(threshold));
    }

    /// Ends the session and returns the recordings that were kept.
    ///
    /// # Errors
    /// Returns the error that ended the session, if any.
    pub fn end(self) -> Result<Vec<PathBuf>, Problem> {
        self.control.ask(|requests| requests.quit = true);
        let kept = self.thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        let ended = self.events.try_iter().find_map(|event| match event {
            SessionEvent::Ended(result) => Some(result),
            _ => None,
        });
        ended.unwrap_or(Ok(())).map(|()| kept)
    }
}

struct Measuring {
    config: SessionConfig,
    plan: Plan,
    control: Arc<Control>,
    events: Sender<SessionEvent>,
    scratch: Option<Scratch>,
    kept: Vec<PathBuf>,
    /// Whether this is not the first run.
    again: bool,
}

impl Measuring {
    /// Measures one run after the other until the user quits; returns the recordings that were kept.
    fn go_on(mut self) -> Vec<PathBuf> {
        let mut anew = true;
        let ended = loop {
            match self.once(anew) {
                Ok(Some(again)) => anew = again,
                Ok(None) => break Ok(()),
                Err(error) => break Err(error),
            }
        };
        let _ = self.events.send(SessionEvent::Ended(ended));
        self.kept
    }

    /// Measures one run. Returns whether the next one starts with cleared sums, or `None` if there is no next
    /// one.
    fn once(&mut self, anew: bool) -> Result<Option<bool>, Problem> {
        let dir = self.place();
        let events = &self.events;
        let mut notify = |stage| tell(events, stage, anew);
        let (begun, stop) = (Instant::now(), &self.control.stop);
        let run = match self.config.program.target()? {
            Some(target) => {
                let time = self.config.output.is_none().then_some(HOUR);
                let mut program = Running::new(target, Arc::clone(stop), time).at_most();
                let wanted = Some(&self.config.cpus[..]).filter(|cpus| !cpus.is_empty());
                run::record(&self.plan, &dir, wanted, &mut program, &mut notify)
            }
            None => run::run(&self.plan, &dir, stop, &mut notify),
        };
        let run = match run.map_err(Problem::from) {
            // The program ended while what was seen of it was saved.
            Err(problem) if self.again && problem.kind == ProblemKind::NoInput => return Ok(None),
            run => run?,
        };
        self.again = true;
        let has_ended = run.program.is_some()
            && !stop.load(Ordering::Acquire)
            && (self.config.output.is_some() || begun.elapsed() < HOUR);
        let requests = self.control.take();
        if self.scratch.is_none() {
            self.kept.push(dir.clone());
            explained(&dir, true)?;
        }
        // Ending a run from the screen never interrupts it; only a full disk or a lost CPU does.
        let lost = self.scratch.is_none() || !requests.quit;
        if let (RunState::Interrupted(why), true) = (&run.state, lost) {
            let why = format!("the measurement ended: {why}");
            return Err(ProblemKind::Unavailable.problem(why, "start it again"));
        }
        let stopped = run.stop_on.as_ref().is_some_and(|stop| stop.met.is_some());
        if requests.save || stopped {
            self.save(&dir)?;
        } else {
            self.forget(&dir)?;
        }
        if let Some(threshold) = requests.threshold {
            let cpus = self.config.cpus.clone();
            self.plan.experiment = detours(&self.config, threshold).on(cpus);
        }
        Ok((!requests.quit && !stopped && !has_ended).then_some(requests.threshold.is_some()))
    }

    /// Moves the recording in `dir` to where the user finds it, if it is not kept anyway.
    fn save(&mut self, dir: &Path) -> Result<(), Problem> {
        let Some(scratch) = &self.scratch else { return Ok(()) };
        let saved = free(scratch.beside().join(default_name()));
        std::fs::rename(dir, &saved)?;
        self.kept.push(saved.clone());
        explained(&saved, true)?;
        let _ = self.events.send(SessionEvent::Saved(saved));
        Ok(())
    }

    /// Returns the directory of the next run.
    fn place(&self) -> PathBuf {
        match (&self.scratch, &self.config.output) {
            (None, Some(dir)) if self.kept.is_empty() => dir.clone(),
            (None, Some(dir)) => free(dir.clone()),
            (Some(scratch), _) => scratch.path().join("recording"),
            (None, None) => free(default_name()),
        }
    }

    /// Removes a recording that nobody asked to keep.
    fn forget(&self, dir: &Path) -> std::io::Result<()> {
        if self.scratch.is_some() { std::fs::remove_dir_all(dir) } else { Ok(()) }
    }
}

/// Tells the screen. That fails only if it is about to end.
fn tell(events: &Sender<SessionEvent>, stage: Stage, anew: bool) {
    let _ = match stage {
        Stage::Begun(run) => events.send(SessionEvent::Begun { run, anew }),
        Stage::News(news) => events.send(SessionEvent::News { news, housekeeper: own_time() }),
        _ => Ok(()),
    };
}

fn detours(config: &SessionConfig, threshold: Option<Duration>) -> Detours {
    Detours {
        threshold_ns: threshold.map(|threshold| threshold.as_nanos() as u64),
        fifo: config.fifo,
        ..Detours::lasting(lasts(config))
    }
}

/// Returns the duration of a run.
fn lasts(config: &SessionConfig) -> Duration {
    if config.output.is_some() || config.keep.is_some() { YEARS } else { HOUR }
}

/// Returns the CPU time that the calling thread has used so far.
pub fn own_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or(0))
}
