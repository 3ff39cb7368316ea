//! Which hosts are named: the truth is the rate with which their wake-ups are late.

use super::*;
use crate::cluster::LengthCounts;
use crate::wakeup::host::SourcesOnHost;
use anechoic_lab::builders::activity;
use anechoic_lab::wakeups::{Block, record};
use anechoic_recording::run::RunState;
use anechoic_recording::{ActivityKind, Policy, Sample};
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
        facts: HostFacts {
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
        },
        policy: Policy::fifo(80),
        late_ns: Some(100_000),
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
        part.facts.start_utc += name; // two recordings at one time with one length are no copies
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
    let at = |start: &str, mut part: HostWakeups| {
        part.facts.start_utc = start.into();
        part
    };
    let twice = join(vec![at("t", quiet(1)), at("t", quiet(1))], &[]).expect_err("the same host");
    assert!(twice.why.contains("both claim to be host n001"), "{twice}");
    let copies = join(vec![at("t", quiet(1)), at("t", quiet(2))], &[]).expect_err("copies");
    assert!(copies.why.contains("copies of one recording"), "{copies}");
    let limit = HostWakeups { late_ns: Some(1), ..at("u", quiet(2)) };
    let limits = join(vec![at("t", quiet(1)), limit], &[]).expect_err("other limits");
    assert!(limits.remedy.contains("--late"), "{limits}");
    assert!(limits.why.contains("0.001 µs on n002, 100 µs on n001"), "{limits}");
    assert!(join(vec![], &[]).is_err());
    let other = HostWakeups { policy: Policy::other(), ..at("u", quiet(2)) };
    let found = join(vec![at("t", quiet(1)), other], &[("x".into(), "damaged".into())]);
    let texts = found.expect("joined").findings.into_iter().map(|finding| finding.text);
    let texts = texts.collect::<Vec<_>>().join("\n");
    assert!(texts.contains("scheduling differs") && texts.contains("x is left out"), "{texts}");
}

/// Returns a host with one late wake-up of each of these kinds.
fn host_of_kinds(number: usize, kinds: &[Kind]) -> HostWakeups {
    let mut part = host(number, vec![1.0]);
    let made = kinds.iter().map(|kind| KindOnHost { kind: *kind, ..part.kinds[0].clone() });
    part.kinds = made.collect();
    HostWakeups { facts: HostFacts { start_utc: format!("t{number}"), ..part.facts }, ..part }
}

fn shallow() -> Kind {
    Kind { shallow: true, ..kind() }
}

/// Adds up wake-ups that each went to one source, or of which events were lost, as those of a recording: source and latency in ns.
fn went_to(wakeups: &[(Option<&str>, u64)]) -> SourcesOnHost {
    let mut sum = SourcesOnHost::default();
    for &(source, ns) in wakeups {
        let sample =
            Sample { series: 0, index: 0, cpu: 0, start_ticks: 0, end_ticks: ns, count: 1 };
        let row = match source {
            Some(source) => activity((0, 0), ActivityKind::Activity, source, 0, ns),
            None => activity((0, 0), ActivityKind::NotAttributable, "not-attributable", 0, ns),
        };
        sum.add(&sample, &[row], ns > 100_000, 1.0);
    }
    sum
}

#[test]
fn each_kind_of_a_host_names_its_own_source() {
    let sources = [
        (kind(), went_to(&[(Some("timer"), 5_000), (Some("disk"), 300_000)])),
        (shallow(), went_to(&[(Some("timer"), 110_000)])),
    ];
    let part = host_of_kinds(1, &[kind(), shallow()]);
    let part = HostWakeups { sources: Some(BTreeMap::from(sources)), ..part };
    let found = join(vec![part], &[]).expect("joined");
    let named = found.kinds.iter().map(|kind| kind.hosts[0].source.as_deref());
    assert_eq!(named.collect::<Vec<_>>(), [Some("disk"), Some("timer")]);
    let late = found.sources.iter().map(|source| (&*source.source, source.share_late));
    let expected = [("disk", Some(300.0 / 410.0)), ("timer", Some(110.0 / 410.0))];
    assert_eq!(late.collect::<Vec<_>>(), expected);
    assert_eq!(found.unknown_share_late, Some(0.0));
}

