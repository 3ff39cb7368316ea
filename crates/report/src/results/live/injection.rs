//! Injected noise: requested, delivered by the kernel, seen by the measuring loop.

use crate::certainty::not_available;
use crate::heading;
use crate::injected::where_and_what;
use crate::screen::{Fact, Screen};
use crate::style::{Tone, View};
use crate::table::Table;
use crate::units::{asked, between, count, counted, rate, signed};
use anechoic_analyze::Verification;
use anechoic_analyze::injection::{
    CpuVerification, Detections, Deviation, OwnTime, Quartiles, Verdict,
};
use anechoic_recording::injection::{InjectionKind, InjectionTiming};

/// Shows how much injected noise was delivered and seen, and how exactly its duration was measured.
#[must_use]
pub fn verification(found: &Verification, view: &View<'_>) -> Screen {
    let mut screen = Screen::default();
    outcome(&mut screen, found.verdict(), found.failed());
    screen.heading(&heading::machine(&found.run));
    screen.context(&format!("noise was injected on CPU {}", where_and_what(&found.injected)));
    heading::ended(&found.run).iter().for_each(|ended| screen.warning(ended));
    if !found.cpus.is_empty() {
        screen.gap();
        screen.table(counts(found));
    }
    if found.cpus.iter().any(|cpu| cpu.own_time.is_some() || cpu.detour_time.is_some()) {
        screen.gap();
        screen.table(durations(found));
        screen.note("median (interquartile range)");
    }
    screen.gap();
    for cpu in &found.cpus {
        let name = if found.cpus.len() > 1 { format!("CPU {}: ", cpu.cpu) } else { String::new() };
        screen.facts(facts(found, cpu, &name));
    }
    screen.facts(not_available(&found.not_available));
    screen.path("recordings", view);
    screen
}

/// Adds the line that states whether injected noise was detected as it should be.
pub(crate) fn outcome(screen: &mut Screen, verdict: Verdict, failed: bool) {
    let (tone, text) = match verdict {
        Verdict::Good => (Tone::Good, "PASS: all of the injected noise was detected"),
        Verdict::Warning if failed => {
            (Tone::Bad, "FAIL: some of the injected noise was missed or measured wrongly")
        }
        Verdict::Warning => (
            Tone::Warning,
            "INCOMPLETE: what was injected was detected, but not everything could be tested",
        ),
        Verdict::Failed | Verdict::Nothing => {
            (Tone::Bad, "NO VERDICT: no injected noise is known to have arrived")
        }
    };
    screen.toned(tone, text);
}

fn counts(found: &Verification) -> Table {
    let periodic = found.injected.timing == InjectionTiming::Periodic;
    Table::with_rows(&found.cpus)
        .number("CPU", |cpu| cpu.cpu.to_string())
        .number(if periodic { "requested" } else { "requested (mean)" }, |cpu| count(cpu.asked))
        .number("delivered", |cpu| known(cpu.delivered))
        .number("overruns", |cpu| known(cpu.overruns))
        .number("seen", |cpu| known(cpu.seen.as_ref().map(|seen| seen.found)))
        .number("missing", |cpu| known(cpu.seen.as_ref().map(|seen| seen.missing)))
        .number("extra detours", |cpu| {
            cpu.seen.as_ref().map_or("–".into(), |seen| {
                format!("{} ({} /s)", count(seen.extra), rate(seen.extra_per_s))
            })
        })
        .captioned("Injections requested, delivered and seen")
}

/// Returns median (interquartile range) of the injections' own time, of their detours, and of bare detours.
fn durations(found: &Verification) -> Table {
    let table = Table::with_rows(&found.cpus)
        .number("CPU", |cpu| cpu.cpu.to_string())
        .number(own_time(found.injected.kind), |cpu| spread(cpu.own_time.map(|own| own.all)))
        .number("its detour", |cpu| spread(cpu.detour_time.map(|time| time.all)));
    let table = match found.bare_duration_ns {
        None => table,
        Some(_) => table
            .number(&bare_name(found), |cpu| spread(cpu.detour_time.and_then(|time| time.bare))),
    };
    table.captioned("Median durations")
}

/// Names the time in which an injection had the CPU.
fn own_time(kind: InjectionKind) -> &'static str {
    match kind {
        InjectionKind::Interrupt | InjectionKind::Kernel => "in its handler",
        InjectionKind::Thread => "in its thread",
    }
}

/// Names the detour of an empty injection.
fn bare_name(found: &Verification) -> String {
    match found.bare_duration_ns {
        Some(0) | None => "a bare detour".to_owned(),
        Some(ns) => format!("that of {}", asked(ns)),
    }
}

/// Explains the numbers of one CPU; `name` names it if there are several.
fn facts(found: &Verification, cpu: &CpuVerification, name: &str) -> Vec<Fact> {
    let mut facts = vec![];
    if let Some(seen) = &cpu.seen {
        let (tone, text) = found_of(cpu, seen);
        facts.push(Fact::new("seen", tone, format!("{name}{text}")));
    }
    if let Some(own) = &cpu.own_time
        && let Some((tone, text)) = own_text(found, own)
    {
        facts.push(Fact::new("own time", tone, format!("{name}{text}")));
    }
    if let Some(error) = cpu.detour_time.and_then(|time| time.error) {
        let bare_ns = found.bare_duration_ns.unwrap_or(0);
        let more = asked(found.injected.duration_ns.saturating_sub(bare_ns));
        let bare = bare_name(found);
        let text = format!("{name}{}: its detour minus {bare} minus {more}", deviation(&error));
        facts.push(Fact::new("duration error", Tone::Good, text));
    }
    if let Some(own) = cpu.own_count.filter(|own| own.agree() == Some(false)) {
        let kernel = own.kernel.unwrap_or(0);
        let text = format!(
            "{name}the injector counted {} while it was on, the kernel's events {}{}",
            count(own.injector),
            count(kernel),
            not_counted(found, own.injector < kernel)
        );
        facts.push(Fact::new("counts differ", Tone::Warning, text));
    }
    if let Some(text) = too_short(found, cpu) {
        let tone = if cpu.many_too_short() { Tone::Warning } else { Tone::Quiet };
        facts.push(Fact::new("too short", tone, format!("{name}{text}")));
    }
    if cpu.cut_short > 0 {
        let many = cpu.many_cut_short(found.injected.kind);
        let tone = if many { Tone::Warning } else { Tone::Quiet };
        let text = format!("{name}{} ended before the requested duration", count(cpu.cut_short));
        facts.push(Fact::new("cut short", tone, text));
    }
    facts
}

