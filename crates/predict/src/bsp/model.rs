//! Computes the comparison from recordings.

use super::compare::compare;
use super::gather::{Gathered, RoundRead, gather};
use super::outcome::{Basis, Bsp, Cell};
use super::sources::Blamed;
use anechoic_recording::parallel::Meeting;
use anechoic_recording::run::NotAvailable;
use anechoic_recording::{Problem, ProblemKind, Recording};
use std::collections::BTreeMap;

/// Compares the duration of phases with the prediction from their detours, for all hosts of one job.
///
/// # Errors
///
/// A recording cannot be read, or was not made by `anechoic measure bsp`.
pub fn bsp(recordings: &[&Recording]) -> Result<Bsp, Problem> {
    let first = recordings.first().ok_or_else(|| {
        ProblemKind::Usage.problem("no recording", "give a recording of `anechoic measure bsp`")
    })?;
    let mut gathered = gather(recordings)?;
    let mut blamed = Blamed::new(&gathered);
    let mut cells: Vec<Cell> = vec![];
    for rounds in by_cell(&gathered.rounds) {
        let number = cells.len();
        let cell = compare(&rounds, |track, detour| {
            blamed.add(track.host, track.cpu, detour, number);
        });
        match cell {
            Some(cell) => cells.push(cell),
            None => gathered.notes.extend(rounds.iter().map(|round| nothing_in(round))),
        }
    }
    let predicted = cells.iter().any(|cell| cell.predicted.is_some());
    let mut not_available: Vec<NotAvailable> = vec![];
    not_available.extend(shared(&gathered, &cells));
    if predicted {
        not_available.extend(blamed.read(recordings, &mut cells)?);
    }
    let parallel = first.run().parallel.as_ref();
    let ranks = parallel.map(|parallel| u64::from(parallel.ranks));
    gathered.notes.extend(missing(&gathered, ranks));
    Ok(Bsp {
        hosts: gathered.hosts,
        guest: recordings.iter().any(|recording| recording.run().machine.hypervisor.is_some()),
        ranks,
        through: parallel.map(|parallel| parallel.through.clone()),
        wait_threshold_ns: gathered.wait_threshold_ns,
        kernel: gathered.kernels.into_iter().collect::<Vec<_>>().join(", "),
        cells,
        not_available,
        notes: gathered.notes,
    })
}

/// Groups rounds by grain and synchronisation, in the order in which they were first measured.
fn by_cell(rounds: &[RoundRead]) -> Vec<Vec<&RoundRead>> {
    let mut places: BTreeMap<(u64, Meeting, Option<u32>), usize> = BTreeMap::new();
    let mut cells: Vec<Vec<&RoundRead>> = vec![];
    for round in rounds {
        let key = (round.grain_ns, round.meeting, round.injection);
        let place = *places.entry(key).or_insert(cells.len());
        if place == cells.len() {
            cells.push(vec![]);
        }
        cells[place].push(round);
    }
    cells
}

fn nothing_in(round: &RoundRead) -> String {
    format!(
        "round {} is left out because it has no phase that all its ranks recorded",
        round.number
    )
}

/// Returns a note on ranks of the job without a recording.
fn missing(gathered: &Gathered, ranks: Option<u64>) -> Option<String> {
    let found = gathered.hosts.iter().map(|host| host.ranks.len() as u64).sum::<u64>();
    let ranks = ranks.filter(|&ranks| ranks > found)?;
    Some(format!(
        "only {found} of {ranks} ranks are present: the cost of the others is measured but not predicted; give the directory that contains the recordings of all hosts"
    ))
}

/// Returns why nothing was predicted for some cells.
fn shared(gathered: &Gathered, cells: &[Cell]) -> Option<NotAvailable> {
    cells.iter().find(|cell| cell.undisturbed.basis == Basis::Calibrated)?;
    let tracks = || gathered.rounds.iter().flat_map(|round| &round.tracks);
    let mut ranks: Vec<u32> =
        tracks().filter(|track| track.detours.is_none()).map(|track| track.rank).collect();
    ranks.sort_unstable();
    ranks.dedup();
    let named: Vec<String> = ranks.iter().take(4).map(u32::to_string).collect();
    let more = if ranks.len() > named.len() { " and others" } else { "" };
    Some(NotAvailable::new(
        "prediction",
        format!(
            "detours of rank {}{more} are unknown: the ranks share a CPU, or were not watched",
            named.join(", ")
        ),
        "measure with one CPU per rank",
    ))
}
