//! Steal really read by BPF, compared with what the kernel reports elsewhere.
//!
//! If BPF or the kernel's type data are missing, each test prints that and passes.

use anechoic_lab::note;
use anechoic_lab::turn::alone;
use anechoic_system::cpus;
use anechoic_system::steal::{StealError, StealReader, StealReading, supported};
use std::collections::BTreeMap;
use std::fs;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Returns true and prints the reason if this machine cannot do it. A program that the verifier rejects is
/// not a reason: then the program is wrong.
fn skipped() -> bool {
    match supported() {
        Ok(()) => false,
        Err(StealError::Refused(reason)) => {
            panic!("{reason}")
        }
        Err(reason) => {
            note::skipped(reason);
            true
        }
    }
}

/// Stops the spinning threads even if the test fails.
struct StopOnDrop<'a>(&'a AtomicBool);

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Runs `body` while a thread on each CPU spins, so that no timer tick stops and the host may steal.
fn with_busy_cpus<T>(cpus: &[u32], body: impl FnOnce() -> T) -> T {
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        for &cpu in cpus {
            let stop = &stop;
            scope.spawn(move || {
                cpus::pin(&[cpu]).expect("an allowed CPU");
                while !stop.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
        }
        let _stop = StopOnDrop(&stop);
        body()
    })
}

/// `/proc/stat`: steal of each CPU since boot, in nanoseconds, rounded down to a clock tick of 10 ms.
fn proc_stat_steal_ns() -> BTreeMap<u32, u64> {
    let text = fs::read_to_string("/proc/stat").expect("/proc/stat");
    let row = |line: &str| {
        let mut words = line.split_whitespace();
        let cpu = words.next()?.strip_prefix("cpu")?.parse().ok()?;
        Some((cpu, words.nth(7)?.parse::<u64>().ok()? * CLOCK_TICK_NS))
    };
    text.lines().filter_map(row).collect()
}

const CLOCK_TICK_NS: u64 = 10_000_000;

/// Checks that times and steal rise, and that each reading continues where the previous one on its CPU ended.
fn assert_continuous(readings: &[StealReading]) {
    let mut last: BTreeMap<u32, StealReading> = BTreeMap::new();
    for reading in readings {
        assert!(reading.previous_ns < reading.at_ns, "{reading:?}");
        assert!(reading.previous_steal_ns < reading.steal_ns, "{reading:?}");
        // A tick cannot find more steal than time passed, except steal that the host reports late: allow one
        // tick of 10 ms.
        let wall = reading.at_ns - reading.previous_ns;
        assert!(reading.steal_ns - reading.previous_steal_ns < wall + CLOCK_TICK_NS, "{reading:?}");
        if let Some(before) = last.insert(reading.cpu, *reading) {
            assert!(before.at_ns <= reading.previous_ns, "{before:?} {reading:?}");
            assert_eq!(before.steal_ns, reading.previous_steal_ns, "{before:?} {reading:?}");
        }
    }
}

#[test]
fn readings_add_up_to_what_proc_stat_says() {
    let _alone = alone();
    if skipped() {
        return;
    }
    let cpus = cpus::allowed();
    let _stats = enable_run_time_statistics();
    let (readings, outer, inner, cost) = with_busy_cpus(&cpus, || {
        let before_start = proc_stat_steal_ns();
        let started = Instant::now();
        let mut reader = StealReader::start(&cpus).unwrap();
        assert!(started.elapsed() < Duration::from_secs(1), "{:?}", started.elapsed());
        thread::sleep(Duration::from_millis(100)); // each CPU has ticked
        let after_start = proc_stat_steal_ns();
        thread::sleep(Duration::from_millis(2500));
        let before_end = proc_stat_steal_ns();
        thread::sleep(Duration::from_millis(100));
        let readings = reader.drain();
        let after_end = proc_stat_steal_ns();
        assert_eq!(reader.lost().unwrap(), 0);
        (readings, (before_start, after_end), (after_start, before_end), run_time_statistics())
    });
    assert_continuous(&readings);
    for cpu in cpus {
        let of_cpu = readings.iter().filter(|r| r.cpu == cpu);
        let seen: u64 = of_cpu.map(|r| r.steal_ns - r.previous_steal_ns).sum();
        let least = (inner.1[&cpu] - inner.0[&cpu]).saturating_sub(CLOCK_TICK_NS);
        let most = outer.1[&cpu] - outer.0[&cpu] + CLOCK_TICK_NS;
        eprintln!("CPU {cpu}: {seen} ns of steal read, /proc/stat: between {least} and {most}");
        assert!((least..=most).contains(&seen), "CPU {cpu}: {seen} not in {least}..={most}");
    }
    let (runs, run_ns) = cost.expect("a loaded program among this process's descriptors");
    eprintln!("{} readings; {runs} runs of the program, {run_ns} ns in all", readings.len());
    assert!(runs > 0, "the program never ran");
}

