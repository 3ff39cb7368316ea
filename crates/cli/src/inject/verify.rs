//! `anechoic inject --verify`: measures the noise while it is injected.

use super::{InjectArgs, USUAL};
use crate::exit;
use crate::files::is_used;
use crate::setup::{Place, plan, record};
use crate::show::Printer;
use anechoic_measure::inject::{Injection, Timing};
use anechoic_measure::methods::detours::Detours;
use anechoic_measure::run::Plan;
use anechoic_recording::injection::InjectionKind;
use anechoic_recording::{Problem, Recording};
use anechoic_report::results::Found;
use anechoic_report::results::live::VERIFICATION;
use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Measures bare noise of the kind, then the requested noise, and compares them.
pub(super) fn verify(
    args: &InjectArgs,
    injection: Injection,
    stop: &AtomicBool,
) -> Result<ExitCode, Problem> {
    let place = Place::choose(args.output.as_deref(), args.no_save)?;
    let dir = place.dir();
    if is_used(dir) {
        return Err(Problem::not_empty(dir));
    }
    let time = args.time.unwrap_or(USUAL);
    let bare = Injection { duration: BARE, ..injection.clone() };
    let bare = match injection.kind {
        InjectionKind::Interrupt => None,
        InjectionKind::Kernel => Some(Injection { kind: InjectionKind::Interrupt, ..bare }),
        InjectionKind::Thread => Some(bare),
    };
    let bare = match bare.filter(|_| !matches!(injection.timing, Timing::Replay(_))) {
        Some(bare) => Some(watch(args, bare, time.min(BARE_TIME), &dir.join("bare"), stop)?),
        None => None,
    };
    if stop.load(Ordering::Acquire) {
        return Ok(ExitCode::from(exit::NO_VERDICT));
    }
    let recording = watch(args, injection, time, &dir.join("noise"), stop)?;
    let verification = anechoic_analyze::verify(&recording, bare.as_ref())?;
    let printer = Printer::stdout(args.json, false).unsaved(args.no_save);
    printer.print_one(&Found::from_value(&VERIFICATION, verification, &[]), Some(dir))
}

/// The spin of the bare threads.
const BARE: Duration = Duration::from_micros(1);
/// The longest time for which bare noise is measured.
const BARE_TIME: Duration = Duration::from_secs(3);

/// Records the detours of the CPUs with injected noise.
fn watch(
    args: &InjectArgs,
    injection: Injection,
    duration: Duration,
    dir: &Path,
    stop: &AtomicBool,
) -> Result<Recording, Problem> {
    record(&watching(args, injection, duration), dir, stop, args.quiet)
}

fn watching(args: &InjectArgs, injection: Injection, duration: Duration) -> Plan {
    let cpus = injection.cpus.clone();
    let detours = Detours { injection: Some(injection), ..Detours::lasting(duration) };
    Plan { allow_variant_tsc: args.allow_variant_tsc, ..plan(detours.on(cpus)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Command {
        #[command(flatten)]
        args: InjectArgs,
    }

    #[test]
    fn a_counter_that_is_allowed_is_allowed_in_the_measurement_too() {
        let words = ["anechoic", "--kind", "interrupt", "--rate", "1hz", "--verify"];
        for more in [&[][..], &["--allow-variant-tsc"]] {
            let args = Command::parse_from(words.iter().chain(more)).args;
            let injection = Injection {
                kind: InjectionKind::Interrupt,
                timing: Timing::Periodic { period: Duration::from_secs(1) },
                duration: Duration::ZERO,
                cpus: vec![0],
            };
            let plan = watching(&args, injection, Duration::from_secs(1));
            assert_eq!(plan.allow_variant_tsc, !more.is_empty());
        }
    }
}
