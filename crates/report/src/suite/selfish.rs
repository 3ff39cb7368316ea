//! The screen of detours as a suite: noise over 1 µs, the classes of its sources and the cost of clocks, beside those of
//! the paper.

use super::begin;
use crate::published::{
    ALL_CPUS, CLOCK_COST, DETOURS, JOB_NOISE, KARNER, NOISE, PART_OF_NOISE, Published, find,
};
use crate::screen::Screen;
use crate::style::View;
use crate::table::Table;
use crate::units::{count, counted, noise, number, percent};
use anechoic_analyze::repeat::Spread;
use anechoic_analyze::{Summary, summarize_many};
use anechoic_recording::Clock;

/// The clocks of Table I by the names of their columns.
const CLOCKS: [&str; 2] = ["rdtsc", "gettimeofday"];

/// A class of sources: its name in the paper, and the identifiers of its sources.
const CLASSES: [(&str, &[&str]); 3] = [
    ("timer interrupts", &["timer-tick", "timer"]),
    ("device interrupts", &["device-irq", "softirq"]),
    ("page faults", &["page-fault"]),
];
/// The class of all other sources.
const OTHERS: &str = "all else";

/// Shows the noise of several runs, its classes of sources and the cost of reading clocks, beside Kärner 2014.
#[must_use]
pub fn suite_selfish(runs: &[(Summary, Clock)], view: &View<'_>) -> Screen {
    let summaries: Vec<Summary> = runs.iter().map(|(summary, _)| summary.clone()).collect();
    let first = summaries.first();
    let mut screen =
        begin("detours over 1 µs and their causes", &KARNER, first.map(|run| &run.run));
    let (Some(first), Some(repeated)) = (first, summarize_many(&summaries)) else { return screen };
    let detours: u64 = summaries.iter().map(|run| run.total.detours).sum();
    let seconds: f64 = summaries.iter().map(|run| run.run.wall_ns as f64 / 1e9).sum();
    screen.section("cost of reading a clock, µs (Table I)");
    screen.table(clocks(&first.run.model, runs));
    screen.section("noise");
    screen.note(&format!(
        "{} in {}, {} s in all, {}",
        counted(detours, "detour", "detours"),
        counted(summaries.len() as u64, "run", "runs"),
        number(seconds),
        counted(first.run.cpus.len() as u64, "CPU", "CPUs"),
    ));
    screen.append(crate::repeat(&repeated, view));
    screen.gap();
    screen.table(beside(&repeated.noise, first.run.cpus.len()));
    screen.section("what part of the noise each class of sources takes");
    let classes = classes(&summaries);
    screen.table(parts(classes.as_deref()));
    screen.note(NOTE);
    if classes.is_none() {
        screen.warning("no run has its sources: this needs kernel events (run as root)");
    }
    screen.section("what has changed since");
    screen.sentence(&changed(&repeated.noise, classes.as_deref()));
    screen.path("recordings", view);
    screen
}

/// Explains the classes.
const NOTE: &str = "timer interrupts: tick and other timers; device interrupts: with the softirqs after them; all else: threads, IPIs, and \
                    on a guest the hypervisor, of which the paper's machines had none. Each class includes the gaps around it.";

/// Returns the mean cost of a call in µs here and on the paper's machines.
fn clocks(model: &str, runs: &[(Summary, Clock)]) -> Table {
    let mut table = Table::of_named("machine", &CLOCKS).captioned("Cost of reading a clock");
    for machine in distinct(DETOURS.iter().filter(|cell| cell.experiment == CLOCK_COST)) {
        let of = |column| text(find(&DETOURS, CLOCK_COST, machine, column));
        table.row(std::iter::once(machine.to_owned()).chain(CLOCKS.map(of)).collect());
    }
    let mean = |values: Vec<f64>| Spread::of(&values).map_or("–".into(), |of| micros(of.mean));
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

/// Returns the rows of published cells, each once.
fn distinct<'a>(cells: impl Iterator<Item = &'a Published>) -> Vec<&'static str> {
    cells.fold(vec![], |mut rows, cell| {
        if !rows.contains(&cell.row) {
            rows.push(cell.row);
        }
        rows
    })
}

fn text(cell: Option<&Published>) -> String {
    cell.map_or("–".into(), |cell| cell.value.text())
}

/// Returns the published noise of machines and of jobs (Table II), with that of this machine below.
fn beside(here: &Spread, cpus: usize) -> Table {
    let mut table = Table::of_named("machine or nodes/CPUs", &["noise, %"])
        .captioned("Noise of detours over 1 µs");
    let of = [NOISE, JOB_NOISE];
    for cell in DETOURS.iter().filter(|cell| of.contains(&cell.experiment)) {
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
    let of_run = |run: &Summary| -> Option<Vec<f64>> {
        let rows = &run.sources.as_ref()?.rows;
        let share = |ids: &[&str]| -> f64 {
            let of_class = rows.iter().filter(|row| ids.contains(&&*row.source));
            of_class.fold(0.0, |sum, row| sum + row.share)
        };
        let mut shares: Vec<f64> = CLASSES.iter().map(|(_, ids)| share(ids)).collect();
        shares.push((1.0 - shares.iter().sum::<f64>()).max(0.0));
        Some(shares)
    };
    let of_runs: Vec<Vec<f64>> = runs.iter().filter_map(of_run).collect();
    let names = CLASSES.iter().map(|(name, _)| *name).chain([OTHERS]);
    let spread = |at: usize| Spread::of(&of_runs.iter().map(|run| run[at]).collect::<Vec<f64>>());
    names.enumerate().map(|(at, name)| Some((name, spread(at)?))).collect()
}

/// Returns the share of each class, published and here.
fn parts(here: Option<&[(&'static str, Spread)]>) -> Table {
    let mut table = Table::of_named("class", &["Laptop", "KIA", "here", "± sd"])
        .captioned("Share of each class in the lost time");
    let both = "Laptop and KIA";
    for name in CLASSES.iter().map(|(name, _)| *name).chain([OTHERS]) {
        let published = |machine| {
            let of = |column| find(&DETOURS, PART_OF_NOISE, name, column);
            of(machine).or_else(|| of(both)).map_or("–".into(), Published::text)
        };
        let of =
            here.and_then(|all| all.iter().find(|(class, _)| *class == name)).map(|(_, of)| of);
        table.row(vec![
            name.to_owned(),
            published("Laptop"),
            published("KIA"),
            of.map_or("–".into(), |of| percent(of.mean * 100.0)),
            of.and_then(|of| of.sd).map_or("–".into(), |sd| percent(sd * 100.0)),
        ]);
    }
    table
}

/// States in one sentence how the noise and its largest class compare with the paper's.
fn changed(total: &Spread, classes: Option<&[(&'static str, Spread)]>) -> String {
    let largest = classes
        .and_then(|all| all.iter().max_by(|a, b| a.1.mean.total_cmp(&b.1.mean)))
        .map_or(String::new(), |(name, of)| {
            let name = if *name == OTHERS { "other sources" } else { *name };
            format!(", most of it to {name} ({})", percent(of.mean * 100.0))
        });
    format!(
        "On a server and a laptop of the paper 1.8 to 9.1 % of the time was lost, nearly all of it to timer interrupts (95.75 and \
         99.55 %); here {}{largest}.",
        noise(total.mean)
    )
}
