//! The collector on this machine's real tracefs. Without it, each test prints why it is skipped.

use anechoic_lab::note;
use anechoic_lab::turn::alone;
use anechoic_recording::event::Role;
use anechoic_recording::{EventKind, KernelEvent, NameKind};
use anechoic_system::cpus;
use anechoic_system::tracefs::{Batch, Collector, Config, TraceError, Tracefs};
use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;
use std::{fs, thread};

/// Returns a real collector, or prints why there is none.
fn tracefs() -> Option<Tracefs> {
    match Tracefs::open() {
        Ok(tracefs) => Some(tracefs),
        Err(error @ TraceError::Unusable(_)) => {
            note::skipped(error);
            None
        }
        Err(error) => panic!("{error}"),
    }
}

fn ticks() -> u64 {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: reading the counter has no precondition.
    unsafe {
        std::arch::x86_64::_rdtsc()
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        let now = rustix::time::clock_gettime(rustix::time::ClockId::MonotonicRaw);
        now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
    }
}

/// Touches `pages` new pages.
fn fault(pages: usize) {
    let bytes = pages * rustix::param::page_size();
    // SAFETY: a new private mapping, used within its bounds and unmapped once.
    unsafe {
        let map = mmap_anonymous(
            std::ptr::null_mut(),
            bytes,
            ProtFlags::READ | ProtFlags::WRITE,
            MapFlags::PRIVATE,
        )
        .unwrap();
        madvise(map, bytes, Advice::LinuxNoHugepage).ok();
        for page in 0..pages {
            map.cast::<u8>().add(page * rustix::param::page_size()).write_volatile(1);
        }
        munmap(map, bytes).unwrap();
    }
}

/// On a thread named `noise-CPU` and pinned there, sleeps ten times and touches 64 pages. Returns its tid.
fn noise_on(cpu: u32) -> thread::JoinHandle<i32> {
    let work = move || {
        cpus::pin(&[cpu]).unwrap();
        for _ in 0..10 {
            thread::sleep(Duration::from_millis(5));
            let here = rustix::thread::sched_getcpu();
            assert_eq!(here, cpu as usize, "somebody moved the pinned thread");
        }
        fault(64);
        rustix::thread::gettid().as_raw_nonzero().get()
    };
    thread::Builder::new().name(format!("noise-{cpu}")).spawn(work).unwrap()
}

