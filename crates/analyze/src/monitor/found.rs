//! What was monitored, from the stored rows: each rate over time, and what was unusual.

use super::moments::{Axis, ClockSteps, Moment, order, utc_s};
use super::saved::Saved;
use super::steps::{LevelStep, MOST_SPANS, steps};
use super::{Watch, Why, per_time, rate_by_row};
use crate::stats::{median, quantile};
use anechoic_recording::rates::{RATES, RateLimit, RateUnit, UNUSUAL};
use anechoic_recording::rows::Growth;
use anechoic_recording::run::RunState;
use anechoic_recording::{Clock, Problem, ProblemKind, Recording};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What `anechoic monitor` kept of a host.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Monitored {
    /// The host.
    pub host: String,
    /// Start of the first reading, RFC 3339 in UTC.
    pub start_utc: String,
    /// End of the last one.
    pub end_utc: String,
    /// For how long counters were read, in s.
    pub read_s: f64,
    /// Times without readings, between recordings or within them.
    pub missing: Missing,
    /// The conditions on which the last seconds were saved, as they are typed.
    pub saves_on: Vec<String>,
    /// The rates, in the order of their catalogue.
    pub rates: Vec<RateRow>,
    /// What was unusual, in order of time.
    pub unusual: Vec<Unusual>,
    /// The recordings that were saved, in order of time.
    pub saved: Vec<Saved>,
    /// What is doubtful about it.
    pub notes: Vec<String>,
}

/// Times without readings.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, JsonSchema)]
pub struct Missing {
    /// Their number.
    pub times: u64,
    /// Their length together, in s.
    pub length_s: f64,
}

/// A rate over all the time.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct RateRow {
    /// Its name, with the path of its control group.
    pub name: String,
    /// Its unit.
    pub unit: RateUnit,
    /// Number of readings.
    pub readings: u64,
    /// Median of the readings: a share of the time (of one CPU), or a number per second; as all that follows.
    pub median: f64,
    /// 99th percentile.
    pub p99: Option<f64>,
    /// The highest.
    pub max: f64,
    /// The second in which it was highest, RFC 3339 in UTC.
    pub max_utc: String,
    /// When its level changed.
    pub steps: Vec<LevelStep>,
    /// Medians and maxima over equal spans of time, in s since the start, for figures.
    pub spans: Vec<RateSpan>,
}

/// A rate over a span of time.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct RateSpan {
    /// Start, in s since the first reading.
    pub start_s: f64,
    /// Median.
    pub median: f64,
    /// The highest.
    pub max: f64,
}

/// Something unusual.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Unusual {
    /// Since when, RFC 3339 in UTC.
    pub since_utc: String,
    /// Name of the rate.
    pub name: String,
    /// Its unit.
    pub unit: RateUnit,
    /// How high it was.
    pub value: f64,
    /// Why it is unusual.
    pub why: Why,
    /// The saved recording that has it, as its number in [`Monitored::saved`], from 0.
    pub saved: Option<u64>,
}

/// One second's value.
struct Value {
    start_s: f64,
    value: f64,
}

/// Returns the time stamp of these seconds since 1970.
fn utc(seconds: f64) -> String {
    let time = jiff::Timestamp::from_microsecond((seconds * 1e6) as i64).unwrap_or_default();
    format!("{time:.3}")
}

/// A time between two readings that is longer than this is one without readings, in s.
const GAP_S: f64 = 3.0;

/// A recording is saved at most so long after something unusual has begun, in s.
const LONGEST_S: f64 = 10.0;

/// Returns what was monitored. `recordings` are those of one host, in any order; `saved` are the recordings that were saved
/// beside them, to which what was unusual is joined.
///
/// # Errors
/// There is none, they are of several hosts, or one cannot be read.
pub fn monitored(recordings: &[&Recording], saved: Vec<Saved>) -> Result<Monitored, Problem> {
    let mut recordings = recordings.to_vec();
    recordings.sort_by_key(|recording| order(recording.run()));
    let first = recordings.first().ok_or_else(|| {
        ProblemKind::NoInput.problem("nothing was monitored", "start `anechoic monitor`")
    })?;
    let host = first.run().machine.host.clone();
    if let Some(other) = recordings.iter().find(|other| other.run().machine.host != host) {
        let why = format!("{host} and {} were monitored", other.run().machine.host);
        return Err(ProblemKind::Usage.problem(why, "name the directory of one host"));
    }
    let origin_s = utc_s(&first.run().start_utc);
    let mut reader = Reader { origin_s, ..Reader::default() };
    for recording in &recordings {
        reader.read(recording)?;
    }
    Ok(reader.finish(host, saved))
}

