//! What a thread lost in a stretch of time: the detours of the CPU that it had or waited for.

use super::threads::Stretch;
use crate::places::Places;
use crate::split::Split;
use anechoic_recording::{JoinedDetours, Loops, Problem, Recording};
use std::collections::{HashMap, VecDeque};

/// Time that a source took, by its number.
pub(super) type Charge = (u32, u64);

/// Reads the detours of each CPU as far as they are needed.
pub(super) struct Lost<'a> {
    cpus: HashMap<u32, Detours<'a>>,
    split: Split,
    places: Places,
    /// No call needs what ends before this time.
    needed_ticks: u64,
}

/// The detours of one CPU.
struct Detours<'a> {
    rows: Option<JoinedDetours<'a>>,
    /// Those that may be needed, in time order.
    known: VecDeque<Detour>,
}

/// One detour, and what each source took of it.
struct Detour {
    start_ticks: u64,
    end_ticks: u64,
    charges: Box<[Charge]>,
}

impl<'a> Lost<'a> {
    pub(super) fn new(recording: &'a Recording, loops: &Loops) -> Self {
        let cpus = loops.by_cpu(recording.run()).map(|(cpu, stints)| {
            let rows = Some(recording.detours_of(cpu.cpu, stints));
            (cpu.cpu, Detours { rows, known: VecDeque::new() })
        });
        Self {
            cpus: cpus.collect(),
            split: Split::default(),
            places: Places::default(),
            needed_ticks: 0,
        }
    }

    /// Adds to `charges` what each source took of a stretch, and returns the lost time, in ticks. Where a detour is only partly
    /// inside, its sources count in proportion.
    pub(super) fn take(
        &mut self,
        stretch: &Stretch,
        charges: &mut Vec<Charge>,
    ) -> Result<u64, Problem> {
        let Some(cpu) = self.cpus.get_mut(&stretch.cpu) else { return Ok(0) };
        let wanted = [self.needed_ticks, stretch.end_ticks];
        cpu.read(wanted, &mut self.split, &mut self.places)?;
        let first = cpu.known.partition_point(|detour| detour.end_ticks <= stretch.start_ticks);
        let mut lost = 0;
        for detour in cpu.known.range(first..) {
            let start = detour.start_ticks.max(stretch.start_ticks);
            let inside = detour.end_ticks.min(stretch.end_ticks).saturating_sub(start);
            if detour.start_ticks >= stretch.end_ticks {
                break;
            }
            lost = u64::saturating_add(lost, inside);
            let whole = detour.end_ticks.saturating_sub(detour.start_ticks);
            for &(place, ticks) in &detour.charges {
                let part = u128::from(ticks) * u128::from(inside) / u128::from(whole.max(1));
                add(charges, place, u64::try_from(part).unwrap_or(u64::MAX));
            }
        }
        Ok(lost)
    }

    /// Forgets what ends before this time, which no later call needs.
    pub(super) fn forget_until(&mut self, ticks: u64) {
        self.needed_ticks = ticks;
        for cpu in self.cpus.values_mut() {
            let over = cpu.known.partition_point(|detour| detour.end_ticks <= ticks);
            cpu.known.drain(..over);
        }
    }

    /// Returns the CPUs whose lost time is known.
    pub(super) fn cpus(&self) -> Vec<u32> {
        let mut cpus: Vec<u32> = self.cpus.keys().copied().collect();
        cpus.sort_unstable();
        cpus
    }

    /// Returns sources and names by number.
    pub(super) fn into_places(self) -> Places {
        self.places
    }
}

fn add(charges: &mut Vec<Charge>, place: u32, ticks: u64) {
    match charges.iter_mut().find(|(known, _)| *known == place) {
        Some((_, sum)) => *sum = sum.saturating_add(ticks),
        None => charges.push((place, ticks)),
    }
}

impl Detours<'_> {
    /// Reads the detours between these times, and the next one.
    fn read(
        &mut self,
        [needed, until]: [u64; 2],
        split: &mut Split,
        places: &mut Places,
    ) -> Result<(), Problem> {
        while self.known.back().is_none_or(|last| last.start_ticks < until) {
            let Some(rows) = &mut self.rows else { return Ok(()) };
            let Some(view) = rows.next_detour()? else {
                self.rows = None;
                return Ok(());
            };
            if view.end_ticks <= needed {
                continue;
            }
            let charges = split
                .add_up(view.activities)
                .map(|((source, name), ticks)| (places.place(source, name) as u32, ticks));
            let charges = charges.collect();
            let (start_ticks, end_ticks) = (view.start_ticks, view.end_ticks);
            self.known.push_back(Detour { start_ticks, end_ticks, charges });
        }
        Ok(())
    }
}
