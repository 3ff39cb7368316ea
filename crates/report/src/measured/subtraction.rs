//! What is left of the samples when what the kernel did in them is taken out.

use crate::measured::names::{Named, shown, words};
use crate::names::source_name;
use crate::picture::{Axis, Chart, Curve, Draw, Quantity, ROWS};
use crate::screen::Screen;
use crate::style::{View, capital, clip};
use crate::table::Table;
use crate::units::{count, fine, share};
use anechoic_analyze::facts::Facts;
use anechoic_analyze::samples::Measured;
use anechoic_analyze::samples::subtraction::{
    Ground, Left, Measure, Paced, SourceEffect, Step, Subtraction, Taken, Verdict,
};
use anechoic_recording::methods;

/// Sources that are shown.
const SOURCES: usize = 6;
/// The widest name of a source.
const NAME: usize = 26;
/// The figure ends at this share of the raw samples: one giant would press all else flat.
const FIGURE_SHARE: f64 = 0.995;

/// What two columns hold.
const ACCOUNTED: &str =
    "accounted for: the smaller of both shares; at one pace: slow changes taken out";

/// A series with its subtraction.
pub(crate) type Of<'a> = (Named<'a>, &'a Subtraction);

/// Adds the subtraction of do-nothing loops, or of any method's series where all are to be shown.
pub(super) fn add(measured: &Measured, view: &View<'_>, screen: &mut Screen) {
    if measured.method != methods::LOOPS && !view.all {
        return;
    }
    let all = subtracted(measured, view.all);
    if all.len() > 1 {
        screen.section("is the spread accounted for?");
        screen.note(ACCOUNTED);
        screen.table(verdicts(&all));
    }
    let explained: Vec<Of<'_>> = if view.all { all } else { widest(&all).into_iter().collect() };
    for (named, subtraction) in &explained {
        one(named, subtraction, &measured.run, view, screen);
    }
}

/// The verdict on the series with the widest spread, in a sentence; it is named where it is not this one.
pub(super) fn sentence(measured: &Measured, this: u32) -> Option<String> {
    let (named, subtraction) = widest(&subtracted(measured, true))?;
    let facts = &named.result.facts;
    let whose = if facts.number == this { String::new() } else { format!(" ({})", words(facts)) };
    Some(format!("{}{whose}.", verdict(&subtraction.verdict)?))
}

/// The series that have one.
pub(crate) fn subtracted<'a>(measured: &'a Measured, all: bool) -> Vec<Of<'a>> {
    let with = |named: Named<'a>| Some((named, named.result.subtraction.as_ref()?));
    shown(measured, all).into_iter().filter_map(with).collect()
}

/// The one with the widest spread before anything is taken out, of those that are judged.
pub(crate) fn widest<'a>(all: &[Of<'a>]) -> Option<Of<'a>> {
    let spread = |(_, subtraction): &Of<'_>| {
        subtraction.verdict.p99_p1.map_or(-1.0, |accounted| accounted.raw_ns)
    };
    // The first of equals: max_by alone would give the last.
    all.iter().rev().copied().max_by(|a, b| spread(a).total_cmp(&spread(b)))
}

