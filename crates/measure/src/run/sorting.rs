//! Sorts: each sample fills an array with the same random numbers and sorts it (Tsafrir 2007).

use super::buffers::Taken;
use super::job::{Done, SeriesSeen, Sinks, moved};
use super::round::Round;
use anechoic_kernels::{counter, sort};
use anechoic_recording::run::Ended;
use std::sync::atomic::Ordering;

/// Numbers of the warm-up: enough for calls that nest.
const WARM_UP: usize = 1_000;

/// Numbers that a loop sorts again and again.
#[derive(Debug)]
pub(super) struct Array(Vec<u32>);

impl Array {
    /// Room for so many numbers: touched, and locked where the limit on locked memory allows it.
    pub(super) fn of(numbers: usize) -> Self {
        let mut array = vec![0; numbers];
        sort::fill(&mut array);
        // SAFETY: memory of ours; locking changes none of it. What is refused is only not locked.
        let _ = unsafe { rustix::mm::mlock(array.as_mut_ptr().cast(), size_of_val(&array[..])) };
        Array(array)
    }

    /// Fills it with the numbers and sorts them; whether the answer was right.
    #[inline(never)]
    pub(super) fn sort(&mut self) -> bool {
        let checksum = sort::fill(&mut self.0);
        sort::introsort(&mut self.0);
        sort::is_right(&self.0, checksum)
    }
}

impl Drop for Array {
    fn drop(&mut self) {
        // SAFETY: as in `of`.
        let _ =
            unsafe { rustix::mm::munlock(self.0.as_mut_ptr().cast(), size_of_val(&self.0[..])) };
    }
}

/// How to take the samples of one copy.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sorting {
    pub(super) series: u32,
    pub(super) cpu: u32,
    /// Numbers in the array.
    pub(super) numbers: usize,
    pub(super) sorts: u64,
}

impl Sorting {
    pub(super) fn warm_up() {
        std::hint::black_box(Array::of(WARM_UP).sort());
    }

    /// Sorts back to back: one sample begins with the reading that ended the last. Other copies may
    /// have the CPU meanwhile; that is what is measured.
    #[inline(never)]
    pub(super) fn run(&self, round: &Round, sinks: &mut Sinks<'_, '_>) -> Done {
        let (mut taken, mut wrong) = (0, 0);
        let (mut last, mut on) = counter::boundary();
        let first_ticks = last;
        let ended = loop {
            if moved(Some(self.cpu), on) {
                break Ended::Offline;
            }
            if taken == self.sorts {
                break Ended::Complete;
            }
            if last >= round.end.load(Ordering::Relaxed) {
                break Ended::Interrupted;
            }
            let right = sinks.array.sort();
            let start = last;
            let (now, found) = counter::boundary();
            if now < start {
                break Ended::Clock;
            }
            (last, on) = (now, found);
            if moved(Some(self.cpu), on) {
                continue;
            }
            let sample = Taken { index: taken, start, end: last, count: 1, cpu: self.cpu };
            if let Some(samples) = &mut sinks.samples {
                samples.store(sample);
            }
            wrong += u64::from(!right);
            taken += 1;
        };
        let jumped_back = ended == Ended::Clock;
        let lost = sinks.samples.as_ref().map_or(0, |samples| samples.lost);
        let series = SeriesSeen { series: self.series, samples: taken, wrong, lost, ended };
        Done { first_ticks, last_ticks: last, watch: None, series: Some(series), jumped_back }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_numbers_are_sorted_each_time() {
        let mut array = Array::of(10_000);
        assert!(array.sort());
        let once = array.0.clone();
        assert!(array.sort() && array.0 == once);
        assert!(Array::of(0).sort(), "nothing is sorted too");
    }
}
