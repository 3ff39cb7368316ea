//! The screen of the interference matrix: each beside the one that was looked at and found good.

use crate::made::{self, samples::Random};
use anechoic_analyze::Interference;
use anechoic_analyze::interference::{Asked, ClassCost, Cost, KernelPace, Pair, Proximity};
use anechoic_analyze::stats::Interval;
use anechoic_recording::injection::{InjectionKind, InjectionTiming};
use anechoic_recording::run::{NotAvailable, RunState};
use anechoic_report::{Style, View};
use proptest::prelude::*;
use std::path::Path;

const KERNELS: [(&str, f64); 3] = [("intadd", 0.25), ("intmul", 1.0), ("intdiv", 6.97)];
const NARROW: View<'_> = View { style: Style { color: false }, width: 80, all: false, path: None };
const ALL: View<'_> = View { all: true, ..NARROW };

fn cost(ns: f64, error: f64) -> Cost {
    let interval = Interval { low: ns - 2.0 * error, high: ns + 2.0 * error };
    Cost {
        per_interrupt_ns: ns,
        interval: Some(interval),
        standard_error_ns: Some(error),
        smallest_effect_ns: Some(2.8 * error),
        differs: interval.low > 0.0 || interval.high < 0.0,
        interrupts: 930,
        with: 1_390,
        without: 8_100,
    }
}

/// What an interrupt costs a kernel at this distance, the first kernel most.
pub fn planted(place: Proximity, kernel: usize) -> f64 {
    match place {
        Proximity::SameThread => [14_800.0, 14_500.0, 14_400.0][kernel],
        Proximity::SmtSibling => [3_200.0, 900.0, 120.0][kernel],
        Proximity::SharedL2 => [160.0, 0.0, 0.0][kernel],
        _ => 0.0,
    }
}

/// A matrix of the given number of CPUs, where `place` returns how near two of them are.
fn matrix(cpus: u32, place: impl Fn(u32, u32) -> Proximity) -> Interference {
    let mut random = Random(5);
    let mut pairs = vec![];
    for (at, (kernel, _)) in KERNELS.iter().enumerate() {
        for (source, cpu) in (0..cpus).flat_map(|a| (0..cpus).map(move |b| (a, b))) {
            let place = place(source, cpu);
            let error = 15.0 + 10.0 * random.next();
            let luck: f64 = (0..12).map(|_| random.next()).sum::<f64>() - 6.0;
            pairs.push(Pair {
                drawn: None,
                series: pairs.len() as u32,
                source,
                cpu,
                place,
                kernel: (*kernel).to_owned(),
                repetitions: 10_000,
                unknown: 0,
                interrupts: 937,
                delivered_hz: 936.0 + random.next(),
                all: Some(cost(planted(place, at) + 2_000.0 * random.next(), 900.0)),
                alone: Some(cost(planted(place, at) + luck * error, error)),
            });
        }
    }
    let run = anechoic_analyze::facts::Facts {
        method: "interference".into(),
        cpus: (0..cpus).collect(),
        wall_ns: 15_500_000_000,
        ..made::facts()
    };
    let kernel = |(kernel, cycles): &(&str, f64)| KernelPace {
        kernel: (*kernel).to_owned(),
        cycles_per_instruction: Some(*cycles),
    };
    let asked = Asked {
        kind: InjectionKind::Interrupt,
        timing: InjectionTiming::Periodic,
        rate_hz: 937.0,
        duration_ns: 0,
        in_step_with_hz: None,
    };
    Interference {
        run,
        injected: vec![asked],
        grain_ns: Some(100_000),
        kernels: KERNELS.iter().map(kernel).collect(),
        sources: (0..cpus).collect(),
        cpus: (0..cpus).collect(),
        classes: classes(&pairs),
        pairs,
        interval: String::new(),
        losses: vec![],
        not_available: vec![],
    }
}