/// The truth is the list of wake-ups: where most of the time of late ones is unknown, no other source is named.
#[test]
fn a_source_of_less_than_what_is_unknown_is_not_named() {
    let cases: [(&[_], _, _); 4] = [
        (&[(Some("timer"), 148_000), (None, 907_000_000)], None, 907_000.0 / 907_148.0),
        (&[(Some("timer"), 50_000), (None, 150_000)], None, 1.0),
        (&[(Some("timer"), 300_000), (None, 100_001)], Some("timer"), 100_001.0 / 400_001.0),
        (&[(Some("timer"), 148_000), (None, 50_000)], Some("timer"), 0.0),
    ];
    for (wakeups, source, unknown) in cases {
        let sources = Some(BTreeMap::from([(kind(), went_to(wakeups))]));
        let part = HostWakeups { sources, ..host_of_kinds(1, &[kind()]) };
        let found = join(vec![part], &[]).expect("joined");
        let (row, total) = (&found.kinds[0].hosts[0], &found.kinds[0].total);
        assert_eq!(row.source.as_deref(), source, "{wakeups:?}");
        for share in [row.unknown_share, total.unknown_share, found.unknown_share_late] {
            let share = share.expect("there are late ones");
            assert!((share - unknown).abs() < 1e-9, "{wakeups:?}: {share}");
        }
    }
}

#[test]
fn a_run_that_was_killed_before_its_first_wake_up_is_a_finding_and_blocks_nothing() {
    let place = tempfile::tempdir().expect("a directory");
    let killed = HostWakeups::from_recording(&record(&place.path().join("host=killed"), &[]));
    let killed = killed.expect("read");
    assert_eq!(killed.late_ns, None);
    let parts = vec![killed.clone(), host_of_kinds(1, &[kind()])];
    let found = join(parts, &[]).expect("joined");
    assert_eq!(found.late_ns, Some(100_000));
    let texts: Vec<&str> = found.findings.iter().map(|finding| &*finding.text).collect();
    assert!(texts.contains(&"nothing was measured on killed"), "{texts:?}");
    assert!(!texts.iter().any(|text| text.contains("not every kind")), "{texts:?}");
    let alone = join(vec![killed], &[]).expect("joined");
    assert_eq!((alone.late_ns, alone.kinds.len()), (None, 0));
}

#[test]
fn the_kinds_of_all_recordings_of_a_host_count() {
    let fewer = |parts: Vec<HostWakeups>| {
        let found = join(parts, &[]).expect("joined").findings;
        let text = "not every kind of wake-up was measured";
        found.into_iter().find(|finding| finding.text.contains(text)).map(|one| one.hosts)
    };
    let again = |mut part: HostWakeups| {
        part.facts.host = "n001".into();
        part
    };
    let both = host_of_kinds(3, &[kind(), shallow()]);
    let split = vec![host_of_kinds(1, &[kind()]), again(host_of_kinds(2, &[shallow()]))];
    assert_eq!(fewer([split, vec![both.clone()]].concat()), None);
    let one = host_of_kinds(1, &[kind()]);
    assert_eq!(fewer(vec![one, both]), Some(vec!["n001".into()]));
}

#[test]
fn the_scheduling_of_few_hosts_is_the_one_that_differs() {
    let scheduled = |number: usize, policy| {
        let part = host_of_kinds(number, &[kind()]);
        HostWakeups { policy, ..part }
    };
    for (few, most) in [(Policy::fifo(80), Policy::other()), (Policy::other(), Policy::fifo(80))] {
        let mut parts = vec![scheduled(1, few)];
        parts.extend((2..5).map(|number| scheduled(number, most.clone())));
        let found = join(parts, &[]).expect("joined").findings;
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].hosts, ["n001"], "{found:?}");
        assert!(found[0].text.contains(&format!("not {} on n001", most.as_str())), "{found:?}");
    }
}
