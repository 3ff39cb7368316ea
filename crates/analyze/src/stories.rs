//! The longest detours, each with what happened in it, in order.

use crate::facts::Facts;
use crate::fold::read_once;
use crate::longest::LongestBuilder;
use crate::loops::watched;
use crate::readings::not_attributed;
use crate::stopped::Stopped;
use crate::story::{DetourStory, name_threads, story};
use crate::summary::SummaryBuilder;
use crate::waits::{LateRelease, LongWait, latest_releases, longest_waits};
use anechoic_recording::{DetourView, Problem, ProblemKind, Recording, Run};
use schemars::JsonSchema;
use serde::Serialize;

/// The longest detours of a recording.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct LongestDetours {
    /// The run.
    pub run: Facts,
    /// Number of detours among which they are the longest.
    #[serde(rename = "of")]
    pub total: u64,
    /// The CPUs that were chosen; absent if all count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpus: Option<Vec<u32>>,
    /// Identifiers of the sources without which detours were chosen; absent if all count.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub without: Vec<String>,
    /// Number of detours of these CPUs that were left out because they contain such a source; absent if all count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left_out: Option<u64>,
    /// The detours, sorted by decreasing length.
    pub detours: Vec<DetourStory>,
    /// The longest waits of the threads of a recorded program, sorted by decreasing length: also those behind threads of the
    /// same program, which are in no detour. Without a program there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waits: Vec<LongWait>,
    /// The latest releases of these threads by timers, sorted by decreasing latency. Without any there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub releases: Vec<LateRelease>,
    /// What was to end the run, and the detour that did, which may be none of the longest; absent if nothing was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stopped: Option<Stopped>,
}

/// Returns the `most` longest detours of a recording, of all measured CPUs or of these, each with so many activities at
/// most. Detours that contain one of the sources `without`, by identifier, do not count.
///
/// # Errors
///
/// A file is damaged, the activities do not belong to these detours, or the recording is one of whole samples, whose
/// gaps were not watched; or sources are to be left out and it has no attribution.
pub fn longest_detours(
    recording: &Recording,
    most: usize,
    activities: usize,
    cpus: Option<&[u32]>,
    without: &[&str],
) -> Result<LongestDetours, Problem> {
    let run = recording.run();
    let measured: Vec<u32> = run.cpus.iter().map(|cpu| cpu.cpu).collect();
    if let Some(absent) = cpus.into_iter().flatten().find(|cpu| !measured.contains(cpu)) {
        let why = format!("CPU {absent} was not measured in {}", recording.dir().display());
        return Err(ProblemKind::Usage.problem(why, format!("it has the CPUs {measured:?}")));
    }
    let loops = watched(recording)?;
    let mut summary = SummaryBuilder::new(run, &loops);
    let make = |view: &DetourView<'_>, run: &Run| story(view, run, activities);
    let mut longest = LongestBuilder::new(run, most, make).on(cpus).without(without);
    let mut folds = summary.folds();
    folds.push(&mut longest);
    let strays = read_once(recording, &loops, &mut folds, &mut |_| {})?;
    let summary = summary.finish(recording, &loops, strays)?;
    if summary.sources.is_none() && !without.is_empty() {
        return Err(not_attributed(recording, &summary.run));
    }
    let (total, left_out) = (longest.seen, longest.left_out);
    let mut detours = longest.finish();
    name_threads(&mut detours, recording)?;
    let waits = longest_waits(recording, most, cpus, &mut detours)?;
    Ok(LongestDetours {
        run: summary.run,
        total,
        cpus: cpus.map(<[u32]>::to_vec),
        without: without.iter().map(|id| (*id).to_owned()).collect(),
        left_out: (!without.is_empty()).then_some(left_out),
        detours,
        waits,
        releases: latest_releases(recording, most, cpus)?,
        stopped: summary.stopped,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fold::Fold;
    use crate::split::Split;
    use crate::testing::{activity, clock_ns, detour};
    use anechoic_lab::builders::run;
    use anechoic_recording::ActivityKind;

    #[test]
    fn only_the_asked_cpus_count() {
        let run = run("detours", clock_ns(), vec![]);
        let make = |view: &DetourView<'_>, run: &Run| story(view, run, 1);
        let mut longest = LongestBuilder::new(&run, 5, make).on(Some(&[1]));
        for (cpu, length) in [(0, 9), (1, 3), (1, 5)] {
            longest.detour(&Split::default().split(DetourView { cpu, ..detour(0, length) }));
        }
        assert_eq!(longest.seen, 2);
        let found: Vec<_> = longest.finish().iter().map(|story| story.length_ns).collect();
        assert_eq!(found, [5, 3]);
    }

    #[test]
    fn detours_with_a_source_that_is_left_out_do_not_count() {
        let run = run("detours", clock_ns(), vec![]);
        let make = |view: &DetourView<'_>, run: &Run| story(view, run, 1);
        let mut longest = LongestBuilder::new(&run, 5, make).without(&["fair-server", "nmi"]);
        for (source, length) in [("fair-server", 9), ("timer-tick", 3), ("thread", 5), ("nmi", 4)] {
            let rows = [activity(0, ActivityKind::Activity, source, "", length)];
            let view = DetourView { activities: &rows, ..detour(0, length) };
            longest.detour(&Split::default().split(view));
        }
        assert_eq!(longest.seen, 2);
        let found: Vec<_> = longest.finish().iter().map(|story| story.length_ns).collect();
        assert_eq!(found, [5, 3]);
    }
}
