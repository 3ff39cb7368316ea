//! The samples of a recording, series by series in time order, in bounded memory.

use anechoic_recording::run::Outcome;
use anechoic_recording::{Problem, Recording, Rows, Sample, Series};
use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

/// Number of samples of an unpinned series that are passed on at a time.
const BATCH: usize = 4096;

/// Gives every sample to `take(at, samples)`, where `at` is the place of its series in `known`; those of one
/// series in time order, those of different series in any. `known` is what [`Recording::series`] gives, by number.
///
/// The table is in time order for each CPU and series. So pinned series come in one pass; only what moved between CPUs
/// is merged, in a second one.
///
/// Returns how many samples belong to no known series.
///
/// # Errors
/// A table is damaged.
pub fn visit(
    recording: &Recording,
    known: &[(Series, Outcome)],
    mut take: impl FnMut(usize, &[Sample]),
) -> Result<u64, Problem> {
    let mut strangers = 0;
    let mut roamed = BTreeSet::new();
    for rows in recording.rows::<Sample>() {
        for samples in rows?.chunk_by(|a, b| a.series == b.series) {
            match place(known, samples[0].series) {
                None => strangers += samples.len() as u64,
                Some(at) if known[at].0.cpu.is_some() => take(at, samples),
                Some(_) => roamed.extend(samples.chunk_by(|a, b| a.cpu == b.cpu).map(|s| s[0].cpu)),
            }
        }
    }
    merge(recording, known, &roamed, take)?;
    Ok(strangers)
}

fn place(known: &[(Series, Outcome)], series: u32) -> Option<usize> {
    known.binary_search_by_key(&series, |(series, _)| series.series).ok()
}

/// One CPU's samples of unpinned series.
struct UnpinnedSamples<'a> {
    rows: Rows<'a, Sample>,
    group: std::vec::IntoIter<Sample>,
}

impl UnpinnedSamples<'_> {
    /// Returns the next sample for which `wanted` holds.
    fn next(&mut self, wanted: impl Fn(&Sample) -> bool) -> Result<Option<Sample>, Problem> {
        loop {
            if let Some(sample) = self.group.find(&wanted) {
                return Ok(Some(sample));
            }
            match self.rows.next() {
                Some(rows) => self.group = rows?.into_iter(),
                None => return Ok(None),
            }
        }
    }
}

/// The samples of unpinned series, merged over the CPUs on which they ended.
fn merge(
    recording: &Recording,
    known: &[(Series, Outcome)],
    cpus: &BTreeSet<u32>,
    mut take: impl FnMut(usize, &[Sample]),
) -> Result<(), Problem> {
    let unpinned =
        |sample: &Sample| place(known, sample.series).is_some_and(|at| known[at].0.cpu.is_none());
    let lane =
        |&cpu| UnpinnedSamples { rows: recording.rows_of_cpu(cpu), group: vec![].into_iter() };
    let mut lanes: Vec<UnpinnedSamples> = cpus.iter().map(lane).collect();
    let mut heads: Vec<Option<Sample>> = vec![];
    let mut order = BinaryHeap::new();
    for (number, lane) in lanes.iter_mut().enumerate() {
        let head = lane.next(unpinned)?;
        order.extend(head.map(|sample| Reverse((sample.start_ticks, number))));
        heads.push(head);
    }
    let mut batch: Vec<Sample> = Vec::with_capacity(BATCH);
    let mut flush = |batch: &mut Vec<Sample>| {
        if let Some(at) = batch.first().and_then(|sample| place(known, sample.series)) {
            take(at, batch);
        }
        batch.clear();
    };
    while let Some(Reverse((_, number))) = order.pop() {
        let Some(sample) = heads[number].take() else { continue };
        if batch.len() == BATCH || batch.last().is_some_and(|last| last.series != sample.series) {
            flush(&mut batch);
        }
        batch.push(sample);
        heads[number] = lanes[number].next(unpinned)?;
        order.extend(heads[number].map(|sample| Reverse((sample.start_ticks, number))));
    }
    flush(&mut batch);
    Ok(())
}
