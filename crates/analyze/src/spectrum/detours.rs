//! The periods of a detours recording: each CPU's detours as events, and what carries their lines.

use super::activity::ActivityEvents;
use super::carriers::carriers;
use super::line::Spectrum;
use super::search::{Input, Options, lines};
use crate::error::AnalyzeError;
use anechoic_recording::run::CpuRun;
use anechoic_recording::{Activity, Clock, Detour, Recording};

/// Detours of a CPU that are kept, at most.
const MOST: usize = 1 << 20;
/// Time that is looked at, at most: a grid that is fine enough for 10 kHz is then small enough to be transformed
/// some dozens of times in a second, and lines a tenth of a hertz apart are two.
const LONGEST_NS: u64 = 20_000_000_000;

/// What is periodic in the detours of one CPU.
#[derive(Debug, Clone, PartialEq)]
pub struct CpuPeriods {
    /// The CPU.
    pub cpu: u32,
    /// Its detours' spectrum: each counts by its length.
    pub spectrum: Spectrum,
}

/// The spectra of these CPUs' detours, in their order; CPUs that were not measured are left out.
///
/// Of each CPU the first million of detours and twenty seconds are looked at. Then the activities are read for what
/// carries the lines.
///
/// # Errors
/// [`AnalyzeError::Read`] where a file is damaged.
pub fn detour_periods(
    recording: &Recording,
    cpus: &[u32],
) -> Result<Vec<CpuPeriods>, AnalyzeError> {
    let attributed = recording.attribution()?.is_some();
    let known = |&cpu: &u32| recording.run().cpus.iter().find(|of| of.cpu == cpu);
    cpus.iter().filter_map(known).map(|cpu| of_cpu(recording, cpu, attributed)).collect()
}

fn of_cpu(
    recording: &Recording,
    cpu: &CpuRun,
    attributed: bool,
) -> Result<CpuPeriods, AnalyzeError> {
    let clock = &recording.run().clock;
    let mut events = Events::new(cpu, clock);
    for rows in recording.rows_of_cpu::<Detour>(cpu.cpu) {
        if !rows?.iter().all(|detour| events.add(detour, clock)) {
            break;
        }
    }
    let mut spectrum = events.spectrum(cpu, clock);
    if attributed && !spectrum.lines.is_empty() {
        name(recording, cpu, events.window(), &mut spectrum)?;
    }
    Ok(CpuPeriods { cpu: cpu.cpu, spectrum })
}

/// The detours of a CPU from its loop's start on.
struct Events {
    first_ticks: u64,
    /// No later one is looked at.
    last_ticks: u64,
    shortest_ticks: u64,
    starts_s: Vec<f64>,
    lengths_s: Vec<f64>,
    /// End of the last that was kept.
    reached_ticks: u64,
    full: bool,
    /// Whether the loop's end is known.
    ended: bool,
}

impl Events {
    fn new(cpu: &CpuRun, clock: &Clock) -> Self {
        let ended = cpu.last_ticks > cpu.first_ticks;
        let limit_ticks = cpu.first_ticks.saturating_add(clock.ticks(LONGEST_NS));
        Self {
            first_ticks: cpu.first_ticks,
            last_ticks: if ended { limit_ticks.min(cpu.last_ticks) } else { limit_ticks },
            shortest_ticks: cpu.shortest_gap_ticks,
            starts_s: vec![],
            lengths_s: vec![],
            reached_ticks: cpu.first_ticks,
            full: false,
            ended,
        }
    }

    /// Adds the next one; false where none after it is looked at.
    fn add(&mut self, detour: &Detour, clock: &Clock) -> bool {
        if detour.start_ticks < self.first_ticks {
            return true;
        }
        self.full = self.starts_s.len() == MOST;
        if self.full || detour.start_ticks >= self.last_ticks {
            return false;
        }
        let length = detour.end_ticks.saturating_sub(detour.start_ticks);
        self.starts_s.push(clock.seconds(detour.start_ticks - self.first_ticks));
        self.lengths_s.push(clock.seconds(length.saturating_sub(self.shortest_ticks)));
        self.reached_ticks = detour.end_ticks.max(detour.start_ticks);
        true
    }

    /// The time that is looked at.
    fn window(&self) -> (u64, u64) {
        let all = self.ended && !self.full;
        let last = if all { self.last_ticks } else { self.reached_ticks.min(self.last_ticks) };
        (self.first_ticks, last)
    }

    fn spectrum(&self, cpu: &CpuRun, clock: &Clock) -> Spectrum {
        let (first, last) = self.window();
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
                "what came after the first {end_s:.0} s: it was left out, to bound memory and time"
            ));
        }
        if cpu.lost_detours > 0 {
            spectrum.not_visible.push(format!("{} detours that were lost", cpu.lost_detours));
        }
        spectrum
    }
}

/// Names what carries the lines of a CPU.
fn name(
    recording: &Recording,
    cpu: &CpuRun,
    window: (u64, u64),
    spectrum: &mut Spectrum,
) -> Result<(), AnalyzeError> {
    let clock = &recording.run().clock;
    let mut events = ActivityEvents::new(window);
    'read: for rows in recording.rows_of_cpu::<Activity>(cpu.cpu) {
        for activity in &rows? {
            if events.is_past(activity) {
                break 'read;
            }
            events.add(activity, clock);
        }
    }
    events.close(clock);
    let (span_s, cut) = events.span(clock);
    let sources = events.sources();
    for line in &mut spectrum.lines {
        line.carriers = carriers(line.hz, span_s, &sources);
    }
    if cut {
        spectrum.not_visible.push(format!(
            "what carries the lines after the first {span_s:.0} s: more events were left out, to bound memory"
        ));
    }
    Ok(())
}
