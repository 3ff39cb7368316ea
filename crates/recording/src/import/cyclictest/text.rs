//! The lines that cyclictest prints.

use super::super::Lines;
use super::super::lines::wrong;
use super::Thread;
use crate::problem::Problem;
use std::collections::BTreeMap;

/// More different latencies of all threads than memory is used for.
const MOST_LATENCIES: usize = 2 << 20;

/// What was read so far, by the number of the thread.
#[derive(Default)]
struct Printed {
    threads: BTreeMap<u32, Thread>,
    latencies: usize,
}

/// Reads the lines. Those of a running cyclictest replace each other, so that the last ones count.
pub(super) fn read(lines: &mut Lines) -> Result<BTreeMap<u32, Thread>, Problem> {
    let mut printed = Printed::default();
    // With -H a last column has the sums of all threads, which the line of the shortest latencies lacks.
    let mut columns = None;
    lines.each(|line| {
        if let Some(list) = line.strip_prefix("# CPUs ") {
            let cpus = numbers(list.split_whitespace())?;
            return printed.each(&cpus, |thread, cpu| thread.cpu = u32::try_from(cpu).ok());
        }
        let list = |values: &str| numbers(values.split_whitespace());
        if let Some((label, values)) =
            line.strip_prefix('#').and_then(|comment| comment.split_once(':'))
        {
            match label.trim() {
                "Min Latencies" => {
                    let values = list(values)?;
                    columns = u32::try_from(values.len()).ok();
                    printed.each(&values, |thread, value| thread.least = Some(value))?;
                }
                "Max Latencies" => {
                    printed.each(&list(values)?, |thread, value| thread.most = Some(value))?;
                }
                "Histogram Overflows" => printed.each(&list(values)?, |thread, value| {
                    let counted = thread.histogram.values().copied().fold(0, u64::saturating_add);
                    thread.cycles = Some(counted.saturating_add(value));
                })?,
                "Lost" => printed.each(&list(values)?, |thread, value| thread.lost = value)?,
                _ => {}
            }
            return Ok(());
        }
        if let Some(at) = line.find("T:").filter(|_| line.contains("Min:")) {
            return printed.status(&line[at..]);
        }
        if line.starts_with(|first: char| first.is_ascii_digit()) {
            return printed.counts(line);
        }
        Ok(())
    })?;
    if let Some(columns) = columns {
        printed.threads.retain(|number, _| *number < columns);
    }
    Ok(printed.threads)
}

fn number(word: &str) -> Result<u64, Problem> {
    word.parse().map_err(|_| wrong(format!("'{word}' is no number")))
}

fn numbers<'a>(words: impl Iterator<Item = &'a str>) -> Result<Vec<u64>, Problem> {
    words.map(number).collect()
}

impl Printed {
    /// Passes each value to its thread.
    fn each(&mut self, values: &[u64], take: impl Fn(&mut Thread, u64)) -> Result<(), Problem> {
        for (number, &value) in (0..).zip(values) {
            take(self.threads.entry(number).or_default(), value);
        }
        Ok(())
    }

    /// Reads a line of the histogram, or a single latency.
    fn counts(&mut self, line: &str) -> Result<(), Problem> {
        let parts: Vec<&str> = line.split(':').map(str::trim).collect();
        if let [thread, _, latency] = parts[..] {
            let thread = u32::try_from(number(thread)?);
            let thread = thread.map_err(|_| wrong("there is no such thread"))?;
            return self.add(thread, number(latency)?, 1);
        }
        let mut words = line.split_whitespace();
        let latency = number(words.next().unwrap_or_default())?;
        (0..).zip(numbers(words)?).try_for_each(|(thread, count)| self.add(thread, latency, count))
    }

    fn add(&mut self, thread: u32, latency: u64, count: u64) -> Result<(), Problem> {
        let counts = self.threads.entry(thread).or_default();
        if count > 0 {
            self.latencies += usize::from(!counts.histogram.contains_key(&latency));
            let counted = counts.histogram.entry(latency).or_default();
            *counted = counted.saturating_add(count);
        }
        if self.latencies.max(self.threads.len()) > MOST_LATENCIES {
            return Err(wrong(format!("it has over {MOST_LATENCIES} different latencies")));
        }
        Ok(())
    }

    /// Reads `T: 0 (1234) P:80 I:1000 C: 5000 Min: 3 Act: 5 Avg: 6 Max: 20`.
    fn status(&mut self, line: &str) -> Result<(), Problem> {
        let value = |label: &str| {
            let rest = line.split_once(label).map(|(_, rest)| rest.trim_start());
            let word = rest.and_then(|rest| rest.split_whitespace().next());
            number(word.ok_or_else(|| wrong(format!("it has no {label}")))?)
        };
        let thread = u32::try_from(value("T:")?).map_err(|_| wrong("there is no such thread"))?;
        if thread >= crate::machine::MOST_CPUS {
            return Err(wrong(format!("there is no thread {thread}")));
        }
        let counts = self.threads.entry(thread).or_default();
        (counts.least, counts.most) = (Some(value("Min:")?), Some(value("Max:")?));
        (counts.cycles, counts.interval_us) = (Some(value("C:")?), Some(value("I:")?));
        Ok(())
    }
}
