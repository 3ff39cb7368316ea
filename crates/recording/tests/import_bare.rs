//! Results of the image without an operating system that become recordings, and those that are refused.

use anechoic_lab::bare::with_checksum;
use anechoic_recording::import::IMPORTERS;
use anechoic_recording::options::Answers;
use anechoic_recording::{Detour, Problem, Recording, Row, Sample};
use std::fs;
use std::path::Path;

/// A result of the image in an emulator that counts instructions, so that all repetitions are equal.
const RESULT: &str = include_str!("../../../fixtures/bare-1/result.txt");

/// The same of two CPUs that measured at the same time, in version 2 of the text.
const TWO_CPUS: &str = include_str!("../../../fixtures/bare-2/result.txt");

/// A result of a walk on pages of several sizes.
const WALK: &str = include_str!("../../../fixtures/bare-2/paging.txt");

/// Passes over memory after preemptions by a second context, and one experiment without.
const PREEMPTED: &str = include_str!("../../../fixtures/bare-2/preemption.txt");

/// Imports this text as a result of the image and returns its methods.
fn bare(text: &str) -> (tempfile::TempDir, Result<Vec<String>, Problem>) {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("result-1.txt");
    fs::write(&file, text).unwrap();
    let importer = IMPORTERS.iter().find(|importer| importer.id == "bare").unwrap();
    let answers = Answers::read(&importer.all_options(), &[]).unwrap();
    let place = dir.path().join("recording");
    let done = importer.import(std::slice::from_ref(&file), &answers, &place);
    let made = |_| {
        let found = METHODS.iter().filter(|method| place.join(method).exists());
        found.map(|method| (*method).to_owned()).collect()
    };
    (dir, done.map(made))
}

/// The methods of the result.
const METHODS: [&str; 5] = ["detours", "fwq", "ftq", "loops", "memory"];

fn rows<R: Row>(dir: &Path) -> Vec<R> {
    Recording::open(dir).unwrap().rows::<R>().flat_map(|rows| rows.unwrap()).collect()
}

#[test]
fn every_number_of_the_image_is_in_the_recordings() {
    let (dir, imported) = bare(RESULT);
    let methods = imported.unwrap();
    assert_eq!(methods, METHODS);
    let method_dir = |method: &str| dir.path().join("recording").join(method);
    let mut lines = RESULT.lines().filter(|line| !line.starts_with('#'));
    let numbers = |line: &str| -> Vec<u64> {
        line.split(' ').skip(1).map(|number| number.parse().unwrap()).collect()
    };
    let mut in_text: Vec<Vec<u64>> = vec![];
    let mut words = vec![];
    for line in &mut lines {
        match line.split(' ').next().unwrap() {
            "series" => in_text.push(vec![]),
            word @ ("s" | "w" | "t") => {
                words.push(word);
                in_text.last_mut().unwrap().extend(numbers(line));
            }
            _ => {}
        }
    }
    let mut in_recordings: Vec<Vec<u64>> = vec![vec![]]; // the detours, of which there are none
    for method in &methods[1..] {
        let samples: Vec<Sample> = rows(&method_dir(method));
        for (series, _) in Recording::open(&method_dir(method)).unwrap().series().unwrap() {
            let series_samples = samples.iter().filter(|sample| sample.series == series.series);
            let mut last_end = None;
            in_recordings.push(
                series_samples
                    .flat_map(|sample| {
                        let before = last_end.replace(sample.end_ticks);
                        let before = sample.start_ticks - before.unwrap_or(sample.start_ticks);
                        let duration = sample.end_ticks - sample.start_ticks;
                        match (method.as_str(), series.parameters.other_bytes) {
                            ("ftq", _) => vec![sample.count],
                            (_, Some(_)) => vec![before, duration],
                            _ => vec![duration],
                        }
                    })
                    .collect(),
            );
        }
    }
    assert_eq!(in_recordings, in_text);
    assert!(["s", "w", "t"].iter().all(|word| words.contains(word)), "the fixture has all kinds");
    assert!(rows::<Detour>(&method_dir("detours")).is_empty());
    let run = Recording::open(&method_dir("fwq")).unwrap().run().clone();
    assert_eq!((&*run.machine.kernel, &*run.machine.host), ("none", "lab"));
    assert!(run.notes[0].contains("durations mean nothing"), "{:?}", run.notes);
    assert!(run.notes[1].starts_with("interrupts were off"), "{:?}", run.notes);
}

