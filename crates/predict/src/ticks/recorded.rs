//! Reads a table from a recording of `anechoic measure serial`.

use super::recorded_costs::costs;
use super::recorded_rates::Arrivals;
use super::recorded_rounds::{Round, SeriesOutcome, is_work, lacks, rounds};
use super::recorded_scheduler::scheduler;
use super::table::{BlockTime, MOST_PAIRS, MOST_POINTS, Origin, Point, Processor, RateFrom, Table};
use anechoic_analyze::facts::Facts;
use anechoic_analyze::stats::standard_error;
use anechoic_recording::injection::Injected;
use anechoic_recording::{Clock, Problem, ProblemKind, Recording, methods};
use std::collections::{BTreeMap, BTreeSet};

/// Method of such a recording.
const METHOD: &str = methods::SERIAL;

/// If the rate exceeds the requested one by this factor and by 1/s, something else adds interrupts.
const STRANGE: f64 = 1.05;

/// The usual work.
const SORT: &str = "sort";

/// Returns the times of sorts under each rate of added interrupts, and the cost of these and of the kernel's own tick.
///
/// The time of a round is from the first start to the last end of its copies, divided by all their sorts; the time of a
/// point is the mean of its rounds, which are spread over the run.
///
/// # Errors
///
/// The recording has another method, fewer than two rates or no costs, or is damaged.
pub fn table_of(recording: &Recording) -> Result<Table, Problem> {
    let run = recording.run();
    if run.method != METHOD {
        let (dir, method) = (recording.dir().display(), &run.method);
        let why = format!("{dir} is a recording of {method}, not of the serial experiment");
        let remedy =
            "measure with `anechoic measure serial`, or give tables with --times and --costs";
        return Err(ProblemKind::Data.problem(why, remedy));
    }
    let known = recording.series()?;
    let sorts = || known.iter().filter(|(series, _)| is_work(series));
    let cpus: BTreeSet<u32> = sorts().filter_map(|(series, _)| series.cpu).collect();
    let mut processors = vec![];
    for cpu in cpus {
        let measured: Vec<SeriesOutcome> =
            known.iter().filter(|(series, _)| series.cpu == Some(cpu)).cloned().collect();
        processors.push(processor(recording, cpu, &measured)?);
    }
    if processors.is_empty() {
        return Err(lacks(recording, "it contains no sorts", "measure again"));
    }
    let wall = known.iter().map(|(_, o)| o.last_ticks.saturating_sub(o.first_ticks)).max();
    let origin = Origin::Recording(Box::new(Facts::new(run, wall.unwrap_or(0))));
    Ok(Table { origin, processors, left_out: vec![] })
}

fn processor(
    recording: &Recording,
    cpu: u32,
    known: &[SeriesOutcome],
) -> Result<Processor, Problem> {
    let run = recording.run();
    let (rounds, mut notes) = rounds(recording, known);
    let arrivals = Arrivals::read(recording, cpu, &rounds)?;
    let points = points(recording, cpu, &rounds, &arrivals);
    let pairs = points.chunk_by(|a, b| a.copies == b.copies).any(|points| points.len() > 1);
    if !pairs {
        let what = format!("CPU {cpu} has sorts at only one rate of interrupts");
        return Err(lacks(
            recording,
            &what,
            "measure for longer, or with permission to add interrupts",
        ));
    }
    if points.len() > MOST_POINTS {
        let what = format!("CPU {cpu} has more than {MOST_POINTS} points");
        return Err(lacks(recording, &what, "measure fewer rates"));
    }
    if pairs_in_blocks(&points) > MOST_PAIRS {
        let what = format!("CPU {cpu} has more than {MOST_PAIRS} pairs of rates in its blocks");
        return Err(lacks(recording, &what, "measure fewer rates or blocks"));
    }
    if points.iter().any(|point| point.rate_from == RateFrom::Asked) {
        notes.push(
            "delivered interrupts were not counted: some rates are the requested ones".into(),
        );
    }
    let strange = |point: &Point| point.rate_hz > point.nominal_hz() * STRANGE + 1.0;
    if points.iter().any(strange) {
        notes.push(
            "more interrupts came than requested: something else samples with a cpu-clock event"
                .into(),
        );
    }
    let other = known.iter().find(|(series, _)| is_work(series) && series.variant != SORT);
    if let Some((series, _)) = other {
        notes.push(format!("a sort stands for one repetition of {}", series.variant));
    }
    let wrong: u64 = known.iter().map(|(_, outcome)| outcome.wrong).fold(0, u64::saturating_add);
    if wrong > 0 {
        notes.push(format!("{wrong} samples gave a wrong result: the machine cannot be trusted"));
    }
    Ok(Processor {
        name: format!("{}, CPU {cpu}", run.machine.model),
        points,
        costs: costs(recording, cpu, known)?,
        own_tick_hz: run.machine.tick_hz.map(f64::from),
        scheduler: scheduler(recording, cpu, known, &rounds)?,
        notes,
    })
}

