//! Verifies a recording with injected noise.

use super::read::{WatchedCpu, tallies};
use super::result::{CpuVerification, Detections, Missed, OwnCount, Recall, Verification};
use super::times::{Bare, times};
use super::watch::Tally;
use crate::facts::Facts;
use crate::stats::wilson;
use anechoic_recording::injection::{Injected, InjectionKind, InjectionTiming};
use anechoic_recording::{Problem, ProblemKind, Recording, methods};

/// Injections longer than this many thresholds must be seen.
const SURELY_SEEN: f64 = 2.0;

/// Compares injected noise as requested, as delivered according to kernel events, and as seen by the loop.
///
/// `bare` is a recording of the same kind without the spin: of interrupts for [`InjectionKind::Kernel`], of the
/// shortest threads for [`InjectionKind::Thread`]. Its cost is reported separately.
///
/// # Errors
///
/// A recording does not contain detours with one injection, or a file is damaged.
pub fn verify(recording: &Recording, bare: Option<&Recording>) -> Result<Verification, Problem> {
    let injected = injected_in(recording)?;
    let mut not_available = Vec::new();
    let mut bare = bare.map(|bare| Null::read(bare, injected.kind)).transpose()?;
    let mut cpus = Vec::new();
    for mut cpu in tallies(recording, injected, &mut not_available)? {
        let bare = bare.as_mut().and_then(|bare| bare.on_cpu(cpu.run.cpu));
        cpus.push(cpu.result(recording, injected, bare));
    }
    let longest =
        recording.run().cpus.iter().map(|cpu| cpu.last_ticks - cpu.first_ticks.min(cpu.last_ticks));
    Ok(Verification {
        run: Facts::new(recording.run(), longest.max().unwrap_or(0)),
        injected: injected.clone(),
        rate_hz: 1e9 / injected.period_ns.max(1) as f64,
        cpus,
        bare_duration_ns: bare.map(|bare| bare.duration_ns),
        not_available,
    })
}

/// Returns the only injection of a recording of detours.
fn injected_in(recording: &Recording) -> Result<&Injected, Problem> {
    let run = recording.run();
    let why = match &run.injections[..] {
        [injected] if run.method == methods::DETOURS => return Ok(injected),
        [] => "no noise was injected during it",
        [_] => "its loops did work",
        _ => "several kinds of noise were injected, by turns",
    };
    Err(not_injected(recording, why))
}

/// A recording of null injection.
struct Null<'a> {
    recording: &'a Recording,
    duration_ns: u64,
    cpus: Vec<WatchedCpu<'a>>,
}

impl<'a> Null<'a> {
    fn read(recording: &'a Recording, kind: InjectionKind) -> Result<Self, Problem> {
        let injected = injected_in(recording)?;
        let same = (injected.kind == InjectionKind::Thread) == (kind == InjectionKind::Thread);
        if !same {
            let why = "its noise is of another kind, so it cannot serve as a reference";
            return Err(not_injected(recording, why));
        }
        let cpus = tallies(recording, injected, &mut Vec::new())?;
        Ok(Null { recording, duration_ns: injected.duration_ns, cpus })
    }

    fn on_cpu(&mut self, cpu: u32) -> Option<Bare<'_>> {
        let watched = self.cpus.iter_mut().find(|watched| watched.run.cpu == cpu)?;
        let tally = &mut watched.known.as_mut()?.0;
        let clock = &self.recording.run().clock;
        Some(Bare { tally, clock, duration_ns: self.duration_ns })
    }
}

