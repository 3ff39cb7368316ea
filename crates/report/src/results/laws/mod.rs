//! The laws of noise of one delay: probability and slowdown against the number of ranks, and where they are linear.

use super::described::{Grouping, Section};
use super::row::{Print, Row};
use super::{Input, Model};
use crate::picture::{Axis, Chart, Curve, Draw, Quantity, ROWS};
use crate::screen::Screen;
use crate::style::View;
use crate::table::Table;
use crate::units::{asked, count, fine, share, slowdown};
use anechoic_predict::laws::{GrainLaws, LINEAR_ERROR, Laws, OPTIONS, Observed, RankLaws, laws};
use anechoic_recording::{Problem, ProblemKind};

/// The row of the result.
pub(crate) static LAWS: Row<Laws> = Row {
    compute: Some(compute),
    headline,
    section: Some(Section { anchor: "laws", title: "Laws of noise of one delay", short: "Laws" }),
    model: Some(Model {
        about: "Noise of one delay on any number of ranks: how likely a phase is delayed, and what that costs (Tsafrir 2007)",
        details: DETAILS,
        examples: EXAMPLES,
        inputs: "A recording of loops or detours, from which D and the time between two delays are taken",
        needs_no_recording: true,
        instead: &["delay", "every"],
        options: OPTIONS,
        ..Model::NEW
    }),
    print: Some(Print::with(screen)),
    ..Row::new("laws", "laws of noise of one delay", Grouping::Live)
};

const DETAILS: &str = "Each rank is delayed by D once in a given time, independently of the others; both are given, or taken from a recording: from \
the samples of loops that are clearly slower than the others, or from detours. Prints the probability d_p(n) = 1 − (1 − p)^n that a phase of n ranks is delayed, its linear and exponential forms and where the \
linear one holds, and the slowdown 1 + d_p(n)·D/G for grains G. `predict phases` computes the slowdown from the delays of a \
recording.";

const EXAMPLES: &str = "Examples:
  anechoic predict laws                                    a delay of 1 ms every 10 s (Figure 9 of the paper)
  anechoic predict laws --every 1ms --delay 20us --grain 100us,1ms --ranks 1..1e4   ticks at 1,000 Hz
  anechoic predict laws loops-recording --grain 1us,1ms    what `anechoic measure loops` saw (Section 4.3 of the paper)
  anechoic predict laws --json | jq '.grains[].linear_up_to'";

fn compute(input: &Input<'_>) -> Result<Laws, Problem> {
    if let [_, other, ..] = input.recordings {
        let why = "delays are taken from one recording";
        let remedy = "name one; `anechoic predict phases` takes several hosts";
        return Err(ProblemKind::Usage.problem(why, remedy).about(other.dir().display()));
    }
    let observed = input.recordings.first().copied().map(Observed::from_recording).transpose()?;
    laws(&*input.answers(OPTIONS)?, observed)
}

fn headline(found: &Laws) -> Vec<String> {
    found.grains.iter().map(sentence).collect()
}

fn sentence(laws: &GrainLaws) -> String {
    let linear = match laws.linear_up_to {
        0 => "the linear law holds for no number of ranks".to_owned(),
        1 => "the linear law holds for one rank only".to_owned(),
        ranks => format!(
            "up to {} ranks the linear law holds within about {}",
            count(ranks),
            share(LINEAR_ERROR)
        ),
    };
    format!(
        "Grain {}: a phase of one rank is delayed with p = {}; {linear}; with many ranks the slowdown approaches {}.",
        asked(laws.grain_ns),
        probability(laws.p),
        slowdown(laws.limit),
    )
}

/// Shows the laws.
fn screen(found: &Laws, _: &View<'_>) -> Screen {
    let mut screen = Screen::default();
    screen.in_terminal(|terminal| terminal.heading("laws of noise of one delay (Tsafrir 2007)"));
    add_delays(found, &mut screen);
    screen.gap();
    // The page opens with these sentences.
    screen.in_terminal(|terminal| {
        headline(found).iter().for_each(|text| terminal.headline(text));
    });
    add_tables(found, &mut screen);
    charts(found).into_iter().for_each(|(chart, caption)| screen.picture(chart, caption));
    screen
}

/// Adds the delay, the time between two, and where they are from.
pub(crate) fn add_delays(found: &Laws, screen: &mut Screen) {
    let (delay, every) = times(found);
    screen.context(&format!(
        "a delay D of {delay} on each rank every {every}, independently of the other ranks"
    ));
    if let Some(observed) = &found.observed {
        screen.context(&origin(observed));
    }
    if !found.too_long_ns.is_empty() {
        let grains: Vec<String> = found.too_long_ns.iter().map(|&ns| asked(ns)).collect();
        screen.context(&format!(
            "left out, because several delays fall into one phase: grain {}",
            grains.join(", ")
        ));
    }
}

/// Returns the delay and the time between two, exact if they were given.
fn times(found: &Laws) -> (String, String) {
    match found.observed {
        Some(_) => (fine(found.delay_ns as f64), fine(found.every_ns as f64)),
        None => (asked(found.delay_ns), asked(found.every_ns)),
    }
}

/// Returns where the delay and the time between two are from.
fn origin(observed: &Observed) -> String {
    let Observed { recording, method, .. } = observed;
    let delays = count(observed.delays);
    match observed.samples {
        Some(samples) => {
            let samples = count(samples);
            format!(
                "their means in {recording}: {delays} of {samples} samples of {method} were delayed"
            )
        }
        None => format!("their means in {recording}: {delays} detours"),
    }
}

