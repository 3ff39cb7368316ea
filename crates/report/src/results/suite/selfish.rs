//! The screen of detours as a suite: noise over 1 µs, the classes of its sources and the cost of clocks, beside those of
//! the paper.

use super::{Study, distinct};
use crate::picture::{Chart, Estimated, Quantity, ROWS, Series};
use crate::published::{
    ALL_CPUS, CLOCK_COST, DETOURS, JOB_NOISE, KARNER, NOISE, PART_OF_NOISE, Published, Value, find,
};
use crate::results::summary::headline::competition_sentence;
use crate::style::View;
use crate::table::Table;
use crate::units::{count, counted, noise, number, percent, percent_range};
use anechoic_analyze::competition::competition;
use anechoic_analyze::repeat::Spread;
use anechoic_analyze::sources::SourceRow;
use anechoic_analyze::{Summary, summarize_many};
use anechoic_recording::Clock;
use anechoic_recording::sources::{
    self, Class, DEVICE_IRQ, PAGE_FAULT, SOFTIRQ, Source, TIMER, TIMER_TICK, is_softirq_of_devices,
};

/// The clocks of Table I by the names of their columns.
const CLOCKS: [&str; 2] = ["rdtsc", "gettimeofday"];

/// Whether a row of this source belongs to a class; softirqs do so by their names.
type Belongs = fn(&Source, &str) -> bool;

/// The classes of sources, each with the test whether a row belongs to it. The third and the last two are not in the
/// paper.
const CLASSES: [(&str, Belongs); 6] = [
    ("timer interrupts", |source, _| [TIMER_TICK, TIMER].contains(source)),
    ("device interrupts", |source, name| match *source {
        SOFTIRQ => is_softirq_of_devices(name),
        _ => *source == DEVICE_IRQ,
    }),
    ("kernel softirqs", |source, name| *source == SOFTIRQ && !is_softirq_of_devices(name)),
    ("page faults", |source, _| *source == PAGE_FAULT),
    ("threads", |source, _| source.class == Class::Thread),
    ("below the kernel", |source, _| source.class == Class::Beneath),
];
/// The class of all other sources.
const OTHERS: &str = "all else";

/// Shows the noise of several runs, its classes of sources and the cost of reading clocks, beside Kärner 2014.
#[must_use]
pub fn suite_selfish(runs: &[(Summary, Clock)], view: &View<'_>) -> Study {
    let summaries: Vec<Summary> = runs.iter().map(|(summary, _)| summary.clone()).collect();
    let first = summaries.first();
    let run = first.map(|run| &run.run);
    let mut study = Study::begin("detours over 1 µs and their causes", &KARNER, run);
    let (Some(first), Some(repeated)) = (first, summarize_many(&summaries)) else { return study };
    let detours: u64 = summaries.iter().map(|run| run.total.detours).sum();
    let seconds: f64 = summaries.iter().map(|run| run.run.wall_ns as f64 / 1e9).sum();
    let classes = classes(&summaries);
    study.changed.push(changed(&repeated.noise, classes.as_deref()));
    study.foremost = "noise of the paper";
    let screen = &mut study.shown;
    screen.context(&format!(
        "{} in {}, {} s in all, {}",
        counted(detours, "detour", "detours"),
        counted(summaries.len() as u64, "run", "runs"),
        number(seconds),
        counted(first.run.cpus.len() as u64, "CPU", "CPUs"),
    ));
    let at_work = |summary: &Summary| {
        Some(competition_sentence(competition(summary)?, summary.run.cpus.len()))
    };
    summaries.iter().find_map(at_work).iter().for_each(|text| screen.warning(text));
    screen.section("cost of reading a clock, µs (Table I)");
    screen.table(clocks(&first.run.model, runs));
    screen.section("noise");
    screen.append(crate::results::repeat::repeat(&repeated, view));
    screen.section("what part of the noise each class of sources takes (section IV-A)");
    screen.table(parts(classes.as_deref()));
    screen.note(NOTE);
    if classes.is_none() {
        screen.warning("no run has its sources: this needs kernel events (run as root)");
    }
    screen.section("noise of the paper's machines and jobs (section IV-A and Table II), and here");
    screen.table(beside(&repeated.noise, first.run.cpus.len()));
    screen.pictured(chart(&repeated.noise), CHART);
    study
}

