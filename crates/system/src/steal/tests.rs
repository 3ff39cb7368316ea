//! Tests the program and the ring buffer under load. Steal cannot be produced at will, so they read another
//! field of the run queue, `clock`, which changes at every tick.

use super::*;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// The smallest ring buffer: 85 records of 48 bytes in the 4,096 bytes of a page.
const PAGE: u32 = 4096;
const FITS: usize = 85;

/// Returns the layout with `rq.clock`; prints the reason and returns `None` if the kernel does not describe
/// it.
fn clock_layout() -> Option<Layout> {
    let layout = || {
        let btf = Btf::parse(&fs::read(TYPE_DATA).map_err(|error| error.to_string())?);
        let btf = btf.expect("the kernel's own type data");
        let mut layout = Layout::find(&btf)?;
        let clock = btf.field_offset("rq", "clock").expect("every kernel has it");
        layout.rq_steal = clock.try_into().expect("near");
        Ok::<_, String>(layout)
    };
    layout().inspect_err(|reason| anechoic_lab::note::skipped(reason)).ok()
}

/// Starts a reader of `rq.clock` with the smallest ring buffer; prints the reason and returns `None` if that
/// is not possible.
fn clock_reader(layout: Option<Layout>, cpus: &[u32]) -> Option<StealReader> {
    match Loaded::new(&layout?, cpus, PAGE) {
        Ok(loaded) => Some(StealReader::run(loaded).unwrap()),
        Err(reason @ StealError::NotPermitted(_)) => {
            anechoic_lab::note::skipped(reason);
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// Stops the spinning threads even if the test fails.
struct StopOnDrop<'a>(&'a AtomicBool);

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn with_busy_cpu(cpu: u32, body: impl FnOnce()) {
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            cpus::pin(&[cpu]).unwrap();
            while !stop.load(Ordering::Relaxed) {
                std::hint::spin_loop();
            }
        });
        let _stop = StopOnDrop(&stop);
        body();
    });
}

/// Polls until `done`, for at most 5 s.
fn wait(mut done: impl FnMut() -> bool) {
    let start = Instant::now();
    while !done() {
        assert!(start.elapsed() < Duration::from_secs(5), "no readings within 5 s");
        thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn every_tick_is_read_once_however_often_the_ring_goes_round() {
    let cpu = cpus::allowed()[0];
    let Some(mut reader) = clock_reader(clock_layout(), &[cpu]) else { return };
    let mut readings = Vec::new();
    with_busy_cpu(cpu, || {
        wait(|| {
            readings.extend(reader.drain());
            readings.len() > 3 * FITS
        });
    });
    let lost = reader.lost().unwrap();
    for pair in readings.windows(2) {
        // On a busy machine this thread may come too late even for 85 ticks.
        let follows =
            pair[0].at_ns == pair[1].previous_ns && pair[0].steal_ns == pair[1].previous_steal_ns;
        assert!(follows || lost > 0, "{pair:?}");
        assert!(pair[1].at_ns - pair[1].previous_ns > 500_000, "faster than any tick: {pair:?}");
    }
}

/// Kernels before 6.4 find the tick by its address.
#[test]
fn the_tick_is_known_by_its_address_too() {
    let cpu = cpus::allowed()[0];
    let Some(layout) = clock_layout() else { return };
    let Some(layout) = layout.with_address() else {
        anechoic_lab::note::skipped("/proc/kallsyms shows no addresses");
        return;
    };
    let Some(mut reader) = clock_reader(Some(layout), &[cpu]) else { return };
    with_busy_cpu(cpu, || wait(|| !reader.drain().is_empty()));
}

#[test]
fn what_finds_the_ring_full_is_counted_and_shows_as_a_break() {
    let cpu = cpus::allowed()[0];
    let Some(mut reader) = clock_reader(clock_layout(), &[cpu]) else { return };
    let (mut first, mut later) = (Vec::new(), Vec::new());
    with_busy_cpu(cpu, || {
        wait(|| reader.lost().unwrap() >= 10);
        first = reader.drain();
        wait(|| {
            later.extend(reader.drain());
            later.len() >= 10
        });
    });
    assert_eq!(first.len(), FITS);
    let (before, after) = (first[FITS - 1], later[0]);
    assert!(after.previous_ns > before.at_ns && after.previous_steal_ns > before.steal_ns);
}

#[test]
fn each_cpu_has_its_own_account() {
    let cpus = cpus::allowed();
    let Some(mut reader) = clock_reader(clock_layout(), &cpus) else { return };
    let mut of_cpu: BTreeMap<u32, Vec<StealReading>> = BTreeMap::new();
    for &cpu in &cpus[..cpus.len().min(2)] {
        with_busy_cpu(cpu, || {
            wait(|| {
                for reading in reader.drain() {
                    of_cpu.entry(reading.cpu).or_default().push(reading);
                }
                of_cpu.get(&cpu).is_some_and(|readings| readings.len() >= 10)
            });
        });
    }
    let lost = reader.lost().unwrap();
    for pair in of_cpu.values().flat_map(|readings| readings.windows(2)) {
        assert!(pair[0].at_ns < pair[1].at_ns && pair[0].steal_ns < pair[1].steal_ns);
        assert!(lost > 0 || pair[0].at_ns == pair[1].previous_ns, "{pair:?}");
    }
}