#[derive(Default)]
struct Reader {
    origin_s: f64,
    values: BTreeMap<(usize, Arc<str>), Vec<Value>>,
    unusual: Vec<(Moment, Unusual)>,
    saves_on: Vec<String>,
    /// What was watched for, since when the service runs, and its watch.
    watch: Option<(Vec<String>, String, Watch)>,
    /// Why each recording was saved, by its name, and where the counters that note it are in time.
    noted: BTreeMap<String, (Vec<String>, Axis)>,
    steps: ClockSteps,
    read_s: f64,
    end_s: f64,
    /// The end of the last reading.
    last: Option<Moment>,
    missing: Missing,
    notes: Vec<String>,
}

impl Reader {
    fn read(&mut self, recording: &Recording) -> Result<(), Problem> {
        let run = recording.run();
        let asked = run.monitor.clone().unwrap_or_default();
        let axis = Axis::new(run, self.origin_s);
        self.steps.note(run);
        let noted = asked.saved.into_iter().map(|one| (one.name, (one.reasons, axis.clone())));
        self.noted.extend(noted);
        let (conditions, since) = (&asked.save_on, asked.began_utc);
        let known = self.watch.as_ref().map(|(known, began, _)| (known, began));
        if known != Some((conditions, &since)) {
            self.watch = Some((conditions.clone(), since, watch_for(conditions)));
            let new = conditions.iter().filter(|one| !self.saves_on.contains(one));
            self.saves_on.extend(new.cloned().collect::<Vec<_>>());
        }
        let mut round: Vec<Growth> = vec![];
        let mut last: Option<u64> = None;
        for row in recording.rows::<Growth>().each() {
            let row = row?;
            if round.first().is_some_and(|first| first.name == row.name) {
                self.round(&round, &run.clock, &axis);
                round.clear();
            }
            last = Some(row.end_ticks);
            round.push(row);
        }
        self.round(&round, &run.clock, &axis);
        if let RunState::Interrupted(why) = &run.state {
            self.notes.push(format!("what began at {} ended early: {why}", run.start_utc));
        }
        for note in &run.notes {
            if !self.notes.contains(note) {
                self.notes.push(note.clone());
            }
        }
        self.end_s =
            self.end_s.max(last.map_or(self.end_s, |ticks| axis.at(ticks, &run.clock).since_s));
        Ok(())
    }

    /// Takes the rows of one reading.
    fn round(&mut self, rows: &[Growth], clock: &Clock, axis: &Axis) {
        let Some(first) = rows.first() else { return };
        let at_s = |ticks: u64| axis.at(ticks, clock).since_s;
        let (from, to) = (axis.at(first.start_ticks, clock), axis.at(first.end_ticks, clock));
        let gap_s = self.last.as_ref().map_or(0.0, |last| from.after_s(last));
        let long_s = to.after_s(&from).max(0.0);
        for gap_s in [gap_s, long_s].into_iter().filter(|gap_s| *gap_s > GAP_S) {
            self.missing.times += 1;
            self.missing.length_s += gap_s;
        }
        self.read_s += long_s;
        self.end_s = to.since_s;
        self.last = Some(to);
        for row in rows {
            let Some(spec) = rate_by_row(&row.name) else { continue };
            let Some(value) = per_time(row, spec.unit, clock) else { continue };
            let place = RATES.iter().position(|rate| rate == spec);
            let key = (place.unwrap_or_default(), Arc::clone(&row.name));
            self.values
                .entry(key)
                .or_default()
                .push(Value { start_s: at_s(row.start_ticks), value });
        }
        let Some((_, _, watch)) = &mut self.watch else { return };
        for found in watch.take(rows, clock) {
            let Some(spec) = rate_by_row(&found.name) else { continue };
            let moment = axis.at(found.start_ticks, clock);
            let unusual = Unusual {
                since_utc: utc(self.origin_s + moment.since_s),
                name: found.name.to_string(),
                unit: spec.unit,
                value: found.value,
                why: found.why,
                saved: None,
            };
            self.unusual.push((moment, unusual));
        }
    }

