//! `anechoic suite loops`: do-nothing loops (Tsafrir 2007, second half).

use super::row::{Done, Set, Suite, Wanted, results_of_type};
use crate::setup::leave_one;
use anechoic_analyze::Measured;
use anechoic_measure::experiment::Host;
use anechoic_measure::inject::{Injection, Timing};
use anechoic_measure::methods::bsp::Job;
use anechoic_predict::bsp::Bsp;
use anechoic_recording::injection::InjectionKind;
use anechoic_recording::machine::MOST_CPUS;
use anechoic_recording::options::{Answers, OptionRow, Value};
use anechoic_recording::parallel::Meeting;
use anechoic_recording::{Problem, methods, topology};
use anechoic_report::published::{JOB_GRAINS_NS, LOOPS_GRAIN_NS, LOOPS_TICK_PARTS};
use anechoic_report::results::bsp::BSP;
use anechoic_report::results::measured::MEASURED;
use anechoic_report::{LOOPS_DELTAS, LOOPS_PART, LOOPS_RATE, Study, View};
use std::time::Duration;

/// The rate of the timer tick, if the kernel does not report it.
const USUAL_TICK_HZ: u64 = 250;
/// One in this many samples is taken at grains other than the paper's usual one.
const OTHER_GRAINS_PART: u64 = 10;
/// Number of times between two reads of the counter for each sample of the usual grain.
const DELTAS_PART: u64 = 10;
/// Time of the phases of each grain and kind of meeting of a job, for each sample of the usual grain, and its limits.
const JOB_TIME_OF_A_SAMPLE: Duration = Duration::from_micros(50);
const LEAST_JOB_TIME: Duration = Duration::from_millis(500);
const MOST_JOB_TIME: Duration = Duration::from_secs(60);
/// Tick rates of the sweep above the kernel's own (Tsafrir 2007, Figure 11, has 10 to 1,000 Hz).
const RATES_HZ: [u64; 4] = [500, 1_000, 2_000, 4_000];

pub(super) static SUITE: Suite = Suite {
    id: methods::LOOPS,
    about: "Do-nothing loops: how much they vary, what accounts for it, and what noise costs a job (Tsafrir 2007)",
    details: "The loops run on a single CPU unless the user names several. The ranks of a job, for which the delay of a phase is \
              measured, run on one, two, four and more of these, or of all CPUs that this process may use where the loops have one.",
    examples: "  anechoic suite loops -o loops --html loops.html          40 minutes; with --samples 10000 four
  anechoic suite loops --samples 1000 --cpus 1 -o first    a first look in a minute",
    options: &[
        OptionRow::new(
            "samples",
            Value::Count { least: 1, most: u64::MAX },
            "N",
            "Samples of each variant and policy at 1 ms; a tenth of them at half and at a third of the tick period, and at each tick rate",
        )
        .default("100000"),
        OptionRow::new(
            "no-rates",
            Value::Flag,
            "",
            "Do not measure at higher tick rates, which needs permission to inject interrupts (run as root)",
        ),
        OptionRow::new(
            "all-cpus",
            Value::Flag,
            "",
            "Also measure every CPU of the machine under SCHED_FIFO, leaving none for anything else",
        ),
    ],
    one_cpu: true,
    results: &[
        Wanted::usual(methods::LOOPS, &MEASURED),
        Wanted::usual(methods::FWQ, &MEASURED),
        Wanted::usual(methods::BSP, &BSP),
    ],
    sets,
    study,
};

