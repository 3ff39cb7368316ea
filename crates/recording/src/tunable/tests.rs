use super::*;
use crate::sources;

#[test]
fn rows_are_complete_and_have_names_of_their_own() {
    let mut names: Vec<&str> = TUNABLES.iter().map(|row| row.name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), TUNABLES.len());
    for row in TUNABLES {
        let texts = [row.what, row.goal, row.risk, row.needs, row.acts_on, row.reference];
        assert!(texts.iter().all(|text| !text.is_empty()), "{}", row.name);
        assert_eq!(row.name.matches('*').count(), row.file.matches('*').count(), "{}", row.name);
        assert!(row.keep != Keep::Sysctl || row.name.contains('.'), "{}", row.name);
        for (source, _) in row.advised {
            assert!(sources::find(source).is_some(), "{}: {source}", row.name);
        }
        let value = Assignment::parse(&example(row).replace('*', "1")).expect("its own example");
        assert_eq!(value.tunable.name, row.name);
    }
}

#[test]
fn settings_are_named_as_users_write_them() {
    type Expected<'a> = Result<(&'a str, &'a [&'a str], Option<&'a str>), &'a str>;
    let cases: &[(&str, Expected<'_>)] = &[
        ("vm.stat_interval=10", Ok(("vm.stat_interval", &[], Some("10")))),
        (" vm.stat_interval = 10 ", Ok(("vm.stat_interval", &[], Some("10")))),
        ("vm.stat_interval", Ok(("vm.stat_interval", &[], None))),
        ("/proc/sys/vm/stat_interval=10", Ok(("vm.stat_interval", &[], Some("10")))),
        (
            "transparent_hugepage defrag=never",
            Ok(("transparent_hugepage/defrag", &[], Some("never"))),
        ),
        ("irq/24=0-1,3", Ok(("irq/24", &["24"], Some("0-1,3")))),
        ("/proc/irq/24/smp_affinity_list=0", Ok(("irq/24", &["24"], Some("0")))),
        ("rps_cpus/eth0.1/rx-0=0", Ok(("rps_cpus/eth0.1/rx-0", &["eth0.1", "rx-0"], Some("0")))),
        ("cpuidle/2=1", Ok(("cpuidle/2", &["2"], Some("1")))),
        ("pm_qos_resume_latency_us=n/a", Ok(("pm_qos_resume_latency_us", &[], Some("n/a")))),
        ("vm.stat_interval=", Err("has no value")),
        ("vm.stat_interval=1 0", Err("has no value")),
        ("vm.stat_intervall=10", Err("did you mean vm.stat_interval?")),
        ("stat_interval=10", Err("did you mean vm.stat_interval?")),
        ("irq/=0", Err("there is no setting 'irq/'")),
        ("irq/..=0", Err("there is no setting")),
        ("irq/24/x=0", Err("there is no setting")),
        ("rps_cpus/../rx-0=0", Err("there is no setting")),
        ("/etc/passwd=x", Err("`anechoic try` lists")),
        ("", Err("there is no setting ''")),
        ("=1", Err("there is no setting ''")),
    ];
    for (text, expected) in cases {
        match (Assignment::parse(text), expected) {
            (Ok(found), Ok((name, parts, value))) => {
                assert_eq!(found.name, *name, "{text}");
                assert_eq!(found.parts, *parts, "{text}");
                assert_eq!(found.value.as_deref(), *value, "{text}");
            }
            (Err(found), Err(expected)) => assert!(found.contains(expected), "{text}: {found}"),
            (found, _) => panic!("{text}: {found:?}"),
        }
    }
}

#[test]
fn only_files_of_the_table_are_files_of_a_setting() {
    let of_any = |path: &str| TUNABLES.iter().any(|row| row.has_file(path));
    for (path, expected) in [
        ("/proc/sys/vm/stat_interval", true),
        ("/sys/devices/system/cpu/cpu12/cpufreq/scaling_governor", true),
        ("/sys/devices/system/cpu/cpu1/cpuidle/state2/disable", true),
        ("/proc/irq/24/smp_affinity_list", true),
        ("/proc/irq/../sys/smp_affinity_list", false),
        ("/proc/irq/24/../smp_affinity_list", false),
        ("/proc/sys/vm/stat_interval/", false),
        ("/proc/sys/kernel/core_pattern", false),
        ("proc/sys/vm/stat_interval", false),
        ("", false),
    ] {
        assert_eq!(of_any(path), expected, "{path}");
    }
}

#[test]
fn files_of_a_setting_of_cpus_are_those_of_the_measured_ones() {
    let find = |text: &str| Assignment::parse(text).expect("a setting");
    let files = |text: &str| {
        let found = find(text);
        found.tunable.files(found.tunable.file, &found.parts, &[1, 3])
    };
    assert_eq!(files("irq/24"), ["/proc/irq/24/smp_affinity_list"]);
    let state = |cpu: u32| format!("/sys/devices/system/cpu/cpu{cpu}/cpuidle/state2/disable");
    assert_eq!(files("cpuidle/2"), [state(1), state(3)]);
}

#[test]
fn values_are_the_same_however_they_are_written() {
    let same = |name: &str, a: &str, b: &str| find(name).expect("a setting").is_same(a, b);
    for (name, a, b, expected) in [
        ("vm.stat_interval", "10", "010", true),
        ("vm.stat_interval", "10", "1", false),
        ("irq/24", "0-2", "0,1,2", true),
        ("workqueue/cpumask", "0", "1", false),
        ("transparent_hugepage", "never", "madvise", false),
        ("pm_qos_resume_latency_us", "n/a", "0", false),
    ] {
        assert_eq!(same(name, a, b), expected, "{name} {a} {b}");
    }
}

#[test]
fn a_setting_is_advised_against_the_noise_that_it_acts_on() {
    let advised = |source: &str, name: &str, function: Option<&str>| {
        TUNABLES.iter().find(|row| row.is_advised(source, name, function)).map(|row| row.name)
    };
    for (source, name, function, expected) in [
        ("thread", "kworker/1:1", Some("vmstat_update"), Some("vm.stat_interval")),
        ("thread", "kworker/u8:2", Some("wb_workfn"), Some("workqueue/cpumask")),
        ("thread", "kcompactd0", None, Some("vm.compaction_proactiveness")),
        ("thread", "bash", None, None),
        ("timer", "watchdog_timer_fn", None, Some("kernel.watchdog_cpumask")),
        ("timer", "hrtimer_wakeup", None, None),
        ("fair-server", "", None, Some("fair_server/runtime")),
        ("timer-tick", "", None, None),
    ] {
        assert_eq!(advised(source, name, function), expected, "{source} {name}");
    }
}
