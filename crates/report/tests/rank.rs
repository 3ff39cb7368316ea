//! What a ranking looks like.

use crate::made::samples::fwq;
use anechoic_analyze::rank::{
    Counted, Curves, IterationTime, OneByOne, Places, RankedExperiment, RankedNoise, Ranking,
    Standing, Unit, Variation,
};
use anechoic_analyze::samples::{Fixed, SeriesResult};
use anechoic_report::View;

/// A configuration with no place in any experiment.
fn standing(name: &str) -> Standing {
    let none = Counted { count: 0, share: 0.0, interval: None };
    Standing {
        name: name.into(),
        runs: 1,
        lowest: none,
        middle: none,
        highest: none,
        equal: 0,
        clearly_lowest: 0,
        clearly_highest: 0,
        absent: 0,
        beside_paper: None,
        over_first: None,
    }
}

/// A ranking of configurations that have measured nothing.
fn ranking(method: &str, configurations: Vec<Standing>) -> Ranking {
    Ranking {
        method: method.into(),
        fixed: Fixed::Work,
        variation: Variation::Parts,
        unit: Unit::Time,
        first_is_bare: false,
        configurations,
        working_sets_left_out: 0,
        without_variance: 0,
        unequal_samples: 0,
        reads_differ: false,
        tied: 0,
        curves: Curves::default(),
        one_by_one: vec![],
        experiments: vec![],
    }
}

/// A ranking of two configurations that both have measured this kernel.
fn kernel_ranking(series: [SeriesResult; 2]) -> Ranking {
    Ranking {
        one_by_one: vec![OneByOne {
            kernel: "intadd".into(),
            grain_ns: 1_000_000,
            series: series.map(|result| vec![result]).into(),
        }],
        ..ranking("fwq", ["bare", "linux"].map(standing).into())
    }
}

/// An experiment with the noise of each configuration; without one it is not ranked. The time of all is 5 ns.
fn experiment(name: &str, noise: &[Option<f64>]) -> RankedExperiment {
    let time = IterationTime { mean_ns: 5.0, shortest_ns: 4.0, over_first: None, interval: None };
    let ranked = |value: f64| RankedNoise { variance_to_mean: value, interval: None, place: None };
    RankedExperiment {
        experiment: name.into(),
        grain_ns: 0,
        copies: 1,
        injected: None,
        region: None,
        cache: None,
        build: None,
        matrix_bytes: None,
        beside_paper: false,
        time: vec![Some(time); noise.len()],
        noise: noise.iter().map(|noise| noise.map(ranked)).collect(),
        clearly_lowest: None,
        clearly_highest: None,
        tied: noise.iter().all(Option::is_some).then_some(false),
    }
}

fn shown(ranking: &Ranking, width: usize) -> String {
    let view = View { width, ..View::default() };
    anechoic_report::rank(ranking, &view).to_text(&view)
}

/// The counts of the paper's Table 1, whose rows sum to 184 experiments.
#[test]
fn three_configurations_have_a_middle_and_two_have_none() {
    let counted = |count: u64| Counted { count, share: count as f64 / 184.0, interval: None };
    let row = |(name, [lowest, middle, highest]): (&str, [u64; 3])| Standing {
        lowest: counted(lowest),
        middle: counted(middle),
        highest: counted(highest),
        ..standing(name)
    };
    let rows = [("NOVA", [108, 35, 41]), ("minimal", [37, 70, 77]), ("Debian", [39, 79, 66])];
    let text = shown(&ranking("memory", rows.map(row).into()), 80);
    for line in
        ["lowest", "108 (59 %)", "middle", " 35 (19 %)", " 70 (38 %)", " 79 (43 %)", " 77 (42 %)"]
    {
        assert!(text.contains(line), "{line}: {text}");
    }
    assert!(!text.contains("equal"), "no two are equal: {text}");
    let mut ties = rows.map(row);
    ties[1].equal = 3;
    assert!(shown(&ranking("memory", ties.into()), 80).contains("equal"));
    let two = [("NOVA", [143, 0, 41]), ("Debian", [41, 0, 143])];
    let text = shown(&ranking("memory", two.map(row).into()), 120);
    let heads = text.lines().find(|line| line.starts_with("configuration")).expect("a table");
    assert!(heads.contains("highest") && !heads.contains("middle"), "{text}");
}

