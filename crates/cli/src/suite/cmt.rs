//! `anechoic suite cmt`: tick kernels (Radojković 2008).

use super::row::{Done, Set, Suite, Wanted, results_of_type};
use anechoic_analyze::{Interference, Measured};
use anechoic_measure::experiment::{Experiment, Host};
use anechoic_measure::kernel::Kernel;
use anechoic_measure::methods::detours::Detours;
use anechoic_measure::methods::interference::Matrix;
use anechoic_predict::phases::PhaseModel;
use anechoic_recording::options::{Answers, OptionRow, Value};
use anechoic_recording::{Problem, methods};
use anechoic_report::published::{CMT_KERNELS, CMT_MAIV_PPM, CMT_SETS, CmtSet};
use anechoic_report::results::interference::INTERFERENCE;
use anechoic_report::results::measured::MEASURED;
use anechoic_report::results::phases::PHASES;
use anechoic_report::{CmtSets, Study, View};
use std::time::Duration;

/// The largest number of repetitions of a series that a stopping rule ends.
const MOST_REPETITIONS: u64 = 100;
/// Seconds for which detours are recorded; as many as repetitions of 1 s were asked for, but not fewer than the least.
const DETOURS_SECONDS: u64 = 60;
const LEAST_DETOURS_SECONDS: u64 = 10;
/// The numbers of processors and the lengths of a phase of Figure 1.
const FIGURE_1: [(&str, &str); 2] =
    [("grain", "100us,1ms"), ("ranks", "2,4,8,16,32,64,128,256,512,1024")];

pub(super) static SUITE: Suite = Suite {
    id: "cmt",
    about: "Tick overhead of additions, multiplications and divisions on each CPU in turn, its cost on other CPUs, and the noise at scale (Radojković 2008)",
    details: "The cost on other CPUs needs two CPUs or more.",
    examples: "  anechoic suite cmt --cpus 0-3 -o cmt --html cmt.html
  anechoic suite cmt --seconds 4 -o first                 a first look in two minutes
  anechoic suite cmt --cpus 1 --seconds 300 -o hundreds   half an hour: Figures 8 and 9",
    options: &[
        OptionRow::new(
            "seconds",
            Value::Count { least: 2, most: u64::MAX },
            "N",
            "Number of repetitions of 1 s in each series; the paper's Figures 8 and 9 show several hundred. By default a \
             series ends once its mean is steady, after 100 at most",
        ),
        OptionRow::new(
            "no-interference",
            Value::Flag,
            "",
            "Do not measure what interrupts cost other CPUs, which needs permission to inject them (run as root)",
        ),
    ],
    one_cpu: false,
    results: &[
        Wanted::usual(methods::TICK, &MEASURED),
        Wanted { method: methods::DETOURS, row: &PHASES, options: &FIGURE_1 },
        Wanted::usual(methods::INTERFERENCE, &INTERFERENCE),
    ],
    sets,
    study,
};

fn sets(answers: &Answers, host: &Host) -> Result<Vec<Set>, Problem> {
    let seconds = answers.given("seconds");
    let asked = |row: &CmtSet| CmtSet { repetitions: row.repetitions.or(seconds), ..*row };
    let mut sets =
        CMT_SETS.iter().map(|row| set(&asked(row), host)).collect::<Result<Vec<_>, _>>()?;
    let lasting =
        seconds.map_or(DETOURS_SECONDS, |seconds: u64| seconds.max(LEAST_DETOURS_SECONDS));
    let detours = Detours::lasting(Duration::from_secs(lasting));
    sets.push(Set::new(methods::DETOURS, detours.on(host.cpus.clone())));
    // Last, because it needs the permission to inject interrupts.
    if host.cpus.len() > 1 && !answers.flag("no-interference") {
        sets.push(Set::new(methods::INTERFERENCE, interference(host)?));
    }
    Ok(sets)
}

/// Returns interrupts on one CPU and each kernel on another: the second column of Table 1, Figures 5 and 6.
fn interference(host: &Host) -> Result<Experiment, Problem> {
    let kernels = CMT_KERNELS.into_iter().map(Kernel::find).collect::<Result<_, _>>()?;
    Ok(Matrix { kernels, ..Matrix::usual()? }.on(host))
}

fn set(row: &CmtSet, host: &Host) -> Result<Set, Problem> {
    let mut options = vec![
        ("kernel", CMT_KERNELS.join(",")),
        ("repetition", format!("{}ns", row.repetition_ns)),
        ("repetitions", row.repetitions.unwrap_or(MOST_REPETITIONS).to_string()),
        ("one-by-one", String::new()),
        ("unpinned", String::new()),
    ];
    if row.repetitions.is_none() {
        options.push(("maiv", format!("{}%", f64::from(CMT_MAIV_PPM) / 1e4)));
    }
    let count = row.repetitions.map_or(String::new(), |count| format!("-{count}"));
    Set::from_method(format!("{}{count}", row.view), methods::TICK, &options, host)
}

fn study(done: &[Done], _view: &View<'_>) -> Study {
    anechoic_report::suite_cmt(&CmtSets {
        measured: results_of_type::<Measured>(done),
        interference: results_of_type::<Interference>(done).pop(),
        phases: results_of_type::<PhaseModel>(done).pop(),
    })
}
