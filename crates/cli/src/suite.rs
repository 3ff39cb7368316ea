//! `anechoic suite`: repeats all experiments of a paper and shows its published numbers beside the measured
//! ones. Its subcommands are the rows of [`SUITES`].

mod cmt;
mod ferreira;
mod judged;
mod kept;
mod loops;
mod measuring;
mod memory;
mod page;
mod paging;
mod row;
mod selfish;
mod settings;
mod ticks;

use crate::ask::{self, CpuList};
use crate::exit;
use crate::inputs::Inputs;
use crate::options::{answers, arguments};
use crate::page::{Known, PageArgs};
use crate::rows::Rows;
use crate::setup::Place;
use crate::show::{Printer, one_line};
use crate::terminal;
use anechoic_measure::experiment::Host;
use anechoic_recording::Problem;
use anechoic_recording::options::Answers;
use anechoic_report::results::summary::SUMMARY;
use anechoic_report::{HtmlReport, View, shown};
use anechoic_system::machine;
use clap::{Arg, ArgMatches, Args, Command, Error, FromArgMatches};
use kept::read_sets;
use measuring::measure_sets;
use row::{Done, Results, Suite, Wanted};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// All suites, in the order of their papers.
static SUITES: &[&Suite] = &[
    &cmt::SUITE,
    &paging::SUITE,
    &ticks::SUITE,
    &loops::SUITE,
    &memory::SUITE,
    &selfish::SUITE,
    &ferreira::SUITE,
];

const ABOUT: &str =
    "Repeat all experiments of a paper, and show its published numbers beside the measured ones";
const DETAILS: &str = "Each set of a suite is a recording of its own in the output directory; --resume measures the sets that are missing. \
                       --html writes a page with the figures of the paper, published values beside the measured ones, and then each set; \
                       `anechoic report DIR` writes the same page later.";

const JSON: &str =
    "Print JSON (schema/suite.schema.json); `anechoic summary SET --json` prints that of a set";

/// A suite with its options.
#[derive(Debug)]
pub struct SuiteArgs {
    suite: &'static Suite,
    answers: Answers,
    common: CommonArgs,
}

// What all suites share. No doc comment: clap would print it as the command's help.
#[derive(Debug, Args)]
struct CommonArgs {
    /// CPUs to measure, for example 0-3,8
    #[arg(long, short, value_parser = ask::cpu_list, value_name = "LIST")]
    cpus: Option<CpuList>,
    /// Directory for the recordings, new or empty [default: anechoic-TIME]
    #[arg(long, short, value_name = "DIR", conflicts_with = "show")]
    output: Option<PathBuf>,
    /// Keep the sets that are complete in the output directory and measure the others
    #[arg(long, requires = "output")]
    resume: bool,
    /// Measure even if the counter's rate may change
    #[arg(long)]
    allow_variant_tsc: bool,
    /// Measure nothing; show the suite that was measured into this directory
    #[arg(long, value_name = "DIR")]
    show: Option<PathBuf>,
    /// Print JSON, one document
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    page: PageArgs,
    /// Overwrite an existing page and figures
    #[arg(long)]
    force: bool,
    /// Show pictures and notes in the terminal, too
    #[arg(long)]
    all: bool,
    /// Show no progress, and the result as one line
    #[arg(long, short)]
    quiet: bool,
}

impl Rows for SuiteArgs {
    fn describe(command: Command) -> Command {
        let examples: Vec<&str> = SUITES.iter().flat_map(|suite| suite.examples.lines()).collect();
        command
            .about(ABOUT)
            .long_about(format!("{ABOUT}\n\n{DETAILS}"))
            .after_help(format!("Examples:\n{}", examples.join("\n")))
    }

    fn subcommands() -> Vec<Command> {
        SUITES.iter().map(|suite| command(suite)).collect()
    }

    fn read(name: &str, matches: &ArgMatches) -> Result<Option<Self>, Error> {
        let Some(suite) = SUITES.iter().find(|suite| suite.id == name) else { return Ok(None) };
        let answers = answers(suite.options, matches);
        Ok(Some(Self { suite, answers, common: CommonArgs::from_arg_matches(matches)? }))
    }
}

