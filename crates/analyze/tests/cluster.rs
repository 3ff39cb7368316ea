//! Many small recordings, added up: every number known beforehand, and what is wrong with a data set told.

use anechoic_analyze::cluster::{Cluster, ClusterBuilder, Finding, FindingKind, HostSummary};
use anechoic_analyze::competition::Competition;
use anechoic_analyze::known::Doubt;
use anechoic_analyze::stats::Interval;
use anechoic_lab::builders;
use anechoic_lab::two_cpus::{MICRO, SECOND, SHORTEST};
use anechoic_recording::attribution::Attribution;
use anechoic_recording::parallel::{Parallel, Rank};
use anechoic_recording::run::{CpuRun, RunState};
use anechoic_recording::{
    Activity, ActivityKind, Detour, Loss, ProblemKind, Recorder, Recording, Run,
};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// A run of `seconds` on this many CPUs.
fn run(cpus: u32, seconds: u64) -> Run {
    let cpu = |cpu| CpuRun {
        iterations: seconds * SECOND / 25,
        ..builders::cpu_run(cpu, (0, seconds * SECOND), SHORTEST)
    };
    Run {
        threshold_ticks: 150,
        end_utc: Some("2026-05-09T07:31:27Z".into()),
        ..builders::run("detours", builders::clock(SECOND), (0..cpus).map(cpu).collect())
    }
}

/// Every 4 ms a detour on each CPU, 10 µs after that of the CPU before; as long as `length_us` of its CPU says.
fn detours(run: &Run, length_us: impl Fn(u32) -> u64) -> Vec<Detour> {
    let ticks = run.end_ticks / SECOND * 250;
    let on_cpu = |cpu: &CpuRun| {
        let (cpu, length) = (cpu.cpu, length_us(cpu.cpu) * MICRO);
        (0..ticks).filter(move |_| length > 0).map(move |tick| {
            let start_ticks = tick * SECOND / 250 + (100 + 10 * u64::from(cpu)) * MICRO;
            Detour { cpu, start_ticks, end_ticks: start_ticks + length + SHORTEST }
        })
    };
    run.cpus.iter().flat_map(on_cpu).collect()
}

fn write(dir: &Path, run: &Run, detours: &[Detour]) -> PathBuf {
    let mut recorder = Recorder::create(dir, run).expect("a new directory");
    for rows in detours.chunk_by(|a, b| a.cpu == b.cpu) {
        recorder.append(rows).expect("in order");
    }
    recorder.finish(run).expect("there is space");
    dir.to_owned()
}

fn summary(dir: &Path) -> HostSummary {
    HostSummary::from_recording(&Recording::open(dir).expect("just written"))
        .expect("a sound recording")
}

/// All of a host's lost time is the tick's.
fn attribute(dir: &Path, detours: &[Detour]) {
    let recording = Recording::open(dir).expect("just written");
    let mut writer = recording.derive::<Activity>().expect("writable");
    for on_cpu in detours.chunk_by(|a, b| a.cpu == b.cpu) {
        let row = |(index, detour): (u64, &Detour)| {
            let length = detour.end_ticks - detour.start_ticks - SHORTEST;
            let at = (detour.cpu, index);
            builders::activity(at, ActivityKind::Activity, "timer-tick", detour.start_ticks, length)
        };
        writer.append(&(0..).zip(on_cpu).map(row).collect::<Vec<_>>()).expect("in order");
    }
    writer.finish().expect("there is space");
    recording.write_attribution(&Attribution::default()).expect("writable");
}

/// Returns a summary as rank 0 reads it.
fn back(host: &HostSummary) -> HostSummary {
    let json = serde_json::to_vec(host).expect("it is plain data");
    serde_json::from_slice(&json).expect("it reads back")
}

/// What 16 hosts of 2 CPUs say; on host 7 the CPU 1 is nine times as noisy.
fn sixteen(change: impl Fn(u32, &mut HostSummary)) -> ClusterBuilder {
    static HOSTS: OnceLock<Vec<HostSummary>> = OnceLock::new();
    let mut all = ClusterBuilder::new();
    for (host, summary) in (0..).zip(HOSTS.get_or_init(record_sixteen)) {
        let mut summary = summary.clone();
        change(host, &mut summary);
        all.add(back(&summary)).expect("sixteen different hosts");
    }
    all
}

