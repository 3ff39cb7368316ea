//! `anechoic compare`

use crate::ask;
use crate::progress::Busy;
use crate::show::ShowArgs;
use crate::sides::{PageArgs, Sides};
use anechoic_analyze::compare::{ComparedRun, compare};
use anechoic_analyze::{Summary, summarize};
use anechoic_recording::{Problem, Recording};
use anechoic_report::results::Found;
use anechoic_report::results::compare::{COMPARE, job_costs};
use std::process::ExitCode;
use std::time::Duration;

/// Did the noise change? Compare runs before and after, with a verdict, its interval, and the sources that changed
///
/// Each side is a directory of repeated runs (`anechoic run --repeat 5 -o before`), or recordings separated by commas.
/// The verdict comes from the variation between runs. With one run on a side there is none, only whether the two
/// recordings differ. If the runs of both sides alternate in time, neighbours are compared in pairs, so that drift of the
/// host does not look like a change. In a guest, time below the kernel is a control: if it moved, the verdict is
/// "unproven".
#[derive(Debug, clap::Args)]
#[command(
    mut_arg("json", |arg| arg.help("Print JSON (schema/compare.schema.json)")),
    after_help = "Examples:\n  anechoic run --repeat 5 -d 5s -o before\n  sysctl kernel.numa_balancing=0\n  \
                  anechoic run --repeat 5 -d 5s -o after\n  anechoic compare before after --html change.html\n  \
                  anechoic compare a1,a2,a3 b1,b2,b3 --ranks 1000 --grain 1ms   # and what it is worth for a job\n\n\
                  Exits with 0 if there is a verdict, also that no change is shown, with 3 if there is none (one run on a \
                  side, or the control moved), and with 1 if a recording is not complete."
)]
pub struct CompareArgs {
    /// Runs before the change
    #[arg(value_name = "BEFORE")]
    before: String,
    /// Runs after the change
    #[arg(value_name = "AFTER")]
    after: String,
    /// Predict the cost for a job of this many ranks from each run
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    ranks: Option<u64>,
    /// Undisturbed time between two synchronisations of that job
    #[arg(long, value_name = "TIME", value_parser = ask::duration, default_value = "1ms", requires = "ranks")]
    grain: Duration,
    #[command(flatten)]
    page: PageArgs,
    #[command(flatten)]
    show: ShowArgs,
}

pub fn run(args: &CompareArgs) -> Result<ExitCode, Problem> {
    args.page.refuse(args.show.force)?;
    let mut printer = args.show.printer()?;
    let named = [args.before.clone(), args.after.clone()];
    let sides = Sides::open(&named)?;
    sides.refuse_overlap()?;
    let worst = sides.report_unread();
    let busy = Busy::with("comparing", false);
    let recordings = |at: usize| sides.inputs[at].recordings.iter().collect::<Vec<&Recording>>();
    let [before, after] = [recordings(0), recordings(1)];
    let all = before.len() + after.len();
    let mut done = 0;
    let mut summaries = |side: &[&Recording]| -> Result<Vec<Summary>, Problem> {
        let one = |recording: &&Recording| {
            busy.show(done, all as u64);
            done += 1;
            summarize(recording)
        };
        side.iter().map(one).collect()
    };
    let summaries = [summaries(&before)?, summaries(&after)?];
    let grain_ns = u64::try_from(args.grain.as_nanos()).unwrap_or(u64::MAX);
    let job = args.ranks.map(|ranks| job_costs([&before, &after], ranks, grain_ns)).transpose()?;
    let [first, second] = <[String; 2]>::try_from(sides.names()).unwrap_or_default();
    let compared = compare(
        [first, second],
        [&runs(&before, &summaries[0]), &runs(&after, &summaries[1])],
        job.as_ref(),
    )?;
    drop(busy);
    let found = Found::of(&COMPARE, compared, &[before, after].concat());
    let code = printer.print(&found, None)?;
    printer.finish()?;
    args.page.write(found, args.show.force)?;
    Ok(ExitCode::from(worst.max(code)))
}

/// Pairs recordings with their summaries.
pub(crate) fn runs<'a>(
    recordings: &[&'a Recording],
    summaries: &'a [Summary],
) -> Vec<ComparedRun<'a>> {
    let pairs = recordings.iter().zip(summaries);
    pairs.map(|(of, summary)| ComparedRun { run: of.run(), summary }).collect()
}
