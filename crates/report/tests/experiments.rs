//! What suites measure beside the usual sets of their papers: other CPUs, jobs of several sizes, parts of a tick's period.

use crate::made::direct::ticks;
use crate::made::samples::{measured, series, series_facts, times};
use crate::{bsp, interference};
use anechoic_analyze::interference::Proximity;
use anechoic_analyze::samples::figures::Drawn;
use anechoic_analyze::samples::tick_overhead::TickOverhead;
use anechoic_analyze::samples::{Measured, SeriesFacts, SeriesResult};
use anechoic_predict::bsp::Bsp;
use anechoic_predict::phases::{Ask, Host, Noise, PhaseModel, Span, Timeline, predict};
use anechoic_recording::parallel::Meeting;
use anechoic_report::{CmtSets, Figure, HtmlReport, Study, View, figures, suite_cmt, suite_loops};

const MS: u64 = 1_000_000;

fn words(study: &Study) -> String {
    let view = View { width: 100, ..View::default() };
    let text = study.clone().screen(&view).to_text(&view);
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The figures of a study whose captions name this figure of its paper.
fn drawn(study: &Study, figure: &str) -> Vec<Figure> {
    let report = HtmlReport { study: Some(study.clone()), ..HtmlReport::default() };
    let named = format!("As {figure} of the paper");
    figures(&report).into_iter().filter(|found| found.caption.starts_with(&named)).collect()
}

/// Jobs on which each rank adds 5 µs to a phase of 1 ms.
fn job(ranks: u64) -> Bsp {
    let mut cell = bsp::cell(MS, Meeting::Barrier, 0.01, 1.0);
    cell.undisturbed.ns.value = MS as f64;
    cell.measured.value = 0.005 * ranks as f64;
    let notes = vec![format!("{ranks} ranks were disturbed")];
    Bsp { ranks: Some(ranks), cells: vec![cell], notes, ..bsp::usual() }
}

fn jobs_study(jobs: &[Bsp]) -> Study {
    suite_loops(&[], jobs, None, &View::default())
}

/// Figure 8: the delay of a phase in absolute terms, on axes on which what is proportional is a straight line from 0.
#[test]
fn the_delay_of_a_phase_stands_against_the_ranks() {
    let study = jobs_study(&[job(4), job(1), job(2)]);
    let text = words(&study);
    for (ranks, delay) in [(1, "5.00 µs"), (2, "10.0 µs"), (4, "20.0 µs")] {
        let row = format!("1 ms, barrier {ranks} 1 {delay}");
        assert!(text.contains(&row), "{row}: {text}");
    }
    assert!(text.contains("! 4 ranks were disturbed") && !text.contains("2 ranks were"), "{text}");
    let figure = drawn(&study, "Figure 8");
    assert_eq!(figure.len(), 1);
    let numbers = ["ASCI Q", "linearly", "0, 1 and 5 ms"];
    assert!(
        numbers.iter().all(|number| figure[0].caption.contains(number)),
        "{}",
        figure[0].caption
    );
    let label = |text: &str| figure[0].svg.contains(&format!(">{text}</text>"));
    assert!(label("ranks") && label("delay of a phase") && label("0") && label("20 µs"));
    let none = jobs_study(&[]);
    assert!(drawn(&none, "Figure 8").is_empty());
    assert!(words(&none).contains("no job was measured"), "{}", words(&none));
}

/// Figure 9 is computed: its limits are those that the paper prints.
#[test]
fn the_limits_of_the_slowdown_are_the_published_ones() {
    let study = jobs_study(&[]);
    let expected = "With many ranks the slowdown approaches 2.000 at a grain of 1 ms (published: 2) and 1.100 at a grain of 10 ms \
                    (published: 1.1).";
    assert!(words(&study).contains(expected), "{}", words(&study));
    assert_eq!(drawn(&study, "Figure 9").len(), 1);
}

/// The axis names the rates that were measured, not round ones between them; every loop is drawn.
#[test]
fn rates_have_their_own_names_on_the_axis() {
    let bodies = ["one", "two", "three", "four", "five", "six", "seven", "eight"];
    let set = |seed: u64| {
        let body = |name: &&str| {
            let facts = series_facts("loops", name, Some(1), MS);
            series(facts, &times(MS as f64, 400, 60.0 * seed as f64, seed))
        };
        measured("loops", bodies.iter().map(body).collect())
    };
    let rates = [250, 1_000, 4_000];
    let sets = rates.map(|rate| (format!("rate-{rate}"), set(rate)));
    let study = suite_loops(&sets, &[], None, &View { all: true, ..View::default() });
    let report = HtmlReport { study: Some(study), ..HtmlReport::default() };
    let figures = figures(&report);
    let by_rate =
        figures.iter().find(|figure| figure.name.contains("by-number")).expect("a figure");
    for label in ["250 Hz", "1,000 Hz", "4,000 Hz"] {
        assert!(by_rate.svg.contains(&format!(">{label}</text>")), "{label}: {}", by_rate.svg);
    }
    let cumulative = figures.iter().filter(|figure| figure.name.contains("cumulative")).count();
    assert_eq!(cumulative, bodies.len());
}

/// Samples of this length, of which one in `divisor` has a tick.
fn part(grain_ns: u64, divisor: u64) -> Measured {
    let facts = SeriesFacts { asked: 9_000, ..series_facts("loops", "counter", Some(1), grain_ns) };
    let times = times(grain_ns as f64 - 1_000.0, 9_000, 20.0, divisor);
    let ticks = ticks(1_500.0, 500.0, 0.0, 0.0).map(|ticks| TickOverhead {
        with_tick: 9_000 / divisor,
        without_tick: 9_000 - 9_000 / divisor,
        without_median_ns: Some(grain_ns as f64 - 1_000.0),
        ..ticks
    });
    measured("loops", vec![SeriesResult { ticks, ..series(facts, &times) }])
}

/// Figure 15: the half and the third, told apart by grain and by the share of samples with a tick, beside 499 and 501 µs.
#[test]
fn parts_of_a_tick_period_are_told_apart() {
    let sets = [
        ("1ms".to_owned(), part(MS, 1)),
        ("tick-by-2".to_owned(), part(500_000, 2)),
        ("tick-by-3".to_owned(), part(333_333, 3)),
    ];
    let study = suite_loops(&sets, &[], None, &View::default());
    let figures = drawn(&study, "Figure 15");
    let expected = [
        "samples of 500 µs, a half of a tick's period. 50.0 % of the samples had a tick.",
        "samples of 333 µs, a third of a tick's period. 33.3 % of the samples had a tick.",
    ];
    assert_eq!(figures.len(), expected.len());
    for (figure, expected) in figures.iter().zip(expected) {
        let caption = &figure.caption;
        assert!(caption.contains(expected), "{caption}");
        assert!(caption.contains("499 µs and 501 µs at a grain of 500 µs"), "{caption}");
        assert!(figure.svg.contains("without a tick"), "{}", figure.name);
    }
    let text = words(&study);
    for row in [
        "half, Xeon MP 3.0 GHz 500 µs about a half 499 501 3",
        "half, here 500 µs 50.0 % 499.00 501.00 0",
        "third, here 333 µs 33.3 % 332.33 334.33 0",
    ] {
        assert!(text.contains(row), "{row}: {text}");
    }
}

/// Section 4.3: where no sample is delayed, the law of one delay says nothing, and that is stated.
#[test]
fn loops_become_a_job_or_the_reason_is_stated() {
    let mut calm = part(MS, 1);
    calm.series[0].distribution.as_mut().expect("samples").slowies.count = 0;
    let calm = [("1ms".to_owned(), calm)];
    let text = words(&suite_loops(&calm, &[], None, &View::default()));
    let after = text.split("from loops to a job (Section 4.3)").nth(1).expect("a section");
    assert!(after.starts_with(" not computed: "), "{after:.200}");
    let mut set = part(MS, 1);
    // One sample in ten took 1 ms longer.
    let distribution = set.series[0].distribution.as_mut().expect("samples");
    (distribution.slowies.count, distribution.third_decile_mean) = (900, 999_000.0);
    distribution.slowies.mean = Some(1_999_000.0);
    distribution.mean = 999_000.0 * 0.9 + 1_999_000.0 * 0.1;
    let sets = [("1ms".to_owned(), set)];
    let text = words(&suite_loops(&sets, &[], None, &View::default()));
    assert!(text.contains("900 of 9,000 samples of loops were delayed"), "{text}");
    // A delay of 1 ms in every 9.99 ms of computing.
    assert!(text.contains("Grain 1 ms: a phase of one rank is delayed with p = 0.100;"), "{text}");
}

/// Ticks of 50 µs at 250 Hz on one CPU, of which a job of many ranks meets one in every phase.
fn phases() -> PhaseModel {
    let span = |at: u64| Span { start_ns: at * 4 * MS, end_ns: at * 4 * MS + 50_000 };
    let timeline = Timeline::new(10_000 * MS, (0..2_500).map(span).collect());
    let host = Host::new("one".into(), vec![(0, timeline)]).expect("a host");
    let (grains_ns, ranks) = (vec![100_000, MS], vec![2, 64, 1_024]);
    let ask = Ask { grains_ns, ranks, budget: 1_000_000, ..Ask::default() };
    predict(&Noise::from_hosts(vec![host]), &ask).expect("a prediction")
}

/// All figures of the study in their order, also those that no tick kernel shows.
#[test]
fn the_cmt_suite_has_the_study_s_other_figures() {
    let mut interference = interference::eight();
    for pair in &mut interference.pairs {
        pair.drawn = Some(Drawn { points: vec![(0, 100_000.0), (MS, 103_000.0)], all: true });
    }
    let interference = Some(interference);
    let found = CmtSets { measured: vec![], interference, phases: Some(phases()) };
    let study = suite_cmt(&found);
    assert_eq!(
        ["1", "5", "6"].map(|number| drawn(&study, &format!("Figure {number}")).len()),
        [1; 3]
    );
    let report = HtmlReport { study: Some(study.clone()), ..HtmlReport::default() };
    assert!(figures(&report).is_sorted_by_key(|figure| figure.number));
    let first = &drawn(&study, "Figure 1")[0];
    for part in ["200 % at a grain of 100 µs", "20 % at a grain of 1 ms"] {
        assert!(first.caption.contains(part), "{}", first.caption);
    }
    assert!(first.svg.contains("published, both grains") && first.svg.contains(">processors<"));
    let text = words(&study);
    // Of many ranks one meets a tick in every phase: 50 of 100 µs, and 50 µs of 1 ms.
    assert!(text.contains("1,024 processors 100 µs 200 % 50.0 %"), "{text}");
    assert!(text.contains("1,024 processors 1 ms 20 % ≥ 5.0"), "{text}");
    // As planted, of repetitions of 100 µs.
    let percent = |place: &str| {
        let before = format!("cost on {place} ");
        let after = text.split(&before).nth(1).expect("a row");
        after.split_whitespace().take(12).filter_map(|part| part.parse().ok()).collect::<Vec<f64>>()
    };
    let [least, most] =
        [2, 0].map(|at| interference::planted(Proximity::SmtSibling, at) / 100_000.0 * 100.0);
    let [published, from, to] = percent("a sibling")[..3] else { panic!("{text}") };
    assert_eq!(published, 10.0);
    assert!((from - least).abs() < 0.02 && (to - most).abs() < 0.02, "{from} to {to}");
    let [felt, ..] = percent("another core")[..] else { panic!("{text}") };
    let shared = interference::planted(Proximity::SharedL2, 0) / 100_000.0 * 100.0;
    assert!((felt - shared).abs() < 0.02, "{felt}");
    let narrow = study.screen(&View::default()).to_text(&View::default());
    let widest = narrow.lines().map(|line| line.chars().count()).max();
    assert!(widest <= Some(80), "{widest:?}: {narrow}");
    assert!(words(&suite_cmt(&CmtSets::default())).contains("needs two CPUs or more"));
}
