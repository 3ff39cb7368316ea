//! Data of figures: a series over time, its histogram, its distribution and its tail.

use crate::samples::Fixed;
use crate::samples::block_shares::Thinned;
use crate::samples::cells::Cell;
use crate::samples::distribution::Fences;
use crate::samples::values::Scale;
use schemars::JsonSchema;
use serde::Serialize;

/// Largest number of samples of which each is drawn; of more, the extremes of half as many stretches of time.
pub const MOST_DRAWN: usize = 1_000;
/// Largest number of points of a figure.
pub const MOST_POINTS: usize = 240;

/// Data of figures, with at most [`MOST_POINTS`] points each. Values are ns if the work is fixed, units of work if the
/// time is.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub struct Figures {
    /// Samples over time in equal stretches; stretches without samples are left out.
    pub series: Vec<TimeBin>,
    /// Single samples over time, for pictures alone.
    #[serde(skip)]
    pub drawn: Drawn,
    /// Main body in bins of equal width; absent without samples.
    pub histogram: Option<Histogram>,
    /// Cumulative distribution in rising order: `share` of the samples is at most `value`.
    pub cdf: Vec<Point>,
    /// Slow tail, in logarithmic steps of `share` down to a single sample. Fixed work: `share` of the samples takes
    /// `value` or longer. Fixed time: `share` of the windows holds `value` or less.
    pub survival: Vec<Point>,
}

/// The samples that began in one stretch of time.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct TimeBin {
    /// Start of the stretch, since the run's start.
    pub start_ns: u64,
    /// Number of samples.
    pub count: u64,
    /// Minimum.
    pub min: f64,
    /// Mean.
    pub mean: f64,
    /// Maximum.
    pub max: f64,
}

/// Samples that a picture shows one by one: all, or the least and the greatest of each of many equal stretches of time.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Drawn {
    /// Start since the run's start in ns, and value, in the order of time.
    pub points: Vec<(u64, f64)>,
    /// Whether these are all samples.
    pub all: bool,
}

/// Counts in bins of equal width over the main body; samples outside are counted separately.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Histogram {
    /// Lower edge of the first bin.
    pub low: f64,
    /// Width of a bin. Bin i holds `low + i * width <= value < low + (i + 1) * width`.
    pub width: f64,
    /// Number of samples in each bin.
    pub counts: Vec<u64>,
    /// Number of samples below the first bin.
    pub below: u64,
    /// Number of samples above the last bin.
    pub above: u64,
}

/// One point of a distribution.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Point {
    /// The value.
    pub value: f64,
    /// The share.
    pub share: f64,
}

/// Number of bins of a histogram, unless the counter's step allows fewer.
const BINS: u64 = 120;
/// Points of the tail for each factor of ten of the share.
const POINTS_PER_DECADE: i32 = 20;

impl Histogram {
    /// Returns the histogram between the fences of outliers, so that 1 ms ± 10 ns stays readable despite a tail of 10
    /// ms.
    ///
    /// The width of a bin is a multiple of the counter's step; otherwise bins that contain one step more or less than
    /// their neighbours would form a comb.
    pub(crate) fn new(cells: &[Cell], samples: u64, scale: &Scale) -> Option<Self> {
        let (first, last) = (cells.first()?.value, cells.last()?.value);
        let fences = Fences::new(cells, samples, scale);
        let inside = |fence: i128| fence.clamp(first.into(), last.into()) as u64;
        let (low, high) = (inside(fences.low), inside(fences.high));
        let width = ((high - low) / BINS / scale.step() + 1).saturating_mul(scale.step());
        let mut counts = vec![0; ((high - low) / width + 1) as usize];
        let (mut below, mut above) = (0, 0);
        for cell in cells {
            match cell.value {
                value if value < low => below += cell.count,
                value if value > high => above += cell.count,
                value => counts[((value - low) / width) as usize] += cell.count,
            }
        }
        let (low, width) = (scale.value(low as f64), scale.value(width as f64));
        Some(Self { low, width, counts, below, above })
    }
}

/// Returns the cumulative distribution, with more points towards both ends.
pub(crate) fn cdf(cells: &[Cell], samples: u64, scale: &Scale) -> Vec<Point> {
    let mut resolution = MOST_POINTS as f64;
    loop {
        let thinned = Thinned::new(cells, resolution);
        if thinned.points().len() <= MOST_POINTS {
            let point = |point: &crate::samples::block_shares::ThinPoint| Point {
                value: scale.value(point.value as f64),
                share: crate::share(point.up_to, samples),
            };
            return thinned.points().iter().map(point).collect();
        }
        resolution *= 0.9;
    }
}

