//! The histogram of a recording as lines that a person reads and gnuplot takes: comments begin with `#`.

mod row;

pub use row::{HISTOGRAM, OPTIONS};

use crate::heading;
use crate::results::longest::stopped;
use crate::screen::Screen;
use crate::style::View;
use crate::units::{asked, counted, cpu_list, span};
use anechoic_analyze::Histogram;
use anechoic_analyze::histogram::HistogramCpu;
use anechoic_recording::methods;

/// Width of the first column, and of the column of a CPU.
const COLUMNS: [usize; 2] = [12, 11];

/// Shows a line for each bucket that has a detour, and below it the numbers of each CPU.
#[must_use]
pub(crate) fn histogram(found: &Histogram, _: &View<'_>) -> Screen {
    let mut screen = Screen::default();
    for comment in head(found) {
        screen.line(&format!("# {comment}"));
    }
    let names = found.cpus.iter().map(|cpu| format!("CPU-{:03}", cpu.cpu));
    screen.line(&line("#us", names));
    for bucket in &found.buckets {
        let counts = bucket.counts.iter().map(u64::to_string);
        screen.line(&line(&micros(bucket.from_ns as f64), counts));
    }
    for (name, value) in TOTALS {
        screen.line(&line(name, found.cpus.iter().map(value)));
    }
    screen
}

/// A line below the buckets: its name, and what it shows of a CPU.
type Total = (&'static str, fn(&HistogramCpu) -> String);

const TOTALS: [Total; 6] = [
    ("#over", |cpu| cpu.over.to_string()),
    ("#count", |cpu| cpu.detours.to_string()),
    ("#lost", |cpu| cpu.lost.to_string()),
    ("#min(us)", |cpu| cpu.min_ns.map_or("-".into(), |ns| micros(ns as f64))),
    ("#avg(us)", |cpu| cpu.mean_ns.map_or("-".into(), micros)),
    ("#max(us)", |cpu| cpu.max_ns.map_or("-".into(), |ns| micros(ns as f64))),
];

/// Returns what was measured, and how the columns are to be read.
fn head(found: &Histogram) -> Vec<String> {
    let run = &found.run;
    let cpus = counted(run.cpus.len() as u64, "CPU", "CPUs");
    let (list, time) = (cpu_list(&run.cpus), span(run.wall_ns));
    let mut lines = vec![
        heading::machine(run),
        format!("{cpus} ({list}) for {time}{}{}", heading::over(run), heading::how(run)),
    ];
    lines.extend(heading::warnings(run));
    lines.extend(found.stopped.iter().map(|stopped| stopped::sentence(stopped, run)));
    let counted = methods::COUNTED.contains(&&*run.method);
    lines.push(match found.bucket_ns {
        None if counted => format!("{}, as another tool counted them", heading::by_length(run)),
        None => "number of detours by length: the shortest length of a bucket, ten of which are a power of ten".into(),
        Some(ns) => format!("number of detours by length: the shortest length of a bucket of {}", asked(ns)),
    });
    lines
}

fn line(first: &str, cells: impl Iterator<Item = String>) -> String {
    let [name, cpu] = COLUMNS;
    let cells: String = cells.map(|cell| format!(" {cell:>cpu$}")).collect();
    format!("{first:<name$}{cells}")
}

/// Returns a time in µs, to the nanosecond.
fn micros(ns: f64) -> String {
    format!("{:.3}", ns / 1e3)
}
