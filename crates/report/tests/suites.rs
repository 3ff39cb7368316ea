//! The screens of the papers' sets, as a whole: each beside the one that was looked at and found good.
//!
//! After a change that is meant, look at `INSTA_UPDATE=always cargo test --workspace --test report`
//! in the diff of `tests/snapshots`.

use crate::made;
use crate::made::direct::ticks;
use crate::made::samples::{measured, pace, series, series_facts, times};
use anechoic_analyze::samples::modes::Modes;
use anechoic_analyze::samples::subtraction::{Accounted, Paced, Subtracted, Subtraction, Verdict};
use anechoic_analyze::samples::tick_overhead::TickOverhead;
use anechoic_analyze::samples::{CpuSamples, Measured, SeriesFacts, SeriesResult};
use anechoic_analyze::sources::SourceRow;
use anechoic_analyze::stats::Interval;
use anechoic_analyze::summary::Breakdown;
use anechoic_lab::builders;
use anechoic_recording::machine::{Cache, Cpu};
use anechoic_recording::run::{Ended, RunState};
use anechoic_report::{
    CmtSets, HtmlReport, Study, View, captions, figures, html, suite_cmt, suite_loops,
};
use std::path::Path;

type Suite = fn(&[Measured], &View<'_>) -> Study;

fn screen(suite: Suite, sets: &[Measured]) -> String {
    let path = Some(Path::new("anechoic-2026-05-09-073117"));
    let view = View { path, ..View::default() };
    suite(sets, &view).screen(&view).to_text(&view)
}

/// Returns the whole screen of a suite.
fn whole(suite: Suite, sets: &[Measured]) -> String {
    let view = View { all: true, ..View::default() };
    suite(sets, &view).screen(&view).to_text(&view)
}

/// Looks at a screen: as it was, and never over 80 columns.
fn golden(name: &str, suite: Suite, sets: &[Measured]) {
    let text = screen(suite, sets);
    let widest = text.lines().map(|line| line.chars().count()).max();
    assert!(widest <= Some(80), "{name} has a line of {widest:?} columns:\n{text}");
    insta::assert_snapshot!(name, text);
}

/// All repetitions contain ticks.
fn only_sums() -> Option<TickOverhead> {
    ticks(2_300.0, 11_400.0, 0.0, 0.0).map(|ticks| TickOverhead {
        overhead: None,
        clean: None,
        ..ticks
    })
}

fn kernels(grain_ns: u64, samples: usize, ticks: impl Fn(f64) -> Option<TickOverhead>) -> Measured {
    let kernels = [("intadd", 0.25), ("intmul", 1.0), ("intdiv", 6.97), ("intadd-chain", 1.0)];
    let kernel_series = |(cpu, (variant, cycles)): (u32, (&str, f64))| {
        let facts = SeriesFacts {
            asked: samples as u64,
            ..series_facts("tick", variant, Some(cpu), grain_ns)
        };
        let times = times(grain_ns as f64, samples, 25.0, u64::from(cpu) + cycles.to_bits());
        SeriesResult {
            pace: pace(0.271 * cycles, Some(cycles)),
            ticks: ticks(cycles),
            ..series(facts, &times)
        }
    };
    measured(
        "tick",
        (0..2).flat_map(|cpu| kernels.map(|kernel| kernel_series((cpu, kernel)))).collect(),
    )
}

fn short() -> Measured {
    kernels(100_000, 1_000, |cycles| ticks(2_310.0, 11_420.0, 1_913_000.0, 400.0 / cycles - 60.0))
}

fn long() -> Measured {
    kernels(1_000_000_000, 20, |_| only_sums())
}

/// Returns tick kernels without what the suite measures beside them.
fn kernels_alone(sets: &[Measured]) -> CmtSets {
    CmtSets { measured: sets.to_vec(), ..CmtSets::default() }
}

fn cmt_study(sets: &[Measured], _: &View<'_>) -> Study {
    suite_cmt(&kernels_alone(sets))
}

#[test]
fn cmt() {
    golden("suite_cmt", cmt_study, &[short(), long()]);
}

/// The page begins with the paper: its figures in their order, with the published values as curves of their own.
#[test]
fn the_page_of_a_suite_begins_with_the_figures_of_the_paper() {
    let study = suite_cmt(&kernels_alone(&[short(), long()]));
    let report = HtmlReport { study: Some(study), ..HtmlReport::default() };
    let drawn = figures(&report);
    let numbers = |number: &str| {
        drawn
            .iter()
            .filter(|figure| figure.name.contains(&format!("paper-figure-{number}-")))
            .count()
    };
    // One for each kernel, of which there are four.
    assert_eq!(["4", "8", "9"].map(numbers), [4, 4, 4], "{drawn:#?}");
    assert!(drawn.is_sorted_by_key(|figure| figure.number) && drawn.len() == 12);
    for figure in &drawn {
        let published = if figure.name.contains("figure-4") { "Linux" } else { "Netra DPS" };
        assert!(figure.svg.contains(&format!("published: {published}")), "{}", figure.name);
        assert!(figure.caption.contains(" of the paper: "), "{}", figure.caption);
    }
    let mut page = Vec::new();
    html(&report, &mut page).expect("a vector takes all");
    let page = String::from_utf8(page).expect("UTF-8");
    let at = |text: &str| page.find(text).unwrap_or_else(|| panic!("no {text}"));
    let order =
        ["href=\"#paper\"", "<h1>Tick kernels", "Figure 4 of the paper", "Figure 9 of the paper"];
    assert!(order.map(at).is_sorted(), "{:?}", order.map(at));
    assert!(page.contains("<title>Radojković 2008 again · anechoic</title>"));
}

/// What is missing or left out stands below the sentence of the paper, on the screen, on the page and beside the captions.
#[test]
fn what_a_suite_lacks_is_a_warning_of_its_study() {
    let lacking = "1 of 3 sets is missing: sums-10.".to_owned();
    let study = suite_cmt(&kernels_alone(&[short()])).lacking(vec![lacking.clone()]);
    let view = View { all: true, ..View::default() };
    let text = study.clone().screen(&view).to_text(&view);
    let at = |part: &str| text.find(part).unwrap_or_else(|| panic!("no {part} in {text}"));
    assert!(at("In the study ticks came at") < at(&format!("! {lacking}")), "{text}");
    assert!(at(&lacking) < at("up to 1,000 per series"), "{text}");
    let report = HtmlReport { study: Some(study), ..HtmlReport::default() };
    let mut page = Vec::new();
    html(&report, &mut page).expect("a vector takes all");
    let page = String::from_utf8(page).expect("UTF-8");
    assert!(page.contains(&format!("<p class=\"warning\">{lacking}</p>")));
    let captions = captions(&report, &figures(&report));
    let [paper, figure] = [&lacking[..], "Figure 1 "].map(|part| captions.find(part).expect(part));
    assert!(paper < figure && !captions.contains("All recordings together"), "{captions:.900}");
}

/// No events, no chain of additions, a series that the scheduler placed, and one that was cut short.
#[test]
fn cmt_with_less() {
    let mut set = short();
    set.run.state = RunState::Interrupted("SIGINT".into());
    set.run.hypervisor = None;
    set.series.truncate(3);
    set.series[1].facts.cpu = None;
    set.series[1].facts.migrations = 7;
    set.series[1].facts.cpus_seen =
        [(0, 240), (1, 760)].map(|(cpu, samples)| CpuSamples { cpu, samples }).to_vec();
    set.series[2].facts.ended = Ended::Interrupted;
    for series in &mut set.series {
        (series.ticks, series.pace) = (None, pace(0.07, None));
    }
    golden("suite_cmt_less", cmt_study, &[set]);
    golden("suite_cmt_nothing", cmt_study, &[]);
}

fn subtraction(raw_ns: f64, share: Option<f64>) -> Option<Subtraction> {
    let spread = Accounted {
        raw_ns,
        left_ns: raw_ns * (1.0 - share.unwrap_or(0.0)) + 180.0,
        undisturbed_ns: Some(170.0),
        share,
    };
    let iqr = Accounted {
        raw_ns: 90.0,
        left_ns: 60.0,
        undisturbed_ns: Some(60.0),
        share: share.map(|_| 1.0),
    };
    Some(Subtraction {
        samples: 20_000,
        judged: 19_800,
        left_out_large: 200,
        large_ns: 5_000,
        left_out_unknown: 0,
        undisturbed: 14_000,
        steps: vec![],
        sources: vec![],
        verdict: Verdict {
            after: Subtracted::Gaps,
            accounted: share,
            iqr: Some(iqr),
            p99_p1: Some(spread),
            paced: share.map(|share| Paced {
                samples: 19_700,
                accounted: Some(share - 0.004),
                iqr: Accounted { share: Some(share - 0.004), ..iqr },
                p99_p1: spread,
            }),
            residual_ns: Some(20.0),
            counter_step_ns: 10.0,
            unseen_ns: Some(260.0),
        },
        network: vec![],
        outside_ns: 0.0,
        overdrawn: 0,
        not_available: vec![],
    })
}

fn variants(policies: &[&str], most_indirect_ns: f64) -> Measured {
    let variants = [("counter", 0.001), ("sum", 0.02), ("fibonacci", 0.03), ("call-reg", 1.0)];
    let variant_series = |policy: &str, (variant, part): (&str, f64)| {
        let facts = SeriesFacts {
            policy: policy.into(),
            instructions: 1,
            asked: 20_000,
            ..series_facts("loops", variant, Some(1), 1_000_000)
        };
        let times = times(1_000_310.0, 20_000, 60.0, part.to_bits() + policy.len() as u64);
        SeriesResult {
            subtraction: subtraction(14_500.0, Some(0.99 - 0.02 * part)),
            ticks: ticks(2_300.0, 11_400.0, 100.0, most_indirect_ns * part),
            ..series(facts, &times)
        }
    };
    let all =
        policies.iter().flat_map(|policy| variants.map(|variant| variant_series(policy, variant)));
    measured("loops", all.collect())
}

/// Shows sets that do not differ in the tick rate.
fn loops_alone(sets: &[Measured], view: &View<'_>) -> Study {
    let named: Vec<_> = sets.iter().map(|set| ("1ms".to_owned(), set.clone())).collect();
    suite_loops(&named, &[], None, view)
}

#[test]
fn loops_at_several_rates_are_joined() {
    let rates = |sets: &[Measured], view: &View<'_>| {
        let names = ["rate-1000", "rate-250", "1ms"];
        let sets = names.into_iter().map(str::to_owned).zip(sets.iter().cloned());
        suite_loops(&sets.collect::<Vec<_>>(), &[], None, view)
    };
    let sets = [(); 3].map(|()| variants(&["other"], 2_000.0));
    let text = whole(rates, &sets);
    let counter_rows = text.lines().filter_map(|line| line.strip_prefix("counter, CPU 1, 1 ms "));
    let rates: Vec<String> = counter_rows
        .map(|rest| rest.split_whitespace().take(3).collect::<Vec<_>>().join(" "))
        .collect();
    assert_eq!(rates, ["250 Hz 1", "1,000 Hz 1"], "one run at each rate: {text}");
    // Sets of the sweep have no tables of their own.
    assert_eq!(text.matches("up to 20,000 per series").count(), 1, "{text}");
}

