//! How fast a watching loop goes between its detours, in spans of about the same pace.

use super::buffers::{Item, Sink};
use anechoic_recording::{LoopPace, LossKind};

/// Smallest change of the pace, as one part in this many, at which a span ends: 0.4 %.
const STEP: u128 = 256;
/// A span is this many bins long at most.
const MOST_BINS: u64 = 1_000;
/// A bin with less than this part of it between detours is too short to tell its pace: it belongs to the span before.
const LEAST_PART: u64 = 8;

/// A span of time in which a loop kept one pace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PaceSpan {
    pub(crate) start: u64,
    pub(crate) end: u64,
    pub(crate) work: Work,
}

/// Iterations of a loop that were no detours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Work {
    /// Their time in ticks.
    pub(crate) ticks: u64,
    /// Their number.
    pub(crate) iterations: u64,
}

// SAFETY: it consists of integers only.
unsafe impl Item for PaceSpan {
    // Of a span that finds no room nothing is lost: it goes on.
    const WHAT: LossKind = LossKind::Samples;
    const ZERO: Self = PaceSpan { start: 0, end: 0, work: Work { ticks: 0, iterations: 0 } };

    fn span(&self) -> (u64, u64) {
        (self.start, self.end)
    }
}

impl PaceSpan {
    /// Returns the row of this span of a CPU.
    pub(crate) fn row(&self, cpu: u32) -> LoopPace {
        let Work { ticks: work_ticks, iterations } = self.work;
        LoopPace { cpu, start_ticks: self.start, end_ticks: self.end, work_ticks, iterations }
    }
}

impl Work {
    fn add(&mut self, more: Work) {
        self.ticks += more.ticks;
        self.iterations += more.iterations;
    }

    /// Returns whether both have one pace, or one of them is nothing.
    fn is_like(self, other: Work) -> bool {
        let times = |ticks: u64, iterations: u64| u128::from(ticks) * u128::from(iterations);
        let one = times(self.ticks, other.iterations);
        let two = times(other.ticks, self.iterations);
        one.abs_diff(two) <= one.min(two) / STEP
    }
}

/// Divides the time of a loop into bins, and joins bins of about one pace to spans.
#[derive(Debug)]
pub(crate) struct Pacer {
    bin_ticks: u64,
    /// The end of the bin that goes on.
    until: u64,
    bin: PaceSpan,
    span: PaceSpan,
}

impl Pacer {
    /// Begins at this time.
    pub(crate) fn new(bin_ticks: u64, now: u64) -> Self {
        let none = PaceSpan { start: now, end: now, ..PaceSpan::ZERO };
        Self { bin_ticks, until: now.saturating_add(bin_ticks), bin: none, span: none }
    }

    /// Returns when the bin ends that goes on.
    pub(crate) fn until(&self) -> u64 {
        self.until
    }

    /// Adds iterations of the bin.
    #[inline]
    pub(crate) fn add(&mut self, ticks: u64, iterations: u64) {
        self.bin.work.add(Work { ticks, iterations });
    }

    /// Ends the bin. What it differs from is stored, if there is room.
    pub(crate) fn end_bin(&mut self, now: u64, sink: &mut Sink<'_, '_, PaceSpan>) {
        let now = now.max(self.bin.start); // the counter may have jumped back
        self.bin.end = now;
        let (bin, span) = (self.bin, self.span);
        let is_short = bin.work.ticks < (bin.end - bin.start) / LEAST_PART;
        let is_full = span.end - span.start >= self.bin_ticks.saturating_mul(MOST_BINS);
        let goes_on = !is_full && (is_short || bin.work.is_like(span.work));
        if !goes_on && span.end > span.start && sink.try_store(span) {
            self.span = bin;
        } else {
            self.span.end = now;
            self.span.work.add(bin.work);
        }
        self.bin = PaceSpan { start: now, end: now, ..PaceSpan::ZERO };
        self.until = now.saturating_add(self.bin_ticks);
    }

