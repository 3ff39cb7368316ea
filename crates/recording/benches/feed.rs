//! Writes synthetic detours with the real writer, reads them back, and prints the cost.
//!
//! `cargo bench -p anechoic-recording --bench feed -- [COUNT] [DIR]`; 50 million by default. The last lines
//! compare with plain writing and reading of the same 16 bytes per detour, the minimum for a disk.

#![allow(clippy::unwrap_used, reason = "a bench stops at the first error")]

use anechoic_lab::sample;
use anechoic_recording::run::RunState;
use anechoic_recording::{Detour, Recorder, Recording};
use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::Path;
use std::time::Instant;

const BLOCK: usize = 64 << 10;

/// One CPU's endless detours: exponential distances around 300,000 ticks, mostly short, some long.
struct Feed {
    cpu: u32,
    ticks: u64,
    random: u64,
}

impl Feed {
    fn new(cpu: u32) -> Self {
        let random = 0x9e37_79b9_7f4a_7c15 ^ u64::from(cpu + 1);
        Self { cpu, ticks: sample::START, random }
    }

    /// Uniform in (0, 1]; xorshift64.
    fn uniform(&mut self) -> f64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        ((self.random >> 11) + 1) as f64 / (1_u64 << 53) as f64
    }

    fn next(&mut self) -> Detour {
        let distance = -self.uniform().ln() * 300_000.0;
        let start_ticks = self.ticks + distance as u64;
        let length = 250.0 / self.uniform().powf(0.8);
        self.ticks = start_ticks + length.min(1e7) as u64;
        Detour { cpu: self.cpu, start_ticks, end_ticks: self.ticks }
    }
}

/// Calls `take` with blocks of the two CPUs alternately, `count` detours in total.
fn feed(count: usize, mut take: impl FnMut(&[Detour])) {
    let mut feeds = [Feed::new(0), Feed::new(1)];
    let mut block = Vec::with_capacity(BLOCK);
    let mut left = count;
    for turn in 0.. {
        block.clear();
        block.extend((0..left.min(BLOCK)).map(|_| feeds[turn % 2].next()));
        left -= block.len();
        take(&block);
        if left == 0 {
            return;
        }
    }
}

fn main() {
    let arguments: Vec<_> = std::env::args().skip(1).filter(|a| !a.starts_with('-')).collect();
    let count = arguments.first().map_or(50_000_000, |count| count.parse().unwrap());
    let place = arguments.get(1).map_or_else(std::env::temp_dir, Into::into);
    let place = tempfile::tempdir_in(place).unwrap();
    let (dir, raw) = (place.path().join("recording"), place.path().join("raw"));

    let mut expected = (0, 0);
    let making = seconds(|| feed(count, |block| expected = sum(expected, block)));
    let writing = seconds(|| write(&dir, count)) - making;
    let bytes: u64 = files(&dir).map(|file| file.metadata().unwrap().len()).sum();
    let verifying = seconds(|| Recording::open(&dir).unwrap().verify().unwrap());
    let reading = seconds(|| assert_eq!(read(&dir), expected));
    let by_cpu = seconds(|| assert_eq!(read_by_cpu(&dir), count));
    let peak = peak_rss_kib();
    let raw_writing = seconds(|| write_raw(&raw, count)) - making;
    let raw_reading = seconds(|| read_raw(&raw));

    println!("{count} detours, two CPUs");
    println!("write              {writing:6.2} s");
    println!("read and verify    {reading:6.2} s, of which verifying {verifying:.2} s");
    println!("the same by CPU    {by_cpu:6.2} s");
    println!(
        "on disk            {:6.1} MB, {:.2} B a detour",
        bytes as f64 / 1e6,
        bytes as f64 / count as f64
    );
    println!("peak memory        {:6.1} MB", peak as f64 * 1024.0 / 1e6);
    println!("plain 16 B a row   {raw_writing:6.2} s to write, {raw_reading:.2} s to read");
    println!(
        "ratio              {:6.1} to write, {:.1} to read",
        writing / raw_writing,
        reading / raw_reading
    );
}

fn seconds(work: impl FnOnce()) -> f64 {
    let start = Instant::now();
    work();
    start.elapsed().as_secs_f64()
}

fn write(dir: &Path, count: usize) {
    let mut recorder = Recorder::create(dir, &sample::run(RunState::Running)).unwrap();
    feed(count, |block| recorder.append(block).unwrap());
    recorder.finish(&sample::run(RunState::Complete)).unwrap();
}

/// Counts rows and combines all their values.
fn sum((count, mixed): (usize, u64), rows: &[Detour]) -> (usize, u64) {
    let mix = |sum: u64, row: &Detour| {
        sum.wrapping_mul(31) ^ row.start_ticks ^ row.end_ticks.rotate_left(32) ^ u64::from(row.cpu)
    };
    (count + rows.len(), rows.iter().fold(mixed, mix))
}

fn read(dir: &Path) -> (usize, u64) {
    let recording = Recording::open(dir).unwrap();
    recording.rows::<Detour>().fold((0, 0), |read, rows| sum(read, &rows.unwrap()))
}

fn read_by_cpu(dir: &Path) -> usize {
    let recording = Recording::open(dir).unwrap();
    let rows = |cpu| recording.rows_of_cpu::<Detour>(cpu).map(|rows| rows.unwrap().len());
    [0, 1].into_iter().flat_map(rows).sum()
}

fn files(dir: &Path) -> impl Iterator<Item = fs::DirEntry> {
    fs::read_dir(dir.join("detours")).unwrap().map(Result::unwrap)
}

fn write_raw(file: &Path, count: usize) {
    let mut out = File::create(file).unwrap();
    let mut bytes = Vec::new();
    feed(count, |block| {
        bytes.clear();
        for row in block {
            bytes.extend_from_slice(&row.start_ticks.to_le_bytes());
            bytes.extend_from_slice(&row.end_ticks.to_le_bytes());
        }
        out.write_all(&bytes).unwrap();
    });
    out.sync_all().unwrap();
}

fn read_raw(file: &Path) {
    let mut input = File::open(file).unwrap();
    let mut bytes = vec![0; BLOCK * 16];
    let mut sum = 0_u64;
    loop {
        let n = input.read(&mut bytes).unwrap();
        if n == 0 {
            break;
        }
        let words = bytes[..n].chunks_exact(8);
        sum = words.fold(sum, |sum, word| sum ^ u64::from_le_bytes(word.try_into().unwrap()));
    }
    assert_ne!(sum, 1, "so that nothing is left out");
}

/// Returns the peak memory of the process in KiB; 0 if the system does not report it.
fn peak_rss_kib() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or("0 kB");
    line.trim().trim_end_matches(" kB").parse().unwrap_or(0)
}
