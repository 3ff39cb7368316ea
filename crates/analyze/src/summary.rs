//! One recording, read once and summarised.

use crate::coverage::{
    AuditDifference, CounterReadings, Coverage, LossSummary, audit_differences, losses,
};
use crate::curve::CurvePoint;
use crate::detours::{DetoursOf, LostTime};
use crate::facts::Facts;
use crate::fold::Fold;
use crate::longest::{LongDetour, LongestOf};
use crate::loops::{span_ticks, windows};
use crate::noise::{CpuNoise, IntervalMethod, TotalNoise};
use crate::sources::{SourceRow, SourcesOf};
use crate::suspects::{Suspect, suspects};
use crate::tracer::{TracedTicks, TracerCost, alternates};
use anechoic_recording::attribution::{Alignment, Attribution};
use anechoic_recording::run::NotAvailable;
use anechoic_recording::{Loops, Problem, ProblemKind, Recording, Run, Strays};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Everything that one recording says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Summary {
    /// What ran where.
    pub run: Facts,
    /// All measured CPUs together.
    pub total: TotalNoise,
    /// Each measured CPU.
    pub cpus: Vec<CpuNoise>,
    /// How the intervals were made.
    pub intervals: IntervalMethod,
    /// Rate and noise against the threshold, over all CPUs.
    pub curve: Vec<CurvePoint>,
    /// The longest detours, ten at most.
    pub longest: Vec<LongDetour>,
    /// What took the time; absent where nothing was attributed.
    pub sources: Option<Breakdown>,
    /// What was lost, by kind.
    pub losses: Vec<LossSummary>,
    /// What recording events cost; absent where it was not measured or too little for a verdict.
    pub tracer_cost: Option<TracerCost>,
    /// Where no events were recorded: the counters of the kernel that moved. Suspects, not attribution.
    pub suspects: Option<Vec<Suspect>>,
    /// What this summary could not say, and why; beside `run.not_available`.
    pub not_available: Vec<NotAvailable>,
}

/// What took the time of one recording.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Sources {
    /// What ran where.
    pub run: Facts,
    /// Lost time over wall time, all measured CPUs.
    pub noise: f64,
    /// The sources, and how sure they are.
    pub sources: Breakdown,
    /// What was lost, by kind.
    pub losses: Vec<LossSummary>,
}

/// What took the time, and how sure that is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Breakdown {
    /// Version of anechoic that attributed.
    pub attributed_by: String,
    /// The sources, the largest share first. With `coverage.unattributed`, shares add up to 1.
    pub rows: Vec<SourceRow>,
    /// Lost time by how well it is explained; absent where no time was lost.
    pub coverage: Option<Coverage>,
    /// Whether every kernel event lies inside a detour.
    pub alignment: Alignment,
    /// Counters of the kernel that were compared with the events seen, each on each CPU.
    pub audited: u64,
    /// Those that differ by more than they may.
    pub audit_differences: Vec<AuditDifference>,
    /// Interrupts that no event tells of, in words.
    pub untraced: Vec<String>,
    /// Hypervisor steal that the readings tell of, in ns; absent where steal was not read.
    pub steal_read_ns: Option<u64>,
    /// The part of it that lies in the rows.
    pub steal_placed_ns: Option<u64>,
}

/// What a summary is made of.
pub(crate) struct SummaryOf<'a> {
    lost: LostTime,
    longest: LongestOf<'a>,
    sources: SourcesOf,
    ticks: TracedTicks,
}

impl<'a> SummaryOf<'a> {
    /// Nothing yet.
    pub(crate) fn new(run: &'a Run, loops: &Loops) -> Self {
        Self {
            lost: LostTime::new(run, loops),
            longest: LongestOf::new(run),
            sources: SourcesOf::default(),
            ticks: TracedTicks::new(run),
        }
    }

    /// All that adds up detours.
    pub(crate) fn folds(&mut self) -> Vec<&mut dyn Fold> {
        vec![&mut self.lost, &mut self.longest, &mut self.sources, &mut self.ticks]
    }

