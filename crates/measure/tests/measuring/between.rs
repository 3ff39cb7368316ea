//! What happens between two samples: other work, a pause, another CPU. And work on a workspace.

use anechoic_kernels::memory::Params;
use anechoic_lab::note;
use anechoic_lab::turn::alone;
use anechoic_measure::experiment::{
    Act, Amount, Cell, Experiment, Pinning, Policy, Sample, Samples,
};
use anechoic_measure::kernel::Kernel;
use anechoic_measure::run::{Plan, run};
use anechoic_recording::run::{Ended, RunState};
use anechoic_recording::{Recording, Sample as Taken, Series};
use anechoic_system::cpus;
use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

const SAMPLES: u64 = 50;
const PAUSE: Duration = Duration::from_micros(300);

/// A pass over a working set, on the first CPU that this process may use.
fn cell(bytes: u64, between: Vec<Act>) -> Cell {
    let sample = Sample {
        kernel: sort(bytes),
        amount: Amount::Pass,
        samples: Samples::Count(SAMPLES),
        maiv_ppm: None,
        watched: false,
    };
    Cell { between, ..Cell::sampling(sample, Pinning::Cpus(vec![cpus::allowed()[0]])) }
}

fn sort(bytes: u64) -> Kernel {
    Kernel::on_memory("sort", Params { bytes }).unwrap()
}

/// Returns each series with its samples.
fn measured(cells: Vec<Cell>) -> Vec<(Series, Vec<Taken>)> {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path().join("recording");
    let plan = Plan { trace: false, ..Plan::new(Experiment::listed("test", cells), "test") };
    let done = run(&plan, &dir, &AtomicBool::new(false), &mut |_| ()).unwrap();
    assert_eq!(done.state, RunState::Complete, "{:?}", done.notes);
    let recording = Recording::open(&dir).unwrap();
    let mut samples: BTreeMap<u32, Vec<Taken>> = BTreeMap::new();
    for taken in recording.rows::<Taken>().flat_map(Result::unwrap) {
        samples.entry(taken.series).or_default().push(taken);
    }
    let series = recording.series().unwrap();
    let whole = |(series, outcome): (Series, anechoic_recording::run::Outcome)| {
        assert_eq!((outcome.samples, outcome.wrong, outcome.lost), (SAMPLES, 0, 0));
        assert_eq!(outcome.ended, Ended::Complete);
        let mut taken = samples.remove(&series.series).unwrap();
        taken.sort_by_key(|taken| taken.index);
        (series, taken)
    };
    series.into_iter().map(whole).collect()
}

/// Returns the shortest time from the end of a sample to the start of the next, in ticks.
fn shortest_pause(samples: &[Taken]) -> u64 {
    samples.windows(2).map(|two| two[1].start_ticks - two[0].end_ticks).min().unwrap()
}

#[test]
fn what_happens_between_samples_is_part_of_none() {
    let _alone = alone();
    let cells = vec![
        cell(4_096, vec![]),
        cell(4_096, vec![Act::Sleep(PAUSE)]),
        cell(4_096, vec![Act::Repeat, Act::Prepare, Act::Work(sort(65_536), 16_384)]),
        cell(65_536, vec![]),
    ];
    let series = measured(cells);
    let [(alone, back_to_back), (_, pauses), (_, work), (large, _)] = &series[..] else {
        panic!("{} series", series.len())
    };
    assert_eq!((alone.parameters.iterations, large.parameters.iterations), (1_024, 16_384));
    assert_eq!(shortest_pause(back_to_back), 0, "one begins with the reading that ended the last");
    let clock = anechoic_system::clock::calibrate(&cpus::allowed()[..1], true).unwrap();
    assert!(shortest_pause(pauses) >= clock.ticks_of(PAUSE));
    // Its own pass and the larger pass of the other kernel take much longer than a sample.
    assert!(
        shortest_pause(work) > large.parameters.calibrated_ticks / 2,
        "{}",
        shortest_pause(work)
    );
}

#[test]
fn a_loop_that_migrates_is_measured_where_it_went() {
    let _alone = alone();
    let allowed = cpus::allowed();
    let Some(&[home, away]) = allowed.first_chunk::<2>() else {
        return note::skipped("there is no second CPU to go to");
    };
    let there_and_back = vec![Act::Migrate(home), Act::Repeat, Act::Migrate(away)];
    let series = measured(vec![cell(4_096, there_and_back), cell(4_096, vec![])]);
    assert!(series[0].1.iter().all(|taken| taken.cpu == away), "measured after the migration");
    assert!(series[1].1.iter().all(|taken| taken.cpu == home), "the next series is at home again");
}

#[test]
fn windows_cannot_be_interrupted_on_purpose() {
    let sample = Sample {
        amount: Amount::Window(Duration::from_millis(1)),
        ..*cell(4_096, vec![]).sample().unwrap()
    };
    let on = Pinning::Cpus(vec![cpus::allowed()[0]]);
    let cell = Cell {
        between: vec![Act::Sleep(PAUSE)],
        policy: Policy::Other,
        ..Cell::sampling(sample, on)
    };
    let plan = Plan::new(Experiment::listed("test", vec![cell]), "test");
    let dir = tempfile::tempdir().unwrap();
    let refused = run(&plan, dir.path(), &AtomicBool::new(false), &mut |_| ());
    assert!(refused.unwrap_err().to_string().contains("without a pause"));
}
