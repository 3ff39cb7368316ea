//! Fixed time quantum: the amount of work done in each of a series of equal windows on a fixed grid.

use super::{Method, Together, frame};
use crate::experiment::{Experiment, Host};
use anechoic_recording::options::{Answers, OptionRow, Value};
use anechoic_recording::{Problem, ProblemKind, methods};
use std::time::Duration;

pub(super) static METHOD: Method = Method {
    title: "fixed time quantum",
    source: "Sottile & Minnich 2004",
    about: "Fixed time quantum: how much work is done in each of a series of equal time windows",
    examples: "  anechoic measure ftq --window 100us --duration 20s --cpus 1",
    options: &[OPTIONS, frame::LOOPS],
    together: Together::ByHost,
    ..Method::new(methods::FTQ, experiment)
};

static OPTIONS: &[OptionRow] = &[
    frame::kernels_option("work", "counter-reg"),
    OptionRow::new("window", Value::Duration, "TIME", "Length of a window").default("1ms"),
    OptionRow::new("duration", Value::Duration, "TIME", "Duration of each series")
        .short('d')
        .default("10s"),
];

fn experiment(answers: &Answers, host: &Host) -> Result<Experiment, Problem> {
    let window: Duration = answers.one("window")?;
    let duration: Duration = answers.one("duration")?;
    let windows = duration.as_nanos() / window.as_nanos().max(1);
    if windows == 0 {
        let why = "the duration is shorter than one window";
        return Err(ProblemKind::Usage.problem(why, "use a longer --duration"));
    }
    let count = u64::try_from(windows).unwrap_or(u64::MAX);
    let samples = frame::windows(&answers.all("work"), window, count)?;
    Ok(Experiment::listed(METHOD.id, frame::cells(&samples, answers, host)?))
}
