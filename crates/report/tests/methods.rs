//! The screens of methods, as a whole: each beside the one that was looked at and found good.
//!
//! After a change that is meant, look at `INSTA_UPDATE=always cargo test --workspace --test report`
//! in the diff of `tests/snapshots`.

use crate::made;
use anechoic_analyze::samples::figures::{Figures, Point};
use anechoic_analyze::samples::tick_overhead::Overhead;
use anechoic_analyze::samples::{Fixed, Measured, SeriesFacts, SeriesResult};
use anechoic_lab::builders::{clock, cpu_run, run};
use anechoic_recording::run::{DrainPolicy, Ended, NotAvailable, RunState};
use anechoic_report::results::measured::MEASURED;
use anechoic_report::{HtmlPart, HtmlReport, Style, View};
use proptest::prelude::*;
use std::path::Path;

fn screen(measured: &Measured, view: &View<'_>) -> String {
    anechoic_report::measured(measured, view).to_text(view)
}

/// Looks at a screen: as it was, and never wider than the view.
fn golden(name: &str, measured: &Measured, view: &View<'_>) {
    let path = Some(Path::new("anechoic-2026-05-09-073117"));
    let text = screen(measured, &View { path, ..*view });
    let widest = text.lines().map(|line| line.chars().count()).max();
    assert!(widest <= Some(view.width), "{name} has a line of {widest:?} columns:\n{text}");
    insta::assert_snapshot!(name, text);
}

const NARROW: View<'_> = View { style: Style { color: false }, width: 80, all: false, path: None };
const WIDE: View<'_> = View { width: 100, ..NARROW };

#[test]
fn fixed_work() {
    golden("fwq", &made::samples::fwq(), &NARROW);
    golden("fwq_wide", &made::samples::fwq(), &WIDE);
}

#[test]
fn fixed_time() {
    golden("ftq", &made::samples::ftq(), &NARROW);
    golden("ftq_wide", &made::samples::ftq(), &WIDE);
}

#[test]
fn tick_kernels() {
    golden("tick", &made::samples::tick(), &NARROW);
    golden("tick_wide", &made::samples::tick(), &WIDE);
}

#[test]
fn do_nothing_loops() {
    golden("loops", &made::samples::loops(), &NARROW);
    golden("loops_wide", &made::samples::loops(), &WIDE);
}

#[test]
fn periods() {
    let mut none = made::direct::spectrum();
    (none.lines, none.figure) = (vec![], vec![]);
    let mut text = String::new();
    for (spectrum, noise) in [(made::direct::spectrum(), Some(0.004_7)), (none, None)] {
        let facts = made::facts();
        let title = "counter-reg, CPU 1";
        text +=
            &anechoic_report::spectrum(title, &spectrum, noise, &facts, &NARROW).to_text(&NARROW);
    }
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    insta::assert_snapshot!("periods", text);
}

/// What went wrong, each of it on one screen.
#[test]
fn doubts() {
    let mut measured = made::samples::tick();
    measured.run.state = RunState::Interrupted("SIGINT".into());
    measured.run.drain = DrainPolicy::HighWater;
    measured.run.notes = vec!["CPU 1 and its sibling 5 were measured at once".into()];
    measured.run.not_available = vec![NotAvailable {
        what: "kernel events".into(),
        why: "tracefs: permission denied".into(),
        remedy: "run as root".into(),
    }];
    measured.losses = vec![made::loss("samples", 1_200, 0.01)];
    let ended = [Ended::Steady, Ended::Unsteady, Ended::Unsteady, Ended::Offline, Ended::Clock];
    for (series, ended) in measured.series.iter_mut().zip(ended) {
        series.facts.ended = ended;
        series.facts.watched = false;
        series.pace = made::samples::pace(0.0677, None);
    }
    for (number, steady) in [(1, Some(false)), (2, None)] {
        let steadiness = measured.series[number].steadiness.as_mut();
        steadiness.expect("made so").steady = steady;
    }
    measured.series[1].facts.lost = 1_200;
    measured.series[2].facts.wrong = 3;
    measured.series[3].facts.variant = "evil\x1b[2J\nkernel with a very long name".into();
    // A CPU that was offline from the start.
    measured.series[4].facts.samples = 0;
    measured.series[4].distribution = None;
    measured.series[4].steadiness = None;
    measured.series[4].figures = Figures::default();
    for series in &mut measured.series {
        let Some(ticks) = &mut series.ticks else { continue };
        (ticks.overhead, ticks.clean) = (None, None);
        ticks.not_available = measured.run.not_available.clone();
        ticks.not_available[0].what = "average overhead of a tick".into();
    }
    let text = screen(&measured, &NARROW);
    assert!(!text.contains('\x1b'), "names cannot move the cursor");
    golden("doubts", &measured, &NARROW);
}