/// Returns the slow tail, from the share of all samples down to the slowest one.
pub(crate) fn survival(cells: &[Cell], samples: u64, scale: &Scale) -> Vec<Point> {
    let slowest_first: Vec<&Cell> = match scale.fixed() {
        Fixed::Work => cells.iter().rev().collect(),
        Fixed::Time => cells.iter().collect(),
    };
    let factor = 10_f64.powf(1.0 / f64::from(POINTS_PER_DECADE));
    let (mut slower, mut next) = (0, 0.0);
    let mut points = vec![];
    for (index, cell) in slowest_first.iter().enumerate() {
        slower += cell.count;
        let fastest = index + 1 == slowest_first.len();
        if slower as f64 >= next || fastest {
            let value = scale.value(cell.value as f64);
            points.push(Point { value, share: crate::share(slower, samples) });
            next = slower as f64 * factor;
        }
    }
    points.reverse();
    points
}

/// One stretch of time in progress.
#[derive(Debug, Clone, Copy)]
struct Bin {
    count: u64,
    sum: f64,
    min: u64,
    max: u64,
}

impl Bin {
    /// Returns a stretch with samples, which begins at this time.
    fn finish(&self, start_ns: u64, scale: &Scale) -> TimeBin {
        TimeBin {
            start_ns,
            count: self.count,
            min: scale.value(self.min as f64),
            mean: scale.value(self.sum / self.count as f64),
            max: scale.value(self.max as f64),
        }
    }
}

/// Collects samples by the stretch of time in which they began.
#[derive(Debug)]
pub(crate) struct OverTime {
    first_ticks: u64,
    length_ticks: u64,
    bins: Vec<Bin>,
    /// Stretch of the previous sample, and its end.
    current: usize,
    begin_ticks: u64,
    end_ticks: u64,
}

impl OverTime {
    /// Returns empty stretches between two instants.
    pub(crate) fn new(first_ticks: u64, last_ticks: u64) -> Self {
        let wall = last_ticks.saturating_sub(first_ticks);
        let length_ticks = (wall / MOST_POINTS as u64).saturating_add(1);
        let bins = vec![Bin { count: 0, sum: 0.0, min: u64::MAX, max: 0 }; MOST_POINTS];
        Self { first_ticks, length_ticks, bins, current: 0, begin_ticks: 0, end_ticks: 0 }
    }

    /// Adds a sample with its raw value; one outside counts at the edge.
    pub(crate) fn add(&mut self, start_ticks: u64, raw: u64) {
        if !(self.begin_ticks..self.end_ticks).contains(&start_ticks) {
            let bin = start_ticks.saturating_sub(self.first_ticks) / self.length_ticks;
            self.current = bin.min(MOST_POINTS as u64 - 1) as usize;
            self.begin_ticks = self.begin(self.current);
            self.end_ticks = self.begin_ticks.saturating_add(self.length_ticks);
        }
        let bin = &mut self.bins[self.current];
        bin.count += 1;
        bin.sum += raw as f64;
        bin.min = bin.min.min(raw);
        bin.max = bin.max.max(raw);
    }

    fn begin(&self, bin: usize) -> u64 {
        self.first_ticks.saturating_add((bin as u64).saturating_mul(self.length_ticks))
    }

    /// Returns the stretches with samples; `since_start` converts ticks to ns since the run's start.
    pub(crate) fn finish(&self, since_start: impl Fn(u64) -> u64, scale: &Scale) -> Vec<TimeBin> {
        let with_samples = self.bins.iter().enumerate().filter(|(_, bin)| bin.count > 0);
        let bins = with_samples.map(|(number, bin)| (since_start(self.begin(number)), bin));
        bins.map(|(start_ns, bin)| bin.finish(start_ns, scale)).collect()
    }
}

/// Collects the samples that a picture shows one by one.
#[derive(Debug)]
pub(crate) struct Scatter {
    first_ticks: u64,
    length_ticks: u64,
    /// The samples so far, as long as all are kept.
    all: Option<Vec<(u64, u64)>>,
    /// The least and the greatest sample of each stretch of time, with their starts.
    extremes: Vec<Option<[(u64, u64); 2]>>,
}

impl Scatter {
    /// Begins between two instants.
    pub(crate) fn new(first_ticks: u64, last_ticks: u64) -> Self {
        let stretches = MOST_DRAWN / 2;
        let wall = last_ticks.saturating_sub(first_ticks);
        let length_ticks = (wall / stretches as u64).saturating_add(1);
        Self { first_ticks, length_ticks, all: Some(vec![]), extremes: vec![None; stretches] }
    }

