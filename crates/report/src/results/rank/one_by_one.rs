//! The samples of each kernel and their distribution, all configurations on one axis of absolute time.

use super::NAME;
use crate::results::measured::counted as counted_events;
use crate::results::measured::scatter::{CURVES, Drawn};
use crate::style::{clip, plain};
use crate::table::Table;
use crate::units::{asked, counted, fine, noise, number};
use anechoic_analyze::rank::{OneByOne, Ranking, Unit};
use anechoic_analyze::samples::SeriesResult;
use anechoic_analyze::samples::distribution::Distribution;

/// Most kernels that are drawn.
const KERNELS: usize = 4;

/// Returns the kernels that are drawn, with their titles.
pub(super) fn kernels(ranking: &Ranking) -> impl Iterator<Item = (&OneByOne, String)> {
    let title =
        |kernel: &OneByOne| format!("{}, {}", plain(&kernel.kernel), asked(kernel.grain_ns));
    ranking.one_by_one.iter().take(KERNELS).map(move |kernel| (kernel, title(kernel)))
}

/// Returns the series of a kernel that are drawn: the first of each configuration, then the second, and so on. Their times
/// are those of as many iterations as the first of all had.
pub(super) fn series<'a>(ranking: &Ranking, kernel: &'a OneByOne) -> Vec<Drawn<'a>> {
    let iterations = |result: &SeriesResult| result.facts.iterations.max(1) as f64;
    let Some(first) = kernel.series.first().and_then(|series| series.first()).map(iterations)
    else {
        return vec![];
    };
    let several = kernel.series.iter().any(|series| series.len() > 1);
    let drawn = |configuration: usize, result: &'a SeriesResult| {
        let name = clip(&plain(&ranking.configurations[configuration].name), NAME);
        let cpu = result.facts.cpu.filter(|_| several);
        let title = cpu.map_or(name.clone(), |cpu| format!("{name}, CPU {cpu}"));
        Drawn { title, result, factor: first / iterations(result) }
    };
    let most = kernel.series.iter().map(Vec::len).max().unwrap_or(0);
    let in_turn = (0..most).flat_map(|number| {
        let configurations = kernel.series.iter().enumerate();
        configurations.filter_map(move |(at, series)| Some((at, series.get(number)?)))
    });
    in_turn.map(|(at, result)| drawn(at, result)).collect()
}

/// One series in the table of ranges.
struct Row<'a> {
    kernel: String,
    drawn: Drawn<'a>,
}

impl Row<'_> {
    /// Writes a time of its distribution.
    fn time(&self, pick: fn(&Distribution) -> Option<f64>) -> Option<String> {
        Some(fine(pick(self.drawn.result.distribution.as_ref()?)? * self.drawn.factor))
    }

    /// Writes how far the longest sample exceeds the shortest.
    fn range(&self) -> Option<String> {
        let distribution = self.drawn.result.distribution.as_ref()?;
        (distribution.min > 0.0).then(|| noise(distribution.max / distribution.min - 1.0))
    }
}

/// Returns range, noise and cache misses of the samples that are drawn (Radojković 2008, Figure 9; Tsafrir 2007, Figure 13);
/// nothing if none are.
pub(super) fn ranges(ranking: &Ranking) -> Option<Table> {
    let mut rows: Vec<Row<'_>> = vec![];
    for (kernel, title) in kernels(ranking) {
        let drawn = series(ranking, kernel).into_iter().take(CURVES);
        rows.extend(drawn.map(|drawn| Row { kernel: title.clone(), drawn }));
    }
    let median =
        |distribution: &Distribution| distribution.quantile(0.5).map(|median| median.value);
    let mut table = Table::with_rows(&rows)
        .name("kernel", |row| row.kernel.clone())
        .name("samples of", |row| row.drawn.title.clone())
        .some_numbers("shortest", 0, |row| row.time(|distribution| Some(distribution.min)))
        .some_numbers("median", 3, move |row| row.time(median))
        .some_numbers("longest", 0, |row| row.time(|distribution| Some(distribution.max)))
        .some_numbers("range", 0, Row::range)
        .some_numbers("noise", 1, |row| row.drawn.result.distribution.as_ref()?.noise.map(noise));
    for (title, event) in counted_events::all() {
        let count = |row: &Row<'_>| row.drawn.result.facts.counts.get(event).copied();
        if rows.iter().any(|row| count(row) > Some(0)) {
            let samples = |row: &Row<'_>| row.drawn.result.facts.samples.max(1) as f64;
            table = table
                .some_numbers(&title, 2, |row| Some(number(count(row)? as f64 / samples(row))));
        }
    }
    let caption = "Range (longest over shortest sample), noise (mean over shortest) and events in each sample";
    (!rows.is_empty()).then(|| table.captioned(caption))
}

/// Returns what must be known to read the pictures.
pub(super) fn notes(ranking: &Ranking) -> Vec<String> {
    let kernels = ranking.one_by_one.len();
    let series = |kernel: &OneByOne| kernel.series.iter().map(Vec::len).sum::<usize>();
    let repeated = ranking.configurations.iter().any(|configuration| configuration.runs > 1);
    let counts = |result: &SeriesResult| result.facts.counts.values().any(|count| *count > 0);
    let all = || ranking.one_by_one.iter().flat_map(|kernel| kernel.series.iter().flatten());
    let notes = [
        Some("All times of a kernel are those of the same number of iterations.".to_owned()),
        all()
            .any(counts)
            .then(|| format!("Cache misses and page faults: {}.", counted_events::HOW)),
        repeated.then(|| "Of repeated runs the first is drawn.".to_owned()),
        (ranking.unit != Unit::Time).then(|| {
            "The cores ran at different speeds, or at unknown ones, which the times contain."
                .to_owned()
        }),
        (kernels > KERNELS).then(|| format!("The first {KERNELS} of {kernels} kernels are drawn.")),
        ranking.one_by_one.iter().take(KERNELS).any(|kernel| series(kernel) > CURVES).then(|| {
            format!("Of each kernel {} are drawn.", counted(CURVES as u64, "series", "series"))
        }),
    ];
    notes.into_iter().flatten().collect()
}
