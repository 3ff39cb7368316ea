//! How sure the numbers are: alignment, explained share, losses, what was not available, notes.

use super::{Part, Section};
use crate::certainty::{self, Line};
use crate::html::page::Page;
use crate::measured::doubts;
use crate::style::{Tone, plain};
use maud::{Markup, html};

pub(super) const SECTION: Section =
    Section { id: "limits", title: "How sure this is", short: "Limits", has: |_| true, render };

fn render(part: &Part, _: &mut Page) -> Markup {
    let mut seen: Vec<(&str, String)> = vec![];
    let mut lines = lines(part);
    lines.retain(|line| {
        let one = (line.label, line.text.clone());
        let new = !seen.contains(&one);
        seen.push(one);
        new
    });
    html! {
        dl.limits { @for line in &lines {
            div class=(class(line.tone)) {
                dt { (if line.label.is_empty() { "not traced" } else { line.label }) }
                dd { (plain(&line.text)) }
            }
        } }
        p.note { "Detours shorter than the threshold, and work that merely went slower, are not in these numbers. Intervals take blocks of time to be alike: what happened only a few times is not covered by them." }
    }
}

fn lines(part: &Part) -> Vec<Line> {
    let facts = part.facts();
    let mut lines = vec![];
    if let Some(measured) = &part.measured {
        let (tone, text) = doubts::work(measured);
        lines.push(Line { label: "work", tone, text });
        lines.extend(certainty::not_available_lines(&measured.not_available));
        lines.extend(certainty::not_available_lines(&doubts::not_said(measured)));
    }
    match (&part.summary, &part.measured, &part.interference) {
        (Some(summary), ..) => lines.extend(certainty::lines(summary)),
        (_, Some(measured), _) => lines.extend(certainty::loss_lines(&measured.losses)),
        (.., Some(found)) => lines.extend(certainty::loss_lines(&found.losses)),
        _ => {}
    }
    if part.summary.is_none() {
        lines.extend(certainty::not_available_lines(&facts.not_available));
        lines.extend(certainty::note_lines(&facts));
    }
    lines.extend(certainty::not_available_lines(&part.not_available));
    lines
}

fn class(tone: Tone) -> &'static str {
    match tone {
        Tone::Good => "good",
        Tone::Warning => "warn",
        Tone::Bad => "bad",
        _ => "quiet",
    }
}
