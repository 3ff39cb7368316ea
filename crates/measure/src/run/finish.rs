//! Completes a run when its loops have ended.

use super::adopt::adopt;
use super::describe;
use super::plan::Plan;
use super::store::Store;
use super::user_work;
use crate::ensemble::Team;
use crate::timed::place::LoopPlace;
use crate::timed::usage::Usage;
use crate::timed::worker::{LoopResult, Report};
use anechoic_recording::WriteError;
use anechoic_recording::in_words;
use anechoic_recording::run::{Ended, Outcome, Run, RunState};
use anechoic_system::clock::Anchor;
use anechoic_system::{cpus, machine};
use std::collections::BTreeMap;
use std::time::Duration;

/// Completes `run` with the results of the loops and closes the recording.
pub(super) fn finish(
    run: &mut Run,
    reports: &[Report],
    begin: Anchor,
    mut store: Store,
    plan: &Plan,
) -> Result<(), WriteError> {
    run.clock.residual_ppm = begin.residual_ppm(Anchor::take(), run.clock.frequency_millihertz);
    let seen = || reports.iter().flat_map(|report| &report.seen);
    run.end_ticks = seen().map(|seen| seen.last_ticks).max().unwrap_or(run.end_ticks);
    run.end_utc = Some(describe::now_utc(Duration::ZERO));
    run.notes.extend(run.clock.rate_note());
    run.notes.extend(machine::changes(&run.machine));
    let measured: Vec<u32> = run.cpus.iter().map(|cpu| cpu.cpu).collect();
    let others = machine::measured_by_others(&measured);
    run.notes
        .extend(others.into_iter().filter(|note| !run.notes.contains(note)).collect::<Vec<_>>());
    reports.iter().for_each(|report| store.losses(&report.losses));
    run.notes.extend(reports.iter().flat_map(|report| report.notes.clone()));
    for lane in 0..run.cpus.len() {
        let seen: Vec<&LoopResult> = seen().filter(|seen| seen.lane == lane).collect();
        describe::complete(&mut run.cpus[lane], &seen);
        let usage = seen.iter().map(|seen| seen.usage).fold(Usage::default(), Usage::and);
        if !store.keeps_last_part() {
            store.append(&usage.counters(run.cpus[lane].cpu)); // they are of the whole run
        }
        notes_of(run, lane, &seen, plan.experiment.forks());
    }
    notes_of_others(run, seen());
    run.outcomes = seen().filter_map(outcome).collect();
    run.allocations = seen().filter_map(|seen| seen.allocation.clone()).collect();
    for missing in reports.iter().flat_map(|report| &report.not_counted) {
        if !run.not_available.contains(missing) {
            run.not_available.push(missing.clone()); // the same on all CPUs
        }
    }
    run.outcomes.sort_by_key(|outcome| outcome.series);
    let cut_short = run.outcomes.iter().any(|outcome| outcome.ended == Ended::Interrupted);
    if run.state == RunState::Running && cut_short {
        let why = why_cut_short(run);
        let alone = if plan.experiment.meets() { ", and no rank waits for its loop" } else { "" };
        run.state = RunState::Interrupted(format!("{why}{alone}"));
    }
    if let Some(stop) = &mut run.stop_on {
        stop.met = store.stopped_by();
        let cut_short =
            run.outcomes.iter_mut().filter(|outcome| outcome.ended == Ended::Interrupted);
        cut_short.filter(|_| stop.met.is_some()).for_each(|outcome| outcome.ended = Ended::Stopped);
    }
    store.write_kept(run);
    if run.method == describe::DETOURS {
        subtract_shortest(run, plan.team.as_ref());
    }
    if let Some(placement) = plan.ranks().filter(|placement| placement.leads()) {
        let dir = store.dir().to_owned();
        adopt(placement, &dir, run, &mut store);
    }
    store.settle(run);
    if let Some(error) = store.trouble() {
        let why = in_words(error);
        run.state = RunState::Interrupted(format!("not everything could be saved: {why}"));
    } else if run.state == RunState::Running {
        run.state = RunState::Complete;
    }
    store.finish(run)
}

/// Returns why loops ended early.
fn why_cut_short(run: &Run) -> &'static str {
    let has = |ended| run.outcomes.iter().any(|outcome| outcome.ended == ended);
    let online = cpus::online();
    match () {
        () if run.cpus.iter().any(|cpu| !online.contains(&cpu.cpu)) => "a CPU went offline",
        () if has(Ended::Clock) => "the counter of a CPU jumped back",
        () if has(Ended::Offline) => "the thread of a loop was moved off its CPU",
        () => "a loop ended early",
    }
}

