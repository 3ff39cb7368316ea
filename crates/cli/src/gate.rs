//! `anechoic gate`

mod config;
mod health;

use crate::compare::runs;
use crate::inputs::{InputArgs, Inputs};
use crate::progress::Busy;
use crate::show::ShowArgs;
use crate::{exit, files, mistake, sides};
use anechoic_analyze::compare::{Beside, Comparison, compare};
use anechoic_analyze::gate::{
    Examined, Gate, REQUIREMENTS, RULES, Requirement, Requirements, Rule, conclude, examine,
};
use anechoic_analyze::{Summary, summarize};
use anechoic_recording::options::duration;
use anechoic_recording::{Problem, ProblemKind, Recording, follow, verify_place};
use anechoic_report::results::Found;
use anechoic_report::results::gate::GATE;
use anechoic_report::{gate_junit, gate_markdown};
use clap::builder::ValueParser;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, Error, FromArgMatches};
use health::{Age, Style};
use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

/// Does the noise, or the lateness of wake-ups, stay within limits? For continuous integration and acceptance tests: pass, fail or undecided
///
/// A rule must hold on every CPU of every recording: the worst decides. It passes only where the recordings show that it
/// holds, with 95 % confidence, and fails where they show that it does not; in between it is undecided. No rule passes
/// on a recording that ended early, that lost too much, or that is shorter than --min-time.
#[derive(Debug, clap::Args)]
#[command(
    mut_arg("json", |arg| arg.help("Print JSON (schema/gate.schema.json)")),
    mut_arg("all", |arg| arg.help("Also show what was found on every CPU")),
    after_help = "Examples:\n  anechoic run -d 30s -o now && anechoic gate now --max-noise 1% --max-detour 200us\n  \
                  anechoic gate now --max-rate 'thread:*=5/s' --max-rate '>50us=1/min' --junit gate.xml\n  \
                  anechoic gate wakeups --max-wakeup 200us --max-late '>50us=1/1e6'   # `anechoic measure wakeup`\n  \
                  anechoic gate now --config gate.toml --markdown \"$GITHUB_STEP_SUMMARY\"\n  \
                  anechoic gate now --baseline main --max-increase 10%   # both with `anechoic run --repeat 5`\n  \
                  anechoic gate /var/lib/anechoic/health --max-age 2h --style nagios --max-noise 1%\n\n\
                  A file of rules has the same names: max-noise = \"1%\", max-rate = [\"thread:*=5/s\", \">50us=1/min\"]. \
                  What is given on the command line replaces it. SOURCE is an identifier of `anechoic sources --json`, \
                  for example timer-tick, or with a name thread:kworker/*.\n\n\
                  Exits with 0 if all rules hold, with 2 if one is exceeded, and with 3 if none is exceeded but one is \
                  undecided. With --style the codes are those of the program that watches, and of an error, too."
)]
pub struct GateArgs {
    #[command(flatten)]
    input: InputArgs,
    #[command(flatten)]
    limits: Limits,
    /// Read rules from this file (TOML)
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Repeated runs to compare with, for --max-increase: a directory, or recordings separated by commas
    #[arg(long, value_name = "RECORDINGS", value_hint = clap::ValueHint::AnyPath)]
    baseline: Option<String>,
    /// Append the result to this file as Markdown, as the summary of a job
    #[arg(long, value_name = "FILE")]
    markdown: Option<PathBuf>,
    /// Write the result to this file as JUnit XML
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    /// Judge the newest recording if it ended at most this long ago, for example 2h; others are not judged
    #[arg(long, value_name = "TIME", value_parser = duration)]
    max_age: Option<Duration>,
    /// Print one line for a program that watches the health of machines, about the newest recording
    #[arg(long, value_enum, value_name = "STYLE", conflicts_with_all = ["json", "all", "output"])]
    style: Option<Style>,
    #[command(flatten)]
    show: ShowArgs,
}

/// Rules, and what a recording must satisfy to pass them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Limits {
    rules: Vec<Rule>,
    requirements: Vec<(&'static Requirement, String)>,
}

