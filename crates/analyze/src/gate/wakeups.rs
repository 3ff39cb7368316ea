//! The wake-ups of a recording of `measure wakeup`, as `max-wakeup` and `max-late` judge them: all that were measured, also
//! those without kernel events.

use super::doubts::concerns_gates;
use super::judge::Examined;
use super::rules::Rule;
use super::{Doubt, Finding, Judged, LargestSource, Outcome, Requirements};
use crate::cluster::host_name;
use crate::known::{doubt_of_state, known_doubts};
use crate::memory::span;
use crate::samples::visit;
use crate::wakeup::kind::Kind;
use crate::wakeup::{PARTS, latency, part_of_block, rows};
use anechoic_recording::run::Outcome as SeriesOutcome;
use anechoic_recording::{ActivityKind, Problem, Recording, Series};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The wake-ups that a finding is of.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct JudgedWakeups {
    /// Their number.
    pub samples: u64,
    /// How their threads slept; absent if another tool counted them.
    pub kind: Option<Kind>,
}

/// The wake-ups of one kind on one CPU, as a rule sees them.
#[derive(Debug, Clone)]
pub(super) struct Woken {
    pub(super) cpu: u32,
    pub(super) kind: Kind,
    /// For how long the recording lasted.
    pub(super) wall_ns: u64,
    pub(super) samples: u64,
    /// Number that were measured and not stored.
    pub(super) lost: u64,
    pub(super) longest_ns: u64,
    /// Number that count in each part of the time.
    pub(super) late: Vec<f64>,
}

impl Woken {
    /// Returns the number that count.
    pub(super) fn number(&self) -> u64 {
        self.late.iter().sum::<f64>() as u64
    }

    /// Returns a finding without values.
    pub(super) fn finding(&self) -> Finding {
        Finding {
            recording: None,
            cpu: Some(self.cpu),
            program: None,
            runs: None,
            outcome: Outcome::Undecided,
            value: 0.0,
            at_least: 0.0,
            at_most: None,
            events: self.number(),
            uncertain: self.lost,
            wall_ns: self.wall_ns,
            wakeups: Some(JudgedWakeups { samples: self.samples, kind: Some(self.kind) }),
            needed_ns: None,
            doubt: None,
            largest_source: None,
        }
    }
}

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

