//! Made-up jobs whose phases are played, so that what they lose is known. One tick of the counter is a ns.

use anechoic_lab::builders::{self, activity};
use anechoic_recording::attribution::Attribution;
use anechoic_recording::parallel::{Meeting, Parallel, Rank};
use anechoic_recording::run::{Ended, Outcome, Run};
use anechoic_recording::{
    Activity, ActivityKind, Detour, Fixed, Parameters, Recorder, Recording, Sample, Series,
};
use std::path::Path;

pub const MICRO: u64 = 1_000;
pub const MS: u64 = 1_000_000;
/// What a step of the work takes: it is in every gap that is stored.
pub const STEP: u64 = 100;
/// When loops start on the first host; on each other host its counter is that much further.
const FIRST: u64 = 5_000 * MS;

/// A detour: start since the first phase's, and length.
pub type Away = (u64, u64);

/// A job to be played and recorded.
#[derive(Debug, Clone)]
pub struct Made {
    /// Work of a phase.
    pub grain: u64,
    pub meeting: Meeting,
    pub phases: u64,
    /// Time from the last arrival to the release.
    pub meets_in: u64,
    /// What a detour costs a rank beyond its own length.
    pub extra: u64,
    /// How much longer the work of a phase takes than the grain.
    pub slower: fn(u64) -> u64,
    /// By rank: its host, and when its CPU was away.
    pub ranks: Vec<(usize, Vec<Away>)>,
    /// Ranks that share the CPU of the first.
    pub copies: u32,
    pub rounds: u32,
    pub guest: bool,
}

/// One rank's phases: start and arrival; and when the last meeting was over.
type Played = (Vec<(u64, u64)>, u64);

impl Made {
    pub fn new(grain: u64, phases: u64, ranks: Vec<(usize, Vec<Away>)>) -> Self {
        let (meeting, slower) = (Meeting::Barrier, (|_| 0) as fn(u64) -> u64);
        let (meets_in, extra, copies, rounds, guest) = (0, 0, 1, 1, false);
        Self { grain, meeting, phases, meets_in, extra, slower, ranks, copies, rounds, guest }
    }

    fn hosts(&self) -> usize {
        self.ranks.iter().map(|(host, _)| host + 1).max().unwrap_or(1)
    }

    /// The phases of each rank.
    pub fn play(&self) -> Vec<Played> {
        let ranks = self.ranks.len();
        let (mut played, mut now) = (vec![vec![]; ranks], vec![0; ranks]);
        for phase in 0..self.phases {
            let work = self.grain + (self.slower)(phase);
            let ends: Vec<u64> = (0..ranks)
                .map(|rank| {
                    let away = &self.ranks[rank].1;
                    let start = over(away, now[rank]);
                    let end = done(away, now[rank], work, self.extra);
                    played[rank].push((start, end));
                    end
                })
                .collect();
            let last = ends.iter().copied().max().unwrap_or(0) + self.meets_in;
            for (now, end) in now.iter_mut().zip(ends) {
                *now = if self.meeting == Meeting::Nothing { end } else { last };
            }
        }
        let ends = (0..ranks).map(|rank| over(&self.ranks[rank].1, now[rank]));
        played.into_iter().zip(ends).collect()
    }

    /// Plays and writes all hosts below `dir`; gives them as recordings.
    pub fn record(&self, dir: &Path) -> Vec<Recording> {
        let played = self.play();
        (0..self.hosts()).for_each(|host| self.write(dir, host, &played, |_, _| true));
        anechoic_recording::find(dir).expect("recordings")
    }

    /// Writes one host, with those samples that are `kept` by rank and number.
    pub fn write(&self, dir: &Path, host: usize, played: &[Played], kept: fn(u32, u64) -> bool) {
        let run = self.run(host, played);
        let place = dir.join(format!("host=node{host}"));
        let mut recorder = Recorder::create(&place, &run).expect("a directory");
        let first = |round: u32| FIRST * (1 + host as u64) + u64::from(round) * self.length(played);
        for rank in self.here(host) {
            for round in 0..self.rounds {
                let series = self.series(rank, round);
                recorder.append(std::slice::from_ref(&series)).expect("a series");
                let phases = &played[rank as usize].0;
                let sample = |(index, &(start, end)): (u64, &(u64, u64))| Sample {
                    series: series.series,
                    index,
                    cpu: series.cpu.unwrap_or(0),
                    start_ticks: first(round) + start,
                    end_ticks: first(round) + end,
                    count: 1,
                };
                let samples: Vec<Sample> = (0..)
                    .zip(phases)
                    .map(sample)
                    .filter(|sample| kept(rank, sample.index))
                    .collect();
                recorder.append(&samples).expect("in order");
                if self.copies > 1 {
                    continue;
                }
                let works_until = |end: u64| {
                    let begun = phases.partition_point(|(start, _)| *start < end);
                    begun > 0 && end <= phases[begun - 1].1
                };
                let detour = |&(start, length): &Away| {
                    // A gap of the work has a step of it; a wait has none.
                    let step = if works_until(start + length) { STEP } else { 0 };
                    Detour {
                        cpu: rank,
                        start_ticks: first(round) + start - step,
                        end_ticks: first(round) + start + length,
                    }
                };
                let end = played[rank as usize].1;
                let away = self.ranks[rank as usize].1.iter().filter(|away| away.0 < end);
                recorder.append(&away.map(detour).collect::<Vec<_>>()).expect("in order");
            }
        }
        recorder.finish(&run).expect("written");
    }

