//! The screens of the papers' experiments: measured values beside published ones.

mod cmt;
mod ferreira;
mod loops;
mod memory;
mod paging;
mod selfish;
mod serial;
mod ticks;

pub use cmt::suite_cmt;
pub use ferreira::suite_ferreira;
pub use loops::{LOOPS_DELTAS, LOOPS_RATE, suite_loops};
pub use memory::suite_memory;
pub use paging::suite_paging;
pub use selfish::suite_selfish;
pub use serial::suite_ticks;

use crate::heading;
use crate::published::{Paper, Published};
use crate::screen::{Fact, Screen};
use crate::style::{Tone, clip, pad_left, width};
use crate::table::{Align, Table};
use crate::units::{asked, count, counted, cpu_list};
use anechoic_analyze::facts::Facts;
use anechoic_analyze::samples::{Measured, SeriesFacts, SeriesResult};

/// Widest name of a kernel.
const KERNEL: usize = 14;

/// Begins a screen with the paper and the machine of the first set.
fn begin(title: &str, paper: &Paper, run: Option<&Facts>) -> Screen {
    let mut screen = Screen::default();
    screen.heading(title);
    screen.note(paper.full);
    match run {
        Some(run) => screen.heading(&heading::machine(run)),
        None => screen.sentence("nothing was measured: there is no recording"),
    }
    screen
}

/// Adds the description of one set and whether it is complete; `what` names its samples.
fn add_set(set: &Measured, what: &str, screen: &mut Screen) {
    let facts = || set.series.iter().map(|series| &series.facts);
    let grains = distinct(facts().map(|facts| asked(facts.grain_ns))).join(", ");
    let most = distinct(facts().map(|facts| count(facts.asked))).join(", ");
    let cpus = if set.run.cpus.len() == 1 { "CPU" } else { "CPUs" };
    let list = clip(&cpu_list(&set.run.cpus), 24);
    let unwatched = facts().all(|facts| !facts.watched);
    let watched = if unwatched { ", not watched inside" } else { "" };
    screen.section(&format!("{what} of {grains}, up to {most} per series, {cpus} {list}{watched}"));
    heading::ended(&set.run).iter().for_each(|ended| screen.warning(ended));
    let partial = facts().filter(|facts| !facts.is_whole()).count() as u64;
    if partial > 0 {
        let partial = counted(partial, "series is", "series are");
        screen.warning(&format!("{partial} incomplete; the summary of the recording shows why"));
    }
}

/// Returns the texts in order without repetitions.
fn distinct(texts: impl Iterator<Item = String>) -> Vec<String> {
    texts.fold(vec![], |mut all, text| {
        if !all.contains(&text) {
            all.push(text);
        }
        all
    })
}

/// Returns whether the policies of a set differ, so that each row must name its own.
fn differs_in_policy(set: &Measured) -> bool {
    let policy = |series: &SeriesResult| series.facts.policy.to_string();
    distinct(set.series.iter().map(policy)).len() > 1
}

/// Begins a table of numbers with the columns that distinguish the series of a set.
fn table(set: &Measured, numbers: &[&str]) -> Table {
    const IDENTITY: [(&str, Align); 3] =
        [("kernel", Align::Left), ("CPU", Align::Right), ("policy", Align::Left)];
    let identity = if differs_in_policy(set) { 3 } else { 2 };
    let numbers = numbers.iter().map(|head| (*head, Align::Right));
    Table::new(&IDENTITY[..identity].iter().copied().chain(numbers).collect::<Vec<_>>())
}

/// Returns kernel, CPU and, if they differ, policy.
fn identity(set: &Measured, facts: &SeriesFacts) -> Vec<String> {
    let cpu = facts.cpu.map_or("any".into(), |cpu| cpu.to_string());
    let mut cells = vec![clip(&facts.variant, KERNEL), cpu];
    if differs_in_policy(set) {
        cells.push(facts.policy.to_string());
    }
    cells
}

/// Writes a value, or a dash if there is none.
fn cell(value: Option<f64>, text: impl Fn(f64) -> String) -> String {
    value.map_or("–".into(), text)
}

/// Adds the numbers that a paper published, one line each.
fn add_published(cells: &[Published], screen: &mut Screen) {
    let widest = cells.iter().map(|cell| width(&cell.text())).max().unwrap_or(0);
    let fact = |cell: &Published| {
        let text = format!("{}: {} ({})", cell.experiment, cell.row, cell.place);
        Fact::new(pad_left(&cell.text(), widest), Tone::Plain, text)
    };
    screen.list(widest + 2, cells.iter().map(fact).collect());
}
