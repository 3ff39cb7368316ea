//! `anechoic check --self-test`: injects known noise and checks that it is detected.

use crate::files::Scratch;
use crate::setup::plan;
use crate::show::Printer;
use crate::stop;
use crate::terminal;
use anechoic_analyze::{SelfTestResult, Verification};
use anechoic_measure::inject::{InjectError, Injection, Timing};
use anechoic_measure::methods::detours::Detours;
use anechoic_measure::run::{self, Plan, RunError};
use anechoic_measure::self_test;
use anechoic_recording::injection::{InjectionKind, SelfTest};
use anechoic_recording::run::{NotAvailable, RunState};
use anechoic_recording::{Problem, ProblemKind, Recording};
use anechoic_report::results::Found;
use anechoic_report::results::live::SELF_TEST;
use anechoic_system::cpus;
use std::io::IsTerminal;
use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// How the names of its temporary directories begin.
pub(crate) const PREFIX: &str = "anechoic-self-test-";

/// One recording of the self-test.
struct TestNoise {
    kind: InjectionKind,
    rate_hz: u32,
    spin: Duration,
    time: Duration,
}

/// Interrupts that do nothing; they also give the fixed cost of interrupts that spin.
const INTERRUPTS: TestNoise = TestNoise {
    kind: InjectionKind::Interrupt,
    rate_hz: 1_000,
    spin: Duration::ZERO,
    time: Duration::from_secs(1),
};
/// Interrupts that spin.
const KERNEL: TestNoise = TestNoise {
    kind: InjectionKind::Kernel,
    rate_hz: 200,
    spin: Duration::from_micros(50),
    time: Duration::from_millis(1_500),
};
/// A thread that spins.
const THREAD: TestNoise = TestNoise { kind: InjectionKind::Thread, ..KERNEL };
/// A thread that hardly spins; it gives the cost of switching to a thread and back.
const SHORT_THREAD: TestNoise = TestNoise { spin: Duration::from_micros(1), ..THREAD };

/// The CPU that is tested, and how.
struct Test<'a> {
    cpu: u32,
    /// Whether to measure even if the TSC is not invariant.
    allow_variant_tsc: bool,
    stop: &'a AtomicBool,
}

/// Tests `asked`, or else the last CPU that this process may use; prints and stores the result.
pub fn run(
    asked: Option<&[u32]>,
    allow_variant_tsc: bool,
    json: bool,
) -> Result<ExitCode, Problem> {
    let cpu = one_cpu(asked)?;
    let stop = stop::flag()?;
    if !json && std::io::stderr().is_terminal() {
        terminal::print_note(format_args!(
            "injecting known noise on CPU {cpu} for about eight seconds"
        ));
    }
    let result = test(&Test { cpu, allow_variant_tsc, stop: &stop })?;
    Printer::stdout(json, false).print_one(&Found::from_value(&SELF_TEST, result, &[]), None)
}

fn one_cpu(asked: Option<&[u32]>) -> Result<u32, Problem> {
    if cpus::system("online").len() == 1 {
        let why = "the self-test needs a second CPU besides the one that it disturbs";
        return Err(ProblemKind::Usage.problem(why, "bring a second CPU online"));
    }
    match asked {
        Some(&[cpu]) => Ok(cpu),
        Some(_) => {
            let why = "the self-test uses one CPU";
            Err(ProblemKind::Usage.problem(why, "name only one with --cpus"))
        }
        None => cpus::allowed().pop().ok_or_else(|| {
            let why = "this process may not use any CPU";
            ProblemKind::Usage.problem(why, "start it with another affinity or cpuset")
        }),
    }
}