    fn finish(mut self, host: String, saved: Vec<Saved>) -> Monitored {
        let mut placed: Vec<(Moment, Saved)> =
            saved.into_iter().map(|one| self.placed(one)).collect();
        placed.sort_by(|(a, _), (b, _)| a.since_s.total_cmp(&b.since_s));
        let unusual = self.unusual.drain(..).map(|(moment, unusual)| {
            let saved = placed.iter().position(|(start, one)| {
                let apart_s = moment.after_s(start);
                apart_s < one.length_s && -apart_s < LONGEST_S
            });
            Unusual { saved: saved.map(|at| at as u64), ..unusual }
        });
        let unusual = unusual.collect();
        self.notes.extend(self.steps.doubt(&placed));
        let (origin_s, end_s) = (self.origin_s, self.end_s);
        let rates = self.values.into_iter().map(|((_, name), values)| {
            let unit = rate_by_row(&name).map_or(RateUnit::Number, |spec| spec.unit);
            rate_row(&name, unit, &values, origin_s, end_s)
        });
        Monitored {
            host,
            start_utc: utc(origin_s),
            end_utc: utc(origin_s + end_s),
            read_s: self.read_s,
            missing: self.missing,
            saves_on: self.saves_on,
            rates: rates.collect(),
            unusual,
            saved: placed.into_iter().map(|(_, one)| one).collect(),
            notes: self.notes,
        }
    }
}

impl Reader {
    /// Returns where a saved recording begins, with why it was saved. The clock of the counters that note it is asked first: the
    /// recording itself may have begun before the system's clock was set.
    fn placed(&self, saved: Saved) -> (Moment, Saved) {
        let by_system_s = utc_s(&saved.start_utc) - self.origin_s;
        let unknown = Moment { since_s: by_system_s, boottime: None };
        let name = saved.path.rsplit('/').next().unwrap_or_default();
        let Some((reasons, axis)) = self.noted.get(name) else { return (unknown, saved) };
        let saved = Saved { reasons: reasons.clone(), ..saved };
        let Some(start_s) = saved.start_boottime_s else { return (unknown, saved) };
        let moment = axis.at_boottime_s(start_s);
        (moment.clone(), Saved { start_utc: utc(self.origin_s + moment.since_s), ..saved })
    }
}

/// Returns what looks for these conditions, as the monitor did.
fn watch_for(conditions: &[String]) -> Watch {
    let limits = conditions.iter().filter_map(|one| one.parse::<RateLimit>().ok()).collect();
    Watch::new(limits, conditions.iter().any(|one| one == UNUSUAL))
}

/// Fewest readings of which a 99th percentile is stated.
const FEWEST_OF_P99: usize = 1_000;

fn rate_row(name: &str, unit: RateUnit, values: &[Value], origin_s: f64, end_s: f64) -> RateRow {
    let mut sorted: Vec<f64> = values.iter().map(|value| value.value).collect();
    sorted.sort_by(f64::total_cmp);
    let highest = values.iter().max_by(|a, b| a.value.total_cmp(&b.value));
    let width_s = (end_s / MOST_SPANS as f64).max(60.0);
    let mut spans: BTreeMap<u64, Vec<f64>> = BTreeMap::new();
    for value in values {
        spans.entry((value.start_s.max(0.0) / width_s) as u64).or_default().push(value.value);
    }
    let spans = spans.into_iter().map(|(number, mut values)| RateSpan {
        start_s: number as f64 * width_s,
        max: values.iter().copied().fold(0.0, f64::max),
        median: median(&mut values),
    });
    let spans: Vec<RateSpan> = spans.collect();
    let starts: Vec<String> = spans.iter().map(|span| utc(origin_s + span.start_s)).collect();
    let medians: Vec<(&str, f64)> =
        starts.iter().map(String::as_str).zip(spans.iter().map(|span| span.median)).collect();
    RateRow {
        name: name.to_owned(),
        unit,
        readings: values.len() as u64,
        median: quantile(&sorted, 0.5).unwrap_or_default(),
        p99: quantile(&sorted, 0.99).filter(|_| sorted.len() >= FEWEST_OF_P99),
        max: sorted.last().copied().unwrap_or_default(),
        max_utc: utc(origin_s + highest.map_or(0.0, |value| value.start_s)),
        steps: steps(&medians, super::least(unit)),
        spans,
    }
}

#[cfg(test)]
mod tests;
