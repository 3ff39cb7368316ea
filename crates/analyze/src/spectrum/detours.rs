//! The periods of a recording of detours: each CPU's detours as events, and the sources of their lines.

use super::activity::ActivityEvents;
use super::carriers::carriers;
use super::line::Spectrum;
use super::search::{Input, Options, lines};
use crate::fold::{CpuLoops, Fold};
use crate::loops::watched_ticks;
use crate::split::SplitDetour;
use crate::threads::in_order;
use anechoic_recording::run::CpuRun;
use anechoic_recording::{Clock, DetourView, Run};

/// Largest number of detours of a CPU that are kept.
const MOST: usize = 1 << 20;
/// Longest time of a CPU that is searched. A grid that is fine enough for 10 kHz is then small enough to be
/// transformed some dozens of times in a second, and lines a tenth of a hertz apart are still resolved.
const LONGEST_NS: u64 = 20_000_000_000;

/// The periods in the detours of one CPU.
#[derive(Debug, Clone, PartialEq)]
pub struct CpuPeriods {
    /// The CPU.
    pub cpu: u32,
    /// Spectrum of its detours, weighted by their lengths.
    pub spectrum: Spectrum,
}

/// The periods of the CPUs that lost the largest shares of their time, in the making.
///
/// Each CPU is searched over its first 20 seconds, or its first million detours if these end earlier. What took the
/// time of those detours is kept with them, because it names the lines. Only the noisiest CPUs so far are in memory.
pub(crate) struct Periods<'a> {
    run: &'a Run,
    most: usize,
    open: Option<Events>,
    /// The CPUs, sorted by decreasing noise.
    noisiest: Vec<CpuEvents<'a>>,
}

struct CpuEvents<'a> {
    cpu: &'a CpuRun,
    noise: f64,
    events: Events,
}

impl<'a> Periods<'a> {
    /// Returns an empty collection for at most this many CPUs.
    pub(crate) fn for_noisiest(run: &'a Run, most: usize) -> Self {
        Self { run, most, open: None, noisiest: vec![] }
    }

    /// Returns the spectra, that of the noisiest CPU first.
    pub(crate) fn finish(self) -> Vec<CpuPeriods> {
        let clock = &self.run.clock;
        let periods = |at: usize| {
            let noisy = &self.noisiest[at];
            CpuPeriods { cpu: noisy.cpu.cpu, spectrum: noisy.events.spectrum(noisy.cpu, clock) }
        };
        in_order(self.noisiest.len(), periods)
    }
}

impl Fold for Periods<'_> {
    fn begin_cpu(&mut self, here: &CpuLoops<'_>) {
        self.open = (self.most > 0).then(|| Events::new(here.cpu, &self.run.clock));
    }

    fn detour(&mut self, detour: &SplitDetour<'_>) {
        if let Some(events) = &mut self.open {
            events.add(&detour.view, &self.run.clock);
        }
    }

    fn end_cpu(&mut self, here: &CpuLoops<'_>) {
        let Some(mut events) = self.open.take().filter(|events| events.detours > 0) else { return };
        events.end(&self.run.clock);
        let run = self.run;
        let Some(cpu) = run.cpus.iter().find(|known| known.cpu == here.cpu.cpu) else { return };
        let wall = watched_ticks(run, cpu, events.end_ticks, events.lost_ticks);
        let noise = crate::share(events.lost_ticks, wall);
        self.noisiest.push(CpuEvents { cpu, noise, events });
        self.noisiest.sort_by(|a, b| b.noise.total_cmp(&a.noise).then(a.cpu.cpu.cmp(&b.cpu.cpu)));
        self.noisiest.truncate(self.most);
    }
}

