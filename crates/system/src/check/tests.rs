//! Tests of the rows for other machines; the real check is in `tests/check.rs`.

use super::*;
use anechoic_recording::ProblemKind;
use anechoic_recording::clock::Skew;

fn clock() -> Clock {
    let skew = |cpu, offset_ticks| Skew { cpu, offset_ticks, bound_ticks: 40 };
    Clock {
        counter: "tsc".to_owned(),
        frequency_millihertz: 2_600_000_000_000,
        frequency_source: "perf mmap page".to_owned(),
        residual_ppm: Some(-0.5),
        invariant: true,
        read_mean_ticks: 26.0,
        sample_read_mean_ticks: None,
        read_min_ticks: 24,
        read_deltas: vec![(24, 10), (25, 9), (49, 1)],
        call_costs_ns: vec![("clock_gettime".into(), 23.6)],
        skew: vec![skew(0, 0), skew(1, -7)],
    }
}

const STAT: &str = "cpu  10 0 10 70 0 0 0 10 0 0\n";
const ONLINE: (&str, &str) = ("sys/devices/system/cpu/online", "0-3");

/// Builds a scene from these files, on a guest whose process may use CPUs 0 and 1.
fn scene(files: &[(&str, &str)]) -> (tempfile::TempDir, Scene) {
    let (directory, root) = Root::tree(files);
    let machine = machine::describe_in(&root, Some("KVM".to_owned()), &[0, 1]);
    (directory, Scene { root, machine, allowed: vec![0, 1], clock: Ok(clock()) })
}

#[test]
fn rows_of_files() {
    use Verdict::{Fact, Good, Limited};
    type Look = fn(&Scene) -> RowResult;
    type Case<'a> = (&'a str, Look, &'a [(&'a str, &'a str)], Verdict, &'a str);
    let thp = "sys/kernel/mm/transparent_hugepage/enabled";
    let governor = "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor";
    let release = "proc/sys/kernel/osrelease";
    let runtime = "proc/sys/kernel/sched_rt_runtime_us";
    let cases: &[Case] = &[
        ("counter", timing::counter, &[], Good, "tsc"),
        (
            "frequency",
            timing::frequency,
            &[],
            Good,
            "2600.000 MHz from perf mmap page, residual -0.50 ppm",
        ),
        (
            "read",
            timing::read,
            &[],
            Good,
            "26.0 ticks (10.0 ns) each, steps of 24 ticks (9.2 ns); clock_gettime 23.6 ns",
        ),
        ("skew", timing::skew, &[], Good, "2 CPUs differ by 7 ticks or less, known to ± 40 ticks"),
        ("huge pages", memory::huge_pages, &[(thp, "always [madvise] never")], Good, "madvise"),
        ("no huge pages", memory::huge_pages, &[(thp, "always madvise [never]")], Limited, "never"),
        ("huge pages unknown", memory::huge_pages, &[], Limited, "not available"),
        (
            "no throttling",
            rights::throttling,
            &[(runtime, "-1"), (release, "6.1.0")],
            Good,
            "no throttling",
        ),
        (
            "no throttling, server unknown",
            rights::throttling,
            &[(runtime, "-1"), (release, "6.12.0")],
            Limited,
            "not readable",
        ),
        ("throttling", rights::throttling, &[(runtime, "950000")], Limited, "950000"),
        (
            "fair server",
            rights::throttling,
            &[(runtime, "-1"), ("sys/kernel/debug/sched/fair_server/cpu0/runtime", "50000000")],
            Limited,
            "50000000 ns",
        ),
        ("all CPUs", cpus::allowed, &[("sys/devices/system/cpu/online", "0-1")], Good, "all 2"),
        ("affinity", cpus::allowed, &[ONLINE], Limited, "2 of 4 online (0-1), by affinity"),
        (
            "cpuset",
            cpus::allowed,
            &[
                ONLINE,
                ("proc/self/mounts", "cgroup2 /cg cgroup2 rw 0 0"),
                ("proc/self/cgroup", "0::/a"),
                ("cg/a/cpuset.cpus.effective", "0-1"),
            ],
            Limited,
            "by the cgroup's cpuset",
        ),
        (
            "affinity within a wider cpuset",
            cpus::allowed,
            &[
                ONLINE,
                ("proc/self/mounts", "cgroup2 /cg cgroup2 rw 0 0"),
                ("proc/self/cgroup", "0::/a"),
                ("cg/cpuset.cpus.effective", "0-3"),
            ],
            Limited,
            "by affinity",
        ),
        (
            "isolated",
            cpus::isolation,
            &[ONLINE, ("sys/devices/system/cpu/isolated", "2-3")],
            Fact,
            "2-3; without ticks (nohz_full): none",
        ),
        ("SMT unknown", cpus::smt, &[], Fact, "unknown"),
        ("SMT off", cpus::smt, &[("sys/devices/system/cpu/smt/active", "0")], Good, "not active"),
        ("SMT on", cpus::smt, &[("sys/devices/system/cpu/smt/active", "1")], Limited, "on"),
        (
            "steal",
            cpus::hypervisor,
            &[("proc/stat", STAT)],
            Fact,
            "KVM; stolen since boot: 0.10 s (10.00 %)",
        ),
        ("steal unknown", cpus::hypervisor, &[], Fact, "steal is not readable"),
        ("no cpufreq", cpus::governor, &[], Fact, "no cpufreq"),
        (
            "performance",
            cpus::governor,
            &[(governor, "performance"), ("sys/devices/system/cpu/cpufreq/boost", "1")],
            Good,
            "performance, turbo on",
        ),
        (
            "powersave",
            cpus::governor,
            &[(governor, "powersave"), ("sys/devices/system/cpu/intel_pstate/no_turbo", "1")],
            Limited,
            "powersave, turbo off",
        ),
        ("settings met", cpus::settings, &[ONLINE], Good, "0 on the kernel command line"),
        (
            "settings unmet",
            cpus::settings,
            &[ONLINE, ("proc/cmdline", "nohz_full=1-3")],
            Limited,
            "nohz_full: requested 1-3, is none",
        ),
    ];
    for (case, look, files, verdict, found) in cases {
        let (_directory, scene) = scene(files);
        let row = look(&scene);
        assert_eq!(row.verdict, *verdict, "case: {case}: {row:?}");
        assert!(row.found.contains(found), "case: {case}: {row:?}");
        assert_eq!(row.remedy.is_some(), row.verdict == Limited, "case: {case}: {row:?}");
    }
}

