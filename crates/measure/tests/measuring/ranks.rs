//! Bulk-synchronous jobs: ranks as threads of one process, and as separate processes.

use anechoic_lab::note;
use anechoic_lab::turn::alone;
use anechoic_measure::ensemble::{Ensemble, EnsembleError, Meetings, Placement, Team};
use anechoic_measure::experiment::{Act, Cell, Experiment, Host, Pinning, Sample as Samples};
use anechoic_measure::kernel::Kernel;
use anechoic_measure::methods;
use anechoic_measure::run::{Plan, RunError, run};
use anechoic_recording::parallel::Meeting;
use anechoic_recording::run::{Ended, Run, RunState};
use anechoic_recording::{Detour, Recording, Sample, Series, find};
use anechoic_system::cpus;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Barrier, Mutex};
use std::thread;
use std::time::Duration;

const GRAIN: Duration = Duration::from_micros(200);

fn plan(cpus: &[u32], meetings: &[Meeting], team: Option<Team>) -> Plan {
    lasting(Duration::from_millis(200), cpus, meetings, team)
}

fn lasting(duration: Duration, cpus: &[u32], meetings: &[Meeting], team: Option<Team>) -> Plan {
    let phases = (duration.as_nanos() / GRAIN.as_nanos()) as u64;
    let sample = Samples::filling(Kernel::find("intadd-chain").unwrap(), GRAIN, phases);
    let cell = |&meeting: &Meeting| Cell {
        between: vec![Act::Meet(meeting)],
        ..Cell::sampling(sample, Pinning::Cpus(cpus.to_vec()))
    };
    let experiment = Experiment::listed("bsp", meetings.iter().map(cell).collect());
    Plan { team, ..Plan::new(experiment, "test") }
}

fn measure(plan: &Plan, dir: &Path) -> Result<Run, RunError> {
    run(plan, dir, &AtomicBool::new(false), &mut |_| ())
}

/// Returns two CPUs, or `None` if there are not two.
fn two_cpus() -> Option<[u32; 2]> {
    let allowed = cpus::allowed();
    let two = allowed.first_chunk::<2>().copied();
    if two.is_none() {
        note::skipped("two ranks need two CPUs");
    }
    two
}

fn samples(recording: &Recording) -> BTreeMap<u32, Vec<Sample>> {
    let mut samples: BTreeMap<u32, Vec<Sample>> = BTreeMap::new();
    for rows in recording.rows::<Sample>() {
        for sample in rows.unwrap() {
            samples.entry(sample.series).or_default().push(sample);
        }
    }
    samples
}

/// Nobody continues before the last rank has come: each phase begins after all ranks have finished their
/// work.
fn assert_met(a: &[Sample], b: &[Sample]) {
    assert_eq!(a.len(), b.len());
    for (earlier, later) in
        a.iter().zip(b).zip(a.iter().zip(b).skip(1)).map(|((x, y), (p, q))| {
            (x.end_ticks.max(y.end_ticks), p.start_ticks.min(q.start_ticks))
        })
    {
        assert!(earlier <= later, "a rank went on at {later}, another came at {earlier}");
    }
}

#[test]
fn threads_meet_after_every_phase() {
    let _alone = alone();
    let Some(two) = two_cpus() else { return };
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path().join("job");
    let done = measure(&plan(&two, &Meeting::ALL, None), &dir).unwrap();
    assert_eq!(done.state, RunState::Complete, "{:?}", done.notes);
    let parallel = done.parallel.unwrap();
    assert_eq!((parallel.ranks, parallel.here.len(), &*parallel.through), (2, 2, "threads"));
    let recording = Recording::open(&dir).unwrap();
    let series = recording.series().unwrap();
    let told: Vec<_> = series
        .iter()
        .map(|(s, _)| (s.round, s.parameters.rank, s.cpu, s.parameters.meeting))
        .collect();
    let [first, second] = two.map(Some);
    let [barrier, allreduce, nothing] = Meeting::ALL.map(Some);
    let expected = [
        (0, Some(0), first, barrier),
        (0, Some(1), second, barrier),
        (1, Some(0), first, allreduce),
        (1, Some(1), second, allreduce),
        (2, Some(0), first, nothing),
        (2, Some(1), second, nothing),
    ];
    assert_eq!(told, expected);
    let samples = samples(&recording);
    for (series, outcome) in &series {
        assert_eq!((outcome.samples, outcome.ended), (1_000, Ended::Complete));
        let own = &samples[&series.series];
        assert_eq!(own.len(), 1_000);
        assert!(outcome.last_ticks >= own.last().unwrap().end_ticks);
    }
    assert_met(&samples[&0], &samples[&1]);
    assert_met(&samples[&2], &samples[&3]);
    for cpu in two {
        let detours = recording.rows_of_cpu::<Detour>(cpu).map(|rows| rows.unwrap().len());
        assert!(detours.sum::<usize>() > 0, "0.6 s without a detour on CPU {cpu}");
    }
}

#[test]
fn what_cannot_be_is_refused() {
    let Some(two) = two_cpus() else { return };
    let dir = tempfile::tempdir().unwrap();
    let bsp = methods::find("bsp").unwrap();
    let host = Host { cpus: two.to_vec(), machine: anechoic_system::machine::describe() };
    let phases = |given: &[(&str, &str)]| bsp.with(given, &host);
    let cases = [
        ("no meeting", Ok(Experiment::listed("bsp", Vec::new())), "0 repetitions"),
        ("shorter than a phase", phases(&[("duration", "9us")]), "shorter than one grain"),
        ("a step and no more", phases(&[("grain", "90ns")]), "too short to measure"),
        ("no kernel", phases(&[("work", "none")]), "--work: 'none' is none of"),
    ];
    for (name, experiment, expected) in cases {
        let measured = experiment.and_then(|experiment| {
            Ok(measure(&Plan::new(experiment, "test"), &dir.path().join("job")).map(|_| ())?)
        });
        let error = measured.unwrap_err().to_string();
        assert!(error.contains(expected), "case {name}: {error}");
    }
}

