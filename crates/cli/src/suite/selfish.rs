//! `anechoic suite selfish`: detours over 1 µs and their causes (Kärner 2014).

use super::row::{Done, Set, Suite, Wanted};
use anechoic_analyze::Summary;
use anechoic_measure::experiment::Host;
use anechoic_measure::methods::detours::Detours;
use anechoic_recording::options::{Answers, OptionRow, Value};
use anechoic_recording::stop::StopCondition;
use anechoic_recording::{Clock, Problem, methods};
use anechoic_report::published::NOISE_OVER_NS;
use anechoic_report::results::summary::SUMMARY;
use anechoic_report::{Study, View};

pub(super) static SUITE: Suite = Suite {
    id: "selfish",
    about: "Detours over 1 µs: how much time they take on all CPUs, and what causes them (Kärner 2014)",
    details: "Several runs, each until it has as many detours as the paper's, or until its time is over. A quiet machine with few CPUs \
              does not reach that number in a minute; the noise is then that of the time measured.",
    examples:
        "  anechoic suite selfish -o selfish                          five runs of a minute at most
  anechoic suite selfish --duration 5s --repeat 2 -o first   a first look
  anechoic suite selfish -o selfish --resume                 the runs that are missing",
    options: &[
        OptionRow::new(
            "detours",
            Value::Count { least: 1, most: u64::MAX },
            "N",
            "Detours of all CPUs together after which a run ends",
        )
        .default("100000"),
        OptionRow::new(
            "duration",
            Value::Duration,
            "TIME",
            "Time after which a run ends in any case",
        )
        .short('d')
        .default("60s"),
        OptionRow::new("repeat", Value::Count { least: 1, most: 99 }, "N", "Number of runs")
            .default("5"),
    ],
    one_cpu: false,
    results: &[Wanted::usual(methods::DETOURS, &SUMMARY)],
    sets,
    study,
};

fn sets(answers: &Answers, host: &Host) -> Result<Vec<Set>, Problem> {
    let stop_on = Some(StopCondition::Count(answers.one("detours")?));
    let threshold_ns = Some(NOISE_OVER_NS);
    let detours = Detours { threshold_ns, ..Detours::lasting(answers.one("duration")?) };
    let sets = (1..=answers.one::<u64>("repeat")?).map(|number| {
        let mut set = Set::new(format!("run-{number:02}"), detours.clone().on(host.cpus.clone()));
        set.plan.stop_on = stop_on;
        set
    });
    Ok(sets.collect())
}

fn study(done: &[Done], view: &View<'_>) -> Study {
    let with_clock =
        |done: &Done| Some((done.found.get::<Summary>()?.clone(), done.run.clock.clone()));
    let runs: Vec<(Summary, Clock)> = done.iter().filter_map(with_clock).collect();
    anechoic_report::suite_selfish(&runs, view)
}
