//! The summary of one recording.

use crate::coverage::{
    AuditDifference, CounterReadings, Coverage, LossSummary, audit_differences, losses,
};
use crate::curve::{CurvePoint, Dropped};
use crate::detours::{DetoursBuilder, LostTime};
use crate::edges::{EdgesBuilder, Interrupts};
use crate::facts::Facts;
use crate::fold::Fold;
use crate::levels::{LevelChange, LevelsBuilder};
use crate::longest::{LongDetour, LongestBuilder};
use crate::loops::windows;
use crate::noise::{CpuNoise, IntervalMethod, TotalNoise};
use crate::owners::{Owner, owners};
use crate::pace::{Pace, SlowTime};
use crate::program;
use crate::sources::{SourceRow, SourcesBuilder};
use crate::stopped::{Stopped, StoppedBuilder};
use crate::suspects::{Suspect, suspects};
use crate::tracer::{TracedTicks, TracerCost, alternates};
use crate::waits::{Releases, ThreadRow, WaitPlaces};
use anechoic_recording::attribution::{Alignment, Attribution};
use anechoic_recording::run::NotAvailable;
use anechoic_recording::stop::StopCondition;
use anechoic_recording::who::SeenThread;
use anechoic_recording::{Loops, Problem, ProblemKind, Recording, Run, Strays};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The summary of one recording.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Summary {
    /// Facts of the run.
    pub run: Facts,
    /// What was to end the run before its time, and what did; absent if nothing was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stopped: Option<Stopped>,
    /// All measured CPUs together.
    pub total: TotalNoise,
    /// Each measured CPU.
    pub cpus: Vec<CpuNoise>,
    /// How the intervals are computed.
    pub intervals: IntervalMethod,
    /// Rate and noise as functions of the threshold, over all CPUs.
    pub curve: Vec<CurvePoint>,
    /// Instants at which the noise of all CPUs changed its level; of runs whose noise has one level at most 1 % have one.
    /// Not computed for a recorded program, and where detours were lost.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub levels: Vec<LevelChange>,
    /// How fast the loops went between the detours; absent for a recorded program, and where that was not recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pace: Option<Pace>,
    /// The longest detours, at most ten.
    pub longest: Vec<LongDetour>,
    /// Sources of the lost time; absent without attribution.
    pub sources: Option<Breakdown>,
    /// Whose the lost time is, the largest share first; absent without attribution.
    #[serde(default)]
    pub owners: Option<Vec<Owner>>,
    /// Interrupts on top of the recorded program; absent without one, and without attribution.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interrupts: Option<Interrupts>,
    /// The threads of the recorded program, the most delayed first; absent without one, in results of several recordings, and
    /// if the recording was attributed by an older version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threads: Option<Vec<ThreadRow>>,
    /// How late timers released the threads of the recorded program; absent without one, in results of several recordings, and
    /// in older recordings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub releases: Option<Releases>,
    /// Where the threads of the recorded program lost their CPUs; absent without call stacks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub places: Option<WaitPlaces>,
    /// Losses by kind.
    pub losses: Vec<LossSummary>,
    /// Cost of recording events; absent if it was not measured, or too little for a verdict.
    pub tracer_cost: Option<TracerCost>,
    /// Kernel counters that increased, if no events were recorded: suspects instead of attribution.
    pub suspects: Option<Vec<Suspect>>,
    /// Threads that ran on the measured CPUs at the start or the end, if no events were recorded: those that ran longest
    /// in between.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub suspect_threads: Vec<SeenThread>,
    /// Results that are not available, and why; in addition to `run.not_available`.
    pub not_available: Vec<NotAvailable>,
}

/// The sources of the lost time of one recording.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Sources {
    /// Facts of the run.
    pub run: Facts,
    /// Lost time divided by wall time, over all measured CPUs.
    pub noise: f64,
    /// The sources, and how reliable they are.
    pub sources: Breakdown,
    /// Losses by kind.
    pub losses: Vec<LossSummary>,
}

/// The sources of the lost time, and how reliable they are.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Breakdown {
    /// Version of anechoic that attributed.
    pub attributed_by: String,
    /// The sources, sorted by decreasing share. Together with `coverage.unattributed` their shares add up to 1.
    pub rows: Vec<SourceRow>,
    /// Lost time by how well it is explained; absent if no time was lost.
    pub coverage: Option<Coverage>,
    /// Whether every kernel event lies inside a detour.
    pub alignment: Alignment,
    /// Number of kernel counters compared with recorded events, each on each CPU.
    pub audited: u64,
    /// The counters that differ by more than allowed.
    pub audit_differences: Vec<AuditDifference>,
    /// Interrupts that no kernel event covers, in words.
    pub untraced: Vec<String>,
    /// Hypervisor steal according to the readings, in ns; absent if steal was not read.
    pub steal_read_ns: Option<u64>,
    /// The part of it that falls inside detours.
    pub steal_placed_ns: Option<u64>,
}

