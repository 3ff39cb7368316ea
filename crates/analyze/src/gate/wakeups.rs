//! The wake-ups of a recording of `measure wakeup`, as `max-wakeup` and `max-late` judge them: all that were measured, also
//! those without kernel events.

use super::doubts::concerns_gates;
use super::rules::Rule;
use super::woken::Woken;
use super::{Doubt, Finding, Judged, LargestSource, Outcome, Requirements};
use crate::cluster::host_name;
use crate::known::{doubt_of_state, known_doubts};
use crate::memory::span;
use crate::samples::visit;
use crate::wakeup::kind::Kind;
use crate::wakeup::{PARTS, latency, part_of_block, rows};
use anechoic_recording::run::Outcome as SeriesOutcome;
use anechoic_recording::{ActivityKind, Problem, Recording, Series};
use std::collections::BTreeMap;
use std::sync::Arc;

/// CPU, and how its thread slept.
type Key = (u32, Kind);

/// The wake-ups of one kind on one CPU.
#[derive(Debug, Default)]
struct Group {
    samples: u64,
    lost: u64,
    longest_ticks: u64,
    /// For each rule how many count in each part of each block.
    late: Vec<Vec<f64>>,
}

impl Group {
    /// Begins a block of which so many were lost.
    fn begin(&mut self, rules: usize, lost: u64) {
        self.lost += lost;
        self.late.resize(rules, vec![]);
        self.late.iter_mut().for_each(|late| late.extend([0.0; PARTS]));
    }
}

/// Judges rules on the wake-ups of each kind and CPU: returns what was judged, and the findings of each rule.
///
/// # Errors
/// A file is damaged.
pub(super) fn examine(
    recording: &Recording,
    rules: &[Rule],
    requirements: &Requirements,
) -> Result<(Judged, Vec<Vec<Finding>>), Problem> {
    let (run, known) = (recording.run(), recording.series()?);
    let wall_ns = run.clock.ns(span(&known));
    let groups = groups(recording, &known, rules)?;
    let judge = |(at, rule): (usize, &Rule)| {
        let woken =
            groups.iter().filter(|(_, group)| group.samples > 0).map(|(key, group)| Woken {
                cpu: key.0,
                kind: key.1,
                wall_ns,
                samples: group.samples,
                lost: group.lost,
                longest_ns: run.clock.ns(group.longest_ticks),
                late: group.late[at].clone(),
            });
        woken.filter_map(|woken| rule.judge_wakeups(&woken)).collect()
    };
    let mut findings: Vec<Vec<Finding>> = rules.iter().enumerate().map(judge).collect();
    name_sources(recording, rules, &mut findings)?;
    let judged = Judged {
        path: recording.dir().display().to_string(),
        host: host_name(recording),
        start_utc: run.start_utc.clone(),
        wall_ns,
        threshold_ns: 0,
        hypervisor: run.machine.hypervisor.clone(),
        program: None,
        cpus: run.cpus.iter().map(|cpu| cpu.cpu).collect(),
        counts_only: false,
        doubts: doubts(recording, requirements, &groups, wall_ns),
        doubts_of_sources: vec![],
    };
    Ok((judged, findings))
}

/// Reads the wake-ups once.
fn groups(
    recording: &Recording,
    known: &[(Series, SeriesOutcome)],
    rules: &[Rule],
) -> Result<BTreeMap<Key, Group>, Problem> {
    let clock = &recording.run().clock;
    let limits: Vec<u64> = rules.iter().map(|rule| clock.ticks(rule.counts_over_ns())).collect();
    let key = |series: &Series| Some((series.cpu?, Kind::from(&series.parameters.sleep?)));
    let mut groups: BTreeMap<Key, Group> = BTreeMap::new();
    // The first part of each block.
    let mut first = vec![0; known.len()];
    for (at, (series, outcome)) in known.iter().enumerate() {
        let Some(key) = key(series) else { continue };
        let group = groups.entry(key).or_default();
        first[at] = group.late.first().map_or(0, Vec::len);
        group.begin(rules.len(), outcome.lost);
    }
    visit(recording, known, |at, samples| {
        let (series, outcome) = &known[at];
        let Some(group) = key(series).and_then(|key| groups.get_mut(&key)) else { return };
        group.samples += samples.len() as u64;
        for sample in samples {
            let ticks = latency(sample);
            group.longest_ticks = group.longest_ticks.max(ticks);
            let part = first[at] + part_of_block(sample, outcome);
            let counting = group.late.iter_mut().zip(&limits).filter(|(_, limit)| ticks > **limit);
            counting.for_each(|(late, _)| late[part] += 1.0);
        }
    })?;
    Ok(groups)
}