/// Explains the classes.
const NOTE: &str = "timer interrupts: tick and other timers; device interrupts: with the softirqs of devices (NET_RX, BLOCK \
                    and tasklets); kernel softirqs: those of timers, the scheduler and RCU; threads: other programs and kernel threads; below the kernel: the hardware, and on a guest the hypervisor, of which the paper's machines had none. \
                    Each class includes the gaps around it.";

/// Describes the figure.
const CHART: &str = "Noise of detours over 1 µs with the standard deviation over repeated runs: the paper's machines, its jobs by \
                     nodes/CPUs (Table II), and here. * without services.";

/// Draws the published noise of machines and jobs, and that of this machine.
fn chart(here: &Spread) -> Chart {
    let experiments = [NOISE, JOB_NOISE];
    let cells: Vec<&Published> =
        DETOURS.iter().filter(|cell| experiments.contains(&cell.experiment)).collect();
    let names = cells.iter().map(|cell| cell.row.replace(" without services", "*"));
    let names = names.chain(["here".to_owned()]).collect();
    let around =
        |mean: f64, sd: f64| Some(Estimated { value: mean, ends: Some((mean - sd, mean + sd)) });
    let published = cells.iter().map(|cell| match cell.value {
        Value::Spread(mean, sd) => around(mean / 100.0, sd / 100.0),
        _ => None,
    });
    let nothing = std::iter::repeat_n(None, cells.len());
    let measured = match here.sd {
        Some(sd) => around(here.mean, sd),
        None => Some(Estimated { value: here.mean, ends: None }),
    };
    let series = [
        Series { name: "published".into(), letter: Some('p'), values: published.collect() },
        Series {
            name: "here".into(),
            letter: Some('h'),
            values: nothing.chain([measured]).collect(),
        },
    ];
    let chart = Chart::by_name(names, &series, ("noise", Quantity::Share), "± standard deviation");
    let title = "noise of the paper's machines and jobs, and here (* without services)";
    chart.titled(title, ROWS).named("table II")
}

/// Returns the mean cost of a call in µs here and on the paper's machines.
fn clocks(model: &str, runs: &[(Summary, Clock)]) -> Table {
    let mut table = Table::with_names("machine", &CLOCKS).captioned("Cost of reading a clock");
    let machines = DETOURS.iter().filter(|cell| cell.experiment == CLOCK_COST);
    for machine in distinct(machines.map(|cell| cell.row)) {
        let published = |column| text(find(&DETOURS, CLOCK_COST, machine, column));
        table.row(std::iter::once(machine.to_owned()).chain(CLOCKS.map(published)).collect());
    }
    let mean = |values: Vec<f64>| {
        Spread::from_values(&values).map_or("–".into(), |spread| micros(spread.mean))
    };
    let reads = runs
        .iter()
        .map(|(_, clock)| clock.read_mean_ticks * 1e12 / clock.frequency_millihertz.max(1) as f64);
    let calls = runs.iter().filter_map(|(_, clock)| {
        clock.call_costs_ns.iter().find(|(name, _)| name == CLOCKS[1]).map(|(_, ns)| *ns)
    });
    let here = format!("here: {model}");
    table.row(vec![crate::style::clip(&here, 44), mean(reads.collect()), mean(calls.collect())]);
    table
}

/// Writes nanoseconds as microseconds with the paper's four places.
fn micros(ns: f64) -> String {
    format!("{:.4}", ns / 1e3)
}

fn text(cell: Option<&Published>) -> String {
    cell.map_or("–".into(), |cell| cell.value.text())
}

/// Returns the published noise of machines and of jobs (Table II), with that of this machine below.
fn beside(here: &Spread, cpus: usize) -> Table {
    let mut table = Table::with_names("machine or nodes/CPUs", &["noise, %"])
        .captioned("Noise of detours over 1 µs");
    let experiments = [NOISE, JOB_NOISE];
    for cell in DETOURS.iter().filter(|cell| experiments.contains(&cell.experiment)) {
        let name = match cell.column {
            ALL_CPUS => cell.row.to_owned(),
            "nodes/CPUs" => format!("{}, {}", cell.machine, cell.row),
            column => format!("{}, {column}", cell.row),
        };
        table.row(vec![name, cell.value.text()]);
    }
    let spread = here.sd.map_or(String::new(), |sd| format!(" ± {:.2}", sd * 100.0));
    table.row(vec![
        format!("here, 1/{}", count(cpus as u64)),
        format!("{:.2}{spread}", here.mean * 100.0),
    ]);
    table
}

