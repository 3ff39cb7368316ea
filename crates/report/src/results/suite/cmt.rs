//! The screen of tick kernels: the table of the CMT study, measured and published.

mod others;
mod scale;

use super::absolute::{self, Level};
use super::ticks::{self, Extra};
use super::{Study, add_set, cell};
use crate::published::{
    CMT, CMT_KERNELS, CMT_LEAST_REPETITIONS, CMT_MAIV_PPM, CMT_SETS, CYCLES, CmtSet, OTHER_CORE,
    RADOJKOVIC, SAME_STRAND, SIBLING_STRAND, TICK_OVERHEAD, Value, find,
};
use crate::results::measured::series::moved_note;
use crate::style::Tone;
use crate::table::Table;
use crate::units::{between, fine, loss, noise};
use anechoic_analyze::Interference;
use anechoic_analyze::interference::Proximity;
use anechoic_analyze::samples::{Measured, SeriesResult};
use anechoic_predict::phases::PhaseModel;

/// What was measured of the experiments of the CMT study.
#[derive(Debug, Clone, Default)]
pub struct CmtSets {
    /// Tick kernels, a set for each recording.
    pub measured: Vec<Measured>,
    /// Interrupts on one CPU, and kernels on another.
    pub interference: Option<Interference>,
    /// The slowdown of a job, predicted from detours.
    pub phases: Option<PhaseModel>,
}

/// Shows the experiments of the CMT study: what noise costs at scale, and what one tick costs each kernel on each CPU,
/// beside Table 1 of Radojković 2008.
#[must_use]
pub fn suite_cmt(found: &CmtSets) -> Study {
    let sets = &found.measured[..];
    let facts = sets.first().map(|set| &set.run);
    let mut study = Study::begin(
        "tick kernels: the overhead of the operating system",
        &RADOJKOVIC,
        facts.or(found.interference.as_ref().map(|interference| &interference.run)),
    );
    study.changed.extend(changed(sets));
    study.foremost = "figures of ";
    let screen = &mut study.shown;
    if let Some(phases) = &found.phases {
        scale::figure_1(phases, screen);
    }
    for set in sets {
        add_set(set, "repetitions", screen);
        let cycles: [Extra<'_>; 2] = [
            Extra { head: "CPI", cell: &cycles_here },
            Extra { head: "paper CPI", cell: &|series| there(series, CYCLES, "CPI") },
        ];
        if ticks::has_overhead(set) {
            let there = Extra {
                head: "paper, µs",
                cell: &|series| there(series, TICK_OVERHEAD, SAME_STRAND),
            };
            ticks::add(set, &cycles, &[there], screen);
        } else {
            screen.table(ticks::sums(set, &cycles));
            moved_note(set.series.iter()).iter().for_each(|text| screen.note(text));
        }
        ticks::add_unpinned(set, screen);
    }
    let lasting =
        |ns| move |set: &&Measured| set.series.iter().any(|series| series.facts.grain_ns == ns);
    let [short, .., long] = CMT_SETS.map(|set| set.repetition_ns);
    if let Some(set) = sets.iter().find(lasting(short)) {
        absolute::over_time(set, "Figure 4", &levels(&[LONGEST], 1e3), screen);
    }
    others::figures_5_and_6(found.interference.as_ref(), screen);
    screen.section(&format!(
        "published: average overhead of one tick ({}, Table 1)",
        RADOJKOVIC.short
    ));
    screen.table(table_1());
    if let Some(set) = sets.iter().find(lasting(long)) {
        // Cycles of a processor of 1 GHz.
        absolute::over_time(set, "Figure 8", &levels(&SECONDS, 1.0), screen);
        absolute::counts(set, "Figure 9", &levels(&SECONDS, 1.0), screen);
    }
    if found.has_any() {
        screen.section(&format!("figures of {}, and here", RADOJKOVIC.short));
        screen.table(figures(found));
        screen.note(
            "here: from the least to the greatest of the pinned series of all sets; rate: of the kernel's events; cost of a \
             tick: its mean where nothing else came; longest: the longest repetition of a series; range: the longest over the shortest; on other \
             CPUs: the mean cost of an interrupt as a share of a repetition; 1,024 processors: predicted; –: not measured here",
        );
    }
    screen.section("limits of the comparison");
    caveats(sets).iter().for_each(|text| screen.item(Tone::Plain, text));
    study
}

