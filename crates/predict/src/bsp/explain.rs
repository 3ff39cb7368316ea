//! Explains the difference between measured and predicted: by phase, by rank, and by the speed of the core.

use super::job::Job;
use super::outcome::{Alone, Basis, Estimate, Explanation, Happened, Part, RankFacts, Unexplained};
use super::play::Player;
use super::track::Track;
use super::walk::Step;
use crate::phases::Span;
use std::collections::BTreeMap;

/// Largest number of phases that are listed.
const NAMED: usize = 5;

/// Returns the explanation; absent if nothing was predicted.
pub(super) fn explain(jobs: &[Job<'_>], extra_ns: Option<Estimate>) -> Option<Explanation> {
    if !jobs.iter().all(Job::known) {
        return None;
    }
    let parts = Happened::ALL.map(|happened| part(jobs, happened)).to_vec();
    let long_ns = jobs.iter().map(|job| job.base.long_ns).fold(0.0, f64::max);
    Some(Explanation {
        parts,
        extra_ns,
        speed: jobs.iter().map(speed).sum::<f64>() / jobs.len() as f64,
        long_ns: if long_ns.is_finite() { long_ns } else { 0.0 },
        longest: longest(jobs),
    })
}

fn part(jobs: &[Job<'_>], happened: Happened) -> Part {
    let mut part = Part { happened, phases: 0, measured: 0.0, predicted: 0.0 };
    for job in jobs {
        let all = weight(job, jobs.len());
        for step in job.steps.iter().filter(|step| step.happened == happened) {
            part.phases += 1;
            part.measured += (step.took_ns - job.base.ns) / all;
            part.predicted += step.delay_ns as f64 / all;
        }
    }
    part
}

/// Factor that turns a time in one phase into its part of the slowdown.
fn weight(job: &Job<'_>, jobs: usize) -> f64 {
    job.base.ns * job.steps.len() as f64 * jobs as f64
}

/// Returns the loss that disturbed phases share with their undisturbed neighbours: the mean of the last one before and
/// the first one after.
fn speed(job: &Job<'_>) -> f64 {
    if job.base.basis != Basis::Undisturbed {
        return 0.0;
    }
    let quiet = |step: &&Step| step.happened == Happened::Nothing;
    let mut next = job.steps.iter().filter(quiet).map(|step| step.took_ns);
    let (mut before, mut after) = (None, next.next());
    let mut longer = 0.0;
    for step in &job.steps {
        match step.happened {
            Happened::Nothing => (before, after) = (after, next.next()),
            Happened::InWork | Happened::InWait => {
                let beside = before.unwrap_or(job.base.ns) + after.unwrap_or(job.base.ns);
                longer += beside / 2.0 - job.base.ns;
            }
            Happened::Unexplained => {}
        }
    }
    longer / weight(job, 1)
}

fn longest(jobs: &[Job<'_>]) -> Vec<Unexplained> {
    let mut longest: Vec<Unexplained> = vec![];
    for (round, steps) in jobs.iter().flat_map(Job::by_round) {
        let mut long: Vec<(usize, &Step)> = steps.iter().enumerate().collect();
        long.retain(|(_, step)| step.happened == Happened::Unexplained);
        long.sort_by(|a, b| b.1.took_ns.total_cmp(&a.1.took_ns).then(a.0.cmp(&b.0)));
        for (phase, step) in long.into_iter().take(NAMED) {
            let Some(track) = round.tracks.get(step.last as usize) else { continue };
            longest.push(Unexplained {
                round: round.number,
                phase: track.phases[phase].index,
                at_ns: track.phases[phase].start_ns - track.phases[0].start_ns,
                took_ns: step.took_ns,
                last: track.rank,
                work_ns: step.work_ns,
            });
        }
    }
    longest.sort_by(|a, b| b.took_ns.total_cmp(&a.took_ns));
    longest.truncate(NAMED);
    longest
}

/// The part of one rank in the phases of a cell.
#[derive(Debug, Clone, Copy, Default)]
struct RankPart {
    host: usize,
    cpu: Option<u32>,
    known: bool,
    lost_ns: f64,
    wall_ns: f64,
    /// Number of phases without any detour, and the rank's work in them.
    quiet: (u64, f64),
    /// Number of phases with a detour in its work, and its work in them without the detours.
    disturbed: (u64, f64),
    last: u64,
    last_disturbed: u64,
    cost: f64,
}

/// Returns the part of each rank; `alone` is whether the ranks did not synchronise.
pub(super) fn ranks(jobs: &[Job<'_>], alone: bool) -> Vec<RankFacts> {
    let mut ranks: BTreeMap<u32, RankPart> = BTreeMap::new();
    let mut alone_of = BTreeMap::new();
    for job in jobs {
        for (round, steps) in job.by_round() {
            for (place, track) in round.tracks.iter().enumerate() {
                let part = ranks
                    .entry(track.rank)
                    .or_insert(RankPart { known: true, ..RankPart::default() });
                (part.host, part.cpu) = (track.host, track.cpu);
                part.add_track(track, steps);
                part.add_last(job, steps, place as u32, jobs.len());
            }
        }
        if let (true, Some((_, track))) = (alone, job.tracks().next()) {
            let took: f64 = job.steps.iter().map(|step| step.took_ns).sum();
            alone_of.insert(track.rank, took / job.steps.len() as f64 / job.base.ns - 1.0);
        }
    }
    let facts = ranks.into_iter().map(|(rank, part)| part.facts(rank, alone_of.get(&rank)));
    facts.collect()
}

impl RankPart {
    /// Returns the part of this rank; `alone` is by how much its own job was slower if it did not synchronise.
    fn facts(self, rank: u32, alone: Option<&f64>) -> RankFacts {
        let noise = (self.known && self.wall_ns > 0.0).then(|| self.lost_ns / self.wall_ns);
        let law = |noise: f64| noise / (1.0 - noise);
        RankFacts {
            rank,
            host: self.host as u64,
            cpu: self.cpu,
            noise,
            work_ns: mean(self.quiet).filter(|_| self.known),
            disturbed_work_ns: mean(self.disturbed).filter(|_| self.known),
            last: self.last,
            last_disturbed: self.last_disturbed,
            cost: self.cost,
            alone: alone.map(|&measured| Alone {
                measured,
                law: noise.map(law).filter(|law| law.is_finite()),
            }),
        }
    }

    fn add_track(&mut self, track: &Track, steps: &[Step]) {
        self.known &= track.detours.is_some();
        if let Some((first, last)) = track.window() {
            self.lost_ns += track.lost_ns(first, last) as f64;
            self.wall_ns += (last - first) as f64;
        }
        let mut player = Player::new(track);
        for (step, phase) in steps.iter().zip(&track.phases) {
            let inside = |span: &Span| {
                span.end_ns.min(phase.end_ns).saturating_sub(span.start_ns.max(phase.start_ns))
            };
            let away = player.from(phase.start_ns).iter();
            let away = away.take_while(|span| span.start_ns < phase.end_ns).map(inside);
            let lost_ns = away.fold(0, u64::saturating_add);
            let left_ns = (phase.end_ns - phase.start_ns).saturating_sub(lost_ns);
            let sum = match step.happened {
                _ if lost_ns > 0 => &mut self.disturbed,
                Happened::Nothing => &mut self.quiet,
                _ => continue,
            };
            *sum = (sum.0 + 1, sum.1 + left_ns as f64);
        }
    }

    fn add_last(&mut self, job: &Job<'_>, steps: &[Step], place: u32, jobs: usize) {
        for step in steps.iter().filter(|step| step.last == place) {
            self.last += 1;
            if step.happened == Happened::InWork {
                self.last_disturbed += 1;
                self.cost += (step.took_ns - job.base.ns) / weight(job, jobs);
            }
        }
    }
}

fn mean((count, sum): (u64, f64)) -> Option<f64> {
    (count > 0).then(|| sum / count as f64)
}
