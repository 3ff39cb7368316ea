//! The screens and the page of memory experiments.

use crate::made::facts;
use anechoic_analyze::Memory;
use anechoic_analyze::memory::{Border, Calls, Delays, Experiment, Own, Point, Prediction, Region};
use anechoic_analyze::samples::outliers::{Cause, Outliers};
use anechoic_analyze::stats::Interval;
use anechoic_recording::Policy;
use anechoic_recording::memory::MEMORY_EXPERIMENTS;
use anechoic_report::results::memory::MEMORY;
use anechoic_report::{HtmlPart, HtmlReport, Screen, View, figures, html, suite_memory};

/// The ends of the regions in bytes.
const BORDERS: [u64; 3] = [32 << 10, 1 << 20, 32 << 20];
/// Ticks per access in each region.
const TICKS: [f64; 4] = [4.0, 14.0, 60.0, 240.0];

fn region(bytes: u64) -> usize {
    BORDERS.iter().filter(|&&border| bytes > border).count()
}

/// Returns an experiment whose accesses take this many times those of the warm one.
fn experiment(id: &str, slower: f64) -> Experiment {
    let definition = MEMORY_EXPERIMENTS.iter().find(|known| known.id == id).expect("an experiment");
    let point = |log2: u32| {
        let bytes = 1 << log2;
        let ticks = TICKS[region(bytes)] * slower;
        Point {
            bytes,
            samples: 128,
            min: ticks * 0.95,
            median: ticks,
            mean: ticks * 1.02,
            max: ticks * 4.0,
            variance: Some(ticks / 2.0),
            ratio: Some(0.5),
            variance_without_os: Some(ticks / 8.0),
            predicted: (slower > 1.5).then_some(ticks * 0.9),
            outliers: 1,
        }
    };
    let found_region = |ticks: f64| Region {
        points: 4,
        ticks: ticks * slower,
        ratio: Some(0.5),
        os_share: Some(0.75),
    };
    Experiment {
        id: id.to_owned(),
        group: definition.before.group(),
        published: definition.published,
        kernel: definition.kernel.to_owned(),
        other_bytes: None,
        absent: None,
        points: (12..=26).map(point).collect(),
        regions: TICKS.map(|ticks| Some(found_region(ticks))),
        prediction: (slower > 1.5).then_some(Prediction {
            points: 15,
            error: 0.1,
            warm_error: 0.4,
        }),
    }
}

fn made() -> Memory {
    let mut absent = experiment("migration-read-random-far", 1.0);
    absent.points.clear();
    absent.regions = [None; 4];
    absent.absent = Some("no CPU that this process may use shares no cache with CPU 1".into());
    let border = |(name, bytes): (&str, u64)| Border {
        name: name.into(),
        reported_bytes: bytes,
        knee_bytes: (name != "L3").then_some(bytes * 5 / 4),
        sequential_knee_bytes: (name == "L3").then_some(bytes / 2),
    };
    Memory {
        own: None,
        wrong: 0,
        run: facts(),
        cpu: Some(1),
        tick_ns: 0.5,
        quantum_ns: Some(1_400_000),
        preemptor: Some(Policy::fifo(2)),
        read_ticks: 25,
        page_bytes: vec![4096],
        borders: ["L1", "L2", "L3"].into_iter().zip(BORDERS).map(border).collect(),
        experiments: vec![
            experiment("bandwidth-read-random-warm", 1.0),
            experiment("preemption-read-random-write-long", 2.0),
            experiment("migration-read-random-l3", 1.3),
            absent,
        ],
        delays: vec![Delays {
            migration: "migration-read-random-l3".into(),
            preemption: "preemption-read-random-write-long".into(),
            co_runner: false,
            points: 14,
            dearer: 3,
            ratio: 0.65,
        }],
        outliers: Outliers {
            samples: 5_760,
            count: 45,
            examined: 30,
            explained: 27,
            causes: vec![Cause {
                source: "timer-tick".into(),
                name: String::new(),
                outliers: 25,
                ns: 90_000,
            }],
        },
    }
}

