//! The spectra of a recording's series, and what carries their lines.

use super::activity::ActivityEvents;
use super::carriers::{EventsOf, carriers};
use super::collect::Collected;
use super::line::Spectrum;
use crate::samples::{Measured, visit};
use anechoic_recording::run::Outcome;
use anechoic_recording::{Activity, Clock, Problem, Recording, Series};
use std::collections::BTreeMap;

/// A train beyond the highest visible frequency must fill this share of its beats to be told.
const MIRRORED_BEATS: f64 = 0.5;
/// Multiples of the sampling rate at which lines are mirrored, as far as is looked.
const MIRRORS: u32 = 4;

/// A spectrum and the time that it is of.
struct Made {
    cpu: Option<u32>,
    window: (u64, u64),
    spectrum: Spectrum,
}

/// Adds its spectrum to each series of what [`crate::measure`] says of a recording.
///
/// Reads the samples again, and the activities of the CPUs on which a line was found.
/// Of each series the first million of samples or so is kept; short ones are put together.
///
/// # Errors
/// A file is damaged.
pub fn add_spectra(recording: &Recording, measured: &mut Measured) -> Result<(), Problem> {
    let known = recording.series()?;
    let mut made = spectra(recording, &known)?;
    if recording.attribution()?.is_some() {
        name_carriers(recording, &mut made)?;
    }
    for ((series, _), made) in known.iter().zip(made) {
        let result = measured.series.iter_mut().find(|found| found.facts.number == series.series);
        if let (Some(result), Some(made)) = (result, made) {
            result.spectrum = Some(made.spectrum);
        }
    }
    Ok(())
}

/// The spectrum of each series that has samples.
fn spectra(
    recording: &Recording,
    known: &[(Series, Outcome)],
) -> Result<Vec<Option<Made>>, Problem> {
    let clock = &recording.run().clock;
    let mut made: Vec<Option<Made>> = known.iter().map(|_| None).collect();
    let mut open = BTreeMap::<Option<u32>, (usize, Collected<'_>)>::new();
    let finish = |collected: Collected<'_>, cpu| Made {
        cpu,
        window: collected.window(),
        spectrum: collected.finish(clock),
    };
    visit(recording, known, |at, samples| {
        let series = &known[at].0;
        if made[at].is_some() {
            return; // samples after those of the next series: they were left out there too
        }
        // The series of a CPU come one after the other: only one of each is in memory.
        let before = open.remove(&series.cpu);
        let (_, mut collected) = match before {
            Some((before, collected)) if before != at => {
                made[before] = Some(finish(collected, series.cpu));
                (at, Collected::new(series))
            }
            Some(same) => same,
            None => (at, Collected::new(series)),
        };
        samples.iter().for_each(|sample| collected.add(sample, clock));
        open.insert(series.cpu, (at, collected));
    })?;
    for (cpu, (at, collected)) in open {
        made[at] = Some(finish(collected, cpu));
    }
    Ok(made)
}

/// Names what carries the lines, CPU by CPU.
fn name_carriers(recording: &Recording, made: &mut [Option<Made>]) -> Result<(), Problem> {
    let clock = &recording.run().clock;
    let mut of_cpus = BTreeMap::<u32, Vec<&mut Made>>::new();
    for made in made.iter_mut().flatten() {
        if let Some(cpu) = made.cpu.filter(|_| !made.spectrum.lines.is_empty()) {
            of_cpus.entry(cpu).or_default().push(made);
        }
    }
    for (cpu, mut of_cpu) in of_cpus {
        of_cpu.sort_by_key(|made| made.window);
        let mut waiting = of_cpu.into_iter();
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

/// Names what carries the lines of one spectrum. A line that nothing carries, while a source is in step
/// with a frequency that is mirrored there, is that source's, and is not a line here.
fn name(spectrum: &mut Spectrum, events: &ActivityEvents, clock: &Clock) {
    let (span_s, cut) = events.span(clock);
    let sources = events.sources();
    let sampling_hz = spectrum.values as f64 / spectrum.span_s;
    let mut mirrored = vec![];
    spectrum.lines.retain_mut(|line| {
        line.carriers = carriers(line.hz, span_s, &sources);
        if !line.carriers.is_empty() {
            return true;
        }
        let source = mirror(line.hz, sampling_hz, span_s, &sources);
        mirrored.extend(source.as_ref().map(|(hz, source)| {
            format!(
                "{source} at {hz:.1} Hz, which showed at {:.2} Hz: too fast for the grain",
                line.hz
            )
        }));
        source.is_none()
    });
    spectrum.not_visible.extend(mirrored);
    if cut && !spectrum.lines.is_empty() {
        spectrum.not_visible.push(format!(
            "what carries the lines after the first {span_s:.0} s: more events were left out, to bound memory"
        ));
    }
}

/// The frequency beyond the highest visible one, mirrored at `hz`, that a source is in step with.
fn mirror(
    hz: f64,
    sampling_hz: f64,
    span_s: f64,
    sources: &[EventsOf<'_>],
) -> Option<(f64, String)> {
    let mut images = (1..=MIRRORS).flat_map(|number| {
        let rate = f64::from(number) * sampling_hz;
        [rate - hz, rate + hz]
    });
    images.find_map(|image| {
        let carrier = carriers(image, span_s, sources).into_iter().next()?;
        (carrier.per_beat >= MIRRORED_BEATS).then_some((image, carrier.source))
    })
}
