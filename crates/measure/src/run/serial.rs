//! Rounds of the serial tick model: system calls, a watched loop, and sorts, each under every rate of
//! added interrupts (Tsafrir 2007).

use super::RunError;
use super::calibrate::third_decile;
use super::job::Job;
use super::loops::ticks;
use super::paces::{OnCpu, on_cpu, paces};
use super::place::Place;
use super::round::Round;
use super::schedule::{Rounds, Scheduled, policy_name};
use super::sorting::{Array, Sorting};
use crate::methods::serial::{METHOD, Serial, TRAP, WATCHED};
use crate::methods::{Experiment, Policy};
use anechoic_kernels::counter;
use anechoic_kernels::work::Kernel;
use anechoic_recording::machine::Machine;
use anechoic_recording::run::Run;
use anechoic_recording::{Fixed, Series};
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_pcg::Pcg64Mcg;
use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// What is sorted, by the name of its series.
const SORT: &str = "sort";
/// Bytes that are sorted where the size of the cache is not known.
const USUAL_BYTES: u64 = 256 << 10;
/// Sorts of the calibration.
const SORTS: usize = 21;
/// Of the order of rates: the same in every run.
const SEED: u64 = 1;

/// What a sort is on one CPU.
#[derive(Debug, Clone, Copy)]
struct Sort {
    cpu: u32,
    numbers: usize,
    /// What it takes undisturbed.
    ticks: u64,
    megacycle_ticks: u64,
}

/// A kernel and what its samples are on the CPU.
type Beside<'a> = (&'a Experiment, &'static Kernel, BTreeMap<u32, OnCpu>);

/// Rounds and series on `cpu`. Its own loop has the first lane, copies have those after it.
///
/// # Errors
/// [`RunError::NoSamples`], and those of [`paces`].
pub(super) fn serial(
    asked: &Serial,
    cpu: u32,
    run: &mut Run,
    stop: &AtomicBool,
) -> Result<Scheduled, RunError> {
    let most = asked.copies.iter().copied().max().unwrap_or(0);
    if asked.blocks == 0 || asked.rates.is_empty() || asked.copies.contains(&0) || most == 0 {
        return Err(RunError::NoSamples);
    }
    let [trap, watched] = [(TRAP, true), (WATCHED, false)].map(|(id, pure)| Experiment {
        kernels: vec![id.to_owned()],
        samples: METHOD.samples.div_ceil(asked.blocks.into()),
        pure,
        ..Experiment::of(&METHOD)
    });
    let trap = beside(&trap, cpu, run, stop)?;
    let watched = beside(&watched, cpu, run, stop)?;
    let sort = calibrated(cpu, watched.2[&cpu].megacycle_ticks, run)?;

    let mut random = Pcg64Mcg::seed_from_u64(SEED);
    let mut rates = numbered(asked);
    let mut rounds = Rounds::new(run);
    for _ in 0..asked.blocks {
        add_beside(&mut rounds, &trap, cpu, None);
        rates.shuffle(&mut random);
        rates.iter().for_each(|&rate| add_beside(&mut rounds, &watched, cpu, rate));
        for &copies in &asked.copies {
            rates.shuffle(&mut random);
            rates.iter().for_each(|&rate| add_sorts(&mut rounds, asked, &sort, copies, rate));
        }
    }
    let (rounds, series) = rounds.done();
    let copies = (1..most).map(|_| Place::Copy(cpu));
    let places = [Place::Cpu(cpu)].into_iter().chain(copies).collect();
    Ok(Scheduled { places, rounds, series })
}

/// The number of each rate's injection; none where nothing is added.
fn numbered(asked: &Serial) -> Vec<Option<u32>> {
    let mut numbers = 0..;
    asked.rates.iter().map(|rate| rate.as_ref().and_then(|_| numbers.next())).collect()
}