    /// Ends the last bin and stores the last span.
    pub(crate) fn finish(mut self, now: u64, sink: &mut Sink<'_, '_, PaceSpan>) {
        self.end_bin(now, sink);
        if self.span.end > self.span.start {
            let _ = sink.try_store(self.span);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::buffers::{Arena, BlockExchange};
    use super::*;

    const BIN: u64 = 2_000_000;

    /// Returns the spans of bins with these ticks an iteration.
    fn spans(bins: &[f64]) -> Vec<PaceSpan> {
        let mut arena = Arena::small().expect("2 MiB");
        let lane = BlockExchange::new(&mut arena);
        let mut sink = Sink::new(&lane, 0);
        sink.begin(0);
        let (mut pacer, mut now) = (Pacer::new(BIN, 0), 0);
        for pace in bins {
            let iterations = (BIN as f64 / pace) as u64;
            pacer.add((iterations as f64 * pace) as u64, iterations);
            now += BIN;
            assert_eq!(pacer.until(), now);
            pacer.end_bin(now, &mut sink);
        }
        pacer.finish(now, &mut sink);
        sink.flush();
        let mut found = vec![];
        while lane.read(&mut found, |_, span| *span) {}
        found
    }

    fn bins(found: &[PaceSpan]) -> Vec<u64> {
        found.iter().map(|span| (span.end - span.start) / BIN).collect()
    }

    #[test]
    fn bins_of_one_pace_are_a_span() {
        let mut paces = vec![24.0; 700];
        paces.extend([24.02; 100]);
        paces.extend([30.0; 5]);
        paces.extend([24.0; 1]);
        let found = spans(&paces);
        assert_eq!(bins(&found), [800, 5, 1]);
        assert!(found.windows(2).all(|pair| pair[0].end == pair[1].start), "{found:?}");
        let whole: u64 = found.iter().map(|span| span.work.iterations).sum();
        let expected: u64 = paces.iter().map(|pace| (BIN as f64 / pace) as u64).sum();
        assert_eq!(whole, expected);
    }

    #[test]
    fn a_span_lasts_a_thousand_bins_at_most() {
        assert_eq!(bins(&spans(&[24.0; 2_500])), [1_000, 1_000, 500]);
    }

    /// Returns a number around 1 with a standard deviation of 0.05 %.
    fn about_one(state: &mut u64) -> f64 {
        let mut sum = 0.0;
        for _ in 0..12 {
            *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            sum += (*state >> 11) as f64 / (1_u64 << 53) as f64;
        }
        1.0 + 5e-4 * (sum - 6.0)
    }

    /// Bins of a calm loop vary by 0.05 %, as they do in a guest on a shared host: 1,000 of them are one span. A step by 1 %
    /// over five bins is a span of its own, within a bin.
    #[test]
    fn a_step_of_one_per_cent_is_a_span() {
        let mut state = 7_u64;
        let (mut found, mut calm) = (0, 0);
        for run in 0..100 {
            let at = 100 + 8 * run;
            let mut paces: Vec<f64> = (0..1_000).map(|_| 23.8 * about_one(&mut state)).collect();
            calm += usize::from(spans(&paces).len() == 1);
            paces[at..at + 5].iter_mut().for_each(|pace| *pace *= 1.01);
            let ends: Vec<u64> = spans(&paces).iter().map(|span| span.end / BIN).collect();
            found += usize::from(ends == [at as u64, at as u64 + 5, 1_000]);
        }
        assert!(found >= 95 && calm >= 99, "{found} steps, {calm} calm");
    }

    /// A bin of which a detour took almost all belongs to the span before, whatever its few iterations took.
    #[test]
    fn a_short_bin_has_no_pace() {
        let mut arena = Arena::small().expect("2 MiB");
        let lane = BlockExchange::new(&mut arena);
        let mut sink = Sink::new(&lane, 0);
        let mut pacer = Pacer::new(BIN, 0);
        pacer.add(1_920_000, 80_000);
        pacer.end_bin(BIN, &mut sink);
        pacer.add(90_000, 3_000);
        pacer.end_bin(2 * BIN, &mut sink);
        pacer.finish(2 * BIN, &mut sink);
        sink.flush();
        let mut found = vec![];
        while lane.read(&mut found, |_, span| *span) {}
        let work = Work { ticks: 2_010_000, iterations: 83_000 };
        assert_eq!(found, [PaceSpan { start: 0, end: 2 * BIN, work }]);
    }

    /// Where nobody reads them, spans go on: nothing is lost but when the pace changed.
    #[test]
    fn without_room_the_last_span_goes_on() {
        let paces: Vec<f64> =
            (0..200_000).map(|bin| if bin % 2 == 0 { 24.0 } else { 30.0 }).collect();
        let mut arena = Arena::small().expect("2 MiB");
        let lane = BlockExchange::new(&mut arena);
        let mut sink = Sink::new(&lane, 0);
        let (mut pacer, mut now, mut all) = (Pacer::new(BIN, 0), 0, 0);
        for pace in &paces {
            let iterations = (BIN as f64 / pace) as u64;
            all += iterations;
            pacer.add((iterations as f64 * pace) as u64, iterations);
            now += BIN;
            pacer.end_bin(now, &mut sink);
        }
        let mut found: Vec<PaceSpan> = vec![];
        while lane.read(&mut found, |_, span| *span) {}
        pacer.finish(now, &mut sink);
        assert!(sink.finish().is_empty(), "nothing is lost");
        while lane.read(&mut found, |_, span| *span) {}
        assert!(found.windows(2).all(|pair| pair[0].end == pair[1].start));
        assert_eq!(found.iter().map(|span| span.work.iterations).sum::<u64>(), all);
        assert_eq!(found.last().map(|span| span.end), Some(now));
    }
}
