use super::present::state;
use super::*;
use anechoic_recording::Problem;
use anechoic_recording::tunable::{Assignment, TUNABLES, TunableState};
use std::fs;

fn asked(texts: &[&str]) -> Vec<Assignment> {
    texts.iter().map(|text| Assignment::parse(text).expect("a setting")).collect()
}

fn governor(cpu: u32) -> String {
    format!("/sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_governor")
}

const STAT: &str = "/proc/sys/vm/stat_interval";
const THP: &str = "/sys/kernel/mm/transparent_hugepage/enabled";
const WORKERS: &str = "/sys/devices/virtual/workqueue/cpumask";
const ASKED: &str = "/sys/devices/virtual/workqueue/cpumask_requested";

/// A system with some settings.
fn system() -> (tempfile::TempDir, Root) {
    let files = [
        (STAT.to_owned(), "1\n"),
        (THP.to_owned(), "always [madvise] never\n"),
        (WORKERS.to_owned(), "3\n"),
        (ASKED.to_owned(), "3\n"),
        (governor(0), "powersave\n"),
        (governor(1), "powersave\n"),
        (governor(2), "performance\n"),
        ("/proc/irq/24/smp_affinity_list".to_owned(), "0-2\n"),
        ("/proc/irq/24/effective_affinity_list".to_owned(), "1\n"),
        ("/sys/devices/system/cpu/smt/control".to_owned(), "on\n"),
    ];
    Root::tree(&files)
}

fn plan(root: &Root, texts: &[&str]) -> Result<Trial, Problem> {
    Trial::plan_in(root.clone(), &asked(texts), &[0, 1, 2])
}

