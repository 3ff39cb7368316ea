//! The summary of one host, which stays small whatever the length of its run.

use super::counts::LengthCounts;
use super::facts::{HostFacts, has_facts};
use super::together::{FirstCpus, first_cpus};
use crate::competition::competition_of;
use crate::coverage::{CounterReadings, LossSummary, losses};
use crate::detours::{DetoursBuilder, LostTime};
use crate::fold::{Fold, read_once};
use crate::folded::folded;
use crate::known::{Doubt, known_doubts};
use crate::lengths::Lengths;
use crate::loops::{watched, windows};
use crate::noise::{CpuNoise, TotalNoise};
use crate::pace::SlowTime;
use crate::program::Rates;
use crate::sources::{SourceRow, SourcesBuilder};
use crate::stats::Interval;
use crate::summary::source_rows;
use crate::suspects::suspects;
use anechoic_recording::{Problem, Recording, Run};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// Largest number of sources reported by name; the smallest of more are merged as [`OTHERS`].
pub(crate) const MOST_SOURCES: usize = 200;
/// Identifier of the merged sources.
pub(crate) const OTHERS: &str = "others";

/// The summary of one host's recording: some kilobytes for the histogram, and a fixed size for each CPU.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HostSummary {
    /// Facts of its run.
    #[serde(flatten)]
    pub facts: HostFacts,
    /// Threshold: longer gaps count as detours.
    pub threshold_ns: u64,
    /// What the run knew that makes its noise doubtful.
    #[serde(default)]
    pub doubts: Vec<Doubt>,
    /// Settings that affect noise, by name: kernel, kernel parameters, governor and the like.
    #[serde(default)]
    pub settings: BTreeMap<String, String>,
    /// Its measured CPUs.
    pub cpus: Vec<HostCpu>,
    /// 95 % interval of the noise of all its CPUs; absent if the run was too short or few events make up the noise.
    pub interval: Option<Interval>,
    /// The noise that it exceeds with a probability of 97.5 %, also without an interval.
    #[serde(default)]
    pub at_least: Option<f64>,
    /// Lengths of its detours.
    pub lengths: LengthCounts,
    /// Sources of the lost time, sorted by decreasing time; absent without attribution.
    pub sources: Option<Vec<HostSource>>,
    /// Losses by kind.
    pub losses: Vec<LossSummary>,
    /// Its first 1, 2, 4, … CPUs, and all of them.
    pub first_cpus: Vec<FirstCpus>,
}

/// One measured CPU of a host.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HostCpu {
    /// The CPU.
    pub cpu: u32,
    /// Class of equal CPUs.
    pub class: String,
    /// Time from the loop's start to its end.
    pub wall_ns: u64,
    /// Time in detours.
    pub lost_ns: u64,
    /// 95 % interval of its noise; absent if the run was too short or few events make up the noise.
    pub interval: Option<Interval>,
    /// The noise that it exceeds with a probability of 97.5 %, also without an interval.
    #[serde(default)]
    pub at_least: Option<f64>,
    /// Number of detours.
    pub detours: u64,
    /// Lengths of the detours; absent if there were none.
    pub lengths: Option<Lengths>,
    /// Number of detours that found no free buffer, or no space on the disk.
    pub lost_detours: u64,
    /// Time that a pace slower than calm took between detours; absent where it was not recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slow_ns: Option<u64>,
    /// Time of an iteration at the calm pace, in ns; absent likewise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calm_ns: Option<f64>,
    /// Time in ns that was lost in each of up to 50 equal blocks of the time in which its loops ran, from their own start
    /// on, by the start of the detours; empty in summaries of older versions.
    #[serde(default)]
    pub blocks: Vec<u64>,
}

/// What one source took on a host.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HostSource {
    /// Identifier of the source.
    pub source: String,
    /// Name within the source; empty if there is only one.
    pub name: String,
    /// Number of detours that contain it.
    pub detours: u64,
    /// Its time including gaps.
    pub lost_ns: u64,
    /// Maximum of its time in one detour.
    pub max_ns: u64,
    /// CPUs on which it occurred.
    pub cpus: u64,
}

has_facts!(HostSummary);

impl HostSummary {
    /// Summarises a recording. It reads detours twice and other tables once, one row group of each CPU at a time,
    /// because the time in which any CPU was interrupted needs the detours of all CPUs side by side.
    ///
    /// # Errors
    ///
    /// A file is damaged, the activities do not belong to these detours, or the recording is one of whole samples,
    /// whose gaps were not watched.
    pub fn from_recording(recording: &Recording) -> Result<Self, Problem> {
        let (run, _opened) = (recording.run(), recording.keep_open());
        let loops = watched(recording)?;
        let (mut lost, mut sources) = (LostTime::new(run, &loops), SourcesBuilder::default());
        let folds: &mut [&mut dyn Fold] = &mut [&mut lost, &mut sources];
        let strays = read_once(recording, &loops, folds, &mut |_| {})?;
        let (lengths, detours) = (lost.lengths(), lost.cpus);
        let mut noise: Vec<CpuNoise> = run
            .cpus
            .iter()
            .zip(&detours)
            .map(|(cpu, sums)| CpuNoise::new(cpu, sums, &run.clock))
            .collect();
        let mut total = TotalNoise::new(&noise, &detours, &lengths, &run.clock);
        if let Some(rates) = Rates::in_run(run) {
            rates.count_by_wall_time(&mut noise, &mut total, &mut []);
        }
        let rows = match recording.attribution()? {
            Some(_) => Some(source_rows(recording, &detours, &sources, strays)?),
            None => None,
        };
        let suspects = match run.trace {
            None => {
                let cpus: Vec<u32> = run.cpus.iter().map(|cpu| cpu.cpu).collect();
                suspects(&CounterReadings::read(recording)?, &cpus, &run.clock)
            }
            Some(_) => vec![],
        };
        let competition = competition_of(run, total.noise, rows.as_deref(), &suspects);
        let slow = SlowTime::read(recording, &loops)?;
        let lost_ns = |sums: &DetoursBuilder| run.clock.ns(sums.lengths.sum_ticks());
        Ok(Self {
            facts: HostFacts::from_recording(recording),
            threshold_ns: run.clock.ns(loops.threshold_ticks()),
            doubts: known_doubts(run, competition),
            settings: settings(run),
            interval: total.interval,
            at_least: total.at_least,
            sources: rows.map(ranked),
            losses: losses(&recording.losses()?, &windows(&loops, run)),
            first_cpus: first_cpus(recording, &loops, &detours)?,
            lengths: LengthCounts::from_ticks(&lengths, &run.clock),
            cpus: noise
                .into_iter()
                .zip(&detours)
                .map(|(cpu, sums)| {
                    let blocks = sums.lost_by_block().into_iter();
                    let blocks = blocks.map(|ticks| run.clock.ns(ticks)).collect();
                    let pace = slow.as_ref().and_then(|slow| slow.on_cpu(cpu.cpu, &run.clock));
                    host_cpu(cpu, lost_ns(sums), pace, blocks)
                })
                .collect(),
        })
    }
}

