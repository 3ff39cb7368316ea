//! The periodic part of the noise: the spectrum, its lines, and the sources that cause them.

use crate::names::source_name;
use crate::picture::{Axis, Chart, Curve, Draw, Mark, Quantity, ROWS};
use crate::results::measured::names::{Named, noise as noise_of, shown};
use crate::screen::Screen;
use crate::style::{Tone, View, clip};
use crate::table::Table;
use crate::units::{count, fine, fine_range, frequency, noise, rough_share, uncertain};
use anechoic_analyze::Measured;
use anechoic_analyze::facts::Facts;
use anechoic_analyze::spectrum::{Carrier, Line, Spectrum};
use anechoic_recording::methods;

/// Widest name of a source on a screen of 80 columns.
const CARRIER: usize = 24;
/// Number of lines in brief.
const FEW: usize = 3;
/// A line with a smaller share of the noise does not explain it.
const MOST: f64 = 0.5;

/// Shows what is periodic in a series of noise: a headline, a figure, and a table of lines.
///
/// `title` names the series; `noise` is the share of all time that the noise took, if that is known.
#[must_use]
pub fn spectrum(
    title: &str,
    spectrum: &Spectrum,
    noise: Option<f64>,
    run: &Facts,
    view: &View<'_>,
) -> Screen {
    let mut screen = Screen::default();
    if let Some(sentence) = sentence(spectrum, noise, run) {
        screen.headline(&sentence);
    }
    add_one(title, spectrum, run, view, &mut screen);
    screen
}

/// Adds what is periodic in the noisiest series, or in all; the lines of the others in brief.
pub(super) fn add(measured: &Measured, view: &View<'_>, screen: &mut Screen) {
    // Do-nothing loops are measured for their distribution, not for periods.
    if measured.method == methods::LOOPS && !view.all {
        return;
    }
    let mut with_spectrum: Vec<Named<'_>> = shown(measured, view.all);
    // Samples of the empty kernel last only some nanoseconds.
    with_spectrum.retain(|named| {
        named.result.spectrum.is_some() && (view.all || named.result.facts.variant != "empty")
    });
    with_spectrum.sort_by(|a, b| noise_of(b.result).total_cmp(&noise_of(a.result)));
    let Some(number) = with_spectrum.first().map(|first| first.result.facts.number) else { return };
    let most = if view.all { with_spectrum.len() } else { 1 };
    let series = with_spectrum.iter().take(most).filter_map(|named| {
        let spectrum = named.result.spectrum.as_ref()?;
        Some(Screen::from_fn(|screen| {
            add_one(&named.title(), spectrum, &measured.run, view, screen)
        }))
    });
    screen.noisiest(series.collect());
    for line in shown_others(measured, number, view) {
        screen.clipped(Tone::Plain, &line);
    }
}

/// Returns the lines of all series but one, as one text for each series.
fn shown_others(measured: &Measured, but: u32, view: &View<'_>) -> Vec<String> {
    let others = shown(measured, false).into_iter().filter(|named| {
        named.result.facts.number != but && !view.all && named.result.spectrum.is_some()
    });
    others.map(|named| brief_lines(named, &measured.run)).collect()
}

/// Lists the lines of a series briefly: `a: 250.00 Hz timer tick · 1,000.00 Hz`.
fn brief_lines(named: Named<'_>, run: &Facts) -> String {
    let lines = named.result.spectrum.iter().flat_map(|spectrum| &spectrum.lines);
    let lines: Vec<String> = lines.map(|line| brief(line, run)).collect();
    let lines = if lines.is_empty() { "no period".to_owned() } else { lines.join(" · ") };
    format!("{}: {lines}", named.title())
}

/// Describes a line briefly: `250.00 Hz timer tick`.
fn brief(line: &Line, run: &Facts) -> String {
    let carrier = line.carriers.first().map(|carrier| format!(" {}", name(carrier, run)));
    format!("{}{}", frequency(line.hz), carrier.unwrap_or_default())
}

/// Adds the spectrum of what `title` names: its figure, its lines, and its limits. A page shows only one with power.
pub(crate) fn add_one(
    title: &str,
    spectrum: &Spectrum,
    run: &Facts,
    view: &View<'_>,
    screen: &mut Screen,
) {
    match spectrum.figure.is_empty() {
        true => screen.in_terminal(|terminal| add_all(title, spectrum, run, view, terminal)),
        false => add_all(title, spectrum, run, view, screen),
    }
}

fn add_all(title: &str, spectrum: &Spectrum, run: &Facts, view: &View<'_>, screen: &mut Screen) {
    screen.on_page(|page| page.heading(title));
    if view.all && spectrum.figure.iter().any(|point| point.over_background > 1.0) {
        let (chart, caption) = figure(title, spectrum, run);
        screen.picture(chart, caption);
    }
    screen.gap();
    add_lines(spectrum, run, view, screen);
}

/// Adds the table of lines, or a sentence if there are none, and the limits of the spectrum.
fn add_lines(spectrum: &Spectrum, run: &Facts, view: &View<'_>, screen: &mut Screen) {
    if spectrum.lines.is_empty() {
        let tested = count(spectrum.tested);
        screen.sentence(&format!("no period found ({tested} frequencies tested)"));
    } else {
        let lines = carried_first(spectrum);
        let carried = named(spectrum).len();
        let shown = if view.all { carried } else { carried.min(FEW) };
        screen.table(table(&lines, run, view).first(shown, view.all, |more| {
            let named = carried > shown;
            let what = if named {
                ""
            } else {
                " without a source: harmonics, or echoes of detours that are not periodic"
            };
            format!("{more} more{what}")
        }));
    }
    if !view.all {
        return;
    }
    for source in &spectrum.regular {
        let name = source_name(&source.source, &source.name, run);
        screen.sentence(&format!(
            "{name} comes every {} by the kernel's events ({}, {} events)",
            fine(1e9 / source.hz),
            frequency(source.hz),
            count(source.events)
        ));
    }
    let mut not_visible = Screen::default();
    spectrum.not_visible.iter().for_each(|text| not_visible.item(Tone::Quiet, text));
    screen.details("What this spectrum cannot show", not_visible);
}