fn record_sixteen() -> Vec<HostSummary> {
    let place = tempfile::tempdir().expect("a place for them");
    let record = |host: u32| {
        let start_utc = format!("2026-05-09T07:31:17.0000{host:02}Z");
        let run = Run { start_utc, ..run(2, 2) };
        // Lengths of 19 to 22 µs, that differ between CPUs.
        let usual = |cpu| 19 + u64::from(host * 7 + cpu * 3) % 4;
        let detours = detours(&run, |cpu| if (host, cpu) == (7, 1) { 180 } else { usual(cpu) });
        let dir = write(&place.path().join(format!("host=node{host:02}")), &run, &detours);
        attribute(&dir, &detours);
        summary(&dir)
    };
    (0..16).map(record).collect()
}

fn near(a: f64, b: f64) -> bool {
    (a - b).abs() < 1e-9
}

#[test]
fn one_host_alone() {
    let place = tempfile::tempdir().expect("a place for it");
    let run = run(3, 2);
    // 20, 20 and 40 µs from 100, 110 and 120 µs on: the second half of the first lies in the second.
    let detours = detours(&run, |cpu| [20, 20, 40][cpu as usize]);
    let dir = write(&place.path().join("host=a"), &run, &detours);
    let host = summary(&dir);
    assert_eq!((&*host.host, &host.sources), ("a", &None));
    let first: Vec<_> = host
        .first_cpus
        .iter()
        .map(|first| {
            let any = first.any.expect("a common time");
            (first.cpus, first.lost_ns, any.window_ns, any.away_ns)
        })
        .collect();
    let second = 2_000_000_000;
    // 500 detours: 20 µs; 20 + 20, of which 30 at any; 80, of which 60 at any.
    let expected = [
        (1, 10_000_000, second, 10_000_000),
        (2, 20_000_000, second, 15_000_000),
        (3, 40_000_000, second, 30_000_000),
    ];
    assert_eq!(first, expected);
    let read = back(&host);
    assert_eq!(read, host);

    let mut all = ClusterBuilder::new();
    all.add(host).expect("the first");
    let cluster = all.finish().expect("one host");
    assert!(near(cluster.total.noise, 0.02 / 3.0), "{}", cluster.total.noise);
    assert_eq!((cluster.total.detours, cluster.total.lost_ns), (1_500, 40_000_000));
    let lengths = cluster.total.lengths.as_ref().expect("there were some");
    assert_eq!((lengths.min_ns, lengths.max_ns), (20_000, 40_000));
    assert_eq!(cluster.cpus.iter().map(|cpu| cpu.cpu).collect::<Vec<_>>(), [2, 0, 1]);
    let used: Vec<_> = cluster.by_cpus.iter().map(|used| (used.count, used.hosts)).collect();
    assert_eq!(used, [(1, 1), (2, 1), (3, 1)]);
    assert!(near(cluster.by_hosts[0].any.expect("measured"), 0.015), "{:?}", cluster.by_hosts);
    assert!(cluster.findings.is_empty(), "{:?}", cluster.findings);
    // Too few for any verdict, and it says so.
    assert_eq!((cluster.cpu_outliers.judged, cluster.cpu_outliers.fewest), (0, 8));
    assert_eq!(cluster.cpu_outliers.classes[0].spread, None);
    assert!(cluster.cpu_outliers.found.is_empty());
}

/// A source's rate is that of the CPUs that it touched, as in the result of one recording.
#[test]
fn a_source_of_half_of_the_cpus() {
    let cluster = sixteen(|_, host| {
        host.sources.iter_mut().flatten().for_each(|source| source.cpus = 1);
    });
    let cluster = cluster.finish().expect("sixteen hosts");
    let tick = &cluster.sources.expect("all were attributed").rows[0];
    assert!(tick.cpus == 16 && near(tick.rate_per_s, 500.0), "{tick:?}");
}

