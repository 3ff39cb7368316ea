//! netgauge's text, read as LogGOPSim does.

use super::{ITERATION, SECOND, START, export_of, files};
use anechoic_analyze::summarize;
use anechoic_lab::builders;
use anechoic_recording::import::IMPORTERS;
use anechoic_recording::options::Answers;
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
        [
            (0, 0),
            (1_000, 5_000),
            (1_500_000_000, 200_000),
            (2_500_000_000, 300),
            (3_000_000_000, 0),
        ],
        [
            (0, 0),
            (2_000, 7_000),
            (1_250_000_000, 1_234_567),
            (1_260_000_000, 90),
            (3_000_000_000, 0),
        ],
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
                0\t0\n\
                1000\t5000\n";
    let end = "2500000000\t300\n\
               # CPU overhead due to noise: 0.01%\n\
               # Measurement period: 3.00 s\n\
               3000000000\t0";
    let text = String::from_utf8_lossy(&files[0]);
    assert!(text.starts_with(head) && text.ends_with(end), "{text}");
}

/// Twenty detours of a millisecond within two of ten seconds, one, and none: what is exported and imported again has the
/// same noise over the same time.
#[test]
fn the_quiet_time_before_and_after_the_detours_is_kept() {
    for count in [20, 1, 0] {
        let dir = tempfile::tempdir().expect("a directory");
        let cpu = builders::cpu_run(0, (START, START + 10 * SECOND), ITERATION);
        let run = builders::run("detours", builders::clock(SECOND), vec![cpu]);
        let mut recorder = Recorder::create(&dir.path().join("r"), &run).expect("new");
        let detour = |at: u64| {
            let start_ticks = START + 4 * SECOND + at * SECOND / 10;
            Detour { cpu: 0, start_ticks, end_ticks: start_ticks + 1_000_000 + ITERATION }
        };
        recorder.append(&(0..count).map(detour).collect::<Vec<_>>()).expect("in order");
        recorder.finish(&run).expect("there is space");
        let recording = Recording::open(&dir.path().join("r")).expect("written");
        let files = export_of(&recording, "netgauge", &[], Some(&[0])).expect("exported");
        let file = dir.path().join("noise.txt");
        std::fs::write(&file, &files[0]).expect("there is space");
        let importer = IMPORTERS.iter().find(|format| format.id == "netgauge").expect("a format");
        let answers = Answers::read(&importer.all_options(), &[]).expect("options");
        importer.import(&[file], &answers, &dir.path().join("back")).expect("imported");
        let back = Recording::open(&dir.path().join("back")).expect("written");
        let [there, back] =
            [recording, back].map(|recording| summarize(&recording).expect("sound").total);
        assert_eq!((back.detours, back.wall_ns), (count, there.wall_ns), "{count} detours");
        assert!((back.noise - 1e-4 * count as f64).abs() < 1e-6, "{} {}", back.noise, there.noise);
    }
}