#[test]
fn what_the_paper_does_not_count_has_a_line_of_its_own() {
    let places = |lowest, highest| Some(Places { lowest, middle: 0, highest, equal: 0 });
    let mut configurations = ["one", "other"].map(standing);
    (configurations[0].beside_paper, configurations[1].beside_paper) = (places(3, 5), places(5, 3));
    let apart = RankedExperiment {
        beside_paper: true,
        ..experiment("bandwidth-read-random-local-warm", &[Some(1.0), Some(2.0)])
    };
    let experiments = vec![
        experiment("bandwidth-read-random-warm", &[Some(1.0), Some(2.0)]),
        experiment("bandwidth-write-random-warm", &[Some(1.0), Some(2.0)]),
        apart,
    ];
    let text = shown(&Ranking { experiments, ..ranking("memory", configurations.into()) }, 200);
    assert!(text.contains("2 configurations · 2 experiments"), "{text}");
    let line = "not counted above: 1 value of experiments that are none of the paper's: one is lowest in 3, highest in 5; \
                other is lowest in 5, highest in 3";
    assert!(text.contains(line), "{text}");
}

#[test]
fn different_reads_of_the_counter_are_stated() {
    let ranking = ranking("memory", ["one", "other"].map(standing).into());
    let says =
        |compared: &Ranking| shown(compared, 100).contains("Not every recording states the cost");
    assert!(!says(&ranking));
    assert!(says(&Ranking { reads_differ: true, ..ranking }));
}

#[test]
fn a_single_sample_is_named_as_such() {
    let experiments = vec![
        experiment("base", &[Some(1.0), Some(2.0)]),
        experiment("huge", &[Some(1.0), None]),
        experiment("thp", &[None, None]),
    ];
    let ranking = Ranking {
        experiments,
        without_variance: 3,
        ..ranking("paging", ["one", "other"].map(standing).into())
    };
    let text = shown(&ranking, 200);
    assert!(text.contains("2 configurations · 1 experiment\n"), "{text}");
    assert!(
        text.contains(
            "3 series have a single sample, which has no variance. Their times are compared, but not the noise of huge; thp."
        ),
        "{text}"
    );
    assert!(text.contains("1 sample") && !text.contains("has not measured"), "{text}");
}

/// The range of variation of each configuration (Radojković 2008, Figure 9), beside its misses (Tsafrir 2007, Figure 13).
#[test]
fn the_range_of_the_samples_is_that_of_equal_work() {
    let mut series = fwq().series;
    let (mut second, mut first) = (series.remove(1), series.remove(0));
    for (result, (min, max)) in [(&mut first, (1e6, 1.002e6)), (&mut second, (2.2e6, 3.3e6))] {
        let distribution = result.distribution.as_mut().expect("samples");
        (distribution.min, distribution.max) = (min, max);
    }
    // The second has done twice the work.
    (first.facts.iterations, second.facts.iterations) = (100, 200);
    for (result, misses) in [(&mut first, 500), (&mut second, 700)] {
        result.facts.samples = 100;
        result.facts.counts =
            [("l1d_misses_kernel".to_owned(), misses), ("l1d_misses_user".into(), 0)].into();
    }
    let text = shown(&kernel_ranking([first, second]), 120);
    let row = |name: &str| {
        let line =
            text.lines().find(|line| line.starts_with("intadd, 1 ms") && line.contains(name));
        line.expect(name).split_whitespace().map(str::to_owned).collect::<Vec<_>>()
    };
    let [bare, linux] = ["bare", "linux"].map(row);
    let shown = |row: &[String]| [row[4..6].join(" "), row[8..10].join(" "), row[10..12].join(" ")];
    assert_eq!(shown(&bare), ["1.00 ms", "1.00 ms", "0.20 %"], "{text}");
    assert_eq!(shown(&linux), ["1.10 ms", "1.65 ms", "50.0 %"], "{text}");
    assert_eq!(
        [&bare, &linux].map(|row| row.last().map(String::as_str)),
        [Some("5.00"), Some("7.00")]
    );
    assert!(text.contains("L1, kernel") && !text.contains("L1, user"), "{text}");
}