/// What ranks send to each other, and what `merge` reads, are the same numbers: to the last bit.
#[test]
fn numbers_are_read_back_as_they_were_written() {
    let place = tempfile::tempdir().expect("a place for it");
    let run = run(1, 2);
    let mut host = summary(&write(&place.path().join("host=a"), &run, &detours(&run, |_| 20)));
    for step in 1..2_000_u64 {
        let bits = step.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 12;
        let one_to_two = f64::from_bits(1.0_f64.to_bits() | bits);
        let scale = 10_f64.powi(step as i32 % 18 - 9);
        host.interval = Some(Interval { low: one_to_two * scale, high: one_to_two / scale });
        let read = back(&host);
        assert_eq!(read.interval, host.interval, "step {step}");
    }
}

#[test]
fn many_hosts_with_one_noisy_cpu() {
    let cluster = sixteen(|_, _| {}).finish().expect("sixteen hosts");
    assert_eq!((cluster.total.hosts, cluster.total.cpus), (16, 32));
    assert_eq!((&*cluster.hosts[0].host, cluster.hosts[0].worst_cpu), ("node07", Some(1)));
    assert_eq!((&*cluster.cpus[0].host, cluster.cpus[0].cpu), ("node07", 1));
    assert!(near(cluster.cpus[0].noise, 0.045), "{}", cluster.cpus[0].noise);
    let [outlier] = &cluster.cpu_outliers.found[..] else { panic!("{:?}", cluster.cpu_outliers) };
    assert_eq!((&*outlier.host, outlier.cpu), ("node07", Some(1)));
    assert!((outlier.ratio.expect("the median is not 0") - 9.0).abs() < 0.5, "{outlier:?}");
    assert!(outlier.p < 1e-6, "{outlier:?}");
    let [host] = &cluster.host_outliers.found[..] else { panic!("{:?}", cluster.host_outliers) };
    assert_eq!((&*host.host, host.cpu), ("node07", None));
    assert!(cluster.findings.is_empty(), "{:?}", cluster.findings);

    let sources = cluster.sources.as_ref().expect("all were attributed");
    let [tick] = &sources.rows[..] else { panic!("{:?}", sources.rows) };
    assert_eq!((&*tick.source, tick.hosts, tick.cpus), ("timer-tick", 16, 32));
    assert!(near(tick.share, 1.0) && near(sources.unattributed, 0.0), "{tick:?}");
    assert!(near(tick.rate_per_s, 250.0) && tick.max_ns == 180_000, "{tick:?}");
    assert_eq!(tick.most_on, "node07");

    let hosts: Vec<_> = cluster.by_hosts.iter().map(|used| used.count).collect();
    assert_eq!(hosts, [1, 2, 4, 8, 16]);
    assert!(cluster.by_hosts.iter().is_sorted_by(|a, b| a.worst <= b.worst && a.any <= b.any));
    let interval = cluster.total.interval.expect("every host has one");
    assert!(interval.low <= cluster.total.noise && cluster.total.noise <= interval.high);
}