#[test]
fn next_to_nothing() {
    let mut none = made::samples::measured("fwq", vec![]);
    let facts = made::samples::series_facts("fwq", "empty", None, 1_000);
    let one = made::samples::series(facts.clone(), &[1_020.0]);
    let equal = made::samples::series(facts.clone(), &[1_020.0; 500]);
    let zero = made::samples::series(
        SeriesFacts { fixed: Fixed::Time, grain_ns: 0, ..facts },
        &[0.0, 0.0],
    );
    let mut text = screen(&none, &NARROW);
    for series in [one, equal, zero] {
        none.series = vec![series];
        text += "\n";
        text += &screen(&none, &NARROW);
    }
    insta::assert_snapshot!("next_to_nothing", text);
}

/// What an instruction of arithmetic is is an iteration of a do-nothing loop: each has its column.
#[test]
fn instructions_and_iterations_are_told_apart() {
    let head_and_row = |instructions: [u32; 2], cycles: Option<f64>| {
        let mut measured = made::samples::fwq();
        for (series, instructions) in measured.series.iter_mut().zip(instructions) {
            series.facts.instructions = instructions;
            series.pace = made::samples::pace(0.271, cycles);
        }
        let text = screen(&measured, &NARROW);
        let mut lines = text.lines().skip_while(|line| !line.contains("mean moved"));
        let mut tail = || {
            let words = lines.next().unwrap_or_default().split_whitespace();
            words.skip_while(|word| *word != "moved" && *word != "✓").skip(1).collect::<String>()
        };
        (tail(), tail())
    };
    let cases = [
        ([512, 512], Some(1.0), "CPI", "1.00"),
        ([1, 1], Some(1.0), "cycles/iter.", "1.00"),
        ([1, 512], Some(1.0), "CPIcycles/iter.", "–1.00"),
        ([1, 1], None, "ns/iter.", "0.271"),
        ([512, 512], None, "ns/instr", "0.271"),
    ];
    for (instructions, cycles, head, row) in cases {
        let expected = (head.to_owned(), row.to_owned());
        assert_eq!(head_and_row(instructions, cycles), expected, "case: {instructions:?}");
    }
}

