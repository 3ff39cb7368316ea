//! Fixed work quantum: the same work repeatedly, with the duration of each repetition.

use super::{Method, Together, frame};
use crate::experiment::{Experiment, Host};
use anechoic_recording::options::{Answers, OptionRow, Value};
use anechoic_recording::{Problem, methods};

pub(super) static METHOD: Method = Method {
    title: "fixed work quantum",
    source: "Sottile & Minnich 2004",
    about: "Fixed work quantum: how long the same work takes each time",
    examples: "  anechoic measure fwq --work intadd --grain 250us --repetitions 40000 --cpus 1",
    options: &[OPTIONS, frame::WORK, frame::LOOPS],
    together: Together::ByHost,
    ..Method::new(methods::FWQ, experiment)
};

static OPTIONS: &[OptionRow] = &[
    frame::kernels_option("work", "intadd-chain"),
    OptionRow::new("grain", Value::Duration, "TIME", "Duration of one repetition without noise")
        .default("1ms"),
    OptionRow::new("repetitions", frame::COUNT, "N", "Repetitions").default("10000"),
];

fn experiment(answers: &Answers, host: &Host) -> Result<Experiment, Problem> {
    let (grain, count) = (answers.one("grain")?, answers.one("repetitions")?);
    let samples = frame::samples(&answers.all("work"), grain, count, answers)?;
    Ok(Experiment::listed(METHOD.id, frame::cells(&samples, answers, host)?))
}
