//! `anechoic inject`: injects noise of known kind, rate and duration.

mod verify;

use crate::ask::{self, CpuList};
use crate::command;
use crate::{stop, terminal};
use anechoic_measure::ensemble::launched::Launched;
use anechoic_measure::inject::{
    INJECTED, InjectError, Injection, Injector, LONGEST_SPIN, Phase, RENEWAL, Replay, Timing,
};
use anechoic_recording::injection::{Injected, InjectionKind};
use anechoic_recording::{Clock, Problem, ProblemKind, Recording};
use anechoic_report::{counted, long_time};
use anechoic_system::{clock, cpus, tracefs};
use clap::{ArgGroup, ValueEnum};
use std::io::{IsTerminal, Write};
use std::path::PathBuf;
use std::process::{Child, ExitCode, ExitStatus};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// The default duration of an injection.
const USUAL: Duration = Duration::from_secs(10);
/// The longest injection around a command that does not end.
const LONGEST: Duration = Duration::from_secs(24 * 3600);
/// The shortest detour that is replayed: entering and leaving an interrupt or a thread takes about that long.
const LEAST_REPLAYED: Duration = Duration::from_micros(10);

/// Inject noise of known kind, rate and duration, to calibrate tools or to test how a program reacts
///
/// Interrupts need permission to use perf events and BPF, and threads need permission to use SCHED_FIFO; root
/// has both. Injection always ends by itself: after --for, when the command ends, on a signal, and when this
/// process dies. While this process is stopped (Ctrl-Z, a frozen container), threads do not run and
/// interrupts pause after about a second.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, group(ArgGroup::new("when").required(true).args(["rate", "period", "replay", "preset"])))]
pub struct InjectArgs {
    /// How the noise is made [default with --preset: thread]
    #[arg(long, value_enum, required_unless_present = "preset")]
    kind: Option<Kind>,
    /// Instead of --kind, --rate and --length: noise of 2.5 % as in Ferreira 2008
    #[arg(long, value_enum, conflicts_with_all = ["kind", "length"])]
    preset: Option<Preset>,
    /// How often on each CPU, for example 1000hz or 10khz
    #[arg(long, value_parser = ask::rate, value_name = "RATE", allow_hyphen_values = true)]
    rate: Option<Duration>,
    /// Instead of --rate: the time between two starts, for example 1ms
    #[arg(long, value_parser = ask::duration, value_name = "TIME", allow_hyphen_values = true)]
    period: Option<Duration>,
    /// Use random (Poisson) times with that mean instead of a fixed period
    #[arg(long, conflicts_with = "replay")]
    poisson: bool,
    /// With --poisson or --phase random: seed of the random times; the same seed and rank give the same times
    #[arg(long, value_name = "N", default_value_t = 1, hide_default_value = true)]
    seed: u64,
    /// Where in its period periodic noise of threads starts: at the same times in all processes and on all hosts, or at
    /// random parts of it
    #[arg(long, value_enum, conflicts_with_all = ["poisson", "replay"])]
    phase: Option<At>,
    /// Replay the detours of this recording, with their times and durations, in a loop
    #[arg(long, value_name = "RECORDING")]
    replay: Option<PathBuf>,
    /// With --replay: leave out shorter detours [default: 10us, about the shortest that an interrupt or a
    /// thread can take]
    #[arg(long, value_parser = ask::duration, value_name = "TIME", requires = "replay")]
    longer_than: Option<Duration>,
    /// Length of each interruption, for the kinds kernel and thread; --for is how long to inject [default: 25us]
    #[arg(long = "length", alias = "duration", short, short_alias = 'd', value_parser = ask::duration, value_name = "TIME", conflicts_with = "replay", allow_hyphen_values = true)]
    length: Option<Duration>,
    /// CPUs to disturb, for example 1 or 2-5 [default: the last one that this process may use; for a rank of a parallel
    /// job one by its number]
    #[arg(long, short, value_parser = ask::cpu_list, value_name = "LIST")]
    cpus: Option<CpuList>,
    /// How long to inject [default: 10s; with a command: until it ends, 24 h at most]
    #[arg(long = "for", value_parser = ask::duration, value_name = "TIME", allow_hyphen_values = true)]
    time: Option<Duration>,
    /// Allow taking more than half of a CPU, or disturbing every CPU
    #[arg(long)]
    force: bool,
    /// Measure at the same time, and compare what was requested, delivered by the kernel and seen by the
    /// detour loop
    #[arg(long, conflicts_with = "command")]
    verify: bool,
    /// With --verify: directory for the recordings, new or empty [default: anechoic-TIME]
    #[arg(long, short, value_name = "DIR", requires = "verify")]
    output: Option<PathBuf>,
    /// With --verify: show the result and keep no recordings
    #[arg(long, requires = "verify", conflicts_with = "output")]
    no_save: bool,
    /// Print JSON: the injected noise (Injected in schema/verification.schema.json), or with --verify that
    /// whole schema. Goes to stderr if a command uses the standard output
    #[arg(long)]
    json: bool,
    /// Allow spinning threads to use a counter whose rate may change
    #[arg(long)]
    allow_variant_tsc: bool,
    /// Do not show progress or what was injected on stderr
    #[arg(long, short)]
    quiet: bool,
    /// Command to run during the injection; its exit code is passed on
    #[arg(trailing_var_arg = true, value_name = "COMMAND")]
    command: Vec<String>,
}

