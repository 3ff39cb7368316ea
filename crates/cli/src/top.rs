//! `anechoic top`: the noise of every CPU while it is measured.

mod app;
mod colors;
mod keys;
mod screen;
mod session;

use crate::ask::{self, CpuList};
use crate::exit::Usage;
use crate::stop;
use anechoic_system::cpus;
use app::App;
use crossterm::event::{self, Event};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use session::{Session, Wanted};
use std::io::{IsTerminal, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// Watch the noise of every CPU live: how much, what takes the time, the longest detours
///
/// Measures as `anechoic run` does, without an end. The screen is drawn from a CPU that is not measured where
/// there is one, and shows what that costs. Keys: q quits, s saves what was seen as a recording, ? shows all.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct TopArgs {
    /// CPUs to measure, like 0-3,8 [default: all that this process may use but the first, which draws]
    #[arg(long, short, value_parser = ask::cpu_list, value_name = "LIST")]
    cpus: Option<CpuList>,
    /// Shortest gap that counts as a detour, like 100ns or 1us [default: 8 iterations of the loop]
    #[arg(long, short, value_parser = ask::duration, value_name = "TIME")]
    threshold: Option<Duration>,
    /// Time from one picture to the next
    #[arg(long, value_parser = ask::duration, default_value = "100ms", value_name = "TIME")]
    every: Duration,
    /// End after this time
    #[arg(long, short, value_parser = ask::duration, value_name = "TIME")]
    duration: Option<Duration>,
    /// Run the loops under SCHED_FIFO: only the kernel itself interrupts them then
    #[arg(long)]
    fifo: bool,
    /// Do not record kernel events: nothing measured has a cause then
    #[arg(long)]
    no_trace: bool,
    /// Measure although the counter may change its rate
    #[arg(long)]
    allow_variant_tsc: bool,
    /// Keep all that is seen as a recording in this directory, new or empty
    #[arg(long, short, value_name = "DIR")]
    output: Option<PathBuf>,
}

const EXAMPLES: &str = "Examples:
  anechoic top                          all CPUs but the one that draws
  anechoic top --cpus 2-5 -t 1us        four CPUs, detours over a microsecond
  anechoic top -d 10m -o night          ten minutes, kept as a recording

What was seen is kept in a hidden directory for an hour at most, until s saves it or it ends.";

/// What has come is there at once. Waiting for what has not, the library spins for the last millisecond.
const ENOUGH: Duration = Duration::from_millis(1);
/// Waiting for keys, the screen notices a signal within this time.
const NAP: Duration = Duration::from_millis(100);

pub fn run(args: &TopArgs) -> anyhow::Result<ExitCode> {
    let (input, output) = (std::io::stdin().is_terminal(), std::io::stdout().is_terminal());
    if !(input && output) {
        let text =
            "top draws on a terminal, and this is none; `anechoic run` writes to files and pipes";
        return Err(Usage(text.to_owned()).into());
    }
    let wanted = wanted(args)?;
    let signal = stop::newest()?;
    let free: Vec<u32> =
        cpus::allowed().into_iter().filter(|cpu| !wanted.cpus.contains(cpu)).collect();
    let session = Session::start(wanted.clone())?;
    if !free.is_empty() {
        cpus::pin(&free)?;
    }
    let mut app = App::new(&wanted, free);
    // From here on the terminal is ours; a panic anywhere gives it back, too.
    let signalled = || signal.load(Ordering::Acquire) > 0;
    let shown = match ratatui::try_init() {
        Ok(mut terminal) => {
            let shown = show(&mut terminal, &mut app, &session, args, signalled);
            if terminal.show_cursor().is_err() {
                std::mem::forget(terminal); // its end would panic where the terminal is gone
            }
            shown
        }
        Err(error) => Err(error.into()),
    };
    let _ = ratatui::try_restore(); // fails where the terminal is gone
    let ended = session.end();
    if !signalled() {
        shown?; // else the terminal may be gone, and that is why
    }
    let kept = ended?;
    let _ = writeln!(std::io::stdout(), "{}", app.farewell(&kept));
    Ok(ExitCode::SUCCESS)
}

fn wanted(args: &TopArgs) -> anyhow::Result<Wanted> {
    let allowed = cpus::allowed();
    let cpus = match (&args.cpus, &allowed[..]) {
        (Some(list), _) => list.0.clone(),
        (None, [_, rest @ ..]) if !rest.is_empty() => rest.to_vec(),
        (None, all) => all.to_vec(),
    };
    if args.fifo {
        crate::setup::leave_one(&cpus, false, "--fifo")?;
    }
    cpus::verify(&cpus)?;
    Ok(Wanted {
        cpus,
        threshold: args.threshold,
        fifo: args.fifo,
        trace: !args.no_trace,
        allow_variant_tsc: args.allow_variant_tsc,
        output: args.output.clone(),
    })
}

/// Draws until a key, a signal, the time or the end of the measurement says stop.
fn show(
    terminal: &mut ratatui::DefaultTerminal,
    app: &mut App,
    session: &Session,
    args: &TopArgs,
    signalled: impl Fn() -> bool,
) -> anyhow::Result<()> {
    let mut due = Instant::now();
    while !signalled() && !is_over(args, app) {
        for told in session.told() {
            app.take(told)?;
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

/// Whether it has measured as long as was asked.
fn is_over(args: &TopArgs, app: &App) -> bool {
    let passed = app.begun.map(|begun| begun.elapsed());
    args.duration.zip(passed).is_some_and(|(asked, passed)| passed >= asked)
}

/// Sleeps until there is a key, a signal, or the end of the terminal; false where nothing came in `time`.
fn something_comes(time: Duration) -> bool {
    let stdin = std::io::stdin();
    let mut keys = [PollFd::new(&stdin, PollFlags::IN)];
    poll(&mut keys, Timespec::try_from(time).ok().as_ref()) != Ok(0)
}
