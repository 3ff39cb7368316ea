//! Which hosts are named: the truth is the rate with which their wake-ups are late.

use super::*;
use crate::cluster::LengthCounts;
use anechoic_lab::wakeups::{Block, record};
use anechoic_recording::Policy;
use anechoic_recording::run::RunState;
use rand::RngExt;
use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::SeedableRng;

const SAMPLES: u64 = 10_000;
/// Five blocks of 32 parts.
const PARTS_OF_RUN: usize = 160;

fn kind() -> Kind {
    Kind { interval_ns: 1_000_000, shallow: false, call: None }
}

/// Returns a host with this number of late wake-ups in each part of the time.
fn host(number: usize, late: Vec<f64>) -> HostWakeups {
    let on_host = KindOnHost {
        kind: kind(),
        cpus: 2,
        samples: SAMPLES,
        lost: 0,
        overruns: 0,
        late,
        latencies: LengthCounts::default(),
    };
    HostWakeups {
        host: format!("n{number:03}"),
        recording: String::new(),
        measured_by: String::new(),
        model: "m".into(),
        kernel: String::new(),
        hypervisor: None,
        method: "wakeup".into(),
        state: RunState::Complete,
        start_utc: String::new(),
        end_utc: None,
        parallel: None,
        injected: false,
        policy: Policy::fifo(80),
        late_ns: 100_000,
        doubts: vec![],
        kinds: vec![on_host],
        sources: None,
    }
}

/// Returns late wake-ups that come independently, on average `mean` times in the run, each time `burst` at once.
fn late(random: &mut Pcg64Mcg, mean: f64, burst: f64) -> Vec<f64> {
    let mut parts = vec![0.0; PARTS_OF_RUN];
    let mut at = 0.0;
    loop {
        at -= (1.0 - random.random::<f64>()).ln() / mean;
        if at >= 1.0 {
            return parts;
        }
        parts[(at * PARTS_OF_RUN as f64) as usize] += burst;
    }
}

fn named(hosts: &[HostWakeups]) -> Vec<String> {
    let found = late_hosts(hosts, &BTreeSet::from([kind()])).found;
    found.into_iter().map(|host| host.host).collect()
}

#[test]
fn equal_hosts_are_named_in_at_most_one_job_in_a_hundred() {
    const JOBS: u32 = 1_000;
    let mut random = Pcg64Mcg::seed_from_u64(37);
    for hosts in [8, 16, 64] {
        for (mean, burst) in
            [(0.1, 1.0), (0.1, 5.0), (1.0, 1.0), (5.0, 1.0), (5.0, 8.0), (60.0, 1.0)]
        {
            let false_names = (0..JOBS).filter(|_| {
                let all: Vec<_> =
                    (0..hosts).map(|at| host(at, late(&mut random, mean, burst))).collect();
                !named(&all).is_empty()
            });
            let wrong = false_names.count();
            // 1 %, and three standard errors of the simulation.
            assert!(
                wrong <= 19,
                "{hosts} hosts, {mean} times {burst} late: {wrong} of {JOBS} jobs"
            );
        }
    }
}

#[test]
fn a_host_with_eight_late_wake_ups_where_others_have_hardly_any_is_named() {
    const JOBS: u32 = 500;
    let mut random = Pcg64Mcg::seed_from_u64(38);
    for hosts in [8, 16, 64] {
        let mut right = 0;
        for _ in 0..JOBS {
            let mut all: Vec<_> =
                (1..hosts).map(|at| host(at, late(&mut random, 0.1, 1.0))).collect();
            let mut eight = vec![0.0; PARTS_OF_RUN];
            (0..8).for_each(|_| eight[random.random_range(0..PARTS_OF_RUN)] += 1.0);
            all.push(host(hosts, eight));
            right += u32::from(named(&all).contains(&format!("n{hosts:03}")));
        }
        assert!(right * 100 >= JOBS * 95, "{hosts} hosts: {right} of {JOBS}");
    }
}