const EXAMPLES: &str = "Examples:
  anechoic inject --kind interrupt --rate 1000hz --cpus 1 --for 30s
  anechoic inject --kind thread --rate 100hz --length 250us --poisson -- ./my-program
  anechoic inject --kind kernel --period 10ms --length 100us --verify
  mpirun -n 8 --bind-to core anechoic inject --preset 10hz --phase coordinated -- ./my-program   on all ranks
  anechoic inject --kind thread --replay anechoic-2026... -- ./my-program   noise of another machine";

/// How the noise is made.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum Kind {
    /// Timer interrupts that do nothing
    Interrupt,
    /// Timer interrupts in which a small BPF program spins
    Kernel,
    /// A SCHED_FIFO thread that spins
    Thread,
}

/// Noise of 2.5 % of a CPU.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum Preset {
    /// 10 Hz × 2.5 ms
    #[value(name = "10hz")]
    Long,
    /// 100 Hz × 250 us
    #[value(name = "100hz")]
    Middle,
    /// 1 kHz × 25 us
    #[value(name = "1khz")]
    Short,
}

impl Preset {
    /// Returns period and duration.
    fn times(self) -> [Duration; 2] {
        let period = match self {
            Preset::Long => Duration::from_millis(100),
            Preset::Middle => Duration::from_millis(10),
            Preset::Short => Duration::from_millis(1),
        };
        [period, period / PRESET_PART]
    }
}

/// Presets take one in this many parts of a CPU.
const PRESET_PART: u32 = 40;

/// Where in its period noise starts.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum At {
    /// At whole multiples of the period on the wall clock, as far as the clocks of the hosts agree
    Coordinated,
    /// At a random part of the period, another one for each rank and CPU
    Random,
}

impl From<Kind> for InjectionKind {
    fn from(kind: Kind) -> Self {
        match kind {
            Kind::Interrupt => InjectionKind::Interrupt,
            Kind::Kernel => InjectionKind::Kernel,
            Kind::Thread => InjectionKind::Thread,
        }
    }
}

/// The default spin of the kinds that spin.
const USUAL_LENGTH: Duration = Duration::from_micros(25);

pub fn run(args: &InjectArgs) -> Result<ExitCode, Problem> {
    let injection = injection(args)?;
    injection.check(args.force).map_err(|error| match error {
        InjectError::Forceable(problem) => {
            let remedy = format!("{}, or use --force", problem.remedy);
            Problem { remedy, ..problem }
        }
        error => error.into(),
    })?;
    match args.verify {
        true => {
            let stop = stop::flag()?;
            verify::verify(args, injection, &stop)
        }
        false => inject(args, &injection),
    }
}