/// Returns why nothing is passed.
fn doubts(
    recording: &Recording,
    requirements: &Requirements,
    groups: &BTreeMap<Key, Group>,
    wall_ns: u64,
) -> Vec<Doubt> {
    let run = recording.run();
    let mut doubts: Vec<Doubt> = doubt_of_state(run).into_iter().collect();
    let without = groups.iter().find(|(_, group)| group.samples == 0);
    match without {
        Some(((cpu, _), _)) => doubts.push(Doubt::NotMeasured { cpu: Some(*cpu) }),
        None if groups.is_empty() => doubts.push(Doubt::NotMeasured { cpu: None }),
        None => doubts.extend(requirements.too_short(wall_ns)),
    }
    for doubt in known_doubts(run, None).into_iter().filter(concerns_gates) {
        if !doubts.contains(&doubt) {
            doubts.push(doubt);
        }
    }
    doubts
}

/// Names in each finding that fails the source that took most of the wake-ups that count.
fn name_sources(
    recording: &Recording,
    rules: &[Rule],
    findings: &mut [Vec<Finding>],
) -> Result<(), Problem> {
    let run = recording.run();
    let failed = |finding: &Finding| finding.outcome == Outcome::Fail;
    if run.trace.is_none() || !findings.iter().flatten().any(failed) {
        return Ok(());
    }
    let mut taken: BTreeMap<(usize, Key), Taken> = BTreeMap::new();
    let limits: Vec<u64> =
        rules.iter().map(|rule| run.clock.ticks(rule.counts_over_ns())).collect();
    rows::each(recording, |woken| {
        let ticks = latency(woken.sample);
        let key = (woken.sample.cpu, Kind::from(&woken.sleep));
        for rule in (0..limits.len()).filter(|&rule| ticks > limits[rule]) {
            taken.entry((rule, key)).or_default().add(woken);
        }
    })?;
    for (rule, findings) in findings.iter_mut().enumerate() {
        for finding in findings.iter_mut().filter(|finding| failed(finding)) {
            let kind = finding.wakeups.and_then(|wakeups| wakeups.kind);
            let key = finding.cpu.zip(kind);
            let taken = key.and_then(|key| taken.get(&(rule, key)));
            finding.largest_source = taken.and_then(Taken::largest);
        }
    }
    Ok(())
}

/// What each source took of wake-ups.
#[derive(Debug, Default)]
struct Taken {
    whole_ticks: u64,
    by_source: BTreeMap<(Arc<str>, Arc<str>), u64>,
}

impl Taken {
    fn add(&mut self, woken: &rows::Explained<'_>) {
        self.whole_ticks = self.whole_ticks.saturating_add(latency(woken.sample));
        let known = woken.rows.iter().filter(|row| row.kind != ActivityKind::NotAttributable);
        for row in known.filter(|row| row.self_ticks > 0) {
            let key = (Arc::clone(&row.source), Arc::clone(&row.name));
            *self.by_source.entry(key).or_default() += row.self_ticks;
        }
    }

    fn largest(&self) -> Option<LargestSource> {
        let largest = self.by_source.iter().rev().max_by_key(|(_, ticks)| **ticks);
        largest.map(|((source, name), ticks)| LargestSource {
            source: source.to_string(),
            name: name.to_string(),
            share: crate::share(*ticks, self.whole_ticks),
        })
    }
}