/// Builds the subcommand of a suite.
fn command(suite: &Suite) -> Command {
    let plural = if suite.examples.contains('\n') { "s" } else { "" };
    let all = if suite.one_cpu { "the last one" } else { "all" };
    let cpus =
        format!("CPUs to measure, for example 0-3,8 [default: {all} that this process may use]");
    let long = match suite.details {
        "" => suite.about.to_owned(),
        details => format!("{}\n\n{details}", suite.about),
    };
    let own: Vec<Arg> = arguments(suite.options).collect();
    CommonArgs::augment_args(Command::new(suite.id).args(own))
        .mut_arg("json", |arg| arg.help(JSON))
        .mut_arg("cpus", |arg| arg.help(cpus))
        .about(suite.about)
        .long_about(long)
        .after_help(format!("Example{plural}:\n{}", suite.examples))
}

/// Computes the report of these recordings, or of copies without what names their owner; of the directory of a suite it
/// begins with the paper. Also returns the exit code of what is wrong with some of them.
///
/// # Errors
/// A recording is damaged, or there are too many to show.
pub(crate) fn report(inputs: &Inputs, redact: bool) -> Result<(HtmlReport, u8), Problem> {
    page::report(None, inputs, redact, &[])
}

/// Shows the suite whose directory the user named and returns the exit code; returns nothing if it is no suite's.
///
/// # Errors
/// Its sets cannot be read, or the output cannot be written.
pub(crate) fn summary(inputs: &Inputs, printer: &mut Printer) -> Result<Option<u8>, Problem> {
    let (Some(suite), Some(dir)) = (page::whose(inputs), inputs.place()) else { return Ok(None) };
    let Results { done, lacking, worst } = read_sets(suite, dir, false)?;
    let view = if printer.json() { row::WHOLE } else { printer.view(Some(dir)) };
    let code = printer.print(&suite.result_of(&done, lacking, &view), Some(dir))?;
    Ok(Some(worst.max(code)))
}

/// Measures all sets, or reads them, and shows the results.
pub fn run(args: &SuiteArgs) -> Result<ExitCode, Problem> {
    let SuiteArgs { suite, answers, common } = args;
    common.page.refuse(common.force)?;
    let named = common.show.as_deref().or(common.output.as_deref());
    let place = Place::choose(named, false)?;
    let dir = place.dir();
    let Results { done, lacking, worst } = match &common.show {
        Some(_) => read_sets(suite, dir, common.quiet)?,
        None => {
            let cpus =
                common.cpus.as_ref().map_or_else(|| suite.usual_cpus(), |list| list.0.clone());
            let host = Host { cpus, machine: machine::describe() };
            let mut sets = (suite.sets)(answers, &host)?;
            sets.iter_mut().for_each(|set| set.plan.allow_variant_tsc = common.allow_variant_tsc);
            let resume = common.resume.then_some(&host.machine);
            measure_sets(suite, &sets, dir, resume, common.quiet)?
        }
    };
    if common.json || done.is_empty() {
        lacking.iter().for_each(|text| terminal::print_note(format_args!("anechoic: {text}")));
    }
    let mut out = terminal::stdout();
    if common.json && !done.is_empty() {
        suite.result_of(&done, lacking, &row::WHOLE).json(&mut out)?;
    } else if !done.is_empty() {
        let view = View { all: common.all, ..terminal::view(Some(dir)) };
        let found = suite.result_of(&done, lacking, &view);
        match common.quiet {
            true => {
                let line = one_line(&found, Some(dir));
                let line = line.unwrap_or_else(|| format!("{}: {}", shown(dir), suite.about));
                writeln!(out, "{line}")?;
            }
            false => found.screen(&view).write(&view, &mut out)?,
        }
    }
    out.flush()?;
    // Last, so that a page that cannot be written costs nobody the result.
    let page = match common.page.is_wanted() && !done.is_empty() {
        true => write_page(suite, dir, &done, common)
            .unwrap_or_else(|problem| exit::print_error(&problem)),
        false => 0,
    };
    let verdict = done.iter().map(|one| exit::verdict_code(one.found.verdict())).max();
    Ok(ExitCode::from(worst.max(page).max(verdict.unwrap_or(exit::NO_VERDICT))))
}