#[test]
fn one_disturbance_or_too_few_hosts_name_nobody() {
    let quiet = |number: usize| host(number, vec![0.0; PARTS_OF_RUN]);
    let mut once = vec![0.0; PARTS_OF_RUN];
    once[7] = 500.0;
    let all: Vec<_> = (1..16).map(quiet).chain([host(16, once)]).collect();
    assert!(named(&all).is_empty(), "one disturbance is one event, however many it hits");
    let mut often = vec![0.0; PARTS_OF_RUN];
    often.iter_mut().step_by(4).for_each(|late| *late = 1.0);
    let few: Vec<_> = (1..7).map(quiet).chain([host(7, often.clone())]).collect();
    assert!(named(&few).is_empty(), "seven hosts");
    let enough: Vec<_> = (1..8).map(quiet).chain([host(8, often)]).collect();
    assert_eq!(named(&enough), ["n008"]);
}

/// The truth is the list of latencies that each recording was made from.
#[test]
fn the_latencies_of_each_host_and_of_all_are_those_that_were_recorded() {
    let place = tempfile::tempdir().expect("a directory");
    let mut random = Pcg64Mcg::seed_from_u64(39);
    let mut all: Vec<u64> = vec![];
    let mut parts = vec![];
    for name in ["b", "a"] {
        let mut here: Vec<u64> = vec![];
        let blocks = [0, 1].map(|cpu| {
            let taken = || (random.random::<f64>().powi(8) * 200_000.0) as u64 + 5_000;
            let taken: Vec<u64> = std::iter::repeat_with(taken).take(6_000).collect();
            here.extend(&taken);
            Block::new(cpu, taken)
        });
        let recording = record(&place.path().join(format!("host={name}")), &blocks);
        let mut part = HostWakeups::from_recording(&recording).expect("read");
        part.start_utc += name; // two recordings at one time with one length are no copies
        assert_eq!(part.kinds[0].cpus, 2);
        parts.push(part);
        all.extend(here);
    }
    all.sort_unstable();
    let found = join(parts, &[]).expect("joined");
    let hosts: Vec<&str> = found.kinds[0].hosts.iter().map(|row| &*row.host).collect();
    assert!(hosts.contains(&"a") && hosts.contains(&"b") && hosts.len() == 2, "{hosts:?}");
    let total = &found.kinds[0].total;
    assert_eq!((total.samples, total.cpus), (24_000, 4));
    assert_eq!(total.max_ns, all.last().copied());
    assert_eq!(total.late as usize, all.iter().filter(|ns| **ns > 100_000).count());
    for (ns, share) in [(total.p50_ns, 0.5), (total.p99_ns, 0.99), (total.p999_ns, 0.999)] {
        let truth = all[(24_000.0 * share) as usize - 1] as f64;
        let ns = ns.expect("enough") as f64;
        assert!((ns / truth - 1.0).abs() < 2e-3, "{share}: {ns}, not {truth}");
    }
}

#[test]
fn what_does_not_fit_together_is_refused_or_noted() {
    let quiet = |number: usize| host(number, vec![0.0; PARTS_OF_RUN]);
    let at = |start: &str, part: HostWakeups| HostWakeups { start_utc: start.into(), ..part };
    let twice = join(vec![at("t", quiet(1)), at("t", quiet(1))], &[]).expect_err("the same host");
    assert!(twice.why.contains("both claim to be host n001"), "{twice}");
    let copies = join(vec![at("t", quiet(1)), at("t", quiet(2))], &[]).expect_err("copies");
    assert!(copies.why.contains("copies of one recording"), "{copies}");
    let limit = HostWakeups { late_ns: 1, ..at("u", quiet(2)) };
    let limits = join(vec![at("t", quiet(1)), limit], &[]).expect_err("other limits");
    assert!(limits.remedy.contains("--late"), "{limits}");
    assert!(join(vec![], &[]).is_err());
    let other = HostWakeups { policy: Policy::other(), ..at("u", quiet(2)) };
    let found = join(vec![at("t", quiet(1)), other], &[("x".into(), "damaged".into())]);
    let texts = found.expect("joined").findings.into_iter().map(|finding| finding.text);
    let texts = texts.collect::<Vec<_>>().join("\n");
    assert!(texts.contains("scheduling differs") && texts.contains("x is left out"), "{texts}");
}
