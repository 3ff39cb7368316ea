//! What the two ranks do: one leads and measures, the other follows its orders and answers.

use super::link::Link;
use anechoic_measure::ensemble::EnsembleError;
use anechoic_recording::Problem;
use anechoic_simulate::{EagerSearch, SizeTimes, delay_ns};
use std::time::{Duration, Instant};

/// Messages of a train.
pub(super) const MESSAGES: u32 = 16;
/// Blocks of measurements, each with all sizes: what drifts meets all of them.
pub(super) const BLOCKS: usize = 10;
/// Round trips and trains of each kind in a block, besides a first one that does not count.
pub(super) const REPETITIONS: u32 = 20;
/// Fitted sizes besides that of one byte.
const STEPS: u64 = 10;
/// Steps between which the sizes lie that only check the fit.
const CHECKED: [u64; 3] = [1, 5, 9];
/// Below this S too few sizes are left for a line: it is fitted through longer messages.
const LEAST_EAGER: u64 = 4 * STEPS;
/// How late the receiver is in the search for S, and how often.
const LATE: Duration = Duration::from_millis(3);
const LATE_MESSAGES: u32 = 5;
/// Messages that the follower expects.
const LEAST_ROOM: u64 = 64;

/// What the leader measured.
#[derive(Debug)]
pub(super) struct Series {
    /// The sizes that the lines are fitted to, then the others.
    pub(super) sizes: Vec<u64>,
    pub(super) fitted: usize,
    /// The times of each block, for all sizes.
    pub(super) blocks: Vec<Vec<SizeTimes>>,
    pub(super) search: EagerSearch,
}

/// What the leader orders next.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Order {
    /// Round trips, trains, and trains with delays, of messages of this size.
    Trains {
        bytes: u64,
        repetitions: u32,
    },
    /// Messages of this size for a receiver that is late.
    Late {
        bytes: u64,
    },
    End,
}

impl Order {
    fn to_numbers(self) -> [u64; 3] {
        match self {
            Self::Trains { bytes, repetitions } => [1, bytes, u64::from(repetitions)],
            Self::Late { bytes } => [2, bytes, 0],
            Self::End => [0; 3],
        }
    }

    fn from_numbers([kind, bytes, repetitions]: [u64; 3]) -> Self {
        match kind {
            1 => Self::Trains { bytes, repetitions: repetitions as u32 },
            2 => Self::Late { bytes },
            _ => Self::End,
        }
    }
}

/// Returns the room that both ranks need for messages of up to `largest` bytes.
pub(super) fn room(largest: u64) -> usize {
    largest.max(LEAST_ROOM) as usize
}

/// Follows the leader's orders until it ends.
///
/// # Errors
/// [`EnsembleError::Lost`].
pub(super) fn follow(link: &mut Link<'_>) -> Result<(), EnsembleError> {
    loop {
        match Order::from_numbers(link.receive_numbers()?) {
            Order::Trains { bytes, repetitions } => {
                for messages in [1, MESSAGES, MESSAGES] {
                    for _ in 0..=repetitions {
                        for _ in 0..messages {
                            link.receive(bytes as usize)?;
                        }
                        link.send(bytes as usize)?;
                    }
                }
            }
            Order::Late { bytes } => {
                for _ in 0..LATE_MESSAGES {
                    link.send(1)?;
                    wait(LATE);
                    link.receive(bytes as usize)?;
                }
            }
            Order::End => return Ok(()),
        }
    }
}

/// Measures with the other rank and releases it.
///
/// # Errors
/// [`EnsembleError::Lost`]; the inner problem is that a signal ended it.
pub(super) fn lead(
    link: &mut Link<'_>,
    largest: u64,
) -> Result<Result<Series, Problem>, EnsembleError> {
    let series = measure(link, largest)?;
    link.send_numbers(Order::End.to_numbers())?;
    Ok(series.ok_or_else(Problem::called_off))
}

/// Measures until the end, or until a signal: then there is nothing.
fn measure(link: &mut Link<'_>, largest: u64) -> Result<Option<Series>, EnsembleError> {
    let mut search = EagerSearch::new(largest);
    while let Some(bytes) = search.next() {
        if link.must_stop() {
            return Ok(None);
        }
        search.take(bytes, waits(link, bytes)?);
    }
    let (sizes, fitted) = sizes(&search, largest);
    let clock_ns = least((0..1_000).map(|_| ns(Instant::now().elapsed())));
    let mut blocks = Vec::new();
    for block in 1..=BLOCKS {
        let mut times = Vec::new();
        for &bytes in &sizes {
            if link.must_stop() {
                return Ok(None);
            }
            times.push(size_times(link, bytes, clock_ns)?);
        }
        blocks.push(times);
        eprintln!("block {block} of {BLOCKS}");
    }
    Ok(Some(Series { sizes, fitted, blocks, search }))
}