/// Six ticks are too few for the headline, though not for the table.
#[test]
fn few_ticks_do_not_lead() {
    let mut measured = made::samples::tick();
    let text = |measured: &Measured| {
        screen(measured, &NARROW).split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let told = text(&measured);
    assert!(told.contains("One tick alone costs intadd 16.3 µs (15.9–16.6), intmul"), "{told}");
    let overheads = |few: fn(&mut Overhead), measured: &mut Measured, alone: bool| {
        for ticks in measured.series.iter_mut().filter_map(|series| series.ticks.as_mut()) {
            let overhead = if alone { &mut ticks.clean } else { &mut ticks.overhead };
            few(overhead.as_mut().expect("made so"));
        }
    };
    overheads(|overhead| overhead.repetitions = 6, &mut measured, true);
    let told = text(&measured);
    assert!(
        told.contains("One tick, with whatever coincides with it, costs intadd 17.2"),
        "{told}"
    );
    overheads(|overhead| overhead.repetitions = 6, &mut measured, false);
    let told = text(&measured);
    assert!(!told.contains("One tick") && told.contains("cost of one tick"), "{told}");
}

#[test]
fn the_tool_itself() {
    let times: Vec<f64> =
        (0..2_000).map(|i| if i % 97 < 3 { 30.0 } else { 20.0 + f64::from(i % 7 / 5) }).collect();
    let facts = made::samples::series_facts("fwq", "empty", Some(1), 10);
    let facts = SeriesFacts { instructions: 0, watched: false, step_ns: None, ..facts };
    let measured = made::samples::measured("fwq", vec![made::samples::series(facts, &times)]);
    golden("empty", &measured, &NARROW);
}

#[test]
fn whole_or_not() {
    let facts = made::samples::series_facts("fwq", "sum", Some(0), 1_000_000);
    let is_whole = |ended, [lost, missing, wrong]: [u64; 3]| {
        SeriesFacts { ended, lost, missing, wrong, ..facts.clone() }.is_whole()
    };
    let none = [0; 3];
    assert!(is_whole(Ended::Complete, none) && is_whole(Ended::Steady, none));
    let ends = [Ended::Unsteady, Ended::Interrupted, Ended::Offline, Ended::Clock, Ended::CutOff];
    assert!(!ends.into_iter().any(|ended| is_whole(ended, none)));
    assert!(
        ![[1, 0, 0], [0, 1, 0], [0, 0, 1]].into_iter().any(|bad| is_whole(Ended::Complete, bad))
    );
}

/// Many series are folded; all of them are drawn where all are wanted; no line is wider than the view.
#[test]
fn many_series() {
    let one = made::samples::loops().series.remove(0);
    let on_cpu = |cpu| {
        let facts = SeriesFacts { cpu: Some(cpu), ..one.facts.clone() };
        SeriesResult { facts, ..one.clone() }
    };
    let measured = made::samples::measured("loops", (0..64).map(on_cpu).collect());
    let text = screen(&measured, &NARROW);
    assert!(text.contains("the 16 noisiest of 64 series"), "{text}");
    assert!(text.lines().count() <= 138, "{} lines", text.lines().count());
    let all = View { all: true, ..NARROW };
    let text = screen(&measured, &all);
    assert!(text.contains("CPU 63"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
}

/// On the page too: curves begin where all samples are, at the left edge.
#[test]
fn survival_begins_with_all_samples() {
    let mut ftq = made::samples::ftq();
    for series in &mut ftq.series {
        // A part of the windows lost nothing.
        let survival = &mut series.figures.survival;
        let first = survival.first().copied().expect("made so");
        survival.insert(1, Point { share: 0.8, ..first });
    }
    for measured in [ftq, made::samples::loops()] {
        let run = run(&measured.method, clock(1_000_000_000), vec![cpu_run(0, (0, 1_000), 20)]);
        let part = HtmlPart::new("one".into(), run).with(&MEASURED, measured);
        let mut page = vec![];
        let report = HtmlReport { recordings: vec![part], ..HtmlReport::default() };
        anechoic_report::html(&report, &mut page).expect("writing to memory");
        let page = String::from_utf8(page).expect("text is UTF-8");
        let charts = page.split("id=\"chart-").skip(1);
        let json = charts.filter_map(|chart| chart.split_once('>')?.1.split("</script>").next());
        let charts =
            json.map(|json| serde_json::from_str::<serde_json::Value>(json).expect("JSON"));
        let mut seen = 0;
        for chart in charts
            .filter(|chart| chart["y"]["label"].as_str().unwrap_or("").starts_with("share of"))
        {
            if chart["y"]["log"] == false {
                // A cumulative distribution ends with all samples.
                for curve in chart["curves"].as_array().expect("curves") {
                    let end = curve["y"].as_array().and_then(|y| y.last()?.as_f64());
                    assert!(end.is_none_or(|end| (end - 1.0).abs() < 1e-9), "{chart}");
                }
                continue;
            }
            let curves = chart["curves"].as_array().expect("curves").iter();
            let drawn: Vec<_> = curves.filter(|curve| curve["x"][0].is_number()).collect();
            assert!(drawn.iter().all(|curve| curve["y"][0] == 1.0), "{chart}");
            assert!(drawn.windows(2).all(|pair| pair[0]["x"][0] == pair[1]["x"][0]), "{chart}");
            seen += drawn.len();
        }
        assert!(seen > 0, "nothing is drawn");
    }
}

#[test]
fn colour_is_the_same_text() {
    let coloured = View { style: Style { color: true }, ..NARROW };
    for measured in [made::samples::fwq(), made::samples::loops()] {
        let text = screen(&measured, &coloured);
        assert!(text.contains("\x1b[36m"), "figures are coloured");
        let mut parts = text.split("\x1b[");
        let first = parts.next().unwrap_or_default().to_owned();
        let stripped = parts.map(|part| part.split_once('m').expect("a code ends").1);
        assert_eq!(stripped.fold(first, |text, part| text + part), screen(&measured, &NARROW));
    }
}

proptest! {
    /// Numbers that no measurement gives do not break the screen.
    #[test]
    fn any_numbers(
        values in proptest::collection::vec(any::<f64>(), 12..40),
        time in any::<u64>(),
        wall in any::<u64>(),
        width in 0usize..140,
        method in 0usize..4,
    ) {
        let makers = [made::samples::fwq, made::samples::ftq, made::samples::tick, made::samples::loops];
        let mut measured = makers[method]();
        measured.series.truncate(2);
        let mut at = values.iter().copied().cycle();
        let mut any = || at.next().unwrap_or_default();
        for series in &mut measured.series {
            (series.facts.start_ns, series.facts.wall_ns, series.facts.grain_ns) = (time, wall, time);
            (series.facts.samples, series.facts.lost, series.facts.wrong) = (wall, wall, time);
            let d = series.distribution.as_mut().expect("made so");
            (d.min, d.mean, d.max, d.noise, d.standard_deviation) = (any(), any(), any(), Some(any()), Some(any()));
            d.quantiles.iter_mut().for_each(|quantile| quantile.value = any());
            series.figures.series.iter_mut().for_each(|bin| (bin.start_ns, bin.min, bin.mean, bin.max) = (any() as u64, any(), any(), any()));
            series.figures.survival.iter_mut().for_each(|point| (point.value, point.share) = (any(), any()));
            series.figures.cdf.iter_mut().for_each(|point| (point.value, point.share) = (any(), any()));
            if let Some(histogram) = &mut series.figures.histogram {
                (histogram.low, histogram.width, histogram.above) = (any(), any(), time);
            }
            for step in series.subtraction.iter_mut().flat_map(|s| &mut s.steps) {
                let left = step.judged.as_mut().expect("made so");
                (left.min_ns, left.iqr_ns) = (any(), any());
                left.curve.iter_mut().for_each(|point| (point.value, point.share) = (any(), any()));
            }
            if let Some(overhead) = series.ticks.as_mut().and_then(|ticks| ticks.overhead.as_mut()) {
                (overhead.per_tick_ns, overhead.direct_ns, overhead.ticks_per_repetition) = (any(), any(), any());
            }
        }
        let view = View { width, ..NARROW };
        screen(&measured, &view);
        screen(&measured, &View { all: true, ..view });
    }
}
