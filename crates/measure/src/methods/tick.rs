//! Tick kernels: 512 instructions of one type, repeated, to measure what a timer tick costs each type.

use super::{Method, Together, frame};
use crate::experiment::{Experiment, Host, Sample};
use anechoic_recording::options::{Answers, OptionRow, Value};
use anechoic_recording::{Problem, methods};
use std::time::Duration;

/// Repetitions at least this long are limited by the stopping rule instead of a number.
const LONG: Duration = Duration::from_millis(100);
/// The largest number of such repetitions.
const LONG_REPETITIONS: u64 = 100;
/// The default number of shorter repetitions.
const REPETITIONS: u64 = 50_000;
/// A series of long repetitions ends once its accumulated mean changes by less than this (FAME: 1 %).
const MAIV_PPM: u32 = 10_000;

pub(super) static METHOD: Method = Method {
    title: "tick kernels",
    source: "Radojković 2008",
    about: "Tick kernels: what a timer tick costs additions, multiplications and divisions",
    examples: "  anechoic measure tick --kernel intadd,intdiv --repetition 100us --repetitions 1000
  anechoic measure tick --repetition 1s --one-by-one --unpinned    the cumulative view",
    options: &[OPTIONS, frame::WORK, frame::LOOPS],
    together: Together::ByHost,
    ..Method::new(methods::TICK, experiment)
};

static OPTIONS: &[OptionRow] = &[
    frame::kernels_option("kernel", "intadd,intmul,intdiv"),
    frame::OWN_WORK.conflicts(&["kernel"]),
    OptionRow::new(
        "repetition",
        Value::Duration,
        "TIME",
        "Duration of one repetition without noise: 100us shows single timer ticks, 1s their sum",
    )
    .default("100us"),
    OptionRow::new(
        "repetitions",
        frame::COUNT,
        "N",
        "Repetitions [default: 50000; for 100 ms or longer up to 100, ended by the stopping rule]",
    ),
];

fn experiment(answers: &Answers, host: &Host) -> Result<Experiment, Problem> {
    let grain: Duration = answers.one("repetition")?;
    let asked = answers.given("repetitions");
    let long = grain >= LONG;
    let count = asked.unwrap_or(if long { LONG_REPETITIONS } else { REPETITIONS });
    let rule = (long && asked.is_none()).then_some(MAIV_PPM);
    let mut samples = frame::samples(&frame::work_or("kernel", answers), grain, count, answers)?;
    for Sample { maiv_ppm, .. } in &mut samples {
        *maiv_ppm = maiv_ppm.or(rule);
    }
    Ok(Experiment::listed(METHOD.id, frame::cells(&samples, answers, host)?))
}