impl CmtSets {
    fn has_any(&self) -> bool {
        !self.measured.is_empty() || self.interference.is_some() || self.phases.is_some()
    }
}

/// Experiment, row and column of a published value.
type Place = [&'static str; 3];

/// The longest repetition of 100 µs in Figure 4.
const LONGEST: Place = ["peaks", "Linux", "longest repetition of 100 µs"];
/// Repetitions of 1 s in Figures 8 and 9.
const SECONDS: [Place; 3] = [
    ["repetition of 1 s", "Netra DPS", "cycles"],
    ["repetition of 1 s", "Solaris strand 4", "cycles"],
    ["repetition of 1 s", "Solaris strand 0", "cycles"],
];

/// Returns published values as lines; `ns` is one unit of them.
fn levels(places: &[Place], ns: f64) -> Vec<Level> {
    let levels = places.iter().filter_map(|&[experiment, row, column]| {
        let value = find(&CMT, experiment, row, column)?.value;
        Some(Level::new(&published([experiment, row, column]), value, ns))
    });
    levels.collect()
}

/// Returns the measured cycles per instruction.
fn cycles_here(series: &SeriesResult) -> String {
    let cycles = series.pace.as_ref().and_then(|pace| pace.cycles);
    cell(cycles.map(|cycles| cycles.per_instruction), |cycles| format!("{cycles:.2}"))
}

/// Returns the published value for a kernel of this name, or a dash if the study did not have it.
fn there(series: &SeriesResult, experiment: &str, column: &str) -> String {
    let found = find(&CMT, experiment, &series.facts.variant, column);
    found.map_or("–".into(), |cell| cell.value.text())
}

/// Returns the table of the study as published.
fn table_1() -> Table {
    let columns = [SAME_STRAND, SIBLING_STRAND, OTHER_CORE];
    let heads = ["cycles", SAME_STRAND, SIBLING_STRAND, OTHER_CORE];
    let mut table = Table::with_names("kernel", &heads).captioned("Published overhead of one tick");
    for kernel in CMT_KERNELS {
        let cell = |experiment, column| {
            find(&CMT, experiment, kernel, column).map_or("–".into(), |cell| cell.text())
        };
        let cycles =
            find(&CMT, CYCLES, kernel, "CPI").map_or("–".into(), |cell| cell.value.text());
        let mut row = vec![kernel.to_owned(), cycles];
        row.extend(columns.map(|column| cell(TICK_OVERHEAD, column)));
        table.row(row);
    }
    table
}

/// What a figure of the study shows, of which each series has one value.
struct Figure {
    name: &'static str,
    /// Experiment, row and column of the published value.
    published: Place,
    /// Set whose repetitions are as long as those of the figure.
    set: CmtSet,
    value: fn(&SeriesResult) -> Option<f64>,
    text: fn(f64) -> String,
}

const FIGURES: [Figure; 8] = {
    let [short, .., long] = CMT_SETS;
    [
        Figure {
            name: "rate of the ticks",
            published: ["peaks", "Linux", "frequency"],
            set: short,
            value: ticks_hz,
            text: |hz| format!("{hz:.1} Hz"),
        },
        Figure {
            name: "cost of a tick",
            published: ["peaks", "Linux", "duration"],
            set: short,
            value: tick_ns,
            text: fine,
        },
        Figure {
            name: "the same, of 100 µs",
            published: [TICKS, "Linux and Solaris", "same strand"],
            set: short,
            value: |series| Some(tick_ns(series)? / series.facts.grain_ns as f64),
            text: loss,
        },
        Figure {
            name: "longest of 100 µs",
            published: LONGEST,
            set: short,
            value: |series| Some(series.distribution.as_ref()?.max),
            text: fine,
        },
        Figure {
            name: "over the shortest",
            published: ["peaks", "Linux", "slowdown of the longest repetition"],
            set: short,
            value: slowdown,
            text: loss,
        },
        Figure {
            name: "repetition of 1 s",
            published: SECONDS[0],
            set: long,
            value: |series| Some(series.distribution.as_ref()?.mean),
            text: seconds,
        },
        Figure {
            name: "repetition of 1 s",
            published: SECONDS[2],
            set: long,
            value: |series| Some(series.distribution.as_ref()?.mean),
            text: seconds,
        },
        Figure {
            name: "range of 1 s",
            published: ["repetition of 1 s", "Solaris strand 0", "range of variation"],
            set: long,
            value: slowdown,
            text: loss,
        },
    ]
};

/// What the study states beside its repetitions, and what of this is known here.
const ELSEWHERE: [(&str, Place, Here); 8] = [
    ("rate of the ticks", ["peaks", "Solaris", "frequency"], Here::Nothing),
    ("cost of a tick", ["peaks", "Solaris", "duration"], Here::Nothing),
    (
        "cost on a sibling",
        [TICKS, "Linux and Solaris", SIBLING_STRAND],
        Here::Cost(others::is_sibling),
    ),
    (
        "cost on another core",
        [TICKS, "Linux and Solaris", OTHER_CORE],
        Here::Cost(others::is_other_core),
    ),
    ("repetition of 1 s", SECONDS[1], Here::Nothing),
    (
        "range of 1 s",
        ["repetition of 1 s", "Solaris strand 4", "range of variation"],
        Here::Nothing,
    ),
    ("1,024 processors", [scale::AT_MOST, "100 µs", "grain"], Here::Slowdown),
    ("1,024 processors", [scale::AT_MOST, "1 ms", "grain"], Here::Slowdown),
];

/// What this suite has beside such a value.
#[derive(Clone, Copy)]
enum Here {
    /// Nothing: it needs another system.
    Nothing,
    /// The cost of an interrupt at these distances.
    Cost(fn(Proximity) -> bool),
    /// The predicted slowdown.
    Slowdown,
}

impl Here {
    fn text(self, place: Place, found: &CmtSets) -> Option<String> {
        match self {
            Self::Nothing => None,
            Self::Cost(is_at) => others::here(found.interference.as_ref()?, is_at),
            Self::Slowdown => scale::here(found.phases.as_ref()?, place),
        }
    }
}

/// Experiment of the study's abstract.
const TICKS: &str = "overhead of the timer interrupt";

/// Writes a time of about a second with the places of Figure 9.
fn seconds(ns: f64) -> String {
    format!("{:.4} s", ns / 1e9)
}

/// Returns the rate of the ticks in the repetitions in which they are known.
fn ticks_hz(series: &SeriesResult) -> Option<f64> {
    let ticks = series.ticks.as_ref().filter(|ticks| ticks.ticks > 0 && ticks.known_ns > 0.0)?;
    Some(ticks.ticks as f64 / ticks.known_ns * 1e9)
}

/// Returns the mean cost of a tick in repetitions that nothing else disturbed.
fn tick_ns(series: &SeriesResult) -> Option<f64> {
    Some(series.ticks.as_ref()?.clean.as_ref()?.per_tick_ns)
}

/// Returns by what share the longest repetition exceeds the shortest.
fn slowdown(series: &SeriesResult) -> Option<f64> {
    let distribution = series.distribution.as_ref()?;
    Some(distribution.max / distribution.min - 1.0)
}

/// Returns what a figure shows here: the least and the greatest value of the pinned series.
fn here(figure: &Figure, sets: &[Measured]) -> Option<String> {
    let series = sets.iter().flat_map(|set| &set.series).filter(|series| {
        series.facts.cpu.is_some() && series.facts.grain_ns == figure.set.repetition_ns
    });
    let values = series.filter_map(figure.value).collect::<Vec<_>>();
    let least = (figure.text)(values.iter().copied().reduce(f64::min)?);
    let greatest = (figure.text)(values.iter().copied().reduce(f64::max)?);
    Some(if least == greatest { least } else { format!("{least} to {greatest}") })
}

/// Returns what the study's figures show, beside the same of these sets.
fn figures(found: &CmtSets) -> Table {
    let mut table = Table::with_names("figure", &["published", "here"])
        .captioned("Figures of the study, published and measured");
    for figure in FIGURES {
        let here = here(&figure, &found.measured).unwrap_or_else(|| "–".to_owned());
        table.row(vec![figure.name.to_owned(), published(figure.published), here]);
    }
    for (name, place, here) in ELSEWHERE {
        let here = here.text(place, found).unwrap_or_else(|| "–".to_owned());
        table.row(vec![name.to_owned(), published(place), here]);
    }
    table
}

/// Compares ticks and what they do to short repetitions; absent if there are none.
fn changed(sets: &[Measured]) -> Option<String> {
    let [rate, .., slower, _, _, _] = FIGURES;
    let there =
        |[experiment, row, column]: Place| Some(find(&CMT, experiment, row, column)?.text());
    Some(format!(
        "In the study ticks came at {} and made repetitions of 100 µs up to {} longer than the shortest; here ticks come at \
         {}, and the longest repetition, disturbed by them and by all else, exceeds the shortest by {}.",
        there(rate.published)?,
        there(slower.published)?,
        here(&rate, sets)?,
        here(&slower, sets)?
    ))
}

/// Writes a published value with the row that it belongs to.
fn published([experiment, row, column]: Place) -> String {
    let Some(cell) = find(&CMT, experiment, row, column) else { return "–".to_owned() };
    let text = match (cell.unit, cell.value.number()) {
        // Cycles of a processor of 1 GHz, on which a repetition takes a billion of them.
        ("cycles", Some(cycles)) if column == "cycles" => seconds(cycles),
        ("cycles", Some(cycles)) => noise(cycles / 1e9),
        ("cycles", None) => match cell.value {
            Value::Between(low, high) => between(&seconds(low), &seconds(high)),
            _ => cell.text(),
        },
        _ => cell.text(),
    };
    format!("{row} {text}")
}

fn caveats(sets: &[Measured]) -> Vec<String> {
    let mut texts = vec![
        "The machines differ: the study used a processor with several strands per core. Compare rows with each other \
         and the parts of a tick's cost, not absolute times."
            .to_owned(),
        "\"paper, µs\" is the column of the strand that takes the tick, because here each kernel runs on the CPU that takes \
         the tick. The cost on other CPUs is that of injected interrupts, which do nothing but enter and leave the kernel, not of the \
         tick of a system that has it on one CPU only."
            .to_owned(),
        "The study's figure is \"overhead\". It includes whatever coincides with ticks: on a busy machine mostly other \
         threads. \"alone\" excludes that."
            .to_owned(),
        format!(
            "The stopping rule has the study's parameters ({} %, at least {CMT_LEAST_REPETITIONS} repetitions) and \
             takes the last half of the repetitions as the steady state.",
            f64::from(CMT_MAIV_PPM) / 1e4
        ),
    ];
    let any = |test: fn(&SeriesResult) -> bool| sets.iter().flat_map(|set| &set.series).any(test);
    if any(|series| series.pace.as_ref().is_some_and(|pace| pace.cycles.is_none())) {
        texts.push(
            "Cycles are calibrated with a chain of additions; some recordings lack this calibration."
                .to_owned(),
        );
    }
    if sets.iter().any(|set| set.run.hypervisor.is_some()) {
        texts.push(
            "This machine is a guest: the gaps contain the hypervisor's part of each tick."
                .to_owned(),
        );
    }
    if any(|series| series.ticks.is_none() && series.facts.cpu.is_some()) {
        texts.push(
            "Some series have no ticks recorded: this needs kernel events (run as root)."
                .to_owned(),
        );
    }
    texts
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The study's table, or the table of its figures, shows each number that the file of the study has.
    #[test]
    fn every_published_number_is_on_the_screen() {
        let figures = FIGURES.iter().map(|figure| figure.published);
        let places: Vec<Place> = figures.chain(ELSEWHERE.map(|(_, place, _)| place)).collect();
        for number in CMT.iter() {
            let place = [number.experiment, number.row, number.column];
            let in_table_1 = [CYCLES, TICK_OVERHEAD].contains(&number.experiment);
            assert!(in_table_1 || places.contains(&place), "{number:?}");
        }
        for place in places {
            assert_ne!(published(place), "–", "{place:?}");
        }
    }
}
