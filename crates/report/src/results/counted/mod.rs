//! What another tool counted by length: a row for each CPU.

mod row;

pub use row::COUNTED;

use crate::heading;
use crate::screen::Screen;
use crate::style::View;
use crate::table::Table;
use crate::units::{between, count, counted as number, cpu_list, length, noise, rate, span};
use anechoic_analyze::Counted;
use anechoic_analyze::counted::{CountedCpu, LengthAt, Within};

/// With more CPUs than this the table shows only those with the longest.
const MOST_ROWS: usize = 16;

/// Shows what another tool counted on each CPU.
#[must_use]
pub(crate) fn counted(found: &Counted, view: &View<'_>) -> Screen {
    let mut screen = Screen::default();
    let run = &found.run;
    screen.heading(&heading::machine(run));
    let cpus = number(run.cpus.len() as u64, "CPU", "CPUs");
    let time = match run.wall_ns {
        0 => "for a time that is not known".to_owned(),
        ns => format!("for {}", span(ns)),
    };
    screen.context(&format!(
        "{cpus} ({}) {time} · {}",
        cpu_list(&run.cpus),
        heading::by_length(run)
    ));
    screen.gap();
    screen.sentence(&headline(found));
    screen.gap();
    let mut rows: Vec<&CountedCpu> = found.cpus.iter().collect();
    let folded = rows.len() > MOST_ROWS && !view.all;
    if folded {
        rows.sort_by_key(|cpu| {
            std::cmp::Reverse(cpu.lengths.last().map(|longest| longest.ns.at_least))
        });
        rows.truncate(MOST_ROWS);
    }
    screen.table(table(found, &rows));
    if folded {
        let all = found.cpus.len();
        screen.note(&format!("the {MOST_ROWS} of {all} CPUs with the longest; --all shows all"));
    }
    screen.gap();
    for note in &run.notes {
        screen.note(note);
    }
    screen.note("only counts are known: causes, times, and what comes together are not known");
    screen
}

/// Returns the sentence that says most.
pub(crate) fn headline(found: &Counted) -> String {
    let (total, what) = (&found.total, if found.latencies { "latency" } else { "detour" });
    let Some(longest) = total.lengths.last() else {
        return format!("No {what} was counted.");
    };
    let many = if found.latencies { "latencies" } else { "detours" };
    let longest =
        format!("longest of {} took {}.", number(total.number, what, many), within(longest));
    match total.noise {
        Some(noise) => format!("{} of the CPU time was lost; the {longest}", share(noise)),
        None => format!("The {longest}"),
    }
}

fn table(found: &Counted, rows: &[&CountedCpu]) -> Table {
    let mut heads = vec!["CPU", "noise", "number", "per s"];
    let quantiles = ["min", "p50", "p90", "p99", "p99.9", "max"];
    heads.extend(quantiles);
    if found.latencies {
        heads.remove(1);
    }
    let mut table = Table::numeric(&heads);
    let several = rows.len() > 1;
    for cpu in rows.iter().copied().chain(several.then_some(&found.total)) {
        let mut cells = vec![cpu.cpu.map_or("all".to_owned(), |cpu| cpu.to_string())];
        if !found.latencies {
            cells.push(cpu.noise.map_or("–".into(), share));
        }
        cells.push(count(cpu.number));
        cells.push(cpu.rate_per_s.map_or("–".into(), rate));
        cells.extend(cpu.lengths.iter().map(within));
        cells.resize(heads.len(), "–".into());
        table.row(cells);
    }
    table.captioned("What was counted on each CPU").leaving_out(&["p99.9", "p90", "min"])
}

/// Returns bounds of a length, as one if they look the same.
fn within(quantile: &LengthAt) -> String {
    range(length(quantile.ns.at_least), &length(quantile.ns.at_most))
}

fn share(bounds: Within<f64>) -> String {
    range(noise(bounds.at_least), &noise(bounds.at_most))
}

/// Writes both ends, with their unit once; as one if they look the same.
fn range(low: String, high: &str) -> String {
    let unit = high.rsplit_once(' ').map_or("", |(_, unit)| unit);
    match low.strip_suffix(unit) {
        _ if low == high => low,
        Some(number) if !unit.is_empty() => between(number.trim_end(), high),
        _ => between(&low, high),
    }
}