fn instances(tracefs: &Tracefs) -> BTreeSet<String> {
    let entries = fs::read_dir(tracefs.root().join("instances")).unwrap();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

fn ours(tracefs: &Tracefs) -> usize {
    let prefix = format!("anechoic-{}-", std::process::id());
    instances(tracefs).iter().filter(|name| name.starts_with(&prefix)).count()
}

fn by_cpu(batches: &[Batch]) -> BTreeMap<u32, Vec<KernelEvent>> {
    let mut events: BTreeMap<u32, Vec<KernelEvent>> = BTreeMap::new();
    for batch in batches {
        events.entry(batch.cpu).or_default().extend(&batch.events);
    }
    events
}

#[test]
fn events_of_two_cpus_are_recorded_with_their_times_and_names() {
    let _alone = alone();
    let (Some(tracefs), Some(watch)) = (tracefs(), tracefs()) else { return };
    let measured: Vec<u32> = cpus::allowed().into_iter().take(2).collect();
    let mut collector = Collector::prepare(tracefs, Config::default(), &measured).unwrap();
    assert_eq!(ours(&watch), 1);
    let before = ticks();
    collector.on(before).unwrap();
    let threads: Vec<_> = measured.iter().map(|&cpu| (cpu, noise_on(cpu))).collect();
    let tids: Vec<(u32, i32)> =
        threads.into_iter().map(|(cpu, thread)| (cpu, thread.join().unwrap())).collect();
    collector.off().unwrap();
    let after = ticks();
    let batches = collector.drain().unwrap();
    let late = collector.late_names();
    let mut unlocated = Vec::new();
    collector.unlocated_losses(after, &mut unlocated).unwrap();
    assert_eq!(unlocated, []);
    assert!(batches.iter().all(|batch| batch.losses.is_empty()));
    assert_eq!(collector.absent_fields(), <[String; 0]>::default());

    let names: Vec<_> = batches.iter().flat_map(|b| &b.names).chain(&late.names).collect();
    let events = by_cpu(&batches);
    for (cpu, tid) in tids {
        let events = &events[&cpu];
        assert!(events.iter().all(|e| e.cpu == cpu && (before..=after).contains(&e.ticks)));
        assert!(events.is_sorted_by_key(|e| e.ticks), "CPU {cpu}: out of order");
        let count = |kind, is_meant: &dyn Fn(&KernelEvent) -> bool| {
            events.iter().filter(|e| e.kind == kind && is_meant(e)).count()
        };
        let switches = count(EventKind::Switch, &|e| e.pid == tid);
        assert!(switches >= 10, "CPU {cpu}: {switches} switches away from thread {tid}");
        let (enter, exit) =
            (count(EventKind::HrtimerEntry, &|_| true), count(EventKind::HrtimerExit, &|_| true));
        assert!(enter >= 10 && enter.abs_diff(exit) <= 1, "CPU {cpu}: {enter} timers, {exit} ends");
        if cfg!(target_arch = "x86_64") {
            let faults = count(EventKind::PageFaultUser, &|e| e.pid == tid);
            assert!((64..500).contains(&faults), "CPU {cpu}: {faults} page faults of {tid}");
        }
        let named =
            |n: &&&anechoic_recording::Name| n.kind == NameKind::Task && n.key == tid as u64;
        assert!(names.iter().filter(named).any(|n| n.name == format!("noise-{cpu}")));
    }
    if late.symbols_missing.is_none() {
        assert!(names.iter().any(|n| n.kind == NameKind::Symbol && n.name == "hrtimer_wakeup"));
    }
    drop(collector);
    assert_eq!(ours(&watch), 0, "the instance is gone");
}

#[test]
fn other_cpus_give_only_what_may_cause_something_here() {
    let _alone = alone();
    let (Some(tracefs), &[measured, other, ..]) = (tracefs(), cpus::allowed().as_slice()) else {
        return;
    };
    let mut collector = Collector::prepare(tracefs, Config::default(), &[measured]).unwrap();
    collector.on(ticks()).unwrap();
    noise_on(other).join().unwrap();
    collector.off().unwrap();
    let batches = collector.drain().unwrap();
    let events = by_cpu(&batches);
    assert!(events[&other].iter().all(|e| e.kind.role() == Role::Cause));
    assert!(events[&other].iter().any(|e| e.kind == EventKind::Waking));
    let named = batches.iter().flat_map(|b| &b.names).any(|n| n.name == format!("noise-{other}"));
    assert!(named, "tasks are named from what is not kept, too");
}

/// Removes a test's own instance, whatever the result of the test.
struct Removed<'a>(&'a Path);

impl Drop for Removed<'_> {
    fn drop(&mut self) {
        fs::remove_dir(self.0).ok();
    }
}

#[test]
fn leftovers_are_removed_and_what_is_not_ours_is_untouched() {
    let _alone = alone();
    let Some(tracefs) = tracefs() else { return };
    let root = tracefs.root().to_path_buf();
    let watch = tracefs;
    // A process number that no kernel assigns: pid_max is at most 4194304.
    let dead = root.join("instances/anechoic-4194305-1-0");
    fs::create_dir(&dead).unwrap();
    let other = root.join(format!("instances/somebody-else-{}", std::process::id()));
    fs::create_dir(&other).unwrap();
    let _removed = Removed(&other);
    fs::write(other.join("events/sched/sched_switch/enable"), "1").unwrap();
    let state = || -> Vec<String> {
        let read = |path: PathBuf| fs::read_to_string(path).unwrap();
        let files = [
            "tracing_on",
            "current_tracer",
            "set_event",
            "trace_clock",
            "trace_options",
            "buffer_percent",
            "tracing_cpumask",
            "buffer_size_kb",
        ];
        let top = files.iter().map(|file| read(root.join(file)));
        top.chain(files.iter().map(|file| read(other.join(file)))).collect()
    };
    let before = state();
    let mut collector =
        Collector::prepare(self::tracefs().unwrap(), Config::default(), &[0]).unwrap();
    collector.on(ticks()).unwrap();
    let during = state();
    let dead_is_there = dead.exists();
    let other_is_there = other.exists();
    drop(collector);
    let after = state();
    assert!(!dead_is_there, "the leftover was removed");
    assert!(other_is_there, "another's instance stays");
    assert_eq!(during, before);
    assert_eq!(after, before);
    assert_eq!(ours(&watch), 0);
}

