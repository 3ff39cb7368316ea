//! The screens of methods, as a whole: each beside the one that was looked at and found good.
//!
//! After a change that is meant, look at `INSTA_UPDATE=always cargo test -p anechoic-report`
//! in the diff of `tests/snapshots`.

mod made;

use anechoic_analyze::samples::Measured;
use anechoic_report::{Style, View};
use std::path::Path;

fn screen(measured: &Measured, view: &View<'_>) -> String {
    let mut out = vec![];
    anechoic_report::measured(measured, view, &mut out).expect("writing to memory");
    String::from_utf8(out).expect("text is UTF-8")
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