fn classes(pairs: &[Pair]) -> Vec<ClassCost> {
    let mut rows = vec![];
    for (place, (kernel, _)) in
        Proximity::ALL.iter().flat_map(|p| KERNELS.iter().map(move |k| (p, k)))
    {
        let matching = pairs.iter().filter(|pair| pair.place == *place && pair.kernel == *kernel);
        let costs: Vec<Cost> = matching.filter_map(|pair| pair.alone).collect();
        if costs.is_empty() {
            continue;
        }
        let values = || costs.iter().map(|cost| cost.per_interrupt_ns);
        let number = costs.len() as f64;
        let (mean, error) = (values().sum::<f64>() / number, 20.0 / number.sqrt());
        rows.push(ClassCost {
            place: *place,
            kernel: (*kernel).to_owned(),
            pairs: costs.len() as u64,
            felt: costs.iter().filter(|cost| cost.is_felt()).count() as u64,
            mean_ns: mean,
            interval: Some(Interval { low: mean - 2.0 * error, high: mean + 2.0 * error }),
            smallest_effect_ns: Some(2.8 * error),
            lowest_ns: values().fold(f64::MAX, f64::min),
            highest_ns: values().fold(f64::MIN, f64::max),
        });
    }
    rows
}

/// Two cores of a guest.
fn two() -> Interference {
    matrix(2, |a, b| if a == b { Proximity::SameThread } else { Proximity::SharedL3 })
}

/// Four cores of two threads, of which two cores each share a second-level cache.
pub fn eight() -> Interference {
    matrix(8, |a, b| match (a, b) {
        (a, b) if a == b => Proximity::SameThread,
        (a, b) if a % 4 == b % 4 => Proximity::SmtSibling,
        (a, b) if a % 4 / 2 == b % 4 / 2 => Proximity::SharedL2,
        _ => Proximity::SharedL3,
    })
}

/// Two sockets of 16 cores of two threads.
fn many(cpus: u32) -> Interference {
    matrix(cpus, move |a, b| {
        let half = cpus / 2;
        match (a, b) {
            (a, b) if a == b => Proximity::SameThread,
            (a, b) if a % half == b % half => Proximity::SmtSibling,
            (a, b) if a % half / 16 == b % half / 16 => Proximity::SharedL3,
            _ => Proximity::OtherSocket,
        }
    })
}

fn screen(found: &Interference, view: &View<'_>) -> String {
    anechoic_report::interference(found, view).to_text(view)
}

/// Looks at a screen: as it was, and never wider than the view.
fn golden(name: &str, found: &Interference, view: &View<'_>) {
    let path = Some(Path::new("anechoic-2026-05-09-073117"));
    let text = screen(found, &View { path, ..*view });
    let widest = text.lines().map(|line| line.chars().count()).max();
    assert!(widest <= Some(view.width), "{name} has a line of {widest:?} columns:\n{text}");
    insta::assert_snapshot!(name, text);
}

#[test]
fn two_cpus() {
    golden("interference_2", &two(), &NARROW);
    golden("interference_2_all", &two(), &View { width: 100, ..ALL });
}

#[test]
fn eight_cpus_with_siblings() {
    golden("interference_8", &eight(), &NARROW);
}

#[test]
fn sixty_four_cpus() {
    golden("interference_64", &many(64), &NARROW);
}

/// What went wrong, each of it on one screen.
#[test]
fn doubts() {
    let mut found = eight();
    found.run.state = RunState::Interrupted("SIGINT".into());
    found.injected[0].rate_hz = 1_000.0;
    found.injected[0].in_step_with_hz = Some(250.0);
    found.kernels[1].kernel = "evil\x1b[2J\nkernel".into();
    found.kernels[2].cycles_per_instruction = None;
    found.pairs[5].unknown = 412;
    found.pairs[6].alone = None;
    found.pairs[7].alone = Some(Cost { interval: None, differs: false, ..cost(12.0, 1.0) });
    for pair in found.pairs.iter_mut().filter(|pair| pair.source == 3 && pair.cpu != 3).take(12) {
        pair.alone = Some(cost(-120.0, 20.0));
    }
    found.pairs.remove(20);
    found.losses = vec![made::loss("events", 1_200, 0.01)];
    found.not_available = vec![NotAvailable {
        what: "times of interrupts".into(),
        why: "no kernel events were recorded".into(),
        remedy: "measure as root".into(),
    }];
    assert!(!screen(&found, &NARROW).contains('\x1b'), "names cannot move the cursor");
    golden("interference_doubts", &found, &NARROW);
}