/// The number in its name may be that of no process here, although its process lives in another PID namespace.
#[test]
fn an_instance_that_is_locked_is_in_use_whatever_its_name_says() {
    let _alone = alone();
    let Some(watch) = tracefs() else { return };
    let elsewhere = watch.root().join("instances/anechoic-4194305-2-0");
    fs::create_dir(&elsewhere).unwrap();
    let _removed = Removed(&elsewhere);
    let lock = fs::File::open(&elsewhere).unwrap();
    lock.lock().unwrap();
    let start = || drop(Collector::prepare(tracefs().unwrap(), Config::default(), &[0]).unwrap());
    start();
    assert!(elsewhere.exists(), "it is in use");
    drop(lock);
    start();
    assert!(!elsewhere.exists(), "its process has ended");
}

/// Run by the test below in its own process.
#[test]
#[ignore = "a helper of the next test: it waits to be killed"]
fn holds_an_instance_until_killed() {
    let mut collector =
        Collector::prepare(tracefs().unwrap(), Config::default(), &cpus::allowed()).unwrap();
    collector.on(ticks()).unwrap();
    println!("\nready");
    thread::sleep(Duration::from_secs(60));
}

#[test]
fn what_a_killed_process_left_is_removed_by_the_next() {
    let _alone = alone();
    let Some(tracefs) = tracefs() else { return };
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args([
            "--ignored",
            "--exact",
            "--nocapture",
            "measuring::tracefs::holds_an_instance_until_killed",
        ])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.map_while(Result::ok).any(|line| line == "ready"), "the child got its instance");
    let prefix = format!("anechoic-{}-", child.id());
    let left = |tracefs: &Tracefs| instances(tracefs).iter().any(|name| name.starts_with(&prefix));
    let alive = Collector::prepare(self::tracefs().unwrap(), Config::default(), &[0]).unwrap();
    assert!(left(&tracefs), "that of a living process stays");
    drop(alive);
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(left(&tracefs), "the kill left it");
    let next = Collector::prepare(self::tracefs().unwrap(), Config::default(), &[0]).unwrap();
    assert!(!left(&tracefs), "and the next collector removed it");
    drop(next);
}

#[test]
fn what_a_small_buffer_loses_is_counted_to_the_event() {
    let _alone = alone();
    let Some(tracefs) = tracefs() else { return };
    let all = cpus::system("online");
    let config = Config { buffer_kb: 32, ..Config::default() };
    let mut collector = Collector::prepare(tracefs, config, &all).unwrap();
    let cpu = cpus::allowed()[0];
    let before = ticks();
    collector.on(before).unwrap();
    let mut batches = Vec::new();
    for _ in 0..20 {
        let faults = move || {
            cpus::pin(&[cpu]).unwrap();
            fault(2000);
        };
        thread::spawn(faults).join().unwrap();
        collector.drain_to(500, &mut |batch| batches.push(batch)).unwrap();
    }
    collector.off().unwrap();
    batches.extend(collector.drain().unwrap());
    let after = ticks();
    let mut end = Vec::new();
    collector.unlocated_losses(after, &mut end).unwrap();

    let losses: Vec<_> = batches.iter().flat_map(|b| &b.losses).chain(&end).collect();
    let here: Vec<_> = losses.iter().filter(|loss| loss.cpu == cpu).collect();
    assert!(here.len() >= 15, "{} losses in 20 rounds", here.len());
    let events = by_cpu(&batches);
    for &cpu in &all {
        let stats = collector.instance().stats(cpu).unwrap();
        let lost: u64 = losses.iter().filter(|loss| loss.cpu == cpu).map(|loss| loss.count).sum();
        assert_eq!(lost, stats.lost, "CPU {cpu}: lost events");
        // An IPI to several CPUs is one event of the kernel and several of ours, and so is the start of a timer with slack.
        let seen = events.get(&cpu).map_or(&[][..], Vec::as_slice);
        let single = |pair: &[KernelEvent]| {
            let is_part =
                pair[0].kind == EventKind::IpiSendMask || pair[1].kind == EventKind::HrtimerSoft;
            !is_part || pair[0].ticks != pair[1].ticks
        };
        let count = seen.windows(2).filter(|pair| single(pair)).count() + seen.len().min(1);
        assert_eq!((count as u64, stats.entries), (stats.read, 0), "CPU {cpu}: events read");
    }
    for loss in losses {
        assert!(before <= loss.start_ticks && loss.start_ticks <= loss.end_ticks);
        assert!(loss.end_ticks <= after);
        let inside = |e: &&KernelEvent| loss.start_ticks < e.ticks && e.ticks < loss.end_ticks;
        assert_eq!(events[&loss.cpu].iter().find(inside), None, "an event inside {loss:?}");
    }
}