#[test]
fn loops() {
    golden("suite_loops", loops_alone, &[variants(&["other", "fifo 1"], 2_000.0)]);
}

/// What lies between two reads of the counter, and the machine, beside those of the paper.
#[test]
fn loops_beside_the_machines_of_the_paper() {
    let cache = |level, kind: &str, size_kib: u64| Cache {
        level,
        kind: kind.into(),
        size_bytes: size_kib << 10,
        line_bytes: 64,
        ways: 8,
        shared_cpus: "1".into(),
    };
    let cpu = Cpu {
        cpu: 1,
        caches: vec![cache(1, "Data", 48), cache(1, "Instruction", 64), cache(2, "Unified", 2048)],
        ..Cpu::default()
    };
    let mut run = builders::run("loops", builders::clock(2_600_000_000), vec![]);
    run.cpus = vec![builders::cpu_run(1, (0, 1), 0)];
    run.machine.memory_bytes = 24 << 30;
    run.machine.cpus = vec![cpu];
    let facts = SeriesFacts { asked: 400, ..series_facts("fwq", "empty", Some(1), 10) };
    let reads: Vec<f64> = (0..400).map(|at| if at % 8 < 5 { 40.0 } else { 36.0 }).collect();
    let deltas = measured("fwq", vec![series(facts, &reads)]);
    let sets = [("deltas".to_owned(), deltas), ("1ms".to_owned(), variants(&["other"], 2_000.0))];
    let view = View { all: true, ..View::default() };
    let text = suite_loops(&sets, &[], Some(&run), &view).screen(&view).to_text(&view);
    let line_of = |from: &str| text.lines().find(|line| line.starts_with(from)).expect("a line");
    let words = |from| line_of(from).split_whitespace().skip(3).collect::<Vec<_>>().join(" ");
    assert_eq!(words("Xeon MP"), "GHz 116 – 104 – 511", "{text}");
    assert_eq!(words("here, CPU 1"), "40 62.5 % 36 37.5 % 3", "{text}");
    assert!(line_of("CPU clock").ends_with(" 2.60 GHz"), "{text}");
    assert!(line_of("memory size").ends_with(" 24 GiB"), "{text}");
    assert!(line_of("cache L2").ends_with(" 2 MiB"), "{text}");
    assert!(line_of("cache L1 code").ends_with(" 64 KiB"), "{text}");
    assert!(line_of("bus clock").ends_with(" –"), "{text}");
    assert_eq!(text.matches("up to 400 per series").count(), 0, "no table of its own: {text}");
}

