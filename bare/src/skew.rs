//! The offset between the counters of two CPUs.

use crate::clock::Clock;
use crate::crew::Crew;
use anechoic_kernels::skew::{Line, Offset, Patience};

/// No further round trip begins after this time: under an emulator each may take milliseconds.
const MOST_NS: u64 = 50_000_000;

/// Measures the offset of a CPU's counter from the first CPU's.
#[must_use]
pub fn measure(crew: &Crew, clock: &Clock, cpu: usize) -> Offset {
    let patience = Patience { looks: u64::MAX, ticks: clock.ticks(MOST_NS) };
    let line = Line::default();
    // The first seat is that of CPU 0, which asks; the second CPU answers.
    let mut seats = [Some(None), None];
    crew.each(&[0, cpu], &mut seats, |seat| match seat {
        Some(offset) => *offset = line.ask(patience),
        None => line.answer(patience),
    });
    seats[0].flatten().unwrap_or(Offset { ticks: 0, bound_ticks: u64::MAX / 2 })
}
