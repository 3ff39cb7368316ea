//! The screen of a bulk-synchronous job: its measured slowdown beside the one predicted from the detours of the same
//! phases.

pub(crate) mod explained;
mod figure;
pub(crate) mod words;

use crate::phases::not_available;
use crate::screen::Screen;
use crate::style::{Tone, View, clip};
use crate::table::Table;
use crate::units::{asked, count, counted, cpu_list, exact, loss, ratio};
use anechoic_predict::bsp::{Bsp, Cell, HostFacts};

/// Shows measured and predicted slowdown, and what explains the difference.
#[must_use]
pub fn bsp(found: &Bsp, view: &View<'_>) -> Screen {
    let mut screen = Screen::default();
    screen.heading("bulk-synchronous job: slowdown by noise, measured and predicted");
    let through = found
        .through
        .as_ref()
        .map_or(String::new(), |through| format!(" · ranks joined by {}", clip(through, 40)));
    screen.context(&format!("work {}{through}", found.kernel));
    screen.contexts(&found.hosts, host_line, ["host", "hosts"]);
    found.notes.iter().for_each(|note| screen.warning(note));
    if found.cells.is_empty() {
        screen.toned(Tone::Bad, "no phase was recorded by all ranks");
        return screen;
    }
    screen.gap();
    if let Some(verdict) = words::verdict(found) {
        screen.headline(&verdict);
        screen.gap();
    }
    add_cells(found, &mut screen);
    screen.charts(figure::figure(&found.cells));
    explained::add(found, view, &mut screen);
    if !found.not_available.is_empty() {
        screen.gap();
    }
    not_available(&found.not_available, &mut screen);
    screen.path("recording", view);
    screen
}

/// Adds the slowdown in each case and explains the columns.
pub(crate) fn add_cells(found: &Bsp, screen: &mut Screen) {
    screen.table(table(&found.cells));
    screen.note(words::LEGEND);
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
    Table::of_rows(cells)
        .number("grain", |cell| asked(cell.grain_ns))
        .name("sync", words::meeting)
        .number("ranks", |cell| count(cell.ranks))
        .number("undisturbed", |cell| exact(cell.undisturbed.ns.value))
        .number("measured", |cell| loss(cell.measured.value))
        .number("95 %", |cell| words::loss_interval(&cell.measured))
        .number("recursion", |cell| cell.predicted.map_or("–".into(), |of| loss(of.value)))
        .number("ratio", |cell| cell.ratio.map_or("–".into(), |of| ratio(of.value)))
        .number("95 %", |cell| cell.ratio.map_or("–".into(), |of| words::ratio_interval(&of)))
        .captioned("Measured and predicted slowdown of each case")
}
