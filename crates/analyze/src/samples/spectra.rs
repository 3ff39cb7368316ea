//! The spectra of a recording's series, and the sources of their lines.

use crate::spectrum::{
    ActivityEvents, Collected, Regular, SourceEvents, Spectrum, carriers, regular,
};
use anechoic_recording::run::Outcome;
use anechoic_recording::{Activity, Clock, Problem, Recording, Sample, Series};
use std::collections::BTreeMap;

/// Smallest share of periods that a train beyond the highest visible frequency must fill to be reported.
const MIRRORED_BEATS: f64 = 0.5;
/// A series of at most this many seconds may be too short for lines of slow sources.
const SHORT_S: f64 = 10.0;
/// Largest multiple of the sampling rate at which aliases are searched.
const MIRRORS: u32 = 4;

/// A spectrum with its time.
struct SeriesSpectrum {
    cpu: Option<u32>,
    window: (u64, u64),
    spectrum: Spectrum,
}

/// Collects the samples of all series for spectra: the first million of each, with short ones combined.
pub(super) struct SpectraBuilder<'a> {
    known: &'a [(Series, Outcome)],
    clock: &'a Clock,
    made: Vec<Option<SeriesSpectrum>>,
    /// Samples by CPU; series of a CPU come one after the other, so only one of each is in memory.
    open: BTreeMap<Option<u32>, (usize, Collected<'a>)>,
}

impl<'a> SpectraBuilder<'a> {
    /// Returns an empty collection for these series.
    pub(super) fn new(known: &'a [(Series, Outcome)], clock: &'a Clock) -> Self {
        let made = known.iter().map(|_| None).collect();
        Self { known, clock, made, open: BTreeMap::new() }
    }

    /// Adds the next samples of this series.
    pub(super) fn add(&mut self, at: usize, samples: &[Sample]) {
        let series = &self.known[at].0;
        if self.made[at].is_some() {
            return; // samples after those of the next series: they were left out there too
        }
        let mut collected = match self.open.remove(&series.cpu) {
            Some((before, collected)) if before != at => {
                self.close(before, collected);
                Collected::new(series)
            }
            Some((_, same)) => same,
            None => Collected::new(series),
        };
        samples.iter().for_each(|sample| collected.add(sample, self.clock));
        self.open.insert(series.cpu, (at, collected));
    }

    /// Returns the spectra in the order of the series; absent for those without samples. Reads the activities of CPUs
    /// with lines.
    ///
    /// # Errors
    ///
    /// A file is damaged.
    pub(super) fn finish(
        mut self,
        recording: &Recording,
    ) -> Result<Vec<Option<Spectrum>>, Problem> {
        for (at, collected) in std::mem::take(&mut self.open).into_values() {
            self.close(at, collected);
        }
        if recording.attribution()?.is_some() {
            name_carriers(recording, &mut self.made)?;
        }
        Ok(self.made.into_iter().map(|made| made.map(|made| made.spectrum)).collect())
    }

    fn close(&mut self, at: usize, collected: Collected<'_>) {
        let (cpu, window) = (self.known[at].0.cpu, collected.window());
        self.made[at] =
            Some(SeriesSpectrum { cpu, window, spectrum: collected.finish(self.clock) });
    }
}

/// Names the sources of the lines, and those that come at even intervals, CPU by CPU.
fn name_carriers(
    recording: &Recording,
    made: &mut [Option<SeriesSpectrum>],
) -> Result<(), Problem> {
    let clock = &recording.run().clock;
    let mut by_cpu = BTreeMap::<u32, Vec<&mut SeriesSpectrum>>::new();
    for made in made.iter_mut().flatten() {
        let spectrum = &made.spectrum;
        let looked_for = !spectrum.lines.is_empty() || spectrum.span_s <= SHORT_S;
        if let Some(cpu) = made.cpu.filter(|_| looked_for) {
            by_cpu.entry(cpu).or_default().push(made);
        }
    }
    for (cpu, mut spectra) in by_cpu {
        spectra.sort_by_key(|made| made.window);
        let mut waiting = spectra.into_iter();
        let mut current = waiting.next().map(|made| (ActivityEvents::new(made.window), made));
        for rows in recording.rows_of_cpu::<Activity>(cpu) {
            for activity in &rows? {
                while let Some((mut events, made)) =
                    current.take_if(|(events, _)| events.is_past(activity))
                {
                    events.close(clock);
                    name(&mut made.spectrum, &events, clock);
                    current = waiting.next().map(|made| (ActivityEvents::new(made.window), made));
                }
                let Some((events, _)) = &mut current else { break };
                events.add(activity, clock);
            }
        }
        if let Some((mut events, made)) = current {
            events.close(clock);
            name(&mut made.spectrum, &events, clock);
        }
    }
    Ok(())
}

/// Names the sources of the lines of one spectrum. If no source causes a line, but a source is in step with a frequency
/// whose alias it is, the line belongs to that source and is removed here.
fn name(spectrum: &mut Spectrum, events: &ActivityEvents, clock: &Clock) {
    let (span_s, cut) = events.span(clock);
    let sources = events.sources();
    let sampling_hz = spectrum.values as f64 / spectrum.span_s;
    let mut mirrored = vec![];
    spectrum.lines.retain_mut(|line| {
        line.carriers = carriers(line.hz, span_s, line.noise, &sources);
        if !line.carriers.is_empty() {
            return true;
        }
        let source = mirror(line.hz, sampling_hz, span_s, &sources);
        mirrored.extend(source.as_ref().map(|(hz, source)| {
            format!("{source} at {hz:.1} Hz, too fast for the grain, appears at {:.2} Hz", line.hz)
        }));
        source.is_none()
    });
    spectrum.not_visible.extend(mirrored);
    let carries = |source: &Regular| {
        let carriers = spectrum.lines.iter().flat_map(|line| &line.carriers);
        carriers
            .into_iter()
            .any(|carrier| (&carrier.source, &carrier.name) == (&source.source, &source.name))
    };
    spectrum.regular = regular(&sources).into_iter().filter(|source| !carries(source)).collect();
    if cut && !spectrum.lines.is_empty() {
        spectrum.not_visible.push(format!(
            "sources of the lines after the first {span_s:.0} s: later events were left out to bound memory"
        ));
    }
}

/// Returns the frequency beyond the highest visible one that a source is in step with and whose alias is `hz`.
fn mirror(
    hz: f64,
    sampling_hz: f64,
    span_s: f64,
    sources: &[SourceEvents<'_>],
) -> Option<(f64, String)> {
    let mut images = (1..=MIRRORS).flat_map(|number| {
        let rate = f64::from(number) * sampling_hz;
        [rate - hz, rate + hz]
    });
    images.find_map(|image| {
        let carrier = carriers(image, span_s, None, sources).into_iter().next()?;
        (carrier.per_beat >= MIRRORED_BEATS).then_some((image, carrier.source))
    })
}
