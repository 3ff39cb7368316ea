//! A recording with injected noise, read once.

use super::delivered::{Follower, Functions};
use super::due::Due;
use super::durations::{Durations, deviation, rounded, wilson};
use super::result::{
    CpuVerification, DetourTime, Missed, OwnCount, OwnTime, Recall, Seen, Verification,
};
use super::watch::{Place, Tally, Watch};
use crate::error::AnalyzeError;
use crate::facts::Facts;
use crate::intervals::{merged, touch};
use crate::passes::read_losses;
use anechoic_recording::injection::{Injected, InjectionKind, InjectionTiming, Spell};
use anechoic_recording::run::{CpuRun, NotAvailable};
use anechoic_recording::{CpuRow, Detour, KernelEvent, Loss, Name, ReadError, Recording};

/// Own times may be off by this share of what was asked, and by [`OFF_NS`].
const OFF_SHARE: f64 = 0.05;
const OFF_NS: f64 = 1_000.0;
/// What lasts longer than so many thresholds must be seen.
const SURELY_SEEN: f64 = 2.0;

/// Compares injected noise as it was asked, as the kernel's events tell of it, and as the loop saw it.
///
/// `bare` is a recording of the same kind without the spin: of interrupts for [`InjectionKind::Kernel`], of the
/// shortest threads for [`InjectionKind::Thread`]. What it costs is given apart.
///
/// # Errors
/// [`AnalyzeError::NotInjected`] where a recording is not one of detours with one injection, and
/// [`AnalyzeError::Read`].
pub fn verify(
    recording: &Recording,
    bare: Option<&Recording>,
) -> Result<Verification, AnalyzeError> {
    let injected = injected_in(recording)?;
    let mut not_available = Vec::new();
    let mut bare = bare.map(|bare| Bare::of(bare, injected.kind)).transpose()?;
    let mut cpus = Vec::new();
    for mut cpu in tallies(recording, injected, &mut not_available)? {
        let bare = bare.as_mut().and_then(|bare| bare.of_cpu(cpu.run.cpu));
        cpus.push(cpu.result(recording, injected, bare));
    }
    let longest =
        recording.run().cpus.iter().map(|cpu| cpu.last_ticks - cpu.first_ticks.min(cpu.last_ticks));
    Ok(Verification {
        run: Facts::of(recording.run(), longest.max().unwrap_or(0)),
        injected: injected.clone(),
        rate_hz: 1e9 / injected.period_ns.max(1) as f64,
        cpus,
        bare_duration_ns: bare.map(|bare| bare.duration_ns),
        not_available,
    })
}

/// The one injection of a recording of detours.
fn injected_in(recording: &Recording) -> Result<&Injected, AnalyzeError> {
    let run = recording.run();
    let why = match &run.injections[..] {
        [injected] if run.method == "detours" => return Ok(injected),
        [] => "no noise was injected while it was made",
        [_] => "its loops did work",
        _ => "several kinds of noise were injected, by turns",
    };
    Err(AnalyzeError::NotInjected { dir: recording.dir().to_owned(), why })
}

/// A recording of null injection.
struct Bare<'a> {
    recording: &'a Recording,
    duration_ns: u64,
    cpus: Vec<OfCpu<'a>>,
}

/// What it says of one CPU.
struct BareCpu<'b> {
    recording: &'b Recording,
    duration_ns: u64,
    tally: &'b mut Tally,
}

impl<'a> Bare<'a> {
    fn of(recording: &'a Recording, kind: InjectionKind) -> Result<Self, AnalyzeError> {
        let injected = injected_in(recording)?;
        let same = (injected.kind == InjectionKind::Thread) == (kind == InjectionKind::Thread);
        if !same {
            let why = "its noise is made another way, so it does not tell what this one costs";
            return Err(AnalyzeError::NotInjected { dir: recording.dir().to_owned(), why });
        }
        let cpus = tallies(recording, injected, &mut Vec::new())?;
        Ok(Bare { recording, duration_ns: injected.duration_ns, cpus })
    }

    fn of_cpu(&mut self, cpu: u32) -> Option<BareCpu<'_>> {
        let of = self.cpus.iter_mut().find(|of| of.run.cpu == cpu)?;
        let tally = &mut of.known.as_mut()?.0;
        Some(BareCpu { recording: self.recording, duration_ns: self.duration_ns, tally })
    }
}

