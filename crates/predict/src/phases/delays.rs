//! The delay of a phase of one grain on one CPU as a function of its start.

use super::fold::Fold;
use super::index::Index;
use super::peaks::{Peak, Peaks};
use super::sweep::{Starts, Sweep};
use super::timeline::Timeline;
use anechoic_recording::Problem;

/// Number of parts of a sampled table that are examined for an ordinary delay.
const TRIES: u64 = 16;

/// The delay of a phase for every instant at which it may start. The timeline repeats.
///
/// While the CPU is free, the delay is constant between the instants at which another detour comes within reach of the
/// grain. A start inside a detour waits for its end, so there the delay falls by 1 ns per ns.
#[derive(Debug, Clone)]
pub(super) struct Delays {
    length_ns: u64,
    /// Pieces sorted by start. The first starts at 0, unless the table is sampled.
    pieces: Vec<Piece>,
    index: Index,
    peaks: Peaks,
    folded: Option<Fold>,
}

/// Starts from here to the next piece, in 16 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Piece {
    pub start_ns: u64,
    /// Twice the delay of the first start, plus 1 if the delay falls, because the starts are inside a detour.
    delay_and_falls: u64,
}

impl Piece {
    fn new(start_ns: u64, delay_ns: u64, falls: bool) -> Self {
        Self { start_ns, delay_and_falls: delay_ns << 1 | u64::from(falls) }
    }

    pub(super) fn delay_ns(self) -> u64 {
        self.delay_and_falls >> 1
    }

    pub(super) fn falls(self) -> bool {
        self.delay_and_falls & 1 == 1
    }

    /// Returns the delay of a start this many ns after the first.
    #[inline]
    pub(super) fn after(self, ns: u64) -> u64 {
        self.delay_ns() - if self.falls() { ns } else { 0 }
    }
}

impl Delays {
    /// Computes the delays of a timeline that does not consist of detours only; `grain_ns` is above 0. With a `fold`,
    /// it keeps a sample of starts that represent the others, and all starts with the longest delays.
    ///
    /// # Errors
    ///
    /// The recording can no longer be read.
    pub(super) fn folded(
        timeline: &Timeline,
        grain_ns: u64,
        fold: Option<Fold>,
    ) -> Result<Self, Problem> {
        let (free_ns, length_ns) = (timeline.free_ns(), timeline.length_ns());
        // Of a longer grain, all but the last round of the window takes every detour as a whole.
        let rounds = (grain_ns - 1) / free_ns;
        let most = 3 * usize::try_from(timeline.count()).unwrap_or(usize::MAX / 8) + 2;
        let room = fold.as_ref().map_or(most, |fold| fold.kept(most));
        let table = Table {
            pieces: Vec::with_capacity(room),
            open: None,
            peaks: Peaks::new(most / 16),
            fold,
            base_ns: rounds.saturating_mul(timeline.lost_ns()),
            at_ns: 0,
        };
        let mut sweep = Sweep::new(free_ns, grain_ns - rounds * free_ns, 1, table);
        timeline.each(|detour| sweep.add(detour))?;
        Ok(sweep.finish().finish(length_ns))
    }

    /// Returns the length of the window.
    pub(super) fn length_ns(&self) -> u64 {
        self.length_ns
    }

    /// Returns the delay of a phase that starts at this instant of the window.
    #[inline]
    pub(super) fn at(&self, start_ns: u64) -> u64 {
        match &self.folded {
            None => self.kept_at(start_ns).0,
            Some(fold) => self.peaks.at(start_ns).unwrap_or_else(|| {
                // A start with an ordinary delay: where one of the longest is, the next part stands for it.
                let others_ns = self.peaks.others_ns();
                let kept = (0..TRIES).map(|part| self.kept_at(fold.place_ns(start_ns, part)));
                let ordinary = kept.into_iter().find(|(_, first_ns)| *first_ns <= others_ns);
                ordinary.map_or(others_ns, |(delay_ns, _)| delay_ns)
            }),
        }
    }

    /// Returns the delay of a kept start, and that of the first start of its piece.
    #[inline]
    fn kept_at(&self, start_ns: u64) -> (u64, u64) {
        let passed = self.index.up_to(&self.pieces, |piece| piece.start_ns, start_ns);
        let piece = self.pieces[passed.saturating_sub(1)];
        (piece.after(start_ns - piece.start_ns), piece.delay_ns())
    }

    /// Returns the pieces, each with its length; none if they are sampled.
    pub(super) fn pieces(&self) -> impl Iterator<Item = (Piece, u64)> {
        let pieces = if self.folded.is_some() { &[] } else { &self.pieces[..] };
        let ends = pieces.iter().skip(1).map(|next| next.start_ns).chain([self.length_ns]);
        pieces.iter().zip(ends).map(|(&piece, end_ns)| (piece, end_ns - piece.start_ns))
    }

    /// Returns whether starts are sampled.
    pub(super) fn is_folded(&self) -> bool {
        self.folded.is_some()
    }

    /// Returns the starts with the longest delays.
    pub(super) fn peaks(&self) -> &Peaks {
        &self.peaks
    }
}

/// Pieces while they are computed.
struct Table {
    pieces: Vec<Piece>,
    /// The last piece, whose end is not known yet.
    open: Option<Piece>,
    peaks: Peaks,
    fold: Option<Fold>,
    /// Additional delay of every start.
    base_ns: u64,
    at_ns: u64,
}