/// Returns the lines of a spectrum, those that a source carries first.
fn carried_first(spectrum: &Spectrum) -> Vec<&Line> {
    let (carried, others): (Vec<&Line>, Vec<&Line>) =
        spectrum.lines.iter().partition(|line| !line.carriers.is_empty());
    [carried, others].concat()
}

/// Returns the lines that a source carries, or all if no source carries any: the others may be echoes.
fn named(spectrum: &Spectrum) -> Vec<&Line> {
    let mut lines = carried_first(spectrum);
    let carried = lines.iter().filter(|line| !line.carriers.is_empty()).count();
    lines.truncate(if carried == 0 { lines.len() } else { carried });
    lines
}

/// States the strongest line, with its share of the noise if that is known.
pub(crate) fn sentence(
    spectrum: &Spectrum,
    noise_share: Option<f64>,
    run: &Facts,
) -> Option<String> {
    // What carries a line took its time, also where the line does not stand out from the rest.
    let carried = |line: &Line| line.carriers.first().map(|carrier| carrier.noise);
    let share = |line: &Line| line.noise.or(carried(line).filter(|&share| share > 0.0));
    let taken = |line: &Line| share(line).unwrap_or(0.0);
    // A line with clearly more time than all noise is an echo of long detours.
    let known = noise_share.filter(|share| *share > 0.0).unwrap_or(f64::INFINITY);
    // Where a source carries a line, a line that no source carries may be an echo, too.
    let any = spectrum.lines.iter().any(|line| carried(line) > Some(0.0));
    let own = |line: &&Line| taken(line) <= 1.1 * known && (!any || carried(line) > Some(0.0));
    let lines = spectrum.lines.iter().rev().filter(own);
    let line = lines.max_by(|a, b| {
        taken(a).total_cmp(&taken(b)).then(a.over_background.total_cmp(&b.over_background))
    })?;
    let source = line.carriers.first().map(|carrier| format!(": {}", name(carrier, run)));
    let source = source.unwrap_or_default();
    let part = share(line)
        .zip(noise_share.filter(|share| *share > 0.0))
        .map(|(part, whole)| (part / whole).min(1.0));
    Some(match part {
        Some(part) if part >= MOST => {
            let (hz, part) = (frequency(line.hz), rough_share(part));
            format!("{hz} carries {part} of the noise{source}.")
        }
        Some(part) if part < 0.005 => "No period carries 1 % of the noise.".to_owned(),
        Some(part) => format!(
            "No period carries most of the noise; the strongest, {}, carries {}{source}.",
            frequency(line.hz),
            rough_share(part)
        ),
        None => format!("The strongest period is {}{source}.", frequency(line.hz)),
    })
}

/// Returns the power over the background with labelled lines, and a caption.
fn figure(title: &str, spectrum: &Spectrum, run: &Facts) -> (Chart, String) {
    let points: Vec<(f64, f64)> =
        spectrum.figure.iter().map(|point| (point.hz, point.over_background.max(1.0))).collect();
    let chart = Chart::new(
        Axis::linear("frequency", Quantity::Frequency),
        Axis::log("power over the background", Quantity::Number),
        vec![Curve::numbered(0, "power".into(), Draw::Spikes, &points)],
    );
    let mark = |line: &Line| Mark { x: line.hz, y: line.over_background, label: brief(line, run) };
    let chance = noise(spectrum.false_alarm);
    let caption = format!(
        "Power relative to the local background, {title}. Power above the dashed line indicates a period; by chance this happens in {chance} of all spectra."
    );
    let over = spectrum.threshold.map(|threshold| {
        format!("dashed: power over {threshold:.0}, exceeded by chance in {chance} of all spectra")
    });
    let chart = Chart {
        marks: named(spectrum).into_iter().map(mark).collect(),
        level: spectrum.threshold,
        level_name: "threshold",
        notes: over.into_iter().collect(),
        ..chart.titled(format!("power over the background · {title}"), ROWS)
    };
    (chart.named(title), caption)
}

/// Returns one row for each line.
fn table(lines: &[&Line], run: &Facts, view: &View<'_>) -> Table {
    let widest = CARRIER + view.columns().saturating_sub(80);
    Table::with_rows(lines)
        .number("frequency", |line| uncertain(line.hz, line.uncertainty_hz))
        .some_numbers("harmonics", 4, |line| Some(line.harmonics.to_string()))
        .some_numbers("power", 5, |line| Some(count(line.over_background.max(0.0).round() as u64)))
        .some_numbers("noise", 0, |line| line.noise.map(noise))
        .some_numbers("mean", 1, |line| Some(fine(line.durations.as_ref()?.mean_ns)))
        .some_numbers("middle half", 0, |line| {
            let durations = line.durations.as_ref()?;
            Some(fine_range(durations.p25_ns, durations.p75_ns))
        })
        .some_numbers("present", 3, |line| Some(rough_share(line.carriers.first()?.per_beat)))
        .some_names("source", 0, |line| Some(clip(&name(line.carriers.first()?, run), widest)))
        .captioned("Periods")
}

/// Returns the readable name of the source of a line.
fn name(carrier: &Carrier, run: &Facts) -> String {
    source_name(&carrier.source, &carrier.name, run)
}
