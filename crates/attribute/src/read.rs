//! Attributes a recording: reads the measured tables and replaces the derived one.

use crate::engine;
use crate::input::Feed;
use crate::input::{CpuInput, Input};
use crate::names::Names;
use crate::program::derive_threads;
use crate::tick;
use anechoic_recording::attribution::Attribution;
use anechoic_recording::run::CpuRun;
use anechoic_recording::{
    Activity, Counter, CpuRow, Detour, KernelEvent, Loss, Name, Problem, Recording, Row, Sample,
};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// Derives `activities`, `attribution.json` and, for a recorded program, `threads` and `delays` from the measured tables,
/// replacing older versions.
///
/// It reads tables as streams, so it works on recordings larger than memory. A recording without
/// kernel events gets no activities, only the audit of its counters.
///
/// # Errors
/// Fails if a measured table is damaged or the derived one cannot be written. Older derived files then stay.
pub fn attribute(recording: &Recording) -> Result<Attribution, Problem> {
    let _held = recording.hold()?;
    let recording = &Recording::open(recording.dir())?; // as it is now that no other process writes
    let run = recording.run();
    let mut names = Names::new(names(recording)?);
    if run.trace.is_some() && !names.has_symbols() {
        guess_tick(recording, &mut names)?;
    }
    let names = Arc::new(names);
    let mut losses: HashMap<u32, Vec<Loss>> = HashMap::new();
    for loss in all::<Loss>(recording)? {
        losses.entry(loss.cpu).or_default().push(loss);
    }
    let measured = run.cpus.iter().filter(|_| run.trace.is_some());
    let cpus = measured.map(|cpu| {
        let losses = losses.remove(&cpu.cpu).unwrap_or_default();
        cpu_input(recording, cpu, losses)
    });
    let cpus = cpus.collect::<Result<_, _>>()?;
    let counters = recording.rows::<Counter>().each();
    let counters =
        counters.filter(|counter| counter.as_ref().map_or(true, |counter| counter.name != STEAL));
    let input = Input {
        run,
        names: Arc::clone(&names),
        cpus,
        events: event_cpus(recording).into_iter().map(|cpu| on_cpu(recording, cpu)).collect(),
        counters: counters.collect::<Result<_, _>>()?,
    };
    let mut table = recording.derive::<Activity>()?;
    let mut attribution = engine::run(input, &mut |rows| Ok(table.append(rows)?))?;
    table.finish()?;
    let left_out = derive_threads(recording, &names)?;
    attribution.releases_left_out = (left_out > 0).then_some(left_out);
    recording.write_attribution(&attribution)?;
    Ok(attribution)
}

fn cpu_input<'a>(
    recording: &'a Recording,
    cpu: &CpuRun,
    losses: Vec<Loss>,
) -> Result<CpuInput<'a>, Problem> {
    let mut stints = recording.stints(cpu)?;
    let cpu = cpu.cpu;
    let detours: Feed<Detour> = if stints.is_empty() || stints.iter().any(|stint| stint.watched) {
        // If some series recorded gaps, whole samples of the others are not attributed.
        stints.retain(|stint| stint.watched);
        on_cpu(recording, cpu)
    } else {
        samples(recording, cpu)?
    };
    Ok(CpuInput { cpu, stints, detours, steal: steal(recording, cpu), losses })
}

/// Returns the samples of a CPU as detours, without those of copies that shared it.
fn samples(recording: &Recording, cpu: u32) -> Result<Feed<'_, Detour>, Problem> {
    let series = recording.series()?.into_iter();
    let copies: HashSet<u32> = series
        .filter(|(series, _)| series.parameters.copies > 1)
        .map(|(series, _)| series.series)
        .collect();
    let alone = move |sample: &Result<Sample, _>| {
        sample.as_ref().map_or(true, |sample| !copies.contains(&sample.series))
    };
    let mut reached = 0;
    Ok(Box::new(on_cpu::<Sample>(recording, cpu).filter(alone).map(move |sample| {
        let Sample { cpu, start_ticks, end_ticks, .. } = sample?;
        if start_ticks < reached {
            let (file, why) = (recording.dir().join("samples"), OVERLAP.to_owned());
            return Err(Problem::damaged(&file, why));
        }
        reached = end_ticks;
        Ok(Detour { cpu, start_ticks, end_ticks })
    })))
}

const OVERLAP: &str = "samples of one CPU overlap although they are not of copies";

/// The name of the counter with steal readings.
const STEAL: &str = "steal_ns";

/// Returns the CPUs that may have events: those that were online, and those that were measured.
fn event_cpus(recording: &Recording) -> Vec<u32> {
    let run = recording.run();
    let online = run.machine.cpus.iter().map(|cpu| cpu.cpu);
    let mut cpus: Vec<u32> = online.chain(run.cpus.iter().map(|cpu| cpu.cpu)).collect();
    cpus.sort_unstable();
    cpus.dedup();
    cpus
}

fn guess_tick(recording: &Recording, names: &mut Names) -> Result<(), Problem> {
    if let Some(cpu) = recording.run().cpus.first()
        && let Some(function) = tick::guess(on_cpu::<KernelEvent>(recording, cpu.cpu))?
    {
        names.set_tick(function);
    }
    Ok(())
}

/// More bytes than the names of a recording have: some millions of threads.
const MOST_NAMES: usize = 256 << 20;

/// Reads all names, which stay in memory together.
fn names(recording: &Recording) -> Result<Vec<Name>, Problem> {
    let mut bytes = 0;
    let bounded = recording.rows::<Name>().each().map(|name| {
        let name = name?;
        bytes += name.name.len();
        match bytes {
            0..=MOST_NAMES => Ok(name),
            _ => {
                let why = format!("its names have more than {} MiB", MOST_NAMES >> 20);
                Err(Problem::damaged(&recording.dir().join("names"), why))
            }
        }
    });
    bounded.collect()
}

fn all<R: Row>(recording: &Recording) -> Result<Vec<R>, Problem> {
    recording.rows::<R>().each().collect()
}

fn on_cpu<R: CpuRow>(recording: &Recording, cpu: u32) -> Feed<'_, R> {
    Box::new(recording.rows_of_cpu::<R>(cpu).each())
}

fn steal(recording: &Recording, cpu: u32) -> Feed<'_, Counter> {
    let readings = recording.rows_of_cpu::<Counter>(cpu).each();
    Box::new(readings.filter(|row| row.as_ref().map_or(true, |counter| counter.name == STEAL)))
}
