//! The screen of the interference matrix: what interrupts on one CPU cost work on another.

mod matrix;
pub(crate) mod over_time;
pub(crate) mod rows;
pub(crate) mod sure;
pub(crate) mod words;

use crate::heading;
use crate::screen::Screen;
use crate::style::{View, clip};
use crate::units::{asked, count, counted, cpu_list, rate, span, timestamp};
use anechoic_analyze::Interference;
use anechoic_recording::injection::InjectionKind;

/// Shows what interrupts on each CPU cost each kernel on each CPU: by distance beside Table 1 of Radojković 2008, and
/// as a map of all pairs.
#[must_use]
pub fn interference(found: &Interference, view: &View<'_>) -> Screen {
    let mut screen = Screen::default();
    screen.heading(&heading::machine(&found.run));
    screen.note(&what(found));
    heading::ended(&found.run).iter().for_each(|ended| screen.warning(ended));
    screen.gap();
    screen.headline(&words::sentences(found));
    if !found.classes.is_empty() {
        screen.section("cost of one interrupt by where the kernel runs");
        rows::add_classes(found, &mut screen);
    }
    if view.all && !found.pairs.is_empty() {
        screen.section("every pair, µs");
        screen.note(rows::ALL);
        screen.table(rows::pairs(&found.pairs));
    }
    screen.figure(|out| matrix::write(found, view, out));
    screen.gap();
    screen.facts(sure::facts(found));
    screen.path("recording", view);
    screen
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
