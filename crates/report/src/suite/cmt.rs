//! The screen of tick kernels: the table of the CMT study, measured and published.

use super::ticks::{self, Extra};
use super::{add_set, begin, cell};
use crate::published::{
    CMT, CMT_KERNELS, CMT_LEAST_REPETITIONS, CMT_MAIV_PPM, CMT_SETS, CYCLES, OTHER_CORE,
    RADOJKOVIC, SAME_STRAND, SIBLING_STRAND, TICK_OVERHEAD, find,
};
use crate::screen::Screen;
use crate::style::{Tone, View};
use crate::table::Table;
use crate::units::{fine, noise};
use anechoic_analyze::samples::{Measured, SeriesResult};

/// Shows the experiments of the CMT study, one set for each recording: what one tick costs each kernel on each CPU,
/// beside Table 1 of Radojković 2008.
#[must_use]
pub fn suite_cmt(sets: &[Measured], view: &View<'_>) -> Screen {
    let mut screen = begin(
        "tick kernels: the overhead of the operating system",
        &RADOJKOVIC,
        sets.first().map(|set| &set.run),
    );
    for set in sets {
        add_set(set, "repetitions", &mut screen);
        let cycles: [Extra<'_>; 2] = [
            Extra { head: "cycles", cell: &cycles_here },
            Extra { head: "paper", cell: &|series| there(series, CYCLES, "CPI") },
        ];
        if ticks::has_overhead(set) {
            let there =
                Extra { head: "paper", cell: &|series| there(series, TICK_OVERHEAD, SAME_STRAND) };
            ticks::add(set, &cycles, &[there], &mut screen);
        } else {
            screen.table(ticks::sums(set, &cycles));
        }
        ticks::add_unpinned(set, &mut screen);
    }
    screen.section(&format!(
        "published: average overhead of one tick ({}, Table 1)",
        RADOJKOVIC.short
    ));
    screen.table(table_1());
    if !sets.is_empty() {
        screen.section(&format!("figures of {}, and here", RADOJKOVIC.short));
        screen.table(figures(sets));
        screen.note(
            "here: from the least to the greatest of the pinned series of all sets; rate: of the kernel's events; longest: the \
             longest repetition of a series; range: the longest over the shortest",
        );
    }
    screen.section("limits of the comparison");
    caveats(sets).iter().for_each(|text| screen.item(Tone::Plain, text));
    screen.path("recordings", view);
    screen
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
    let mut table = Table::of_named("kernel", &heads).captioned("Published overhead of one tick");
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

/// Returns what the study's figures show, beside the same of these sets.
fn figures(sets: &[Measured]) -> Table {
    let series = || sets.iter().flat_map(|set| &set.series).filter(|of| of.facts.cpu.is_some());
    let of_grain = |sums: bool, value: fn(&SeriesResult) -> Option<f64>| -> Vec<f64> {
        let [short, .., long] = CMT_SETS;
        let grain_ns = if sums { long.repetition_ns } else { short.repetition_ns };
        series().filter(|of| of.facts.grain_ns == grain_ns).filter_map(value).collect()
    };
    let ticks_hz = |of: &SeriesResult| {
        let ticks = of.ticks.as_ref()?.ticks as f64;
        (of.facts.wall_ns > 0 && ticks > 0.0).then(|| ticks / of.facts.wall_ns as f64 * 1e9)
    };
    let longest = |of: &SeriesResult| Some(of.distribution.as_ref()?.max);
    let slowdown = |of: &SeriesResult| {
        let of = of.distribution.as_ref()?;
        Some(of.max / of.min - 1.0)
    };
    let hertz = |hz: f64| format!("{hz:.1} Hz");
    // Figure 9 counts cycles of a processor of 1 GHz, whose repetition takes a billion of them.
    type Row = (&'static str, String, Vec<f64>, fn(f64) -> String);
    let rows: [Row; 4] = [
        (
            "rate of the ticks",
            published(&[("peaks", "Linux", "frequency")]),
            of_grain(false, ticks_hz),
            hertz,
        ),
        (
            "longest of 100 µs",
            published(&[("peaks", "Linux", "longest repetition of 100 µs")]),
            of_grain(false, longest),
            fine,
        ),
        (
            "over the shortest",
            published(&[("peaks", "Linux", "slowdown of the longest repetition")]),
            of_grain(false, slowdown),
            noise,
        ),
        (
            "range of 1 s",
            published(&[("repetition of 1 s", "Solaris strand 0", "range of variation")]),
            of_grain(true, slowdown),
            noise,
        ),
    ];
    let mut table = Table::of_named("figure", &["published", "here"])
        .captioned("Figures of the study, published and measured");
    for (name, published, values, text) in rows {
        let least = values.iter().copied().reduce(f64::min);
        let greatest = values.iter().copied().reduce(f64::max);
        let here = match (least.map(text), greatest.map(text)) {
            (Some(least), Some(greatest)) if least == greatest => least,
            (Some(least), Some(greatest)) => format!("{least} to {greatest}"),
            _ => "–".to_owned(),
        };
        table.row(vec![name.to_owned(), published, here]);
    }
    table
}

/// Writes published values with the row that they belong to; cycles as a share of a billion.
fn published(cells: &[(&str, &str, &str)]) -> String {
    let text = |(experiment, row, column): &(&str, &str, &str)| {
        let cell = find(&CMT, experiment, row, column)?;
        let text = match (cell.unit, cell.value.number()) {
            ("cycles", Some(cycles)) => noise(cycles / 1e9),
            _ => cell.text(),
        };
        Some(format!("{row} {text}"))
    };
    cells.iter().filter_map(text).collect::<Vec<_>>().join(", ")
}

fn caveats(sets: &[Measured]) -> Vec<String> {
    let mut texts = vec![
        "The machines differ: the study used a processor with several strands per core. Compare rows with each other \
         and the parts of a tick's cost, not absolute times."
            .to_owned(),
        "\"paper\" is the column of the strand that takes the tick, because here each kernel runs on the CPU that takes \
         the tick. The cost on a sibling strand or another core needs interrupts on one CPU and a kernel on another \
         (`anechoic measure interference`)."
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
