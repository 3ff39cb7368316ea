//! The serial tick model: the cost of periodic interrupts for one program.

mod anomalies;
mod figures;
mod scheduler;
pub(crate) mod several;
mod tables;
pub(crate) mod words;

use super::described::{Grouping, Methods, Section};
use super::row::{Print, Row};
use super::{Input, LeftOut, Model};
use crate::heading;
use crate::published::serial_table;
use crate::results::summary::headline::at_work;
use crate::screen::Screen;
use crate::style::View;
use anechoic_analyze::injection::Verdict;
use anechoic_predict::ticks::{
    Linearity, Model as TickModel, OPTIONS, Origin, ProcessorModel, Table, is_work, model,
    read_files, table_of,
};
use anechoic_recording::run::{Ended, RunState};
use anechoic_recording::{Problem, ProblemKind, Recording, methods};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// The method whose recordings it is computed from.
const METHOD: &[&str] = &[methods::SERIAL];

/// The row of the result.
pub static TICKS: Row<TickModel> = Row {
    in_summary: Methods::Only(METHOD),
    in_report: Methods::Only(METHOD),
    section: Some(Section { anchor: "model", title: "The serial tick model", short: "Tick model" }),
    compute: Some(compute),
    verdict,
    headline,
    model: Some(Model {
        about: "Cost of timer ticks for one program at any tick rate: the serial tick model (Tsafrir 2007)",
        details: DETAILS,
        examples: EXAMPLES,
        instead: &["times", "published"],
        options: OPTIONS,
        ..Model::NEW
    }),
    print: Some(Print::with(screen)),
    ..Row::new("ticks", "serial tick model", Grouping::Each)
};

const DETAILS: &str = "Reads recordings of `anechoic measure serial`, or two tables for kernels built with several tick \
rates. Prints direct and indirect cost of an interrupt, the share of the CPU that ticks take, the time without ticks, and \
how well the model fits. Several processors, or recordings, are shown beside each other; --all adds each by itself.";

const EXAMPLES: &str = "Examples:
  anechoic measure serial -o serial && anechoic predict ticks serial
  anechoic predict ticks --times times.csv --costs costs.csv --json | jq '.processors[].cost'
  anechoic predict ticks serial-old serial-new --html ticks.html --figures figures
  anechoic predict ticks --published                       Tables 1 and 2 and Figures 4 to 6 of the paper

The two tables, for one processor measured at 100 Hz and 10 kHz:
  processor,copies,rate_hz,milliseconds        processor,trap_us,handler_us
  PIII-664,1,100,12.675                        PIII-664,0.52,0.49
  PIII-664,1,10000,13.397

A column mode (processor,mode,trap_us,handler_us) names modes of the tick's handler; the times were measured in the first.

Exits with 1 if the model does not hold or something was left out, and with 3 if the cost of an interrupt is not significantly above 0, or if \
the times are too few or scatter too much to test the model.";

fn compute(input: &Input<'_>) -> Result<TickModel, Problem> {
    if input.answers.is_some_and(|answers| answers.flag("published")) {
        return Ok(model(&serial_table()));
    }
    if let Some(answers) = input.answers.filter(|answers| answers.flag("times")) {
        let (times, costs): (PathBuf, PathBuf) = (answers.one("times")?, answers.one("costs")?);
        return Ok(model(&read_files(&times, &costs)?));
    }
    match input.recordings {
        [] | [_] if input.left_out.is_empty() => Ok(model(&recorded(input.one()?)?)),
        several => Ok(model(&joined(several, input.left_out)?)),
    }
}

/// Returns the table of a recording.
fn recorded(recording: &Recording) -> Result<Table, Problem> {
    if recording.run().method == METHOD[0] && measured(recording)? == Verdict::Nothing {
        let remedy = "measure again and let it run to its end";
        let problem = ProblemKind::NoVerdict.problem("no sort was completed", remedy);
        return Err(problem.about(recording.dir().display()));
    }
    let mut table = table_of(recording)?;
    if let Some(processor) = table.processors.first_mut() {
        processor.notes.extend(at_work(&[recording]));
    }
    Ok(table)
}

/// Joins the tables of several recordings, and names those that cannot be part of it.
fn joined(recordings: &[&Recording], unread: &[LeftOut]) -> Result<Table, Problem> {
    let (mut tables, mut failed, mut seen) = (vec![], vec![], BTreeMap::new());
    for recording in recordings {
        let (run, dir) = (recording.run(), recording.dir().display());
        let which = (run.machine.host.clone(), run.start_utc.clone(), run.start_ticks);
        if let Some(first) = seen.insert(which, dir.to_string()) {
            let why = format!("it is the same run as {first}");
            failed.push(ProblemKind::Data.problem(why, "name each run once").about(&dir));
            continue;
        }
        match recorded(recording) {
            Ok(table) => tables.push((name_of(recording), table)),
            Err(problem) => failed.push(problem),
        }
    }
    if tables.is_empty() {
        return Err(failed.swap_remove(0));
    }
    let unread =
        unread.iter().map(|left_out| format!("{}: {}", left_out.place.display(), left_out.why));
    let mut table = Table::join(tables);
    table.left_out.extend(failed.iter().map(ToString::to_string).chain(unread));
    Ok(table)
}

/// Returns the name of a recording: its directory.
fn name_of(recording: &Recording) -> String {
    let name = recording.dir().file_name().unwrap_or(recording.dir().as_os_str());
    name.to_string_lossy().into_owned()
}

