//! The slowdown of a bulk-synchronous job, measured and predicted.

mod explained;
mod figure;
pub(crate) mod words;

use super::described::{Grouping, Methods, Section};
use super::row::{Print, Row};
use super::{Input, Model};
use crate::results::summary::headline::at_work;
use crate::screen::Screen;
use crate::style::{Tone, View, clip};
use crate::table::Table;
use crate::units::{asked, bounds, count, counted, cpu_list, exact, loss, loss_number, ratio};
use anechoic_analyze::injection::Verdict;
use anechoic_predict::bsp::{Bsp, Cell, HostFacts, bsp};
use anechoic_recording::{Problem, Recording, methods};

/// The method whose recordings it is computed from.
const METHOD: &[&str] = &[methods::BSP];

/// The row of the result.
pub static BSP: Row<Bsp> = Row {
    in_summary: Methods::Only(METHOD),
    in_report: Methods::Only(METHOD),
    section: Some(Section { anchor: "job", title: "What the noise cost the job", short: "Job" }),
    compute: Some(compute),
    verdict,
    headline: |found| vec![words::headline(found)],
    model: Some(Model {
        about: "Slowdown of a measured job, beside the slowdown that its detours predict",
        details: DETAILS,
        examples: EXAMPLES,
        ..Model::NEW
    }),
    print: Some(Print::with(screen)),
    ..Row::new(methods::BSP, "what noise cost the job", Grouping::Job)
};

const DETAILS: &str = "Reads recordings of `anechoic measure bsp`, one for each host of the job. For each grain and kind \
of synchronisation it prints the measured and the predicted slowdown, their ratio, and what explains the difference.";

const EXAMPLES: &str = "Examples:
  anechoic measure bsp -o job && anechoic predict bsp job
  anechoic predict bsp job --json | jq '.cells[] | {grain_ns, meeting, ratio}'

Exits with 3 if nothing could be compared.";

fn compute(input: &Input<'_>) -> Result<Bsp, Problem> {
    let mut found = bsp(input.recordings)?;
    found.notes.extend(at_work(input.recordings));
    Ok(found)
}

fn verdict(found: &Bsp, _: &[&Recording]) -> Verdict {
    let predicted = found.cells.iter().any(|cell| cell.predicted.is_some());
    let left_out = found.cells.iter().any(|cell| cell.left_out > 0);
    match (predicted, left_out || !found.notes.is_empty()) {
        (false, _) => Verdict::Nothing,
        (true, true) => Verdict::Warning,
        (true, false) => Verdict::Good,
    }
}

/// Shows measured and predicted slowdown, and what explains the difference.
fn screen(found: &Bsp, view: &View<'_>) -> Screen {
    let mut screen = Screen::default();
    screen.in_terminal(|terminal| {
        terminal.heading("bulk-synchronous job: slowdown by noise, measured and predicted");
        terminal.context(&what(found));
        terminal.contexts(&found.hosts, host_line, ["host", "hosts"]);
        words::waits(found).iter().for_each(|text| terminal.context(text));
    });
    screen.on_page(|page| {
        page.sentence(HOW);
        page.item(Tone::Plain, &what(found));
        found.hosts.iter().for_each(|host| page.item(Tone::Plain, &host_line(host)));
        words::waits(found).iter().for_each(|text| page.item(Tone::Plain, text));
    });
    found.notes.iter().for_each(|note| screen.warning(note));
    if found.cells.is_empty() {
        let nothing = "No phase was recorded by all ranks, so nothing can be compared.";
        screen.toned(Tone::Bad, nothing);
        screen.on_page(|page| page.not_available(&found.not_available));
        return screen;
    }
    screen.gap();
    if let Some(verdict) = words::verdict(found) {
        // A page begins with this.
        screen.in_terminal(|terminal| {
            terminal.headline(&verdict);
            terminal.gap();
        });
    }
    screen.table(table(&found.cells));
    screen.note(words::LEGEND);
    screen.picture(figure::figure(&found.cells), figure::CAPTION);
    screen.on_page(|page| page.heading("What explains the difference"));
    explained::add(found, view, &mut screen);
    if !found.not_available.is_empty() {
        screen.gap();
    }
    screen.not_available(&found.not_available);
    screen.path("recording", view);
    screen
}

/// What is measured and predicted.
const HOW: &str = "Ranks compute for a grain, synchronise, and compute again, so noise on one rank delays all. The measured slowdown is compared with the recursion, which is computed from the detours that the same ranks recorded.";

/// Describes the work and what joined the ranks.
fn what(found: &Bsp) -> String {
    let ranks = found.cells.iter().map(|cell| cell.ranks).max().unwrap_or(0);
    let through = found.through.as_ref().map(|through| clip(through, 40));
    let joined = through.map_or(String::new(), |through| format!(" joined by {through}"));
    format!("work {}, {}{joined}", found.kernel, counted(ranks, "rank", "ranks"))
}

/// Describes a host with its ranks and CPUs.
pub(crate) fn host_line(host: &HostFacts) -> String {
    let ranks = counted(host.ranks.len() as u64, "rank", "ranks");
    let list = |numbers: &[u32]| clip(&cpu_list(numbers), 16);
    let cpus = if host.cpus.len() == 1 { "CPU" } else { "CPUs" };
    format!(
        "{} · {ranks} ({}) on {cpus} {}",
        clip(&host.name, 28),
        list(&host.ranks),
        list(&host.cpus)
    )
}

/// Returns one row for each grain and kind of synchronisation.
fn table(cells: &[Cell]) -> Table {
    Table::with_rows(cells)
        .number("grain", |cell| asked(cell.grain_ns))
        .name("sync", words::meeting)
        .number("ranks", |cell| count(cell.ranks))
        .number("undisturbed", |cell| exact(cell.undisturbed.ns.value))
        .number("measured", |cell| loss(cell.measured.value))
        .number("95 %", |cell| {
            let lost = cell.measured;
            bounds(lost.interval, lost.at_least, |bound| loss_number(bound, lost.value))
        })
        .number("recursion", |cell| {
            cell.predicted.map_or("–".into(), |estimate| loss(estimate.value))
        })
        .number("ratio", |cell| cell.ratio.map_or("–".into(), |estimate| ratio(estimate.value)))
        .number("95 %", |cell| {
            cell.ratio.map_or("–".into(), |estimate| {
                bounds(estimate.interval, estimate.at_least, ratio)
            })
        })
        .captioned("Measured and predicted slowdown of each case")
}
