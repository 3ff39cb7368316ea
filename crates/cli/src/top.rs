//! `anechoic top`: shows the noise of every CPU, or how late threads are woken there, while it is measured.

mod app;
mod colors;
mod functions;
mod keys;
mod screen;
mod session;

use crate::ask::{self, CpuList};
use crate::record::running::RunningArgs;
use crate::{exit, stop};
use anechoic_recording::stop::{Stop, StopCondition};
use anechoic_recording::{Problem, ProblemKind, Recording, methods};
use anechoic_report::results::summary::SUMMARY;
use anechoic_report::results::wakeup::WAKEUP;
use anechoic_report::results::{AnyRow, Input};
use anechoic_system::cpus;
use app::App;
use crossterm::event::{self, Event};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use session::{Session, SessionConfig, WakingArgs};
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// Watch the noise of every CPU live, or what interrupts a program: how much, what takes the time, the longest detours
///
/// Measures like `anechoic run`, but without an end. The screen is drawn from an unmeasured CPU if there is
/// one, and shows its own overhead. Keys: q quits, s saves the measurement as a recording, ? lists all keys.
/// With --pid, --cgroup, --unit or --container it watches that program instead, like `anechoic record`, until it ends.
/// With --wakeup it wakes a thread on each CPU by a timer and shows how late it runs, like `anechoic measure wakeup`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, group = clap::ArgGroup::new("program").args(["pid", "cgroup", "unit", "container"])
    .conflicts_with_all(["threshold", "stop_on", "keep", "fifo", "no_trace"]))]
pub struct TopArgs {
    #[command(flatten)]
    running: RunningArgs,
    #[command(flatten)]
    waking: WakingArgs,
    /// CPUs to measure, for example 0-3,8 [default: all that this process may use except the first, which
    /// draws; all that the program uses]
    #[arg(long, short, value_parser = ask::cpu_list, value_name = "LIST")]
    cpus: Option<CpuList>,
    /// Shortest gap that counts as a detour, for example 100ns or 1us [default: 8 loop iterations]
    #[arg(long, short, value_parser = ask::duration, value_name = "TIME")]
    threshold: Option<Duration>,
    /// Time between two screen updates
    #[arg(long, value_parser = ask::duration, default_value = "100ms", value_name = "TIME")]
    every: Duration,
    /// Stop after this time
    #[arg(long, short, value_parser = ask::duration, value_name = "TIME")]
    duration: Option<Duration>,
    /// End at the first detour that is longer, on any measured CPU ('detour>100us', exit code 2), or after this many
    /// detours of all of them ('detours>=100000'), or with --wakeup at the first wake-up that is later ('wakeup>100us'), and
    /// keep the measurement
    #[arg(long, value_name = "CONDITION", value_parser = ask::watched_condition, allow_hyphen_values = true)]
    stop_on: Option<StopCondition>,
    /// With --stop-on: keep only this much time before the detour, or before the end, and up to a quarter or about a
    /// second more. It stays in memory, so that the command may wait for days
    #[arg(long, value_name = "TIME", value_parser = ask::duration, requires = "stop_on", allow_hyphen_values = true)]
    keep: Option<Duration>,
    /// Run the loops under SCHED_FIFO, so that only the kernel can interrupt them
    #[arg(long)]
    fifo: bool,
    /// Do not record kernel events; the result then has no causes
    #[arg(long)]
    no_trace: bool,
    /// Measure even if the counter's rate may change
    #[arg(long)]
    allow_variant_tsc: bool,
    /// Keep the whole measurement as a recording in this directory, new or empty
    #[arg(long, short, value_name = "DIR")]
    output: Option<PathBuf>,
}

const EXAMPLES: &str = "Examples:
  anechoic top                          every CPU except the one that draws
  anechoic top --cpus 2-5 -t 1us        four CPUs, detours over a microsecond
  anechoic top -d 10m -o night          ten minutes, kept as a recording
  anechoic top --stop-on 'detour>1ms'   until something takes more than 1 ms
  sudo anechoic top --pid 4711          what interrupts that process, and its children
  sudo anechoic top --wakeup --late 50us  how late timers wake threads, and what makes them later than 50 µs

Up to an hour of measurement is held in a hidden directory, until s saves it or top ends; with --keep
the last part is held in memory.";

/// Timeout for reading an event that `poll` reported. The library spins for the last millisecond of a longer
/// wait.
const ENOUGH: Duration = Duration::from_millis(1);
/// The screen notices a signal within this time while it waits for keys.
const NAP: Duration = Duration::from_millis(100);