/// Returns how complete the recordings are; for complete ones, the worst verdict of all processors.
fn verdict(found: &TickModel, recordings: &[&Recording]) -> Verdict {
    let completeness = |recording: &&Recording| measured(recording).unwrap_or(Verdict::Warning);
    // What was left out is named; the others are still a result.
    let least = if found.left_out.is_empty() { Verdict::Good } else { Verdict::Warning };
    match recordings.iter().map(completeness).max() {
        None | Some(Verdict::Good) => worth(found).max(least),
        Some(_) if recordings.len() > 1 => worth(found).max(Verdict::Warning),
        Some(less) => less,
    }
}

fn worth(found: &TickModel) -> Verdict {
    found.processors.iter().map(processor_verdict).max().unwrap_or(Verdict::Nothing)
}

/// Returns whether the cost of an interrupt is known, and whether it is proportional to the rate.
fn processor_verdict(processor: &ProcessorModel) -> Verdict {
    match processor.verdict {
        verdict if !verdict.sample.resolves_cost() => Verdict::Nothing,
        // More than two rates were measured, and the line could not be tested.
        verdict
            if verdict.linearity == Linearity::Untested
                && processor.goodness.r_squared.is_some() =>
        {
            Verdict::Nothing
        }
        verdict if verdict.linearity == Linearity::Fails => Verdict::Warning,
        _ => Verdict::Good,
    }
}

fn measured(recording: &Recording) -> Result<Verdict, Problem> {
    let mut whole = recording.run().state == RunState::Complete;
    let mut sorts = 0;
    for (series, outcome) in &recording.series()? {
        whole &= outcome.ended == Ended::Complete && outcome.wrong == 0 && outcome.lost == 0;
        sorts += if is_work(series) { outcome.samples } else { 0 };
    }
    Ok(match (sorts, whole) {
        (0, _) => Verdict::Nothing,
        (_, true) => Verdict::Good,
        (_, false) => Verdict::Warning,
    })
}

fn headline(found: &TickModel) -> Vec<String> {
    let sentences = |processor| [words::cost(processor), words::verdict(processor)];
    if found.processors.len() > 1 {
        return several::trends(found);
    }
    found.processors.iter().flat_map(sentences).collect()
}

/// Shows the model of every processor.
pub(crate) fn screen(model: &TickModel, view: &View<'_>) -> Screen {
    let mut screen = Screen::default();
    screen.in_terminal(|terminal| begin(model, terminal));
    model.left_out.iter().for_each(|text| screen.warning(&format!("Left out: {text}")));
    match &model.processors[..] {
        [only] => fully(only, view, &mut screen),
        all => {
            beside(model, &mut screen);
            let each = if view.all { fully } else { briefly };
            all.iter().for_each(|processor| each(processor, view, &mut screen));
        }
    }
    screen.gap();
    screen.note(&match view.all {
        true => format!("Assumed: {}", model.assumptions.join("; ")),
        false => "--all shows the figures, what is assumed, and how to read the tables".into(),
    });
    screen.in_brief(view)
}

/// Adds where the times are from; a page begins with this.
fn begin(model: &TickModel, screen: &mut Screen) {
    screen.heading("serial tick model (Tsafrir 2007)");
    match &model.origin {
        Origin::Files { times, costs } => {
            screen.context(&format!("times: {times} · costs: {costs}"));
        }
        Origin::Recording(facts) => {
            screen.heading(&heading::machine(facts));
            heading::ended(facts).iter().for_each(|ended| screen.warning(ended));
        }
        Origin::Recordings(all) => {
            screen.contexts(all, heading::machine, ["recording", "recordings"]);
            all.iter().flat_map(heading::ended).for_each(|ended| screen.warning(&ended));
        }
    }
}

/// Shows several processors beside each other.
fn beside(model: &TickModel, screen: &mut Screen) {
    screen.gap();
    // The page opens with these sentences.
    screen.in_terminal(|terminal| {
        several::trends(model).iter().for_each(|text| terminal.headline(text));
    });
    screen.gap();
    several::add_tables(model, screen);
    several::charts(model).into_iter().for_each(|(chart, caption)| screen.pictured(chart, caption));
}

/// Shows what one of several processors comes to.
fn briefly(processor: &ProcessorModel, view: &View<'_>, screen: &mut Screen) {
    screen.section(&processor.name);
    screen.sentence(&format!("{} {}", words::cost(processor), words::verdict(processor)));
    anomalies::add(processor, view.all, screen);
}

/// Shows the whole model of a processor.
fn fully(processor: &ProcessorModel, view: &View<'_>, screen: &mut Screen) {
    screen.section(&processor.name);
    screen.headline(&format!("{} {}", words::cost(processor), words::verdict(processor)));
    words::widest_pair(processor).iter().for_each(|sentence| screen.sentence(sentence));
    anomalies::add(processor, view.all, screen);
    tables::add_direct(processor, screen);
    screen.gap();
    tables::add_points(processor, view.all, screen);
    screen.gap();
    if processor.verdict.sample.resolves_cost() {
        // Nothing follows from a cost that does not differ from 0.
        tables::add_shares(processor, view, screen);
    }
    tables::add_indirect_shares(processor, screen);
    let figures = figures::figures(processor);
    match processor.verdict.sample.resolves_cost() && !figures.is_empty() {
        true => figures.into_iter().for_each(|(chart, caption)| screen.picture(chart, caption)),
        false => screen.on_page(|page| {
            let parts = figures::contributions(processor).into_iter();
            parts.for_each(|(chart, caption)| page.picture(chart, caption));
        }),
    }
    scheduler::add(processor, view, screen);
}