/// A summary in progress.
pub(crate) struct SummaryBuilder<'a> {
    lost: LostTime,
    longest: LongestBuilder<'a, LongDetour>,
    sources: SourcesBuilder,
    edges: EdgesBuilder,
    stopped: StoppedBuilder<'a>,
    ticks: TracedTicks,
    levels: LevelsBuilder,
}

impl<'a> SummaryBuilder<'a> {
    /// Returns an empty summary.
    pub(crate) fn new(run: &'a Run, loops: &Loops) -> Self {
        Self {
            lost: LostTime::new(run, loops),
            longest: LongestBuilder::by_source(run),
            sources: SourcesBuilder::default(),
            edges: EdgesBuilder::default(),
            stopped: StoppedBuilder::new(run),
            ticks: TracedTicks::new(run),
            levels: LevelsBuilder::new(run),
        }
    }

    /// Returns everything that adds up detours.
    pub(crate) fn folds(&mut self) -> Vec<&mut dyn Fold> {
        vec![
            &mut self.lost,
            &mut self.longest,
            &mut self.sources,
            &mut self.edges,
            &mut self.stopped,
            &mut self.ticks,
            &mut self.levels,
        ]
    }

    /// Returns the summary with the content of the small tables of the recording. `strays` are activities outside all
    /// detours.
    ///
    /// # Errors
    ///
    /// A file is damaged, or the activities do not belong to these detours.
    pub(crate) fn finish(
        self,
        recording: &Recording,
        loops: &Loops,
        strays: Strays,
    ) -> Result<Summary, Problem> {
        let run = recording.run();
        let clock = &run.clock;
        let LostTime { cpus: detours, curve } = &self.lost;
        let mut cpus: Vec<CpuNoise> = run
            .cpus
            .iter()
            .zip(detours)
            .map(|(cpu, sums)| CpuNoise::new(cpu, sums, clock))
            .collect();
        let lost = recording.losses()?;
        let readings = CounterReadings::read(recording)?;
        let wall = detours.iter().map(DetoursBuilder::wall_ticks).fold(0, u64::saturating_add);
        let levels = self.levels.finish(run, detours);
        let slow = SlowTime::read(recording, loops)?;
        let pace = slow.map(|slow| slow.finish(run, detours, &self.levels));
        let mut not_available = vec![];
        let tracer_cost = self.ticks.finish(recording, loops, &lost, &mut not_available)?;
        let sources = match recording.attribution()? {
            Some(found) => Some(self.breakdown(recording, &found, &readings, strays)?),
            None => None,
        };
        let cpu_numbers: Vec<u32> = run.cpus.iter().map(|cpu| cpu.cpu).collect();
        let mut total = TotalNoise::new(&cpus, detours, &self.lost.lengths(), clock);
        let mut curve = curve.points(wall, dropped(run), clock);
        if let Some(rates) = program::Rates::in_run(run) {
            rates.count_by_wall_time(&mut cpus, &mut total, &mut curve);
        }
        if total.interval.is_none() && total.lost_detours == 0 {
            not_available.push(no_interval(&total, run));
        }
        let longest_wall = match run.program {
            Some(_) => run.end_ticks.saturating_sub(run.start_ticks),
            None => detours.iter().map(DetoursBuilder::wall_ticks).max().unwrap_or(0),
        };
        let threshold_ns = clock.ns(loops.threshold_ticks());
        Ok(Summary {
            run: Facts { threshold_ns, ..Facts::new(run, longest_wall) },
            total,
            cpus,
            intervals: IntervalMethod::new(run, detours),
            curve,
            levels,
            pace,
            stopped: self.stopped.finish(recording)?,
            longest: self.longest.finish(),
            owners: sources.is_some().then(|| owners(&self.sources, run, wall, &readings)),
            interrupts: (run.program.is_some() && sources.is_some())
                .then(|| self.edges.interrupts()),
            sources,
            threads: None,
            places: None,
            releases: None,
            losses: losses(&lost, &windows(loops, run)),
            tracer_cost,
            suspects: run.trace.is_none().then(|| suspects(&readings, &cpu_numbers, clock)),
            suspect_threads: match run.trace {
                None => run.threads.clone(),
                Some(_) => vec![],
            },
            not_available,
        })
    }
}

