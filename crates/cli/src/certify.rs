//! `anechoic certify`: was the machine quiet enough for a benchmark?

mod counted;

use crate::ask::{self, CpuList};
use crate::files::is_used;
use crate::gate::append;
use crate::record::repeat::announce;
use crate::record::started::Started;
use crate::run::{run_dir, summarized};
use crate::setup::{Place, explained, measure_as, plan};
use crate::show::Printer;
use crate::{command, exit, files, stop};
use anechoic_analyze::certificate::{Certificate, Evidence, Fitness, Limits};
use anechoic_analyze::samples::{Measured, measure};
use anechoic_analyze::{Summary, gate};
use anechoic_measure::experiment::{Experiment, Host};
use anechoic_measure::methods::detours::Detours;
use anechoic_measure::methods::find;
use anechoic_measure::run::Plan;
use anechoic_recording::options::Answers;
use anechoic_recording::{Problem, ProblemKind, methods, topology};
use anechoic_report::results::certificate::CERTIFICATE;
use anechoic_report::results::{Findings, Found};
use anechoic_report::{certificate_markdown, json};
use anechoic_system::{cpus, machine};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{ExitCode, ExitStatus};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// For how long loops watch the CPUs before the runs.
const WATCHED: Duration = Duration::from_secs(2);
/// How often the same work of 1 ms is timed before and after the runs.
const REPETITIONS: &str = "500";
/// The settings of the processor's frequency that a certificate names.
const FREQUENCY: [&str; 2] = ["cpufreq governor", "intel_pstate"];

/// Was the machine quiet enough for a benchmark? Runs it, and states what it lost and the smallest effect that it could show
///
/// The whole of each run is judged, not the moments around it: the time that others took from the command's threads. Before the
/// runs, loops watch the CPUs for two seconds; before and after them the same work is timed. Without permission to record events
/// only the time in the run queue is known: a machine may then be unfit, but not fit.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  sudo anechoic certify -- ./benchmark --its-option
  sudo anechoic certify --repeat 10 --min-effect 2% -- taskset -c 1 ./benchmark
                                              could ten runs show a slowdown of 2 %?
  anechoic certify --on-unfit warn --certificate noise.json --markdown \"$GITHUB_STEP_SUMMARY\" -- make bench

The exit code is that of the command if it fails. Otherwise it is 0 if the machine was fit; if not, --on-unfit decides:
  fail  2 if it was unfit, 3 if that is undecided
  warn  1 in both cases
  skip  0 in both cases: the certificate states it")]
pub struct CertifyArgs {
    /// How much of the time in which the command wants a CPU others may take
    #[arg(long, value_name = "PERCENTAGE", default_value = "1%", value_parser = part)]
    max_noise: f64,
    /// The smallest slowdown that as many runs on each side must show; needs --repeat 5 or more, and runs that do not depend on each other
    #[arg(long, value_name = "PERCENTAGE", value_parser = part)]
    min_effect: Option<f64>,
    /// What an unfit machine means
    #[arg(long, value_enum, default_value = "fail")]
    on_unfit: OnUnfit,
    /// Run the command N times
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=999))]
    repeat: u32,
    /// CPUs that the command uses, for example 1 or 2-5: the loops watch them [default: all that this process inherited]
    #[arg(long, short, value_parser = ask::cpu_list, value_name = "LIST")]
    cpus: Option<CpuList>,
    /// Write the certificate to this file as JSON (schema/certificate.schema.json)
    #[arg(long, value_name = "FILE")]
    certificate: Option<PathBuf>,
    /// Append it to this file as Markdown, as the summary of a job
    #[arg(long, value_name = "FILE")]
    markdown: Option<PathBuf>,
    /// Overwrite an existing file
    #[arg(long)]
    force: bool,
    /// Keep the recordings in this directory, new or empty [default: they are removed]
    #[arg(long, short, value_name = "DIR")]
    output: Option<PathBuf>,
    /// Do not record kernel events: only the time in the run queue is then known
    #[arg(long)]
    no_trace: bool,
    /// Print the certificate as JSON, to stderr (--certificate writes a file, which the command's messages cannot reach)
    #[arg(long)]
    json: bool,
    /// Show no progress, and the certificate as one line
    #[arg(long, short)]
    quiet: bool,
    /// Command to run, with all processes that it starts
    #[arg(trailing_var_arg = true, value_name = "COMMAND", required = true)]
    command: Vec<String>,
}

/// What an unfit machine means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum OnUnfit {
    /// Exit with 2 if it was unfit, with 3 if that is undecided
    Fail,
    /// Exit with 0: the certificate states it, and what follows decides
    Skip,
    /// Exit with 1
    Warn,
}

/// Parses a percentage above 0 and up to 100, as a share.
fn part(text: &str) -> Result<f64, String> {
    let part = gate::percentage(text)?;
    match part > 0.0 && part <= 1.0 {
        true => Ok(part),
        false => Err(format!("'{text}' is not above 0% and at most 100%")),
    }
}