fn sets(answers: &Answers, host: &Host) -> Result<Vec<Set>, Problem> {
    leave_one(&host.cpus, answers.flag("all-cpus"), "the part under SCHED_FIFO")?;
    let samples: u64 = answers.one("samples")?;
    let set = |name: String, (grain_ns, samples): (u64, u64), policies: &str| {
        Set::from_method(name, methods::LOOPS, &loop_options(grain_ns, samples, policies), host)
    };
    let tick_ns = 1_000_000_000 / host.machine.tick_hz.map_or(USUAL_TICK_HZ, u64::from).max(1);
    let fewer = (samples / OTHER_GRAINS_PART).max(1);
    let usual = set("1ms".to_owned(), (LOOPS_GRAIN_NS, samples), "other,fifo");
    let parts = LOOPS_TICK_PARTS
        .iter()
        .map(|&part| set(format!("{LOOPS_PART}{part}"), (tick_ns / part, fewer), "other"));
    // Nothing between two reads of the counter, which takes some 30 ns.
    let options = [
        ("work", "empty".to_owned()),
        ("grain", "10ns".to_owned()),
        ("pure", String::new()),
        ("repetitions", samples.saturating_mul(DELTAS_PART).to_string()),
    ];
    let deltas = Set::from_method(LOOPS_DELTAS, methods::FWQ, &options, host);
    let rates = match answers.flag("no-rates") {
        true => vec![],
        false => rates(tick_ns),
    };
    let jobs = jobs(samples, host)?;
    // Last, because they need the permission to inject interrupts.
    let rates = rates.iter().map(|&rate_hz| {
        let set = set(format!("{LOOPS_RATE}{rate_hz}"), (LOOPS_GRAIN_NS, fewer), "other")?;
        match rate_hz.checked_sub(1_000_000_000 / tick_ns) {
            None | Some(0) => Ok(set),
            Some(more_hz) => set.disturbed(&interrupts(more_hz, host)),
        }
    });
    let jobs = jobs.into_iter().map(Ok);
    std::iter::once(usual).chain(parts).chain([deltas]).chain(jobs).chain(rates).collect()
}

/// Returns the options of do-nothing loops of all variants.
fn loop_options(grain_ns: u64, samples: u64, policies: &str) -> [(&'static str, String); 5] {
    [
        ("variants", "all".to_owned()),
        ("grain", format!("{grain_ns}ns")),
        ("samples", samples.to_string()),
        ("policy", policies.to_owned()),
        ("all-cpus", String::new()), // already checked that a CPU is left
    ]
}

/// Returns interrupts without work at this rate on all CPUs.
fn interrupts(rate_hz: u64, host: &Host) -> Injection {
    let period = Duration::from_secs(1) / rate_hz as u32;
    let (kind, timing) = (InjectionKind::Interrupt, Timing::Periodic { period });
    Injection { kind, timing, duration: Duration::ZERO, cpus: host.cpus.clone() }
}

/// Returns jobs of one rank, two, four and so on, up to one on each CPU (Tsafrir 2007, Figure 8).
fn jobs(samples: u64, host: &Host) -> Result<Vec<Set>, Problem> {
    let cpus = match &host.cpus[..] {
        [_] => topology::ranges(&host.machine.allowed).flatten().take(MOST_CPUS as usize).collect(),
        several => several.to_vec(),
    };
    let most = cpus.len();
    let powers = (0..).map(|power| 1 << power).take_while(|&ranks| ranks < most);
    let numbers: Vec<usize> = powers.chain([most]).filter(|&ranks| ranks > 0).collect();
    let duration = (JOB_TIME_OF_A_SAMPLE * u32::try_from(samples).unwrap_or(u32::MAX))
        .clamp(LEAST_JOB_TIME, MOST_JOB_TIME);
    let job = Job {
        grains: JOB_GRAINS_NS.map(Duration::from_nanos).to_vec(),
        meetings: vec![Meeting::Barrier, Meeting::Allreduce],
        duration,
        ..Job::usual()?
    };
    let set = |ranks: usize| Ok(Set::new(format!("ranks-{ranks}"), job.on(&cpus[..ranks])?));
    numbers.into_iter().map(set).collect()
}

/// Returns the tick rates of the sweep: the kernel's own, and those above it.
fn rates(tick_ns: u64) -> Vec<u64> {
    let own_hz = 1_000_000_000 / tick_ns;
    let above = RATES_HZ.into_iter().filter(|rate_hz| *rate_hz > own_hz);
    std::iter::once(own_hz).chain(above).collect()
}

fn study(done: &[Done], view: &View<'_>) -> Study {
    let named = |done: &Done| Some((done.name.clone(), done.found.get::<Measured>()?.clone()));
    let sets: Vec<_> = done.iter().filter_map(named).collect();
    anechoic_report::suite_loops(
        &sets,
        &results_of_type::<Bsp>(done),
        done.first().map(|done| &done.run),
        view,
    )
}
