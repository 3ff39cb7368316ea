//! Compares the time in which injected noise had the CPU, and its detours, with the requested time.

use super::durations::{Durations, deviation};
use super::result::{DetourTime, OwnTime};
use super::watch::Tally;
use crate::rounded;
use anechoic_recording::Clock;
use anechoic_recording::injection::{Injected, InjectionKind, InjectionTiming};

/// Relative tolerance of own times, in addition to [`OFF_NS`].
const OFF_SHARE: f64 = 0.05;
const OFF_NS: f64 = 1_000.0;

/// Result of a null injection on one CPU.
pub(super) struct Bare<'a> {
    pub(super) tally: &'a mut Tally,
    pub(super) clock: &'a Clock,
    /// Requested duration.
    pub(super) duration_ns: u64,
}

/// Own times and detours of the delivered injections.
pub(super) fn times(
    tally: &mut Tally,
    clock: &Clock,
    injected: &Injected,
    mut bare: Option<Bare<'_>>,
) -> (Option<OwnTime>, Option<DetourTime>) {
    let varies = matches!(injected.timing, InjectionTiming::Replay { .. });
    let spins = injected.kind != InjectionKind::Interrupt && !varies;
    let asked_ns = spins.then_some(injected.duration_ns as f64);
    let bare_asked_ns = bare.as_ref().map_or(0.0, |bare| bare.duration_ns as f64);

    let bare_own = bare.as_mut().and_then(|bare| bare.tally.own.quartiles(bare.clock));
    let own = tally.own.quartiles(clock).map(|all| {
        let bare_median_ns = bare_own.map(|own| own.median_ns);
        let own = OwnTime { all, bare_median_ns, error_ns: None, within: None };
        asked_ns.map_or(own, |asked_ns| own.judged(injected.kind, asked_ns, bare_asked_ns))
    });

    let error = bare.as_mut().zip(asked_ns).and_then(|(bare, asked_ns)| {
        let bare_alone: (&mut Durations, &Clock) = (&mut bare.tally.alone, bare.clock);
        deviation((&mut tally.alone, clock), bare_alone, asked_ns - bare_asked_ns)
    });
    let bare_quartiles = bare.and_then(|bare| bare.tally.alone.quartiles(bare.clock));
    let alone = tally.alone.quartiles(clock);
    (own, alone.map(|all| DetourTime { all, bare: bare_quartiles, error }))
}

impl OwnTime {
    /// Compares them with the requested duration.
    fn judged(self, kind: InjectionKind, asked_ns: f64, bare_asked_ns: f64) -> Self {
        let thread = kind == InjectionKind::Thread;
        // Of a thread, switching and setting its next timer are in it.
        let around = self.bare_median_ns.filter(|_| thread).map(|bare| bare - bare_asked_ns);
        let error_ns = self.all.median_ns - around.unwrap_or(0.0) - asked_ns;
        let comparable = !thread || around.is_some();
        let within = comparable.then(|| error_ns.abs() <= OFF_SHARE * asked_ns + OFF_NS);
        Self { error_ns: Some(rounded(error_ns)), within, ..self }
    }
}