#[test]
fn a_serial_line_adds_carriage_returns_and_what_the_firmware_shows() {
    let result = &RESULT[RESULT.find("anechoic-bare 1").unwrap()..];
    let text = format!("\x1b[2JBdsDxe: starting\n\x1b[0m{result}after it\n").replace('\n', "\r\n");
    assert_eq!(bare(&text).1.unwrap().len(), 5);
}

#[test]
fn gaps_become_detours() {
    let gap = |line: &str| match line.starts_with("ran 0 ") {
        true => format!("{line}\ng 4000000000 500 20 700\n"),
        false => format!("{line}\n"),
    };
    let (dir, imported) = bare(&with_checksum(&RESULT.lines().map(gap).collect::<String>()));
    imported.unwrap();
    let found: Vec<Detour> = rows(&dir.path().join("recording/detours"));
    let spans: Vec<_> = found.iter().map(|detour| (detour.start_ticks, detour.end_ticks)).collect();
    assert_eq!(spans, [(4_000_000_000, 4_000_000_500), (4_000_000_520, 4_000_001_220)]);
}

#[test]
fn one_method_is_one_recording() {
    let lines: Vec<&str> = RESULT.lines().collect();
    let at = |word: &str| lines.iter().position(|line| line.starts_with(word)).unwrap();
    let kept =
        [&lines[..at("series 0")], &lines[at("series 1")..at("series 2")], &lines[at("ended")..]];
    let (dir, imported) = bare(&with_checksum(&kept.concat().join("\n")));
    imported.unwrap();
    assert_eq!(Recording::open(&dir.path().join("recording")).unwrap().run().method, "fwq");
}

#[test]
fn what_is_no_whole_result_is_refused_with_the_reason() {
    let half = RESULT.split_at(RESULT.len() / 2).0;
    let changed = |from: &str, to: &str| {
        assert!(RESULT.contains(from), "{from}");
        RESULT.replacen(from, to, 1)
    };
    let mended = |from: &str, to: &str| with_checksum(&changed(from, to));
    let cases = [
        ("nothing", String::new(), "holds no result"),
        ("another file", "hello\n".to_owned(), "holds no result"),
        ("a failed image", "anechoic-bare failed: it\n".to_owned(), "failed: it"),
        ("cut off", half.to_owned(), "is cut off after"),
        ("cut off in its last line", RESULT[..RESULT.len() - 3].to_owned(), "checksum"),
        ("a changed digit", changed("ran 1 start=1", "ran 1 start=2"), "checksum"),
        ("a lost line", changed("state complete\n", ""), "checksum"),
        ("a newer version", changed("anechoic-bare 1", "anechoic-bare 3"), "version 3"),
        ("a word for a number", mended("asked=40", "asked=many"), "'many' is not a number"),
        ("a missing value", mended(" asked=40", ""), "it has no asked"),
        ("samples before a series", mended("loader", "s 1 2\nloader"), "no series before it"),
        ("no such CPU", mended("series 1 ", "series 1 cpu=9999 "), "there is no such CPU"),
        ("a time without end", mended("\ns ", "\ns 18446744073709551615 "), "a time is too large"),
    ];
    for (name, text, expected) in cases {
        let (dir, imported) = bare(&text);
        let error = imported.expect_err(name).to_string();
        assert!(error.contains(expected) && error.contains("result-1.txt"), "{name}: {error}");
        assert!(!dir.path().join("recording").exists(), "{name}: nothing is written");
    }
}

