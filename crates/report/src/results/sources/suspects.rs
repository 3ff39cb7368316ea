//! What the kernel's own counters suggest when no kernel events were recorded.

use crate::names::cpus;
use crate::screen::Screen;
use crate::style::View;
use crate::table::Table;
use crate::units::{count, rate, share};
use anechoic_analyze::facts::Facts;
use anechoic_analyze::suspects::Suspect;
use anechoic_recording::import::IMPORTED;

/// Number of suspects in a shortened list.
const SHOWN: usize = 10;

/// Adds the suspects.
pub(crate) fn add(suspects: &[Suspect], run: &Facts, view: &View<'_>, screen: &mut Screen) {
    if run.threshold_source == IMPORTED {
        return; // another tool read no counters
    }
    screen.in_terminal(|terminal| {
        terminal.heading("suspects (kernel counters that increased; not a proof of the cause)");
    });
    screen.on_page(|page| {
        page.note("No kernel events were recorded, so it is not certain what took the time. The suspects are the kernel counters that increased.");
    });
    if suspects.is_empty() {
        return screen.sentence("None: no kernel counter increased, or none could be read.");
    }
    let text = |value: Option<f64>, write: fn(f64) -> String| value.map_or("–".into(), write);
    let table = Table::with_rows(suspects)
        .name("counter", |suspect| suspect.what.clone())
        .number("share of the time", |suspect| text(suspect.time_share, share))
        .sorting(|suspect| suspect.time_share.unwrap_or(-1.0))
        .number("per s", |suspect| text(suspect.rate_per_s, rate))
        .sorting(|suspect| suspect.rate_per_s.unwrap_or(-1.0))
        .some_numbers("in all", 0, |suspect| in_all(suspect).map(count))
        .number("CPUs", |suspect| cpus(&suspect.cpus, run.cpus.len()))
        .sorting(|suspect| suspect.cpus.len() as f64)
        .captioned("Suspects")
        .sorted_by("share of the time");
    screen.table(table.first(SHOWN, view.all, |more| format!("{more} more")));
}

/// Returns how often it was counted if its rate is not known.
fn in_all(suspect: &Suspect) -> Option<u64> {
    (suspect.time_share.is_none() && suspect.rate_per_s.is_none()).then_some(suspect.total)
}