fn outcome(seen: &LoopResult) -> Option<Outcome> {
    let series = seen.series?;
    Some(Outcome {
        series: series.series,
        first_ticks: seen.first_ticks,
        last_ticks: seen.last_ticks,
        samples: series.samples,
        lost: series.lost,
        wrong: series.wrong,
        ended: series.ended,
        step_ticks: series.step_ticks,
        wait_threshold_ticks: series.wait_threshold_ticks,
        passes: series.passes,
        counts: seen.counts.clone(),
    })
}

/// Sets one iteration of the loops to the shortest gap of each class of CPUs with the same rate of the counter, on all
/// hosts of a job.
fn subtract_shortest(run: &mut Run, team: Option<&Team>) {
    let mut shortest: BTreeMap<String, u64> = BTreeMap::new();
    for cpu in &run.cpus {
        let alike = describe::same_loop(&cpu.class, &run.clock);
        let known = shortest.entry(alike).or_insert(cpu.own_shortest_gap_ticks);
        *known = cpu.own_shortest_gap_ticks.min(*known);
    }
    match team.map(|team| team.shortest(&shortest)) {
        Some(Ok(of_all)) => shortest.extend(of_all),
        Some(Err(error)) if run.state == RunState::Running => {
            run.state = RunState::Interrupted(error.to_string());
        }
        Some(Err(_)) | None => {}
    }
    for cpu in &mut run.cpus {
        let alike = describe::same_loop(&cpu.class, &run.clock);
        cpu.shortest_gap_ticks = describe::one_iteration(shortest[&alike], &run.clock);
    }
}

/// Where page faults of a loop come from that shares its memory with processes that it forked.
const SHARED_PAGES: &str = "a page that the processes of its ring have too is copied at the first write after their start, and the kernel \
                            may move pages; their time is in the samples";
/// Where page faults of a loop come from, all of whose memory was touched before.
const MOVED_PAGES: &str = "the kernel moved or reclaimed pages of it (compaction, NUMA balancing); their time counts as noise";

/// Notes what users' functions did, and problems of the loops that are not the main loop of any CPU.
fn notes_of_others<'a>(run: &mut Run, seen: impl Iterator<Item = &'a LoopResult> + Clone) {
    run.notes.extend(user_work::notes(seen.clone()));
    for is_meant in [LoopPlace::is_copy, LoopPlace::is_any] {
        let seen = seen.clone().filter(|seen| is_meant(&seen.place));
        let Some(role) = seen.clone().find_map(|seen| seen.place.role()) else { continue };
        if seen.clone().any(|seen| seen.jumped_back) {
            run.notes.push(format!("the counter jumped back under a {role}; its series end there"));
        }
        let faults = own_faults(seen);
        if faults > 0 {
            run.notes.push(format!("{faults} page faults in a {role}: {MOVED_PAGES}"));
        }
    }
}

/// Returns the number of page faults of loops that should have none: a user's function may touch what memory it likes.
fn own_faults<'a>(seen: impl Iterator<Item = &'a LoopResult>) -> u64 {
    seen.filter(|seen| seen.user.is_none()).map(|seen| seen.usage.page_faults()).sum()
}

/// Notes problems of one CPU's loop.
fn notes_of(run: &mut Run, lane: usize, seen: &[&LoopResult], forks: bool) {
    let cpu = run.cpus[lane].cpu;
    if let Some(place) = seen.iter().position(|seen| seen.last_cpu != cpu) {
        let after = |ticks: u64| run.clock.seconds(ticks.saturating_sub(run.start_ticks));
        let at = after(seen[place].last_ticks);
        let back = seen[place..].iter().find(|seen| seen.last_cpu == cpu);
        let online = cpus::online().contains(&cpu);
        run.notes.push(match (back, online) {
            (Some(back), _) => format!(
                "CPU {cpu} was offline, or its loop was moved to another one, from {at:.1} s to {:.1} s after the start: it has no \
                 results of that time",
                after(back.first_ticks)
            ),
            (None, true) => format!(
                "the loop of CPU {cpu} was moved to another CPU after {at:.1} s; its results end there"
            ),
            (None, false) => {
                format!("CPU {cpu} went offline after {at:.1} s; its results end there")
            }
        });
    }
    if seen.iter().any(|seen| seen.jumped_back) {
        run.notes.push(format!("the counter of CPU {cpu} jumped back; its results are doubtful"));
    }
    let n = own_faults(seen.iter().copied());
    if n > 0 {
        let why = if forks { SHARED_PAGES } else { MOVED_PAGES };
        let faults = if n == 1 { "page fault" } else { "page faults" };
        run.notes.push(format!("{n} {faults} in the loop of CPU {cpu}: {why}"));
    }
}
