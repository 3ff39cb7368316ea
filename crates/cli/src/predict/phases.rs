//! `anechoic predict phases`

use crate::ask;
use crate::progress::Busy;
use crate::terminal;
use anechoic_predict::phases::{Ask, BUDGET, MOST_RANKS, Noise, predict};
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

/// What noise costs a bulk-synchronous parallel job, on more ranks than there are CPUs here
///
/// A phase of the job ends when its slowest rank does. From recordings of `anechoic run`, each a host: the slowdown
/// for each grain (the work between two synchronisations) and number of ranks, how sure that is, and which source of
/// noise costs most of it. Also from text files of detours: start_ns, a tab, duration_ns.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct PhasesArgs {
    /// Recordings, directories of recordings, or text files
    #[arg(required = true)]
    recordings: Vec<PathBuf>,
    /// Work between two synchronisations, without noise; a list
    #[arg(long, value_parser = ask::duration, value_delimiter = ',', value_name = "TIME", default_value = "100us,1ms,10ms", allow_hyphen_values = true)]
    grain: Vec<Duration>,
    /// Numbers of ranks: a list like 1,64,1e5, or decades like 1..1e7
    #[arg(long, value_parser = ranks, value_name = "LIST", default_value = "1..1e7", allow_hyphen_values = true)]
    ranks: Ranks,
    /// How long was measured, for text files that do not tell
    #[arg(long, value_parser = ask::duration, value_name = "TIME", allow_hyphen_values = true)]
    length: Option<Duration>,
    /// Seed of all that is drawn: the same seed gives the same figures
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Steps that the recursion may take for one grain and number of ranks
    #[arg(long, value_name = "N", default_value_t = BUDGET)]
    budget: u64,
    /// Print JSON (schema/phases.schema.json)
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "Examples:
  anechoic run -d 60s -o noise && anechoic predict phases noise
  anechoic predict phases node01 node02 --grain 500us --ranks 1..1e6
  anechoic predict phases detours.txt --length 10s --json | jq '.grains[].cells[].recursion.slowdown'";

/// Numbers of ranks, rising.
#[derive(Debug, Clone, PartialEq)]
struct Ranks(Vec<u64>);

pub(super) fn run(args: &PhasesArgs) -> anyhow::Result<ExitCode> {
    let ns = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
    let ask = Ask {
        grains_ns: args.grain.iter().copied().map(ns).collect(),
        ranks: args.ranks.0.clone(),
        seed: args.seed,
        budget: args.budget,
    };
    let busy = Busy::with("predicting", false);
    let noise = Noise::read(&args.recordings, args.length.map(ns))?;
    let model = predict(&noise, &ask)?;
    drop(busy);
    let mut out = terminal::stdout();
    if args.json {
        anechoic_report::json(&model, &mut out)?;
    } else {
        let view = terminal::view(None);
        anechoic_report::phases(&model, &view).write(&view, &mut out)?;
    }
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

/// Parses numbers and ranges of ranks; a range goes from decade to decade and ends at its end.
fn ranks(text: &str) -> Result<Ranks, String> {
    let mut ranks = Vec::new();
    for part in text.split(',') {
        match part.split_once("..") {
            None => ranks.push(number(part)?),
            Some((first, last)) => {
                let (mut next, last) = (number(first)?, number(last)?);
                if next > last {
                    return Err(format!("'{part}' goes backwards; write a range like 1..1e7"));
                }
                while next < last {
                    ranks.push(next);
                    next *= 10;
                }
                ranks.push(last);
            }
        }
    }
    ranks.sort_unstable();
    ranks.dedup();
    Ok(Ranks(ranks))
}

fn number(text: &str) -> Result<u64, String> {
    let text = text.trim();
    let whole = |number: &f64| number.fract() == 0.0 && (1.0..=MOST_RANKS as f64).contains(number);
    let number = text.parse::<f64>().ok().filter(whole);
    number.map(|number| number as u64).ok_or_else(|| {
        format!("'{text}' is no number of ranks; write one from 1 to {MOST_RANKS}, like 64 or 1e5")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_ranks() {
        let cases: [(&str, &[u64]); 6] = [
            ("1..1e3", &[1, 10, 100, 1_000]),
            ("64", &[64]),
            ("1e5, 8", &[8, 100_000]),
            ("5..2000", &[5, 50, 500, 2_000]),
            ("1..10,10..100", &[1, 10, 100]),
            ("1e9..1e9", &[1_000_000_000]),
        ];
        for (text, expected) in cases {
            assert_eq!(ranks(text), Ok(Ranks(expected.to_vec())), "{text}");
        }
        for bad in ["", "0", "0..10", "10..1", "1e10", "1.5", "-3", "many", "1..", "nan", "1,,2"] {
            assert!(ranks(bad).is_err(), "{bad}");
        }
    }
}
