//! Made-up recordings of wake-ups.

use crate::builders::{self, clock, cpu_run};
use anechoic_recording::run::{Ended, Outcome};
use anechoic_recording::wakeup::Sleep;
use anechoic_recording::{Fixed, Parameters, Recorder, Recording, Run, Sample, Series};
use std::collections::BTreeSet;
use std::path::Path;

/// When a recording starts, in ticks, which are nanoseconds.
pub const START: u64 = 1_000;

/// A block of wake-ups of one thread.
#[derive(Debug, Clone)]
pub struct Block {
    /// The CPU.
    pub cpu: u32,
    /// Time between two expiries in ns.
    pub interval_ns: u64,
    /// Whether CPUs were kept out of deep idle states.
    pub shallow: bool,
    /// Whether events were switched off.
    pub events_off: bool,
    /// The latency of each wake-up in ns.
    pub taken_ns: Vec<u64>,
    /// Number of wake-ups that were measured and lost.
    pub lost: u64,
}

impl Block {
    /// Returns a block with an expiry every millisecond, with events.
    #[must_use]
    pub fn new(cpu: u32, taken_ns: Vec<u64>) -> Self {
        Self { cpu, interval_ns: 1_000_000, shallow: false, events_off: false, taken_ns, lost: 0 }
    }
}

/// Writes a recording of these blocks, one after the other. A wake-up counts as late over 100 µs.
///
/// # Panics
/// It cannot be written.
#[must_use]
pub fn record(dir: &Path, blocks: &[Block]) -> Recording {
    record_with(dir, blocks, |_| ())
}

/// Does the same for a run that is changed.
///
/// # Panics
/// It cannot be written.
#[must_use]
pub fn record_with(dir: &Path, blocks: &[Block], change: impl FnOnce(&mut Run)) -> Recording {
    let mut run = builders::run("wakeup", clock(1_000_000_000), vec![]);
    change(&mut run);
    let (mut all, mut samples, mut now) = (vec![], vec![], START);
    for (series, block) in (0..).zip(blocks) {
        let first_ticks = now;
        for (index, &latency) in (0..).zip(&block.taken_ns) {
            let (start_ticks, end_ticks) = (now, now + latency);
            let count = latency / block.interval_ns + 1;
            let cpu = block.cpu;
            samples.push(Sample { series, index, cpu, start_ticks, end_ticks, count });
            now += count * block.interval_ns;
        }
        let samples = block.taken_ns.len() as u64;
        let (last_ticks, lost, ended) = (now, block.lost, Ended::Complete);
        run.outcomes.push(Outcome {
            series,
            first_ticks,
            last_ticks,
            samples,
            lost,
            ended,
            ..Outcome::default()
        });
        all.push(self::series(series, block));
        now += block.interval_ns;
    }
    let cpus: BTreeSet<u32> = blocks.iter().map(|block| block.cpu).collect();
    run.cpus = cpus.iter().map(|&cpu| cpu_run(cpu, (START, now), 0)).collect();
    (run.start_ticks, run.end_ticks) = (START, now);
    let mut recorder = Recorder::create(dir, &run).expect("a new directory");
    recorder.append(&all).expect("in order");
    for cpu in cpus {
        let those: Vec<Sample> =
            samples.iter().copied().filter(|sample| sample.cpu == cpu).collect();
        recorder.append(&those).expect("in order");
    }
    recorder.finish(&run).expect("there is space");
    Recording::open(dir).expect("just written")
}

fn series(series: u32, block: &Block) -> Series {
    let sleep = Sleep {
        interval_ns: block.interval_ns,
        offset_ns: 0,
        shallow: block.shallow,
        slack_ns: 0,
        late_ns: 100_000,
        waker: None,
    };
    Series {
        series,
        round: series,
        method: "wakeup".into(),
        variant: "clock_nanosleep".into(),
        cpu: Some(block.cpu),
        tid: 100,
        policy: "fifo 80".into(),
        fixed: Fixed::Work,
        grain_ticks: block.interval_ns,
        asked: block.taken_ns.len() as u64,
        parameters: Parameters {
            sleep: Some(sleep),
            events_off: block.events_off,
            ..Parameters::default()
        },
    }
}
