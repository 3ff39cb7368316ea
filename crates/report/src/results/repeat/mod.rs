//! Mean and spread of the noise over several runs.

mod row;

pub use row::REPEAT;

use crate::screen::Screen;
use crate::style::View;
use crate::table::Table;
use crate::units::{count, counted, length, noise, rate};
use anechoic_analyze::Repeat;
use anechoic_analyze::repeat::Spread;

/// With more CPUs than this the table shows only the noisiest.
const MOST_ROWS: usize = 16;

/// Shows mean and standard deviation of the noise over several runs.
#[must_use]
pub fn repeat(repeat: &Repeat, view: &View<'_>) -> Screen {
    let mut screen = Screen::default();
    let runs = counted(repeat.runs, "run", "runs");
    screen.heading(&format!("noise over {runs} (mean ± standard deviation)"));
    if repeat.ended_early > 0 {
        let runs =
            counted(repeat.ended_early, "run that ended early is", "runs that ended early are");
        screen.warning(&format!("{runs} left out"));
    }
    let mut cpus: Vec<_> = repeat.cpus.iter().collect();
    let folded = cpus.len() > MOST_ROWS && !view.all;
    if folded {
        cpus.sort_by(|a, b| b.noise.mean.total_cmp(&a.noise.mean).then(a.cpu.cmp(&b.cpu)));
        cpus.truncate(MOST_ROWS);
    }
    let mut table = Table::numeric(&["CPU", "mean", "± sd", "min", "max", "runs"]);
    for cpu in cpus {
        table.row(cells(cpu.cpu.to_string(), &cpu.noise));
    }
    table.row(cells("all".into(), &repeat.noise));
    screen.table(table.captioned("Noise of each CPU over all runs"));
    if folded {
        screen.note(&format!("the {MOST_ROWS} noisiest of {} CPUs", repeat.cpus.len()));
    }
    if !repeat.curve.is_empty() {
        screen.gap();
        screen.table(curve(repeat));
    }
    screen
}

/// Returns rate and noise as functions of the threshold, mean ± standard deviation.
fn curve(repeat: &Repeat) -> Table {
    let mut table = Table::numeric(&["detours over", "per s", "± sd", "noise", "± sd"]);
    for point in &repeat.curve {
        table.row(vec![
            length(point.threshold_ns),
            rate(point.rate_per_s.mean),
            point.rate_per_s.sd.map_or("–".into(), rate),
            noise(point.noise.mean),
            point.noise.sd.map_or("–".into(), noise),
        ]);
    }
    table.captioned("Rate and noise against the threshold")
}

fn cells(name: String, spread: &Spread) -> Vec<String> {
    let sd = spread.sd.map_or("–".into(), noise);
    let Spread { mean, min, max, runs, .. } = *spread;
    vec![name, noise(mean), sd, noise(min), noise(max), count(runs)]
}
