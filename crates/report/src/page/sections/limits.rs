//! The section on reliability: alignment, explained share, losses, what was not available, notes.

use super::{Part, Section};
use crate::certainty;
use crate::page::state::Page;
use crate::results::measured::doubts;
use crate::screen::{Fact, Screen};
use anechoic_analyze::{Interference, Measured, Summary};
use anechoic_recording::methods;
use maud::{Markup, html};
use std::collections::HashSet;

pub(super) const SECTION: Section = Section {
    id: "limits",
    title: "How reliable the numbers are",
    short: "Reliability",
    has: |part| part.run.is_some() || !part.not_available.is_empty(),
    render,
};

fn render(part: &Part, _: &mut Page) -> Markup {
    let mut seen: HashSet<(String, String)> = HashSet::new();
    let mut facts = facts(part);
    facts.retain(|fact| seen.insert((fact.name.clone(), fact.text.clone())));
    let unnamed = facts.iter_mut().filter(|fact| fact.name.is_empty());
    unnamed.for_each(|fact| fact.name = "not traced".into());
    html! {
        (Screen::from_fn(|screen| screen.facts(facts)))
        @if part.method() == methods::DETOURS { p.note { "The noise does not include detours shorter than the threshold, nor work that merely ran slower; what a slower pace took is stated beside it where it is known." } }
        @if part.method() != methods::PROGRAM { p.note { "The intervals assume that what makes the noise happens many times in a run; where few events decide, there is only a lower bound (≥, 97.5 %)." } }
    }
}

fn facts(part: &Part) -> Vec<Fact> {
    let mut facts = vec![];
    if let Some(measured) = part.get::<Measured>() {
        facts.push(doubts::work(measured));
        facts.extend(certainty::not_available(&measured.not_available));
        facts.extend(certainty::not_available(&doubts::not_said(measured)));
    }
    match (part.get::<Summary>(), part.get::<Measured>(), part.get::<Interference>()) {
        (Some(summary), ..) => facts.extend(certainty::facts(summary)),
        (_, Some(measured), _) => facts.extend(certainty::losses(&measured.losses)),
        (.., Some(found)) => facts.extend(certainty::losses(&found.losses)),
        _ => {}
    }
    if let (None, Some(run)) = (part.get::<Summary>(), part.facts()) {
        facts.extend(certainty::not_available(&run.not_available));
        facts.extend(certainty::notes(&run));
    }
    facts.extend(certainty::not_available(&part.not_available));
    facts
}
