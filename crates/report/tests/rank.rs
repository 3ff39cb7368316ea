//! What a ranking looks like.

use crate::made::samples::fwq;
use anechoic_analyze::rank::{Counted, Curves, OneByOne, Ranking, Standing, Unit, Variation};
use anechoic_analyze::samples::{Fixed, SeriesResult};
use anechoic_report::View;

/// A ranking of two configurations that both have measured this kernel.
fn ranking(series: [SeriesResult; 2]) -> Ranking {
    let none = Counted { count: 0, share: 0.0, interval: None };
    let standing = |name: &str| Standing {
        name: name.into(),
        runs: 1,
        lowest: none,
        middle: none,
        highest: none,
        equal: 0,
        clearly_lowest: 0,
        clearly_highest: 0,
        absent: 0,
        over_first: None,
    };
    Ranking {
        method: "fwq".into(),
        fixed: Fixed::Work,
        variation: Variation::Parts,
        unit: Unit::Time,
        first_is_bare: false,
        configurations: ["bare", "linux"].map(standing).into(),
        working_sets_left_out: 0,
        unequal_samples: 0,
        tied: 0,
        curves: Curves::default(),
        one_by_one: vec![OneByOne {
            kernel: "intadd".into(),
            grain_ns: 1_000_000,
            series: series.map(|of| vec![of]).into(),
        }],
        experiments: vec![],
    }
}

/// The range of variation of each configuration (Radojković 2008, Figure 9), beside its misses (Tsafrir 2007, Figure 13).
#[test]
fn the_range_of_the_samples_is_that_of_equal_work() {
    let mut series = fwq().series;
    let (mut second, mut first) = (series.remove(1), series.remove(0));
    for (of, (min, max)) in [(&mut first, (1e6, 1.002e6)), (&mut second, (2.2e6, 3.3e6))] {
        let distribution = of.distribution.as_mut().expect("samples");
        (distribution.min, distribution.max) = (min, max);
    }
    // The second has done twice the work.
    (first.facts.iterations, second.facts.iterations) = (100, 200);
    for (of, misses) in [(&mut first, 500), (&mut second, 700)] {
        of.facts.samples = 100;
        of.facts.counts =
            [("l1d_misses_kernel".to_owned(), misses), ("l1d_misses_user".into(), 0)].into();
    }
    let view = View { width: 120, ..View::default() };
    let text = anechoic_report::rank(&ranking([first, second]), &view).to_text(&view);
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