/// Converts the arguments to the injection that they describe.
fn injection(args: &InjectArgs) -> Result<Injection, Problem> {
    let kind = args.kind.map_or(InjectionKind::Thread, InjectionKind::from);
    let preset = args.preset.map(Preset::times);
    let launched = if Launched::is_rank() { Some(Launched::from_env()?) } else { None };
    let seed = seed(args, kind, launched.as_ref())?;
    if args.length.is_some() && kind == InjectionKind::Interrupt {
        let why = "interrupts of this kind do nothing and have no --length";
        return Err(ProblemKind::Usage.problem(why, "use --kind kernel"));
    }
    let period = args.rate.or(args.period).or(preset.map(|[period, _]| period));
    let timing = match (&args.replay, period) {
        (Some(path), _) => {
            let recording = Recording::open(path)?;
            let (least, most) =
                (args.longer_than.unwrap_or(LEAST_REPLAYED), longest_replayed(kind));
            let replay = Replay::read(&recording, least, most)?;
            print_left_out(&replay, most, args.quiet);
            Timing::Replay(Arc::new(replay))
        }
        (None, Some(period)) if args.poisson => Timing::Poisson { period, seed },
        (None, Some(period)) => match args.phase {
            None => Timing::Periodic { period },
            Some(At::Coordinated) => Timing::Phased { period, phase: Phase::Coordinated },
            Some(At::Random) => Timing::Phased { period, phase: Phase::Random { seed } },
        },
        (None, None) => {
            let why = "no time between two injections is given";
            return Err(ProblemKind::Usage.problem(why, "use --rate, --period or --preset"));
        }
    };
    Ok(Injection {
        kind,
        timing,
        duration: args.length.or(preset.map(|[_, length]| length)).unwrap_or(USUAL_LENGTH),
        cpus: args
            .cpus
            .as_ref()
            .map_or_else(|| usual_cpu(launched.as_ref()), |list| list.0.clone()),
    })
}

/// Random times of different ranks are this far apart in seeds, more than any host has CPUs.
const SEEDS_OF_RANK: u64 = 1 << 20;

/// Returns the seed of random times, which differ between the ranks of a job.
fn seed(
    args: &InjectArgs,
    kind: InjectionKind,
    launched: Option<&Launched>,
) -> Result<u64, Problem> {
    let is_random = args.poisson || matches!(args.phase, Some(At::Random));
    if args.seed != 1 && !is_random {
        let why = "--seed is for random times, and these are not";
        return Err(ProblemKind::Usage.problem(why, "use --poisson or --phase random"));
    }
    if args.phase.is_some() && kind != InjectionKind::Thread {
        let why = "only threads have a phase: the kernel decides when its timer interrupts begin";
        return Err(ProblemKind::Usage.problem(why, "use --kind thread"));
    }
    let rank = launched.map_or(0, |job| u64::from(job.rank));
    Ok(args.seed.wrapping_add(rank * SEEDS_OF_RANK))
}

/// Returns the CPU that is disturbed unless the user names others: the last one that this process may use. Ranks that may
/// use the same CPUs take them by turns, so that each CPU of a host has its noise once.
fn usual_cpu(launched: Option<&Launched>) -> Vec<u32> {
    let allowed = cpus::allowed();
    let cpu = match launched {
        Some(job) => allowed.iter().cycle().nth(job.rank as usize % allowed.len().max(1)),
        None => allowed.last(),
    };
    cpu.into_iter().copied().collect()
}

/// Returns the longest detour that a kind can replay.
fn longest_replayed(kind: InjectionKind) -> Duration {
    match kind {
        InjectionKind::Kernel => LONGEST_SPIN,
        // Their duration is not replayed, or not limited.
        InjectionKind::Interrupt | InjectionKind::Thread => Duration::MAX,
    }
}

/// Reports the detours that a replay leaves out, because the replay is then not the whole noise.
fn print_left_out(replay: &Replay, most: Duration, quiet: bool) {
    let left_out = replay.left_out();
    let short = left_out.count - left_out.longer;
    if left_out.count == 0 || quiet {
        return;
    }
    let all = replay.time_ns() + left_out.time_ns;
    let percent = 100.0 * replay.time_ns() as f64 / all as f64;
    terminal::print_note(format_args!(
        "replaying {}, {percent:.1} % of the noise; {} left out (see --longer-than)",
        counted(replay.count(), "detour", "detours"),
        counted(short, "shorter one is", "shorter ones are"),
    ));
    if left_out.longer > 0 {
        terminal::print_note(format_args!(
            "left out: {} over {most:?}, because a BPF program cannot spin that long; --kind thread can replay them",
            counted(left_out.longer, "detour", "detours"),
        ));
    }
}