/// Table 5 has direct time: that is compared, with the gaps apart, and only devices of the network count as such.
#[test]
fn loops_compare_direct_time_with_the_paper() {
    let mut set = variants(&["other"], 2_000.0);
    let wall_ns: f64 = set.series.iter().map(|series| series.facts.wall_ns as f64).sum();
    let row = |source: &str, name: &str, direct_ns: f64, gaps_ns: f64| SourceRow {
        activities: 1_234,
        noise: (direct_ns + gaps_ns) / wall_ns,
        share: 0.4,
        share_without_gaps: 0.4 * direct_ns / (direct_ns + gaps_ns),
        ..made::source(source, name, 0.4, [800, 1_200, 9_000, 31_000])
    };
    set.sources = Some(Breakdown {
        rows: vec![
            row("timer-tick", "", 232e6, 112e6),
            row("device-irq", "virtio0-input.0", 14.5e6, 26.5e6),
            row("device-irq", "virtio1-req.0", 500e6, 10e6),
        ],
        ..made::breakdown()
    });
    for series in &mut set.series {
        if let Some(subtraction) = &mut series.subtraction {
            subtraction.network = vec!["virtio0-input.0".into()];
        }
    }
    let text = whole(loops_alone, &[set]);
    let line = |from: &str| {
        let line = text.lines().find(|line| line.starts_with(from)).expect("a line");
        line.split_whitespace().skip(2).collect::<Vec<_>>().join(" ")
    };
    let part = |ns: f64| format!("{:.2} %", ns / wall_ns * 100.0);
    assert_eq!(line("tick, here"), format!("1,234 232 ms {} 112 ms", part(232e6)), "{text}");
    let network = line("network, here");
    assert!(network.starts_with("1,234 14.5 ms ") && network.ends_with(" 26.5 ms"), "{text}");
}