/// Returns the sizes to be measured, those first to which the lines are fitted, and how many these are: evenly spaced from
/// one byte to S. The others check the fit: three in between, and beyond S.
fn sizes(search: &EagerSearch, largest: u64) -> (Vec<u64>, usize) {
    let eager = search.eager_bytes();
    let last = if eager < LEAST_EAGER { largest } else { eager };
    let mut sizes: Vec<u64> = (0..=STEPS).map(|step| 1 + step * (last - 1) / STEPS).collect();
    sizes.dedup();
    let fitted = sizes.len();
    sizes.extend(CHECKED.map(|step| 1 + (2 * step + 1) * (last - 1) / (2 * STEPS)));
    sizes.extend([2, 8].map(|times| times * last).into_iter().filter(|bytes| *bytes <= largest));
    (sizes, fitted)
}

/// Returns whether a send of this size waits for a receiver that is late.
fn waits(link: &mut Link<'_>, bytes: u64) -> Result<bool, EnsembleError> {
    link.send_numbers(Order::Late { bytes }.to_numbers())?;
    let mut times = Vec::new();
    for _ in 0..LATE_MESSAGES {
        link.receive(1)?;
        let begun = Instant::now();
        link.send(bytes as usize)?;
        times.push(begun.elapsed());
    }
    times.sort_unstable();
    Ok(times[times.len() / 2] > LATE / 2)
}

/// Measures one size: the shortest time of each kind.
fn size_times(link: &mut Link<'_>, bytes: u64, clock_ns: f64) -> Result<SizeTimes, EnsembleError> {
    link.send_numbers(Order::Trains { bytes, repetitions: REPETITIONS }.to_numbers())?;
    let one_ns = shortest(link, 1, bytes, None)? - clock_ns;
    let train_ns = shortest(link, MESSAGES, bytes, None)? - clock_ns;
    let delay = Duration::from_nanos(delay_ns(one_ns, train_ns, MESSAGES) as u64);
    let delayed_ns = shortest(link, MESSAGES, bytes, Some(delay))? - clock_ns;
    let delays = (0..=REPETITIONS).map(|_| {
        let begun = Instant::now();
        (1..MESSAGES).for_each(|_| wait(delay));
        ns(begun.elapsed())
    });
    Ok(SizeTimes { bytes, one_ns, train_ns, delayed_ns, delays_ns: least(delays) - clock_ns })
}

/// Returns the shortest PRTT(n, d, s), in ns. The first one fills caches and does not count.
fn shortest(
    link: &mut Link<'_>,
    messages: u32,
    bytes: u64,
    delay: Option<Duration>,
) -> Result<f64, EnsembleError> {
    let mut times = Vec::new();
    for _ in 0..=REPETITIONS {
        let begun = Instant::now();
        for number in 0..messages {
            if let Some(delay) = delay
                && number > 0
            {
                wait(delay);
            }
            link.send(bytes as usize)?;
        }
        link.receive(bytes as usize)?;
        times.push(ns(begun.elapsed()));
    }
    Ok(least(times.into_iter().skip(1)))
}

/// Keeps the CPU busy.
fn wait(time: Duration) {
    let begun = Instant::now();
    while begun.elapsed() < time {}
}

fn ns(time: Duration) -> f64 {
    time.as_nanos() as f64
}

fn least(times: impl Iterator<Item = f64>) -> f64 {
    times.fold(f64::INFINITY, f64::min)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_lie_between_one_byte_and_the_longest_eager_message() {
        let cases = [(4_096, 1 << 18), (40, 64), (0, 1 << 18), (1 << 18, 1 << 18), (0, 64)];
        for (eager, largest) in cases {
            let mut search = EagerSearch::new(largest);
            while let Some(bytes) = search.next() {
                search.take(bytes, bytes > eager);
            }
            let (sizes, fitted) = sizes(&search, largest);
            assert_eq!(fitted, 11, "{eager} {largest}: {sizes:?}");
            let last = if eager == 0 { largest } else { eager };
            assert_eq!((sizes[0], sizes[10]), (1, last), "{sizes:?}");
            assert!(sizes.iter().all(|bytes| (1..=largest).contains(bytes)), "{sizes:?}");
        }
    }

    #[test]
    fn orders_survive_the_way() {
        for order in
            [Order::Trains { bytes: 9, repetitions: 3 }, Order::Late { bytes: 7 }, Order::End]
        {
            assert_eq!(Order::from_numbers(order.to_numbers()), order);
        }
    }
}