#[test]
fn a_noisier_host_is_explained_with_two_hosts_too() {
    let place = tempfile::tempdir().expect("a place for them");
    let host = |name: &str, tick: u64, thread: u64, governor: &str| {
        let start_utc = format!("2026-05-09T07:31:17.{name}Z");
        let run = Run { start_utc, ..run(1, 2) };
        let rows = detours(&run, |_| tick + thread);
        let dir = write(&place.path().join(format!("host={name}")), &run, &rows);
        attribute(&dir, &rows);
        let mut host = summary(&dir);
        let [source] = &mut host.sources.as_mut().expect("attributed")[..] else {
            panic!("a tick")
        };
        let all = source.lost_ns;
        source.lost_ns = all * tick / (tick + thread);
        let evil = anechoic_analyze::cluster::HostSource {
            source: "thread".into(),
            name: "evil".into(),
            lost_ns: all - source.lost_ns,
            ..source.clone()
        };
        host.sources.as_mut().expect("attributed").push(evil);
        host.settings.insert("governor".into(), governor.into());
        host
    };
    let merged = |hosts: Vec<HostSummary>| {
        let mut all = ClusterBuilder::new();
        hosts.into_iter().for_each(|host| all.add(host).expect("different hosts"));
        all.finish().expect("hosts").differences.expect("compared")
    };
    let noisy = || host("000001", 20, 380, "powersave");
    let quiet = |number: u32| host(&format!("{number:06}"), 20, 0, "performance");
    for others in [1, 4] {
        let found = merged(std::iter::once(noisy()).chain((2..2 + others).map(quiet)).collect());
        let [found] = &found[..] else { panic!("{found:?}") };
        assert!(found.host == "000001" && near(found.noise, 0.1) && near(found.others, 0.005));
        let [source] = &found.sources[..] else { panic!("{found:?}") };
        assert_eq!((&*source.source, &*source.name), ("thread", "evil"));
        assert!(near(source.noise, 0.095) && near(source.others, 0.0), "{source:?}");
        let [setting] = &found.settings[..] else { panic!("{found:?}") };
        assert_eq!((&*setting.name, setting.here.as_deref()), ("governor", Some("powersave")));
        assert_eq!(setting.others, "performance");
        std::fs::remove_dir_all(place.path()).expect("they are there");
    }
    assert_eq!(merged(vec![quiet(1), host("000002", 21, 0, "performance")]), []);
}

#[test]
fn the_order_of_hosts_makes_no_difference() {
    let place = tempfile::tempdir().expect("a place for them");
    let hosts: Vec<HostSummary> = (0..3)
        .map(|host| {
            let run = run(2, 1);
            let detours = detours(&run, |cpu| u64::from(20 + host + cpu));
            summary(&write(&place.path().join(format!("host={host}")), &run, &detours))
        })
        .collect();
    let merged = |order: [usize; 3]| {
        let mut all = ClusterBuilder::new();
        order.into_iter().for_each(|at| all.add(hosts[at].clone()).expect("different hosts"));
        all.finish().expect("three hosts")
    };
    assert_eq!(merged([0, 1, 2]), merged([2, 0, 1]));
}

/// Of a doubt that has no measure, no host has the most.
#[test]
fn hosts_that_share_a_doubt_are_named_together() {
    let waiting = |part| Doubt::Competition { competition: Competition::Waiting(part) };
    let cases = [
        ([Some(Doubt::MeasuredTogether), Some(Doubt::MeasuredTogether)], "node00, node01: another"),
        ([Some(waiting(0.2)), None], "node00: for 20 %"),
        ([Some(waiting(0.2)), Some(waiting(0.3))], "node00, node01 (the most): for 30 %"),
    ];
    for (doubts, expected) in cases {
        let doubt = |host: u32| doubts.get(host as usize).cloned().flatten();
        let cluster = sixteen(|host, summary| summary.doubts = doubt(host).into_iter().collect());
        let cluster = cluster.finish().expect("hosts");
        let doubtful = |finding: &&Finding| finding.kind == FindingKind::Doubtful;
        let found: Vec<&Finding> = cluster.findings.iter().filter(doubtful).collect();
        let [finding] = &found[..] else { panic!("{found:?}") };
        assert!(finding.text.starts_with(expected), "{}", finding.text);
    }
}

fn kinds(cluster: &Cluster) -> Vec<FindingKind> {
    cluster.findings.iter().map(|finding| finding.kind).collect()
}

