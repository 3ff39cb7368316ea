//! One recording, read once and summarised: [`summarize`] and [`sources`].

use crate::coverage::{
    AuditDifference, Coverage, LossSummary, Readings, audit_differences, losses,
};
use crate::curve::{Curve, CurvePoint};
use crate::detours::DetoursOf;
use crate::error::AnalyzeError;
use crate::facts::Facts;
use crate::longest::{LongDetour, LongestOf};
use crate::loops::Loops;
use crate::noise::{CpuNoise, IntervalMethod, TotalNoise};
use crate::passes::{
    Attributed, alternates, read_activities, read_counters, read_detours, read_losses, tracer_cost,
};
use crate::sources::SourceRow;
use crate::suspects::{Suspect, suspects};
use crate::tracer::TracerCost;
use anechoic_recording::Recording;
use anechoic_recording::attribution::{Alignment, Attribution};
use anechoic_recording::run::NotAvailable;
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

/// Summarises a recording. Reads each table once, part by part, in bounded memory.
///
/// # Errors
/// [`AnalyzeError::Read`] where a file is damaged, [`AnalyzeError::Mismatch`] where the activities
/// are not of these detours, [`AnalyzeError::NotWatched`] of a recording of whole samples.
pub fn summarize(recording: &Recording) -> Result<Summary, AnalyzeError> {
    let run = recording.run();
    let clock = &run.clock;
    let loops = Loops::of(recording)?;
    let detours = read_detours(recording, &loops)?;
    let cpus: Vec<CpuNoise> = run
        .cpus
        .iter()
        .zip(&detours)
        .map(|(cpu, detours)| CpuNoise::of(cpu, detours, clock))
        .collect();
    let mut curve = Curve::new(loops.threshold_ticks(), clock);
    let mut longest = LongestOf::default();
    for cpu in &detours {
        curve.merge(cpu.curve());
        longest.merge(cpu.longest());
    }
    let attributed = read_activities(recording, &longest)?;
    let lost = read_losses(recording)?;
    let readings = read_counters(recording)?;
    let wall: u64 = detours.iter().map(DetoursOf::wall_ticks).sum();
    let mut not_available = vec![];
    let tracer_cost = tracer_cost(recording, &loops, &attributed, &lost, &mut not_available)?;
    let sources = match recording.attribution()? {
        Some(found) => {
            Some(breakdown(recording, &loops, &found, &attributed, &detours, &readings)?)
        }
        None => None,
    };
    let cpu_numbers: Vec<u32> = run.cpus.iter().map(|cpu| cpu.cpu).collect();
    let total = TotalNoise::of(&cpus, &detours, clock);
    if total.interval.is_none() && total.lost_detours == 0 {
        not_available.push(too_short());
    }
    let longest_wall = detours.iter().map(DetoursOf::wall_ticks).max().unwrap_or(0);
    let threshold_ns = clock.ns(loops.threshold_ticks());
    Ok(Summary {
        run: Facts { threshold_ns, ..Facts::of(run, longest_wall) },
        total,
        cpus,
        intervals: IntervalMethod::of(run, &detours),
        curve: curve.points(wall, clock),
        longest: attributed.parts.finish(&longest, run.start_ticks, clock),
        sources,
        losses: losses(&lost, &loops.windows(run), wall),
        tracer_cost,
        suspects: run.trace.is_none().then(|| suspects(&readings, &cpu_numbers, clock)),
        not_available,
    })
}

/// What took the time of a recording.
///
/// # Errors
/// As [`summarize`]; and [`AnalyzeError::NotAttributed`] where nothing was attributed.
pub fn sources(recording: &Recording) -> Result<Sources, AnalyzeError> {
    let summary = summarize(recording)?;
    let has_events = recording.run().trace.is_some();
    let why = || match summary.run.not_available.first() {
        Some(missing) if !has_events => format!("{}: {}", missing.what, missing.why),
        _ if has_events => "its events were not attributed yet".into(),
        _ => "no kernel events were recorded".into(),
    };
    let sources = summary.sources.ok_or_else(|| AnalyzeError::NotAttributed {
        dir: recording.dir().to_owned(),
        why: why(),
        has_events,
    })?;
    let Summary { run, total, losses, .. } = summary;
    Ok(Sources { run, noise: total.noise, sources, losses })
}

fn breakdown(
    recording: &Recording,
    loops: &Loops,
    found: &Attribution,
    attributed: &Attributed,
    detours: &[DetoursOf],
    readings: &Readings,
) -> Result<Breakdown, AnalyzeError> {
    let wall: BTreeMap<u32, u64> =
        detours.iter().map(|cpu| (cpu.cpu(), cpu.wall_ticks())).collect();
    let lost = detours.iter().map(|cpu| cpu.lengths().sum_ticks()).sum();
    let count = detours.iter().map(|cpu| cpu.lengths().count()).sum();
    let explained = attributed.sources.explained();
    if explained.all_ticks > lost {
        return Err(AnalyzeError::Mismatch { dir: recording.dir().to_owned() });
    }
    // Events that were off half of the time cannot agree with what the kernel counted.
    let audit = if alternates(recording.run()) { &[][..] } else { &found.audit };
    let time_of_events: BTreeMap<u32, u64> = match loops.span_ticks() {
        Some(span) => wall.keys().map(|&cpu| (cpu, span)).collect(),
        None => wall.clone(),
    };
    Ok(Breakdown {
        attributed_by: found.tool_version.clone(),
        rows: attributed.sources.rows(lost, count, &wall, &recording.run().clock),
        coverage: Coverage::of(explained, lost),
        alignment: found.alignment.clone(),
        audited: audit.iter().filter(|row| row.seen.is_some()).count() as u64,
        audit_differences: audit_differences(audit, readings, &time_of_events),
        untraced: found.untraced.clone(),
        steal_read_ns: found.steal_read_ns,
        steal_placed_ns: found.steal_placed_ns,
    })
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