#[test]
fn only_the_cpus_asked_for_are_read() {
    let _alone = alone();
    if skipped() {
        return;
    }
    let all = cpus::allowed();
    let asked = all[0];
    let readings = with_busy_cpus(&all, || {
        let mut reader = StealReader::start(&[asked]).unwrap();
        thread::sleep(Duration::from_secs(1));
        reader.drain()
    });
    eprintln!("{} readings", readings.len());
    assert!(readings.iter().all(|r| r.cpu == asked), "{readings:?}");
}

#[test]
fn nothing_is_left_when_it_is_dropped() {
    let _alone = alone();
    if skipped() {
        return;
    }
    assert_eq!(bpf_descriptors(), 0);
    let reader = StealReader::start(&cpus::allowed()).unwrap();
    assert!(bpf_descriptors() > 0);
    drop(reader);
    assert_eq!(bpf_descriptors(), 0);
}

#[test]
fn a_cpu_that_cannot_be_is_named() {
    let _alone = alone();
    if skipped() {
        return;
    }
    let error = StealReader::start(&[60_000]).err().unwrap().to_string();
    assert!(
        error.contains("CPU 60000: it does not exist") && error.contains("can have CPUs 0"),
        "{error}"
    );
}

#[test]
fn without_privilege_the_remedy_is_named() {
    let _alone = alone();
    if skipped() {
        return;
    }
    let refused = thread::spawn(|| {
        // The bare system call changes this thread alone, which ends with the closure.
        // SAFETY: numbers only.
        assert_eq!(unsafe { libc::syscall(libc::SYS_setresuid, 65534, 65534, 65534) }, 0);
        supported()
    });
    let error = refused.join().unwrap().expect_err("a user without privilege");
    assert!(matches!(error, StealError::NotPermitted(_)), "{error}");
    assert!(error.to_string().contains("setcap cap_bpf,cap_perfmon+ep"), "{error}");
}

/// Descriptors of BPF objects in this process.
fn bpf_descriptors() -> usize {
    let links = fs::read_dir("/proc/self/fd").expect("/proc").flatten();
    let targets = links.filter_map(|link| fs::read_link(link.path()).ok());
    targets.filter(|target| target.to_string_lossy().contains("bpf")).count()
}

/// Runs a bpf(2) command that takes one number and returns a descriptor.
fn bpf_open(command: libc::c_long, number: u32) -> OwnedFd {
    // SAFETY: the kernel reads four bytes.
    let fd = unsafe { libc::syscall(libc::SYS_bpf, command, &raw const number, 4) };
    assert!(fd >= 0, "{}", std::io::Error::last_os_error());
    // SAFETY: just made for us.
    unsafe { OwnedFd::from_raw_fd(fd as i32) }
}

/// Makes the kernel time every BPF program until the descriptor is closed.
fn enable_run_time_statistics() -> OwnedFd {
    const BPF_ENABLE_STATS: libc::c_long = 32;
    const RUN_TIME: u32 = 0;
    bpf_open(BPF_ENABLE_STATS, RUN_TIME)
}

/// Returns runs and nanoseconds of the program that this process has attached.
fn run_time_statistics() -> Option<(u64, u64)> {
    const BPF_PROG_GET_FD_BY_ID: libc::c_long = 13;
    let value = |text: &str, name: &str| {
        text.lines().find_map(|line| line.strip_prefix(name)?.trim().parse::<u64>().ok())
    };
    let infos = fs::read_dir("/proc/self/fdinfo").ok()?.flatten();
    let mut texts = infos.filter_map(|info| fs::read_to_string(info.path()).ok());
    let is_link = |text: &String| text.contains("link_type:");
    let id = value(&texts.find(is_link)?, "prog_id:")?;
    let program = bpf_open(BPF_PROG_GET_FD_BY_ID, id as u32);
    let text = fs::read_to_string(format!("/proc/self/fdinfo/{}", program.as_raw_fd())).ok()?;
    Some((value(&text, "run_cnt:")?, value(&text, "run_time_ns:")?))
}
