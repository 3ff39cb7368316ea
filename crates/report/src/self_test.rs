//! The self-test: how well this tool sees noise that is known, on this machine.

use crate::certainty::{line, not_available};
use crate::heading;
use crate::injection::{deviation, found_of, own_text, signed, too_short, unknown};
use crate::screen::Screen;
use crate::style::{Tone, View};
use crate::table::{Align, Table};
use crate::units::{asked, count, cpu_list, rate};
use anechoic_analyze::facts::Facts;
use anechoic_analyze::injection::Quartiles;
use anechoic_analyze::{SelfTestResult, Verification};
use anechoic_recording::injection::{InjectionKind, SelfTest};
use std::io::{self, Write};

/// What a self-test found.
#[must_use]
pub fn self_test(result: &SelfTestResult, view: &View<'_>) -> Screen {
    Screen::printed(|out| print(result, view, out))
}

fn print(result: &SelfTestResult, view: &View<'_>, out: &mut dyn Write) -> io::Result<()> {
    if let Some(first) = result.kinds.first() {
        heading::machine(&first.run, view, out)?;
        let what = format!(
            "self-test on CPU {}: noise of known rate and duration, and what was seen of it",
            cpu_list(&first.injected.cpus)
        );
        writeln!(out, "{}\n", view.style.paint(Tone::Quiet, &what))?;
        table(&result.kinds, view, out)?;
        writeln!(out)?;
    }
    if result.self_test.is_none() {
        let text = "none: no noise is known to have come, so nothing is known of what is seen";
        line("self-test", Tone::Bad, text, view, out)?;
    }
    for kind in &result.kinds {
        sentences(kind, view, out)?;
    }
    not_available(&result.not_available, view, out)?;
    let stored = result.stored.as_ref().map(|at| {
        (Tone::Quiet, format!("in {at}; recordings made on this machine from now on carry it"))
    });
    let not_stored = result.not_stored.as_ref().map(|why| (Tone::Warning, format!("not: {why}")));
    match stored.or(not_stored) {
        Some((tone, text)) => line("kept", tone, &text, view, out),
        None => Ok(()),
    }
}

fn table(kinds: &[Verification], view: &View<'_>, out: &mut dyn Write) -> io::Result<()> {
    let right = |head| (head, Align::Right);
    let mut heads = vec![("kind", Align::Left), ("asked /s", Align::Left)];
    let numbers = ["delivered", "overruns", "found", "own µs", "detour µs", "bare µs"];
    heads.extend(numbers.map(right));
    let mut table = Table::new(&heads);
    for kind in kinds {
        let Some(cpu) = kind.cpus.first() else { continue };
        let known = |number: Option<u64>| number.map_or_else(unknown, count);
        let median = |of: Option<Quartiles>| {
            of.map_or_else(unknown, |of| format!("{:.2}", of.median_ns / 1e3))
        };
        let detour = cpu.detour_time;
        let each = match kind.injected.kind {
            InjectionKind::Interrupt => String::new(),
            _ => format!(" × {}", asked(kind.injected.duration_ns)),
        };
        table.row(vec![
            kind.injected.kind.name().to_owned(),
            rate(kind.rate_hz) + &each,
            known(cpu.delivered),
            known(cpu.overruns),
            known(cpu.seen.as_ref().map(|seen| seen.found)),
            median(cpu.own_time.map(|own| own.all)),
            median(detour.map(|time| time.all)),
            median(detour.and_then(|time| time.bare)),
        ]);
    }
    table.fit(view.columns()).write(view.style, out)
}

/// What the numbers of one kind mean; of those that are as they should be, little.
fn sentences(kind: &Verification, view: &View<'_>, out: &mut dyn Write) -> io::Result<()> {
    let name = kind.injected.kind.name();
    let mut label = name;
    let mut say = |tone: Tone, text: &str, out: &mut dyn Write| {
        line(std::mem::take(&mut label), tone, text, view, out)
    };
    for cpu in &kind.cpus {
        if let Some(seen) = &cpu.seen {
            let (tone, text) = found_of(cpu, seen);
            say(tone, &text, out)?;
        }
        if let Some((tone, text)) = cpu.own_time.as_ref().and_then(|own| own_text(kind, own)) {
            say(tone, &format!("own time {text}"), out)?;
        }
        if let Some(error) = cpu.detour_time.and_then(|time| time.error) {
            say(Tone::Good, &format!("duration error {}", deviation(&error)), out)?;
        }
        if let Some(text) = too_short(kind, cpu) {
            let tone = if cpu.many_too_short() { Tone::Warning } else { Tone::Quiet };
            say(tone, &text, out)?;
        }
        if let Some(own) = cpu.own_count.filter(|own| own.agree() == Some(false)) {
            let (ours, kernel) = (count(own.injector), count(own.kernel.unwrap_or(0)));
            let text = format!("the injector counted {ours} in all, the kernel's events {kernel}");
            say(Tone::Warning, &text, out)?;
        }
    }
    not_available(&kind.not_available, view, out)
}

/// The line of a summary: what the last self-test on that machine found.
pub(crate) fn last(run: &Facts, view: &View<'_>, out: &mut dyn Write) -> io::Result<()> {
    let Some(test) = &run.self_test else { return Ok(()) };
    let all = |value: fn(&(u64, u64)) -> u64| -> u64 {
        let counts = test.kinds.iter().map(|kind| (kind.delivered, kind.found));
        counts.map(|counts| value(&counts)).fold(0, u64::saturating_add)
    };
    let (delivered, found) = (all(|counts| counts.0), all(|counts| counts.1));
    let date = test.utc.get(..10).unwrap_or(&test.utc);
    let text = format!("{date}: {} of {} found{}", count(found), count(delivered), error(test));
    let tone = if found == delivered { Tone::Good } else { Tone::Warning };
    line("self-test", tone, &text, view, out)
}

/// The error of durations: of interrupts that spin, else of threads.
fn error(test: &SelfTest) -> String {
    let of = |wanted: InjectionKind| {
        let kind = test.kinds.iter().find(|kind| kind.kind == wanted)?;
        let interval = kind
            .error_low_ns
            .zip(kind.error_high_ns)
            .map(|(low, high)| format!(" ({:.2} to {:.2})", low / 1e3, high / 1e3));
        Some(format!(", duration error {}{}", signed(kind.error_ns?), interval.unwrap_or_default()))
    };
    of(InjectionKind::Kernel).or_else(|| of(InjectionKind::Thread)).unwrap_or_default()
}
