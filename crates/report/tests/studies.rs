//! The experiments of the papers from made results: what has changed since, what was published beside what was measured,
//! and the figures in the order of the paper.

use crate::{bsp, made, paging, schema, ticks};
use anechoic_analyze::Summary;
use anechoic_analyze::stats::Interval;
use anechoic_lab::builders::clock;
use anechoic_predict::bsp::{Bsp, Estimate};
use anechoic_predict::ticks::{Costs, Point, model};
use anechoic_recording::Clock;
use anechoic_recording::parallel::Meeting;
use anechoic_report::published::SIGNATURES;
use anechoic_report::{
    Figure, FigureSubject, HtmlReport, Study, View, figures, suite_ferreira, suite_paging,
    suite_selfish, suite_ticks,
};

/// The screen of a study as words, without line breaks.
fn words(study: &Study) -> String {
    let view = View { all: true, width: 120, ..View::default() };
    let text = study.clone().screen(&view).to_text(&view);
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The figures of the page of a study.
fn drawn(study: Study) -> Vec<Figure> {
    let drawn = figures(&HtmlReport { study: Some(study), ..HtmlReport::default() });
    assert!(drawn.iter().all(|figure| figure.subject == FigureSubject::Paper), "{drawn:#?}");
    drawn
}

/// Looks whether the texts of a list stand in a text, one after the other.
fn in_order(text: &str, expected: &[&str]) {
    let mut rest = text;
    for part in expected {
        rest =
            rest.split_once(part).unwrap_or_else(|| panic!("no '{part}' in its place: {text}")).1;
    }
}

/// A job with this slowdown at a grain of 1 ms.
fn job(measured: Estimate) -> Bsp {
    let mut cell = bsp::cell(1_000_000, Meeting::Barrier, measured.value, 1.0);
    cell.measured = measured;
    Bsp { cells: vec![cell], ..bsp::usual() }
}

fn known(value: f64, by: f64) -> Estimate {
    let interval = Interval { low: value - by, high: value + by };
    Estimate { value, interval: Some(interval), at_least: Some(interval.low) }
}

fn at_least(value: f64) -> Estimate {
    Estimate { value, interval: None, at_least: Some(value / 2.0) }
}

/// The sets of the suite with this slowdown without noise and these with the signatures.
fn ferreira_sets(none: Estimate, with: [Estimate; 6]) -> Vec<(String, Bsp)> {
    let names = SIGNATURES.iter().map(|signature| signature.id.to_owned());
    let noisy = names.zip(with.map(job));
    std::iter::once(("none".to_owned(), job(none))).chain(noisy).collect()
}

#[test]
fn ferreira() {
    let costs = [0.04, 0.05, 0.06, 0.07, 0.08, 0.09].map(|value| known(value, 0.002));
    let study = suite_ferreira(&ferreira_sets(known(0.01, 0.002), costs));
    let text = words(&study);
    let least = format!("{:.2}", ((1.04f64 / 1.01) - 1.0) * 100.0);
    let most = format!("{:.2} %", ((1.09f64 / 1.01) - 1.0) * 100.0);
    in_order(
        &text,
        &[
            "slowed one application by a factor of more than 20",
            &format!("costs this job {least}–{most}: least 10 Hz × 2.5 ms"),
            "slowdown at a grain of 1 ms",
        ],
    );
    assert!(!text.contains("left out"), "{text}");
    let drawn = drawn(study);
    assert_eq!(drawn.len(), 1, "{drawn:#?}");
    assert!(
        drawn[0].caption.contains("from the intervals of the set with it and of the set without")
    );
}

/// The document has the numbers of the paper, and what was measured with units.
#[test]
fn a_study_is_one_document() {
    let sets = ferreira_sets(known(0.01, 0.002), [known(0.05, 0.002); 6]);
    let study = suite_ferreira(&sets).lacking(vec!["1000hz-random is missing.".into()]);
    let document = schema::validate("suite.schema.json", &study).expect("valid");
    assert_eq!(document["paper"]["short"], "Ferreira 2008");
    assert_eq!(document["lacking"][0], "1000hz-random is missing.");
    let published = document["published"].as_array().expect("numbers");
    assert!(published.iter().any(|number| number["experiment"] == "slowdown by noise of 2.5 %"));
    let parts = document["parts"].as_array().expect("parts").iter();
    let tables = parts.flat_map(|part| part["tables"].as_array().expect("tables"));
    let cells = tables.flat_map(|table| table["rows"].as_array().expect("rows"));
    let cells: Vec<_> = cells.flat_map(|row| row.as_array().expect("cells")).collect();
    assert!(cells.iter().any(|cell| cell["unit"] == "%"), "{document:#}");
}

/// A line needs two grains; the caption names it only where it is drawn.
#[test]
fn ferreira_draws_the_share_of_the_noise_between_grains() {
    let mut sets = ferreira_sets(known(0.01, 0.002), [known(0.05, 0.002); 6]);
    let one = drawn(suite_ferreira(&sets)).remove(0);
    assert!(!one.svg.contains(SHARE) && !one.caption.contains("Grey"), "{}", one.caption);
    for (_, job) in &mut sets {
        let mut cell = bsp::cell(10_000_000, Meeting::Barrier, 0.03, 1.0);
        cell.measured = known(0.03, 0.002);
        job.cells.push(cell);
    }
    let two = drawn(suite_ferreira(&sets)).remove(0);
    assert!(two.svg.contains(SHARE), "{}", two.svg);
    assert!(two.caption.contains("Grey: p/(1 − p)"), "{}", two.caption);
}

/// The label of the line of what noise at the same times costs.
const SHARE: &str = "p/(1 − p), p: share of the noise";

/// Combinations are left out for different reasons, and each is named with its number.
#[test]
fn ferreira_names_why_combinations_are_left_out() {
    let with = [
        known(0.06, 0.002),
        known(0.07, 0.002),
        known(0.011, 0.004), // as without noise
        known(0.012, 0.002), // its interval alone lies above the mean without noise
        known(0.005, 0.001), // less than without noise
        at_least(0.09),
    ];
    // Two of six decide nothing.
    let text = words(&suite_ferreira(&ferreira_sets(known(0.01, 0.002), with)));
    let expected = "costs this job is undecided: 2 of 6 combinations are clear. The others are not: 3 because what the noise adds cannot \
                    be distinguished from nothing, 1 because with the noise only a lower bound is known.";
    assert!(text.contains(expected) && !text.contains("costs this job 4"), "{text}");
    let most = [with[0], with[1], known(0.08, 0.002), known(0.09, 0.002), with[2], with[5]];
    let text = words(&suite_ferreira(&ferreira_sets(known(0.01, 0.002), most)));
    let expected = "2 combinations are left out: 1 because what the noise adds cannot be distinguished from nothing, 1 because with the \
                    noise only a lower bound is known.";
    assert!(text.contains(expected) && text.contains("costs this job 4.95–7.92 %"), "{text}");
    let text = words(&suite_ferreira(&ferreira_sets(at_least(0.01), with)));
    let expected = "is undecided: 0 of 6 combinations are clear. The others are not: 6 because without injected noise only a lower bound is \
                    known.";
    assert!(text.contains(expected), "{text}");
    let text = words(&suite_ferreira(&ferreira_sets(known(0.01, 0.002), with)[1..]));
    assert!(text.contains("known only with the set without noise"), "{text}");
    assert!(words(&suite_ferreira(&[])).contains("nothing was measured"));
}

/// Three runs whose noise differs.
fn selfish_runs() -> Vec<(Summary, Clock)> {
    let noisy_run = |noise: f64| {
        let mut summary = made::summary();
        summary.total.noise = noise;
        summary.run.threshold_ns = 1_000;
        let mut clock = clock(2_000_000_000);
        clock.read_mean_ticks = 24.0;
        clock.call_costs_ns = vec![("gettimeofday".into(), 25.0)];
        (summary, clock)
    };
    [0.02, 0.03, 0.04].map(noisy_run).to_vec()
}

#[test]
fn selfish() {
    let runs = selfish_runs();
    let study = suite_selfish(&runs, &View::default());
    let text = words(&study);
    in_order(
        &text,
        &[
            "On a server and a laptop of the paper 1.80–9.11 % of the time was lost, nearly all of it to timer interrupts (99.55 and 95.75 \
         %); here 3.00 %",
            "cost of reading a clock, µs (Table I)",
            "Laptop 0.0146 0.5629",
            "here: AMD EPYC 7B13 0.0120 0.0250",
            "what part of the noise each class of sources takes (section IV-A)",
            "timer interrupts 95.75 % 99.55 %",
            "noise of the paper's machines and jobs (section IV-A and Table II), and here",
            "20/640 27.4348",
            "here, 1/2 3.00 ± 1.00",
        ],
    );
    let drawn = drawn(study);
    assert_eq!(drawn.len(), 1, "{drawn:#?}");
    assert!(drawn[0].svg.contains("published") && drawn[0].svg.contains("20/640"));
    // Without kernel events no class is known, and that is said.
    let without =
        |(summary, clock): (Summary, Clock)| (Summary { sources: None, ..summary }, clock);
    let less: Vec<_> = runs.into_iter().map(without).collect();
    let text = words(&suite_selfish(&less, &View::default()));
    assert!(text.contains("no run has its sources"), "{text}");
    assert!(words(&suite_selfish(&[], &View::default())).contains("nothing was measured"));
}

/// Softirqs count with what raised them: those of devices, and those of timers, the scheduler and RCU.
#[test]
fn selfish_parts_softirqs_by_who_raised_them() {
    let mut runs = selfish_runs();
    let lengths = [800, 1_200, 9_000, 31_000];
    let rows = [
        ("timer-tick", "", 0.30),
        ("timer", "hrtimer_wakeup", 0.05),
        ("device-irq", "virtio0-input.0", 0.04),
        ("softirq", "NET_RX", 0.02),
        ("softirq", "BLOCK", 0.01),
        ("softirq", "RCU", 0.10),
        ("softirq", "SCHED", 0.06),
        ("softirq", "TIMER", 0.03),
        ("softirq", "HRTIMER", 0.01),
        ("thread", "kworker/1:1", 0.08),
        ("vm-or-hardware", "", 0.20),
        ("ipi", "call function", 0.10),
    ];
    for (summary, _) in &mut runs {
        let sources = summary.sources.as_mut().expect("made so");
        sources.rows =
            rows.map(|(source, name, share)| made::source(source, name, share, lengths)).to_vec();
    }
    let text = words(&suite_selfish(&runs, &View::default()));
    let expected = [
        "timer interrupts 95.75 % 99.55 % 35.0 %",
        "device interrupts 4 % – 7.00 %",
        "kernel softirqs – – 20.0 %",
        "threads – – 8.00 %",
        "below the kernel – – 20.0 %",
        "all else – – 10.0 %",
    ];
    let has = |line: &str| text.contains(line);
    let missing: Vec<&str> = expected.into_iter().filter(|line| !has(line)).collect();
    assert_eq!(missing, Vec::<&str>::new(), "{text}");
}

#[test]
fn page_sizes() {
    let study = suite_paging(&[paging::usual(&[6, 48, 384])], &View::default());
    let text = words(&study);
    in_order(
        &text,
        &["Larger pages saved 27.63 % without optimisation and 44.4", "here those of 2 MiB save"],
    );
    let drawn = drawn(study);
    let captions: Vec<&str> = drawn.iter().map(|figure| &figure.caption[..]).collect();
    assert_eq!(captions.len(), 2, "the curves by size are those of the recording: {captions:#?}");
    assert!(captions[0].starts_with("As Figure 6.8 of the thesis. "), "{captions:#?}");
    assert!(captions[1].starts_with("Section 6.2.3 of the thesis: "), "{captions:#?}");
    assert!(drawn[1].svg.contains("paper, "), "published beside measured");
    assert!(words(&suite_paging(&[], &View::default())).contains("nothing was measured"));
}

/// A machine that sorts under these rates, on which an interrupt takes this share of a CPU's second.
fn ticks_study(per_interrupt: f64) -> Study {
    let mut points = vec![];
    for copies in [1, 2] {
        for (number, rate_hz) in (0..).zip([100.0, 1_000.0, 5_000.0, 10_000.0, 20_000.0]) {
            let scatter = if (number + copies) % 2 == 0 { 1.000_3 } else { 0.999_7 };
            points.push(Point::given(
                copies,
                rate_hz,
                11.0 / (1.0 - per_interrupt * rate_hz) * scatter,
            ));
        }
    }
    let here = ticks::processor("PX-1", points, Costs::given(0.5, 0.5));
    suite_ticks(&[model(&ticks::files(vec![here]))], &View::default())
}

#[test]
fn ticks_beside_the_processors_of_the_paper() {
    let study = ticks_study(5e-6);
    let text = words(&study);
    in_order(
        &text,
        &[
            "On the six processors of the paper 1,000 interrupts per second take",
            "; here 0.5",
            "Whether a tick also changes the speed of what it interrupts (Section 4) cannot be seen in sorts of 11.0 ms, because \
             every sort has ticks; `anechoic suite loops` tests each loop.",
            "the published processors, and this machine below them",
            "P-90",
            "PX-1",
        ],
    );
    let paper_figures: Vec<Figure> = drawn(study)
        .into_iter()
        .filter(|figure| figure.caption.contains(" of the paper, "))
        .collect();
    let captions: Vec<&str> = paper_figures.iter().map(|figure| &figure.caption[..]).collect();
    let figures = ["Figure 4", "Table 2", "Figure 6"];
    assert_eq!(captions.len(), figures.len(), "{captions:#?}");
    for (found, figure) in paper_figures.iter().zip(figures) {
        let expected = format!("As {figure} of the paper, with this machine last. ");
        assert!(found.caption.starts_with(&expected), "{}", found.caption);
    }
    let overhead = &paper_figures[2].svg;
    assert!(overhead.contains("PX-1") && overhead.contains("P-90"), "{overhead}");
}

/// A machine whose cost is not significant is in no figure of the paper, and no caption says so.
#[test]
fn ticks_that_cost_nothing_are_not_drawn() {
    let study = ticks_study(0.0);
    // The direct cost was measured: 1 µs each is 0.1 % at 1,000 a second.
    let text = words(&study);
    let expected = "here at least 0.100 % directly; the sort times are too uncertain for the rest.";
    assert!(text.contains(expected), "{text}");
    let drawn = drawn(study);
    let paper_figures = drawn.iter().filter(|figure| figure.caption.contains(" of the paper, "));
    let mut number = 0;
    for figure in paper_figures {
        assert!(
            figure.caption.contains("of the paper, without this machine, on which"),
            "{}",
            figure.caption
        );
        assert!(!figure.svg.contains("PX-1") && !figure.svg.contains("PX−1"), "{}", figure.name);
        number += 1;
    }
    assert_eq!(number, 3);
}