#[test]
fn batches_are_bounded_and_the_reader_wakes_at_half_a_buffer() {
    let _alone = alone();
    let Some(tracefs) = tracefs() else { return };
    let cpu = cpus::allowed()[0];
    let config = Config { buffer_kb: 512, ..Config::default() };
    let mut collector = Collector::prepare(tracefs, config, &[cpu]).unwrap();
    assert!(!collector.wait(Duration::ZERO, None).unwrap(), "nothing is there before the start");
    collector.on(ticks()).unwrap();
    let (stop, stopped) = mpsc::channel::<()>();
    let noise = thread::spawn(move || {
        cpus::pin(&[cpu]).unwrap();
        while stopped.try_recv().is_err() {
            fault(500);
        }
    });
    let woken = collector.wait(Duration::from_secs(20), None).unwrap();
    stop.send(()).unwrap();
    noise.join().unwrap();
    collector.off().unwrap();
    assert!(woken, "half a buffer of page faults within 20 s");
    let mut sizes = Vec::new();
    collector.drain_to(1000, &mut |batch| sizes.push(batch.events.len())).unwrap();
    assert!(sizes.len() > 3, "{sizes:?}");
    // One page holds 341 of the smallest events at most.
    assert!(sizes.iter().all(|&size| size < 1000 + 341), "{sizes:?}");
}

#[test]
fn events_can_be_switched_off_and_on() {
    let _alone = alone();
    let Some(tracefs) = tracefs() else { return };
    let cpu = cpus::allowed()[0];
    let mut collector = Collector::prepare(tracefs, Config::default(), &[cpu]).unwrap();
    collector.on(ticks()).unwrap();
    let mut count = |enabled| {
        collector.set_enabled(enabled).unwrap();
        collector.drain().unwrap();
        noise_on(cpu).join().unwrap();
        collector.drain().unwrap().iter().map(|batch| batch.events.len()).sum::<usize>()
    };
    assert_eq!(count(false), 0);
    assert!(count(true) > 100);
}

#[test]
fn what_cannot_be_is_refused_with_its_remedy() {
    let _alone = alone();
    let Some(watch) = tracefs() else { return };
    let cases = [
        (
            "clock",
            Config { clock: "sundial".to_owned(), ..Config::default() },
            "available clocks: local",
        ),
        ("size", Config { buffer_kb: 1 << 40, ..Config::default() }, "use smaller buffers"),
    ];
    for (name, config, expected) in cases {
        let error = Collector::prepare(tracefs().unwrap(), config, &[0]).err().unwrap().to_string();
        assert!(error.contains(expected), "case: {name}: {error}");
        assert_eq!(ours(&watch), 0, "case: {name}: nothing stays");
    }
}

#[test]
fn a_directory_that_is_no_tracefs_is_passed_over() {
    let Some(usual) = tracefs() else { return };
    let directory = tempfile::tempdir().unwrap();
    fs::create_dir(directory.path().join("instances")).unwrap();
    let absent = directory.path().join("absent");
    let tracefs = Tracefs::open_at(&[&absent, directory.path()]).unwrap();
    assert!(tracefs.is_detached() && tracefs.root().join("events").is_dir());
    assert_eq!(instances(&tracefs), instances(&usual), "it is the same file system everywhere");
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap();
    let path = tracefs.root().to_str().unwrap();
    assert!(!mounts.contains(path), "no path leads to the detached mount");
}
