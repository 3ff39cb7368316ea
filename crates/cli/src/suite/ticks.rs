//! `anechoic suite ticks`: what ticks cost a program that sorts (Tsafrir 2007, first half).

use super::row::{Done, Set, Suite, Wanted, results_of_type};
use anechoic_measure::experiment::Host;
use anechoic_predict::ticks::Model;
use anechoic_recording::options::{Answers, OptionRow, Value};
use anechoic_recording::{Problem, methods};
use anechoic_report::results::ticks::TICKS;
use anechoic_report::{Study, View};

pub(super) static SUITE: Suite = Suite {
    id: "ticks",
    about: "Ticks: direct and indirect cost of interrupts for a program that sorts, at several rates and in several copies (Tsafrir 2007)",
    details: "The machine stands as one more processor in the tables of the paper. Needs kernel events (run as root).",
    examples: "  anechoic suite ticks -o ticks --html ticks.html   about a minute on the last CPU
  anechoic suite ticks --quick --cpus 1 -o first    a first look in ten seconds",
    options: &[OptionRow::new(
        "quick",
        Value::Flag,
        "",
        "Three rates, one and two copies, and two blocks instead of six rates, up to eight copies and five blocks",
    )],
    one_cpu: true,
    results: &[Wanted::usual(methods::SERIAL, &TICKS)],
    sets,
    study,
};

/// The options of a first look.
const QUICK: [(&str, &str); 3] = [("rates", "none,2khz,10khz"), ("copies", "1,2"), ("blocks", "2")];

fn sets(answers: &Answers, host: &Host) -> Result<Vec<Set>, Problem> {
    let quick = QUICK.iter().filter(|_| answers.flag("quick"));
    let options: Vec<_> = quick.map(|&(name, text)| (name, text.to_owned())).collect();
    Ok(vec![Set::from_method("sort", methods::SERIAL, &options, host)?])
}

fn study(done: &[Done], view: &View<'_>) -> Study {
    anechoic_report::suite_ticks(&results_of_type::<Model>(done), view)
}