/// A row a series: both measures of spread, before and after.
pub(crate) fn verdicts(all: &[Of<'_>]) -> Table {
    Table::of_rows(all)
        .some_names("", 0, |(named, _)| named.letter.map(String::from))
        .name("series", |(named, _)| clip(&named.brief(), NAME))
        .some_numbers("IQR", 0, |(_, s)| Some(fine(s.verdict.iqr?.raw_ns)))
        .some_numbers("left", 0, |(_, s)| Some(fine(s.verdict.iqr?.left_ns)))
        .some_numbers("p99−p1", 0, |(_, s)| Some(fine(s.verdict.p99_p1?.raw_ns)))
        .some_numbers("left", 0, |(_, s)| Some(fine(s.verdict.p99_p1?.left_ns)))
        .some_numbers("accounted for", 0, |(_, s)| s.verdict.accounted.map(share))
        .some_numbers("at one pace", 1, |(_, s)| s.verdict.paced?.accounted.map(share))
        .some_numbers("judged", 2, |(_, s)| Some(count(s.judged)))
        .captioned("Whether the spread is accounted for")
}

/// Adds everything about one series.
fn one(
    named: &Named<'_>,
    subtraction: &Subtraction,
    run: &Facts,
    view: &View<'_>,
    screen: &mut Screen,
) {
    screen.section(&format!("what is left · {}", named.title()));
    add_steps(subtraction, run, screen);
    screen.charts(figure(named, subtraction, run));
    if !subtraction.sources.is_empty() {
        screen.gap();
        screen.table(sources(&subtraction.sources, run, view.all));
    }
}

/// Adds which samples were judged, what is left of them after each step, and the verdict.
pub(crate) fn add_steps(subtraction: &Subtraction, run: &Facts, screen: &mut Screen) {
    screen.note(&judged(subtraction));
    screen.table(steps(&subtraction.steps, run));
    let sentences = [verdict(&subtraction.verdict), as_they_were(&subtraction.verdict)];
    sentences.iter().flatten().for_each(|sentence| screen.sentence(&format!("{sentence}.")));
}

/// Which samples the numbers are of.
fn judged(subtraction: &Subtraction) -> String {
    let (judged, samples) = (count(subtraction.judged), count(subtraction.samples));
    let mut text = format!("judged: {judged} of {samples} samples");
    let mut left_out = vec![];
    if subtraction.left_out_large > 0 {
        let large = fine(subtraction.large_ns as f64);
        left_out.push(format!(
            "{} with an unexplained detour over {large}",
            count(subtraction.left_out_large)
        ));
    }
    if subtraction.left_out_unknown > 0 {
        left_out.push(format!(
            "{} in which events were lost or off",
            count(subtraction.left_out_unknown)
        ));
    }
    if !left_out.is_empty() {
        text += &format!("; left out: {}", left_out.join(", "));
    }
    if subtraction.undisturbed > 0 {
        text += &format!("; in {} nothing was seen", count(subtraction.undisturbed));
    }
    text
}

/// A row a step: what is left once this, too, is taken out.
fn steps(steps: &[Step], run: &Facts) -> Table {
    Table::of_rows(steps)
        .name("taken out", |step| taken(step.taken, run))
        .some_numbers("sd", 0, |step| Some(fine(step.judged.as_ref()?.standard_deviation_ns)))
        .some_numbers("IQR", 0, |step| Some(fine(step.judged.as_ref()?.iqr_ns)))
        .some_numbers("gone", 0, |step| gone(step, |left| left.iqr_explained))
        .some_numbers("p99−p1", 0, |step| Some(fine(step.judged.as_ref()?.p99_p1_ns)))
        .some_numbers("gone", 0, |step| gone(step, |left| left.p99_p1_explained))
        .some_numbers("variance", 1, |step| gone(step, |left| left.variance_explained))
        .captioned("Steps of the subtraction")
}

/// The share that is explained; nothing is before anything is taken out.
fn gone(step: &Step, explained: fn(&Left) -> Option<f64>) -> Option<String> {
    match step.taken {
        Taken::Nothing => Some(String::new()),
        _ => step.judged.as_ref().and_then(explained).map(share),
    }
}

/// What a step takes out, in words.
pub(crate) fn taken(taken: Taken, run: &Facts) -> String {
    match taken {
        Taken::Nothing => "nothing",
        Taken::Ticks => "ticks, direct time",
        Taken::Network => "and network, direct",
        Taken::AllSources => "and all sources, direct",
        Taken::Gaps if run.hypervisor.is_some() => "and gaps, VM exits in them",
        Taken::Gaps => "and gaps: trap, return",
        Taken::VmOrHardware if run.hypervisor.is_some() => "and VM exits, hardware",
        Taken::VmOrHardware => "and hardware",
        Taken::NotAttributable => "and what is not known",
        Taken::Detours => "all detours",
    }
    .into()
}

/// What the verdict says of samples at one pace where they are judged, else of samples as they were; nothing where
/// the kernel caused no spread, or samples are too few.
fn verdict(verdict: &Verdict) -> Option<String> {
    let paced = verdict.paced.as_ref().and_then(Paced::ground);
    let by = match verdict.after {
        Taken::Gaps => "direct time and gaps explain",
        Taken::Detours => "detours, of whatever cause, make up",
        _ => "direct time explains",
    };
    let of = "of the spread that the kernel caused";
    Some(match (paced, verdict.ground()) {
        (Some(ground), _) => format!(
            "At one pace (slow changes of the core's speed taken out) {by} {} {of}: {}",
            share(ground.share),
            falls(&ground)
        ),
        (None, Some(ground)) => {
            format!("{} {} {of}: {}", capital(by), share(ground.share), falls(&ground))
        }
        (None, None) => return None,
    })
}

/// Beside a verdict at one pace: what samples say as they were.
fn as_they_were(verdict: &Verdict) -> Option<String> {
    verdict.paced.as_ref().and_then(Paced::ground)?;
    let ground = verdict.ground()?;
    Some(format!("With those changes left in: {}, {}", share(ground.share), falls(&ground)))
}

/// By how much the measure that a verdict rests on falls.
fn falls(ground: &Ground) -> String {
    let measure = match ground.measure {
        Measure::Iqr => "the IQR",
        Measure::P99P1 => "p99−p1",
    };
    let own = ground.of.undisturbed_ns.map(|own| format!(" (undisturbed samples: {})", fine(own)));
    format!(
        "{measure} falls from {} to {}{}",
        fine(ground.of.raw_ns),
        fine(ground.of.left_ns),
        own.unwrap_or_default()
    )
}

/// How the samples are distributed, raw and after steps: a vertical line where nothing varies any more.
fn figure(named: &Named<'_>, subtraction: &Subtraction, run: &Facts) -> Option<Chart> {
    let drawn = |step: &&Step| {
        !matches!(step.taken, Taken::Ticks | Taken::Network | Taken::NotAttributable)
    };
    let steps: Vec<(&Step, &Left)> = subtraction
        .steps
        .iter()
        .filter(drawn)
        .filter_map(|step| Some((step, step.judged.as_ref()?)))
        .filter(|(_, left)| !left.curve.is_empty())
        .collect();
    let least = steps.iter().map(|(_, left)| left.min_ns).fold(f64::MAX, f64::min);
    let (_, raw) = steps.first()?;
    let until = raw.curve.iter().take_while(|point| point.share <= FIGURE_SHARE);
    let most = until.map(|point| point.value - least).fold(0.0, f64::max);
    if steps.len() < 2 || most <= 0.0 {
        return None;
    }
    let x = Axis::linear("over the shortest", Quantity::Time).over([0.0, most]);
    let y = Axis::linear("share of the samples", Quantity::Share).over([0.0, 1.0]);
    let curve = |(number, (step, left)): (usize, &(&Step, &Left))| {
        let points = left.curve.iter().map(|p| (p.value - least, p.share));
        let points: Vec<(f64, f64)> = points.filter(|(x, _)| *x <= most).collect();
        let digit = char::from(b'0' + (number % 8) as u8);
        Curve::numbered(number, taken(step.taken, run), Draw::Steps, &points).lettered(Some(digit))
    };
    let title = format!("share of the samples that took so much more, or less · {}", named.title());
    Some(Chart::of(x, y, steps.iter().enumerate().map(curve).collect()).titled(title, ROWS))
}

/// A row a source: what it took of a sample, and by how much the spread falls without it.
fn sources(effects: &[SourceEffect], run: &Facts, all: bool) -> Table {
    let table = Table::of_rows(effects)
        .name("one source alone taken out", |effect| match effect.source.as_str() {
            "" => "all others".into(),
            source => clip(&source_name(source, &effect.name, run), NAME),
        })
        .some_numbers("samples", 0, |effect| Some(count(effect.samples)))
        .some_numbers("direct", 0, |effect| Some(fine(effect.direct_ns)))
        .some_numbers("gaps", 0, |effect| effect.gap_ns.map(fine))
        .some_numbers("p99−p1 falls", 0, |effect| effect.p99_p1_fall_ns.map(fine))
        .some_numbers("IQR falls", 2, |effect| effect.iqr_fall_ns.map(fine))
        .some_numbers("indirect", 1, |effect| effect.indirect_ns.map(fine))
        .captioned("What one source alone accounts for");
    let more = effects.len().saturating_sub(SOURCES);
    if all || more == 0 { table } else { table.folded(SOURCES, format!("{more} more")) }
}