/// One CPU and what was added up of it, where its events tell.
struct OfCpu<'a> {
    run: &'a CpuRun,
    place: Place,
    known: Option<(Tally, Due)>,
}

/// Reads the events and detours of each CPU that has both noise and a loop.
fn tallies<'a>(
    recording: &'a Recording,
    injected: &Injected,
    not_available: &mut Vec<NotAvailable>,
) -> Result<Vec<OfCpu<'a>>, AnalyzeError> {
    let run = recording.run();
    let losses = read_losses(recording)?;
    let mut functions = Functions::default();
    for rows in recording.rows::<Name>() {
        rows?.iter().for_each(|name| functions.note(name));
    }
    let mut all = Vec::new();
    for &cpu in &injected.cpus {
        let what = format!("CPU {cpu}");
        let Some(of_cpu) = run.cpus.iter().find(|of| of.cpu == cpu) else {
            let remedy = "measure that CPU, too";
            not_available.push(missing(what, "its loop was not measured", remedy));
            continue;
        };
        let Some(spell) = injected.spells.iter().find(|spell| spell.cpu == cpu) else {
            let why = "the run was cut off before it noted when noise was on";
            not_available.push(missing(what, why, "let the run finish"));
            continue;
        };
        let place = place(of_cpu, spell, &losses);
        if touch(&place.events_lost, place.window.0, place.window.1) {
            let what = format!("all events of CPU {cpu}");
            let why = "some were lost or off: delivered and seen are at least as many as said here";
            not_available.push(missing(what, why, "inject less"));
        }
        let known = match Follower::new(run, injected, spell, &functions) {
            Ok(follower) => {
                let (on, window) = (spell.start_ticks, place.window);
                let due = Due::new(injected.period_ns, on, window, &run.clock);
                let (detours, events) =
                    (of::<Detour>(recording, cpu), of::<KernelEvent>(recording, cpu));
                Some(Watch::new(&place, follower, due).run(detours, events)?)
            }
            Err(why) => {
                let what = format!("what the loop of CPU {cpu} saw of it");
                let remedy = "verify as root; `anechoic check` says what is missing";
                not_available.push(missing(what, why, remedy));
                None
            }
        };
        all.push(OfCpu { run: of_cpu, place, known });
    }
    Ok(all)
}

fn missing(what: String, why: &str, remedy: &str) -> NotAvailable {
    NotAvailable { what, why: why.into(), remedy: remedy.into() }
}

fn place(cpu: &CpuRun, spell: &Spell, losses: &[Loss]) -> Place {
    let of = |wanted: &[&str]| {
        let these = losses.iter().filter(|l| l.cpu == cpu.cpu && wanted.contains(&&*l.what));
        merged(these.map(|loss| (loss.start_ticks, loss.end_ticks)).collect())
    };
    Place {
        window: (cpu.first_ticks.max(spell.start_ticks), cpu.last_ticks.min(spell.end_ticks)),
        spell: *spell,
        victim: cpu.tid,
        shortest_gap_ticks: cpu.shortest_gap_ticks,
        events_lost: of(&["events", "untraced"]),
        detours_lost: of(&["detours"]),
    }
}

/// The rows of one CPU, one by one.
fn of<R: CpuRow>(recording: &Recording, cpu: u32) -> impl Iterator<Item = Result<R, ReadError>> {
    recording.rows_of_cpu::<R>(cpu).flat_map(|group| {
        let (rows, error) = match group {
            Ok(rows) => (rows, None),
            Err(error) => (Vec::new(), Some(Err(error))),
        };
        rows.into_iter().map(Ok).chain(error)
    })
}