pub fn run(args: &TopArgs) -> Result<ExitCode, Problem> {
    let (input, output) = (std::io::stdin().is_terminal(), std::io::stdout().is_terminal());
    if !(input && output) {
        let why = "top needs a terminal for input and output";
        let instead = match (args.running.is_named(), args.waking.wakeup) {
            (true, _) => "record",
            (_, true) => "measure wakeup",
            _ => "run",
        };
        let remedy = format!("use `anechoic {instead}` for files and pipes");
        return Err(ProblemKind::Usage.problem(why, remedy));
    }
    let config = config(args)?;
    let stop = stop::flag()?;
    let is_measured = |cpu: &u32| !config.program.is_named() && config.cpus.contains(cpu);
    let free: Vec<u32> = cpus::allowed().into_iter().filter(|cpu| !is_measured(cpu)).collect();
    let session = Session::start(config.clone())?;
    if !free.is_empty() && !config.program.is_named() {
        cpus::pin(&free)?;
    }
    let mut app = App::new(&config, free);
    // From here on the terminal is ours; it is restored even after a panic.
    let signalled = || stop.load(Ordering::Acquire);
    let shown = match ratatui::try_init() {
        Ok(mut terminal) => {
            let shown = show(&mut terminal, &mut app, &session, args, signalled);
            if terminal.show_cursor().is_err() {
                std::mem::forget(terminal); // its destructor would panic if the terminal is gone
            }
            shown
        }
        Err(error) => Err(error.into()),
    };
    let _ = ratatui::try_restore(); // fails if the terminal is gone
    if args.output.is_some() && !app.ended() {
        crate::terminal::print_note("anechoic: working out the causes …");
    }
    let ended = session.end();
    if !signalled() {
        shown?; // after a signal, an error only means that the terminal is gone
    }
    let kept = ended?;
    // What was measured after the last screen is in the recording alone; what a key saved is only a part.
    let whole = |last: &&PathBuf| args.output.is_some() || is_stopped(last);
    let found = kept.last().filter(whole).map(|last| result(last)).transpose()?;
    let code = found.as_ref().map_or(0, |(_, code)| *code);
    let mut last_lines = found.map_or_else(|| app.farewell(), |(sentence, _)| sentence);
    for dir in &kept {
        last_lines.push_str(&format!(
            "\nrecording: {0} (show it: anechoic summary {0})",
            anechoic_report::shown(dir)
        ));
    }
    // Fails if the terminal is gone.
    let _ = writeln!(std::io::stdout(), "{last_lines}");
    Ok(code.into())
}

/// Returns whether a condition ended the recording.
fn is_stopped(dir: &Path) -> bool {
    let recording = Recording::open(dir).ok();
    recording.is_some_and(|it| it.run().stop_on.as_ref().is_some_and(|stop| stop.met.is_some()))
}

/// Returns the first sentence of a recording's result, and the exit code if a condition ended it.
fn result(kept: &Path) -> Result<(String, u8), Problem> {
    let recording = Recording::open(kept)?;
    let is_met = recording.run().stop_on.as_ref().is_some_and(|stop| stop.met.is_some());
    let row: &dyn AnyRow =
        if recording.run().method == methods::WAKEUP { &WAKEUP } else { &SUMMARY };
    let found = row.compute(&Input::from_recordings(&[&recording]))?;
    let sentence = found.headline().into_iter().next().unwrap_or_default();
    let is_exceeded = recording.run().stop_on.as_ref().is_some_and(Stop::exceeded);
    let code = match (is_met, is_exceeded) {
        (_, true) => exit::FAILED,
        (true, false) => exit::summary_code(&found),
        (false, false) => 0,
    };
    Ok((sentence, code))
}

fn config(args: &TopArgs) -> Result<SessionConfig, Problem> {
    let allowed = cpus::allowed();
    let cpus = match (&args.cpus, &allowed[..]) {
        (Some(list), _) => list.0.clone(),
        (None, _) if args.running.is_named() => vec![],
        (None, [_, rest @ ..]) if !rest.is_empty() => rest.to_vec(),
        (None, all) => all.to_vec(),
    };
    if args.fifo {
        crate::setup::leave_one(&cpus, false, "--fifo")?;
    }
    cpus::verify(&cpus)?;
    let ends_wakeups = |stop_on| matches!(stop_on, StopCondition::Wakeup(_));
    if args.stop_on.is_some_and(|stop_on| ends_wakeups(stop_on) != args.waking.wakeup) {
        let why = "'wakeup>TIME' ends a watch of wake-ups (--wakeup), and nothing else does";
        return Err(ProblemKind::Usage.problem(why, "for example: --wakeup --stop-on 'wakeup>1ms'"));
    }
    args.running.target()?; // reports what does not exist
    Ok(SessionConfig {
        program: args.running.clone(),
        waking: args.waking.clone(),
        cpus,
        threshold: args.threshold,
        fifo: args.fifo,
        trace: !args.no_trace,
        allow_variant_tsc: args.allow_variant_tsc,
        output: args.output.clone(),
        stop_on: args.stop_on,
        keep: args.keep,
    })
}

/// Draws until a key, a signal, the duration or the end of the measurement stops it.
fn show(
    terminal: &mut ratatui::DefaultTerminal,
    app: &mut App,
    session: &Session,
    args: &TopArgs,
    signalled: impl Fn() -> bool,
) -> Result<(), Problem> {
    let mut due = Instant::now();
    while !signalled() && !is_over(args, app) {
        for event in session.events() {
            app.take(event)?;
        }
        if app.ended() {
            return Ok(());
        }
        let now = Instant::now();
        if app.pressed || (now >= due && app.has_news) {
            app.refresh();
            terminal.draw(|frame| screen::draw(frame, app))?;
            (app.pressed, app.has_news) = (false, false);
        }
        if now >= due {
            due = now + args.every;
        }
        let nap = due.saturating_duration_since(Instant::now()).min(NAP);
        let more = something_comes(nap);
        while more && event::poll(ENOUGH)? {
            let event = event::read()?;
            app.pressed |= matches!(event, Event::Resize(..));
            if let Event::Key(key) = event
                && key.is_press()
                && !app.key(key, session)
            {
                return Ok(());
            }
        }
    }
    Ok(())
}

/// Returns whether the requested duration is over.
fn is_over(args: &TopArgs, app: &App) -> bool {
    let passed = app.begun.map(|begun| begun.elapsed());
    args.duration.zip(passed).is_some_and(|(asked, passed)| passed >= asked)
}

/// Sleeps until there is a key, a signal, or the terminal is gone; returns false if nothing happened within
/// `time`.
fn something_comes(time: Duration) -> bool {
    let stdin = std::io::stdin();
    let mut keys = [PollFd::new(&stdin, PollFlags::IN)];
    poll(&mut keys, Timespec::try_from(time).ok().as_ref()) != Ok(0)
}
