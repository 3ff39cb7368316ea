//! What cyclictest writes: its JSON, its histogram, each latency (`-v`), or only its last lines.

mod text;

use super::lines::wrong;
use super::{Imported, Importer, Lines, Read};
use crate::methods::LATENCIES;
use crate::options::{Answers, OptionRow, Value};
use crate::problem::{Problem, ProblemKind};
use serde::Deserialize;
use std::collections::BTreeMap;

/// The row of the format.
pub(super) static IMPORTER: Importer = Importer {
    id: "cyclictest",
    title: "cyclictest's histogram, JSON, or printed lines",
    details: "It is what `cyclictest -h`, `-H`, `--json` or `-v` writes, or only its last lines. A latency is how late a timer \
              woke a thread, not time that a running program lost: the recording has latencies by length, without times, which \
              `summary` reads. Without a histogram only number, shortest and longest latency are known.",
    options: &[
        OptionRow::new(
            "cpus",
            Value::Cpus,
            "LIST",
            "The CPU of each thread, where the file names none [default: the number of the thread]",
        ),
        OptionRow::new(
            "unit",
            Value::Choice(units),
            "UNIT",
            "Unit of a printed latency (-N prints ns) [default: us, refused where that cannot be]",
        ),
    ],
    examples: "  anechoic import cyclictest cyclictest.json -o wakeups\n  anechoic import cyclictest hist.txt --duration 60s -o wakeups",
    read: Read::Detours(read),
};

fn units() -> Vec<(&'static str, &'static str)> {
    vec![("us", ""), ("ns", "")]
}

/// The file of `--json`, as far as it is read.
#[derive(Deserialize)]
struct Document {
    resolution_in_ns: u32,
    thread: BTreeMap<String, JsonThread>,
}

#[derive(Deserialize)]
struct JsonThread {
    cpu: i64,
    cycles: u64,
    min: i64,
    max: i64,
    #[serde(default)]
    histogram: BTreeMap<String, u64>,
}

/// The latencies of a thread, in the unit of the file.
#[derive(Default)]
struct Thread {
    histogram: BTreeMap<u64, u64>,
    /// Number of all latencies, if it is stated.
    cycles: Option<u64>,
    least: Option<u64>,
    most: Option<u64>,
    /// Time between two latencies, in µs.
    interval_us: Option<u64>,
    /// Its CPU, which our export names.
    cpu: Option<u32>,
    /// Number of wake-ups that were lost before our export.
    lost: u64,
}

fn read(lines: &mut Lines, answers: &Answers, imported: &mut Imported) -> Result<(), Problem> {
    let cpus = answers.given::<Vec<u32>>("cpus").unwrap_or_default();
    let unit = answers.given::<&str>("unit");
    let printed_ns = if unit == Some("ns") { 1 } else { 1_000 };
    let (threads, unit_ns) = match lines.json::<Document>()? {
        Some(document) => {
            let unit_ns = if document.resolution_in_ns == 1 { 1 } else { 1_000 };
            let threads = document.thread.iter().map(|(number, thread)| thread.thread(number));
            let threads: Result<Vec<_>, _> = threads.collect();
            (threads.map_err(|problem| lines.about(problem))?, unit_ns)
        }
        None => {
            let threads = text::read(lines)?;
            if unit.is_none() {
                let doubted = threads.values().find_map(Thread::doubt_of_micros);
                doubted.map_or(Ok(()), |problem| Err(lines.about(problem)))?;
            }
            let threads = threads.into_iter().map(|(number, thread)| (number, thread.cpu, thread));
            (threads.collect(), printed_ns)
        }
    };
    for (number, own, thread) in threads {
        let given = usize::try_from(number).ok().and_then(|number| cpus.get(number)).copied();
        let cpu = own.or(given).unwrap_or(number);
        if thread.lost > 0 {
            imported.note(&format!(
                "{} wake-ups of CPU {cpu} were lost before the file was written, and are not counted",
                thread.lost
            ));
        }
        thread.import(cpu, unit_ns, imported).map_err(|problem| lines.about(problem))?;
    }
    Ok(())
}

impl JsonThread {
    /// Returns the number of the thread, its CPU if it has one alone, and its latencies.
    fn thread(&self, number: &str) -> Result<(u32, Option<u32>, Thread), Problem> {
        let wrong_number = |text: &str| wrong(format!("'{text}' is no number"));
        let latency = |value: i64| u64::try_from(value).ok();
        let bucket = |(latency, &count): (&String, &u64)| {
            latency.parse().map(|latency| (latency, count)).map_err(|_| wrong_number(latency))
        };
        let thread = Thread {
            histogram: self.histogram.iter().map(bucket).collect::<Result<_, _>>()?,
            cycles: Some(self.cycles),
            least: latency(self.min),
            most: latency(self.max),
            interval_us: None,
            ..Thread::default()
        };
        let number = number.parse().map_err(|_| wrong_number(number))?;
        Ok((number, u32::try_from(self.cpu).ok(), thread))
    }
}

impl Thread {
    /// Returns why its latencies are hardly in µs: the shortest is longer than the interval, or the longest than all cycles
    /// together.
    fn doubt_of_micros(&self) -> Option<Problem> {
        let (interval, cycles) = (self.interval_us?, self.cycles?);
        let (least, most) = (self.least?, self.most?);
        let why = if most > interval.saturating_mul(cycles) {
            format!(
                "its longest latency, {most} µs, is longer than its {cycles} cycles of {interval} µs together"
            )
        } else if least > interval {
            format!(
                "its shortest latency, {least} µs, is longer than its interval of {interval} µs"
            )
        } else {
            return None;
        };
        let remedy = "give --unit ns for what `cyclictest -N` printed, --unit us if it is right all the same";
        Some(ProblemKind::Usage.problem(why, remedy))
    }

    /// Counts its latencies for a CPU. cyclictest rounds each down to its unit.
    fn import(&self, cpu: u32, unit_ns: u64, imported: &mut Imported) -> Result<(), Problem> {
        let counted = self.histogram.values().copied().fold(0, u64::saturating_add);
        let all = self.cycles.unwrap_or(counted).max(counted);
        imported.lost(cpu, self.lost)?;
        if let Some(interval_us) = self.interval_us {
            imported.watched(cpu, interval_us.saturating_mul(1_000).saturating_mul(all))?;
        }
        let mut add = |from: u64, to: u64, number: u64| {
            let bounds = from.checked_mul(unit_ns).zip(to.checked_mul(unit_ns));
            let (from, to) = bounds.ok_or_else(|| wrong("there is no such latency"))?;
            imported.count(LATENCIES, cpu, from..to, number)
        };
        add(0, 1, 0)?;
        for (&latency, &number) in &self.histogram {
            add(latency, latency.saturating_add(1), number)?;
        }
        // What the histogram has no room for, or all if there is none.
        let Some(rest) = (all - counted).checked_sub(1) else { return Ok(()) };
        let (Some(least), Some(most)) = (self.least, self.most) else {
            return Err(wrong("it does not say how long the longest latency was"));
        };
        let longer =
            self.histogram.keys().next_back().map_or(least, |longest| longest.saturating_add(1));
        let from = longer.min(most);
        add(most, most.saturating_add(1), 1)?;
        match (rest.checked_sub(1), counted) {
            (Some(others), 0) => {
                add(least, least.saturating_add(1), 1)?;
                add(from, most.saturating_add(1), others)
            }
            _ => add(from, most.saturating_add(1), rest),
        }
    }
}