#[test]
fn next_to_nothing() {
    let mut none = two();
    (none.pairs, none.classes, none.kernels, none.injected) = (vec![], vec![], vec![], vec![]);
    (none.sources, none.cpus, none.grain_ns) = (vec![], vec![], None);
    let mut unfelt = two();
    unfelt.pairs.retain(|pair| pair.place != Proximity::SameThread);
    for pair in &mut unfelt.pairs {
        pair.alone = Some(cost(1.0, 20.0));
    }
    unfelt.classes = classes(&unfelt.pairs);
    let mut one = two();
    one.pairs.retain(|pair| pair.source == 0 && pair.cpu == 0);
    (one.sources, one.cpus, one.classes) = (vec![0], vec![0], classes(&one.pairs));
    let screens = [none, unfelt, one].map(|found| screen(&found, &NARROW));
    insta::assert_snapshot!("interference_nothing", screens.join("\n"));
}

/// More CPUs than a line has columns are shown in parts, and it is said that some are left out.
#[test]
fn more_cpus_than_columns() {
    let found = many(130);
    let text = screen(&found, &NARROW);
    assert!(text.contains("the first 64 CPUs; --all shows the others"), "{text}");
    assert!(text.contains("--all shows 2 more maps"), "{text}");
    assert!(text.lines().count() < 120, "{} lines", text.lines().count());
    let all = screen(&found, &ALL);
    assert!(!all.contains("--all"), "{all}");
    let rows = all.lines().filter(|line| line.starts_with("129 ")).count();
    assert_eq!(rows, 3 * 3, "each kernel in three parts");
    for text in [text, all] {
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    }
}

#[test]
fn colour_is_the_same_text() {
    let coloured = View { style: Style { color: true }, ..NARROW };
    for found in [eight(), many(64)] {
        let text = screen(&found, &coloured);
        assert!(text.contains("\x1b[31m"), "what is felt most is red");
        let mut parts = text.split("\x1b[");
        let first = parts.next().unwrap_or_default().to_owned();
        let stripped = parts.map(|part| part.split_once('m').expect("a code ends").1);
        assert_eq!(stripped.fold(first, |text, part| text + part), screen(&found, &NARROW));
    }
}

proptest! {
    /// Numbers that no measurement gives do not break the screen.
    #[test]
    fn any_numbers(
        values in proptest::collection::vec(any::<f64>(), 12..40),
        counts in proptest::collection::vec(any::<u64>(), 5..20),
        width in 0usize..140,
        cpus in 1u32..5,
    ) {
        let mut found = matrix(cpus, |a, b| if a == b { Proximity::SameThread } else { Proximity::Unknown });
        let mut numbers = values.iter().copied().cycle();
        let mut any = || numbers.next().unwrap_or_default();
        let mut whole = counts.iter().copied().cycle();
        let mut some = || whole.next().unwrap_or_default() >> 3;
        for pair in &mut found.pairs {
            (pair.delivered_hz, pair.interrupts, pair.unknown) = (any(), some(), some() >> 16);
            pair.repetitions = some() >> 16;
            pair.alone = Some(Cost {
                per_interrupt_ns: any(),
                interval: Some(Interval { low: any(), high: any() }),
                standard_error_ns: Some(any()),
                smallest_effect_ns: Some(any()),
                differs: some() % 2 == 0,
                interrupts: some(),
                with: some(),
                without: some(),
            });
        }
        for class in &mut found.classes {
            (class.mean_ns, class.lowest_ns, class.highest_ns) = (any(), any(), any());
            class.interval = Some(Interval { low: any(), high: any() });
        }
        (found.injected[0].rate_hz, found.injected[0].in_step_with_hz) = (any(), Some(any()));
        let view = View { width, ..NARROW };
        screen(&found, &view);
        screen(&found, &View { all: true, ..view });
    }
}

#[test]
fn json_keeps_to_its_schema() {
    let (_, text) = anechoic_report::schemas()
        .into_iter()
        .find(|(name, _)| *name == "interference.schema.json")
        .expect("it is listed");
    let schema: serde_json::Value = serde_json::from_str(&text).expect("a schema is JSON");
    let validator = jsonschema::validator_for(&schema).expect("a valid schema");
    let mut found = eight();
    found.pairs[3].all = None;
    found.pairs[4].alone = None;
    found.grain_ns = None;
    let mut out = vec![];
    anechoic_report::json(&found, &mut out).expect("writing to memory");
    let printed: serde_json::Value = serde_json::from_slice(&out).expect("JSON reads back");
    let errors: Vec<String> = validator.iter_errors(&printed).map(|e| e.to_string()).collect();
    assert_eq!(errors, Vec::<String>::new());
}
