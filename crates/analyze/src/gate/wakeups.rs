//! The wake-ups of a recording of `measure wakeup`, as `max-wakeup` and `max-late` judge them: all that were measured, also
//! those without kernel events.

use super::doubts::concerns_gates;
use super::rules::Rule;
use super::woken::Woken;
use super::{Doubt, Finding, Judged, LargestSource, Outcome};
use crate::cluster::host_name;
use crate::known::{doubt_of_state, known_doubts};
use crate::samples::{span, visit};
use crate::wakeup::kind::Kind;
use crate::wakeup::{PARTS, latency, part_of_block, rows};
use anechoic_recording::run::Outcome as SeriesOutcome;
use anechoic_recording::{ActivityKind, Problem, Recording, Series};
use std::collections::BTreeMap;
use std::sync::Arc;

/// CPU, absent for a thread that the scheduler put on any, and how the thread slept.
type Key = (Option<u32>, Kind);

/// The wake-ups of one kind on one CPU.
#[derive(Debug, Default)]
struct Group {
    samples: u64,
    lost: u64,
    overruns: u64,
    longest_ticks: u64,
    /// For each rule how many count in each part of each block.
    late: Vec<Vec<f64>>,
    /// For each rule the time of those that count.
    late_ticks: Vec<u64>,
}

impl Group {
    /// Begins a block of which `lost` wake-ups were lost.
    fn begin(&mut self, rules: usize, lost: u64) {
        self.lost = self.lost.saturating_add(lost);
        self.late_ticks.resize(rules, 0);
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
) -> Result<(Judged, Vec<Vec<Finding>>), Problem> {
    let (run, known) = (recording.run(), recording.series()?);
    let wall_ns = run.clock.ns(span(&known));
    let groups = groups(recording, &known, rules)?;
    let mut findings: Vec<Vec<Finding>> = Vec::new();
    for (at, rule) in rules.iter().enumerate() {
        let measured = groups.iter().filter(|(_, group)| group.samples > 0);
        let woken = measured.map(|(key, group)| Woken {
            cpu: key.0,
            kind: key.1,
            wall_ns: wall_ns.saturating_add(rule.unseen_ns(run)),
            samples: group.samples,
            lost: group.lost,
            overruns: group.overruns,
            longest_ns: run.clock.ns(group.longest_ticks),
            late: group.late[at].clone(),
        });
        findings.push(woken.filter_map(|woken| rule.judge_wakeups(&woken)).collect());
    }
    name_sources(recording, rules, &groups, &mut findings)?;
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
        doubts: doubts(recording, &groups),
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
    let key = |series: &Series| Some((series.cpu, Kind::from(&series.parameters.sleep?)));
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
            group.overruns = group.overruns.saturating_add(sample.count.saturating_sub(1));
            for rule in (0..limits.len()).filter(|&rule| ticks > limits[rule]) {
                group.late[rule][part] += 1.0;
                group.late_ticks[rule] = group.late_ticks[rule].saturating_add(ticks);
            }
        }
    })?;
    Ok(groups)
}

/// Returns why nothing is passed.
fn doubts(recording: &Recording, groups: &BTreeMap<Key, Group>) -> Vec<Doubt> {
    let run = recording.run();
    let mut doubts: Vec<Doubt> = doubt_of_state(run).into_iter().collect();
    let without = groups.iter().find(|(_, group)| group.samples == 0);
    match without {
        Some(((cpu, _), _)) => doubts.push(Doubt::NotMeasured { cpu: *cpu }),
        None if groups.is_empty() => doubts.push(Doubt::NotMeasured { cpu: None }),
        None => {}
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
    groups: &BTreeMap<Key, Group>,
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
        let key = (woken.series.cpu, Kind::from(&woken.sleep));
        for rule in (0..limits.len()).filter(|&rule| ticks > limits[rule]) {
            taken.entry((rule, key)).or_default().add(woken);
        }
    })?;
    for (rule, findings) in findings.iter_mut().enumerate() {
        for finding in findings.iter_mut().filter(|finding| failed(finding)) {
            let kind = finding.wakeups.and_then(|wakeups| wakeups.kind);
            let Some(key) = kind.map(|kind| (finding.cpu, kind)) else { continue };
            // Of all that count: nothing is known of those without events.
            let whole_ticks = groups.get(&key).map_or(0, |group| group.late_ticks[rule]);
            let taken = taken.get(&(rule, key));
            finding.largest_source = taken.and_then(|taken| taken.largest(whole_ticks));
        }
    }
    Ok(())
}

/// What each source took of wake-ups, in ticks.
#[derive(Debug, Default)]
struct Taken(BTreeMap<(Arc<str>, Arc<str>), u64>);

impl Taken {
    fn add(&mut self, woken: &rows::Explained<'_>) {
        let known = woken.rows.iter().filter(|row| row.kind != ActivityKind::NotAttributable);
        for row in known.filter(|row| row.self_ticks > 0) {
            let key = (Arc::clone(&row.source), Arc::clone(&row.name));
            let taken = self.0.entry(key).or_default();
            *taken = taken.saturating_add(row.self_ticks);
        }
    }

    fn largest(&self, whole_ticks: u64) -> Option<LargestSource> {
        let largest = self.0.iter().rev().max_by_key(|(_, ticks)| **ticks);
        largest.map(|((source, name), ticks)| LargestSource {
            source: source.to_string(),
            name: name.to_string(),
            share: crate::share(*ticks, whole_ticks),
        })
    }
}
