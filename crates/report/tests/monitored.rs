//! The screen of what was monitored, from recordings whose truth is known.
//!
//! After a change that is meant, look at `INSTA_UPDATE=always cargo test --workspace --test report`
//! in the diff of `tests/snapshots`.

use anechoic_analyze::monitor::{Why, monitored};
use anechoic_lab::builders;
use anechoic_recording::options::Answers;
use anechoic_recording::rows::Growth;
use anechoic_recording::run::{Monitoring, Run};
use anechoic_recording::{Clock, Recorder, Recording, methods};
use anechoic_report::View;
use anechoic_report::export::FORMATS;
use anechoic_report::results::Found;
use anechoic_report::results::monitored::MONITORED;
use std::path::Path;

const SECOND: u64 = 1_000_000_000;

/// Writes a recording of so many seconds; `value` returns the growth of each rate in a second.
fn write(dir: &Path, start_utc: &str, seconds: u64, value: impl Fn(&str, u64) -> u64) -> Recording {
    let clock = Clock::in_nanoseconds("CLOCK_BOOTTIME", "nanoseconds");
    let start_ticks = 77 * SECOND;
    let asked = Monitoring {
        save_on: vec!["unusual".into(), "steal>50%".into()],
        groups: vec!["/a b".into()],
        ..Monitoring::default()
    };
    let run = Run {
        start_utc: start_utc.into(),
        start_ticks,
        end_ticks: start_ticks + seconds * SECOND,
        monitor: Some(asked),
        ..builders::run(methods::RATES, clock, vec![])
    };
    let mut recorder = Recorder::create(dir, &run).expect("a place");
    for second in 0..seconds {
        let from_ticks = start_ticks + second * SECOND;
        let rows = ["steal", "cpu-pressure", "switches", "used /a b"].map(|name| Growth {
            name: name.into(),
            start_ticks: from_ticks,
            end_ticks: from_ticks + SECOND,
            value: value(name, second),
        });
        recorder.append(&rows).expect("written");
        if second % 600 == 599 {
            recorder.complete_parts().expect("complete");
        }
    }
    recorder.finish(&run).expect("complete");
    Recording::open(dir).expect("a recording")
}

/// Two hours and, after a pause of a minute, one more: the level of switches is three times as high from 01:00:00 on, the host
/// takes 60 % for 8 s at 01:30:00, and pressure is high in one second at 00:40:00 and in the same way ten minutes later.
fn recordings(dir: &Path) -> [Recording; 2] {
    let value = |start: u64| {
        move |name: &str, second: u64| {
            let second = start + second;
            let wave = (second * 7919) % 101;
            match name {
                "steal" => {
                    if (5_400..5_408).contains(&second) {
                        SECOND / 10 * 6
                    } else {
                        wave * 10_000
                    }
                }
                "cpu-pressure" => {
                    if [2_400, 3_000].contains(&second) {
                        SECOND / 2
                    } else {
                        wave * 200_000
                    }
                }
                "switches" => (if second < 3_600 { 1_000 } else { 3_000 }) + wave,
                _ => SECOND / 4,
            }
        }
    };
    let first = write(&dir.join("counters-000001"), "2026-05-09T07:00:00Z", 7_200, value(0));
    let second = write(&dir.join("counters-000002"), "2026-05-09T09:01:00Z", 3_600, value(7_260));
    [second, first]
}

#[test]
fn changes_are_found_when_they_were() {
    let place = tempfile::tempdir().expect("a directory");
    let recordings = recordings(place.path());
    let found = monitored(&recordings.each_ref(), vec![]).expect("readable");
    assert!((found.read_s - 10_800.0).abs() < 1e-6);
    assert_eq!(found.missing.times, 1);
    assert!((found.missing.length_s - 60.0).abs() < 1e-3, "{:?}", found.missing);
    let unusual: Vec<(&str, &str, bool)> = found
        .unusual
        .iter()
        .map(|one| (&*one.since_utc, &*one.name, matches!(one.why, Why::Limit { .. })))
        .collect();
    // The pressure is known from then on.
    let expected = [
        ("2026-05-09T07:40:00.000Z", "cpu-pressure", false),
        ("2026-05-09T08:30:00.000Z", "steal", true),
        ("2026-05-09T08:30:00.000Z", "steal", false),
    ];
    assert!(expected.iter().all(|one| unusual.contains(one)), "{unusual:?}");
    assert_eq!(unusual.iter().filter(|one| one.1 == "cpu-pressure").count(), 1, "{unusual:?}");
    let switches = found.rates.iter().find(|row| row.name == "switches").expect("a rate");
    assert_eq!(switches.readings, 10_800);
    let [step] = &switches.steps[..] else { panic!("one step: {:?}", switches.steps) };
    // The rank of one span among its equals may move the step by one span.
    let since = ["2026-05-09T08:00:00.000Z", "2026-05-09T08:01:00.000Z"];
    assert!(since.contains(&&*step.since_utc), "{step:?}");
    assert!((step.before - 1_050.0).abs() < 5.0 && (step.after - 3_050.0).abs() < 5.0, "{step:?}");
    let used = found.rates.iter().find(|row| row.name == "used /a b").expect("a rate");
    assert!((used.median - 0.25).abs() < 1e-12 && used.steps.is_empty());

    let found = Found::from_value(&MONITORED, found, &[]);
    let view = View::default();
    let text = found.screen(&view).to_text(&view);
    assert!(text.lines().count() <= 40, "{text}");
    insta::assert_snapshot!("monitored", text);
}

/// Counters have a table of their own, and no other format holds them.
#[test]
fn counters_are_exported_as_their_rows_only() {
    let dir = tempfile::tempdir().expect("a directory");
    let recording = write(&dir.path().join("r"), "2026-05-01T00:00:00Z", 3, |_, second| second);
    for format in FORMATS {
        let answers = Answers::read(format.options, &[]).expect("options");
        let found = format.exports(&recording, None, &answers, &|_| {});
        if format.id != "csv" {
            let refused = found.expect_err(format.id).to_string();
            assert!(refused.contains("it is a recording of the kernel's counters"), "{refused}");
            assert!(refused.contains("csv"), "{refused}");
            continue;
        }
        let mut out = vec![];
        (format.write)(&found.expect("counters")[0], &mut out).expect("written");
        let text = String::from_utf8(out).expect("text");
        assert_eq!(text.lines().count(), 1 + 3 * 4, "{text}");
        assert!(text.contains("switches,79000000000,80000000000,3000000000,2\r\n"), "{text}");
    }
}
