//! What the kernel's own counters suggest when no kernel events were recorded.

use crate::screen::Screen;
use crate::style::{Tone, View, plain};
use crate::units::{count, cpu_list, rate, share};
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
    screen.heading("suspects (kernel counters that increased; not a proof of the cause)");
    if suspects.is_empty() {
        screen.line("  none: no kernel counter increased, or none could be read");
    }
    let shown = if view.all { suspects.len() } else { SHOWN.min(suspects.len()) };
    for suspect in &suspects[..shown] {
        let much = match (suspect.time_share, suspect.rate_per_s) {
            (Some(time), _) => format!("{} of the time", share(time)),
            (None, Some(per_s)) => format!("{}/s", rate(per_s)),
            (None, None) => count(suspect.total),
        };
        let text = format!("  {:<46}{much:>18}  {}", plain(&suspect.what), on(&suspect.cpus, run));
        screen.clipped(Tone::Plain, &text);
    }
    if shown < suspects.len() {
        screen.context(&format!("  {} more", suspects.len() - shown));
    }
}

fn on(cpus: &[u32], run: &Facts) -> String {
    if cpus.len() == run.cpus.len() && cpus.len() > 1 {
        "on each CPU".into()
    } else {
        format!("on CPU {}", cpu_list(cpus))
    }
}
