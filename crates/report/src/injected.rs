//! What `anechoic inject` injected.

use crate::screen::Screen;
use crate::units::{asked, count, cpu_list, length, rate, span};
use anechoic_recording::injection::{
    Injected, InjectionKind, InjectionTiming, Spell, Starts, WallClock,
};
use anechoic_recording::{Clock, sources};

/// A smaller change of the wall clock is not mentioned.
const MOVED_NS: u64 = 1_000;

/// Shows for each CPU how many injections were requested, and how many the injector counted.
#[must_use]
pub fn injected(injected: &Injected, clock: &Clock) -> Screen {
    let mut screen = Screen::default();
    screen.line(&format!("injected on CPU {}", where_and_what(injected)));
    for spell in &injected.spells {
        screen.line(&format!("CPU {}: {}", spell.cpu, came(injected, spell, clock)));
    }
    if let Some(starts) = &injected.starts {
        screen.line(&format!("starts: {}", late(starts)));
        if let Some(wall) = &starts.wall_clock {
            screen.line(&format!("coordinated: {}", apart(starts, wall)));
        }
    }
    screen
}

/// Describes an injection and its CPUs: `1: interrupts, 1,000/s`.
#[must_use]
pub fn where_and_what(injected: &Injected) -> String {
    format!("{}: {}", cpu_list(&injected.cpus), what(injected))
}

/// Describes an injection: `interrupts, 1,000/s`, `25 µs in a thread, 100/s at random times`.
pub(crate) fn what(injected: &Injected) -> String {
    let length = asked(injected.duration_ns);
    let each = match injected.kind {
        InjectionKind::Interrupt => "interrupts".to_owned(),
        InjectionKind::Kernel => format!("{length} in an interrupt"),
        InjectionKind::Thread => format!("{length} in a thread"),
    };
    let how = match &injected.timing {
        InjectionTiming::Periodic => "",
        InjectionTiming::Poisson { .. } => " at random times",
        InjectionTiming::Replay { .. } => ", as recorded",
    };
    format!("{each}, {}/s{how}", rate(1e9 / injected.period_ns.max(1) as f64))
}

/// Returns whether a source of a recording is the noise that was injected, against which nobody needs advice.
pub(crate) fn is_injected(source: &str, name: &str, all: &[Injected]) -> bool {
    all.iter().any(|injected| match (injected.kind, &injected.timing) {
        (InjectionKind::Thread, _) => {
            let is_injector = |cpu: &u32| name == format!("inject {cpu}");
            sources::THREAD.is(source) && injected.cpus.iter().any(is_injector)
        }
        (_, InjectionTiming::Periodic) => {
            sources::TIMER.is(source) && name == "perf_swevent_hrtimer"
        }
        _ => sources::TIMER.is(source) && name == "bpf_timer_cb",
    })
}

/// States how late the threads started.
fn late(starts: &Starts) -> String {
    let [p50, p99, max] = [starts.p50_late_ns, starts.p99_late_ns, starts.max_late_ns].map(length);
    format!("late by {p50} (median), {p99} (99 %), {max} at most")
}

/// States how far starts on other hosts may be from these.
fn apart(starts: &Starts, wall: &WallClock) -> String {
    let moved = match wall.moved_ns.unsigned_abs() {
        0..MOVED_NS => String::new(),
        ns => format!(
            "; the wall clock moved by {} meanwhile, which the starts did not follow",
            length(ns)
        ),
    };
    let within = match (wall.within_ns, starts.bound_ns()) {
        (Some(within), Some(bound)) => format!(
            "the kernel keeps its clock within {} of UTC, so starts were within {} of the multiples of the period; on \
             two hosts they were at most the sum of both apart",
            length(within),
            length(bound)
        ),
        _ => {
            "nothing keeps this clock at UTC, so nothing is known of other hosts (chronyc tracking)"
                .to_owned()
        }
    };
    format!("{within}{moved}")
}

fn came(injected: &Injected, spell: &Spell, clock: &Clock) -> String {
    let on_ns = clock.ns(spell.end_ticks.saturating_sub(spell.start_ticks));
    let asked = on_ns / injected.period_ns.max(1);
    let came = match spell.delivered {
        Some(delivered) => format!("{} delivered", count(delivered)),
        None => "number delivered unknown without BPF (--verify counts them)".to_owned(),
    };
    let mut text = format!("{} requested in {}, {came}", count(asked), span(on_ns));
    let timer = injected.kind != InjectionKind::Thread;
    if timer && spell.delivered.is_some_and(|delivered| delivered < asked - asked / 100) {
        text += "; those that found the CPU idle are not counted";
    }
    if let Some(overruns) = spell.overruns.filter(|&overruns| overruns > 0) {
        text +=
            &format!(", {} skipped because the previous one was still running", count(overruns));
    }
    if spell.cut_short > 0 {
        text += &format!(", {} were cut short", count(spell.cut_short));
    }
    text
}