/// Returns the share of each class in the lost time over the runs, all others last; absent if no run has its sources.
fn classes(runs: &[Summary]) -> Option<Vec<(&'static str, Spread)>> {
    let shares: Vec<Vec<f64>> = runs.iter().filter_map(run_shares).collect();
    let names = CLASSES.iter().map(|(name, _)| *name).chain([OTHERS]);
    let spread =
        |at: usize| Spread::from_values(&shares.iter().map(|run| run[at]).collect::<Vec<f64>>());
    names.enumerate().map(|(at, name)| Some((name, spread(at)?))).collect()
}

/// Returns the share of each class in the lost time of a run, all others last; absent without its sources.
fn run_shares(run: &Summary) -> Option<Vec<f64>> {
    let rows = &run.sources.as_ref()?.rows;
    let mut shares: Vec<f64> =
        CLASSES.iter().map(|(_, belongs)| class_share(rows, *belongs)).collect();
    shares.push((1.0 - shares.iter().sum::<f64>()).max(0.0));
    Some(shares)
}

/// Returns the share of the rows that belong to a class.
fn class_share(rows: &[SourceRow], belongs: Belongs) -> f64 {
    let is = |row: &&SourceRow| {
        sources::find(&row.source).is_some_and(|source| belongs(source, &row.name))
    };
    rows.iter().filter(is).fold(0.0, |sum, row| sum + row.share)
}

/// Returns the share of each class, published and here.
fn parts(here: Option<&[(&'static str, Spread)]>) -> Table {
    let mut table = Table::with_names("class", &["Laptop", "KIA", "here", "± sd"])
        .captioned("Share of each class in the lost time");
    let both = "Laptop and KIA";
    for name in CLASSES.iter().map(|(name, _)| *name).chain([OTHERS]) {
        let cell = |machine| find(&DETOURS, PART_OF_NOISE, name, machine);
        let published =
            |machine| cell(machine).or_else(|| cell(both)).map_or("–".into(), Published::text);
        let spread = here
            .and_then(|all| all.iter().find(|(class, _)| *class == name))
            .map(|(_, spread)| spread);
        table.row(vec![
            name.to_owned(),
            published("Laptop"),
            published("KIA"),
            spread.map_or("–".into(), |spread| percent(spread.mean * 100.0)),
            spread.and_then(|spread| spread.sd).map_or("–".into(), |sd| percent(sd * 100.0)),
        ]);
    }
    table
}

/// States in one sentence how the noise and its largest class compare with the paper's.
fn changed(total: &Spread, classes: Option<&[(&'static str, Spread)]>) -> String {
    let largest = classes
        .and_then(|all| all.iter().max_by(|a, b| a.1.mean.total_cmp(&b.1.mean)))
        .map_or(String::new(), |(name, spread)| {
            let name = if *name == OTHERS { "other sources" } else { *name };
            let part = percent(spread.mean * 100.0);
            match spread.mean {
                0.5.. => format!(", most of it to {name} ({part})"),
                _ => format!(", the largest part, {part}, to {name}"),
            }
        });
    let lost = DETOURS.iter().filter(|cell| cell.experiment == NOISE);
    let lost: Vec<f64> = lost.filter_map(|cell| cell.value.number()).collect();
    let ends = lost.iter().copied().reduce(f64::min).zip(lost.iter().copied().reduce(f64::max));
    let timer = |machine| text(find(&DETOURS, PART_OF_NOISE, CLASSES[0].0, machine));
    format!(
        "On a server and a laptop of the paper {} of the time was lost, nearly all of it to timer interrupts ({} and {} %); here \
         {}{largest}.",
        ends.map_or("–".into(), |(low, high)| percent_range(low, high)),
        timer("KIA"),
        timer("Laptop"),
        noise(total.mean)
    )
}