/// Explains why the injector may have counted fewer.
fn not_counted(found: &Verification, less: bool) -> &'static str {
    let timer = found.injected.kind != InjectionKind::Thread;
    if less && timer { ": it does not count injections that find the CPU idle" } else { "" }
}

/// Returns how many injections had the CPU for less than half of the requested time.
pub(crate) fn too_short(found: &Verification, cpu: &CpuVerification) -> Option<String> {
    let count = count(cpu.too_short.filter(|&short| short > 0)?);
    let asked = asked(found.injected.duration_ns);
    Some(format!("{count} had the CPU for less than half of the requested {asked}"))
}

/// Returns whether all injections were seen, and which were not.
pub(crate) fn found_of(cpu: &CpuVerification, seen: &Detections) -> (Tone, String) {
    let delivered = cpu.delivered.unwrap_or(0);
    let (mut tone, mut text) = match seen.missing {
        0 if delivered == 0 => (Tone::Bad, "none was delivered".to_owned()),
        0 if seen.found == 1 => {
            (Tone::Good, "the only one that was delivered lies inside a detour".to_owned())
        }
        0 => (
            Tone::Good,
            format!("all {} that were delivered lie inside detours", count(seen.found)),
        ),
        missing => {
            let times =
                seen.missed.iter().map(|missed| format!("{:.6} s", missed.at_ns as f64 / 1e9));
            let times = times.collect::<Vec<_>>().join(", ");
            let more = missing.saturating_sub(seen.missed.len() as u64);
            let more = if more > 0 { format!(" and {} more", count(more)) } else { String::new() };
            let text = format!(
                "{} of {} delivered {} in no detour: at {times}{more}",
                count(missing),
                count(delivered),
                if missing == 1 { "lies" } else { "lie" }
            );
            (Tone::Bad, text)
        }
    };
    if let Some(recall) = cpu.recall {
        let (low, high) = (recall.interval.low * 100.0, recall.interval.high * 100.0);
        text += &match seen.missing {
            0 => format!(" (detected: 95 % confidence over {low:.2} %)"),
            _ => {
                let [share, low, high] =
                    [recall.share * 100.0, low, high].map(|percent| format!("{percent:.2}"));
                format!(" (detected: {share} %, 95 %: {} %)", between(&low, &high))
            }
        };
    } else if seen.missing > 0 {
        tone = Tone::Warning;
        text += "; this is possible, as they are shorter than two thresholds";
    }
    if seen.not_judged > 0 {
        let delivered = counted(seen.not_judged, "was", "were");
        text += &format!("; {delivered} delivered while detours were lost");
    }
    if seen.shared > 0 {
        text +=
            &format!("; {} several", counted(seen.shared, "detour contains", "detours contain"));
    }
    (tone, text)
}

/// Compares the time in which injections had the CPU with the requested time; nothing for bare interrupts.
pub(crate) fn own_text(found: &Verification, own: &OwnTime) -> Option<(Tone, String)> {
    let error = signed(own.error_ns?);
    let thread = found.injected.kind == InjectionKind::Thread;
    let around = "the context switch and the next timer";
    let asked = asked(found.injected.duration_ns);
    Some(match own.within {
        None => {
            let text = format!("{error} relative to the requested {asked}; includes {around}");
            (Tone::Quiet, text)
        }
        Some(within) => {
            let without = if thread { format!(", excluding {around}") } else { String::new() };
            let verdict = if within { "within" } else { "beyond" };
            let text = format!(
                "{error} relative to the requested {asked}{without}: {verdict} the tolerance of 5 % plus 1 µs"
            );
            (if within { Tone::Good } else { Tone::Warning }, text)
        }
    })
}

/// Writes a difference and its interval: `+0.04 µs (95 %: -0.01 to 0.09)`.
pub(crate) fn deviation(error: &Deviation) -> String {
    let interval = error.interval.map(|interval| {
        let [low, high] = [interval.low, interval.high].map(|ns| format!("{:.2}", ns / 1e3));
        format!(" (95 %: {})", between(&low, &high))
    });
    signed(error.ns) + &interval.unwrap_or_default()
}

/// Writes median and interquartile range: `62.31 µs (62.02–63.11)`.
fn spread(quartiles: Option<Quartiles>) -> String {
    quartiles.map_or("–".into(), |Quartiles { q1_ns, median_ns, q3_ns, .. }| {
        format!("{:.2} µs ({:.2}–{:.2})", median_ns / 1e3, q1_ns / 1e3, q3_ns / 1e3)
    })
}

/// Writes a number, or a dash if it is unknown.
pub(crate) fn known(number: Option<u64>) -> String {
    number.map_or("–".into(), count)
}
