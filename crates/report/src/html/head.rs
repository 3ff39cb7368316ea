//! What a recording comes to: the machine in a line, the headline sentence, the numbers that matter.

use super::{Part, sections};
use crate::measured::intro::to_the_second;
use crate::names::source_name;
use crate::screen::Screen;
use crate::style::{View, plain};
use crate::units::{
    asked, count, counted, cpu_list, length, noise, noise_interval, rate, share, span,
};
use crate::{advice, cpus, heading, interference, measured, ticks};
use anechoic_analyze::Summary;
use anechoic_analyze::facts::Facts;
use maud::{Markup, html};

/// The head of a recording.
pub(super) fn head(part: &Part) -> Markup {
    let facts = part.facts();
    html! {
        header.head {
            p.machine { (plain(&heading::machine(&facts))) }
            (headline(&sentences(part)))
            p.ran { (ran(&facts)) }
            @for warning in heading::warnings(&facts) { p.warning { (plain(&warning)) } }
            @if let Some(summary) = part.summary.as_ref().filter(|_| part.run.method == "detours") {
                (numbers(summary))
                (Screen::of(|screen| cpus::all(summary, &View::default(), screen)))
                p.note { "per s: detours a second. By time: half, and 99 %, of the lost time lies in detours up to that long. min gap: what is taken off each." }
            }
            @if let Some(sources) = part.summary.as_ref().and_then(|summary| summary.sources.as_ref()) {
                @let advised = advice::advised(sources, &facts);
                @if !advised.is_empty() {
                    aside.advice { h2 { "What would help" } ul { @for text in advised { li { (plain(&text)) } } } }
                }
            }
        }
    }
}

/// What was found: the first sentence large, the others below it.
pub(super) fn headline(sentences: &[String]) -> Markup {
    html! {
        @for (at, sentence) in sentences.iter().enumerate() {
            @if at == 0 { h1.long[sentence.len() > LONG] { (joined(sentence)) } } @else { p.lead { (joined(sentence)) } }
        }
    }
}

/// A headline with more letters is set smaller.
const LONG: usize = 90;

/// The text with numbers and units that stay on one line.
fn joined(text: &str) -> String {
    const UNITS: [&str; 5] = ["%", "ns", "µs", "ms", "s"];
    let mut joined = String::new();
    let mut number = false;
    for word in plain(text).split(' ') {
        let unit =
            UNITS.contains(&word.trim_end_matches(|c: char| c.is_ascii_punctuation() && c != '%'));
        if !joined.is_empty() {
            joined.push(if number && unit { '\u{a0}' } else { ' ' });
        }
        joined += word;
        number = word.ends_with(|c: char| c.is_ascii_digit());
    }
    joined
}

fn ran(run: &Facts) -> String {
    let cpus = counted(run.cpus.len() as u64, "CPU", "CPUs");
    let list = cpu_list(&run.cpus);
    let mut text = format!("{} on {cpus} ({list}) for {}", run.method, span(run.wall_ns));
    if run.method == "detours" {
        text += &heading::over(run);
    }
    plain(&format!("{text}{} · {}", heading::how(run), to_the_second(&run.start_utc)))
}

/// The headline: what was found, in a sentence or two.
fn sentences(part: &Part) -> Vec<String> {
    let found = if let Some(found) = &part.measured {
        measured::headline::sentences(found)
    } else if let Some(found) = &part.bsp {
        vec![sections::bsp::sentence(found)]
    } else if let Some(found) = &part.interference {
        vec![interference::words::sentences(found)]
    } else if let Some(found) = &part.ticks {
        let of = |processor| {
            [Some(ticks::words::cost(processor)), Some(ticks::words::verdict(processor))]
        };
        found.processors.iter().flat_map(of).flatten().collect()
    } else if let Some(found) = &part.summary {
        of_detours(found)
    } else {
        vec![]
    };
    if found.is_empty() { vec!["Nothing was measured.".into()] } else { found }
}

fn of_detours(summary: &Summary) -> Vec<String> {
    let run = &summary.run;
    let cpus = counted(run.cpus.len() as u64, "CPU", "CPUs");
    let over = asked(run.threshold_ns);
    let Some(lengths) = summary.total.lengths.as_ref() else {
        let so_long = span(run.wall_ns);
        return vec![match summary.total.lost_detours {
            0 => format!("No detour over {over} in {so_long} on {cpus}: nothing took any time."),
            lost => {
                let lost = counted(lost, "detour", "detours");
                format!(
                    "{lost} over {over} on {cpus}, and all were lost: their noise is not known."
                )
            }
        }];
    };
    let least = if summary.total.lost_detours > 0 { "at least " } else { "" };
    let interval = summary
        .total
        .interval
        .map(|i| format!(" (95 %: {} %)", noise_interval(summary.total.noise, i.low, i.high)));
    let first = format!(
        "{cpus} lost {least}{} of {} time{}.",
        noise(summary.total.noise),
        if run.cpus.len() == 1 { "its" } else { "their" },
        interval.unwrap_or_default(),
    );
    let mut second = String::new();
    if let Some(row) = summary.sources.as_ref().and_then(|sources| sources.rows.first()) {
        let name = source_name(&row.source, &row.name, run);
        second = format!("Most of it, {}, was {name}. ", share(row.share));
    }
    second += &format!(
        "The longest of {} took {}; half of the lost time lies in detours of {} and more.",
        counted(summary.total.detours, "detour", "detours"),
        length(lengths.max_ns),
        length(lengths.p50_by_time_ns),
    );
    vec![first, second]
}

/// The numbers that matter.
fn numbers(summary: &Summary) -> Markup {
    let total = &summary.total;
    let lengths = total.lengths.as_ref();
    let tile = |name: &str, value: String| html! { div { dt { (name) } dd { (value) } } };
    html! {
        dl.tiles {
            (tile("noise", noise(total.noise)))
            (tile("detours", count(total.detours)))
            (tile("a second, each CPU", rate(total.rate_per_s)))
            (tile("median", lengths.map_or("–".into(), |l| length(l.p50_ns))))
            (tile("longest", lengths.map_or("–".into(), |l| length(l.max_ns))))
            @if let Some(coverage) = summary.sources.as_ref().and_then(|sources| sources.coverage) {
                (tile("explained", share(coverage.explained)))
            }
        }
    }
}