pub fn run(args: &CertifyArgs) -> Result<ExitCode, Problem> {
    args.refuse_files()?;
    let place = Place::choose(args.output.as_deref(), args.output.is_none())?;
    if is_used(place.dir()) {
        return Err(Problem::not_empty(place.dir()));
    }
    let cpus = args.cpus.as_ref().map_or_else(cpus::allowed, |list| list.0.clone());
    cpus::verify(&cpus)?;
    let (stop, arrived) = (stop::flag()?, stop::newest()?);
    let session = Session { args, dir: place.dir(), cpus, stop, arrived };
    let (certificate, status) = session.certify()?;
    let code = args.on_unfit.code(certificate.verdict);
    let found = Found::from_value(&CERTIFICATE, certificate.clone(), &[]);
    let printer = Printer::stderr(args.json).unsaved(args.output.is_none());
    let mut printer = printer.quiet(args.quiet && !args.json);
    printer.print(&found, Some(place.dir()))?;
    printer.finish()?;
    let written = args.write(&certificate);
    match status.filter(|status| !status.success()) {
        Some(status) => {
            if let Err(problem) = written {
                exit::print_error(&problem);
            }
            Ok(command::passed_on(status))
        }
        None => written.map(|()| ExitCode::from(code)),
    }
}

impl CertifyArgs {
    /// Refuses files that could not be written after the runs.
    fn refuse_files(&self) -> Result<(), Problem> {
        if let Some(path) = &self.certificate {
            files::refuse(path, self.force)?;
            let dir = path.parent().filter(|dir| !dir.as_os_str().is_empty());
            if let Some(dir) = dir.filter(|dir| !dir.is_dir()) {
                let why = format!("there is no directory {}", dir.display());
                return Err(ProblemKind::CannotWrite.problem(why, "make it first"));
            }
        }
        self.markdown.as_ref().map_or(Ok(()), |path| append(path, ""))
    }

    /// Writes the certificate to the files that were asked for.
    fn write(&self, certificate: &Certificate) -> Result<(), Problem> {
        if let Some(path) = &self.certificate {
            files::write_whole(path, self.force, |out| Ok(json(certificate, out)?))?;
        }
        let markdown = self.markdown.as_ref();
        markdown.map_or(Ok(()), |path| append(path, &certificate_markdown(certificate)))
    }
}

impl OnUnfit {
    fn code(self, verdict: Fitness) -> u8 {
        match (verdict, self) {
            (Fitness::Fit, _) | (_, OnUnfit::Skip) => 0,
            (_, OnUnfit::Warn) => exit::WARNING,
            (Fitness::Unfit, OnUnfit::Fail) => exit::FAILED,
            (Fitness::Undecided, OnUnfit::Fail) => exit::NO_VERDICT,
        }
    }
}

/// What is measured for one certificate.
struct Session<'a> {
    args: &'a CertifyArgs,
    dir: &'a Path,
    cpus: Vec<u32>,
    /// Set by a signal.
    stop: Arc<AtomicBool>,
    /// The number of a signal that arrived, which stays. That of the runs is passed on to the command.
    arrived: Arc<AtomicUsize>,
}

/// The runs of the command.
#[derive(Default)]
struct Runs {
    recorded: Vec<Summary>,
    counted: Vec<counted::Counted>,
    /// How the last one ended.
    status: Option<ExitStatus>,
}

