//! The screen of the interference matrix: what interrupts on one CPU cost work on another.

mod charts;
pub(crate) mod over_time;
mod row;
pub(crate) mod rows;
pub(crate) mod sure;
pub(crate) mod words;

pub use row::INTERFERENCE;

use crate::heading;
use crate::picture::{Heat, PART};
use crate::screen::Screen;
use crate::style::{Tone, View, clip};
use crate::units::{asked, count, counted, cpu_list, rate, span, timestamp};
use anechoic_analyze::Interference;
use anechoic_recording::injection::InjectionKind;

/// Shows what interrupts on each CPU cost each kernel on each CPU: by distance beside Table 1 of Radojković 2008, and
/// as a map of all pairs.
#[must_use]
pub fn interference(found: &Interference, view: &View<'_>) -> Screen {
    let mut screen = Screen::default();
    screen.in_terminal(|terminal| {
        terminal.heading(&heading::machine(&found.run));
        terminal.note(&what(found));
        heading::ended(&found.run).iter().for_each(|ended| terminal.warning(ended));
        terminal.gap();
        terminal.headline(&words::sentences(found));
    });
    if !found.classes.is_empty() {
        screen.section("cost of one interrupt by where the kernel runs");
        rows::add_classes(found, &mut screen);
    }
    if view.all && !found.pairs.is_empty() {
        // Of many CPUs, thousands of rows: the page has the maps.
        screen.in_terminal(|terminal| add_every_pair(found, terminal));
    }
    add_maps(found, view, &mut screen);
    screen.on_page(|page| {
        let drawn = over_time::charts(found).into_iter();
        drawn.for_each(|chart| page.picture(chart, over_time::CAPTION));
        page.note(&format!("Intervals: {}.", found.interval));
    });
    screen.gap();
    screen.facts(sure::facts(found));
    screen.path("recording", view);
    screen
}

fn add_every_pair(found: &Interference, screen: &mut Screen) {
    screen.section("every pair, µs");
    screen.note(rows::ALL);
    screen.table(rows::pairs(&found.pairs));
}

/// Adds a map for each kernel; the terminal shows none without a significant cost, or of a single CPU.
fn add_maps(found: &Interference, view: &View<'_>, screen: &mut Screen) {
    let most = charts::largest(found);
    let several = found.sources.len().max(found.cpus.len()) > 1 && !found.classes.is_empty();
    let shown = if several && most > 0.0 { charts::kernels(found, view.all) } else { vec![] };
    screen.in_terminal(|terminal| match shown.is_empty() {
        false => {
            terminal.gap();
            terminal.note(HOW);
        }
        true if several => {
            terminal.gap();
            terminal.note("no map: no pair shows a significant cost");
        }
        true => {}
    });
    for kernel in found.kernels.iter().map(|pace| pace.kernel.as_str()) {
        screen.on_page(|page| page.heading(kernel));
        let (map, caption) = (charts::map(found, kernel, most), charts::caption(kernel));
        match shown.contains(&kernel) {
            true => screen.picture(map, caption),
            false => screen.on_page(|page| page.picture(map, caption)),
        }
    }
    if let Some(kernel) = shown.first() {
        let map = charts::map(found, kernel, most);
        let left = found.kernels.len() - shown.len();
        screen.in_terminal(|terminal| below_maps(&map, left, view, terminal));
    }
}

/// How the maps are read in the terminal.
const HOW: &str = "rows: interrupted CPU; columns: CPU of the kernel; cost of one interrupt in µs";

/// Explains the shades, and states which maps and CPUs are left out.
fn below_maps(map: &Heat, left: usize, view: &View<'_>, screen: &mut Screen) {
    let shades = format!("· no cost found   {}   ? unknown", map.shades());
    screen.toned_line(Tone::Quiet, &shades);
    if left > 0 {
        let maps = counted(left as u64, "more map", "more maps");
        screen.note(&format!("this kernel is slowed down most; --all shows {maps}"));
    }
    if map.is_cut() && !view.all {
        screen.note(&format!("the first {PART} CPUs; --all shows the others"));
    }
}

/// Describes the measurement: `interference: timer interrupts at 937 Hz on one CPU, 100 µs of a kernel on another · …`.
fn what(found: &Interference) -> String {
    let injected: Vec<String> = found
        .injected
        .iter()
        .map(|asked_for| {
            let kind = match asked_for.kind {
                InjectionKind::Interrupt => "timer interrupts".to_owned(),
                InjectionKind::Kernel => {
                    format!("timer interrupts of {}", asked(asked_for.duration_ns))
                }
                InjectionKind::Thread => format!("a thread for {}", asked(asked_for.duration_ns)),
            };
            format!("{kind} at {} Hz", rate(asked_for.rate_hz))
        })
        .collect();
    let noise = if injected.is_empty() { "nothing".to_owned() } else { injected.join(", ") };
    let grain = found.grain_ns.map_or(String::new(), |ns| format!("{} of ", asked(ns)));
    let list = |cpus: &[u32]| clip(&cpu_list(cpus), 24);
    let each = found.pairs.iter().map(|pair| pair.repetitions + pair.unknown).max().unwrap_or(0);
    let series = counted(found.pairs.len() as u64, "series", "series");
    format!(
        "interference: {noise} on one of CPUs {}, {grain}a kernel on one of CPUs {} · {series} of {} repetitions in {} · {}",
        list(&found.sources),
        list(&found.cpus),
        count(each),
        span(found.run.wall_ns),
        timestamp(&found.run.start_utc),
    )
}
