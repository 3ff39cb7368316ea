//! The number of interrupts in a round of sorts, from kernel events or else from the injector.

use super::recorded_rounds::Round;
use super::table::RateFrom;
use anechoic_recording::injection::{Injected, Spell};
use anechoic_recording::{
    Clock, EventKind, KernelEvent, Loss, LossKind, Name, NameKind, Problem, Recording,
};

/// Name of the kernel function that added interrupts run.
const FUNCTION: &str = "perf_swevent_hrtimer";

/// Returns whether the name of a kernel function is [`FUNCTION`], possibly cloned by the compiler (`NAME.isra.0`).
pub(super) fn is_added(function: &str) -> bool {
    function.split('.').next() == Some(FUNCTION)
}

/// Returns for each round whether events of the CPU were lost or switched off.
pub(super) fn unseen(
    recording: &Recording,
    cpu: u32,
    rounds: &[Round],
) -> Result<Vec<bool>, Problem> {
    let mut lost = vec![false; rounds.len()];
    for losses in recording.rows::<Loss>() {
        let losses = losses?;
        let events_lost = |loss: &&Loss| {
            loss.cpu == cpu && matches!(loss.what, LossKind::Events | LossKind::Untraced)
        };
        for loss in losses.iter().filter(events_lost) {
            for (round, lost) in rounds.iter().zip(&mut lost) {
                *lost |= loss.start_ticks < round.end_ticks && round.start_ticks < loss.end_ticks;
            }
        }
    }
    Ok(lost)
}

/// Number of added interrupts according to kernel events, for each round.
#[derive(Debug)]
pub(super) struct Arrivals {
    /// Counts of the rounds; absent if events were lost or switched off.
    counted: Vec<Option<u64>>,
}

impl Arrivals {
    /// Counts the interrupts on one CPU; `rounds` are sorted by start.
    pub(super) fn read(recording: &Recording, cpu: u32, rounds: &[Round]) -> Result<Self, Problem> {
        let mut functions = vec![];
        for names in recording.rows::<Name>() {
            let added = |name: &Name| name.kind == NameKind::Symbol && is_added(&name.name);
            functions.extend(names?.iter().filter(|name| added(name)).map(|name| name.key));
        }
        if recording.run().trace.is_none() || functions.is_empty() {
            return Ok(Self { counted: vec![None; rounds.len()] });
        }
        let mut counted = vec![Some(0); rounds.len()];
        for events in recording.rows_of_cpu::<KernelEvent>(cpu) {
            for event in events? {
                let expired = event.kind == EventKind::HrtimerEntry
                    && event.args.iter().any(|arg| functions.contains(arg));
                let begun = rounds.partition_point(|round| round.start_ticks <= event.ticks);
                let inside = begun.checked_sub(1).filter(|&at| event.ticks < rounds[at].end_ticks);
                if let Some(count) = inside.filter(|_| expired).and_then(|at| counted[at].as_mut())
                {
                    *count += 1;
                }
            }
        }
        let lost = unseen(recording, cpu, rounds)?;
        let counted = counted.into_iter().zip(lost).map(|(count, lost)| count.filter(|_| !lost));
        Ok(Self { counted: counted.collect() })
    }

    /// Returns the number of interrupts in this round, and the origin of the number.
    pub(super) fn in_round(
        &self,
        number: usize,
        round: &Round,
        injected: Option<&Injected>,
        cpu: u32,
        clock: &Clock,
    ) -> (f64, RateFrom) {
        // All that came count, those of others too, and where none were added: they disturb the work as ours do.
        if let Some(count) = self.counted[number].filter(|&count| count > 0) {
            return (count as f64, RateFrom::Events);
        }
        let Some(injected) = injected else { return (0.0, RateFrom::Table) };
        let wall = clock.seconds(round.end_ticks - round.start_ticks);
        let mut here = injected.spells.iter().filter(|spell| spell.cpu == cpu);
        let per_second = here.find(|spell| covers(spell, round)).and_then(|spell| {
            Some(spell.delivered? as f64 / clock.seconds(spell.end_ticks - spell.start_ticks))
        });
        match per_second {
            Some(per_second) => (per_second * wall, RateFrom::Injector),
            None => (wall * 1e9 / injected.period_ns.max(1) as f64, RateFrom::Asked),
        }
    }
}

/// Returns whether noise was on in all of a round.
fn covers(spell: &Spell, round: &Round) -> bool {
    spell.start_ticks <= round.start_ticks && spell.end_ticks >= round.end_ticks
}
