//! `anechoic suite cmt`: tick kernels (Radojković 2008).

use super::row::{Done, Set, Suite, of_type};
use anechoic_analyze::Measured;
use anechoic_measure::experiment::Host;
use anechoic_recording::options::Answers;
use anechoic_recording::{Problem, methods};
use anechoic_report::published::{CMT_KERNELS, CMT_MAIV_PPM, CMT_SETS, CmtSet};
use anechoic_report::results::measured::MEASURED;
use anechoic_report::{Screen, View};

/// The largest number of repetitions of a series that a stopping rule ends.
const MOST_REPETITIONS: u64 = 100;

pub(super) static SUITE: Suite = Suite {
    id: "cmt",
    about: "Tick overhead of additions, multiplications and divisions on each CPU in turn (Radojković 2008)",
    details: "",
    examples: "  anechoic suite cmt --cpus 0-3 -o cmt",
    options: &[],
    one_cpu: false,
    results: &[(methods::TICK, &MEASURED)],
    sets,
    screen,
};

fn sets(_: &Answers, host: &Host) -> Result<Vec<Set>, Problem> {
    CMT_SETS.iter().map(|of| set(of, host)).collect()
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

fn screen(done: &[Done], view: &View<'_>) -> Screen {
    anechoic_report::suite_cmt(&of_type::<Measured>(done), view)
}
