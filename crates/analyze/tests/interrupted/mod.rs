//! A made-up series of samples whose interruptions are known to the tick.

#![allow(dead_code, reason = "the tests and the bench use different parts")]

use anechoic_analyze::samples::{Measured, SeriesResult};
use anechoic_lab::two_cpus::{self, MICRO, SECOND};
use anechoic_recording::attribution::Attribution;
use anechoic_recording::run::{Ended, Outcome};
use anechoic_recording::{
    Activity, ActivityKind, Detour, Fixed, Loss, Parameters, Recorder, Recording, Run, Sample,
    Series,
};
use std::path::Path;

/// What a step of the work takes.
pub const STEP: u64 = MICRO / 2;

/// One piece of a detour: kind, source, name, ticks of its own, and the row that it is nested in.
pub type Piece = (ActivityKind, &'static str, &'static str, u64, Option<u32>);

pub fn entry(source: &'static str, ticks: u64) -> Piece {
    (ActivityKind::EntryGap, source, "", ticks, None)
}

pub fn exit(source: &'static str, ticks: u64) -> Piece {
    (ActivityKind::ExitGap, source, "", ticks, None)
}

pub fn ran(source: &'static str, name: &'static str, ticks: u64) -> Piece {
    (ActivityKind::Activity, source, name, ticks, None)
}

pub fn nested(source: &'static str, name: &'static str, ticks: u64, parent: u32) -> Piece {
    (ActivityKind::Activity, source, name, ticks, Some(parent))
}

pub fn unexplained(ticks: u64) -> Piece {
    (ActivityKind::Unexplained, "vm-or-hardware", "", ticks, None)
}

/// The samples of one series, made one after the other on CPU 0.
#[derive(Debug)]
pub struct Made {
    pub series: Series,
    watched: bool,
    first_ticks: u64,
    now: u64,
    /// Samples and detours made so far.
    made: [u64; 2],
    pub samples: Vec<Sample>,
    pub detours: Vec<Detour>,
    pub activities: Vec<Activity>,
}

impl Made {
    /// No samples yet, of series `number` that begins at `start_ticks`.
    pub fn new(number: u32, variant: &str, watched: bool, start_ticks: u64) -> Self {
        Self {
            series: Series {
                series: number,
                method: "loops".into(),
                variant: variant.into(),
                cpu: Some(0),
                tid: 100,
                policy: "other".into(),
                grain_ticks: SECOND / 1000,
                fixed: Fixed::Work,
                asked: 1_000_000,
                round: 0,
                parameters: Parameters {
                    iterations: 1000,
                    calibrated_ticks: SECOND / 1000,
                    instructions: 1,
                    step_iterations: watched.then_some(1),
                    step_ticks: watched.then_some(STEP),
                    threshold_ticks: watched.then_some(STEP * 3 / 2),
                    copies: 1,
                    ..Parameters::default()
                },
            },
            watched,
            first_ticks: start_ticks,
            now: start_ticks,
            made: [0, 0],
            samples: vec![],
            detours: vec![],
            activities: vec![],
        }
    }

    /// A sample of `work` ticks of work, interrupted by these detours one after the other in its middle.
    pub fn sample(&mut self, work: u64, detours: &[&[Piece]]) {
        let start_ticks = self.now;
        self.now += work / 2;
        for pieces in detours {
            self.detour(pieces);
        }
        // A step that is interrupted is part of the work.
        let steps = if self.watched { STEP * detours.len() as u64 } else { 0 };
        self.now += work - work / 2 - steps;
        let (series, index) = (self.series.series, self.made[0]);
        self.made[0] += 1;
        let end_ticks = self.now;
        self.samples.push(Sample { series, index, cpu: 0, start_ticks, end_ticks, count: 1 });
    }

    fn detour(&mut self, pieces: &[Piece]) {
        let number = if self.watched { self.made[1] } else { self.made[0] };
        self.made[1] += 1;
        let start_ticks = self.now;
        let is_gap =
            |kind: ActivityKind| !matches!(kind, ActivityKind::Activity | ActivityKind::OffCpu);
        for &(kind, source, name, ticks, parent) in pieces {
            // Rows are counted without those that are not there.
            let left_out = |row: u32| pieces[..row as usize].iter().filter(|p| is_gap(p.0)).count();
            let parent =
                parent.map(|row| if self.watched { row } else { row - left_out(row) as u32 });
            if self.watched || !is_gap(kind) {
                let mut row = two_cpus::activity((0, number), kind, source, self.now, ticks);
                row.name = name.into();
                row.parent = parent;
                self.activities.push(row);
            }
            self.now += ticks;
        }
        if self.watched {
            self.now += STEP;
            self.detours.push(Detour { cpu: 0, start_ticks, end_ticks: self.now });
        }
    }

    pub fn outcome(&self) -> Outcome {
        Outcome {
            series: self.series.series,
            first_ticks: self.first_ticks,
            last_ticks: self.now,
            samples: self.made[0],
            lost: 0,
            wrong: 0,
            ended: Ended::Complete,
            ..Outcome::default()
        }
    }

    /// When the last sample ended.
    pub fn end(&self) -> u64 {
        self.now
    }
}

/// Writes a recording of these series and opens it.
pub fn record(dir: &Path, made: &[&Made], losses: &[Loss], attributed: bool) -> Recording {
    let end = made.iter().map(|made| made.now).max().unwrap_or(0);
    let mut run = Run { method: "loops".into(), threshold_ticks: 0, ..two_cpus::run(end) };
    run.outcomes = made.iter().map(|made| made.outcome()).collect();
    let mut recorder = Recorder::create(dir, &run).expect("a new directory");
    for made in made {
        recorder.append(std::slice::from_ref(&made.series)).expect("in order");
        recorder.append(&made.samples).expect("in order");
        recorder.append(&made.detours).expect("in order");
    }
    recorder.append(losses).expect("in order");
    recorder.finish(&run).expect("there is space");
    let recording = Recording::open(dir).expect("just written");
    if attributed {
        let mut writer = recording.derive::<Activity>().expect("writable");
        made.iter().for_each(|made| writer.append(&made.activities).expect("in order"));
        writer.finish().expect("there is space");
        recording.write_attribution(&Attribution::default()).expect("writable");
    }
    Recording::open(dir).expect("just written")
}

/// What a recording of these series says.
pub fn measure(made: &[&Made], losses: &[Loss], attributed: bool) -> Measured {
    let place = tempfile::tempdir().expect("a place for it");
    let recording = record(&place.path().join("recording"), made, losses, attributed);
    anechoic_analyze::measure(&recording).expect("a sound recording")
}

/// The same of one series that was attributed.
pub fn result(made: &Made) -> SeriesResult {
    measure(&[made], &[], true).series.remove(0)
}

/// Numbers that look random and are always the same.
#[derive(Debug)]
pub struct Chance(pub u64);

impl Chance {
    /// The next, below `bound`.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}