#[test]
fn pages_of_a_walk_are_those_of_the_page_tables() {
    let (dir, imported) = bare(WALK);
    imported.unwrap();
    let recording = Recording::open(&dir.path().join("recording")).unwrap();
    let run = recording.run();
    assert_eq!((&*run.method, run.machine.data_tlb.unwrap().entries), ("paging", 512));
    let series = recording.series().unwrap();
    assert_eq!(series.len(), run.allocations.len());
    for ((series, _), memory) in series.iter().zip(&run.allocations) {
        let page =
            if series.parameters.experiment.as_deref() == Some("base") { 4096 } else { 2 << 20 };
        assert_eq!((memory.series, memory.share_of(page)), (series.series, 1.0));
        assert_eq!(memory.verified, anechoic_recording::paging::Verified::PageTables);
    }
    let absent = run.not_available.iter().find(|absent| absent.what == "pages huge-1g").unwrap();
    assert!(absent.why.contains("no whole page of this size"), "{absent:?}");
}

#[test]
fn preemptions_are_the_experiments_of_the_command_and_say_how_they_were_made() {
    let notes = |text: &str, method: &str| {
        let (dir, imported) = bare(text);
        let place = match imported.unwrap().is_empty() {
            true => dir.path().join("recording"),
            false => dir.path().join("recording").join(method),
        };
        let recording = Recording::open(&place).unwrap();
        (recording.run().notes.clone(), recording.series().unwrap())
    };
    let (found, series) = notes(PREEMPTED, "memory");
    assert!(found.iter().any(|note| note.contains("a switch to a second context")), "{found:?}");
    assert!(!found.iter().any(|note| note.contains("are assumed")), "{found:?}");
    let experiments: Vec<_> = { series.iter() }
        .map(|(series, _)| (&series.parameters.experiment, series.parameters.other_bytes))
        .map(|(id, other)| (id.as_deref().unwrap_or(""), other))
        .collect();
    assert_eq!(experiments.len(), 5 * 2);
    let known =
        anechoic_recording::memory::MEMORY_EXPERIMENTS.iter().map(|known| known.id.as_str());
    assert!(
        experiments.iter().all(|(id, _)| known.clone().any(|known| known == *id)),
        "{experiments:?}"
    );
    assert_eq!(experiments[0], ("bandwidth-read-random-warm", None));
    assert_eq!(experiments[2], ("preemption-read-random-sleep-long", None));
    assert_eq!(experiments[4], ("preemption-read-random-read-long", Some(4 * (4 << 20))));
    assert_eq!(experiments[8], ("preemption-read-random-code-long", Some(512 << 10)));
    // A CPU that hides its caches, and a result without a preemption.
    let hidden =
        PREEMPTED.replace("# measuring: memory\n", "assumed-caches 32768 1048576 33554432\n");
    let (found, _) = notes(&with_checksum(&hidden), "memory");
    let assumed = "32, 1024 and 32768 KiB are assumed";
    assert!(found.iter().any(|note| note.contains(assumed)), "{found:?}");
    let (found, _) = notes(RESULT, "memory");
    assert!(!found.iter().any(|note| note.contains("second context")), "{found:?}");
}