impl HostSummary {
    /// Returns whether anything was measured.
    pub(crate) fn is_measured(&self) -> bool {
        self.cpus.iter().any(|cpu| cpu.wall_ns > 0)
    }
}

/// Returns what of the machine affects noise and may differ between hosts, as text.
pub(crate) fn settings(run: &Run) -> BTreeMap<String, String> {
    let machine = &run.machine;
    let all = machine.settings.iter().filter_map(|setting| {
        let value = setting.effective.as_ref().or(setting.requested.as_ref())?;
        Some((setting.name.clone(), value.clone()))
    });
    let governors: BTreeSet<&str> =
        machine.cpus.iter().filter_map(|cpu| cpu.governor.as_deref()).collect();
    let governors = governors.into_iter().collect::<Vec<_>>().join(", ");
    let known = [
        ("kernel", Some(machine.kernel.clone())),
        ("CPU model", Some(machine.model.clone())),
        ("hypervisor", Some(machine.hypervisor.clone().unwrap_or_else(|| "none".to_owned()))),
        ("ticks per second", machine.tick_hz.map(|hz| hz.to_string())),
        ("SMT", machine.smt.map(|on| if on { "on" } else { "off" }.to_owned())),
        ("governor", Some(governors).filter(|governors| !governors.is_empty())),
        ("anechoic", Some(run.tool_version.clone())),
        ("scheduling", Some(run.policy.to_string())),
        // A program uses the CPUs that it gets.
        ("measured CPUs", run.program.is_none().then(|| run.cpus.len().to_string())),
    ];
    let known = known.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
    all.chain(known).collect()
}

fn host_cpu(cpu: CpuNoise, lost_ns: u64, pace: Option<(u64, f64)>, blocks: Vec<u64>) -> HostCpu {
    HostCpu {
        cpu: cpu.cpu,
        class: cpu.class,
        wall_ns: cpu.wall_ns,
        lost_ns,
        interval: cpu.interval,
        at_least: cpu.at_least,
        detours: cpu.detours,
        lengths: cpu.lengths,
        lost_detours: cpu.lost_detours,
        slow_ns: pace.map(|(slow_ns, _)| slow_ns),
        calm_ns: pace.map(|(_, calm_ns)| calm_ns),
        blocks,
    }
}

/// Returns the sources by name, without the numbers of CPUs, as far as they fit, and the rest merged into one.
fn ranked(rows: Vec<SourceRow>) -> Vec<HostSource> {
    let mut by_name: BTreeMap<(String, String), (HostSource, BTreeSet<u32>)> = BTreeMap::new();
    for row in rows {
        let name = folded(&row.source, &row.name);
        let cpus = row.cpus.clone();
        let part = HostSource::from_row(SourceRow { name: name.clone(), ..row });
        let (sum, on) = by_name.entry((part.source.clone(), name)).or_insert_with(|| {
            (HostSource { detours: 0, lost_ns: 0, ..part.clone() }, BTreeSet::new())
        });
        on.extend(cpus);
        *sum = HostSource { cpus: on.len() as u64, ..sum.clone().and(part) };
    }
    let mut rows: Vec<HostSource> = by_name.into_values().map(|(row, _)| row).collect();
    rows.sort_by_key(|row| Reverse(row.lost_ns));
    let others = rows.split_off(rows.len().min(MOST_SOURCES)).into_iter().reduce(HostSource::and);
    let unnamed = |rest| HostSource { source: OTHERS.into(), name: String::new(), ..rest };
    rows.extend(others.map(unnamed));
    rows
}

impl HostSource {
    fn from_row(row: SourceRow) -> Self {
        Self {
            lost_ns: (row.charged.mean_ns * row.detours as f64).round() as u64,
            max_ns: row.charged.max_ns,
            cpus: row.cpus.len() as u64,
            source: row.source,
            name: row.name,
            detours: row.detours,
        }
    }

    /// Merges two sources. They may have occurred on the same CPUs, so there are at least as many as on either.
    fn and(self, other: Self) -> Self {
        Self {
            detours: self.detours.saturating_add(other.detours),
            lost_ns: self.lost_ns.saturating_add(other.lost_ns),
            max_ns: self.max_ns.max(other.max_ns),
            cpus: self.cpus.max(other.cpus),
            ..self
        }
    }
}