impl WatchedCpu<'_> {
    fn result(
        &mut self,
        recording: &Recording,
        injected: &Injected,
        bare: Option<Bare<'_>>,
    ) -> CpuVerification {
        let clock = &recording.run().clock;
        let place = &self.place;
        let spell = &place.spell;
        let window = match &self.known {
            Some(_) => place.window,
            None => (spell.start_ticks, spell.end_ticks),
        };
        let ticks = window.1.saturating_sub(window.0);
        let expected = clock.ns(ticks) / injected.period_ns.max(1);
        let Counts { asked, delivered, overruns } = self.counts(injected, expected, ticks);
        let known = self.known.as_mut().map(|(tally, _)| tally);
        let events_lost = place.events_lost.touch(spell.start_ticks, spell.end_ticks);
        let own_count = spell.delivered.map(|injector| OwnCount {
            injector,
            kernel: known.as_ref().filter(|_| !events_lost).map(|tally| tally.delivered_in_spell),
        });
        let seen = known.as_ref().map(|tally| seen(tally, ticks, recording));
        let (own_time, detour_time) =
            known.map_or((None, None), |tally| times(tally, clock, injected, bare));
        let lasts_ns = own_time.map_or(injected.duration_ns as f64, |own| own.all.median_ns);
        let threshold_ns = clock.ns(recording.run().threshold_ticks) as f64;
        CpuVerification {
            cpu: self.run.cpu,
            window_ns: clock.ns(ticks),
            asked,
            delivered,
            delivered_hz: delivered.filter(|_| ticks > 0).map(|n| n as f64 / clock.seconds(ticks)),
            overruns,
            cut_short: spell.cut_short,
            too_short: self
                .known
                .as_ref()
                .filter(|_| !varies(injected))
                .map(|(tally, _)| tally.too_short),
            own_count,
            recall: seen
                .as_ref()
                .filter(|_| lasts_ns > SURELY_SEEN * threshold_ns)
                .and_then(recall),
            seen,
            own_time,
            detour_time,
        }
    }

    /// Returns the numbers due, delivered and skipped in these `ticks`; `expected` is that time in mean periods.
    fn counts(&self, injected: &Injected, expected: u64, ticks: u64) -> Counts {
        let spell = &self.place.spell;
        let periodic = injected.timing == InjectionTiming::Periodic;
        let Some((tally, due)) = &self.known else {
            let left_out = spell.delivered.map(|came| expected.saturating_sub(came));
            let overruns = spell.overruns.or(left_out.filter(|_| periodic));
            return Counts::new(periodic, expected, spell.delivered, overruns);
        };
        let (start, end) = self.place.window;
        let whole = !self.place.events_lost.touch(start, end);
        let delivered = Some(tally.delivered);
        if periodic && whole {
            return Counts::new(true, expected, delivered, Some(due.overruns()));
        }
        let on = spell.end_ticks.saturating_sub(spell.start_ticks);
        let part = spell.overruns.map(|overruns| part(overruns, ticks, on));
        Counts::new(false, expected, delivered, part)
    }
}

/// The numbers due, delivered, and skipped.
struct Counts {
    asked: u64,
    delivered: Option<u64>,
    overruns: Option<u64>,
}

impl Counts {
    /// Returns the numbers; `exact` is whether delivered plus skipped equals due.
    fn new(exact: bool, expected: u64, delivered: Option<u64>, overruns: Option<u64>) -> Self {
        let due = delivered.zip(overruns).map(|(came, over)| came.saturating_add(over));
        Counts { asked: due.filter(|_| exact).unwrap_or(expected), delivered, overruns }
    }
}

/// Returns the part of `count` that falls into `ticks` of `whole`, rounded.
fn part(count: u64, ticks: u64, whole: u64) -> u64 {
    let whole = u128::from(whole.max(ticks).max(1));
    let part = (u128::from(count) * u128::from(ticks) + whole / 2) / whole;
    u64::try_from(part).unwrap_or(count)
}

/// Returns whether durations vary as in a replayed recording.
fn varies(injected: &Injected) -> bool {
    matches!(injected.timing, InjectionTiming::Replay { .. })
}

fn seen(tally: &Tally, ticks: u64, recording: &Recording) -> Detections {
    let run = recording.run();
    let at_ns = |&ticks: &u64| run.clock.ns(ticks.saturating_sub(run.start_ticks));
    Detections {
        found: tally.found,
        missing: tally.missing,
        missed: tally.missed.iter().map(|ticks| Missed { at_ns: at_ns(ticks) }).collect(),
        not_judged: tally.not_judged,
        detours: tally.detours,
        shared: tally.shared,
        extra: tally.extra,
        extra_per_s: crate::per_second(tally.extra, ticks, &run.clock),
        detours_not_judged: tally.detours_not_judged,
    }
}

/// Returns the share detected; absent if no delivered injection can be judged.
fn recall(seen: &Detections) -> Option<Recall> {
    let total = seen.found + seen.missing;
    let interval = wilson(seen.found, total);
    (total > 0).then(|| Recall { share: crate::share(seen.found, total), interval })
}

/// Returns an error: there is no injected noise that can be compared with the loop.
fn not_injected(recording: &Recording, why: &str) -> Problem {
    let remedy = "make a recording with `anechoic inject --verify`";
    ProblemKind::NoVerdict.problem(why, remedy).about(recording.dir().display())
}
