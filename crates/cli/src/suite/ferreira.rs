//! `anechoic suite ferreira`: the same share of noise as few long or many short detours (Ferreira 2008).

use super::row::{Done, Set, Suite, Wanted};
use anechoic_measure::experiment::Host;
use anechoic_measure::inject::{Injection, Timing};
use anechoic_predict::bsp::Bsp;
use anechoic_recording::injection::InjectionKind;
use anechoic_recording::options::{Answers, OptionRow, Value};
use anechoic_recording::{Problem, methods};
use anechoic_report::published::{SIGNATURES, Signature};
use anechoic_report::results::bsp::BSP;
use anechoic_report::{Study, View};
use std::time::Duration;

/// The seed of random times; each CPU adds its place in the list.
const SEED: u64 = 1;

pub(super) static SUITE: Suite = Suite {
    id: "ferreira",
    about: "Injected noise of 2.5 %: few long detours against many short ones, for ranks that compute and meet (Ferreira 2008)",
    details: "Threads under SCHED_FIFO spin on every measured CPU: 10 Hz × 2.5 ms, 100 Hz × 250 µs, 1 kHz × 25 µs, at the same times on all \
              CPUs (coordinated) or at random times of their own. One rank a CPU computes and meets the others; a set without injected \
              noise is the baseline. Needs permission to use SCHED_FIFO (run as root).",
    examples: "  anechoic suite ferreira -o ferreira                          on all CPUs
  anechoic suite ferreira --grain 1ms --duration 2s -o first   a first look",
    options: &[
        OptionRow::new(
            "grain",
            Value::Duration,
            "TIME",
            "Work of each rank between two meetings; a list",
        )
        .many()
        .default("100us,1ms,10ms"),
        OptionRow::new(
            "duration",
            Value::Duration,
            "TIME",
            "Total time of the phases of one grain in one set, without noise",
        )
        .short('d')
        .default("10s"),
    ],
    one_cpu: false,
    results: &[Wanted::usual(methods::BSP, &BSP)],
    sets,
    study,
};

fn sets(answers: &Answers, host: &Host) -> Result<Vec<Set>, Problem> {
    let nanos = |time: &Duration| format!("{}ns", time.as_nanos());
    let grains: Vec<String> = answers.all("grain").iter().map(nanos).collect();
    let duration = nanos(&answers.one("duration")?);
    let options = [("grain", grains.join(",")), ("duration", duration)];
    let none = Set::from_method("none", methods::BSP, &options, host)?;
    let noisy = SIGNATURES.iter().map(|signature| {
        let set = Set { name: signature.id.to_owned(), ..none.clone() };
        set.disturbed(&injection(signature, host))
    });
    let noisy = noisy.collect::<Result<Vec<Set>, Problem>>()?;
    Ok(std::iter::once(none.clone()).chain(noisy).collect())
}

/// Returns the noise of a signature on all CPUs.
fn injection(signature: &Signature, host: &Host) -> Injection {
    let period = Duration::from_nanos(signature.period_ns);
    let timing = match signature.coordinated {
        true => Timing::Periodic { period },
        false => Timing::Poisson { period, seed: SEED },
    };
    let duration = Duration::from_nanos(signature.length_ns);
    Injection { kind: InjectionKind::Thread, timing, duration, cpus: host.cpus.clone() }
}

fn study(done: &[Done], _view: &View<'_>) -> Study {
    let named = |done: &Done| Some((done.name.clone(), done.found.get::<Bsp>()?.clone()));
    let sets: Vec<_> = done.iter().filter_map(named).collect();
    anechoic_report::suite_ferreira(&sets)
}
