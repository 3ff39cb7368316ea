//! `anechoic suite cmt`: tick kernels (Radojković 2008).

use super::row::{Done, Set, Suite, of_type};
use anechoic_analyze::Measured;
use anechoic_measure::experiment::Host;
use anechoic_recording::options::{Answers, OptionRow, Value};
use anechoic_recording::{Problem, methods};
use anechoic_report::published::{CMT_KERNELS, CMT_MAIV_PPM, CMT_SETS, CmtSet};
use anechoic_report::results::measured::MEASURED;
use anechoic_report::{Study, View};

/// The largest number of repetitions of a series that a stopping rule ends.
const MOST_REPETITIONS: u64 = 100;

pub(super) static SUITE: Suite = Suite {
    id: "cmt",
    about: "Tick overhead of additions, multiplications and divisions on each CPU in turn (Radojković 2008)",
    details: "",
    examples: "  anechoic suite cmt --cpus 0-3 -o cmt --html cmt.html
  anechoic suite cmt --cpus 1 --seconds 4 -o first        a first look in a minute
  anechoic suite cmt --cpus 1 --seconds 300 -o hundreds   half an hour: Figures 8 and 9",
    options: &[OptionRow::new(
        "seconds",
        Value::Count { least: 2, most: u64::MAX },
        "N",
        "Number of repetitions of 1 s in each series; the paper's Figures 8 and 9 show several hundred. By default a \
         series ends once its mean is steady, after 100 at most",
    )],
    one_cpu: false,
    results: &[(methods::TICK, &MEASURED)],
    sets,
    study,
};

fn sets(answers: &Answers, host: &Host) -> Result<Vec<Set>, Problem> {
    let seconds = answers.given("seconds");
    let asked = |of: &CmtSet| CmtSet { repetitions: of.repetitions.or(seconds), ..*of };
    CMT_SETS.iter().map(|of| set(&asked(of), host)).collect()
}

fn set(of: &CmtSet, host: &Host) -> Result<Set, Problem> {
    let mut options = vec![
        ("kernel", CMT_KERNELS.join(",")),
        ("repetition", format!("{}ns", of.repetition_ns)),
        ("repetitions", of.repetitions.unwrap_or(MOST_REPETITIONS).to_string()),
        ("one-by-one", String::new()),
        ("unpinned", String::new()),
    ];
    if of.repetitions.is_none() {
        options.push(("maiv", format!("{}%", f64::from(CMT_MAIV_PPM) / 1e4)));
    }
    let count = of.repetitions.map_or(String::new(), |count| format!("-{count}"));
    Set::of_method(format!("{}{count}", of.view), methods::TICK, &options, host)
}

fn study(done: &[Done], _view: &View<'_>) -> Study {
    anechoic_report::suite_cmt(&of_type::<Measured>(done))
}
