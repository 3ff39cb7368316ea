//! The self-test: how well this tool detects known noise on this machine.

use crate::certainty::not_available;
use crate::heading;
use crate::results::live::injection::{deviation, found_of, known, outcome, own_text, too_short};
use crate::screen::{Fact, Screen};
use crate::style::{Tone, View};
use crate::table::Table;
use crate::units::{asked, count, cpu_list, rate, signed};
use anechoic_analyze::facts::Facts;
use anechoic_analyze::injection::{CpuVerification, Quartiles};
use anechoic_analyze::{SelfTestResult, Verification};
use anechoic_recording::injection::{InjectionKind, SelfTest};

/// Shows the result of a self-test.
#[must_use]
pub fn self_test(result: &SelfTestResult, _view: &View<'_>) -> Screen {
    let mut screen = Screen::default();
    outcome(&mut screen, result.verdict(), result.failed());
    if let Some(first) = result.kinds.first() {
        screen.heading(&heading::machine(&first.run));
        screen.note(&format!(
            "self-test on CPU {}: injects noise of known rate and duration and checks how much of it is detected",
            cpu_list(&first.injected.cpus)
        ));
        screen.gap();
        screen.table(table(&result.kinds));
        screen.gap();
    }
    if result.self_test.is_none() {
        let text =
            "none: no injected noise is known to have arrived, so detection could not be checked";
        screen.facts(vec![Fact::new("self-test", Tone::Bad, text)]);
    }
    for kind in &result.kinds {
        screen.facts(facts(kind));
    }
    screen.facts(not_available(&result.not_available));
    let stored = result.stored.as_ref().map(|path| {
        (Tone::Quiet, format!("in {path}; future recordings on this machine include it"))
    });
    let not_stored = result.not_stored.as_ref().map(|why| (Tone::Warning, format!("no: {why}")));
    let kept = stored.or(not_stored).map(|(tone, text)| Fact::new("stored", tone, text));
    screen.facts(kept.into_iter().collect());
    screen
}

fn table(kinds: &[Verification]) -> Table {
    let kinds: Vec<(&Verification, &CpuVerification)> =
        kinds.iter().filter_map(|kind| Some((kind, kind.cpus.first()?))).collect();
    Table::with_rows(&kinds)
        .name("kind", |(kind, _)| kind.injected.kind.name().to_owned())
        .name("requested/s", |(kind, _)| match kind.injected.kind {
            InjectionKind::Interrupt => rate(kind.rate_hz),
            _ => format!("{} × {}", rate(kind.rate_hz), asked(kind.injected.duration_ns)),
        })
        .number("delivered", |(_, cpu)| known(cpu.delivered))
        .number("overruns", |(_, cpu)| known(cpu.overruns))
        .number("found", |(_, cpu)| known(cpu.seen.as_ref().map(|seen| seen.found)))
        .number("own µs", |(_, cpu)| median(cpu.own_time.map(|own| own.all)))
        .number("detour µs", |(_, cpu)| median(cpu.detour_time.map(|time| time.all)))
        .number("bare µs", |(_, cpu)| median(cpu.detour_time.and_then(|time| time.bare)))
        .captioned("Injections requested, delivered and found")
}

fn median(quartiles: Option<Quartiles>) -> String {
    quartiles.map_or("–".into(), |quartiles| format!("{:.2}", quartiles.median_ns / 1e3))
}

/// Explains the numbers of one kind of noise, at length only where they deviate.
fn facts(kind: &Verification) -> Vec<Fact> {
    let mut found: Vec<(Tone, String)> = vec![];
    for cpu in &kind.cpus {
        found.extend(cpu.seen.as_ref().map(|seen| found_of(cpu, seen)));
        let own = cpu.own_time.as_ref().and_then(|own| own_text(kind, own));
        found.extend(own.map(|(tone, text)| (tone, format!("own time {text}"))));
        if let Some(error) = cpu.detour_time.and_then(|time| time.error) {
            found.push((Tone::Good, format!("duration error {}", deviation(&error))));
        }
        if let Some(text) = too_short(kind, cpu) {
            found.push((if cpu.many_too_short() { Tone::Warning } else { Tone::Quiet }, text));
        }
        if let Some(own) = cpu.own_count.filter(|own| own.agree() == Some(false)) {
            let (ours, kernel) = (count(own.injector), count(own.kernel.unwrap_or(0)));
            let text = format!("the injector counted {ours}, the kernel's events {kernel}");
            found.push((Tone::Warning, text));
        }
    }
    // Only the first fact names the kind.
    let names = std::iter::once(kind.injected.kind.name()).chain(std::iter::repeat(""));
    let facts = names.zip(found).map(|(name, (tone, text))| Fact::new(name, tone, text));
    facts.chain(not_available(&kind.not_available)).collect()
}

/// Returns what the last self-test on that machine found.
pub(crate) fn last(run: &Facts) -> Option<Fact> {
    let test = run.self_test.as_ref()?;
    let (delivered, found) = test.kinds.iter().fold((0u64, 0u64), |(delivered, found), kind| {
        (delivered.saturating_add(kind.delivered), found.saturating_add(kind.found))
    });
    let date = test.utc.get(..10).unwrap_or(&test.utc);
    let text = format!("{date}: {} of {} found{}", count(found), count(delivered), error(test));
    let tone = if found == delivered { Tone::Good } else { Tone::Warning };
    Some(Fact::new("self-test", tone, text))
}

/// Returns the duration error of interrupts that spin, else of threads.
fn error(test: &SelfTest) -> String {
    let kinds = [InjectionKind::Kernel, InjectionKind::Thread];
    kinds.into_iter().find_map(|kind| error_of_kind(test, kind)).unwrap_or_default()
}

/// Returns the duration error of a kind of noise, if it is known.
fn error_of_kind(test: &SelfTest, wanted: InjectionKind) -> Option<String> {
    let kind = test.kinds.iter().find(|kind| kind.kind == wanted)?;
    let interval = kind
        .error_low_ns
        .zip(kind.error_high_ns)
        .map(|(low, high)| format!(" ({:.2} to {:.2})", low / 1e3, high / 1e3));
    Some(format!(", duration error {}{}", signed(kind.error_ns?), interval.unwrap_or_default()))
}
