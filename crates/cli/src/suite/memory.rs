//! `anechoic suite memory`: memory experiments (Wächtler & Sojka 2012).

use super::row::{Done, Set, Suite, Wanted, results_of_type};
use anechoic_analyze::Memory;
use anechoic_measure::experiment::Host;
use anechoic_recording::options::{Answers, OptionRow, Value};
use anechoic_recording::{Problem, methods};
use anechoic_report::results::memory::MEMORY;
use anechoic_report::{Study, View};

pub(super) static SUITE: Suite = Suite {
    id: "memory",
    about: "Memory experiments: time per access, preemption and migration delays, and their noise (Wächtler & Sojka 2012)",
    details: "Each kind of access is a set of its own, about a quarter of an hour.",
    examples: "  anechoic suite memory --quick -o first                       a first look in under four minutes
  anechoic suite memory -o memory --resume --html memory.html  what is left after an interruption, and the page",
    options: &[OptionRow::new(
        "quick",
        Value::Flag,
        "",
        "One working set per octave instead of 8, and an eighth of the repetitions",
    )],
    one_cpu: true,
    results: &[Wanted::usual(methods::MEMORY, &MEMORY)],
    sets,
    study,
};

/// Returns a set for each kind of access. Each has its warm curve, from which its preemptions are predicted.
fn sets(answers: &Answers, host: &Host) -> Result<Vec<Set>, Problem> {
    let accesses = ["read-random", "write-random", "read-sequential", "write-sequential"];
    let sets = accesses.into_iter().map(|access| {
        let mut options = vec![("experiments", format!("*-{access}-*"))];
        options.extend(answers.flag("quick").then(|| ("quick", String::new())));
        Set::from_method(access, methods::MEMORY, &options, host)
    });
    sets.collect()
}

fn study(done: &[Done], view: &View<'_>) -> Study {
    anechoic_report::suite_memory(&results_of_type::<Memory>(done), view)
}