fn test(test: &Test<'_>) -> Result<SelfTestResult, Problem> {
    let dir = Scratch::make(PREFIX, &std::env::temp_dir())?;
    let mut kinds = Vec::new();
    let mut not_available = Vec::new();
    let make = |noise: &TestNoise, name: &str| noise.record(test, &dir.path().join(name));
    let mut missing = |kinds: &str, error: &InjectError| not_available.push(refused(kinds, error));
    match make(&INTERRUPTS, "interrupts")? {
        Err(error) => missing("kinds interrupt and kernel", &error),
        Ok(bare) => {
            kinds.push(anechoic_analyze::verify(&bare, None)?);
            match make(&KERNEL, "kernel")? {
                Err(error) => missing("kind kernel", &error),
                Ok(spun) => kinds.push(anechoic_analyze::verify(&spun, Some(&bare))?),
            }
        }
    }
    match make(&SHORT_THREAD, "short-thread")? {
        Err(error) => missing("kind thread", &error),
        Ok(bare) => match make(&THREAD, "thread")? {
            Err(error) => missing("kind thread", &error),
            Ok(spun) => kinds.push(anechoic_analyze::verify(&spun, Some(&bare))?),
        },
    }
    Ok(kept(test.cpu, kinds, not_available))
}

impl TestNoise {
    /// Injects the noise and records it, or returns why this noise is not available here.
    fn record(
        &self,
        test: &Test<'_>,
        dir: &Path,
    ) -> Result<Result<Recording, InjectError>, Problem> {
        let injection = Injection {
            kind: self.kind,
            timing: Timing::Periodic { period: Duration::from_secs(1) / self.rate_hz },
            duration: self.spin,
            cpus: vec![test.cpu],
        };
        if let Err(error) = injection.check(false) {
            return kind_refused(error.into()).map(Err);
        }
        let detours = Detours { injection: Some(injection), ..Detours::lasting(self.time) };
        let allow_variant_tsc = test.allow_variant_tsc;
        let plan = Plan { allow_variant_tsc, ..plan(detours.on(vec![test.cpu])) };
        match run::run(&plan, dir, test.stop, &mut |_| {}) {
            Ok(run) if matches!(run.state, RunState::Interrupted(_)) => Err(Problem::called_off()),
            Ok(_) => Ok(Ok(Recording::open(dir)?)),
            Err(error) => kind_refused(error).map(Err),
        }
    }
}

/// Returns the error if it prevents only one kind of noise; any other error ends the self-test.
fn kind_refused(error: RunError) -> Result<InjectError, Problem> {
    match error {
        RunError::Inject(InjectError::Cpu(problem)) => Err(problem),
        RunError::Inject(error) => Ok(error),
        error => Err(error.into()),
    }
}

fn refused(kinds: &str, error: &InjectError) -> NotAvailable {
    Problem::from(error).not_available(format!("noise of {kinds}"))
}

/// Stores the result for later recordings.
fn kept(cpu: u32, kinds: Vec<Verification>, not_available: Vec<NotAvailable>) -> SelfTestResult {
    let self_test = summed_up(cpu, &kinds);
    let stored = self_test.as_ref().map(self_test::store).transpose();
    let (stored, not_stored) = match stored {
        Ok(file) => (file.map(|file| file.display().to_string()), None),
        Err(error) => (None, Some(error.to_string())),
    };
    SelfTestResult { self_test, kinds, not_available, stored, not_stored }
}

/// Returns the summary that later recordings include; `None` if no noise was delivered.
fn summed_up(cpu: u32, kinds: &[Verification]) -> Option<SelfTest> {
    let rows: Vec<_> = kinds.iter().filter_map(Verification::self_test_kind).collect();
    let facts = &kinds.first()?.run;
    (!rows.is_empty()).then(|| SelfTest {
        utc: format!("{:.0}", jiff::Timestamp::now()),
        tool_version: env!("CARGO_PKG_VERSION").to_owned(),
        model: facts.model.clone(),
        kernel: facts.kernel.clone(),
        cpu,
        threshold_ns: facts.threshold_ns as f64,
        kinds: rows,
    })
}
