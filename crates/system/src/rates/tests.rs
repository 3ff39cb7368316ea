//! Tests of reading how fast counters grow.

use super::*;
use std::cell::Cell;
use std::fs;

/// Two states of a machine with two CPUs, of which one comes online in between.
const STAT: [&str; 2] = [
    "cpu  1 1 1 1 1 1 1 1 0 0\ncpu0 100 1 10 5 0 2 3 40 0 0\nintr 1000 1 2\nctxt 500\nprocesses 7\nsoftirq 90 1\n",
    "cpu  1 1 1 1 1 1 1 1 0 0\ncpu0 110 1 15 5 0 3 5 47 0 0\ncpu1 900 0 0 0 0 0 0 900 0 0\nintr 1600 1 2\nctxt 750\nprocesses 7\nsoftirq 90 1\n",
];

fn write(dir: &Path, file: &str, text: &str) {
    let path = dir.join(file);
    fs::create_dir_all(path.parent().expect("a directory")).expect("made");
    fs::write(path, text).expect("written");
}

fn grown(rows: &[Growth], name: &str) -> Option<(u64, u64)> {
    rows.iter()
        .find(|row| &*row.name == name)
        .map(|row| (row.end_ticks - row.start_ticks, row.value))
}

#[test]
fn what_grew_between_two_readings() {
    let dir = tempfile::tempdir().expect("a directory");
    let group = dir.path().join("group");
    write(dir.path(), "stat", STAT[0]);
    write(dir.path(), "pressure/cpu", "some avg10=0.00 total=100\nfull avg10=0.00 total=1\n");
    write(&group, "cpu.stat", "usage_usec 50\nnr_throttled 3\nthrottled_usec 10\n");
    let clock = Cell::new(0);
    let now = || {
        clock.set(clock.get() + 1);
        clock.get()
    };
    let groups = [("/a b", vec![group.clone(), dir.path().join("cpuacct")])];
    let mut reader = RateReader::begin_in(dir.path(), groups.into_iter(), 100, now);
    write(dir.path(), "stat", STAT[1]);
    write(dir.path(), "pressure/cpu", "some avg10=0.00 total=350\nfull avg10=0.00 total=1\n");
    write(&group, "cpu.stat", "usage_usec 90\nnr_throttled 3\nthrottled_usec 10\n");
    let rows = reader.read(now);
    let files = 7; // each is read once in a round
    for (name, value) in [
        ("steal", 70_000_000), // CPU 1 had no reading before
        ("steal-worst", 70_000_000),
        ("interrupt-time", 30_000_000),
        ("busy", 150_000_000),
        ("interrupts", 600),
        ("switches", 250),
        ("forks", 0),
        ("softirqs", 0),
        ("cpu-pressure", 250_000),
        ("used /a b", 40_000),
        ("throttled /a b", 0),
    ] {
        assert_eq!(grown(&rows, name), Some((files, value)), "{name}");
    }
    assert_eq!(rows.len(), 11, "{rows:?}");
    // What goes back is no growth; what vanishes has no row; the others go on.
    write(dir.path(), "stat", STAT[0]);
    fs::remove_dir_all(&group).expect("removed");
    let rows = reader.read(now);
    assert_eq!(grown(&rows, "interrupts"), None);
    assert_eq!(grown(&rows, "cpu-pressure"), Some((files, 0)));
    write(dir.path(), "stat", STAT[1]);
    assert_eq!(grown(&reader.read(now), "interrupts"), Some((files, 600)), "since it went back");
}

#[test]
fn groups_of_version_1_count_in_several_directories() {
    let dir = tempfile::tempdir().expect("a directory");
    let [cpu, acct] = ["cpu/g", "acct/g"].map(|name| dir.path().join(name));
    let states = [(1_000, 5_000), (4_000, 12_000)];
    let put = |(throttled, used): (u64, u64)| {
        write(&cpu, "cpu.stat", &format!("nr_periods 1\nthrottled_time {throttled}\n"));
        write(&acct, "cpuacct.usage", &format!("{used}\n"));
    };
    put(states[0]);
    let groups = [("/g", vec![acct.clone(), cpu.clone()])];
    let mut reader = RateReader::begin_in(dir.path(), groups.into_iter(), 100, || 0);
    put(states[1]);
    let rows = reader.read(|| 0);
    assert_eq!(grown(&rows, "throttled /g"), Some((0, 3_000)));
    assert_eq!(grown(&rows, "used /g"), Some((0, 7_000)));
}

#[test]
fn a_live_kernel_counts() {
    let begin = std::time::Instant::now();
    let now = || begin.elapsed().as_nanos() as u64;
    let mut reader = RateReader::begin(&[], now);
    let switches = || {
        let text = fs::read_to_string("/proc/stat").expect("readable");
        let line = text.lines().find_map(|line| line.strip_prefix("ctxt ")).expect("a line");
        line.parse::<u64>().expect("a number")
    };
    let before = switches();
    std::thread::sleep(std::time::Duration::from_millis(200));
    let rows = reader.read(now);
    let most = switches() - before + 1_000; // what came between the readings
    let (passed_ns, value) = grown(&rows, "switches").expect("known everywhere");
    assert!(passed_ns >= 200_000_000 && value > 0 && value <= most, "{rows:?}");
    let (passed_ns, busy_ns) = grown(&rows, "busy").expect("known everywhere");
    let cpus = crate::cpus::online().len() as u64;
    assert!(busy_ns <= cpus * (passed_ns + 20_000_000), "{rows:?}");
}
