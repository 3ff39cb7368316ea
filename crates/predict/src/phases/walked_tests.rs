//! Short windows in which delays are found by walking from nanosecond to nanosecond: the truth for tests.

use super::span::Span;
use super::timeline::Timeline;
use rand::RngExt;
use rand_pcg::Pcg64Mcg;

/// Which nanoseconds of a window are taken by detours. The window repeats.
pub(super) struct Walked {
    taken: Vec<bool>,
}

impl Walked {
    pub(super) fn new(timeline: &Timeline) -> Self {
        let mut taken = vec![false; timeline.length_ns() as usize];
        for detour in timeline.detours() {
            taken[detour.start_ns as usize..detour.end_ns as usize].fill(true);
        }
        Self { taken }
    }

    /// Returns the delay of a phase that starts at this instant.
    pub(super) fn delay_ns(&self, start_ns: u64, grain_ns: u64) -> u64 {
        let (mut at, mut done, mut delay) = (start_ns as usize, 0, 0);
        while done < grain_ns {
            if self.taken[at % self.taken.len()] {
                delay += 1
            } else {
                done += 1
            }
            at += 1;
        }
        delay
    }

    /// Returns the delays of phases that start during each free nanosecond: with the rest of the first one they end
    /// during another free one, and so pass what lies before that.
    pub(super) fn delays_of_free_starts(&self, grain_ns: u64) -> Vec<u64> {
        let free = (0..).zip(&self.taken).filter(|(_, taken)| !**taken);
        free.map(|(at, _)| self.delay_ns(at, grain_ns + 1)).collect()
    }

    /// Returns the position in free time of each taken nanosecond, and the delay of a phase that starts at its
    /// beginning: those that start during it are delayed by up to 1 ns less.
    pub(super) fn delays_of_taken_starts(&self, grain_ns: u64) -> Vec<(u64, u64)> {
        let mut free = 0;
        let mut found = vec![];
        for (at, taken) in (0..).zip(&self.taken) {
            if *taken { found.push((free, self.delay_ns(at, grain_ns))) } else { free += 1 }
        }
        found
    }
}

/// Returns a window of up to 150 ns with up to seven detours, and some free time.
pub(super) fn random_timeline(random: &mut Pcg64Mcg) -> Timeline {
    let length_ns = random.random_range(20..150);
    random_detours(length_ns, random)
}

/// Returns a window of this length, at least 20 ns, with up to seven detours, and some free time.
pub(super) fn random_detours(length_ns: u64, random: &mut Pcg64Mcg) -> Timeline {
    let mut detour = |_| {
        let start_ns = random.random_range(0..length_ns);
        Span { start_ns, end_ns: start_ns + random.random_range(1..15) }
    };
    let detours: Vec<Span> = (0..length_ns % 8).map(&mut detour).collect();
    let timeline = Timeline::new(length_ns, detours);
    if timeline.free_ns() > 0 { timeline } else { Timeline::new(length_ns, vec![]) }
}
