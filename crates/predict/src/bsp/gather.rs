//! Reads the phases and detours of all hosts of a job, each file once.

use super::outcome::HostFacts;
use super::track::{Phase, Track, join};
use crate::phases::Span;
use anechoic_recording::parallel::Meeting;
use anechoic_recording::run::{Ended, Outcome, RunState};
use anechoic_recording::{Detour, Problem, ProblemKind, Recording, Sample, Series, Stint, methods};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

/// One round: all ranks with one grain and one kind of synchronisation.
#[derive(Debug, Clone)]
pub(super) struct RoundRead {
    pub number: u32,
    pub grain_ns: u64,
    pub meeting: Meeting,
    pub injection: Option<u32>,
    /// The ranks with the phases that all of them recorded; ranks of one host are adjacent.
    pub tracks: Vec<Track>,
    /// Number of phases that some rank did not record.
    pub left_out: u64,
    /// The ranks that have a track.
    ranks: HashSet<u32>,
}

/// The content of the recordings.
#[derive(Debug, Clone, Default)]
pub(super) struct Gathered {
    pub rounds: Vec<RoundRead>,
    pub hosts: Vec<HostFacts>,
    pub kernels: BTreeSet<String>,
    /// Number of detours of each host and CPU, including those between rounds.
    pub detours: BTreeMap<(usize, u32), u64>,
    /// The longest time of any rank between two counter reads of a wait that was no detour, in ns; none if it is not recorded.
    pub wait_threshold_ns: Option<u64>,
    pub notes: Vec<String>,
}

/// A series that is being read.
struct Reading {
    series: Series,
    outcome: Outcome,
    track: Track,
}

/// Reads the recordings of one job, one for each host.
pub(super) fn gather(recordings: &[&Recording]) -> Result<Gathered, Problem> {
    let mut gathered = Gathered::default();
    let mut rounds: BTreeMap<u32, RoundRead> = BTreeMap::new();
    for (host, recording) in recordings.iter().enumerate() {
        let run = recording.run();
        if run.method != methods::BSP {
            let (dir, method) = (recording.dir().display(), &run.method);
            let why = format!("{dir} is a recording of {method}, not of a parallel job");
            return Err(ProblemKind::Data.problem(why, "measure with `anechoic measure bsp`"));
        }
        let read = read_host(recording, host, &mut gathered)?;
        gathered.hosts.push(facts(recording, &read));
        gathered.wait_threshold_ns =
            gathered.wait_threshold_ns.max(wait_threshold_ns(recording, &read));
        note_limits(recording, &gathered.hosts[host].name, &mut gathered.notes);
        for reading in read {
            add(&mut rounds, reading, recording, &mut gathered.notes);
        }
    }
    let ranks: BTreeSet<u32> =
        rounds.values().flat_map(|round| round.tracks.iter().map(|track| track.rank)).collect();
    for (number, mut round) in rounds {
        round.tracks.sort_by_key(|track| (track.host, track.rank));
        let missing = ranks.len() - round.tracks.len();
        if missing > 0 {
            gathered.notes.push(format!(
                "round {number} has no phases of {missing} of {} ranks: its prediction does not include them",
                ranks.len()
            ));
        }
        round.left_out = match round.meeting {
            Meeting::Nothing => round.tracks.chunks_mut(1).map(join).fold(0, u64::saturating_add),
            Meeting::Barrier | Meeting::Allreduce => join(&mut round.tracks),
        };
        gathered.rounds.push(round);
    }
    Ok(gathered)
}

fn facts(recording: &Recording, read: &[Reading]) -> HostFacts {
    let run = recording.run();
    let ranks: BTreeSet<u32> = read.iter().map(|reading| reading.track.rank).collect();
    let cpus: BTreeSet<u32> = read.iter().filter_map(|reading| reading.track.cpu).collect();
    let name = run.parallel.as_ref().map_or(&run.machine.host, |parallel| &parallel.host);
    HostFacts {
        name: name.clone(),
        ranks: ranks.into_iter().collect(),
        cpus: cpus.into_iter().collect(),
    }
}

fn wait_threshold_ns(recording: &Recording, read: &[Reading]) -> Option<u64> {
    let longest = read.iter().filter_map(|reading| reading.outcome.wait_threshold_ticks).max()?;
    Some(recording.run().clock.ns(longest))
}

/// Adds a rank to its round.
fn add(
    rounds: &mut BTreeMap<u32, RoundRead>,
    reading: Reading,
    recording: &Recording,
    notes: &mut Vec<String>,
) {
    let Reading { series, track, .. } = reading;
    let Some(meeting) = series.parameters.meeting else { return };
    let round = rounds.entry(series.round).or_insert_with(|| RoundRead {
        number: series.round,
        grain_ns: recording.run().clock.ns(series.grain_ticks),
        meeting,
        injection: series.parameters.injection,
        tracks: vec![],
        left_out: 0,
        ranks: HashSet::new(),
    });
    let again = round.ranks.contains(&track.rank);
    if again || round.meeting != meeting {
        let why = if again { "occurs twice" } else { "synchronised differently from the others" };
        notes.push(format!(
            "rank {} {why} in round {}: the series is left out",
            track.rank, series.round
        ));
        return;
    }
    round.ranks.insert(track.rank);
    round.tracks.push(track);
}

