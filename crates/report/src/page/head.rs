//! The head of a recording: the machine, the headline, and the main numbers.

use super::Part;
use crate::results::Found;
use crate::results::summary::cpus;
use crate::screen::Screen;
use crate::style::{View, capital, plain};
use crate::units::timestamp;
use crate::units::{count, counted, cpu_list, length, noise, rate, share, span};
use crate::{advice, heading};
use anechoic_analyze::Summary;
use anechoic_analyze::facts::Facts;
use anechoic_recording::methods;
use maud::{Markup, html};

/// Returns the head of a recording.
pub(super) fn head(part: &Part) -> Markup {
    let Some(facts) = part.facts() else { return html! {} };
    html! {
        header.head {
            p.machine { (plain(&heading::machine(&facts))) }
            (headline(&sentences(part)))
            p.ran { (ran(&facts)) }
            @for warning in heading::warnings(&facts) { p.warning { (capital(&plain(&warning))) "." } }
            @if let Some(summary) = part.get::<Summary>().filter(|_| methods::WHOLE.contains(&part.method())) {
                (numbers(summary))
                (Screen::from_fn(|screen| cpus::all(summary, &View::default(), screen)))
            }
            @if let Some(sources) = part.get::<Summary>().and_then(|summary| summary.sources.as_ref()) {
                @let advised = advice::advised(sources, &facts);
                @if !advised.is_empty() {
                    aside.advice { h2 { "What would help" } ul { @for text in advised { li { (plain(&text)) } } } }
                }
            }
        }
    }
}

/// Returns the headline: the first sentence large, the others below it.
pub(super) fn headline(sentences: &[String]) -> Markup {
    html! {
        @for (at, sentence) in sentences.iter().enumerate() {
            @if at == 0 { h1.long[sentence.len() > LONG] { (joined(sentence)) } } @else { p.lead { (joined(sentence)) } }
        }
    }
}

/// A headline with more letters is set smaller.
const LONG: usize = 90;

/// Returns the text with each number and its unit kept on one line.
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
    if methods::WHOLE.contains(&&*run.method) {
        text += &heading::over(run);
    }
    plain(&format!("{text}{} · {}", heading::how(run), timestamp(&run.start_utc)))
}

/// Returns the headline of the first result that has one.
fn sentences(part: &Part) -> Vec<String> {
    let mut found = part.found.iter().map(Found::headline).filter(|found| !found.is_empty());
    found.next().unwrap_or_else(|| vec!["Nothing was measured.".into()])
}

/// Returns the main numbers.
fn numbers(summary: &Summary) -> Markup {
    let total = &summary.total;
    let lengths = total.lengths.as_ref();
    let tile = |name: &str, value: String| html! { div { dt { (name) } dd { (value) } } };
    html! {
        dl.tiles {
            (tile(if summary.run.program.is_some() { "lost" } else { "noise" }, noise(total.noise)))
            (tile("detours", count(total.detours)))
            (tile("per second and CPU", rate(total.rate_per_s)))
            (tile("median", lengths.map_or("–".into(), |l| length(l.p50_ns))))
            (tile("longest", lengths.map_or("–".into(), |l| length(l.max_ns))))
            @if let Some(coverage) = summary.sources.as_ref().and_then(|sources| sources.coverage) {
                (tile("explained", share(coverage.explained)))
            }
        }
    }
}