impl Table {
    fn set(&mut self, start_ns: u64, delay_ns: u64, falls: bool) {
        let piece = Piece::new(start_ns, self.base_ns + delay_ns, falls);
        match self.open {
            Some(open) if !falls && open == (Piece { start_ns: open.start_ns, ..piece }) => {}
            _ => {
                self.close(start_ns);
                self.open = Some(piece);
            }
        }
    }

    fn close(&mut self, end_ns: u64) {
        let Some(piece) = self.open.take().filter(|piece| piece.start_ns < end_ns) else { return };
        let length_ns = end_ns - piece.start_ns;
        let (start_ns, delay_ns, falls) = (piece.start_ns, piece.delay_ns(), piece.falls());
        self.peaks.add(Peak { delay_ns, start_ns, length_ns, falls });
        if self.fold.as_mut().is_none_or(|fold| fold.keeps(start_ns, end_ns)) {
            self.pieces.push(piece);
        }
    }

    fn finish(mut self, length_ns: u64) -> Delays {
        self.close(length_ns);
        let Self { pieces, peaks, fold: folded, .. } = self;
        let index = Index::new(&pieces, |piece| piece.start_ns, length_ns);
        let peaks = peaks.sorted(folded.as_ref().map(|_| length_ns));
        Delays { length_ns, pieces, index, peaks, folded }
    }
}

impl Starts for Table {
    fn level(&mut self, delay_ns: u64, length_ns: u64) {
        // A detour at the very end of a grain does not delay: it does so for starts a ns later.
        let more = |open: Piece| !open.falls() && self.base_ns + delay_ns > open.delay_ns();
        let late = u64::from(self.open.is_some_and(more));
        self.set(self.at_ns + late, delay_ns, false);
        self.at_ns += length_ns;
    }

    fn falling(&mut self, to_ns: u64, length_ns: u64) {
        self.set(self.at_ns, to_ns + length_ns, true);
        self.at_ns += length_ns;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::phases::walked_tests::{Walked, random_timeline};
    use rand::RngExt;
    use rand_pcg::Pcg64Mcg;
    use rand_pcg::rand_core::SeedableRng;

    /// Also with grains of several windows.
    #[test]
    fn the_delay_of_every_start_is_that_of_walking() {
        let mut random = Pcg64Mcg::seed_from_u64(22);
        for trial in 0..1_000 {
            let timeline = random_timeline(&mut random);
            let (length_ns, free_ns) = (timeline.length_ns(), timeline.free_ns());
            let grain_ns = match trial % 5 {
                0 => free_ns,
                1 => 2 * free_ns,
                2 => random.random_range(1..=5 * free_ns),
                _ => random.random_range(1..=free_ns),
            };
            let walked = Walked::new(&timeline);
            let delays = Delays::folded(&timeline, grain_ns, None).expect("nothing to read");
            let expected: Vec<u64> =
                (0..length_ns).map(|start| walked.delay_ns(start, grain_ns)).collect();
            let found: Vec<u64> = (0..length_ns).map(|start| delays.at(start)).collect();
            assert_eq!(found, expected, "{trial}: {timeline:?}, {grain_ns}");
            let by_pieces: Vec<u64> = delays
                .pieces()
                .flat_map(|(piece, ns)| (0..ns).map(move |at| piece.after(at)))
                .collect();
            assert_eq!(by_pieces, expected, "{trial}: {timeline:?}, {grain_ns}");
            // The peaks are all pieces with a delay, the longest first.
            let mut peaks: Vec<(u64, u64, u64)> =
                delays.pieces().map(|(piece, ns)| (piece.delay_ns(), piece.start_ns, ns)).collect();
            peaks.retain(|(delay_ns, _, _)| *delay_ns > 0);
            peaks.sort_by_key(|&(delay, start, ns)| (std::cmp::Reverse((delay, ns)), start));
            let found: Vec<(u64, u64, u64)> = delays
                .peaks()
                .as_slice()
                .iter()
                .map(|peak| (peak.delay_ns, peak.start_ns, peak.length_ns))
                .collect();
            assert_eq!(found, peaks, "{trial}: {timeline:?}, {grain_ns}");
        }
    }

    /// A start is represented by another one unless it has one of the longest delays, which are all kept.
    #[test]
    fn in_a_sample_ordinary_starts_have_ordinary_delays_and_peaks_their_own() {
        // Detours of 10 ns in each 1,000 ns, and one of 5,000 ns in the middle.
        let short = (0..4_000).filter(|at| !(2_000..2_006).contains(at));
        let mut detours: Vec<_> = short
            .map(|at| crate::phases::Span { start_ns: 1_000 * at + 500, end_ns: 1_000 * at + 510 })
            .collect();
        detours.push(crate::phases::Span { start_ns: 2_000_000, end_ns: 2_005_000 });
        let timeline = Timeline::new(4_000_000, detours);
        let fold = Fold::new(4_000_000, 0.25);
        assert!(fold.is_some(), "a part of the window");
        let delays = Delays::folded(&timeline, 100, fold).expect("nothing to read");
        assert!(delays.is_folded() && delays.pieces().count() == 0);
        let own = |start: u64| delays.at(start);
        assert_eq!(
            [own(1_999_950), own(2_000_000), own(2_004_000), own(2_004_999)],
            [5_000, 5_000, 1_000, 1]
        );
        let ordinary = (0..1_900_000).map(own);
        assert!(ordinary.clone().all(|delay| delay <= 10));
        // 100 ns before each short detour and on average half of it while it lasts: 1,050 of 1,000 · 1,000 ns · ns.
        let mean = ordinary.sum::<u64>() as f64 / 1_900_000.0;
        assert!((mean - 1.05).abs() < 0.1, "{mean}");
    }
}
