//! Reads how fast the kernel's own counters grow: those of the machine and those of control groups.
//!
//! Nothing spins and nothing is switched on: a reading costs the time that the kernel takes to write some small files.

use crate::cgroups::Cgroup;
use anechoic_recording::rates::{RATES, RateSpec};
use anechoic_recording::rows::Growth;
use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Reads the counters again and again.
pub struct RateReader {
    files: Vec<Watched>,
    /// Units of /proc/stat in ns.
    unit_ns: u64,
    before: HashMap<Arc<str>, Reading>,
    text: Vec<u8>,
}

/// A file with counters.
struct Watched {
    path: PathBuf,
    /// Open where the kernel makes its content anew when it is read from the start.
    file: Option<File>,
    parse: Parse,
    /// The rates that it has, with the names of their rows.
    names: Vec<(&'static str, Arc<str>)>,
}

type Parse = fn(&str, u64) -> Vec<(&'static str, Value)>;

/// What a file counts.
enum Value {
    All(u64),
    OfCpus(Vec<(u32, u64)>),
}

struct Reading {
    ticks: u64,
    value: Value,
}

impl RateReader {
    /// Begins with the first reading of the machine's counters and of those of these control groups. `now` reads the counter
    /// in ticks.
    #[must_use]
    pub fn begin(groups: &[Cgroup], now: impl Fn() -> u64) -> Self {
        let directories =
            |group: &Cgroup| group.directories().into_iter().map(PathBuf::from).collect();
        let groups = groups.iter().map(|group| (group.path(), directories(group)));
        let user_hz = rustix::param::clock_ticks_per_second();
        Self::begin_in(Path::new("/proc"), groups, user_hz, now)
    }

    fn begin_in<'a>(
        proc: &Path,
        groups: impl Iterator<Item = (&'a str, Vec<PathBuf>)>,
        user_hz: u64,
        now: impl Fn() -> u64,
    ) -> Self {
        let of_machine: [(&str, Parse); 6] = [
            ("stat", stat),
            ("schedstat", schedstat),
            ("pressure/cpu", |text, _| pressure("cpu-pressure", "some", text)),
            ("pressure/memory", |text, _| pressure("memory-pressure", "some", text)),
            ("pressure/io", |text, _| pressure("io-pressure", "some", text)),
            ("pressure/irq", |text, _| pressure("irq-pressure", "full", text)),
        ];
        let of_group: [(&str, Parse); 3] = [
            ("cpu.stat", cpu_stat),
            ("cpuacct.usage", cpu_usage),
            ("cpu.pressure", |text, _| pressure("waited", "some", text)),
        ];
        let of_machine =
            of_machine.into_iter().map(|(file, parse)| Watched::new(proc.join(file), parse, None));
        let mut files: Vec<Watched> = of_machine.collect();
        for (path, dirs) in groups {
            for (name, parse) in of_group {
                let file = dirs.iter().map(|dir| dir.join(name)).find(|file| file.exists());
                files.extend(file.map(|file| Watched::new(file, parse, Some(path))));
            }
        }
        let mut reader = Self {
            files,
            unit_ns: 1_000_000_000 / user_hz.max(1),
            before: HashMap::new(),
            text: Vec::new(),
        };
        reader.read(now);
        reader
    }

    /// Returns the names of the rates that this kernel shows, without control groups.
    #[must_use]
    pub fn names(&self) -> Vec<&'static str> {
        let known = |name: &str| self.before.keys().any(|key| key.split(' ').next() == Some(name));
        RATES
            .iter()
            .map(|rate| rate.name)
            .filter(|name| {
                let all = name.strip_suffix("-worst").unwrap_or(name);
                known(all)
            })
            .collect()
    }

    /// Returns by how much each counter has grown since the last reading. What cannot be read, was set back or had no reading
    /// before has no row.
    pub fn read(&mut self, now: impl Fn() -> u64) -> Vec<Growth> {
        let mut grown = vec![];
        for file in &mut self.files {
            let ticks = now();
            let Ok(text) = file.read(&mut self.text) else { continue };
            for (name, value) in (file.parse)(&text, self.unit_ns) {
                let Some(row_name) = file.row_name(name) else { continue };
                let reading = Reading { ticks, value };
                if let Some(before) = self.before.get(&row_name)
                    && let Some((all, worst)) = growth(&before.value, &reading.value)
                {
                    let worst_name = worst_of(name).and_then(|name| file.row_name(name));
                    let worst = worst_name.zip(worst);
                    let rows = std::iter::once((Arc::clone(&row_name), all)).chain(worst);
                    let (start_ticks, end_ticks) = (before.ticks, ticks);
                    grown.extend(rows.map(|(name, value)| Growth {
                        name,
                        start_ticks,
                        end_ticks,
                        value,
                    }));
                }
                self.before.insert(row_name, reading);
            }
        }
        grown
    }
}

/// Returns the rate of the CPU with the largest growth, beside that of all CPUs.
fn worst_of(name: &str) -> Option<&'static str> {
    match name {
        "steal" => Some("steal-worst"),
        "waiting" => Some("waiting-worst"),
        _ => None,
    }
}

/// Returns the growth of all CPUs, and of the one with the largest. CPUs that went offline or came online meanwhile do not count.
fn growth(before: &Value, now: &Value) -> Option<(u64, Option<u64>)> {
    match (before, now) {
        (Value::All(before), Value::All(now)) => Some((now.checked_sub(*before)?, None)),
        (Value::OfCpus(before), Value::OfCpus(now)) => {
            let before: HashMap<u32, u64> = before.iter().copied().collect();
            let grown = now.iter().filter_map(|(cpu, now)| now.checked_sub(*before.get(cpu)?));
            let grown: Vec<u64> = grown.collect();
            Some((grown.iter().sum(), Some(*grown.iter().max()?)))
        }
        _ => None,
    }
}

