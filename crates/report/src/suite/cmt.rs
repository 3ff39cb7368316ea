//! Tick kernels: the CMT study's table here and there.

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

/// The CMT study's experiments, one set a recording: for each kernel on each CPU what one
/// tick cost it, beside Table 1 of Radojković 2008.
#[must_use]
pub fn suite_cmt(sets: &[Measured], view: &View<'_>) -> Screen {
    let mut screen = begin("tick kernels: the overhead of the operating system", &RADOJKOVIC, sets);
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
    screen.section("what this does not compare");
    caveats(sets).iter().for_each(|text| screen.item(Tone::Plain, text));
    screen.path("recordings", view);
    screen
}

/// Cycles that one instruction took here.
fn cycles_here(series: &SeriesResult) -> String {
    let cycles = series.pace.as_ref().and_then(|pace| pace.cycles);
    cell(cycles.map(|cycles| cycles.per_instruction), |cycles| format!("{cycles:.2}"))
}

/// What the study has for a kernel of this name. A chain, which it had not, has nothing.
fn there(series: &SeriesResult, experiment: &str, column: &str) -> String {
    let found = find(&CMT, experiment, &series.facts.variant, column);
    found.map_or("–".into(), |cell| cell.value.text())
}

/// The study's table as it was published.
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
        "The machine is another one: there one of several strands on each core. Compare rows with \
         each other, and what a tick's cost is made of, not µs with µs."
            .to_owned(),
        "\"paper\" is the column of the strand that takes the tick, because a kernel here runs on \
         the CPU whose ticks it feels. What a tick does to a sibling strand or another core takes \
         interrupts placed on one CPU and a kernel on another; that is not part of these sets."
            .to_owned(),
        "The study's figure is the first one, \"overhead\". It also holds what ticks brought with them or \
         met by chance: on a busy machine other threads rule it. \"alone\" is without."
            .to_owned(),
        format!(
            "The stopping rule is the study's in its numbers ({} %, {CMT_LEAST_REPETITIONS} \
             repetitions at least), with the last half of the repetitions for the steady state.",
            f64::from(CMT_MAIV_PPM) / 1e4
        ),
    ];
    let any = |test: fn(&SeriesResult) -> bool| sets.iter().flat_map(|set| &set.series).any(test);
    if any(|series| series.pace.as_ref().is_some_and(|pace| pace.cycles.is_none())) {
        texts.push(
            "Cycles come from a chain of additions just before; some recordings do not hold how \
             long it took."
                .to_owned(),
        );
    }
    if sets.iter().any(|set| set.run.hypervisor.is_some()) {
        texts.push("This is a guest: the gaps hold the hypervisor's part of each tick.".to_owned());
    }
    if any(|series| series.ticks.is_none() && series.facts.cpu.is_some()) {
        texts.push(
            "Of some series ticks are not known: they need kernel events (run as root).".to_owned(),
        );
    }
    texts
}