/// The detours of a CPU from its loop's start on.
struct Events {
    first_ticks: u64,
    /// End of the analysed time.
    last_ticks: u64,
    starts_s: Vec<f64>,
    lengths_s: Vec<f64>,
    /// End of the last kept detour.
    reached_ticks: u64,
    full: bool,
    /// Whether the loop's end is known.
    ended: bool,
    /// Sources of the kept detours.
    activities: ActivityEvents,
    /// Number, lost time and last end of all detours, kept or not.
    detours: u64,
    lost_ticks: u64,
    end_ticks: u64,
}

impl Events {
    fn new(cpu: &CpuRun, clock: &Clock) -> Self {
        let ended = cpu.last_ticks > cpu.first_ticks;
        let limit_ticks = cpu.first_ticks.saturating_add(clock.ticks(LONGEST_NS));
        let last_ticks = if ended { limit_ticks.min(cpu.last_ticks) } else { limit_ticks };
        Self {
            first_ticks: cpu.first_ticks,
            last_ticks,
            starts_s: vec![],
            lengths_s: vec![],
            reached_ticks: cpu.first_ticks,
            full: false,
            ended,
            activities: ActivityEvents::new((cpu.first_ticks, last_ticks)),
            detours: 0,
            lost_ticks: 0,
            end_ticks: 0,
        }
    }

    /// Adds the next detour.
    fn add(&mut self, detour: &DetourView<'_>, clock: &Clock) {
        self.detours += 1;
        self.lost_ticks = self.lost_ticks.saturating_add(detour.lost_ticks);
        self.end_ticks = self.end_ticks.max(detour.end_ticks);
        if detour.start_ticks < self.first_ticks || detour.start_ticks >= self.last_ticks {
            return;
        }
        self.full |= self.starts_s.len() == MOST;
        if self.full {
            return;
        }
        self.starts_s.push(clock.seconds(detour.start_ticks - self.first_ticks));
        self.lengths_s.push(clock.seconds(detour.lost_ticks));
        self.reached_ticks = detour.end_ticks.max(detour.start_ticks);
        for activity in detour.activities {
            if !self.activities.is_past(activity) {
                self.activities.add(activity, clock);
            }
        }
    }

    /// Ends after the last detour.
    fn end(&mut self, clock: &Clock) {
        self.activities.close(clock);
        self.activities.end_at(self.window().1);
    }

    /// Returns the analysed time.
    fn window(&self) -> (u64, u64) {
        let all = self.ended && !self.full;
        let last = if all { self.last_ticks } else { self.reached_ticks.min(self.last_ticks) };
        (self.first_ticks, last)
    }

    fn spectrum(&self, cpu: &CpuRun, clock: &Clock) -> Spectrum {
        let window = self.window();
        let (first, last) = window;
        // A start may round to just beyond the end.
        let end_s = clock.seconds(last - first).max(self.starts_s.last().copied().unwrap_or(0.0));
        let input = Input::Events {
            starts_s: &self.starts_s,
            lengths_s: Some(&self.lengths_s),
            between_s: (0.0, end_s),
        };
        let mut spectrum = lines(&input, &Options::default());
        if self.full || last < cpu.last_ticks {
            spectrum.not_visible.push(format!(
                "the time after the first {end_s:.0} s, which was left out to bound memory and time"
            ));
        }
        if cpu.lost_detours > 0 {
            spectrum.not_visible.push(format!("{} detours that were lost", cpu.lost_detours));
        }
        if self.activities.any() && !spectrum.lines.is_empty() {
            name(&self.activities, clock, &mut spectrum);
        }
        spectrum
    }
}

/// Names the sources of the lines of a CPU.
fn name(events: &ActivityEvents, clock: &Clock, spectrum: &mut Spectrum) {
    let (span_s, cut) = events.span(clock);
    let sources = events.sources();
    for line in &mut spectrum.lines {
        line.carriers = carriers(line.hz, span_s, line.noise, &sources);
    }
    if cut {
        spectrum.not_visible.push(format!(
            "sources of the lines after the first {span_s:.0} s: later events were left out to bound memory"
        ));
    }
}