impl Args for Limits {
    fn augment_args(command: Command) -> Command {
        let rules = RULES.iter().map(|&row| {
            let parser = ValueParser::new(move |text: &str| row.read(text));
            let arg = Arg::new(row.id).long(row.id).value_name(row.value_name).help(row.help);
            arg.action(ArgAction::Append).value_parser(parser)
        });
        let requirements = REQUIREMENTS.iter().map(|row| {
            let parser = ValueParser::new(|text: &str| {
                (row.set)(&mut Requirements::default(), text).map(|()| text.to_owned())
            });
            let arg = Arg::new(row.id).long(row.id).value_name(row.value_name).help(row.help);
            arg.value_parser(parser)
        });
        command.args(rules).args(requirements)
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for Limits {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let rules = RULES.iter().filter_map(|row| matches.get_many::<Rule>(row.id));
        let requirements = REQUIREMENTS
            .iter()
            .filter_map(|row| Some((row, matches.get_one::<String>(row.id)?.clone())));
        Ok(Self { rules: rules.flatten().cloned().collect(), requirements: requirements.collect() })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Limits {
    /// Adds limits that replace those of the same quantities.
    fn replaced_by(mut self, other: &Self) -> Self {
        let kept =
            |rule: &Rule| !other.rules.iter().any(|other_rule| other_rule.limits_the_same_as(rule));
        self.rules.retain(kept);
        self.rules.extend(other.rules.iter().cloned());
        self.requirements.extend(other.requirements.iter().cloned());
        self
    }

    /// Returns the requirements; the last value of each counts.
    fn requirements(&self) -> Result<Requirements, Problem> {
        let mut set = Requirements::default();
        for (row, text) in &self.requirements {
            (row.set)(&mut set, text).map_err(|why| ProblemKind::Usage.problem(why, ""))?;
        }
        Ok(set)
    }
}

/// What the options and the file of rules ask for.
struct Asked {
    rules: Vec<Rule>,
    requirements: Requirements,
    baseline: Option<String>,
    max_age: Option<Duration>,
}

impl Asked {
    fn read(args: &GateArgs) -> Result<Self, Problem> {
        let file = args.config.as_deref().map(config::read).transpose()?.unwrap_or_default();
        let limits = file.limits.replaced_by(&args.limits);
        let baseline = args.baseline.clone().or(file.baseline);
        let limits_losses = limits.requirements.iter().any(|(row, _)| row.id == "max-lost");
        refuse(&limits.rules, baseline.is_some(), limits_losses)?;
        if let Some(path) = &args.junit {
            files::refuse(path, args.show.force)?;
        }
        let requirements = limits.requirements()?;
        let max_age = args.max_age.or(file.max_age);
        Ok(Self { rules: limits.rules, requirements, baseline, max_age })
    }
}

pub fn run(args: &GateArgs) -> Result<ExitCode, Problem> {
    if let Some(style) = args.style {
        return Ok(style.print(Asked::read(args).and_then(|asked| {
            let (gate, _, age) = judge(args, asked, &|_| {})?;
            Ok((gate, age))
        })));
    }
    let asked = Asked::read(args)?;
    let mut printer = args.show.printer()?;
    let (gate, recordings, _) = judge(args, asked, &|problem| {
        exit::print_error(problem);
    })?;
    let recordings: Vec<&Recording> = recordings.iter().collect();
    let code = printer.print(&Found::from_value(&GATE, gate, &recordings), None)?;
    printer.finish()?;
    // What could not be read keeps all rules from passing.
    Ok(ExitCode::from(code))
}

/// Prints what is wrong with this command line in the style that it asks for, and returns the exit code; absent if it asks
/// for none.
pub(crate) fn refused(error: &Error, command: &Command, typed: &[OsString]) -> Option<ExitCode> {
    let style = Style::typed(typed)?;
    let why = mistake::explained(error, command, typed);
    let why = why.strip_prefix("anechoic: ").unwrap_or(&why);
    Some(style.print(Err(ProblemKind::Usage.problem(why, ""))))
}

/// Judges the recordings, and writes the files for continuous integration. What cannot be read is also reported.
fn judge(
    args: &GateArgs,
    asked: Asked,
    report: &dyn Fn(&Problem),
) -> Result<(Gate, Vec<Recording>, Option<Age>), Problem> {
    let Asked { rules, requirements, baseline, max_age } = asked;
    let inputs = match args.style.is_some() || max_age.is_some() {
        true => args.input.open_newest()?,
        false => args.input.open()?,
    };
    let age = max_age.map(|most| Age::read(&inputs.recordings, most)).transpose()?;
    let baseline = baseline.as_ref().map(sides::open).transpose()?;
    sides::refuse_overlap(baseline.iter().chain([&inputs]))?;
    let sides = baseline.iter().chain([&inputs]);
    let mut unread: Vec<Problem> =
        sides.flat_map(|side| &side.unread).map(|(_, problem)| problem.clone()).collect();
    let busy = Busy::with("judging", false);
    let mut examined: Vec<(&Recording, Examined)> = vec![];
    for recording in &inputs.recordings {
        let mut show =
            |progress: anechoic_analyze::Progress| busy.show(progress.read, progress.expected);
        match examine(recording, &rules, &requirements, &mut show) {
            Ok(result) => examined.push((recording, result)),
            Err(problem) if problem.kind == ProblemKind::Usage => return Err(problem),
            Err(problem) => unread.push(problem),
        }
    }
    let compared = match &baseline {
        Some(baseline) if !examined.is_empty() => match with_baseline(baseline, &examined) {
            Err(problem) if problem.kind == ProblemKind::Data => {
                unread.push(problem);
                None
            }
            compared => Some(compared?),
        },
        _ => None,
    };
    let (judged, examined): (Vec<&Recording>, Vec<Examined>) = examined.into_iter().unzip();
    let judged: Vec<PathBuf> = judged.iter().map(|recording| recording.dir().to_owned()).collect();
    drop(busy);
    unread.iter().for_each(report);
    let unread = unread.iter().map(Problem::to_string).collect();
    let gate = conclude(examined, &rules, requirements, compared.as_ref(), unread);
    if let Some(path) = &args.junit {
        files::write_whole(path, args.show.force, |out| {
            Ok(out.write_all(gate_junit(&gate).as_bytes())?)
        })?;
    }
    if let Some(path) = &args.markdown {
        append(path, &gate_markdown(&gate))?;
    }
    let mut recordings = inputs.recordings;
    recordings.retain(|recording| judged.iter().any(|dir| dir == recording.dir()));
    Ok((gate, recordings, age))
}

/// Refuses limits of which nothing can come.
fn refuse(rules: &[Rule], has_baseline: bool, limits_losses: bool) -> Result<(), Problem> {
    let compares = rules.iter().any(|rule| rule.row.needs_baseline());
    let (why, remedy) = match (rules, compares, has_baseline) {
        ([], _, false) if limits_losses => (
            "--max-lost is no rule: it limits how many events may be lost",
            "limit lost time with --max-noise 5%",
        ),
        ([], _, false) => (
            "no rule is given, so nothing could fail",
            "set a limit, for example --max-noise 1%, or name a file of rules (--config)",
        ),
        (_, true, false) => {
            ("--max-increase needs runs to compare with", "name them with --baseline")
        }
        (_, false, true) => {
            ("nothing is compared with the baseline", "set a limit: --max-increase 10%")
        }
        _ => return Ok(()),
    };
    Err(ProblemKind::Usage.problem(why, remedy))
}

/// Compares the recordings with those of the baseline.
fn with_baseline(
    baseline: &Inputs,
    examined: &[(&Recording, Examined)],
) -> Result<Comparison, Problem> {
    let after: Vec<&Recording> = examined.iter().map(|(recording, _)| *recording).collect();
    let summaries_after = examined.iter().map(|(recording, result)| {
        let why = "it shows no lost time that could be compared with a baseline";
        let remedy =
            "limit what it shows (--max-detour, --max-wakeup), or measure with `anechoic run`";
        let refused = || ProblemKind::Usage.problem(why, remedy).about(recording.dir().display());
        result.summary.clone().ok_or_else(refused)
    });
    let summaries_after = summaries_after.collect::<Result<Vec<Summary>, _>>()?;
    let before: Vec<&Recording> = baseline.recordings.iter().collect();
    let summaries_before =
        before.iter().map(|recording| summarize(recording)).collect::<Result<Vec<Summary>, _>>()?;
    let names = ["the baseline".to_owned(), "these runs".to_owned()];
    compare(
        names,
        [&runs(&before, &summaries_before), &runs(&after, &summaries_after)],
        Beside::default(),
    )
}

/// Appends a text to a file. What stands there stays: a job has one summary for all of its steps. Root follows no link of
/// another user, and writes nothing where another user could put one.
pub(crate) fn append(path: &Path, text: &str) -> Result<(), Problem> {
    let written = open_to_append(path).and_then(|mut file| file.write_all(text.as_bytes()));
    written.map_err(|error| Problem::unwritable(path, &error))
}

fn open_to_append(path: &Path) -> io::Result<File> {
    let behind = follow(path)?;
    verify_place(behind.parent().unwrap_or(&behind))?;
    OpenOptions::new().append(true).create(true).open(path)
}
