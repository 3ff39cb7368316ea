//! The screen of a bulk-synchronous job: what noise cost it, beside what the same phases' detours predict.

pub(crate) mod explained;
mod figure;
pub(crate) mod words;

use crate::screen::Screen;
use crate::style::{Tone, View, clip, plain, wrap};
use crate::table::{Align, Table};
use crate::units::{asked, count, counted, cpu_list};
use anechoic_predict::bsp::{Bsp, Cell, HostFacts};
use std::io::{self, Write};

/// Hosts that are named, at most.
const HOSTS: usize = 4;

/// What was measured beside what was predicted, and where the two part.
#[must_use]
pub fn bsp(found: &Bsp, view: &View<'_>) -> Screen {
    Screen::printed(|out| print(found, view, out))
}

fn print(found: &Bsp, view: &View<'_>, out: &mut dyn Write) -> io::Result<()> {
    let title = "bulk-synchronous job: what noise cost, measured beside predicted";
    writeln!(out, "{}", view.style.paint(Tone::Heading, title))?;
    let through = found
        .through
        .as_ref()
        .map_or(String::new(), |through| format!(" · ranks joined by {}", clip(through, 40)));
    quiet(&clip(&plain(&format!("work {}{through}", found.kernel)), view.columns()), view, out)?;
    for host in found.hosts.iter().take(HOSTS) {
        quiet(&clip(&plain(&host_line(host)), view.columns()), view, out)?;
    }
    if let Some(more) = found.hosts.len().checked_sub(HOSTS).filter(|&more| more > 0) {
        quiet(&format!("and {}", counted(more as u64, "more host", "more hosts")), view, out)?;
    }
    for note in &found.notes {
        paragraph(&format!("! {note}"), Tone::Warning, view, out)?;
    }
    if found.cells.is_empty() {
        return paragraph("no phase is known of all ranks", Tone::Bad, view, out);
    }
    writeln!(out)?;
    if let Some(verdict) = words::verdict(found) {
        paragraph(&verdict, Tone::Heading, view, out)?;
        writeln!(out)?;
    }
    table(&found.cells).fit(view.columns()).write(view.style, out)?;
    paragraph(words::LEGEND, Tone::Quiet, view, out)?;
    figure::write(&found.cells, view, out)?;
    explained::write(found, view, out)?;
    if !found.not_available.is_empty() {
        writeln!(out)?;
    }
    for gone in &found.not_available {
        let text = format!("not available: {}: {}; {}", gone.what, gone.why, gone.remedy);
        paragraph(&text, Tone::Quiet, view, out)?;
    }
    match view.path {
        Some(path) => quiet(&format!("\nrecording: {}", path.display()), view, out),
        None => Ok(()),
    }
}

/// A host with its ranks and CPUs.
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

/// One line a grain and kind of meeting.
pub(crate) fn table(cells: &[Cell]) -> Table {
    let right = |head| (head, Align::Right);
    let heads = [
        right("grain"),
        ("meeting", Align::Left),
        right("ranks"),
        right("undisturbed"),
        right("measured"),
        right("95 %"),
        right("recursion"),
        right("ratio"),
        right("95 %"),
    ];
    let mut table = Table::new(&heads);
    for cell in cells {
        table.row(vec![
            asked(cell.grain_ns),
            words::meeting(cell),
            count(cell.ranks),
            words::exact(cell.undisturbed.ns.value),
            words::loss(cell.measured.value),
            words::loss_interval(&cell.measured),
            cell.predicted.map_or("–".into(), |of| words::loss(of.value)),
            cell.ratio.map_or("–".into(), |of| words::ratio(of.value)),
            cell.ratio.map_or("–".into(), |of| words::ratio_interval(&of)),
        ]);
    }
    table
}

fn quiet(line: &str, view: &View<'_>, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{}", view.style.paint(Tone::Quiet, line))
}

/// Text in lines of one tone.
fn paragraph(text: &str, tone: Tone, view: &View<'_>, out: &mut dyn Write) -> io::Result<()> {
    let mut lines = wrap(&plain(text), view.columns()).into_iter();
    lines.try_for_each(|line| writeln!(out, "{}", view.style.paint(tone, &line)))
}
