//! The screens of the papers' experiments: measured values beside published ones.

mod absolute;
mod cmt;
mod document;
mod ferreira;
mod loops;
mod memory;
mod paging;
mod row;
mod selfish;
mod serial;
mod sets;
mod ticks;

pub use row::SUITE;

pub use cmt::{CmtSets, suite_cmt};
pub use ferreira::suite_ferreira;
pub use loops::{LOOPS_DELTAS, LOOPS_PART, LOOPS_RATE, suite_loops};
pub use memory::suite_memory;
pub use paging::suite_paging;
pub use selfish::suite_selfish;
pub use serial::suite_ticks;
pub(crate) use sets::Set;

use crate::heading;
use crate::published::{Paper, Published};
use crate::screen::{Fact, Screen};
use crate::style::{Tone, View, clip, pad_left, width};
use crate::table::{Align, Table};
use crate::units::{asked, count, counted, cpu_list};
use anechoic_analyze::facts::Facts;
use anechoic_analyze::samples::{Measured, SeriesFacts, SeriesResult};

/// Widest name of a kernel.
const KERNEL: usize = 14;

/// Lines of a terminal.
const LINES: usize = 40;

/// Stands where no set was measured.
const NOTHING: &str = "nothing was measured: there is no recording";

/// The experiments of a paper as they were measured here.
#[derive(Debug, Clone)]
pub struct Study {
    /// What is measured.
    pub(crate) title: &'static str,
    /// The paper.
    pub(crate) paper: &'static Paper,
    /// What differs from the paper, in whole sentences.
    pub(crate) changed: Vec<String>,
    /// What is missing, damaged, not complete or left out, in whole sentences.
    pub(crate) lacking: Vec<String>,
    /// Why the results of some sets are doubtful, in whole sentences.
    pub(crate) doubts: Vec<String>,
    /// The sets that were measured.
    pub(crate) sets: Vec<Set>,
    /// What was published beside what was measured, with the figures in the order of the paper.
    pub(crate) shown: Screen,
    /// How the heading of its most important section begins, which a brief screen shows before the others.
    foremost: &'static str,
}

impl Study {
    fn new(title: &'static str, paper: &'static Paper) -> Self {
        let (changed, lacking, doubts, sets) = (vec![], vec![], vec![], vec![]);
        let (shown, foremost) = (Screen::default(), "published");
        Self { title, paper, changed, lacking, doubts, sets, shown, foremost }
    }

    /// Begins with the machine of the first set.
    fn begin(title: &'static str, paper: &'static Paper, run: Option<&Facts>) -> Self {
        let mut study = Self::new(title, paper);
        match run {
            Some(run) => study.shown.heading(&heading::machine(run)),
            None => study.shown.sentence(NOTHING),
        }
        study
    }

    /// States that the suite is not whole: what is missing, damaged, not complete or left out, each in a whole sentence.
    #[must_use]
    pub fn lacking(mut self, sentences: Vec<String>) -> Self {
        self.lacking.extend(sentences);
        self
    }

    /// Returns what keeps the suite from being whole, each in a whole sentence.
    #[must_use]
    pub fn lacks(&self) -> &[String] {
        &self.lacking
    }

    /// Returns everything as one screen, or what a terminal of 40 lines has room for, without figures and notes.
    #[must_use]
    pub fn screen(&self, view: &View<'_>) -> Screen {
        let mut screen = Screen::default();
        screen.heading(&format!("{} ({})", self.title, self.paper.short));
        screen.note(self.paper.full);
        self.changed.iter().for_each(|sentence| screen.headline(sentence));
        self.lacking.iter().chain(&self.doubts).for_each(|sentence| screen.warning(sentence));
        screen.gap();
        let mut end = Screen::default();
        end.path("recordings", view);
        if view.all {
            screen.append(self.shown.clone());
        } else {
            end.note("--all shows everything, with figures and how to read the tables");
            let taken = [&screen, &end].map(|part| part.to_text(view).lines().count());
            let room = LINES.saturating_sub(taken.iter().sum());
            screen.append(self.shown.clone().in_brief(view).in_lines(
                room,
                Some(self.foremost),
                view,
            ));
        }
        screen.append(end);
        screen
    }
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
fn distinct<T: PartialEq>(texts: impl Iterator<Item = T>) -> Vec<T> {
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
    let facts = cells.iter().map(|cell| {
        let text = format!("{}: {} ({})", cell.experiment, cell.row, cell.place);
        Fact::new(pad_left(&cell.text(), widest), Tone::Plain, text)
    });
    screen.list(widest + 2, facts.collect());
}
