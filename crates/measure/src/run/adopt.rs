//! Merges the recordings of the other ranks of a host into the first rank's recording.

use super::store::Store;
use super::window::Waits;
use crate::ensemble::Placement;
use anechoic_recording::parallel::Rank;
use anechoic_recording::run::{Run, RunState};
use anechoic_recording::{
    Counter, Detour, LoopPace, Loss, Problem, Recording, Sample, Series, in_words,
};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

/// How long to wait for the other ranks, which end at the same time but write separately.
const PATIENCE: Duration = Duration::from_secs(60);
/// The same after an early end, when whoever ended the run may soon end this process too.
const SHORT_PATIENCE: Duration = Duration::from_secs(2);
const NAP: Duration = Duration::from_millis(20);

/// Takes over the recordings of the other ranks of this host, which lie beside `dir`, and removes them.
///
/// A recording that is missing or incomplete stays where it is, and is noted in `run`.
pub(super) fn adopt(placement: &Placement, dir: &Path, run: &mut Run, store: &mut Store) {
    let early = run.state != RunState::Running;
    let until = Instant::now() + if early { SHORT_PATIENCE } else { PATIENCE };
    for rank in placement.parallel.here.iter().filter(|rank| rank.rank != placement.rank) {
        let of_rank = placement.rank_dir(dir, rank.rank);
        let adopted = wait_for(&of_rank, until).and_then(|other| {
            append_all(&other, store).map_err(|error| in_words(&error))?;
            take_over(rank, other.run(), run);
            fs::remove_dir_all(&of_rank).map_err(|error| in_words(&error))
        });
        if let Err(why) = adopted {
            let left = of_rank.display();
            let why =
                format!("rank {} is not part of this recording ({why}); see {left}", rank.rank);
            run.notes.push(why.clone());
            if run.state == RunState::Running {
                run.state = RunState::Interrupted(why);
            }
        }
    }
    run.cpus.sort_by_key(|cpu| cpu.cpu);
    run.outcomes.sort_by_key(|outcome| outcome.series);
}

/// Opens the recording of another rank once it is complete.
fn wait_for(dir: &Path, until: Instant) -> Result<Recording, String> {
    loop {
        let opened = Recording::open(dir);
        match opened {
            Ok(recording) if recording.run().state != RunState::Running => return Ok(recording),
            Ok(_) if Instant::now() > until => return Err("it did not end".to_owned()),
            Err(error) if Instant::now() > until => return Err(error.to_string()),
            _ => thread::sleep(NAP),
        }
    }
}

fn append_all(other: &Recording, store: &mut Store) -> Result<(), Problem> {
    append::<Series>(other, store)?;
    append::<Detour>(other, store)?;
    append::<LoopPace>(other, store)?;
    append::<Sample>(other, store)?;
    append::<Loss>(other, store)?;
    append::<Counter>(other, store)
}

fn append<R: Waits>(other: &Recording, store: &mut Store) -> Result<(), Problem> {
    for rows in other.rows::<R>() {
        store.append(&rows?);
    }
    Ok(())
}

/// Takes over what another rank knows in addition to its tables.
fn take_over(rank: &Rank, other: &Run, run: &mut Run) {
    let known: BTreeSet<u32> = run.cpus.iter().map(|cpu| cpu.cpu).collect();
    run.cpus.extend(other.cpus.iter().filter(|cpu| !known.contains(&cpu.cpu)).cloned());
    run.outcomes.extend_from_slice(&other.outcomes);
    run.own_threads.extend_from_slice(&other.own_threads);
    run.end_ticks = run.end_ticks.max(other.end_ticks);
    for note in &other.notes {
        if !run.notes.contains(note) {
            run.notes.push(format!("rank {}: {note}", rank.rank));
        }
    }
    if let (RunState::Interrupted(why), RunState::Running) = (&other.state, &run.state) {
        run.state = RunState::Interrupted(format!("rank {}: {why}", rank.rank));
    }
}
