//! Makes a long recording of a short one, to measure how much time and memory reading it takes.
//!
//! `cargo run --release --workspace --example lengthen -- RECORDING TIMES NEW`: the detours of each CPU, with what took
//! them, follow each other so many times.

use anechoic_recording::{Activity, Detour, Problem, Recorder, Recording};
use std::error::Error;
use std::path::Path;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [from, times, to] = &arguments[..] else {
        return Err("name a recording, how many times as long, and a new directory".into());
    };
    let (from, times, to) = (Recording::open(Path::new(from))?, times.parse()?, Path::new(to));
    lengthen(&from, times, to)?;
    Ok(())
}

fn lengthen(from: &Recording, times: u64, to: &Path) -> Result<(), Box<dyn Error>> {
    let mut run = from.run().clone();
    let ends = run.cpus.iter().map(|cpu| cpu.last_ticks).chain([run.end_ticks]);
    let period = ends.max().unwrap_or(0) - run.start_ticks;
    let longer = (times - 1) * period;
    run.end_ticks += longer;
    for cpu in &mut run.cpus {
        cpu.last_ticks += longer;
        cpu.iterations *= times;
        cpu.detours *= times;
    }
    let mut recorder = Recorder::create(to, &run)?;
    for turn in 0..times {
        for cpu in &run.cpus {
            for rows in from.rows_of_cpu::<Detour>(cpu.cpu) {
                recorder.append(&later(rows?, turn * period))?;
            }
        }
    }
    recorder.finish(&run)?;
    let Some(attribution) = from.attribution()? else { return Ok(()) };
    let to = Recording::open(to)?;
    let mut writer = to.derive::<Activity>()?;
    for turn in 0..times {
        for cpu in &run.cpus {
            let detours = count(from, cpu.cpu)?;
            for rows in from.rows_of_cpu::<Activity>(cpu.cpu) {
                let mut rows = rows?;
                for row in &mut rows {
                    row.start_ticks += turn * period;
                    row.end_ticks += turn * period;
                    row.detour += turn * detours;
                }
                writer.append(&rows)?;
            }
        }
    }
    writer.finish()?;
    Ok(to.write_attribution(&attribution)?)
}

fn later(mut detours: Vec<Detour>, ticks: u64) -> Vec<Detour> {
    for detour in &mut detours {
        detour.start_ticks += ticks;
        detour.end_ticks += ticks;
    }
    detours
}

fn count(recording: &Recording, cpu: u32) -> Result<u64, Problem> {
    recording.rows_of_cpu::<Detour>(cpu).map(|rows| Ok(rows?.len() as u64)).sum()
}