#[test]
fn one_loop_a_core_is_proposed() {
    let siblings = "topology/thread_siblings_list";
    let files = [("cpu0", "0-1"), ("cpu1", "0-1"), ("cpu2", "2-3"), ("cpu3", "2-3")]
        .map(|(cpu, list)| (format!("sys/devices/system/cpu/{cpu}/{siblings}"), list));
    let files: Vec<(&str, &str)> =
        files.iter().map(|(path, text)| (path.as_str(), *text)).collect();
    let (_directory, mut scene) =
        scene(&[&files[..], &[ONLINE, ("sys/devices/system/cpu/smt/active", "1")]].concat());
    for (allowed, expected) in [(vec![0, 1, 2, 3], "--cpus 0,2"), (vec![1, 3], "--cpus 1,3")] {
        scene.allowed = allowed;
        let remedy = cpus::smt(&scene).remedy.unwrap_or_default();
        assert!(remedy.ends_with(expected), "{remedy}");
    }
}

#[test]
fn a_bad_counter_is_reported() {
    type Change = fn(&mut Clock);
    type Look = fn(&Scene) -> RowResult;
    let cases: &[(&str, Change, Look)] = &[
        ("not invariant", |clock| clock.invariant = false, timing::counter),
        ("far off", |clock| clock.residual_ppm = Some(250.0), timing::frequency),
        ("not checked", |clock| clock.residual_ppm = None, timing::frequency),
        ("skewed", |clock| clock.skew[1].offset_ticks = -5000, timing::skew),
    ];
    for (case, change, look) in cases {
        let (_directory, mut scene) = scene(&[]);
        let mut clock = clock();
        change(&mut clock);
        scene.clock = Ok(clock);
        assert_eq!(look(&scene).verdict, Verdict::Limited, "case: {case}");
        scene.clock = Err(ProblemKind::Unavailable.problem("no source", "none"));
        let row = look(&scene);
        assert_eq!(row.verdict, Verdict::Missing, "case: {case}");
        assert!(!row.found.contains("; "), "case: {case}: {row:?}");
    }
}

#[test]
fn other_tracing_is_seen() {
    let quiet = [("current_tracer", "nop\n"), ("events/enable", "0\n"), ("set_event", "")];
    let busy = [
        ("current_tracer", "function\n"),
        ("events/enable", "X\n"),
        ("set_event", "sched:sched_switch\nirq:irq_handler_entry\n"),
        ("instances/other/events/enable", "X\n"),
        ("instances/other/set_event", "sched:sched_waking\n"),
        ("instances/idle/current_tracer", "nop\n"),
    ];
    type Case<'a> = (&'a str, &'a [(&'a str, &'a str)], &'a [&'a str]);
    let cases: &[Case] = &[
        ("nothing there", &[], &[]),
        ("quiet", &quiet, &[]),
        (
            "busy",
            &busy,
            &[
                "2 events (sched:sched_switch ...)",
                "instance other: 1 events (sched:sched_waking ...)",
                "tracer function",
            ],
        ),
    ];
    for (case, files, expected) in cases {
        let (directory, _root) = Root::tree(files);
        assert_eq!(tracing::active(directory.path()), *expected, "case: {case}");
    }
}

#[test]
fn an_empty_tracefs_is_that_of_a_kernel_that_is_locked_down() {
    let directory = tempfile::tempdir().expect("a directory");
    let found = tracing::unreadable(directory.path());
    assert_eq!(found.found, "tracefs is empty: the kernel is locked down");
    assert!(found.remedy.is_some_and(|remedy| remedy.contains("lockdown=confidentiality")));
    let found = tracing::unreadable(&directory.path().join("absent"));
    assert_eq!(found.remedy.as_deref(), Some("mount -t proc proc /proc"));
}
