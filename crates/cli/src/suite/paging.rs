//! `anechoic suite paging`: page sizes and the TLB (Radojković 2009).

use super::row::{Done, Set, Suite, Wanted, results_of_type};
use anechoic_analyze::Paging;
use anechoic_measure::experiment::Host;
use anechoic_recording::options::{Answers, OptionRow, Value};
use anechoic_recording::{Problem, methods};
use anechoic_report::results::paging::PAGING;
use anechoic_report::{Study, View};

pub(super) static SUITE: Suite = Suite {
    id: methods::PAGING,
    about: "Page sizes: what large pages save a matrix × vector in two builds (Radojković 2009)",
    details: "One set, because only page sizes that alternate in one run can be compared.",
    examples:
        "  anechoic suite paging --quick -o paging                  a first look in about a minute
  anechoic suite paging --show paging --html paging.html   the same again, also as a page",
    options: &[OptionRow::new(
        "quick",
        Value::Flag,
        "",
        "Four sizes of the matrix up to 16 times the reach of the TLB instead of nine up to 64 times, and 3 blocks",
    )],
    one_cpu: true,
    results: &[Wanted::usual(methods::PAGING, &PAGING)],
    sets,
    study,
};

fn sets(answers: &Answers, host: &Host) -> Result<Vec<Set>, Problem> {
    let quick = answers.flag("quick").then(|| ("quick", String::new()));
    let options: Vec<_> = quick.into_iter().collect();
    Ok(vec![Set::from_method("pages", methods::PAGING, &options, host)?])
}

fn study(done: &[Done], view: &View<'_>) -> Study {
    anechoic_report::suite_paging(&results_of_type::<Paging>(done), view)
}