/// A tick that changes how often a body is slow is stated in one sentence, of the body for which it does so most.
#[test]
fn loops_state_that_a_tick_changes_the_speed() {
    let mut set = variants(&["other"], 2_000.0);
    let modes = |with_tick_slow: f64, differs: bool| Modes {
        fast_ns: 1_002_000.0,
        slow_ns: 1_034_000.0,
        ticks: 278,
        undisturbed_slow: 0.33,
        with_tick_slow,
        difference: Interval { low: 0.3, high: 0.46 },
        p: 1e-9,
        differs,
    };
    let said = |set: &Measured| whole(loops_alone, std::slice::from_ref(set));
    let set_modes = |set: &mut Measured, at: usize, modes: Modes| {
        set.series[at].ticks.as_mut().expect("made so").modes = Some(modes);
    };
    set_modes(&mut set, 0, modes(0.36, false));
    assert!(!said(&set).contains("A tick changes"), "a body whose speed it does not change");
    set_modes(&mut set, 3, modes(0.71, true));
    let text = said(&set).split_whitespace().collect::<Vec<_>>().join(" ");
    let expected = "A tick changes the speed of 1 of 2 bodies that have two: most of all call-reg on CPU 1 (other, 1 ms) takes \
                    1.034 ms instead of 1.002 ms in 71.0 % of the samples with one tick";
    assert!(text.contains(expected), "{text}");
}

/// The paper's enigma: ticks that cost one variant more than ten times what they cost another.
#[test]
fn loops_with_the_enigma() {
    let cases = [
        (400_000.0, "some variants pay an order of magnitude more than others"),
        (100_000.0, "unlike in the paper, no variant pays"),
    ];
    for (most_indirect_ns, expected) in cases {
        let text = screen(loops_alone, &[variants(&["other"], most_indirect_ns)]);
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains(expected), "{most_indirect_ns} ns: {text}");
    }
}

#[test]
fn loops_with_less() {
    let mut set = variants(&["other"], 2_000.0);
    for series in &mut set.series {
        (series.ticks, series.subtraction) = (None, subtraction(200.0, None));
    }
    set.series[3].subtraction = None;
    set.series[3].distribution = None;
    set.series[3].facts.samples = 0;
    set.series[2].facts.lost = 7;
    golden("suite_loops_less", loops_alone, &[set]);
}