/// Reads the series of one host with their phases and detours.
fn read_host(
    recording: &Recording,
    host: usize,
    gathered: &mut Gathered,
) -> Result<Vec<Reading>, Problem> {
    let mut read: Vec<Reading> = vec![];
    for (series, outcome) in recording.series()? {
        if let (Some(rank), Some(_)) = (series.parameters.rank, series.parameters.meeting) {
            gathered.kernels.insert(series.variant.clone());
            let track = track(recording, host, rank, &series, &outcome);
            read.push(Reading { series, outcome, track });
        }
    }
    read_samples(recording, &mut read)?;
    let cpus: BTreeSet<u32> = read.iter().filter_map(|reading| reading.series.cpu).collect();
    for cpu in cpus {
        let all = read_detours(recording, cpu, &mut read)?;
        gathered.detours.insert((host, cpu), all);
    }
    Ok(read)
}

fn track(
    recording: &Recording,
    host: usize,
    rank: u32,
    series: &Series,
    outcome: &Outcome,
) -> Track {
    let parameters = &series.parameters;
    let watched = parameters.step_ticks.is_some() && series.cpu.is_some() && parameters.copies <= 1;
    Track {
        rank,
        host,
        cpu: series.cpu,
        calibrated_ns: recording.run().clock.ns(parameters.calibrated_ticks),
        count: outcome.samples,
        phases: vec![],
        detours: watched.then(Vec::new),
        first_detour: 0,
    }
}

/// Converts a counter reading to ns since the run's start.
fn since_start(recording: &Recording, ticks: u64) -> u64 {
    let run = recording.run();
    run.clock.ns(ticks.saturating_sub(run.start_ticks))
}

fn read_samples(recording: &Recording, read: &mut [Reading]) -> Result<(), Problem> {
    let places: HashMap<u32, usize> =
        read.iter().enumerate().map(|(place, reading)| (reading.series.series, place)).collect();
    for rows in recording.rows::<Sample>() {
        for sample in rows? {
            let Some(&place) = places.get(&sample.series) else { continue };
            let phases = &mut read[place].track.phases;
            let start_ns = since_start(recording, sample.start_ticks);
            if let Some(before) = phases.last_mut() {
                let follows = before.index.checked_add(1) == Some(sample.index);
                before.next_ns = follows.then_some(start_ns);
            }
            let end_ns = since_start(recording, sample.end_ticks);
            phases.push(Phase { index: sample.index, start_ns, end_ns, next_ns: None });
        }
    }
    for Reading { track, outcome, .. } in read {
        if let Some(last) = track.phases.last_mut() {
            // Of a series that was cut off only the samples are known, and not how long the last wait was. Where the
            // very last sample was lost, the series' end is not that of the last that is there.
            let is_last = last.index.checked_add(1) == Some(track.count);
            let ends = is_last && outcome.ended != Ended::CutOff;
            last.next_ns = ends.then(|| since_start(recording, outcome.last_ticks));
        }
        if !track.phases.is_sorted_by(|a, b| a.index < b.index) {
            track.phases.sort_by_key(|phase| phase.index);
            track.phases.dedup_by_key(|phase| phase.index);
        }
    }
    Ok(())
}

/// Assigns the detours of each CPU to its series, and returns the number of detours of the CPU.
fn read_detours(recording: &Recording, cpu: u32, read: &mut [Reading]) -> Result<u64, Problem> {
    let mut here: Vec<&mut Reading> = read
        .iter_mut()
        .filter(|reading| reading.series.cpu == Some(cpu) && reading.track.detours.is_some())
        .collect();
    here.sort_by_key(|series| {
        (series.outcome.first_ticks, series.outcome.last_ticks, series.series.series)
    });
    let stints: Vec<Stint> = here.iter().map(|reading| stint(reading)).collect();
    let mut number = 0;
    for rows in recording.rows_of_cpu::<Detour>(cpu) {
        for detour in rows? {
            if let Some(place) = Stint::around(&stints, detour.start_ticks, detour.end_ticks) {
                let track = &mut here[place].track;
                let works = track.works_until(since_start(recording, detour.end_ticks));
                let away = track.detours.get_or_insert_default();
                if away.is_empty() {
                    track.first_detour = number;
                }
                // One step of the work is in a gap of the work: the time away begins after it. A wait has no such step.
                let step = if works { stints[place].shortest_gap_ticks } else { 0 };
                let start = detour.start_ticks.saturating_add(step).min(detour.end_ticks);
                away.push(Span {
                    start_ns: since_start(recording, start),
                    end_ns: since_start(recording, detour.end_ticks),
                });
            }
            number += 1;
        }
    }
    Ok(number)
}

/// Returns when a rank's loop ran.
fn stint(reading: &Reading) -> Stint {
    let (series, outcome) = (&reading.series, &reading.outcome);
    Stint {
        first_ticks: outcome.first_ticks,
        last_ticks: outcome.last_ticks,
        shortest_gap_ticks: series.parameters.step_ticks.unwrap_or(0),
        threshold_ticks: series.parameters.threshold_ticks.unwrap_or(0),
        fifo: series.policy.is_fifo(),
        series: Some(series.series),
        watched: true,
        sleeps: false,
        waker_cpu: None,
    }
}

/// Returns notes on properties of a recording that affect its comparison.
fn note_limits(recording: &Recording, name: &str, notes: &mut Vec<String>) {
    let run = recording.run();
    if recording.cut_off() {
        notes.push(format!("{name} was cut off: the comparison covers what had been saved"));
    }
    if let RunState::Interrupted(why) = &run.state {
        notes
            .push(format!("{name} ended early ({why}): the comparison covers the time until then"));
    }
    let lost: u64 = run.cpus.iter().map(|cpu| cpu.lost_detours).fold(0, u64::saturating_add);
    if lost > 0 {
        notes.push(format!(
            "{name} lost {lost} detours: their phases look undisturbed, so the prediction is too low"
        ));
    }
}
