//! Do-nothing loops: the same loop each time, and yet its duration varies.

use super::{Method, Together, frame};
use crate::experiment::{Experiment, Host};
use crate::kernel::do_nothing;
use anechoic_recording::options::{Answers, OptionRow, Value};
use anechoic_recording::{Problem, methods};

pub(super) static METHOD: Method = Method {
    title: "do-nothing loops",
    source: "Tsafrir 2007",
    about: "Do-nothing loops: how much their duration varies, and why",
    examples: "  anechoic measure loops --grain 1ms --samples 100000 --variants sum,call --policy other,fifo --cpus 1",
    options: &[OPTIONS, frame::WORK, frame::LOOPS],
    together: Together::ByHost,
    ..Method::new(methods::LOOPS, experiment)
};

static OPTIONS: &[OptionRow] = &[
    OptionRow::new("grain", Value::Duration, "TIME", "Duration of one loop without noise")
        .default("1ms"),
    OptionRow::new("samples", frame::COUNT, "N", "Samples per variant").default("10000"),
    OptionRow::new("variants", Value::Choice(variants), "BODY", "Bodies of the loop, or `all`")
        .many()
        .default("counter,sum,fibonacci,call"),
    frame::OWN_WORK.conflicts(&["variants"]),
];

fn variants() -> Vec<(&'static str, &'static str)> {
    do_nothing().chain(["all"]).map(|name| (name, "")).collect()
}

fn experiment(answers: &Answers, host: &Host) -> Result<Experiment, Problem> {
    let (grain, count) = (answers.one("grain")?, answers.one("samples")?);
    let asked = frame::work_or("variants", answers);
    let bodies: Vec<&str> = if asked.contains(&"all") { do_nothing().collect() } else { asked };
    let samples = frame::samples(&bodies, grain, count, answers)?;
    Ok(Experiment::listed(METHOD.id, frame::cells(&samples, answers, host)?))
}