/// Adds the slowdown for all grains, and the laws of each.
fn add_tables(found: &Laws, screen: &mut Screen) {
    screen.section("slowdown 1 + d·D/G by number of ranks and grain");
    screen.table(surface(found));
    for grain in &found.grains {
        screen.section(&format!("grain {}: p = {}", asked(grain.grain_ns), probability(grain.p)));
        screen.table(table(grain));
    }
    screen.note(
        "d = 1 − (1 − p)^n; linear forms p·n and 1 + n·D/time between delays, marked ! where p > 1/(10n): there they may be \
         more than 5 % too large",
    );
}

/// Returns the slowdown for every grain and number of ranks.
fn surface(found: &Laws) -> Table {
    let grains: Vec<String> = found.grains.iter().map(|grain| asked(grain.grain_ns)).collect();
    let heads: Vec<&str> =
        std::iter::once("ranks").chain(grains.iter().map(String::as_str)).collect();
    let mut table = Table::numeric(&heads).captioned("Slowdown by number of ranks and grain");
    let rows = found.grains.first().map_or(&[][..], |grain| &grain.ranks);
    for (at, row) in rows.iter().enumerate() {
        let slowdowns = found.grains.iter().map(|grain| slowdown(grain.ranks[at].slowdown));
        table.row(std::iter::once(count(row.ranks)).chain(slowdowns).collect());
    }
    table
}

fn table(laws: &GrainLaws) -> Table {
    let linear = |law: &RankLaws, text: String| text + if law.linear_holds { "  " } else { " !" };
    Table::with_rows(&laws.ranks)
        .number("ranks n", |law| count(law.ranks))
        .number("d", |law| probability(law.probability))
        .number("1−e^(−pn)", |law| probability(law.exponential))
        .number("pn  ", |law| linear(law, probability(law.linear)))
        .number("slowdown", |law| slowdown(law.slowdown))
        .number("linear  ", |law| linear(law, slowdown(law.linear_slowdown)))
        .captioned("Probability of a delay and slowdown")
}

/// Writes a probability as a number with three digits, a small one as a multiple of a power of ten; the linear form may
/// exceed 1.
fn probability(probability: f64) -> String {
    match probability {
        _ if probability >= 100.0 => format!("{probability:.0}"),
        _ if probability >= 0.000_099_95 => {
            // The digits of the number as it is written: 0.09996 is 0.100.
            let rounded = format!("{probability:.2e}").parse().unwrap_or(probability);
            let decimals = (2.0 - f64::log10(rounded).floor()).clamp(0.0, 6.0) as usize;
            format!("{probability:.decimals$}")
        }
        _ if probability > 0.0 => format!("{probability:.2e}"),
        _ => "0".into(),
    }
}

/// Returns probability and slowdown against the number of ranks, with their captions.
pub(crate) fn charts(found: &Laws) -> Vec<(Chart, String)> {
    let Some(first) = found.grains.first() else { return vec![] };
    let (delay, every) = times(found);
    let grain = asked(first.grain_ns);
    let probability = format!(
        "Probability that a phase of {grain} is delayed, with one delay on each rank every {every}: exact, linear (up to 1) and \
         exponential."
    );
    let slowdown = format!(
        "Slowdown by number of ranks and grain, with a delay of {delay} on each rank every {every}."
    );
    vec![(probabilities(first), probability), (slowdowns(found), slowdown)]
}

fn ranks_axis() -> Axis {
    Axis::log("ranks", Quantity::Count)
}

fn probabilities(laws: &GrainLaws) -> Chart {
    let curve = |number: usize, name: &str, letter: char, value: fn(&RankLaws) -> f64| {
        by_ranks(laws, number, name.into(), value).lettered(Some(letter))
    };
    let curves = vec![
        curve(0, "1 − (1 − p)^n", 'd', |law| law.probability),
        curve(1, "p·n", 'l', |law| law.linear.min(1.0)),
        curve(2, "1 − e^(−pn)", 'e', |law| law.exponential),
    ];
    let grain = asked(laws.grain_ns);
    Chart::new(ranks_axis(), Axis::log("probability", Quantity::Number), curves)
        .titled(format!("probability that a phase is delayed, grain {grain}"), ROWS)
        .named("probability")
}

fn slowdowns(found: &Laws) -> Chart {
    let letters = ('a'..='z').map(Some).chain(std::iter::repeat(None));
    let mut curves: Vec<Curve> = vec![];
    for ((number, laws), letter) in found.grains.iter().enumerate().zip(letters) {
        let name = format!("grain {}", asked(laws.grain_ns));
        curves.push(by_ranks(laws, number, name, |law| law.slowdown).lettered(letter));
    }
    let all = curves.iter().flat_map(|curve| curve.y.clone()).chain([1.0]);
    let y = Axis::linear("slowdown", Quantity::Number).over(all).rounded(5);
    Chart::new(ranks_axis(), y, curves)
        .titled("slowdown by number of ranks", ROWS)
        .named("slowdown")
}

/// Returns a line of a value against the number of ranks.
fn by_ranks(laws: &GrainLaws, number: usize, name: String, value: fn(&RankLaws) -> f64) -> Curve {
    let points: Vec<(f64, f64)> =
        laws.ranks.iter().map(|law| (law.ranks as f64, value(law))).collect();
    Curve::numbered(number, name, Draw::Line, &points)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn probabilities_have_three_digits() {
        let cases = [
            (0.0, "0"),
            (0.000_032, "3.20e-5"),
            (0.000_099_96, "0.000100"),
            (0.000_1, "0.000100"),
            (0.099_96, "0.100"),
            (0.5, "0.500"),
            (9.996, "10.0"),
            (123.4, "123"),
        ];
        for (value, expected) in cases {
            assert_eq!(probability(value), expected, "{value}");
        }
    }
}
