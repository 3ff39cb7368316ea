//! The samples of many hosts: every number known beforehand.

use anechoic_analyze::cluster::FindingKind;
use anechoic_analyze::sampled::{HostSamples, JoinedExperiment, SampledHosts, join};
use anechoic_analyze::samples::measure;
use anechoic_lab::builders;
use anechoic_recording::parallel::{Parallel, Rank};
use anechoic_recording::run::{Ended, Outcome, RunState};
use anechoic_recording::{Fixed, Parameters, Recorder, Recording, Run, Sample, Series};
use std::path::Path;

/// A millisecond of a counter of 1 GHz.
const GRAIN: u64 = 1_000_000;
/// Samples of a series.
const COUNT: u64 = 1_000;

/// What one loop measured: its CPU, and for each sample its duration or its work.
struct Loop<'a> {
    cpu: u32,
    fixed: Fixed,
    value: &'a dyn Fn(u64) -> u64,
}

fn series(number: u32, looped: &Loop<'_>) -> Series {
    Series {
        series: number,
        method: "loops".into(),
        variant: "counter".into(),
        cpu: Some(looped.cpu),
        tid: 100,
        policy: "other".into(),
        grain_ticks: GRAIN,
        fixed: looped.fixed,
        asked: COUNT,
        round: 0,
        parameters: Parameters { iterations: 1, copies: 1, ..Parameters::default() },
    }
}

fn samples(number: u32, looped: &Loop<'_>) -> Vec<Sample> {
    let mut end = 0;
    let sample = |index: u64| {
        let value = (looped.value)(index);
        let start_ticks = end;
        end += if looped.fixed == Fixed::Work { value } else { GRAIN };
        Sample { series: number, index, cpu: looped.cpu, start_ticks, end_ticks: end, count: value }
    };
    (0..COUNT).map(sample).collect()
}