/// Injects noise until the time is over, the command ends, or a signal arrives.
fn inject(args: &InjectArgs, injection: &Injection) -> Result<ExitCode, Problem> {
    let spins_by_the_counter = injection.kind == InjectionKind::Thread;
    let clock = clock::calibrate(&injection.cpus, args.allow_variant_tsc || !spins_by_the_counter)?;
    tracefs::remove_leftovers();
    let mut injector = Injector::prepare(injection, &clock)?;
    let with_command = !args.command.is_empty();
    let time = args.time.unwrap_or(if with_command { LONGEST } else { USUAL });
    if !args.quiet && !with_command && std::io::stderr().is_terminal() {
        terminal::print_note(format_args!(
            "injecting for {}; Ctrl-C ends early",
            long_time(time.as_nanos() as u64)
        ));
    }
    let signal = stop::newest()?;
    injector.end_unless_renewed();
    injector.start()?;
    // Start the command before this thread moves away, so that the command keeps the CPUs that we were given.
    let mut child = match &args.command[..] {
        [] => None,
        [program, rest @ ..] => {
            let injected = anechoic_report::where_and_what(injector.injected());
            Some(command::spawn(program, rest, Some((INJECTED, &injected)))?)
        }
    };
    move_away(&injection.cpus);
    let end = Instant::now().checked_add(time); // None means never
    let status = keep_up(&mut injector, child.as_mut(), end, &signal)?;
    injector.stop();
    print_injected(args, injector.injected(), &clock)?;
    match (status, child) {
        (Some(status), _) => Ok(command::passed_on(status)),
        (None, Some(mut child)) => {
            if !args.quiet {
                terminal::print_note("the injection has ended; the command is still running");
            }
            let status = command::wait(&mut child, None, &signal)?;
            Ok(status.map_or(ExitCode::SUCCESS, command::passed_on))
        }
        (None, None) => Ok(ExitCode::from(u8::from(signal.load(Ordering::Acquire) != 0))),
    }
}

/// Keeps the noise up until `end`, or until the command ends, whose status is returned, or without a command until a signal
/// arrives.
fn keep_up(
    injector: &mut Injector,
    mut child: Option<&mut Child>,
    end: Option<Instant>,
    signal: &AtomicUsize,
) -> Result<Option<ExitStatus>, Problem> {
    loop {
        let renewal = Instant::now() + RENEWAL;
        let until = Some(end.map_or(renewal, |end| end.min(renewal)));
        let status = match &mut child {
            Some(child) => command::wait(child, until, signal)?,
            None => {
                command::wait_alone(until, signal);
                None
            }
        };
        let called_off = child.is_none() && signal.load(Ordering::Acquire) != 0;
        if status.is_some() || called_off || end.is_some_and(|end| end <= Instant::now()) {
            return Ok(status);
        }
        injector.renew()?;
    }
}

/// Moves this thread off the noisy CPUs, where it would add more noise.
fn move_away(noisy: &[u32]) {
    let quiet: Vec<u32> = cpus::allowed().into_iter().filter(|cpu| !noisy.contains(cpu)).collect();
    if !quiet.is_empty() {
        let _ = cpus::pin(&quiet);
    }
}

/// Prints what was injected, on stderr if a command uses the standard output.
fn print_injected(args: &InjectArgs, injected: &Injected, clock: &Clock) -> Result<(), Problem> {
    if args.json && args.command.is_empty() {
        let mut out = terminal::stdout();
        anechoic_report::json(injected, &mut out)?;
        out.flush()?;
    } else if args.json {
        let mut out = terminal::stderr();
        anechoic_report::json(injected, &mut out)?;
        out.flush()?;
    } else if !args.quiet {
        let mut out = terminal::stderr();
        anechoic_report::injected(injected, clock).write(&terminal::view(None), &mut out)?;
        out.flush()?;
    }
    Ok(())
}
