//! What remains of the samples once the time that the kernel took in them is subtracted.

use crate::names::source_name;
use crate::picture::ROWS;
use crate::results::measured::left::{over_shortest, taken};
use crate::results::measured::names::{Named, shown, words};
use crate::screen::Screen;
use crate::style::{View, capital, clip};
use crate::table::Table;
use crate::units::{count, fine, share};
use anechoic_analyze::facts::Facts;
use anechoic_analyze::samples::Measured;
use anechoic_analyze::samples::subtraction::{
    Ground, Left, Measure, Paced, SourceEffect, Step, Subtracted, Subtraction, Verdict,
};
use anechoic_recording::methods;

/// Number of sources on a short screen.
const SOURCES: usize = 6;
/// Widest name of a source.
const NAME: usize = 26;

/// Explains two columns.
const ACCOUNTED: &str = "accounted for: the smaller of the shares of IQR and p99−p1; at one pace: with slow changes of \
                         the core's speed removed";

/// A series with its subtraction.
pub(crate) type Of<'a> = (Named<'a>, &'a Subtraction);

/// Adds the subtraction for do-nothing loops, or on a full screen for any method.
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
    // A page shows the series with the widest spread; its text has the others.
    let widest = widest(&all);
    let number = widest.map(|(named, _)| named.result.facts.number);
    if let Some((named, subtraction)) = widest {
        one(&named, subtraction, &measured.run, view, screen);
    }
    screen.in_terminal(|terminal| {
        let others = all.iter().filter(|(named, _)| Some(named.result.facts.number) != number);
        for (named, subtraction) in others.filter(|_| view.all) {
            one(named, subtraction, &measured.run, view, terminal);
        }
    });
}

/// States the verdict on the series with the widest spread, and names that series unless it is `this`.
pub(super) fn sentence(measured: &Measured, this: u32) -> Option<String> {
    let (named, subtraction) = widest(&subtracted(measured, true))?;
    let facts = &named.result.facts;
    let whose = if facts.number == this { String::new() } else { format!(" ({})", words(facts)) };
    Some(format!("{}{whose}.", verdict(&subtraction.verdict)?))
}

/// Returns the series that have a subtraction.
pub(crate) fn subtracted<'a>(measured: &'a Measured, all: bool) -> Vec<Of<'a>> {
    let with = |named: Named<'a>| Some((named, named.result.subtraction.as_ref()?));
    shown(measured, all).into_iter().filter_map(with).collect()
}

/// Returns the judged series with the widest spread before anything is subtracted.
pub(crate) fn widest<'a>(all: &[Of<'a>]) -> Option<Of<'a>> {
    let spread = |(_, subtraction): &Of<'_>| {
        subtraction.verdict.p99_p1.map_or(-1.0, |accounted| accounted.raw_ns)
    };
    // The first of equal series: max_by alone would return the last.
    all.iter().rev().copied().max_by(|a, b| spread(a).total_cmp(&spread(b)))
}

/// Returns one row for each series: both measures of spread, before and after.
fn verdicts(all: &[Of<'_>]) -> Table {
    Table::with_rows(all)
        .some_names("", 0, |(named, _)| named.letter.map(String::from))
        .name("series", |(named, _)| clip(&named.brief(), NAME))
        .some_numbers("IQR", 0, |(_, s)| Some(fine(s.verdict.iqr?.raw_ns)))
        .some_numbers("left", 0, |(_, s)| Some(fine(s.verdict.iqr?.left_ns)))
        .some_numbers("p99−p1", 0, |(_, s)| Some(fine(s.verdict.p99_p1?.raw_ns)))
        .some_numbers("left", 0, |(_, s)| Some(fine(s.verdict.p99_p1?.left_ns)))
        .some_numbers("accounted for", 0, |(_, s)| s.verdict.accounted.map(share))
        .some_numbers("at one pace", 1, |(_, s)| s.verdict.paced?.accounted.map(share))
        .some_numbers("judged", 2, |(_, s)| Some(count(s.judged)))
        .captioned("How much of the spread is accounted for")
}

/// Adds the subtraction of one series.
fn one(
    named: &Named<'_>,
    subtraction: &Subtraction,
    run: &Facts,
    view: &View<'_>,
    screen: &mut Screen,
) {
    screen.section(&format!("spread after subtraction · {}", named.title()));
    add_steps(subtraction, run, screen);
    let (chart, caption) = over_shortest(*named, subtraction, run);
    let title = format!("share of the samples by time over the shortest · {}", named.title());
    screen.picture(chart.titled(title, ROWS), caption);
    if !subtraction.sources.is_empty() {
        screen.gap();
        screen.table(sources(&subtraction.sources, run, view.all));
    }
}

/// Adds which samples were used, what remains after each step, and the verdict.
fn add_steps(subtraction: &Subtraction, run: &Facts, screen: &mut Screen) {
    screen.note(&judged(subtraction));
    screen.table(steps(&subtraction.steps, run));
    let sentences = [verdict(&subtraction.verdict), as_they_were(&subtraction.verdict)];
    sentences.iter().flatten().for_each(|sentence| screen.sentence(&format!("{sentence}.")));
}

/// Which samples the numbers are of.
fn judged(subtraction: &Subtraction) -> String {
    let (judged, samples) = (count(subtraction.judged), count(subtraction.samples));
    let mut text = format!("{judged} of {samples} samples used");
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
            "{} in which events were lost or switched off",
            count(subtraction.left_out_unknown)
        ));
    }
    if !left_out.is_empty() {
        text += &format!("; left out: {}", left_out.join(", "));
    }
    if subtraction.undisturbed > 0 {
        text += &format!("; {} had no recorded disturbance", count(subtraction.undisturbed));
    }
    text
}