/// Writes a recording of these loops and summarises it, as rank 0 reads it.
fn host(name: &str, loops: &[Loop<'_>], change: impl Fn(&mut Run)) -> HostSamples {
    let place = tempfile::tempdir().unwrap();
    let dir = place.path().join(format!("host={name}"));
    write(&dir, loops, change);
    let host = HostSamples::from_recording(&Recording::open(&dir).unwrap()).unwrap();
    serde_json::from_slice(&serde_json::to_vec(&host).unwrap()).unwrap()
}

fn write(dir: &Path, loops: &[Loop<'_>], change: impl Fn(&mut Run)) {
    let all: Vec<usize> = (0..loops.len()).collect();
    write_with(dir, loops, change, &all);
}

/// Writes a recording that has the samples of some of the loops only.
fn write_with(dir: &Path, loops: &[Loop<'_>], change: impl Fn(&mut Run), kept: &[usize]) {
    let cpus =
        loops.iter().map(|looped| builders::cpu_run(looped.cpu, (0, COUNT * GRAIN), 25)).collect();
    let mut run = builders::run("loops", builders::clock(1_000_000_000), cpus);
    run.end_utc = Some("2026-05-09T07:31:27Z".into());
    let all: Vec<Vec<Sample>> =
        (0..).zip(loops).map(|(number, looped)| samples(number, looped)).collect();
    run.outcomes = (0..)
        .zip(&all)
        .map(|(series, samples): (u32, &Vec<Sample>)| Outcome {
            series,
            last_ticks: samples.last().unwrap().end_ticks,
            samples: COUNT,
            ended: Ended::Complete,
            ..Outcome::default()
        })
        .collect();
    change(&mut run);
    let mut recorder = Recorder::create(dir, &run).unwrap();
    let planned: Vec<Series> =
        (0..).zip(loops).map(|(number, looped)| series(number, looped)).collect();
    recorder.append(&planned).unwrap();
    kept.iter().for_each(|&at| recorder.append(&all[at]).unwrap());
    recorder.finish(&run).unwrap();
}

/// Every tenth sample takes this much longer than a millisecond.
fn work(cpu: u32, value: &dyn Fn(u64) -> u64) -> Loop<'_> {
    Loop { cpu, fixed: Fixed::Work, value }
}

fn late(by: u64) -> impl Fn(u64) -> u64 {
    move |index| if index % 10 == 5 { GRAIN + by } else { GRAIN }
}

fn only(found: &SampledHosts) -> &JoinedExperiment {
    let [one] = &found.experiments[..] else { panic!("{:?}", found.experiments) };
    one
}

#[test]
fn losses_add_up_over_unequal_hosts() {
    let (small, large) = (late(10_000), late(500_000));
    let hosts = vec![
        host("b", &[work(0, &large)], |_| {}),
        host("a", &[work(0, &small), work(1, &small)], |_| {}),
    ];
    let found = join(hosts, &[]).unwrap();
    assert_eq!((found.findings.len(), found.methods.join(",")), (0, "loops".to_owned()));
    let all = only(&found);
    assert_eq!((all.hosts, all.samples), (2, 3 * COUNT));
    assert_eq!(all.experiment.grain_ns, Some(GRAIN));
    // A tenth of the samples lose 10 µs on two CPUs and 500 µs on one.
    let near = |found: f64, expected: f64| (found - expected).abs() < 1e-9;
    assert!(near(all.noise, (2.0 * 0.001 + 0.05) / 3.0), "{}", all.noise);
    let lost = all.lost.as_ref().unwrap();
    assert_eq!((lost.min_ns, lost.p50_ns, lost.max_ns), (0, 0, 500_000));
    assert!(near(lost.mean_ns / 1e3, 52.0 / 3.0), "{lost:?}");
    let at = |ns: u64| {
        all.shares.iter().find(|share| share.at_least_ns == ns).map(|share| share.samples)
    };
    assert_eq!((at(1_000), at(20_000), at(200_000)), (Some(300), Some(100), Some(100)));
    assert_eq!(at(1_000_000), None, "no sample lost so much");
    let names: Vec<_> = all.by_host.iter().map(|row| (&*row.host, row.cpus)).collect();
    assert_eq!(names, [("b", 1), ("a", 2)], "the noisiest first");
    let cpus: Vec<_> = all.by_cpu.iter().map(|row| (&*row.host, row.cpu)).collect();
    assert_eq!(cpus, [("b", Some(0)), ("a", Some(0)), ("a", Some(1))]);
    let worst = &all.by_cpu[0];
    assert_eq!((worst.min, worst.median, worst.p99, worst.max), (1e6, 1e6, 1.5e6, 1.5e6));
    assert!(near(worst.mean, 1.05e6) && near(worst.noise, 0.05), "{worst:?}");
    assert!(worst.at_least.is_some_and(|least| least > 0.04 && least <= 0.05), "{worst:?}");
    assert_eq!(all.slowest, Some(0));
}

#[test]
fn one_cpu_has_the_noise_of_its_own_distribution() {
    let windows = |index: u64| if index.is_multiple_of(4) { 900 } else { 1_000 };
    let late = late(70_000);
    let cases = [work(1, &late), Loop { cpu: 1, fixed: Fixed::Time, value: &windows }];
    for looped in cases {
        let place = tempfile::tempdir().unwrap();
        let dir = place.path().join("host=a");
        write(&dir, std::slice::from_ref(&looped), |_| {});
        let recording = Recording::open(&dir).unwrap();
        let alone = measure(&recording).unwrap().series.remove(0).distribution.unwrap();
        let found = join(vec![HostSamples::from_recording(&recording).unwrap()], &[]).unwrap();
        let row = &only(&found).by_cpu[0];
        assert!((row.noise - alone.noise.unwrap()).abs() < 1e-9, "{:?}: {row:?}", looped.fixed);
        assert_eq!((row.min, row.max), (alone.min, alone.max));
        assert!((row.mean - alone.mean).abs() < 1e-6);
        let [median, p99] = [0.5, 0.99].map(|share| {
            alone.quantiles.iter().find(|quantile| quantile.share == share).unwrap().value
        });
        assert_eq!((row.median, row.p99), (median, p99), "{:?}", looped.fixed);
    }
}

#[test]
fn a_cpu_that_stands_out_is_found_among_its_class() {
    let (usual, noisy) = (late(10_000), late(300_000));
    let hosts: Vec<HostSamples> = (0..6)
        .map(|number| {
            let second: &dyn Fn(u64) -> u64 = if number == 4 { &noisy } else { &usual };
            host(&format!("n{number}"), &[work(0, &usual), work(1, second)], |_| {})
        })
        .collect();
    let found = join(hosts, &[]).unwrap();
    let out = &only(&found).cpu_outliers.found;
    let names: Vec<_> = out.iter().map(|outlier| (&*outlier.host, outlier.cpu)).collect();
    assert_eq!(names, [("n4", Some(1))]);
    assert!((out[0].ratio.unwrap() - 30.0).abs() < 1e-6, "{out:?}");
}

#[test]
fn what_is_wrong_with_a_data_set_is_named() {
    let usual = late(10_000);
    let job = |run: &mut Run, host: &str, rank: u32| {
        run.parallel = Some(Parallel {
            job: None,
            through: "made up".into(),
            ranks: 3,
            hosts: 3,
            host: host.into(),
            here: vec![Rank { rank, cpus: vec![0], tids: vec![] }],
        });
    };
    let hosts = vec![
        host("a", &[work(0, &usual)], |run| {
            job(run, "a", 0);
            run.state = RunState::Interrupted("a signal".into());
            run.outcomes[0].wrong = 2;
        }),
        host("b", &[work(0, &usual)], |run| {
            job(run, "b", 1);
            run.outcomes[0].lost = 7;
        }),
    ];
    let left_out = [("host=c".to_owned(), "it is damaged".to_owned())];
    let found = join(hosts.clone(), &left_out).unwrap();
    let kinds: Vec<FindingKind> = found.findings.iter().map(|finding| finding.kind).collect();
    let expected = [
        FindingKind::MissingHosts,
        FindingKind::LeftOut,
        FindingKind::EndedEarly,
        FindingKind::Losses,
        FindingKind::WrongResults,
    ];
    assert_eq!(kinds, expected, "{:?}", found.findings);
    assert!(found.findings[3].text.contains("7 samples were lost on b"), "{:?}", found.findings);
    let twice = join(vec![hosts[0].clone(), hosts[0].clone()], &[]).unwrap_err();
    assert!(twice.to_string().contains("both claim to be host a"), "{twice}");
    assert!(join(vec![], &[]).is_err());
}

/// A series whose samples were all lost has no row, so a finding names it with its loss.
#[test]
fn a_series_of_which_all_samples_were_lost_is_named() {
    let place = tempfile::tempdir().unwrap();
    let dir = place.path().join("host=a");
    let usual = late(10_000);
    let lost = |run: &mut Run| {
        run.outcomes[1].lost = COUNT;
        run.outcomes[1].wrong = 3;
    };
    write_with(&dir, &[work(0, &usual), work(7, &usual)], lost, &[0]);
    let found =
        join(vec![HostSamples::from_recording(&Recording::open(&dir).unwrap()).unwrap()], &[])
            .unwrap();
    assert_eq!(only(&found).samples, COUNT, "those of the other series");
    let texts: Vec<&str> = found.findings.iter().map(|finding| &*finding.text).collect();
    let [count, named, wrong] = texts[..] else { panic!("{texts:?}") };
    assert_eq!(count, "1000 samples were lost on a");
    let named_so = "all 1000 samples of counter of 1ms on CPU 7 of a were lost";
    assert!(named.starts_with(named_so), "{named}");
    assert!(wrong.contains("3 samples returned a wrong value"), "{wrong}");

    let cut = place.path().join("host=b");
    let few_lost = |run: &mut Run| run.outcomes[1].lost = 5;
    write_with(&cut, &[work(0, &usual), work(7, &usual)], few_lost, &[0]);
    let found =
        join(vec![HostSamples::from_recording(&Recording::open(&cut).unwrap()).unwrap()], &[])
            .unwrap();
    let named = &found.findings[1].text;
    assert!(named.contains("no sample of counter of 1ms on CPU 7 of b can be used"), "{named}");
    assert!(named.ends_with("1000 were taken, 5 of them lost"), "{named}");
}