#[test]
fn what_is_asked_for_becomes_steps() {
    let (_directory, root) = system();
    type Expected<'a> = Result<&'a [(&'a str, &'a str)], &'a str>;
    let cases: &[(&[&str], Expected<'_>)] = &[
        (&["vm.stat_interval=10"], Ok(&[("1", "10")])),
        (
            &["vm.stat_interval=10", "transparent_hugepage=never"],
            Ok(&[("1", "10"), ("madvise", "never")]),
        ),
        (
            &["cpufreq/governor=performance"],
            Ok(&[("powersave", "performance"), ("powersave", "performance")]),
        ),
        (&["workqueue/cpumask=0"], Ok(&[("0-1", "0")])),
        (&["irq/24=0"], Ok(&[("0-2", "0")])),
        (&["vm.stat_interval=1"], Err("is 1 already")),
        (&["vm.stat_interval=01"], Err("already")),
        (&["irq/24=0,1,2"], Err("already")),
        (&["vm.stat_interval=ten"], Err("'ten' is not a whole number")),
        (&["vm.stat_interval"], Err("has no value")),
        (&["transparent_hugepage=sometimes"], Err("write one of always, madvise, never")),
        (&["irq/24=x"], Err("'x' is not a CPU list")),
        (&["irq/*=0"], Err("there is no setting")),
        (&["irq/25=0"], Err("cannot be read here: /proc/irq/25")),
        (&["ksm=1"], Err("it needs CONFIG_KSM")),
        (&["smt=off"], Err("is not tried")),
        (&["vm.stat_interval=10", "/proc/sys/vm/stat_interval=20"], Err("named twice")),
    ];
    for (texts, expected) in cases {
        let parsed: Result<Vec<Assignment>, String> =
            texts.iter().map(|text| Assignment::parse(text)).collect();
        let found = parsed.and_then(|all| {
            Trial::plan_in(root.clone(), &all, &[0, 1, 2]).map_err(|problem| problem.to_string())
        });
        match (found, expected) {
            (Ok(trial), Ok(steps)) => {
                let found = trial.steps().iter().map(|step| (&*step.before, &*step.value));
                assert_eq!(found.collect::<Vec<_>>(), *steps, "{texts:?}");
            }
            (Err(found), Err(expected)) => assert!(found.contains(expected), "{texts:?}: {found}"),
            (found, _) => panic!("{texts:?}: {found:?}"),
        }
    }
    fs::write(root.path(ASKED), "7\n").expect("writable");
    let problem = plan(&root, &["workqueue/cpumask=0"]).expect_err("it was asked to be another");
    assert!(problem.why.contains("could not be put back"), "{problem}");
}

/// The files themselves are the truth: what a trial left in them at each step.
#[test]
fn settings_are_switched_and_put_back() {
    let (_directory, root) = system();
    let texts = ["vm.stat_interval=10", "workqueue/cpumask=1", "cpufreq/governor=performance"];
    let files = [STAT.to_owned(), WORKERS.to_owned(), governor(0), governor(1), governor(2)];
    let now = || files.each_ref().map(|file| root.read(file).expect("a file"));
    let before = now();
    let mut trial = plan(&root, &texts).expect("all are there");
    trial.begin().expect("allowed");
    assert_eq!(now(), before);
    for on in [true, false, false, true, true] {
        trial.switch(on).expect("allowed");
        let expected = match on {
            true => {
                ["10", "00000002", "performance", "performance", "performance"].map(str::to_owned)
            }
            false => before.clone(),
        };
        assert_eq!(now(), expected, "{on}");
        trial.still_holds().expect("nobody else");
    }
    let undone = trial.put_back();
    assert!(undone.len() == 4 && undone.iter().all(|one| one.is_written()), "{undone:?}");
    assert_eq!(now(), before);

    let mut trial = plan(&root, &texts).expect("all are there");
    trial.begin().expect("allowed");
    trial.switch(true).expect("allowed");
    drop(trial);
    assert_eq!(now(), before, "dropped");
}

#[test]
fn what_somebody_else_sets_meanwhile_stays() {
    let (_directory, root) = system();
    let mut trial = plan(&root, &["vm.stat_interval=10"]).expect("it is there");
    trial.begin().expect("allowed");
    trial.switch(true).expect("allowed");
    fs::write(root.path(STAT), "7").expect("somebody else");
    let problem = trial.still_holds().expect_err("it is another value");
    assert!(
        problem.why.contains("somebody else has set /proc/sys/vm/stat_interval to 7"),
        "{problem}"
    );
    assert!(trial.switch(false).is_err());
    let undone = trial.put_back();
    assert!(undone[0].is_left() && undone[0].to_string().contains("stays 7"), "{}", undone[0]);
    assert_eq!(root.read(STAT).as_deref(), Some("7"));
}

#[test]
fn the_state_of_a_setting_is_what_its_files_show() {
    let (_directory, root) = system();
    let state = |text: &str| -> TunableState {
        let asked = Assignment::parse(text).expect("a setting");
        state(&root, asked.tunable, &asked.name, &asked.parts, &[0, 1, 2])
    };
    let known = |text: &str| {
        let TunableState { value, in_effect, absent, .. } = state(text);
        (value, in_effect, absent)
    };
    let some = |text: &str| Some(text.to_owned());
    assert_eq!(known("vm.stat_interval"), (some("1"), None, None));
    assert_eq!(known("transparent_hugepage"), (some("madvise"), None, None));
    assert_eq!(known("irq/24"), (some("0-2"), some("1"), None));
    assert_eq!(known("cpufreq/governor"), (some("powersave (0-1), performance (2)"), None, None));
    assert_eq!(known("ksm"), (None, None, some("no such file (needs CONFIG_KSM)")));
    let (value, _, absent) = known("smt");
    assert!(value == some("on") && absent.is_some_and(|why| why.contains("offline")));
    fs::write(root.path(ASKED), "7\n").expect("writable");
    assert_eq!(known("workqueue/cpumask"), (some("0-2"), some("0-1"), None));
    let row = |name: &str| {
        let row = TUNABLES.iter().find(|row| row.name == name).expect("a row");
        super::present::state(&root, row, row.name, &[], &[0, 1, 2]).absent
    };
    assert_eq!(row("irq/*"), None);
    assert!(row("rps_cpus/*/*").is_some_and(|why| why.contains("CONFIG_RPS")));
    assert!(row("cpuidle/*").is_some());
    let keep = &state("vm.stat_interval").keep;
    assert_eq!(keep[0], "the line `vm.stat_interval = 10` in a file of /etc/sysctl.d");
}