/// Returns one row for each step: what remains once its time is subtracted as well.
fn steps(steps: &[Step], run: &Facts) -> Table {
    Table::with_rows(steps)
        .name("subtracted", |step| taken(step.taken, run))
        .some_numbers("sd", 0, |step| Some(fine(step.judged.as_ref()?.standard_deviation_ns)))
        .some_numbers("IQR", 0, |step| Some(fine(step.judged.as_ref()?.iqr_ns)))
        .some_numbers("explained", 0, |step| gone(step, |left| left.iqr_explained))
        .some_numbers("p99−p1", 0, |step| Some(fine(step.judged.as_ref()?.p99_p1_ns)))
        .some_numbers("explained", 0, |step| gone(step, |left| left.p99_p1_explained))
        .some_numbers("variance", 1, |step| gone(step, |left| left.variance_explained))
        .captioned("Spread after each step of the subtraction")
}

/// Returns the share that a step explains; empty before anything is subtracted.
fn gone(step: &Step, explained: fn(&Left) -> Option<f64>) -> Option<String> {
    match step.taken {
        Subtracted::Nothing => Some(String::new()),
        _ => step.judged.as_ref().and_then(explained).map(share),
    }
}

/// States the verdict, with slow changes of speed removed if possible; nothing if the kernel caused no spread, or
/// samples are too few.
fn verdict(verdict: &Verdict) -> Option<String> {
    let paced = verdict.paced.as_ref().and_then(Paced::ground);
    let by = match verdict.after {
        Subtracted::Gaps => "direct time and gaps explain",
        Subtracted::Detours => "detours of any cause account for",
        _ => "direct time explains",
    };
    let spread = "of the spread that the kernel caused";
    let (ground, how) = match (paced, verdict.ground()) {
        (Some(ground), _) => (ground, ", with slow changes of the core's speed removed"),
        (None, ground) => (ground?, ""),
    };
    let (by, part) = (capital(by), part(ground.share));
    Some(format!("{by} {part} {spread}{how}: {}", falls(&ground)))
}

/// States the verdict on the unmodified samples, beside the one with slow changes of speed removed.
fn as_they_were(verdict: &Verdict) -> Option<String> {
    verdict.paced.as_ref().and_then(Paced::ground)?;
    let ground = verdict.ground()?;
    Some(format!("Without removing these changes: {}, {}", part(ground.share), falls(&ground)))
}

/// Writes what part of the spread is explained: none if the spread becomes wider.
fn part(explained: f64) -> String {
    if explained < 0.0 { "none".into() } else { share(explained) }
}

/// States by how much the measure behind a verdict falls or rises.
fn falls(ground: &Ground) -> String {
    let measure = match ground.measure {
        Measure::Iqr => "the IQR",
        Measure::P99P1 => "p99−p1",
    };
    let own =
        ground.values.undisturbed_ns.map(|own| format!(" (undisturbed samples: {})", fine(own)));
    format!(
        "{measure} {} from {} to {}{}",
        if ground.values.left_ns > ground.values.raw_ns { "rises" } else { "falls" },
        fine(ground.values.raw_ns),
        fine(ground.values.left_ns),
        own.unwrap_or_default()
    )
}

/// Returns one row for each source: the time that it took per sample, and how much the spread falls without it.
fn sources(effects: &[SourceEffect], run: &Facts, all: bool) -> Table {
    let table = Table::with_rows(effects)
        .name("one source subtracted", |effect| match effect.source.as_str() {
            "" => "all others".into(),
            source => clip(&source_name(source, &effect.name, run), NAME),
        })
        .some_numbers("samples", 0, |effect| Some(count(effect.samples)))
        .some_numbers("direct", 0, |effect| Some(fine(effect.direct_ns)))
        .some_numbers("gaps", 0, |effect| effect.gap_ns.map(fine))
        .some_numbers("p99−p1 falls", 0, |effect| effect.p99_p1_fall_ns.map(fine))
        .some_numbers("IQR falls", 2, |effect| effect.iqr_fall_ns.map(fine))
        .some_numbers("indirect", 1, |effect| effect.indirect_ns.map(fine))
        .captioned("Effect of subtracting one source");
    table.first(SOURCES, all, |more| format!("{more} more"))
}