/// Returns the text of a screen in one line.
fn words(screen: &Screen, view: &View<'_>) -> String {
    let text = screen.to_text(view);
    let widest = text.lines().map(|line| line.chars().count()).max();
    assert!(widest <= Some(80), "a line of {widest:?} columns:\n{text}");
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn the_screen_states_what_was_found() {
    let view = View { all: true, ..View::default() };
    let text = words(&anechoic_report::memory(&made(), &view), &view);
    for sentence in [
        "the variance falls by 75.0 % (to L1), 75.0 % (to L2), 75.0 % (to L3), 75.0 % (beyond)",
        "with idle CPUs in 3 of 14 working sets",
        "by 10 % in the median of 1 curve, the warm curve itself by 40 %",
        "migration-read-random-far: no CPU that this process may use",
    ] {
        assert!(text.contains(sentence), "{sentence}:\n{text}");
    }
    assert!(!text.contains("wrong value"), "{text}");
    let wrong = words(&anechoic_report::memory(&Memory { wrong: 2, ..made() }, &view), &view);
    assert!(
        wrong.contains("2 passes returned a wrong value: do not trust this machine"),
        "{wrong}"
    );
    let hidden = Memory { borders: vec![], ..made() };
    let text = words(&anechoic_report::memory(&hidden, &view), &view);
    assert!(text.contains("does not report its caches") && text.contains("(all sizes)"), "{text}");
}

/// The experiment that adds most is named if its interval excludes 0; otherwise nothing is decided.
#[test]
fn a_users_function_is_shown_by_what_lengthens_a_call() {
    let calls = |experiment: &str, added: Option<(f64, f64)>| Calls {
        experiment: experiment.into(),
        calls: 1_000,
        median_ns: 20_000.0 + added.map_or(0.0, |(ns, _)| ns),
        longest_ns: 90_000.0,
        added_ns: added.map(|(ns, _)| ns),
        added_95: added.map(|(ns, reach)| Interval { low: ns - reach, high: ns + reach }),
    };
    let shown = |calls: Vec<Calls>| {
        let own = Own { work: "./k.so:step".into(), bytes: 27 << 10, calls };
        let view = View::default();
        words(&anechoic_report::memory(&Memory { own: Some(own), ..made() }, &view), &view)
    };
    let warm = calls("bandwidth-own-warm", None);
    let sleep = calls("preemption-own-sleep-long", Some((9_000.0, 10_000.0)));
    let write = calls("preemption-own-write-long", Some((5_000.0, 1_000.0)));
    let text = shown(vec![warm.clone(), sleep.clone(), write]);
    for sentence in [
        "A call of ./k.so:step takes 20 µs with warm caches. 1 of 2 experiments lengthens it beyond doubt, most of all \
         a preemption that writes memory: by 5.0 µs (4.0–6.0 µs), 1.25 times as long.",
        "a workspace of 27 KiB",
        "a preemption that sleeps 500 µs 1,000 29 µs 9.0 µs (-1.0 to 19 µs)",
    ] {
        assert!(text.contains(sentence), "{sentence}:\n{text}");
    }
    let text = shown(vec![warm.clone(), sleep]);
    assert!(text.contains("Whether 1 experiment lengthens it is not decided."), "{text}");
    let text = shown(vec![]);
    assert!(text.contains("No call of ./k.so:step was measured."), "{text}");
    let text = shown(vec![warm]);
    assert!(!text.contains("decided") && !text.contains("beyond doubt"), "{text}");
}

#[test]
fn the_suite_stands_beside_what_was_published() {
    let view = View::default();
    let text = words(&suite_memory(&[made()], &view).screen(&view), &view);
    assert!(text.contains("Published:") && text.contains("12 of 184 values"), "{text}");
    assert!(words(&suite_memory(&[], &view).screen(&view), &view).contains("nothing was measured"));
}

#[test]
fn the_page_draws_measured_and_predicted_times() {
    let run =
        anechoic_lab::builders::run("memory", anechoic_lab::builders::clock(2_000_000_000), vec![]);
    let part = HtmlPart::new("here".into(), run).with(&MEMORY, made());
    let report = HtmlReport { recordings: vec![part], ..HtmlReport::default() };
    let names: Vec<String> = figures(&report).into_iter().map(|figure| figure.name).collect();
    assert!(names.iter().any(|name| name.contains("predicted")), "{names:?}");
    let mut page = vec![];
    html(&report, &mut page).expect("writing to memory");
    let page = String::from_utf8(page).expect("text");
    for text in [
        "preemption-read-random-write-long predicted",
        "75.0 %",
        "no CPU that this process may use",
    ] {
        assert!(page.contains(text), "{text}");
    }
}