impl Session<'_> {
    /// Measures, and judges; also returns how the last run ended.
    fn certify(&self) -> Result<(Certificate, Option<ExitStatus>), Problem> {
        let before = self.watch()?;
        let first = self.same_work("before")?;
        if self.is_stopped() {
            return Err(ProblemKind::NoVerdict
                .problem("a signal came before the command was run", "repeat the command"));
        }
        let runs = self.all_runs(&before)?;
        let after = (!self.is_stopped()).then(|| self.same_work("after")).transpose()?;
        let machine = machine::describe();
        let frequency = machine.settings.iter().filter_map(|setting| {
            let is_named = FREQUENCY.contains(&&*setting.name);
            Some((setting.name.clone(), setting.effective.clone()?)).filter(|_| is_named)
        });
        let status = runs.status;
        let held = runs.counted.iter().map(|run| run.held_back_ns).sum::<Option<u64>>();
        let not_visible = not_visible(&before, &runs.recorded);
        let evidence = Evidence {
            command: self.args.command.clone(),
            asked_runs: u64::from(self.args.repeat),
            before_runs: first,
            after_runs: after,
            recorded: runs.recorded,
            counted: runs.counted.into_iter().map(|run| run.run).collect(),
            held_back_ns: held,
            frequency: frequency.collect(),
            not_visible,
            before,
        };
        let limits = Limits { max_noise: self.args.max_noise, min_effect: self.args.min_effect };
        Ok((Certificate::new(evidence, limits), status))
    }

    /// Watches the CPUs before the runs.
    fn watch(&self) -> Result<Summary, Problem> {
        let plan = self.plan(Detours::lasting(WATCHED).on(self.cpus.clone()));
        let dir = self.dir.join("watched");
        self.measure("watching the CPUs", &plan, &dir)?;
        taken(&summarized(&dir, self.args.quiet)?)
    }

    /// Times the same work on all CPUs.
    fn same_work(&self, name: &str) -> Result<Measured, Problem> {
        let method = find(methods::FWQ).ok_or_else(Problem::called_off)?;
        let given = [("repetitions", REPETITIONS), ("grain", "1ms")];
        let answers = Answers::read(&method.all_options(), &given)?;
        let host = Host { cpus: self.cpus.clone(), machine: machine::describe() };
        let plan = Plan { trace: false, ..self.plan((method.experiment)(&answers, &host)?) };
        let dir = self.dir.join(name);
        self.measure(&format!("timing the same work {name} the runs"), &plan, &dir)?;
        measure(&explained(&dir, true)?)
    }

    fn is_stopped(&self) -> bool {
        self.arrived.load(Ordering::Acquire) != 0
    }

    fn plan(&self, experiment: Experiment) -> Plan {
        Plan { trace: !self.args.no_trace, ..plan(experiment) }
    }

    fn measure(&self, what: &str, plan: &Plan, dir: &Path) -> Result<(), Problem> {
        measure_as(what.to_owned(), plan, dir, &self.stop, self.args.quiet)
    }

    /// Runs the command as often as asked, up to the first run that fails.
    fn all_runs(&self, before: &Summary) -> Result<Runs, Problem> {
        let (mut runs, all) = (Runs::default(), self.args.repeat);
        let (signal, begun) = (stop::newest()?, Instant::now());
        let is_recorded = before.run.traced;
        for number in 1..=all {
            if all > 1 && !self.args.quiet && !self.args.json {
                announce(number, all, begun); // JSON goes to the same stream
            }
            let arrived = Arc::clone(&self.arrived);
            let started = Started::new(&self.args.command, Arc::clone(&signal), Some(arrived));
            let dir = run_dir(self.dir, number);
            let counted = match is_recorded {
                true => {
                    runs.status = started.record(&self.recording(number), &dir, None)?;
                    None
                }
                false => {
                    let (run, status) = counted::run(started)?;
                    runs.status = status;
                    Some(run)
                }
            };
            // A run that failed, or that a signal reached, is no sample of the others.
            if self.is_stopped() || runs.status.is_some_and(|status| !status.success()) {
                break;
            }
            match counted {
                Some(run) => runs.counted.push(run),
                None => runs.recorded.push(taken(&summarized(&dir, self.args.quiet)?)?),
            }
        }
        Ok(runs)
    }

    /// Returns how to record a run.
    fn recording(&self, number: u32) -> Plan {
        let plan = plan(Experiment::listed(methods::PROGRAM, vec![]));
        Plan { program_cpus: cpus::online(), repetition: Some((number, self.args.repeat)), ..plan }
    }
}

/// Returns the summary among these.
fn taken(found: &Findings) -> Result<Summary, Problem> {
    let summary = found.iter().find_map(Found::get::<Summary>);
    summary.cloned().ok_or_else(|| {
        ProblemKind::NoVerdict.problem("a recording has no result", "repeat the command")
    })
}

/// Returns whether interrupts were recorded whose entry and exit are of unknown length.
fn lacks_edges(summary: &Summary) -> bool {
    summary.interrupts.as_ref().is_some_and(|found| found.count > 0 && found.edges.is_none())
}

/// Returns the CPUs on which the command wanted to run, and that are not among these, in order.
fn unwatched(watched: &[u32], recorded: &[Summary]) -> Vec<u32> {
    let cpus = recorded.iter().flat_map(|summary| &summary.cpus);
    let used = cpus.filter(|noise| noise.wall_ns > 0 && !watched.contains(&noise.cpu));
    used.map(|noise| noise.cpu).collect::<BTreeSet<_>>().into_iter().collect()
}

/// Returns what of the runs was not visible.
fn not_visible(before: &Summary, recorded: &[Summary]) -> Vec<String> {
    let mut texts = vec![];
    if !before.run.traced {
        texts.push(
            "what interrupted the command: without kernel events only its time in the run queue is known, of one thread, so that \
             no machine can be shown to be fit (`anechoic check` shows what gives the permission)"
                .to_owned(),
        );
    }
    if recorded.iter().any(lacks_edges) {
        texts.push(
            "entry and exit of interrupts: the loops before the runs saw too few interrupts to tell how long these take, so that \
             nothing bounds the lost time; repeat the command on a calmer machine"
                .to_owned(),
        );
    }
    let unwatched = unwatched(&before.run.cpus, recorded);
    if !unwatched.is_empty() {
        texts.push(format!(
            "how long entry and exit of interrupts take on CPU {}, where the command ran too: the loops did not watch it, and the \
             bound takes the time from those that they watched (--cpus)",
            topology::list(&unwatched)
        ));
    }
    if before.run.hypervisor.is_some() {
        texts.push(
            "what the hypervisor took without reporting it; the loops before the runs would see it as `unknown`"
                .to_owned(),
        );
    }
    texts.push(
        "what slows a program without interrupting it, such as a shared cache or memory bus"
            .to_owned(),
    );
    texts
}
