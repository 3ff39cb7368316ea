//! netgauge's text, read as LogGOPSim does.

use super::{ITERATION, export_of, files, record};
use anechoic_recording::{Detour, Recorder, Recording};

/// Reads a noise trace as `Noise::Noise` of LogGOPSim: line by line up to the end of the file, of which an empty last
/// line would be one more event, with a buffer of 1,024 bytes.
fn read_by_loggopsim(file: &[u8]) -> Vec<(u64, u64)> {
    let text = std::str::from_utf8(file).expect("text");
    let (mut events, mut last) = (vec![], (0, 0));
    for line in text.split('\n') {
        assert!(line.len() < 1024, "the reader would stop at {line}");
        if line.starts_with('#') {
            continue;
        }
        if let Some((offset, duration)) = line.split_once('\t') {
            last = (offset.parse().expect("ns"), duration.parse().expect("ns"));
        }
        events.push(last);
    }
    events
}

#[test]
fn a_simulator_reads_the_detours_of_each_cpu() {
    let files = files("netgauge");
    let read: Vec<_> = files.iter().map(|file| read_by_loggopsim(file)).collect();
    let expected = [
        [(0, 5_000), (1_499_999_000, 200_000), (2_499_999_000, 300)],
        [(0, 7_000), (1_249_998_000, 1_234_567), (1_259_998_000, 90)],
    ];
    assert_eq!(read, expected);
    let head = "# Benchmark Method: selfish\n\
                # anechoic 0.1.0, host node17, method detours, started 2026-05-09T07:31:17Z\n\
                # CPU 0\n\
                # Selfish Benchmark\n\
                # Minimal cycle length [ns]: 10.000000 \n\
                # Number of iterations (recorded+unrecorded): 300000000 \n\
                # Threshold: [% minimal cycle length]: 900 \n\
                # \n\
                # Time [ns]\tselfish duration [ns]\n\
                0\t5000\n";
    let text = String::from_utf8_lossy(&files[0]);
    assert!(text.starts_with(head), "{text}");
}

#[test]
fn one_detour_is_no_trace() {
    let dir = tempfile::tempdir().expect("a directory");
    let run = super::run();
    let mut recorder = Recorder::create(&dir.path().join("r"), &run).expect("new");
    let start_ticks = super::START + 5;
    let detour = Detour { cpu: 0, start_ticks, end_ticks: start_ticks + 100 + ITERATION };
    recorder.append(&[detour]).expect("in order");
    recorder.finish(&run).expect("there is space");
    let recording = Recording::open(&dir.path().join("r")).expect("written");
    let refused = export_of(&recording, "netgauge", &[], Some(&[0])).expect_err("one detour");
    assert!(refused.why.contains("CPU 0 has 1 detours"), "{refused}");
    let complete = record(&dir.path().join("complete"), &[]);
    assert!(export_of(&complete, "netgauge", &[], Some(&[0])).is_ok());
}