    /// Attributes every detour of a host to a source by its length.
    pub fn attribute(&self, dir: &Path, source: fn(u64) -> &'static str) {
        let recording = Recording::open(dir).expect("a recording");
        let mut writer = recording.derive::<Activity>().expect("a place");
        for cpu in recording.run().cpus.iter().map(|cpu| cpu.cpu) {
            let mut rows = vec![];
            let mut number = 0;
            for group in recording.rows_of_cpu::<Detour>(cpu) {
                for detour in group.expect("whole") {
                    let length = detour.end_ticks - detour.start_ticks - STEP;
                    let at = (cpu, number);
                    let (kind, source) = (ActivityKind::Activity, source(length));
                    rows.push(activity(at, kind, source, detour.start_ticks, length));
                    number += 1;
                }
            }
            writer.append(&rows).expect("in order");
        }
        writer.finish().expect("written");
        recording.write_attribution(&Attribution::default()).expect("written");
    }

    fn here(&self, host: usize) -> impl Iterator<Item = u32> {
        (0..).zip(&self.ranks).filter(move |(_, rank)| rank.0 == host).map(|(rank, _)| rank)
    }

    fn length(&self, played: &[Played]) -> u64 {
        played.iter().map(|(_, end)| *end).max().unwrap_or(0) + 10 * MS
    }

    fn number(&self, rank: u32, round: u32) -> u32 {
        round * self.ranks.len() as u32 + rank
    }

    fn series(&self, rank: u32, round: u32) -> Series {
        Series {
            series: self.number(rank, round),
            method: "bsp".into(),
            variant: "intadd".into(),
            cpu: Some(if self.copies > 1 { 0 } else { rank }),
            tid: 100 + rank as i32,
            policy: "other".into(),
            grain_ticks: self.grain,
            fixed: Fixed::Work,
            asked: self.phases,
            round,
            parameters: Parameters {
                iterations: 1_000,
                calibrated_ticks: self.grain,
                instructions: 512,
                step_iterations: Some(10),
                step_ticks: Some(STEP),
                threshold_ticks: Some(2 * STEP),
                copies: self.copies,
                rank: Some(rank),
                meeting: Some(self.meeting),
                ..Parameters::default()
            },
        }
    }

    fn run(&self, host: usize, played: &[Played]) -> Run {
        let first = FIRST * (1 + host as u64);
        let last = first + u64::from(self.rounds) * self.length(played);
        let cpus = self.here(host).map(|rank| builders::cpu_run(rank, (first, last), STEP));
        let mut run = builders::run("bsp", builders::clock(1_000 * MS), cpus.collect());
        for round in 0..self.rounds {
            let from = first + u64::from(round) * self.length(played);
            run.outcomes.extend(self.here(host).map(|rank| Outcome {
                series: self.number(rank, round),
                first_ticks: from + played[rank as usize].0[0].0,
                last_ticks: from + played[rank as usize].1,
                samples: self.phases,
                lost: 0,
                wrong: 0,
                ended: Ended::Complete,
                ..Outcome::default()
            }));
        }
        run.machine.hypervisor = self.guest.then(|| "KVM".into());
        run.parallel = Some(Parallel {
            job: None,
            through: "threads".into(),
            ranks: self.ranks.len() as u32,
            hosts: self.hosts() as u32,
            host: format!("node{host}"),
            here: self
                .here(host)
                .map(|rank| Rank { rank, cpus: vec![rank], tids: vec![100 + rank as i32] })
                .collect(),
        });
        run
    }
}

/// The first instant from here on that is in no detour.
fn over(away: &[Away], now: u64) -> u64 {
    away.iter().fold(now, |now, &(start, length)| match start <= now && now < start + length {
        true => start + length,
        false => now,
    })
}

/// When the work is done: detours add their length, and what each costs besides.
fn done(away: &[Away], now: u64, work: u64, extra: u64) -> u64 {
    let mut end = now + work;
    for &(start, length) in away {
        if start < end && start + length > now {
            end += start + length - start.max(now) + extra;
        }
    }
    end
}