/// Ranks of one host that communicate through memory; each measures as a separate process would.
#[derive(Debug)]
struct Joined {
    rank: u32,
    all: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    barrier: Barrier,
    told: Mutex<Vec<Vec<u8>>>,
    come: AtomicU64,
}

impl Ensemble for Joined {
    fn through(&self) -> String {
        "memory".to_owned()
    }

    fn rank(&self) -> u32 {
        self.rank
    }

    fn size(&self) -> u32 {
        2
    }

    fn gather(&self, mine: &[u8]) -> Result<Option<Vec<Vec<u8>>>, EnsembleError> {
        self.all.told.lock().unwrap()[self.rank as usize] = mine.to_vec();
        self.all.barrier.wait();
        let all = self.all.told.lock().unwrap().clone();
        self.all.barrier.wait();
        Ok((self.rank == 0).then_some(all))
    }

    fn broadcast(&self, of_first: &[u8]) -> Result<Vec<u8>, EnsembleError> {
        if self.rank == 0 {
            self.all.told.lock().unwrap()[0] = of_first.to_vec();
        }
        self.all.barrier.wait();
        let first = self.all.told.lock().unwrap()[0].clone();
        self.all.barrier.wait();
        Ok(first)
    }
}

impl Meetings for Joined {
    fn meet(&self, _: Meeting, look: &mut dyn FnMut() -> bool) -> bool {
        let all = (self.all.come.fetch_add(1, Ordering::AcqRel) / 2 + 1) * 2;
        while self.all.come.load(Ordering::Acquire) < all {
            if !look() {
                return false;
            }
        }
        true
    }
}

fn team(rank: u32, all: &Arc<Shared>) -> Team {
    let joined = Arc::new(Joined { rank, all: all.clone() });
    let placement = Placement::gather(&*joined, "test").unwrap();
    Team { ensemble: joined.clone(), placement, meetings: Some(joined) }
}

/// Two ranks that may use these CPUs take part in a job, each as a separate process would.
fn two_ranks(job: &Path, cpus: &[u32], duration: Duration) -> [Run; 2] {
    let all = Arc::new(Shared {
        barrier: Barrier::new(2),
        told: Mutex::new(vec![Vec::new(); 2]),
        come: AtomicU64::new(0),
    });
    let rank = |rank: u32| {
        anechoic_system::cpus::pin(cpus).unwrap();
        let team = team(rank, &all);
        let host = team.placement.host_dir(job);
        let own = team.placement.own_cpus()[rank as usize];
        let dir = if rank == 0 { host.clone() } else { team.placement.rank_dir(&host, rank) };
        let plan = lasting(duration, &[own], &[Meeting::Barrier, Meeting::Nothing], Some(team));
        measure(&plan, &dir).unwrap()
    };
    thread::scope(|scope| {
        [0, 1].map(|n| scope.spawn(move || rank(n))).map(|handle| handle.join().unwrap())
    })
}

#[test]
fn ranks_that_share_a_cpu_have_phases_and_no_detours() {
    let _alone = alone();
    let cpu = cpus::allowed()[0];
    let job = tempfile::tempdir().unwrap();
    let [first, _] = two_ranks(job.path(), &[cpu], 50 * GRAIN);
    assert_eq!(first.state, RunState::Complete, "{:?}", first.notes);
    let recording = find(job.path()).unwrap().remove(0);
    let series = recording.series().unwrap();
    let told: Vec<_> = series
        .iter()
        .map(|(s, _)| (s.parameters.rank, s.parameters.copies, s.parameters.step_ticks))
        .collect();
    assert_eq!(told, [(Some(0), 2, None), (Some(1), 2, None)].repeat(2));
    let samples = samples(&recording);
    assert_met(&samples[&0], &samples[&1]);
    assert_eq!(samples[&1].len(), 50);
    assert_eq!(recording.rows_of_cpu::<Detour>(cpu).count(), 0);
}

#[test]
fn ranks_that_are_processes_make_one_recording() {
    let _alone = alone();
    let Some(two) = two_cpus() else { return };
    let job = tempfile::tempdir().unwrap();
    let [first, second] = two_ranks(job.path(), &two, Duration::from_millis(200));
    assert_eq!(first.state, RunState::Complete, "{:?}", first.notes);
    assert!(second.trace.is_none(), "the first rank of a host records what the kernel tells");
    let found = find(job.path()).unwrap();
    let [recording] = &found[..] else { panic!("{} recordings", found.len()) };
    let mut measured: Vec<u32> = recording.run().cpus.iter().map(|cpu| cpu.cpu).collect();
    measured.sort_unstable();
    assert_eq!(measured, two);
    let mut series: Vec<Series> =
        recording.series().unwrap().into_iter().map(|(series, _)| series).collect();
    series.sort_by_key(|series| series.series);
    let told: Vec<_> = series.iter().map(|s| (s.series, s.round, s.parameters.rank)).collect();
    assert_eq!(told, [(0, 0, Some(0)), (1, 0, Some(1)), (2, 1, Some(0)), (3, 1, Some(1))]);
    let samples = samples(recording);
    assert_met(&samples[&0], &samples[&1]);
    assert_eq!(samples[&3].len(), 1_000);
    for cpu in two {
        let detours = recording.rows_of_cpu::<Detour>(cpu).map(|rows| rows.unwrap().len());
        assert!(detours.sum::<usize>() > 0, "no detour on CPU {cpu}");
    }
}