#[test]
fn series_of_several_cpus_keep_their_cpus() {
    // Two threads of one core, and a third CPU that could not be started.
    let text = TWO_CPUS
        .replace(" core=0 package=1 ", " core=1 package=3 ")
        .replace("skew 1 ", "missing 2 it does not start\nskew 1 ");
    let (dir, imported) = bare(&with_checksum(&text));
    assert_eq!(imported.unwrap(), ["detours", "fwq", "loops"]);
    let place = dir.path().join("recording/fwq");
    let recording = Recording::open(&place).unwrap();
    let run = recording.run();
    let cpus: Vec<_> = run.cpus.iter().map(|cpu| (cpu.cpu, cpu.class.as_str())).collect();
    assert_eq!(cpus, [0, 1].map(|cpu| (cpu, run.machine.model.as_str())));
    assert!(run.cpus.iter().all(|cpu| cpu.first_ticks < cpu.last_ticks));
    let skew: Vec<_> = run.clock.skew.iter().map(|skew| (skew.cpu, skew.bound_ticks)).collect();
    assert_eq!(skew, [(0, 0), (1, 22)]);
    let machine: Vec<_> = { run.machine.cpus.iter() }
        .map(|cpu| (cpu.cpu, cpu.package, cpu.core, cpu.siblings.as_str()))
        .collect();
    assert_eq!(machine, [0, 1].map(|cpu| (cpu, Some(0), Some(0), "0-1")));
    assert_eq!(run.machine.smt, Some(true));
    let missing = run.not_available.iter().find(|missing| missing.what == "CPU 2").unwrap();
    assert_eq!(missing.why, "it does not start");
    let series = recording.series().unwrap();
    let rounds: Vec<_> =
        series.iter().map(|(planned, _)| (planned.series, planned.cpu, planned.round)).collect();
    assert_eq!(rounds, [(0, Some(0), 1), (1, Some(1), 1)]);
    let samples: Vec<Sample> = rows(&place);
    let count = |cpu| samples.iter().filter(|sample| sample.cpu == cpu).count();
    assert_eq!([count(0), count(1)], [20, 20]);
}

/// The trials of a calibration agreed, or by how much they did not is noted once in each recording.
#[test]
fn a_calibration_in_doubt_is_noted() {
    let doubtful = RESULT.replace(" method=fwq kernel=", " doubt=23456 method=fwq kernel=");
    assert_ne!(doubtful, RESULT);
    let noted = |text: &str, method: &str| {
        let (dir, imported) = bare(&with_checksum(text));
        imported.unwrap();
        let recording = Recording::open(&dir.path().join("recording").join(method)).unwrap();
        let notes = recording.run().notes.iter();
        notes.filter(|note| note.contains("speed changed")).cloned().collect::<Vec<_>>()
    };
    assert_eq!(noted(RESULT, "fwq"), [] as [&str; 0]);
    let found = noted(&doubtful, "fwq");
    assert!(matches!(&found[..], [one] if one.contains(" 2.3 % longer or shorter")), "{found:?}");
    assert_eq!(noted(&doubtful, "ftq"), [] as [&str; 0]);
}

/// A CPU whose own shortest gap is longer than that of its class is disturbed in every iteration: that is noise.
#[test]
fn the_shortest_gap_of_a_class_is_subtracted_from_all_its_gaps() {
    let line = |text: &str, number: u32| {
        text.lines().find(|line| line.starts_with(&format!("ran {number} "))).unwrap().to_owned()
    };
    let slower = line(TWO_CPUS, 1).replace("shortest=13", "shortest=21");
    let text = with_checksum(&TWO_CPUS.replace(&line(TWO_CPUS, 1), &slower));
    let other = "cpu 1 id=1 core=0 package=1 class=0x60fb1";
    let unlike = with_checksum(&text.replace(other, &other.replace("0x60fb1", "0x60fb2")));
    for (text, expected) in [(text, [13, 13]), (unlike, [13, 21])] {
        let (dir, imported) = bare(&text);
        assert!(imported.unwrap().contains(&"detours".to_owned()));
        let recording = Recording::open(&dir.path().join("recording/detours")).unwrap();
        let cpus = &recording.run().cpus;
        let own: Vec<u64> = cpus.iter().map(|cpu| cpu.own_shortest_gap_ticks).collect();
        let subtracted: Vec<u64> = cpus.iter().map(|cpu| cpu.shortest_gap_ticks).collect();
        assert_eq!((&own[..], &subtracted[..]), (&[13, 21][..], &expected[..]));
    }
}