/// Returns the number of pairs of rates in the blocks.
fn pairs_in_blocks(points: &[Point]) -> usize {
    let mut sizes: BTreeMap<(u32, u32), usize> = BTreeMap::new();
    for point in points {
        point.by_block.iter().for_each(|time| {
            *sizes.entry((point.copies, time.block)).or_default() += 1;
        });
    }
    sizes.values().map(|size| size * (size - 1) / 2).fold(0, usize::saturating_add)
}

/// Returns the points by copies and injection, each the mean of its rounds.
fn points(recording: &Recording, cpu: u32, rounds: &[Round], arrivals: &Arrivals) -> Vec<Point> {
    let run = recording.run();
    let mut blocks: BTreeMap<(u32, Option<u32>), Vec<usize>> = BTreeMap::new();
    for (at, round) in rounds.iter().enumerate() {
        blocks.entry((round.copies, round.injection)).or_default().push(at);
    }
    let points = blocks.into_iter().map(|((_, injection), places)| {
        let injected = injection.and_then(|at| run.injections.get(at as usize));
        let came = |&at: &usize| arrivals.in_round(at, &rounds[at], injected, cpu, &run.clock);
        let came: Vec<(f64, RateFrom)> = places.iter().map(came).collect();
        let rounds: Vec<&Round> = places.iter().map(|&at| &rounds[at]).collect();
        point(&run.clock, &rounds, &came, injected)
    });
    points.collect()
}

/// Returns the mean of these rounds; `came` is the number of interrupts in each, with its origin.
fn point(
    clock: &Clock,
    rounds: &[&Round],
    came: &[(f64, RateFrom)],
    injected: Option<&Injected>,
) -> Point {
    let wall = |round: &Round| clock.seconds(round.end_ticks - round.start_ticks);
    let time_ms = |round: &Round| wall(round) * 1e3 / round.sorts as f64;
    let times: Vec<f64> = rounds.iter().map(|round| time_ms(round)).collect();
    let by_block = rounds.iter().zip(came).map(|(round, (came, _))| BlockTime {
        block: round.block,
        rate_hz: came / wall(round),
        ms: time_ms(round),
    });
    let mut by_block: Vec<BlockTime> = by_block.collect();
    // A recording may hold rounds that began in another order.
    by_block.sort_by_key(|time| time.block);
    let from = came.iter().map(|(_, from)| *from).max().unwrap_or(RateFrom::Table);
    let came: f64 = came.iter().map(|(came, _)| came).sum();
    let seconds: f64 = rounds.iter().map(|round| wall(round)).sum();
    Point {
        copies: rounds.first().map_or(0, |round| round.copies),
        rate_hz: came / seconds,
        asked_hz: Some(injected.map_or(0.0, |one| 1e9 / one.period_ns.max(1) as f64)),
        rate_from: from,
        ms: times.iter().sum::<f64>() / times.len() as f64,
        standard_error_ms: standard_error(&times),
        blocks: u32::try_from(times.len()).unwrap_or(u32::MAX),
        by_block,
        sorts: Some(rounds.iter().map(|round| round.sorts).fold(0, u64::saturating_add)),
    }
}