    /// Adds a sample with its raw value; one outside counts at the edge.
    pub(crate) fn add(&mut self, start_ticks: u64, raw: u64) {
        if let Some(all) = self.all.as_mut() {
            match all.len() {
                MOST_DRAWN => self.all = None,
                _ => all.push((start_ticks, raw)),
            }
        }
        let stretch = start_ticks.saturating_sub(self.first_ticks) / self.length_ticks;
        let last = self.extremes.len() as u64 - 1;
        let sample = (start_ticks, raw);
        let [least, greatest] =
            self.extremes[stretch.min(last) as usize].get_or_insert([sample, sample]);
        if raw < least.1 {
            *least = sample;
        }
        if raw > greatest.1 {
            *greatest = sample;
        }
    }

    /// Returns the samples to draw; `since_start` converts ticks to ns since the run's start.
    pub(crate) fn finish(self, since_start: impl Fn(u64) -> u64, scale: &Scale) -> Drawn {
        let all = self.all.is_some();
        let mut samples = self.all.unwrap_or_else(|| {
            let extremes = self.extremes.into_iter().flatten();
            extremes.flat_map(|[a, b]| if a == b { vec![a] } else { vec![a, b] }).collect()
        });
        samples.sort_unstable();
        let point = |(start, raw): (u64, u64)| (since_start(start), scale.value(raw as f64));
        Drawn { points: samples.into_iter().map(point).collect(), all }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::cells::Cells;
    use crate::testing::clock_ns;

    fn cells(values: impl IntoIterator<Item = u64>) -> Cells {
        let mut cells = Cells::default();
        cells.add(&values.into_iter().collect::<Vec<_>>());
        cells
    }

    fn scale(fixed: Fixed) -> Scale {
        Scale::new(fixed, &clock_ns())
    }

    #[test]
    fn a_histogram_shows_the_main_body_and_counts_the_rest() {
        // 1 ms in steps of 10 ns, with a tail to 10 ms.
        let body = (0..1_000).map(|i| 1_000_000 + i % 4 * 10);
        let mut all = cells(body.chain([999_000, 1_020_000, 10_000_000]));
        let found = Histogram::new(all.cells(), 1_003, &scale(Fixed::Work)).expect("not empty");
        assert_eq!((found.low, found.width, found.below, found.above), (999_910.0, 2.0, 1, 2));
        assert!(found.counts.len() <= MOST_POINTS);
        assert_eq!(found.counts.iter().sum::<u64>(), 1_000);
        let at = |value: f64| found.counts[((value - found.low) / found.width) as usize];
        assert_eq!([at(1_000_000.0), at(1_000_030.0), at(1_000_020.0)], [250; 3]);

        type Case = (&'static str, Vec<u64>, Vec<u64>);
        let cases: [Case; 4] = [
            ("one", vec![7], vec![1]),
            ("all equal", vec![0; 9], vec![9]),
            ("two near ones", vec![5, 6], vec![1, 1]),
            ("both ends", vec![0, u64::MAX], vec![1, 1]),
        ];
        for (name, values, expected) in cases {
            let samples = values.len() as u64;
            let mut all = cells(values);
            let found = Histogram::new(all.cells(), samples, &scale(Fixed::Time)).expect(name);
            let filled: Vec<u64> = found.counts.into_iter().filter(|&count| count > 0).collect();
            assert_eq!((filled, found.below, found.above), (expected, 0, 0), "case: {name}");
        }
        assert_eq!(Histogram::new(&[], 0, &scale(Fixed::Work)), None);
    }

    #[test]
    fn the_tail_keeps_every_extreme() {
        let mut all = cells((1..=100_000).chain([10_000_000, 20_000_000, 30_000_000]));
        let points = survival(all.cells(), 100_003, &scale(Fixed::Work));
        assert!(points.len() <= MOST_POINTS, "{} points", points.len());
        assert_eq!(points[0], Point { value: 1.0, share: 1.0 });
        let extremes: Vec<(f64, f64)> =
            points.iter().rev().take(4).map(|p| (p.value, (p.share * 100_003.0).round())).collect();
        let expected =
            [(30_000_000.0, 1.0), (20_000_000.0, 2.0), (10_000_000.0, 3.0), (100_000.0, 4.0)];
        assert_eq!(extremes, expected);
        let falling =
            |pair: &[Point]| pair[0].value < pair[1].value && pair[0].share > pair[1].share;
        assert!(points.windows(2).all(falling));

        let windows = survival(all.cells(), 100_003, &scale(Fixed::Time));
        let last = windows.last().expect("not empty");
        assert_eq!((last.value, (last.share * 100_003.0).round()), (1.0, 1.0), "the least work");
        assert_eq!(survival(&[], 0, &scale(Fixed::Work)), []);
    }

    #[test]
    fn a_cumulative_distribution_rises_to_all() {
        let cases: [(&str, Vec<u64>); 4] = [
            ("one", vec![3]),
            ("all equal", vec![3; 50]),
            ("smooth", (0..60_000).map(|i| i * i / 4).collect()),
            ("both ends", vec![0, u64::MAX, u64::MAX]),
        ];
        for (name, values) in cases {
            let (samples, min, max) = (values.len() as u64, values[0], values[values.len() - 1]);
            let mut all = cells(values);
            let points = cdf(all.cells(), samples, &scale(Fixed::Time));
            assert!((1..=MOST_POINTS).contains(&points.len()), "case: {name}");
            assert_eq!(points[0].value, min as f64, "case: {name}");
            let last = Point { value: max as f64, share: 1.0 };
            assert_eq!(points.last(), Some(&last), "case: {name}");
            assert!(points.windows(2).all(|p| p[0].share < p[1].share), "case: {name}");
        }
        assert_eq!(cdf(&[], 0, &scale(Fixed::Work)), []);
    }

    #[test]
    fn few_samples_are_drawn_each_and_of_many_the_extremes_of_stretches() {
        let drawn = |samples: u64| {
            let mut scatter = Scatter::new(0, samples * 10);
            (0..samples)
                .for_each(|at| scatter.add(at * 10, if at == 777 { 5 } else { 100 + at % 7 }));
            scatter.finish(|ticks| ticks, &scale(Fixed::Work))
        };
        let most = MOST_DRAWN as u64;
        let few = drawn(most);
        assert!(few.all && few.points.len() == MOST_DRAWN);
        assert_eq!(few.points[777], (7_770, 5.0));
        let many = drawn(100 * most);
        assert!(!many.all && many.points.len() == MOST_DRAWN, "{}", many.points.len());
        assert!(many.points.contains(&(7_770, 5.0)), "the least sample is drawn");
        assert!(many.points.is_sorted_by_key(|point| point.0));
        assert!(drawn(0).points.is_empty());

        // Stretches of ten ticks, with a sample before the first and one after the last.
        let mut scatter = Scatter::new(1_000, 1_000 + 10 * most / 2 - 1);
        let at = |tick: u64| (1_000 + tick, tick * tick % 97);
        let samples: Vec<(u64, u64)> =
            (0..10 * most / 2).map(at).chain([(5, 500), (u64::MAX, 600)]).collect();
        samples.iter().for_each(|&(start, raw)| scatter.add(start, raw));
        let mut expected = vec![];
        for stretch in 0..most / 2 {
            let is_in = |(start, _): &&(u64, u64)| {
                (start.saturating_sub(1_000) / 10).min(most / 2 - 1) == stretch
            };
            let inside = || samples.iter().filter(is_in);
            let extremes = [inside().map(|it| it.1).min(), inside().map(|it| it.1).max()];
            expected.extend(
                extremes.map(|raw| inside().find(|it| Some(it.1) == raw)).into_iter().flatten(),
            );
        }
        expected.sort_unstable();
        expected.dedup();
        let expected: Vec<_> =
            expected.into_iter().map(|&(start, raw)| (start, raw as f64)).collect();
        let drawn = scatter.finish(|ticks| ticks, &scale(Fixed::Work));
        assert!(!drawn.all && drawn.points == expected);
    }

    #[test]
    fn samples_fall_into_their_stretch_of_time() {
        let mut over_time = OverTime::new(1_000, 1_000 + 240 * 100 - 1);
        for (start, raw) in
            [(1_000, 5), (1_099, 7), (1_100, 9), (24_999, 1), (1_050, 6), (0, 2), (u64::MAX, 3)]
        {
            over_time.add(start, raw);
        }
        let bins = over_time.finish(|ticks| ticks - 1_000, &scale(Fixed::Work));
        let got: Vec<_> =
            bins.iter().map(|b| (b.start_ns, b.count, b.min, b.mean, b.max)).collect();
        let expected = [(0, 4, 2.0, 5.0, 7.0), (100, 1, 9.0, 9.0, 9.0), (23_900, 2, 1.0, 2.0, 3.0)];
        assert_eq!(got, expected);
        let mut endless = OverTime::new(5, u64::MAX);
        [0, 5, u64::MAX].into_iter().for_each(|start| endless.add(start, 1));
        assert_eq!(endless.finish(|ticks| ticks, &scale(Fixed::Work)).len(), 2);
        let mut backwards = OverTime::new(9, 3);
        [0, 5, u64::MAX].into_iter().for_each(|start| backwards.add(start, u64::MAX));
        assert_eq!(backwards.finish(|ticks| ticks, &scale(Fixed::Work)).len(), 2);
    }
}