    /// The summary, with what the small tables of the recording say. `strays` are activities of no detour.
    ///
    /// # Errors
    /// A file is damaged, or the activities are not of these detours.
    pub(crate) fn finish(
        self,
        recording: &Recording,
        loops: &Loops,
        strays: Strays,
    ) -> Result<Summary, Problem> {
        let run = recording.run();
        let clock = &run.clock;
        let LostTime { cpus: detours, curve } = &self.lost;
        let cpus: Vec<CpuNoise> =
            run.cpus.iter().zip(detours).map(|(cpu, of)| CpuNoise::of(cpu, of, clock)).collect();
        let lost = recording.losses()?;
        let readings = CounterReadings::read(recording)?;
        let wall: u64 = detours.iter().map(DetoursOf::wall_ticks).sum();
        let mut not_available = vec![];
        let tracer_cost = self.ticks.finish(recording, loops, &lost, &mut not_available)?;
        let sources = match recording.attribution()? {
            Some(found) => Some(self.breakdown(recording, loops, &found, &readings, strays)?),
            None => None,
        };
        let cpu_numbers: Vec<u32> = run.cpus.iter().map(|cpu| cpu.cpu).collect();
        let total = TotalNoise::of(&cpus, detours, clock);
        if total.interval.is_none() && total.lost_detours == 0 {
            not_available.push(too_short());
        }
        let longest_wall = detours.iter().map(DetoursOf::wall_ticks).max().unwrap_or(0);
        let threshold_ns = clock.ns(loops.threshold_ticks());
        Ok(Summary {
            run: Facts { threshold_ns, ..Facts::of(run, longest_wall) },
            total,
            cpus,
            intervals: IntervalMethod::of(run, detours),
            curve: curve.points(wall, clock),
            longest: self.longest.finish(),
            sources,
            losses: losses(&lost, &windows(loops, run), wall),
            tracer_cost,
            suspects: run.trace.is_none().then(|| suspects(&readings, &cpu_numbers, clock)),
            not_available,
        })
    }
}

impl SummaryOf<'_> {
    fn breakdown(
        &self,
        recording: &Recording,
        loops: &Loops,
        found: &Attribution,
        readings: &CounterReadings,
        strays: Strays,
    ) -> Result<Breakdown, Problem> {
        let run = recording.run();
        let rows = source_rows(recording, &self.lost.cpus, &self.sources, strays)?;
        // Events that were off half of the time cannot agree with what the kernel counted.
        let audit = if alternates(run) { &[][..] } else { &found.audit };
        let detours = self.lost.cpus.iter();
        let time_of_events: BTreeMap<u32, u64> = match span_ticks(loops) {
            Some(span) => detours.clone().map(|of| (of.cpu(), span)).collect(),
            None => detours.clone().map(|of| (of.cpu(), of.wall_ticks())).collect(),
        };
        let lost = detours.map(|of| of.lengths().sum_ticks()).sum();
        Ok(Breakdown {
            attributed_by: found.tool_version.clone(),
            rows,
            coverage: Coverage::of(self.sources.explained(), lost),
            alignment: found.alignment.clone(),
            audited: audit.iter().filter(|row| row.seen.is_some()).count() as u64,
            audit_differences: audit_differences(audit, readings, &time_of_events),
            untraced: found.untraced.clone(),
            steal_read_ns: found.steal_read_ns,
            steal_placed_ns: found.steal_placed_ns,
        })
    }
}

/// What each source took, the most first. `detours` are all CPUs, and `strays` activities of none of them.
///
/// # Errors
/// The activities hold more time than the detours.
pub(crate) fn source_rows(
    recording: &Recording,
    detours: &[DetoursOf],
    sources: &SourcesOf,
    strays: Strays,
) -> Result<Vec<SourceRow>, Problem> {
    let lost = detours.iter().map(|of| of.lengths().sum_ticks()).fold(0, u64::saturating_add);
    let count = detours.iter().map(|of| of.lengths().count()).sum();
    if sources.explained().all_ticks.saturating_add(strays.self_ticks) > lost {
        return Err(mismatch(recording));
    }
    let wall = detours.iter().map(|of| (of.cpu(), of.wall_ticks())).collect();
    Ok(sources.rows(lost, count, &wall, &recording.run().clock))
}

fn too_short() -> NotAvailable {
    let (blocks, block_ns) = (crate::blocks::FEWEST_BLOCKS, crate::blocks::SHORTEST_BLOCK_NS);
    let (block_ms, run_ms) = (block_ns / 1_000_000, blocks * block_ns / 1_000_000);
    NotAvailable {
        what: "interval of the noise".into(),
        why: format!("the run has fewer than {blocks} blocks of {block_ms} ms"),
        remedy: format!("measure for {run_ms} ms or longer"),
    }
}

/// The derived tables are not of these detours.
fn mismatch(recording: &Recording) -> Problem {
    let why = "the activities take more time than the detours that contain them";
    let remedy = "derive them again with `anechoic attribute`";
    ProblemKind::Data.problem(why, remedy).about(recording.dir().display())
}