impl OfCpu<'_> {
    fn result(
        &mut self,
        recording: &Recording,
        injected: &Injected,
        bare: Option<BareCpu<'_>>,
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
        let (delivered, overruns) = self.delivered(injected, expected);
        let known = self.known.as_mut().map(|(tally, _)| tally);
        let events_lost = touch(&place.events_lost, spell.start_ticks, spell.end_ticks);
        let own_count = spell.delivered.map(|injector| OwnCount {
            injector,
            kernel: known.as_ref().filter(|_| !events_lost).map(|tally| tally.delivered_in_spell),
        });
        let seen = known.as_ref().map(|tally| seen(tally, ticks, recording));
        let (own_time, detour_time) =
            known.map_or((None, None), |tally| times(tally, recording, injected, bare));
        let lasts_ns = own_time.map_or(injected.duration_ns as f64, |own| own.all.median_ns);
        let threshold_ns = clock.ns(recording.run().threshold_ticks) as f64;
        CpuVerification {
            cpu: self.run.cpu,
            window_ns: clock.ns(ticks),
            asked: delivered
                .zip(overruns)
                .map_or(expected, |(came, over)| came.saturating_add(over)),
            delivered,
            delivered_hz: delivered.filter(|_| ticks > 0).map(|n| n as f64 / clock.seconds(ticks)),
            overruns,
            cut_short: spell.cut_short,
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

    /// How many came and how many were left out.
    fn delivered(&self, injected: &Injected, expected: u64) -> (Option<u64>, Option<u64>) {
        let spell = &self.place.spell;
        let Some((tally, due)) = &self.known else {
            let left_out = spell.delivered.map(|came| expected.saturating_sub(came));
            return (spell.delivered, spell.overruns.or(left_out));
        };
        let (start, end) = self.place.window;
        let whole = !touch(&self.place.events_lost, start, end);
        let periodic = injected.timing == InjectionTiming::Periodic;
        let counted = (whole && periodic).then(|| due.overruns());
        (Some(tally.delivered), counted.or(spell.overruns))
    }
}

fn seen(tally: &Tally, ticks: u64, recording: &Recording) -> Seen {
    let run = recording.run();
    let at_ns = |&ticks: &u64| run.clock.ns(ticks.saturating_sub(run.start_ticks));
    Seen {
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

/// Absent where none came that can be judged.
fn recall(seen: &Seen) -> Option<Recall> {
    let of = seen.found + seen.missing;
    let interval = wilson(seen.found, of);
    (of > 0).then(|| Recall { share: crate::share(seen.found, of), interval })
}

/// How long those that came had the CPU, and how long their detours were.
fn times(
    tally: &mut Tally,
    recording: &Recording,
    injected: &Injected,
    bare: Option<BareCpu<'_>>,
) -> (Option<OwnTime>, Option<DetourTime>) {
    let clock = &recording.run().clock;
    let own = tally.own.quartiles(clock);
    let alone = tally.alone.quartiles(clock);
    let varies = matches!(injected.timing, InjectionTiming::Replay { .. });
    let spins = injected.kind != InjectionKind::Interrupt && !varies;
    let asked_ns = spins.then_some(injected.duration_ns as f64);
    let Some(bare) = bare else {
        let own =
            own.map(|all| OwnTime { all, bare_median_ns: None, error_ns: None, within: None });
        let own = own.map(|own| own.judged(injected.kind, asked_ns, 0.0));
        return (own, alone.map(|all| DetourTime { all, bare: None, error: None }));
    };
    let bare_clock = &bare.recording.run().clock;
    let bare_asked_ns = bare.duration_ns as f64;
    let bare_own = bare.tally.own.quartiles(bare_clock).map(|own| own.median_ns);
    let own = own.map(|all| {
        let own = OwnTime { all, bare_median_ns: bare_own, error_ns: None, within: None };
        own.judged(injected.kind, asked_ns, bare_asked_ns)
    });
    let error = asked_ns.and_then(|asked_ns| {
        let bare: (&mut Durations, _) = (&mut bare.tally.alone, bare_clock);
        deviation((&mut tally.alone, clock), bare, asked_ns - bare_asked_ns)
    });
    let bare = bare.tally.alone.quartiles(bare_clock);
    (own, alone.map(|all| DetourTime { all, bare, error }))
}

impl OwnTime {
    /// Compares it with what was asked.
    fn judged(self, kind: InjectionKind, asked_ns: Option<f64>, bare_asked_ns: f64) -> Self {
        let Some(asked_ns) = asked_ns else { return self };
        let thread = kind == InjectionKind::Thread;
        // Of a thread, switching and setting its next timer are in it.
        let around = self.bare_median_ns.filter(|_| thread).map(|bare| bare - bare_asked_ns);
        let error_ns = self.all.median_ns - around.unwrap_or(0.0) - asked_ns;
        let comparable = !thread || around.is_some();
        let within = comparable.then(|| error_ns.abs() <= OFF_SHARE * asked_ns + OFF_NS);
        Self { error_ns: Some(rounded(error_ns)), within, ..self }
    }
}