/// Judges rules on the wake-ups of each kind and CPU.
///
/// # Errors
/// A file is damaged.
pub(super) fn examine(
    recording: &Recording,
    rules: &[Rule],
    requirements: &Requirements,
) -> Result<Examined, Problem> {
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
    let refused = rules.iter().map(|rule| rule.refusal(run)).collect();
    let job = run.parallel.clone();
    Ok(Examined { summary: None, judged, findings, refused, program: None, job })
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gate::RULES;
    use rand::RngExt;
    use rand_pcg::Pcg64Mcg;
    use rand_pcg::rand_core::SeedableRng;

    fn woken(samples: u64, late: Vec<f64>) -> Woken {
        let kind = Kind { interval_ns: 1_000_000, shallow: false };
        let (longest_ns, wall_ns) = (60_000, samples * 1_000_000);
        Woken { cpu: 0, kind, wall_ns, samples, lost: 0, longest_ns, late }
    }

    fn rule(given: &str) -> Rule {
        let (id, text) = given.split_once(' ').expect("a rule and its limit");
        RULES.iter().find(|row| row.id == id).expect("a rule").read(text).expect("a limit")
    }

    fn judged(given: &str, woken: &Woken) -> Finding {
        rule(given).judge_wakeups(woken).expect("a rule on wake-ups")
    }

    /// The quantiles of the chi-squared distribution, halved, from its tables: the bounds of a Poisson mean.
    #[test]
    fn the_bounds_are_those_of_a_poisson_mean() {
        let table = [(0, 0.0, 2.995_73), (1, 0.051_293, 4.743_86), (3, 0.817_69, 7.753_66)];
        for samples in [1_000, 10_000, 100_000, 1_000_000] {
            for (late, low, high) in table {
                // One in some part of the time each, as if by chance. Where they fell widens the bounds a little.
                let mut parts = vec![0.0; PARTS];
                (0..late).for_each(|number| parts[number * 11 + 2] = 1.0);
                let found = judged("max-late >50us=1/1e6", &woken(samples, parts));
                let [least, most] = [found.at_least, found.at_most.expect("a bound")];
                let share = |number: f64| number / samples as f64;
                let about = 1e-4 / samples as f64;
                let (low, high) = (share(low) + about, share(high) - about);
                assert!((0.5 * low..=low).contains(&least) || late == 0, "{late}: {found:?}");
                assert!((high..1.15 * high + 2.0 * about).contains(&most), "{late}: {found:?}");
                assert!((found.value - share(late as f64)).abs() < about, "{late}: {found:?}");
            }
        }
    }

    #[test]
    fn a_share_is_decided_where_its_bound_is_and_a_longest_one_where_none_is_lost() {
        let none = || vec![0.0; PARTS];
        let three = || (0..PARTS).map(|part| f64::from(u8::from(part % 11 == 2))).collect();
        let lost = |woken: Woken| Woken { lost: 1, ..woken };
        let cases = [
            ("max-late >50us=1/1e6", woken(3_000_000, none()), Outcome::Pass),
            ("max-late >50us=1/1e6", woken(2_990_000, none()), Outcome::Undecided),
            ("max-late >50us=1/1e6", lost(woken(3_000_000, none())), Outcome::Undecided),
            ("max-late >50us=1/1e6", woken(800_000, three()), Outcome::Fail),
            ("max-late >50us=1/1e6", woken(830_000, three()), Outcome::Undecided),
            ("max-late >50us=1/1e6", woken(7_760_000, three()), Outcome::Pass),
            ("max-late >50us=1/1e6", woken(1, none()), Outcome::Undecided),
            ("max-late >50us=100%", woken(1, none()), Outcome::Pass),
            ("max-wakeup 60us", woken(10, none()), Outcome::Pass),
            ("max-wakeup 60us", lost(woken(10, none())), Outcome::Undecided),
            ("max-wakeup 59us", lost(woken(10, none())), Outcome::Fail),
        ];
        for (given, woken, expected) in cases {
            let found = judged(given, &woken);
            assert_eq!(found.outcome, expected, "{given}: {found:?}");
        }
        let found = judged("max-late >50us=1/1e6", &woken(1_000_000, none()));
        let needed_s = found.needed_ns.expect("three times as many") as f64 / 1e9;
        assert!((2_990.0..3_005.0).contains(&needed_s), "{needed_s} s");
    }

    /// The truth is the chance with which each wake-up is late.
    #[test]
    fn no_verdict_on_a_share_is_wrong_more_often_than_stated() {
        const RUNS: u32 = 1_000;
        let mut random = Pcg64Mcg::seed_from_u64(37);
        for expected in [0.1, 0.5, 1.0, 3.0, 10.0, 60.0] {
            let (samples, mut wrong) = (100_000, [0, 0]);
            for _ in 0..RUNS {
                let mut parts = vec![0.0; PARTS * 5];
                let (mut at, all) = (0.0, parts.len());
                loop {
                    at -= (1.0 - random.random::<f64>()).ln() / expected;
                    if at >= 1.0 {
                        break;
                    }
                    parts[(at * all as f64) as usize] += 1.0;
                }
                let woken = woken(samples, parts);
                let truth = expected / samples as f64;
                let outcome = |limit: f64| {
                    let rule = Rule { limit, ..rule("max-late >50us=1/1e6") };
                    rule.judge_wakeups(&woken).expect("it judges wake-ups").outcome
                };
                wrong[0] += u32::from(outcome(truth * 1.000_001) == Outcome::Fail);
                wrong[1] += u32::from(outcome(truth * 0.999_999) == Outcome::Pass);
            }
            // 5 %, and three standard errors of the simulation.
            assert!(wrong.iter().all(|number| *number <= 71), "{expected}: {wrong:?} of {RUNS}");
        }
    }
}