#[test]
fn what_is_wrong_is_told() {
    let job = |hosts: u32, host: u32| Parallel {
        job: None,
        through: "a launcher".into(),
        ranks: 2 * hosts,
        hosts,
        host: format!("node{host:02}"),
        here: (0..2).map(|r| Rank { rank: 2 * host + r, cpus: vec![r], tids: vec![] }).collect(),
    };
    type Change<'a> = Box<dyn Fn(u32, &mut HostSummary) + 'a>;
    let on_3 = |change: fn(&mut HostSummary)| -> Change<'_> {
        Box::new(move |number, host| {
            if number == 3 {
                change(host)
            }
        })
    };
    let cases: Vec<(&str, Change<'_>, &[FindingKind], &str)> = vec![
        ("sound", Box::new(|_, _| {}), &[], ""),
        ("all of a job", Box::new(|number, host| host.parallel = Some(job(16, number))), &[], ""),
        (
            "hosts missing",
            Box::new(|number, host| host.parallel = Some(job(20, number))),
            &[FindingKind::MissingHosts],
            "only 16 of the job's 20 hosts are present: the hosts of ranks 32, 33, 34, 35 and 4 more are missing",
        ),
        (
            "a rank that the job does not have",
            Box::new(|number, host| {
                let mut job = job(20, number);
                job.here.push(Rank { rank: 40, cpus: vec![], tids: vec![] });
                host.parallel = Some(job);
            }),
            &[FindingKind::MissingHosts],
            "the hosts of ranks 32, 33, 34, 35 and 4 more are missing",
        ),
        (
            "one of another job",
            Box::new(|number, host| {
                let other = || Parallel { job: Some("7".into()), ..job(1, 0) };
                host.parallel = Some(if number == 0 { other() } else { job(15, number) });
            }),
            &[FindingKind::Jobs],
            "2 ranks on 1 host through a launcher (job 7) (node00)",
        ),
        (
            "one of no job",
            Box::new(|number, host| host.parallel = (number > 0).then(|| job(15, number))),
            &[FindingKind::Jobs],
            "no job (node00)",
        ),
        ("cut off", on_3(|host| host.state = RunState::Running), &[FindingKind::CutOff], "node03"),
        (
            "ended early",
            on_3(|host| host.state = RunState::Interrupted("SIGTERM".into())),
            &[FindingKind::EndedEarly],
            "SIGTERM",
        ),
        (
            "version",
            on_3(|host| host.measured_by = "9.9".into()),
            &[FindingKind::Versions],
            "9.9 (node03)",
        ),
        (
            "method",
            on_3(|host| host.method = "fwq".into()),
            &[FindingKind::Methods],
            "fwq (node03)",
        ),
        (
            "threshold",
            on_3(|host| host.threshold_ns = 1_000),
            &[FindingKind::Thresholds],
            "from 60 to 1000 ns",
        ),
        ("nearly the same threshold", on_3(|host| host.threshold_ns += 1), &[], ""),
        (
            "lost detours",
            on_3(|host| host.cpus[0].lost_detours = 5),
            &[FindingKind::Losses],
            "5 detours were lost on node03",
        ),
        (
            "not attributed",
            on_3(|host| host.sources = None),
            &[FindingKind::NotAttributed],
            "node03",
        ),
        (
            "nothing measured",
            on_3(|host| host.cpus.iter_mut().for_each(|cpu| cpu.wall_ns = 0)),
            &[FindingKind::NothingMeasured],
            "node03",
        ),
        ("no CPU", on_3(|host| host.cpus.clear()), &[FindingKind::NothingMeasured], "node03"),
    ];
    for (name, change, expected, says) in cases {
        let cluster = sixteen(change).finish().expect("sixteen hosts");
        assert_eq!(kinds(&cluster), expected, "case: {name}");
        let text: String = cluster.findings.iter().map(|finding| &*finding.text).collect();
        assert!(text.contains(says), "case: {name}: {text}");
    }
}

#[test]
fn copies_of_one_recording_are_not_hosts() {
    let place = tempfile::tempdir().expect("a place for it");
    let run = run(1, 1);
    let one = |host: &str| {
        summary(&write(&place.path().join(format!("host={host}")), &run, &detours(&run, |_| 20)))
    };
    let mut all = ClusterBuilder::new();
    all.add(one("a")).expect("the first");
    let error = all.add(one("b")).expect_err("the same again");
    assert!(error.to_string().contains("copies of one recording, under the names a and b"));
    let mut later = one("c");
    later.start_utc = "2026-05-09T07:31:17.000001Z".into();
    all.add(later).expect("another run");
    assert_eq!(all.finish().expect("two hosts").total.hosts, 2);
}