impl Watched {
    fn new(path: PathBuf, parse: Parse, group: Option<&str>) -> Self {
        let of_kind = RATES.iter().filter(|rate| rate.is_of_group == group.is_some());
        let names = of_kind.map(|rate| (rate.name, row_name(rate, group))).collect();
        Self { path, file: None, parse, names }
    }

    /// Returns the name of the rows of a rate.
    fn row_name(&self, rate: &str) -> Option<Arc<str>> {
        let known = self.names.iter().find(|(name, _)| *name == rate);
        known.map(|(_, row_name)| Arc::clone(row_name))
    }

    /// Reads the whole file, as one snapshot of the kernel as far as it fits into one read.
    fn read<'a>(&mut self, text: &'a mut Vec<u8>) -> io::Result<std::borrow::Cow<'a, str>> {
        text.clear();
        let read = match &self.file {
            Some(file) => read_from_start(file, text),
            None => Err(io::ErrorKind::NotFound.into()),
        };
        if read.is_err() {
            // It may have been made again since.
            text.clear();
            let mut file = File::open(&self.path)?;
            file.read_to_end(text)?;
            self.file = Some(file);
        }
        Ok(String::from_utf8_lossy(text))
    }
}

fn row_name(rate: &RateSpec, group: Option<&str>) -> Arc<str> {
    match group {
        None => rate.name.into(),
        Some(path) => format!("{} {path}", rate.name).into(),
    }
}

fn read_from_start(file: &File, text: &mut Vec<u8>) -> io::Result<()> {
    loop {
        let length = text.len();
        text.resize(length + 8192, 0);
        let read = file.read_at(&mut text[length..], length as u64)?;
        text.truncate(length + read);
        if read == 0 {
            return Ok(());
        }
    }
}

/// Reads /proc/stat, whose times are in units of `unit_ns`.
fn stat(text: &str, unit_ns: u64) -> Vec<(&'static str, Value)> {
    let [mut steal, mut interrupts, mut busy] = [(); 3].map(|()| Vec::new());
    let mut found = vec![];
    for line in text.lines() {
        let mut words = line.split_ascii_whitespace();
        let Some(key) = words.next() else { continue };
        let mut number = || words.next().and_then(|word| word.parse::<u64>().ok());
        let total = match key {
            "intr" => "interrupts",
            "softirq" => "softirqs",
            "ctxt" => "switches",
            "processes" => "forks",
            _ => {
                let Some(Ok(cpu)) = key.strip_prefix("cpu").map(str::parse::<u32>) else {
                    continue;
                };
                // user nice system idle iowait irq softirq steal
                let times: Vec<u64> =
                    (0..8).map_while(|_| number()?.checked_mul(unit_ns)).collect();
                if let &[user, nice, system, _, _, irq, softirq, stolen] = &times[..] {
                    steal.push((cpu, stolen));
                    interrupts.push((cpu, irq + softirq));
                    busy.push((cpu, user + nice + system));
                }
                continue;
            }
        };
        found.extend(number().map(|value| (total, Value::All(value))));
    }
    let of_cpus = [("steal", steal), ("interrupt-time", interrupts), ("busy", busy)];
    found.extend(of_cpus.map(|(name, values)| (name, Value::OfCpus(values))));
    found
}

/// Reads /proc/schedstat.
fn schedstat(text: &str, _: u64) -> Vec<(&'static str, Value)> {
    let waited = crate::counters::run_delays(text);
    let waited: Vec<(u32, u64)> = waited.map(|(_, cpu, value)| (cpu, value)).collect();
    if waited.is_empty() { vec![] } else { vec![("waiting", Value::OfCpus(waited))] }
}

/// Reads the total of a line of a pressure file, which is in microseconds.
fn pressure(name: &'static str, line: &str, text: &str) -> Vec<(&'static str, Value)> {
    let total = text.lines().find_map(|found| {
        let rest = found.strip_prefix(line)?.strip_prefix(' ')?;
        let total = rest.split_ascii_whitespace().find_map(|word| word.strip_prefix("total="))?;
        total.parse::<u64>().ok()?.checked_mul(1_000)
    });
    total.map(|total| (name, Value::All(total))).into_iter().collect()
}

/// Reads the `cpu.stat` of a control group: times are in microseconds, and in nanoseconds under version 1.
fn cpu_stat(text: &str, _: u64) -> Vec<(&'static str, Value)> {
    let keys = [
        ("used", "usage_usec ", 1_000),
        ("throttled", "throttled_usec ", 1_000),
        ("throttled", "throttled_time ", 1),
    ];
    let found = keys.into_iter().filter_map(|(name, key, unit_ns)| {
        let value = text.lines().find_map(|line| line.strip_prefix(key))?;
        Some((name, Value::All(value.trim().parse::<u64>().ok()?.checked_mul(unit_ns)?)))
    });
    found.collect()
}

/// Reads the CPU time of a control group under version 1.
fn cpu_usage(text: &str, _: u64) -> Vec<(&'static str, Value)> {
    text.trim().parse().ok().map(|ns| ("used", Value::All(ns))).into_iter().collect()
}

#[cfg(test)]
mod tests;