/// Returns the time that a run of `--keep` watched on all CPUs before the part that is kept. Real-time loops may have had
/// longer detours in it that did not end the run, because they were artefacts: nothing is known of their number.
fn dropped(run: &Run) -> Option<Dropped> {
    let kept = run.kept_after_stop().filter(|_| !run.policy.is_fifo())?;
    let StopCondition::Longer(over_ns) = run.stop_on.as_ref()?.condition else { return None };
    let ticks = run.clock.ticks(kept.dropped_ns).saturating_mul(run.cpus.len() as u64);
    Some(Dropped { over_ns, ticks })
}

impl SummaryBuilder<'_> {
    fn breakdown(
        &self,
        recording: &Recording,
        found: &Attribution,
        readings: &CounterReadings,
        strays: Strays,
    ) -> Result<Breakdown, Problem> {
        let run = recording.run();
        let rows = source_rows(recording, &self.lost.cpus, &self.sources, strays)?;
        // Events that were off half of the time cannot agree with what the kernel counted.
        let audit = if alternates(run) { &[][..] } else { &found.audit };
        let detours = self.lost.cpus.iter();
        let lost = detours.map(|cpu| cpu.lengths.sum_ticks()).fold(0, u64::saturating_add);
        Ok(Breakdown {
            attributed_by: found.tool_version.clone(),
            rows,
            coverage: Coverage::new(self.sources.explained, lost),
            alignment: found.alignment.clone(),
            audited: audit.iter().filter(|row| row.seen.is_some()).count() as u64,
            audit_differences: audit_differences(audit, readings),
            untraced: found.untraced.clone(),
            steal_read_ns: found.steal_read_ns,
            steal_placed_ns: found.steal_placed_ns,
        })
    }
}

/// Returns what each source took, sorted by decreasing time. `detours` are those of all CPUs, and `strays` activities
/// outside all detours.
///
/// # Errors
///
/// The activities take more time than the detours.
pub(crate) fn source_rows(
    recording: &Recording,
    detours: &[DetoursBuilder],
    sources: &SourcesBuilder,
    strays: Strays,
) -> Result<Vec<SourceRow>, Problem> {
    let lost = detours.iter().map(|cpu| cpu.lengths.sum_ticks()).fold(0, u64::saturating_add);
    let count = detours.iter().map(|cpu| cpu.lengths.count()).sum();
    if sources.explained.all_ticks.saturating_add(strays.self_ticks) > lost {
        return Err(mismatch(recording));
    }
    let wall = detours.iter().map(|cpu| (cpu.cpu(), cpu.wall_ticks())).collect();
    let run = recording.run();
    let mut rows = sources.rows(lost, count, &wall, (&run.clock, &run.threads));
    if let Some(rates) = program::Rates::in_run(run) {
        rows.iter_mut().for_each(|row| row.rate_per_s = rates.per_s(row.detours, row.cpus.len()));
    }
    Ok(rows)
}

/// What is not available if the noise has no interval.
pub const INTERVAL: &str = "interval of the noise";

/// Returns why the noise has no interval.
fn no_interval(total: &TotalNoise, run: &Run) -> NotAvailable {
    let (blocks, block_ns) = (crate::blocks::FEWEST_BLOCKS, crate::blocks::SHORTEST_BLOCK_NS);
    let (block_ms, run_ms) = (block_ns / 1_000_000, blocks * block_ns / 1_000_000);
    let (why, remedy) = match total.at_least {
        _ if run.program.is_some() => (
            "parts of a program's run are not alike".to_owned(),
            "record the program several times".into(),
        ),
        Some(_) => (
            "few events make up the noise, or it changes slowly, so it may be larger".to_owned(),
            "measure for longer".into(),
        ),
        None if total.detours == 0 => {
            ("there was no detour".to_owned(), "measure for longer".into())
        }
        None => (
            format!("the run has fewer than {blocks} blocks of {block_ms} ms"),
            format!("measure for {run_ms} ms or longer"),
        ),
    };
    NotAvailable::new(INTERVAL, why, remedy)
}

/// Returns an error: the derived tables do not belong to these detours.
fn mismatch(recording: &Recording) -> Problem {
    let why = "the activities take more time than the detours that contain them";
    let remedy = "derive them again with `anechoic attribute`";
    ProblemKind::Data.problem(why, remedy).about(recording.dir().display())
}