#[test]
fn a_host_measured_twice() {
    let place = tempfile::tempdir().expect("a place for it");
    let run = run(1, 1);
    let first = summary(&write(&place.path().join("host=a"), &run, &detours(&run, |_| 20)));
    let at = |start: &str, end: Option<&str>| {
        let mut second = first.clone();
        (second.start_utc, second.end_utc) = (start.into(), end.map(str::to_owned));
        second.recording = "second".into();
        second
    };
    // The first is from 07:31:17 to 07:31:27.
    let cases = [
        ("a copy", at("2026-05-09T07:31:17Z", Some("2026-05-09T07:31:27Z")), false),
        ("begun meanwhile", at("2026-05-09T07:31:20Z", Some("2026-05-09T07:31:50Z")), false),
        ("cut off meanwhile", at("2026-05-09T07:31:20Z", None), false),
        ("right after", at("2026-05-09T07:31:27Z", Some("2026-05-09T07:31:37Z")), true),
        ("long before", at("2025-05-09T07:31:27Z", None), true),
    ];
    for (name, second, good) in cases {
        let mut all = ClusterBuilder::new();
        all.add(first.clone()).expect("the first");
        match all.add(second) {
            Ok(()) => assert!(good, "case: {name}"),
            Err(error) if error.kind == ProblemKind::Data => {
                assert!(!good, "case: {name}");
                assert!(error.to_string().contains("second both claim to be host a"));
            }
            Err(error) => panic!("case: {name}: {error}"),
        }
        let cluster = all.finish().expect("one host at least");
        assert_eq!(cluster.hosts.len(), 1, "case: {name}");
        assert_eq!(cluster.hosts[0].recordings, if good { 2 } else { 1 }, "case: {name}");
        let noted = "hosts with several recordings, which count as one: 1".to_owned();
        assert_eq!(cluster.notes.contains(&noted), good, "case: {name}: {:?}", cluster.notes);
        assert!(near(cluster.total.noise, 0.005), "case: {name}: {}", cluster.total.noise);
    }
}

#[test]
fn a_run_that_was_cut_off_or_lost_something() {
    let place = tempfile::tempdir().expect("a place for it");
    let mut run = run(2, 2);
    // Killed before its first checkpoint: nothing is known of what its loops watched.
    run.cpus.iter_mut().for_each(|cpu| cpu.last_ticks = cpu.first_ticks);
    let dir = place.path().join("host=a");
    let mut recorder = Recorder::create(&dir, &run).expect("a new directory");
    let loss = Loss { what: "events".into(), cpu: 0, start_ticks: 0, end_ticks: SECOND, count: 7 };
    recorder.append(&[loss]).expect("in order");
    let cut_off = Run { state: RunState::Running, end_utc: None, ..run };
    recorder.finish(&cut_off).expect("there is space");
    let mut all = ClusterBuilder::new();
    all.add(summary(&dir)).expect("the first");
    all.leave_out("host=b", "it is damaged");
    let cluster = all.finish().expect("one host");
    let expected = [
        FindingKind::LeftOut,
        FindingKind::NothingMeasured,
        FindingKind::CutOff,
        FindingKind::Losses,
    ];
    assert_eq!(kinds(&cluster), expected, "{:?}", cluster.findings);
    assert_eq!((cluster.end_utc.as_deref(), cluster.by_hosts[0].any), (None, None));
}

#[test]
fn hostile_summaries_do_no_harm() {
    let largest = |_: u32, host: &mut HostSummary| {
        for cpu in &mut host.cpus {
            (cpu.wall_ns, cpu.lost_ns, cpu.detours) = (u64::MAX, u64::MAX, u64::MAX);
            cpu.lost_detours = u64::MAX;
        }
        host.lengths.cells = vec![(u64::MAX, u64::MAX); 3];
        for source in host.sources.iter_mut().flatten() {
            (source.lost_ns, source.detours, source.cpus) = (u64::MAX, u64::MAX, u64::MAX);
        }
        for first in &mut host.first_cpus {
            (first.wall_ns, first.lost_ns, first.cpus) = (0, u64::MAX, u64::MAX);
        }
    };
    let cluster = sixteen(largest).finish().expect("sixteen hosts");
    assert!((cluster.total.noise - 1.0).abs() < 1e-9, "{}", cluster.total.noise);
    assert!(cluster.total.lost_detours > 0);
}
