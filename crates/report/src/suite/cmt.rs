//! The screen of tick kernels: the table of the CMT study, measured and published.

use super::ticks::{self, Extra};
use super::{add_set, begin, cell};
use crate::published::{
    CMT, CMT_KERNELS, CMT_LEAST_REPETITIONS, CMT_MAIV_PPM, CYCLES, OTHER_CORE, RADOJKOVIC,
    SAME_STRAND, SIBLING_STRAND, TICK_OVERHEAD, find,
};
use crate::screen::Screen;
use crate::style::{Tone, View};
use crate::table::Table;
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