fn beside<'a>(
    experiment: &'a Experiment,
    cpu: u32,
    run: &mut Run,
    stop: &AtomicBool,
) -> Result<Beside<'a>, RunError> {
    let paces = paces(experiment, &[cpu], run, stop)?;
    run.notes.extend(paces.notes);
    let (kernel, on) = paces.kernels.into_iter().next().ok_or(RunError::NoSamples)?;
    Ok((experiment, kernel, on))
}

fn add_beside(
    rounds: &mut Rounds,
    (experiment, kernel, on): &Beside,
    cpu: u32,
    injection: Option<u32>,
) {
    rounds.add(experiment, kernel, on, (Policy::Other, injection), &[(0, Some(cpu))]);
}

/// Adds a round in which all copies sort, each as often.
fn add_sorts(
    rounds: &mut Rounds,
    asked: &Serial,
    sort: &Sort,
    copies: u32,
    injection: Option<u32>,
) {
    let wanted = ticks(asked.sort_time, &rounds.run.clock);
    let all_copies = sort.ticks.saturating_mul(copies.into()).max(1);
    let sorts = ((wanted + all_copies / 2) / all_copies).max(1);
    let jobs = (0..copies).map(|copy| {
        let series = rounds.add_series(Series {
            series: 0,
            method: METHOD.id.to_owned(),
            variant: SORT.to_owned(),
            cpu: Some(sort.cpu),
            tid: 0,
            policy: policy_name(false),
            grain_ticks: sort.ticks,
            fixed: Fixed::Work,
            iterations: sort.numbers as u64,
            calibrated_ticks: sort.ticks,
            instructions: 1,
            megaiteration_ticks: per_million(sort.ticks, sort.numbers),
            megacycle_ticks: sort.megacycle_ticks,
            step_iterations: None,
            step_ticks: None,
            threshold_ticks: None,
            asked: sorts,
            maiv_ppm: None,
            round: rounds.number(),
            copies,
            injection,
            rank: None,
            meeting: None,
        });
        (copy as usize, Job::Sort(Sorting { series, cpu: sort.cpu, numbers: sort.numbers, sorts }))
    });
    let jobs = jobs.collect();
    let grain = Duration::from_nanos(rounds.run.clock.ns(sort.ticks));
    let all = u32::try_from(sorts.saturating_mul(copies.into())).unwrap_or(u32::MAX);
    rounds.push(Round::new(jobs, grain.saturating_mul(all), Some(grain), injection));
}

/// Ticks of a million iterations.
fn per_million(ticks: u64, iterations: usize) -> u64 {
    let million = u128::from(ticks) * 1_000_000 / iterations.max(1) as u128;
    u64::try_from(million).unwrap_or(u64::MAX)
}

/// Numbers that fill half of the CPU's second-level cache; where its size is not known, a note says so.
fn calibrated(cpu: u32, megacycle_ticks: u64, run: &mut Run) -> Result<Sort, RunError> {
    let half = l2_bytes(&run.machine, cpu).map(|bytes| bytes / 2).filter(|&bytes| bytes > 0);
    if half.is_none() {
        let kib = USUAL_BYTES >> 10;
        run.notes.push(format!("the size of the L2 cache is not known: sorts are of {kib} KiB"));
    }
    let numbers = half.unwrap_or(USUAL_BYTES) as usize / size_of::<u32>();
    let ticks = on_cpu(cpu, || {
        let mut array = Array::of(numbers);
        third_decile(SORTS, || {
            let begin = counter::boundary().0;
            std::hint::black_box(array.sort());
            counter::boundary().0.saturating_sub(begin)
        })
    })?;
    Ok(Sort { cpu, numbers, ticks: ticks.round() as u64, megacycle_ticks })
}

/// Size of the CPU's second-level cache for data, in bytes.
fn l2_bytes(machine: &Machine, cpu: u32) -> Option<u64> {
    let known = machine.cpus.iter().find(|known| known.cpu == cpu)?;
    let data = known.caches.iter().filter(|cache| cache.kind != "Instruction");
    data.filter(|cache| cache.level == 2).map(|cache| cache.size_bytes).next()
}