/// Writes the page and the figures of a suite as far as they are wanted, and returns the exit code of what is wrong with
/// some of its sets.
fn write_page(
    suite: &'static Suite,
    dir: &Path,
    done: &[Done],
    common: &CommonArgs,
) -> Result<u8, Problem> {
    // The page of a summary has more than the summary, and a result with options of the suite is not that of the page.
    let is_usual = |done: &&Done| suite.result(&done.run.method).is_some_and(Wanted::is_usual);
    let alone = done.iter().filter(|done| done.found.row().id() != SUMMARY.id).filter(is_usual);
    let known = |done: &Done| Known { dir: done.dir.clone(), found: done.found.clone() };
    let known: Vec<Known> = alone.map(known).collect();
    let (report, worst) = page::report(Some(suite), &Inputs::below(dir)?, false, &known)?;
    common.page.print(&report, common.force)?;
    Ok(worst)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rows::OfRows;
    use anechoic_recording::machine::Machine;
    use anechoic_recording::{ProblemKind, methods};
    use std::collections::HashSet;

    #[test]
    fn every_suite_is_a_subcommand_that_names_its_paper() {
        let mut command = OfRows::<SuiteArgs>::augment_args(Command::new("suite"));
        command.build();
        let ids: HashSet<&str> = SUITES.iter().map(|suite| suite.id).collect();
        assert_eq!(ids.len(), SUITES.len(), "two suites have one name");
        for suite in SUITES {
            let about = suite.about;
            assert!(about.ends_with(')') && about.contains(" 20"), "{about}: no paper");
            let bare = command.clone().try_get_matches_from(["suite", suite.id]);
            let OfRows(read) =
                OfRows::<SuiteArgs>::from_arg_matches(&bare.expect("defaults")).expect("read");
            assert_eq!(read.suite.id, suite.id);
        }
    }

    #[test]
    fn every_set_has_its_own_name_and_a_result() {
        let cpus = anechoic_system::cpus::allowed();
        let host = Host { cpus: cpus[..1].to_vec(), machine: machine::describe() };
        for suite in SUITES {
            let answers = Answers::read(suite.options, &[]).expect("defaults");
            let sets = match (suite.sets)(&answers, &host) {
                // With one CPU some of them leave none for anything else.
                Err(problem) if problem.kind == ProblemKind::Usage && cpus.len() == 1 => continue,
                sets => sets.expect(suite.id),
            };
            let names: HashSet<&str> = sets.iter().map(|set| &set.name[..]).collect();
            assert_eq!(names.len(), sets.len(), "{}", suite.id);
            assert!(!sets.is_empty(), "{}", suite.id);
            for set in &sets {
                assert!(suite.result(set.plan.experiment.method).is_some(), "{}", suite.id);
            }
        }
    }

    /// Returns the names of the sets of a suite with the usual options on these CPUs of a machine with these allowed ones.
    fn names(suite: &'static Suite, cpus: &[u32], allowed: &str) -> Vec<String> {
        let machine = Machine { allowed: allowed.into(), ..machine::describe() };
        let answers = Answers::read(suite.options, &[]).expect("defaults");
        let sets = (suite.sets)(&answers, &Host { cpus: cpus.to_vec(), machine });
        sets.expect(suite.id).into_iter().map(|set| set.name).collect()
    }

    /// Figure 8 of Tsafrir 2007 needs several numbers of ranks, whether the loops run on one CPU or on several.
    #[test]
    fn jobs_have_one_rank_up_to_one_on_each_cpu() {
        let ranks = |cpus: &[u32], allowed: &str| {
            let answers = Answers::read(loops::SUITE.options, &[("no-rates", "")]).expect("sound");
            let machine = Machine { allowed: allowed.into(), ..machine::describe() };
            let host = Host { cpus: cpus.to_vec(), machine };
            let sets = (loops::SUITE.sets)(&answers, &host).expect("sets");
            let jobs = sets.iter().filter(|set| set.plan.experiment.method == methods::BSP);
            let job = |set: &row::Set| (set.name.clone(), set.plan.experiment.cpus());
            jobs.map(job).collect::<Vec<_>>()
        };
        let job = |ranks: u32| (format!("ranks-{ranks}"), (0..ranks).collect::<Vec<_>>());
        assert_eq!(ranks(&[0], "0-4"), [1, 2, 4, 5].map(job));
        assert_eq!(ranks(&[0], "0"), [1].map(job));
        assert_eq!(ranks(&[0], ""), [], "a recording that does not name the CPUs");
    }

    /// One CPU has no other to interrupt.
    #[test]
    fn the_cmt_suite_measures_other_cpus_where_there_are_any() {
        let has = |cpus: &[u32]| names(&cmt::SUITE, cpus, "0-1").contains(&"interference".into());
        assert!(has(&[0, 1]) && !has(&[0]));
        let answers = Answers::read(cmt::SUITE.options, &[("no-interference", "")]);
        let host = Host { cpus: vec![0, 1], machine: machine::describe() };
        let sets = (cmt::SUITE.sets)(&answers.expect("sound"), &host).expect("sets");
        assert!(sets.iter().all(|set| set.plan.experiment.method != methods::INTERFERENCE));
        assert!(names(&cmt::SUITE, &[0], "0").contains(&"detours".into()));
    }
}
