//! `anechoic measure serial`: what interrupts cost a sort, and copies of it.

use crate::ask;
use crate::exit::Usage;
use crate::setup::{SetupArgs, record};
use crate::show::recorded;
use crate::stop;
use anechoic_measure::methods::serial::Serial;
use anechoic_measure::run::Task;
use std::process::ExitCode;
use std::time::Duration;

/// The serial tick model: what interrupts cost a sort, at several rates of added ones, for one and more copies
///
/// On one CPU: null system calls, a watched loop for the parts of an interrupt, and sorts of an array that fills
/// half of the L2 cache. Shows the model of it; `anechoic predict ticks` does that of a recording.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  anechoic measure serial                             about a minute on the last CPU\n  anechoic measure serial --rates none,1khz,10khz --copies 1 --cpus 1",
    mut_arg("cpus", |arg| arg.help("The one CPU to measure [default: the last that this process may use]"))
)]
pub struct SerialArgs {
    /// Rates of the interrupts that are added, and `none`, measured by turns
    #[arg(long, value_parser = rate, value_delimiter = ',', value_name = "RATE", default_values = ["none", "500hz", "1khz", "2khz", "5khz", "10khz"], allow_hyphen_values = true)]
    rates: Vec<Rate>,
    /// How many copies of the sort run at once, measured by turns
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=MOST_COPIES), value_delimiter = ',', value_name = "N", default_values_t = Serial::COPIES.iter().copied())]
    copies: Vec<u32>,
    /// How often all of it is gone through, each time in another order
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=MOST_BLOCKS), value_name = "N", default_value_t = Serial::BLOCKS)]
    blocks: u32,
    /// How long the sorts of one rate and number of copies last in one block [default: 300ms]
    #[arg(long, value_parser = ask::duration, value_name = "TIME", allow_hyphen_values = true)]
    sort_time: Option<Duration>,
    /// Print JSON (schema/ticks.schema.json)
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    setup: SetupArgs,
}

/// Copies on one CPU, at most.
const MOST_COPIES: i64 = 64;
/// Blocks, at most.
const MOST_BLOCKS: i64 = 10_000;

/// Time from one added interrupt to the next; none where nothing is added.
#[derive(Debug, Clone, Copy)]
struct Rate(Option<Duration>);

/// Parses a rate or `none`.
fn rate(text: &str) -> Result<Rate, String> {
    match text.trim() {
        "none" => Ok(Rate(None)),
        text => ask::rate(text).map(|period| Rate(Some(period))),
    }
}

pub fn run(args: &SerialArgs) -> anyhow::Result<ExitCode> {
    if args.setup.no_trace {
        let text = "what an interrupt costs directly is known from kernel events only; leave --no-trace out";
        return Err(Usage(text.to_owned()).into());
    }
    let cpu = one_cpu(&args.setup)?;
    let mut copies = args.copies.clone();
    copies.sort_unstable();
    copies.dedup();
    let usual = Serial::of(cpu, &periods(&args.rates)?);
    let sort_time = args.sort_time.unwrap_or(usual.sort_time);
    let serial = Serial { copies, blocks: args.blocks, sort_time, ..usual };
    for injection in serial.rates.iter().flatten() {
        injection.check(false)?;
    }
    let plan = args.setup.plan(vec![cpu], Task::Serial(serial));
    let (stop, dir) = (stop::flag()?, args.setup.dir());
    record(&plan, &dir, &stop, args.setup.quiet)?;
    recorded(&dir, args.json, false, args.setup.quiet)
}

/// The periods in the order of their rates, each once.
fn periods(rates: &[Rate]) -> Result<Vec<Option<Duration>>, Usage> {
    let mut periods: Vec<Option<Duration>> = rates.iter().map(|rate| rate.0).collect();
    periods.sort_by_key(|period| period.map(std::cmp::Reverse));
    periods.dedup();
    if periods.len() < 2 {
        let text = "one rate tells nothing of what interrupts cost; ask for two or more, like --rates none,1khz";
        return Err(Usage(text.to_owned()));
    }
    Ok(periods)
}

/// The one CPU that was asked for, else the last that this process may use.
fn one_cpu(setup: &SetupArgs) -> Result<u32, Usage> {
    let one = match (setup.asked_cpus(), setup.cpus().pop()) {
        (Some([cpu]), _) => Some(*cpu),
        (None, last) => last,
        (Some(_), _) => None,
    };
    let text = "this measures one CPU; name one, like --cpus 1";
    one.ok_or_else(|| Usage(text.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_in_order_and_each_once() {
        let khz = |n: u64| Some(Duration::from_micros(1_000 / n));
        let cases: [(&str, &[&str], Option<Vec<_>>); 5] = [
            ("none first", &["1khz", "none", "10khz"], Some(vec![None, khz(1), khz(10)])),
            ("twice", &["1000hz", "none", "1khz"], Some(vec![None, khz(1)])),
            ("without none", &["2khz", "1khz"], Some(vec![khz(1), khz(2)])),
            ("one only", &["1khz", "1khz"], None),
            ("none only", &["none"], None),
        ];
        for (name, texts, expected) in cases {
            let rates: Vec<Rate> = texts.iter().map(|text| rate(text).expect(text)).collect();
            assert_eq!(periods(&rates).ok(), expected, "case: {name}");
        }
        for bad in ["", "nothing", "0hz", "-1khz", "1000"] {
            assert!(rate(bad).is_err(), "{bad}");
        }
    }
}
